"""A robot from an MJCF file alone: state, feet, start, actions, reward and ending follow from its body."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from polygait.errors import UserError, unknown_name
from polygait.tasks.actions import POSITION, TORQUE, Servos, install_law, kind_of, law_of
from polygait.tasks.anatomy import motor_names
from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.free_base import gravity_direction, heading, to_body
from polygait.tasks.model_options import AUTO, DIRECTIONS, MODEL, ModelOptions
from polygait.tasks.model_state import StateReader, read_state
from polygait.tasks.morphology import (
    Morphology,
    body_name,
    find_feet,
    find_morphology,
    floor_geom,
    home_qpos,
    lowest_points,
    touching_geoms,
    upward_place,
    word,
)
from polygait.tasks.robot import Motion, Physics, Robot

ENDINGS = (".xml", ".mjcf")
_DEFAULT_SCALE = 0.5  # rad, usual in legged robots
_CLEARANCE = 1e-3


def is_model_file(name: str) -> bool:
    """Whether a task's name is that of a model file."""
    return name.lower().endswith(ENDINGS)


def robot_from_mjcf(path: str | Path, **options: Any) -> ModelRobot:
    """A robot that walks, from a model: `robot_from_mjcf("go2.xml", feet=["FL", "FR", "RL", "RR"])`.

    Options are those of ModelOptions. What was found is in the robot's `layout`, `feet`, `action_law`,
    `conditions` and `found`; `polygait tasks go2.xml` shows it, and `--write` makes a file of it to edit.
    """
    return ModelRobot(path, ModelOptions.of(options))


