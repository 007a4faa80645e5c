"""A robot from a model file, written out as the Robot class that it is, to be edited."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polygait.errors import UserError
from polygait.storage.files import write_atomically
from polygait.tasks.model_options import MODEL
from polygait.tasks.model_robot import ModelRobot
from polygait.tasks.model_state import Places


def write_robot(robot: ModelRobot, path: str | Path) -> Path:
    """Write a robot's file; it does the same as the robot, step for step."""
    path = Path(path)
    if path.suffix != ".py":
        raise UserError(f"A robot's file is Python, got {path.name!r}.", "End its name in .py.")
    if path.exists():
        raise UserError(f"{path} exists already.", "Choose another name, or delete it first.")
    if callable(robot.options.reward) or callable(robot.options.healthy):
        raise UserError(
            "A reward or ending that is a function cannot be written out.",
            "Leave them out, write the file, and put your function in its place.",
        )
    write_atomically(path, robot_source(robot, path).encode(), "write the robot again")
    return path


def class_name(robot: ModelRobot) -> str:
    """What the class is called: Go2 of go2.xml."""
    words = "".join(part.capitalize() for part in re.split(r"[^0-9A-Za-z]+", robot.name))
    return words if words.isidentifier() else f"Robot{words}"


def robot_source(robot: ModelRobot, path: Path) -> str:
    """The text of a robot's file."""
    model_path = os.path.relpath(robot.path.resolve(), path.resolve().parent)
    return "\n".join(
        [
            f'"""{class_name(robot)}, from {robot.path.name}: written by polygait, to be edited."""',
            "",
            "from pathlib import Path",
            "",
            "import mujoco",
            "import numpy as np",
            "",
            *_imports(robot),
            "",
            f"MODEL = Path(__file__).parent / {model_path!r}",
            *_numbers(robot),
            "",
            "",
            f"class {class_name(robot)}(Robot):",
            *_indented(_class_data(robot)),
            "",
            *_indented(_methods(robot)),
            "",
        ]
    )


def _imports(robot: ModelRobot) -> list[str]:
    actions = "ActionLaw" if robot.law == MODEL else "ActionLaw, Servos, install_law"
    free = ["from polygait.tasks.free_base import gravity_direction, heading, to_body"]
    return [
        f"from polygait.tasks.actions import {actions}",
        "from polygait.tasks.defaults import TaskDefaults, for_all_presets",
        *(free if robot.shape.is_free else []),
        "from polygait.tasks.robot import Motion, Physics, Robot",
        "from polygait.tasks.state import StateLayout",
    ]


def _numbers(robot: ModelRobot) -> list[str]:
    """Where things are in the model's state, and the choices that the reward is made of."""
    reader, chosen = robot.reader, robot.options
    lines = [
        f"HOME = np.array({robot.home.tolist()})",
        f"POSITIONS, VELOCITIES = {_places(reader.positions)}, {_places(reader.velocities)}",
        f"MOVED = {_places(reader.scalar_positions)}",
        '"""Positions that differ a little from start to start."""',
        f"NOISE = {chosen.start_noise}",
    ]
    if not robot.shape.is_free:
        base = _places(reader.base_positions), _places(reader.base_velocities)
        lines += [
            f"BASE_POSITIONS, BASE_VELOCITIES = {base[0]}, {base[1]}",
            f"TILTS = {_places(reader.tilt_places)}",
        ]
    if robot.geom_names:
        lines += [
            f"GEOM_NAMES = {robot.geom_names}",
            '"""For geoms that have none in the file, by their row."""',
        ]
    weights = (chosen.forward_weight, chosen.alive_weight, chosen.control_weight, chosen.posture_weight)
    return [*lines, f"FORWARD, ALIVE, CONTROL, POSTURE = {', '.join(map(str, weights))}"]


def _class_data(robot: ModelRobot) -> list[str]:
    layout: dict[str, list[str]] = {}
    for name in robot.layout.names:
        part, _, leaf = name.rpartition(".")
        layout.setdefault(part, []).append(leaf)
    law = robot.action_law
    assert law is not None
    fields = [f"    {name}={_tuple(value)}," for name, value in vars(law).items() if isinstance(value, tuple)]
    return [
        f'"""Reward: {robot.found["reward"]}.',
        "",
        f"An episode ends {robot.found['ends']}.",
        '"""',
        "",
        f"name = {robot.name!r}",
        f"layout = StateLayout.of({_mapping(layout)})",
        f"frame_skip = {robot.frame_skip}",
        f"max_episode_steps = {robot.max_episode_steps}",
        f"feet = {_mapping(robot.feet)}",
        f"floor = {robot.floor!r}",
        f"removed = {robot.removed!r}",
        f"conditions = {_mapping(robot.conditions)}",
        *([f"fields = {robot.fields!r}"] if robot.fields else []),
        *([f"sensors = {robot.sensors!r}"] if robot.sensors else []),
        'defaults = TaskDefaults(settings=for_all_presets({}, robust={"ppo.learn_std": True}))',
        "action_law = ActionLaw(",
        *fields,
        f"    rate={law.rate!r},",
        ")",
    ]


