"""Whether a task is fit to be trained on: what it gives at rest and at random, what its conditions do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from polygait.errors import UserError
from polygait.tasks.registry import make_task
from polygait.tasks.task import Task
from polygait.variations import needs_number

STEPS = 200
"""Of rest, and of random actions."""
_ENVS = 8
_LARGE_REWARD = 1e4
GOOD, NOTE, PROBLEM = "good", "note", "problem"


class Finding(NamedTuple):
    """One thing that was looked at."""

    topic: str
    verdict: str
    """good; note, where only its owner can say; or problem."""
    text: str
    remedy: str = ""


def check_task(name: str, options: dict[str, Any] | None = None) -> list[Finding]:
    """Look at a task from all sides; a task that cannot be made is one problem."""
    options = options or {}
    try:
        task = make_task(name, num_envs=_ENVS, num_threads=1, **options)
    except UserError as error:
        return [Finding("made", PROBLEM, error.problem, error.remedy)]
    return [
        *_layout(task),
        *_actions(task),
        *_rest(task),
        *_random(task),
        *_conditions(name, task, options),
    ]


def _layout(task: Task) -> Iterator[Finding]:
    parts = task.layout.groups
    yield Finding("layout", GOOD, f"{task.layout.size} numbers in {len(parts)} parts")
    if all(leaf.rpartition(".")[2].isdigit() for leaf in task.layout.names):
        yield Finding(
            "layout",
            NOTE,
            "the state's numbers have no names, so that no filter can be chosen by name",
            "Give a layout.",
        )
    kept = len(task.default_filter.kept)
    if kept in (0, task.layout.size):
        yield Finding(
            "filter",
            PROBLEM if kept == 0 else NOTE,
            f"the default filter removes {'everything' if kept == 0 else 'nothing'}",
            "Name in `removed` the parts in which members may differ, such as a leg's.",
        )


def _actions(task: Task) -> Iterator[Finding]:
    law = getattr(task, "action_law", None)
    if law is not None:
        pace = f", {law.rate:g} a second" if law.rate else ""
        yield Finding("actions", GOOD, "; ".join(_kinds(law.kinds)) + pace)
        bounds = zip(law.names, law.low, law.high, law.kinds, strict=True)
        open_ended = [name for name, low, high, _ in bounds if not np.isfinite([low, high]).all()]
        if open_ended:
            yield Finding(
                "actions",
                PROBLEM,
                f"no range of controls for {_listed(open_ended)}: an action of 1 is a control of 1",
                "Give the actuators a ctrlrange, or choose another law: torque, position or velocity.",
            )
        idle = [name for name, scale in zip(law.names, law.scale, strict=True) if scale == 0]
        if idle:
            yield Finding("actions", PROBLEM, f"an empty range of controls for {_listed(idle)}", "Widen it.")
    idle = _idle_actions(task)
    if idle:
        yield Finding(
            "actions",
            PROBLEM,
            f"nothing changes in 10 steps, whatever the action of {_listed(idle)} is",
            "Check what it drives, its gear and its gain.",
        )


def _idle_actions(task: Task) -> list[str]:
    """The actions that do nothing, found by robots that differ in one action each."""
    names = list(task.anatomy.actions)
    idle = []
    for start in range(0, len(names), _ENVS - 1):
        some = range(start, min(start + _ENVS - 1, len(names)))
        actions = np.zeros((_ENVS, len(names)))
        for row, action in enumerate(some, start=1):
            actions[row, action] = 1.0
        observation = task.reset(seeds=[0] * _ENVS)
        for _ in range(10):
            observation = task.step(actions).observation
        idle += [
            names[action] for row, action in enumerate(some, 1) if _same(observation[row], observation[0])
        ]
    return idle


def _rest(task: Task) -> Iterator[Finding]:
    """Actions 0: what a robot does that is told nothing."""
    task.reset(seeds=list(range(_ENVS)))
    fallen, touched = 0, np.zeros(len(task.feet), dtype=bool)
    for at in range(1, STEPS + 1):
        step = task.step(np.zeros((_ENVS, task.action_size)))
        fallen = fallen or (at if step.terminated.all() else 0)
        if task.feet:
            touched |= task.foot_contacts().any(axis=0)
    if fallen == 1:
        yield Finding(
            "rest",
            PROBLEM,
            "every episode ends with its first step: the robot begins unhealthy",
            "Change where episodes begin, or when they end (least_height, largest_tilt, healthy).",
        )
    elif fallen:
        law = getattr(task, "action_law", None)
        servos = law is not None and set(law.kinds) == {"position"}
        yield Finding(
            "rest",
            PROBLEM if servos else NOTE,
            f"at rest every robot falls within {fallen} steps",
            "Its servos should hold the home pose: check the keyframe, stiffness and damping."
            if servos
            else "That is as it should be for motors without torque.",
        )
    else:
        yield Finding("rest", GOOD, f"stands, or lasts, for {STEPS} steps of action 0")
    if not task.feet:
        yield Finding("feet", NOTE, "no feet, so that no contacts can be told", "Name them in `feet`.")
    elif touched.all():
        yield Finding("feet", GOOD, f"{', '.join(task.feet)} touch the floor")
    else:
        silent = [name for name, seen in zip(task.feet, touched, strict=True) if not seen]
        yield Finding(
            "feet",
            PROBLEM,
            f"{_listed(silent)} never touched the floor in {STEPS} steps of rest",
            "Check `feet` and `floor`, the start, and whether contype and conaffinity let them touch.",
        )


def _random(task: Task) -> Iterator[Finding]:
    """Even random actions: finite numbers, lengths of episodes, what never changes."""
    task.reset(seeds=list(range(_ENVS)))
    generator = np.random.default_rng(0)
    lengths: list[int] = []
    rewards, states = [], []
    diverged = task.num_diverged
    for _ in range(STEPS):
        step = task.step(generator.uniform(-1, 1, (_ENVS, task.action_size)))
        rewards.append(step.reward.copy())
        states.append(step.observation.copy())
        ended = step.terminated | step.truncated
        if ended.any():
            lengths += getattr(task, "step_count", np.zeros(_ENVS))[ended].tolist()
            task.reset(np.flatnonzero(ended))
    reward, state = np.array(rewards), np.array(states)
    if not (np.isfinite(reward).all() and np.isfinite(state).all()):
        what = "rewards" if not np.isfinite(reward).all() else "observations"
        yield Finding("numbers", PROBLEM, f"{what} with NaN or inf", "Find the division or root behind it.")
    elif np.abs(reward).max() > _LARGE_REWARD:
        yield Finding("numbers", NOTE, f"a reward of {np.abs(reward).max():.3g}", "Cut or scale it.")
    else:
        yield Finding("numbers", GOOD, f"finite; rewards {reward.min():.3g} to {reward.max():.3g} a step")
    if np.isfinite(reward).all() and np.ptp(reward) == 0:
        yield Finding("numbers", PROBLEM, "the reward never changes", "Let it depend on what the robot does.")
    if task.num_diverged > diverged:
        yield Finding(
            "physics",
            PROBLEM,
            f"the physics broke down {task.num_diverged - diverged} times in {STEPS * _ENVS} random steps",
            "Take a smaller timestep, more damping or armature, or smaller controls.",
        )
    spread = np.ptp(state, axis=(0, 1))
    unchanging = [name for name, moved in zip(task.layout.names, spread, strict=True) if moved == 0]
    if unchanging:
        yield Finding("layout", NOTE, f"{_listed(unchanging)} never changed", "Leave it out if it cannot.")
    yield _lengths(lengths, task.max_episode_steps)


def _lengths(lengths: list[int], most: int) -> Finding:
    if not lengths:
        return Finding("episodes", GOOD, f"none ended in {STEPS} random steps; {most} at most")
    middle = float(np.median(lengths))
    if middle <= 2:
        return Finding(
            "episodes",
            PROBLEM,
            f"episodes of random actions last {middle:g} steps (median)",
            "End them later, or begin them in a safer state.",
        )
    return Finding("episodes", GOOD, f"random actions last {middle:g} steps (median); {most} at most")


def _conditions(name: str, task: Task, options: dict[str, Any]) -> Iterator[Finding]:
    """Every condition beside the nominal world, from the same start with the same actions."""
    # A condition that leaves its number to the user gets one.
    worlds = [f"{one}=2" if needs_number(one, task.conditions) else one for one in task.conditions]
    same = []
    for start in range(0, len(worlds), 31):
        some = worlds[start : start + 31]
        same += _unchanged(make_task(name, len(some) + 1, 0, [None, *some], 1, **options), some)
    if same:
        yield Finding(
            "conditions",
            PROBLEM,
            f"{_listed(same)} changed nothing in {STEPS} steps",
            "Check what they name; MuJoCo takes the larger friction of the two geoms that touch.",
        )
    if worlds and not same:
        yield Finding("conditions", GOOD, f"all {len(worlds)} change what happens")
    if not task.conditions:
        yield Finding(
            "conditions", NOTE, "none is named", "Name some in `conditions`, such as broken joints."
        )


def _unchanged(task: Task, worlds: list[str]) -> list[str]:
    """The worlds in which a robot ends up exactly where it does in the nominal one."""
    first = task.reset(seeds=[0] * task.num_envs)
    differs = (first != first[0]).any(axis=1)
    generator = np.random.default_rng(1)
    action = np.zeros(task.action_size)
    for _ in range(STEPS):
        action = 0.8 * action + 0.2 * generator.uniform(-1, 1, task.action_size)
        step = task.step(np.tile(action, (task.num_envs, 1)))
        differs |= (step.observation != step.observation[0]).any(axis=1) | (step.reward != step.reward[0])
        if differs[1:].all():
            break
    return [world for world, changed in zip(worlds, differs[1:], strict=True) if not changed]


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.array_equal(one, other))


def _kinds(kinds: tuple[str, ...]) -> list[str]:
    return [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