def read_model(path: str | Path) -> mujoco.MjSpec:
    """A model file, or a UserError that says what MuJoCo has against it."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"There is no model file {str(path)!r}.", "Check the path; it ends in .xml or .mjcf.")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        spec.compile()
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise UserError(
            f"MuJoCo cannot read {str(path)!r}: {reason}",
            "Mend the file; a file that others include may not stand alone, and meshes must lie beside it.",
        ) from error
    return spec


class ModelRobot(Robot):
    """Reward: forward speed + alive − control − posture. Healthy: high enough and not tilted too far."""

    defaults = TaskDefaults(settings=for_all_presets({}, robust={"ppo.learn_std": True}))

    def __init__(self, path: str | Path, options: ModelOptions | None = None) -> None:
        self.path = Path(path)
        self.options = options or ModelOptions()
        self.name = word(self.path.stem)
        self.max_episode_steps = self.options.max_episode_steps
        spec = read_model(self.path)
        model = spec.compile()
        self.shape = find_morphology(model)
        self.frame_skip = max(1, round(1 / (self.options.rate * float(model.opt.timestep))))
        self.law = self._choose_law(model)
        self.added_floor = _missing_floor(spec, model)
        model = self._with_floor(spec).compile()
        floor = floor_geom(model)
        assert floor is not None
        self.home, origin = _home(model, self.shape, floor, self.options.keyframe)
        self.floor = model.geom(floor).name or _free_name(spec)
        feet = self._feet(model, floor)
        called = {floor: self.floor}
        called |= {geom: _geom_name(model, geom) for geoms in feet.values() for geom in geoms}
        self.feet = {name: tuple(called[geom] for geom in geoms) for name, geoms in feet.items()}
        self.geom_names = {geom: name for geom, name in called.items() if not model.geom(geom).name}
        """Names for geoms that have none in the file, by their row."""
        self._read_body(self.spec().compile(), floor)
        self.found = {
            "file": self.path.name,
            "base": body_name(model, self.shape.base),
            "limbs": {limb.name: list(limb.leaves) for limb in self.shape.limbs},
            "feet": {name: list(geoms) for name, geoms in self.feet.items()},
            "start": origin,
            "floor": f"{self.floor}, added" if self.added_floor else self.floor,
            "forward": self.options.forward,
            "reward": self._reward_in_words(),
            "ends": self._ending_in_words(),
        }

    def spec(self) -> mujoco.MjSpec:
        spec = self._with_floor(read_model(self.path))
        if self.geom_names:
            spec.compile()  # numbers the geoms
            for geom in spec.geoms:
                geom.name = self.geom_names.get(geom.id, geom.name)
        if self.law != MODEL:
            install_law(spec, self.law, Servos(self.options.stiffness, self.options.damping))
        return spec

    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        qpos, noise = self.home.copy(), self.options.start_noise
        moved = self.reader.scalar_positions
        qpos[moved] += generator.uniform(-noise, noise, len(qpos[moved]))
        return qpos, generator.uniform(-noise, noise, model.nv)

    def progress(self, physics: Physics) -> np.ndarray:
        return self.sign * physics.qpos[:, self.forward_place]

    def healthy(self, physics: Physics) -> np.ndarray:
        if callable(self.options.healthy):
            return self.options.healthy(physics)
        fine = np.ones(len(physics.qpos), dtype=bool)
        if self.options.healthy == "always":
            return fine
        if self.height_place is not None:
            fine &= physics.qpos[:, self.height_place] > self.least_place
        return fine & (self.uprightness(physics.qpos) > math.cos(math.radians(self.options.largest_tilt)))

    def uprightness(self, qpos: np.ndarray) -> np.ndarray:
        """The cosine of the angle between the base's upward direction and that of the home pose."""
        place = self.reader.base_place
        if self.shape.is_free:
            now, then = gravity_direction(qpos[:, place + 3 : place + 7]), self.home_gravity
            return now @ then
        angles = qpos[:, self.reader.tilt_places] - self.home[self.reader.tilt_places]
        return np.cos(angles).min(axis=1, initial=1.0)

    def reward(self, motion: Motion) -> np.ndarray:
        if callable(self.options.reward):
            return self.options.reward(motion)
        chosen = self.options
        speed = motion.velocity if chosen.speed is None else np.minimum(motion.velocity, chosen.speed)
        control = np.square(motion.actions).mean(axis=1)
        return (
            chosen.forward_weight * speed
            + chosen.alive_weight * motion.healthy
            - chosen.control_weight * control
            - chosen.posture_weight * self.reader.posture(motion.observation)
        )

    def observe(self, physics: Physics) -> np.ndarray:
        reader, qpos, qvel = self.reader, physics.qpos, physics.qvel
        if self.shape.is_free:
            place, speed = reader.base_place, reader.base_speed
            orientation = qpos[:, place + 3 : place + 7]
            base = [
                qpos[:, place + 2 : place + 3],
                gravity_direction(orientation),
                heading(orientation),
                to_body(orientation, qvel[:, speed : speed + 3]),
                qvel[:, speed + 3 : speed + 6],
            ]
        else:
            base = [qpos[:, reader.base_positions], qvel[:, reader.base_velocities]]
        more = [physics.derived["act"]] if "act" in self.fields else []
        more += [physics.sensor(name) for name in self.sensors]
        limbs = [qpos[:, reader.positions] - self.home[reader.positions], qvel[:, reader.velocities]]
        return np.concatenate([*base, *limbs, *more], axis=1)

    def _with_floor(self, spec: mujoco.MjSpec) -> mujoco.MjSpec:
        if self.added_floor:
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, **self.added_floor)
        return spec

    def _choose_law(self, model: mujoco.MjModel) -> str:
        """Which actuators the robot has in the end: the model's own, or others in their place."""
        if self.options.actions != AUTO:
            return self.options.actions
        plain = all(kind_of(model, index) == TORQUE for index in range(model.nu))
        hinges = all(
            model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT.value
            and model.jnt_type[model.actuator_trnid[index, 0]] == mujoco.mjtJoint.mjJNT_HINGE.value
            for index in range(model.nu)
        )
        at_home = home_qpos(model, self.options.keyframe)[1].startswith("keyframe")
        return POSITION if plain and hinges and at_home and self.shape.is_free and not model.na else MODEL

    def _feet(self, model: mujoco.MjModel, floor: int) -> dict[str, tuple[int, ...]]:
        chosen = self.options.feet
        if chosen is None:
            return find_feet(model, self.shape, floor, self.home)
        named = chosen if isinstance(chosen, dict) else {name: name for name in chosen}
        return {word(name): _geoms_called(model, value) for name, value in named.items()}

    def _read_body(self, model: mujoco.MjModel, floor: int) -> None:
        """What is needed in every step: places in the state, bounds, the law of actions, conditions."""
        chosen, shape = self.options, self.shape
        self.reader: StateReader = read_state(model, shape, self.home)
        self.layout, self.removed = self.reader.layout, self.reader.removed
        self.fields = ("act",) if model.na else ()
        self.sensors = self.reader.sensors
        at_keyframe = home_qpos(model, chosen.keyframe)[1].startswith("keyframe") and shape.is_free
        scale = chosen.action_scale or (_DEFAULT_SCALE if at_keyframe else None)
        rate = 1 / (self.frame_skip * float(model.opt.timestep))
        self.action_law = law_of(model, motor_names(model), rate, self.home, scale)
        self.conditions = self.reader.conditions
        axis, self.sign = DIRECTIONS[chosen.forward]
        self.forward_place = self.reader.along(model, axis)
        self.height_place = upward_place(model, shape)
        data = mujoco.MjData(model)
        data.qpos[:] = self.home
        mujoco.mj_kinematics(model, data)
        height = float(data.xpos[shape.base, 2] - data.geom_xpos[floor, 2])
        self.least_height = height / 2 if chosen.least_height is None else chosen.least_height
        if self.height_place is not None:
            self.least_place = float(self.home[self.height_place]) - (height - self.least_height)
        if shape.is_free:
            start = self.reader.base_place + 3
            self.home_gravity = gravity_direction(self.home[None, start : start + 4])[0]

    def _reward_in_words(self) -> str:
        chosen = self.options
        if callable(chosen.reward):
            return "a function of its own"
        limit = "" if chosen.speed is None else f" up to {chosen.speed:g} m/s"
        return (
            f"{chosen.forward_weight:g}·forward speed{limit} + {chosen.alive_weight:g} while healthy "
            f"− {chosen.control_weight:g}·mean a² − {chosen.posture_weight:g}·(sin² tilt + mean (q − home)²)"
        )

    def _ending_in_words(self) -> str:
        chosen = self.options
        limit = f"after {chosen.max_episode_steps} steps"
        if callable(chosen.healthy):
            return f"by a function of its own, and {limit}"
        if chosen.healthy == "always":
            return limit
        low = "" if self.height_place is None else f"with the base below {self.least_height:.3g} m, "
        return f"{low}tilted beyond {chosen.largest_tilt:g}°, and {limit}"


