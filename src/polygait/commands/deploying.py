"""The commands that bring a gait to its robot: finetune, export."""

from __future__ import annotations

import shlex
from typing import Annotated

import tyro.conf

from polygait.commands.shared import RunPath
from polygait.commands.training import show_training
from polygait.config import ExportConfig, FinetuneConfig


def finetune(
    run: RunPath,
    /,
    *,
    variation: str,
    out: str,
    options: Annotated[FinetuneConfig, tyro.conf.arg(name="")],
    tensorboard: bool = False,
) -> None:
    """Go on training the member that comes farthest in a changed world, there.

    Example: polygait finetune runs/walker --variation broken-foot --steps 200k --out runs/walker-broken-foot

    Args:
        run: The run folder.
        variation: What changed, such as broken-foot or "foot-mass=1.5+broken-leg@300"; nominal for nothing.
        out: The run folder to make.
        tensorboard: Also write event files for TensorBoard.

    """
    from polygait.finetuning import begin_finetuning
    from polygait.progress import Counter, finish
    from polygait.runs import go_on

    folder = begin_finetuning(run, variation, out, options, Counter("trials"))
    finish()
    origin = folder.manifest["origin"]
    how = f", the best of {variation} to go on from," if origin["adaptation"] else ""
    print(f"Member {origin['member']} of {run}{how} goes on for {options.steps:,} steps.", flush=True)
    show_training(out, lambda report: go_on(folder, options.threads, report), tensorboard)
    print(f"Is it better there? polygait adapt {shlex.quote(out)} --variation {shlex.quote(variation)}")


def export(
    run: RunPath,
    /,
    *,
    out: str,
    options: Annotated[ExportConfig, tyro.conf.arg(name="")],
) -> None:
    """Write members as files that run without polygait: ONNX, or NumPy alone.

    Example: polygait export runs/walker --member 3 --out policy.onnx

    Args:
        run: The run folder.
        out: The file to write, .onnx or .npz; with --all a folder.

    """
    from polygait.exporting import export as export_members

    written = export_members(run, out, **vars(options))
    for path in written.policies.values():
        print(f"{path} ({path.stat().st_size / 1024:.0f} KiB)")
    if written.reader is not None:
        print(f"{written.reader} reads them; it needs NumPy alone.")
