"""train, resume, extend: a run folder from its beginning to its end."""

from __future__ import annotations

import dataclasses
import math
import os
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from polygait.cohort import make_cohort
from polygait.config import Extension, TrainConfig, checked_kinds, from_options, specialist_choices
from polygait.errors import UserError
from polygait.footprint import require_training_memory
from polygait.interruption import Interruption
from polygait.population.population import Population, PopulationLike, load, run_path
from polygait.population.store import RunFolder
from polygait.progress import Report, printer, reporting, silent
from polygait.resolving import resolve
from polygait.run_config import RunConfig
from polygait.specialists import assign_next, damages
from polygait.tasks.actions import law_of_task
from polygait.tasks.batched import set_worlds
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.given import check_remade, with_named_task
from polygait.tasks.references import reference_file
from polygait.tasks.registry import make_task, task_name
from polygait.tasks.robot import Robot
from polygait.tasks.state import StateFilter
from polygait.tasks.task import Task
from polygait.training import train_cohort
from polygait.versions import differences, versions
from polygait.zoo import PREFIX, is_zoo, spoken


def train(
    config: TrainConfig | str | type[Robot] | Robot,
    out: str | os.PathLike[str],
    report: Report | None = None,
    progress: bool = False,
    **options: Any,
) -> Population:
    """Grow a population from nothing into a new run folder; for a task, options are TrainConfig's.

    `progress` shows on standard error how far it is, as the command line does.
    """
    config = _wanted(config, options)
    run = begin(config, out)
    with reporting(report, progress, printer) as told:
        return go_on(run, config.threads, told)


def begin(config: TrainConfig, out: str | os.PathLike[str], **further: Any) -> RunFolder:
    """A new run folder with every choice written down, and whatever else its maker wants to remember."""
    resolved = _prepared(resolve(with_named_task(config)))
    check_remade(config.task, resolved.task_options)
    return begin_resolved(resolved, out, further=further)


def begin_resolved(
    resolved: RunConfig,
    out: str | os.PathLike[str],
    start: Mapping[str, np.ndarray] | None = None,
    further: Mapping[str, Any] | None = None,
) -> RunFolder:
    """The same when every choice is made; its members may start from the arrays of a finished one."""
    out = out if is_zoo(out) else run_path(out)  # the folder itself refuses to be of the zoo
    task = make_task(resolved.task, variation=resolved.variation, **resolved.task_options)
    if resolved.worlds:
        set_worlds(task, resolved.worlds)  # says what is wrong with them before anything begins
    if resolved.specialists:
        damages(resolved.against, task)
    state_filter = _filter(resolved, task)
    require_training_memory(resolved, task.observation_size, task.action_size)
    description = {
        "config": resolved.to_json(),
        "task": {
            "name": task.name,
            "observation": task.observation_size,
            "action": task.action_size,
            "source": reference_file(resolved.task),
        },
        "fingerprint": fingerprint_of(task).to_json(),
        "actions": law_of_task(task).to_json(),
        "layout": task.layout.to_json(),
        "filter": state_filter.to_json(),
        "versions": versions(),
        "seeds": {"seed": resolved.seed},
        "extension": {},
        **(further or {}),
    }
    return RunFolder.create(out, description, start)


def _filter(config: RunConfig, task: Task) -> StateFilter:
    """f(s), as asked or as the robot has it; DiR must know where members may differ."""
    if config.remove is not None:
        return StateFilter.remove(task.layout, config.remove)
    if config.method_class.needs_filter and not task.default_filter.removed_names:
        parts = list(dict.fromkeys(name.partition(".")[0] for name in task.layout.names))
        more = f" and {len(parts) - 12} more" if len(parts) > 12 else ""
        raise UserError(
            f"{config.method} lets members differ in some parts of the state; {config.task} names none.",
            f"Name them with `remove`, such as {parts[-1]}.*, among {', '.join(parts[:12])}{more}; "
            "* lets members differ in everything.",
        )
    return task.default_filter


def resume(
    path: PopulationLike,
    threads: int | None = None,
    report: Report | None = None,
    progress: bool = False,
) -> Population:
    """Go on where a run stopped, bit for bit; a finished run is left as it is."""
    path = run_path(path)
    run = RunFolder.open(path)
    if run.complete:
        return load(path)
    _require_memory(run, RunConfig.from_json(run.manifest["config"]))
    with reporting(report, progress, printer) as told:
        return go_on(run, threads, told)


def extend(
    path: PopulationLike,
    extension: Extension | int,
    threads: int | None = None,
    report: Report | None = None,
    progress: bool = False,
) -> Population:
    """Discover more members; the earlier ones stay untouched to the byte.

    Those of DiR differ from all earlier ones, those of Multi are as independent as ever. SMERL and DvD
    compare members while these train together: new members differ among themselves, and it is said.
    """
    path = run_path(path)
    if is_zoo(name := spoken(path)):
        raise UserError(
            f"{name} stays as it is.",
            f"Extend a copy of your own: polygait zoo {name.removeprefix(PREFIX)} --copy runs/mine",
        )
    extension = checked_kinds(extension if isinstance(extension, Extension) else Extension(extension))
    run = RunFolder.open(path)
    config = RunConfig.from_json(run.manifest["config"])
    _check(extension, config)
    if not run.complete:
        raise UserError(f"{path} is not finished.", f"First go on with: polygait resume {path}")
    if config.method_class.needs_peers:
        warnings.warn(
            f"{config.method} compares members that train together: the {extension.most} new ones will "
            f"differ among themselves; they do not know the {len(run.members)} earlier ones.",
            stacklevel=2,
        )
    more = dataclasses.replace(config, members=len(run.members) + extension.most)
    if extension.specialists:
        choices = specialist_choices(extension)
        damages(choices["against"], load(path).make_task(1))
        more = dataclasses.replace(more, **choices | {"specialists": config.specialists + extension.most})
    _require_memory(run, more)
    with run.writing():
        run.rewind_metrics()
        limits = {"members": extension.most, "until_novelty": extension.until_novelty}
        limits |= {"max_hours": extension.max_hours, "begun": len(run.members)}
        run.update_manifest({"config": more.to_json(), "complete": False, "extension": limits})
    with reporting(report, progress, printer) as told:
        return go_on(run, threads, told)