def _methods(robot: ModelRobot) -> list[str]:
    return [
        *_spec_method(robot),
        "",
        "def initial_state(self, model, generator):",
        "    qpos = HOME.copy()",
        "    qpos[MOVED] += generator.uniform(-NOISE, NOISE, len(qpos[MOVED]))",
        "    return qpos, generator.uniform(-NOISE, NOISE, model.nv)",
        "",
        "def progress(self, physics: Physics) -> np.ndarray:",
        f"    return {robot.sign} * physics.qpos[:, {robot.forward_place}]",
        "",
        *_healthy_method(robot),
        "",
        *_reward_method(robot),
        "",
        *_observe_method(robot),
    ]


def _spec_method(robot: ModelRobot) -> list[str]:
    lines = ["def spec(self) -> mujoco.MjSpec:", "    spec = mujoco.MjSpec.from_file(str(MODEL))"]
    if robot.added_floor:
        options = ", ".join(f"{name}={value!r}" for name, value in robot.added_floor.items())
        lines.append(f"    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, {options})")
    if robot.geom_names:
        lines += [
            "    spec.compile()  # numbers the geoms",
            "    for geom in spec.geoms:",
            "        geom.name = GEOM_NAMES.get(geom.id, geom.name)",
        ]
    if robot.law != MODEL:
        servos = f"Servos(stiffness={robot.options.stiffness}, damping={robot.options.damping})"
        lines.append(f"    install_law(spec, {robot.law!r}, {servos})")
    return [*lines, "    return spec"]


def _healthy_method(robot: ModelRobot) -> list[str]:
    lines = ["def healthy(self, physics: Physics) -> np.ndarray:"]
    if robot.options.healthy == "always":
        return [*lines, "    return np.ones(len(physics.qpos), dtype=bool)"]
    least = float(np.cos(np.radians(robot.options.largest_tilt)))
    place = robot.reader.base_place + 3
    upright = (
        f"gravity_direction(physics.qpos[:, {place}:{place + 4}]) @ np.array({robot.home_gravity.tolist()})"
        if robot.shape.is_free
        else "np.cos(physics.qpos[:, TILTS] - HOME[TILTS]).min(axis=1, initial=1.0)"
    )
    high = ""
    if robot.height_place is not None:
        high = f"(physics.qpos[:, {robot.height_place}] > {robot.least_place!r}) & "
    return [*lines, f"    upright = {upright}", f"    return {high}(upright > {least!r})"]


def _reward_method(robot: ModelRobot) -> list[str]:
    speed = robot.options.speed
    forward = "motion.velocity" if speed is None else f"np.minimum(motion.velocity, {speed})"
    reader = robot.reader
    leaning = f"motion.observation[:, {_places(reader.tilt_columns)}]"
    sines = leaning if robot.shape.is_free else f"np.sin({leaning})"
    return [
        "def reward(self, motion: Motion) -> np.ndarray:",
        "    control = np.square(motion.actions).mean(axis=1)",
        f"    leaning = np.square({sines}).sum(axis=1)",
        f"    away = motion.observation[:, {_places(reader.joint_columns)}]",
        "    posture = leaning + np.square(away).sum(axis=1) / max(1, away.shape[1])",
        f"    return FORWARD * {forward} + ALIVE * motion.healthy - CONTROL * control - POSTURE * posture",
    ]


def _observe_method(robot: ModelRobot) -> list[str]:
    lines = [
        "def observe(self, physics: Physics) -> np.ndarray:",
        "    qpos, qvel = physics.qpos, physics.qvel",
    ]
    if robot.shape.is_free:
        place, speed = robot.reader.base_place, robot.reader.base_speed
        lines.append(f"    orientation = qpos[:, {place + 3}:{place + 7}]")
        base = [
            f"qpos[:, {place + 2}:{place + 3}]",
            "gravity_direction(orientation)",
            "heading(orientation)",
            f"to_body(orientation, qvel[:, {speed}:{speed + 3}])",
            f"qvel[:, {speed + 3}:{speed + 6}]",
        ]
    else:
        base = ["qpos[:, BASE_POSITIONS]", "qvel[:, BASE_VELOCITIES]"]
    parts = [*base, "qpos[:, POSITIONS] - HOME[POSITIONS]", "qvel[:, VELOCITIES]"]
    parts += ['physics.derived["act"]'] if robot.fields else []
    parts += [f"physics.sensor({name!r})" for name in robot.sensors]
    return [
        *lines,
        "    parts = [",
        *(f"        {part}," for part in parts),
        "    ]",
        "    return np.concatenate(parts, axis=1)",
    ]


def _places(places: Places) -> str:
    """Indices as Python."""
    if isinstance(places, slice):
        return f"slice({places.start}, {places.stop})"
    return f"np.array({places.tolist()}, dtype=int)"


def _tuple(values: Sequence[Any]) -> str:
    inside = ", ".join(
        "float('inf')" if one == np.inf else "-float('inf')" if one == -np.inf else repr(one)
        for one in values
    )
    return f"({inside}{',' if len(values) == 1 else ''})"


def _mapping(values: Mapping[str, Any]) -> str:
    lines = [
        f"        {name!r}: {tuple(value) if isinstance(value, list) else value!r},"
        for name, value in values.items()
    ]
    return "\n".join(["{", *lines, "    }"]) if lines else "{}"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]
