"""What an exported policy says about itself: joints, actions, observations, rate, where it comes from."""

from __future__ import annotations

import fnmatch
import json
import math
from typing import Any

from polygait.population.population import Population
from polygait.population.store import RunFolder
from polygait.tasks.actions import law_of_task
from polygait.tasks.task import Task
from polygait.versions import versions
from polygait.zoo import spoken

FORMAT = 1


def make_card(population: Population, member: int, task: Task) -> dict[str, Any]:
    """Everything a user of the file needs to know, as plain data; None where it is not known."""
    robot, chosen = getattr(task, "robot", None), population.members[member]
    origin = RunFolder.open(population.path).manifest.get("origin")
    policy = population.plain(member)
    return {
        "format": FORMAT,
        "task": population.config.task,
        "run": spoken(population.path),
        "member": chosen.index,
        "weights": population.weights(member),
        "steps": chosen.steps,
        "trained_in": population.config.variation or "nominal",
        "started_from": origin and {name: origin[name] for name in ("run", "member", "weights")},
        "versions": versions(),
        "licence": getattr(robot, "licence", "") or None,
        "control_rate": 1 / task.time_step if task.time_step else None,
        "observations": [{"name": name, "unit": _unit(name, task)} for name in population.layout.names],
        "actions": _actions(task),
        "joints": _joints(task),
        "layers": len(policy.weights),
        "activation": policy.activation,
        "normalised": policy.center is not None,
        "std": None if policy.std is None else policy.std.tolist(),
    }


def _unit(name: str, task: Task) -> str | None:
    units = getattr(getattr(task, "robot", task), "units", {})
    return next((unit for pattern, unit in units.items() if fnmatch.fnmatchcase(name, pattern)), None)


def _actions(task: Task) -> dict[str, Any]:
    """The law of actions as the run's manifest has it, and what an action means in a sentence."""
    record = law_of_task(task).to_json()
    return record | {"meaning": record["meaning"] or "The control of the actuator that has this name."}


def _joints(task: Task) -> dict[str, Any]:
    """The joints that are driven, in the order of the motors, and where they stand at rest."""
    names = list(task.anatomy.motors or task.anatomy.actions)
    robot, model = getattr(task, "robot", None), getattr(task, "model", None)
    rest = None
    if robot is not None and robot.motors is not None:
        rest = robot.motors.rest(1)[0].tolist()
    elif model is not None and all(name in task.anatomy.joints for name in names):
        places = [model.jnt_qposadr[task.anatomy.joints[name][0]] for name in names]
        rest = model.qpos0[places].tolist()
    return {"names": names, "rest": rest}


def onnx_metadata(card: dict[str, Any]) -> dict[str, str]:
    """The card as texts by key: those that mjlab and rsl_rl's users know, and the whole of it as JSON.

    Lists are joined by commas. `action_scale` and `default_joint_pos` belong to the output `actions`; the
    output `controls` holds them already.
    """
    actions, joints = card["actions"], card["joints"]
    known = {
        "run_path": card["run"],
        "joint_names": joints["names"],
        "default_joint_pos": joints["rest"],
        "joint_stiffness": actions["stiffness"] if any(actions["stiffness"]) else None,
        "joint_damping": actions["damping"] if any(actions["damping"]) else None,
        "action_names": actions["names"],
        "action_scale": actions["scale"],
        "action_offset": actions["default"],
        "observation_names": [one["name"] for one in card["observations"]],
        "command_names": [],
        "control_rate": card["control_rate"],
        "polygait": card_text(card),
    }
    return {name: _text(value) for name, value in known.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def card_text(card: dict[str, Any]) -> str:
    """The card as strict JSON."""
    return json.dumps(_finite(card), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """Plain data without infinities: a bound that does not exist is null."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