def _missing_floor(spec: mujoco.MjSpec, model: mujoco.MjModel) -> dict[str, Any]:
    """A ground for a model without one, as add_geom takes it; every geom that touches anything touches it."""
    if floor_geom(model) is not None:
        return {}
    bits = int(np.bitwise_or.reduce([*model.geom_contype, *model.geom_conaffinity, 1]))
    return {"name": _free_name(spec), "size": (0, 0, 0.05), "contype": bits, "conaffinity": bits}


def _free_name(spec: mujoco.MjSpec) -> str:
    taken = {geom.name for geom in spec.geoms}
    return next(name for name in ("floor", "ground", "polygait_floor") if name not in taken)


def _home(
    model: mujoco.MjModel, shape: Morphology, floor: int, keyframe: str | None
) -> tuple[np.ndarray, str]:
    """The start, put on the ground where the model's own pose is not or sinks into it."""
    home, origin = home_qpos(model, keyframe)
    place = upward_place(model, shape)
    touching = touching_geoms(model, shape, floor)
    if place is None or not touching.any():
        return home, origin
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    gap = float(lowest_points(model, home)[touching].min() - data.geom_xpos[floor, 2])
    if origin.startswith("keyframe") and gap > -5 * _CLEARANCE:
        return home, origin
    home[place] += _CLEARANCE - gap
    return home, f"{origin}, put on the ground" if abs(gap) > 5 * _CLEARANCE else origin


def _geom_name(model: mujoco.MjModel, geom: int) -> str:
    """A geom's name, or that of its body and its place there."""
    body = int(model.geom_bodyid[geom])
    place = geom - int(model.body_geomadr[body])
    return model.geom(geom).name or f"{body_name(model, body)}.geom.{place}"


def _geoms_called(model: mujoco.MjModel, names: str | tuple[str, ...] | list[str]) -> tuple[int, ...]:
    """The geoms of these names, or of bodies of these names."""
    geoms = {_geom_name(model, geom): geom for geom in range(model.ngeom)}
    bodies = {body_name(model, body): body for body in range(model.nbody)}
    found: list[int] = []
    for name in [names] if isinstance(names, str) else names:
        if name in geoms:
            found.append(geoms[name])
        elif name in bodies:
            inside = np.flatnonzero(
                (model.geom_bodyid == bodies[name]) & (model.geom_contype | model.geom_conaffinity)
            )
            found += inside.tolist()
        else:
            raise unknown_name("geom or body of a foot", name, [*geoms, *bodies])
    return tuple(found)