def _require_memory(run: RunFolder, config: RunConfig) -> None:
    """Before a run goes on: another machine may have begun it."""
    task = run.manifest["task"]
    if isinstance(task, dict):
        require_training_memory(config, task["observation"], task["action"])


def _wanted(config: TrainConfig | str | type[Robot] | Robot, options: dict[str, Any]) -> TrainConfig:
    """A training by its configuration, or by its task; options beside it go before."""
    if isinstance(config, str | Robot) or (isinstance(config, type) and issubclass(config, Robot)):
        checked = from_options(TrainConfig, {"task": task_name(config), **options})
        return dataclasses.replace(checked, task=config)
    if not isinstance(config, TrainConfig):
        raise UserError(
            f"A training is described by a TrainConfig or by the name of a task, got {config!r}.",
            'Write for example train("walker", out="runs/walker", members=5).',
        )
    if not options:
        return config
    task = options.get("task", config.task)
    checked = from_options(TrainConfig, {**vars(config), **options, "task": task_name(task)})
    return dataclasses.replace(checked, task=task)


def _prepared(config: RunConfig) -> RunConfig:
    """The settings of a run's method as it needs them when the run begins."""

    def best_return(path: str) -> float:
        """What the best member of another run of this task earned while it trained."""
        population = load(path)
        if population.config.task != config.task:
            raise UserError(
                f"{path} is a run of {population.config.task}, not of {config.task}.",
                f"Name a run of {config.task}, for example one of: polygait train {config.task} --method pg",
            )
        returns = [float(member.summary["training_return"]) for member in population.members]
        best = max((value for value in returns if math.isfinite(value)), default=None)
        if best is None:
            raise UserError(
                f"No member of {path} ever ended an episode while it trained.",
                "Name a longer run, or give a number.",
            )
        return best

    prepared = config.method_class.prepare(config.method_config, best_return)
    return dataclasses.replace(config, method_config=prepared)


def _check(extension: Extension, config: RunConfig) -> None:
    problems, method = extension.problems(), config.method_class
    if extension.until_novelty is not None and not method.reports_novelty:
        problems.append(f"`until_novelty` needs a method that measures novelty; {config.method} does not.")
    if extension.max_hours is not None and config.simultaneous:
        problems.append(f"`max_hours` acts between members; those of {config.method} train all at once.")
    if method.needs_peers and extension.most == 1:
        problems.append(f"A new member of {config.method} needs another to differ from; extend by 2 or more.")
    if method.single:
        problems.append(f"{config.method} trains one policy; train a new run with multi or dir for several.")
    if config.specialists and not extension.specialists:
        problems.append(
            "Specialists are the last members of a run: extend by more `specialists`, or train another run."
        )
    if problems:
        raise UserError("\n".join(problems), "Nothing was changed.")


def go_on(run: RunFolder, threads: int | None = None, report: Report | None = None) -> Population:
    """Train whatever a run still misses."""
    if changed := differences(run.manifest["versions"]):
        warnings.warn(f"Versions changed since {run.path} began: {', '.join(changed)}.", stacklevel=3)
    extension: dict[str, Any] = run.manifest["extension"]
    begun = time.monotonic()
    with run.writing(), Interruption() as stop:
        while True:
            checkpoint = run.load_checkpoint()
            for skipped in checkpoint.skipped if checkpoint else ():
                warnings.warn(f"Passed over a damaged checkpoint: {skipped}", stacklevel=3)
            if checkpoint is None:
                run.rewind_metrics()
            config = RunConfig.from_json(run.manifest["config"])
            hours = (time.monotonic() - begun) / 3600
            if checkpoint is None and (len(run.members) >= config.members or _enough(run, extension, hours)):
                break
            if checkpoint is None and len(run.members) >= config.generalists:
                assign_next(run, threads, report or silent)
            train_cohort(make_cohort(run, checkpoint, threads), checkpoint, report or silent, stop)
        reached = dataclasses.replace(config, members=len(run.members))
        run.update_manifest({"complete": True, "config": reached.to_json(), "extension": {}})
    return load(run.path)


def _enough(run: RunFolder, extension: dict[str, Any], hours: float) -> bool:
    """Whether an extension's own limits are reached before its number of members."""
    limit, novelty = extension.get("max_hours"), extension.get("until_novelty")
    newest = run.members[max(run.members)].summary if run.members else {}
    too_alike = (
        novelty is not None
        and extension["begun"] < len(run.members)
        and newest.get("novelty", math.inf) < novelty
    )
    return too_alike or (limit is not None and hours > limit)
