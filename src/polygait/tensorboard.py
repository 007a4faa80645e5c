"""The training log as TensorBoard event files, for those who watch runs there."""

from __future__ import annotations

import os
from pathlib import Path

from polygait.errors import UserError
from polygait.progress import Progress, Report

_NOT_CURVES = ("members", "iteration", "steps", "diverged")


def event_writer(run: str | os.PathLike[str]) -> Report:
    """A reporter that writes every number of the log, one folder of curves per member."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise UserError(
            "TensorBoard event files need the package tensorboardX.",
            "Install it with: pip install 'polygait[tensorboard]'",
        ) from None
    folder = Path(run) / "tensorboard"
    writers: list[
        SummaryWriter
    ] = []  # made with the first record: a run folder must be new when it is created

    def write(progress: Progress) -> None:
        if not progress.record:
            return
        if not writers:
            writers.append(SummaryWriter(str(folder)))
        writer, record = writers[0], progress.record
        first, end = record["members"]
        for name, values in record.items():
            if name in _NOT_CURVES:
                continue
            for member, value in zip(range(first, end), values, strict=True):
                writer.add_scalar(f"{name}/member_{member}", value, record["steps"])
        writer.add_scalar("steps_per_second", progress.steps_per_second, record["steps"])
        writer.flush()

    return write
