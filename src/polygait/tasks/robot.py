"""What a robot's file says: its model, its state, its reward, its feet and its conditions."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import mujoco
import numpy as np
from mujoco.batch import Batch

from polygait.errors import unknown_name
from polygait.tasks.actions import ActionLaw, law_of, law_of_motors
from polygait.tasks.anatomy import model_anatomy
from polygait.tasks.defaults import TaskDefaults
from polygait.tasks.state import StateLayout
from polygait.variations import Anatomy, Foot

_Own = TypeVar("_Own", bound="Robot")
GIVEN = "_given"
"""The attribute of a robot that holds what it was made with."""


class Physics(NamedTuple):
    """Arrays of a batch with one row per environment; live views, unless cut out with `at`."""

    batch: Batch
    qpos: np.ndarray
    qvel: np.ndarray
    ctrl: np.ndarray
    memory: np.ndarray
    """Numbers of the robot's own (MuJoCo's userdata): part of the state, 0 when an episode begins."""
    derived: Mapping[str, np.ndarray]
    """Further fields of MjData, each refreshed by every call of the engine."""
    sensors: Mapping[str, slice] = {}
    """Where each sensor's numbers lie in `sensordata`."""

    @classmethod
    def of(
        cls, batch: Batch, fields: tuple[str, ...] = (), sensors: Mapping[str, slice] | None = None
    ) -> Physics:
        """The arrays of a batch; a derived field is empty until the engine's next call."""
        derived = {name: batch.bind(name) for name in fields}
        qpos, qvel, ctrl, memory = (batch.bind(name) for name in ("qpos", "qvel", "ctrl", "userdata"))
        return cls(batch, qpos, qvel, ctrl, memory, derived, sensors or {})

    def sensor(self, name: str) -> np.ndarray:
        """What a sensor among the robot's `sensors` reads, (environments, its numbers)."""
        if name not in self.sensors:
            raise unknown_name("sensor", name, self.sensors)
        return self.derived["sensordata"][:, self.sensors[name]]

    def at(self, rows: np.ndarray) -> Physics:
        """A copy of some rows."""
        derived = {name: array[rows] for name, array in self.derived.items()}
        return self._replace(
            qpos=self.qpos[rows],
            qvel=self.qvel[rows],
            ctrl=self.ctrl[rows],
            memory=self.memory[rows],
            derived=derived,
        )


class Motion(NamedTuple):
    """What a reward may depend on: one step of every environment."""

    velocity: np.ndarray
    """Forward progress per second."""
    actions: np.ndarray
    """The actions that reached the robot."""
    healthy: np.ndarray
    observation: np.ndarray
    """The new state, before any sensor fails."""

    def control_effort(self) -> np.ndarray:
        """‖a‖² of every environment."""
        return np.einsum("ij,ij->i", self.actions, self.actions)


class Motors(ABC):
    """Motors with a law of their own between actions and torques, which acts anew in every substep."""

    action_names: tuple[str, ...]
    meaning: str = ""
    """What an action asks for, in a sentence."""
    gains: Mapping[str, float] = {}
    """The figures of the law by name, with their units in the name; for who builds it again elsewhere."""
    settling: int
    """Substeps for which a new robot stands at rest before its episode begins."""

    @abstractmethod
    def commands(self, actions: np.ndarray) -> np.ndarray:
        """What actions tell the motors for a whole step."""

    @abstractmethod
    def rest(self, num_envs: int) -> np.ndarray:
        """The commands of robots that stand at rest."""

    @abstractmethod
    def drive(self, physics: Physics, rows: np.ndarray | slice, commands: np.ndarray) -> None:
        """Set `physics.ctrl[rows]` for the next substep; what must last belongs in `physics.memory`."""


@runtime_checkable
class Body(Protocol):
    """What can be drawn: a robot, or what an environment simulates."""

    floor: str

    @property
    def feet(self) -> Mapping[str, str | tuple[str, ...]]:
        """Each foot's name and its geoms."""
        ...

    def spec(self) -> mujoco.MjSpec:
        """The model, before it is compiled."""
        ...


class Robot(ABC):
    """One robot and its task, written for all environments at once. Subclass it to bring your own."""

    def __new__(cls: type[_Own], *args: Any, **options: Any) -> _Own:
        """A robot remembers what it was made with: a run must be able to make it again."""
        robot = object.__new__(cls)
        object.__setattr__(robot, GIVEN, (args, options))
        return robot

    name: str
    layout: StateLayout
    """The names of the observation."""
    frame_skip: int
    max_episode_steps: int = 1000
    feet: Mapping[str, str | tuple[str, ...]]
    """Each foot's name and the geom, or geoms, whose touch of the geom `floor` counts."""
    floor: str = "floor"
    conditions: Mapping[str, str]
    """Named conditions, each in the language of variations: "mass(foot)" leaves its number to the user,
    "broken(foot_joint)+mass(torso)=1.5" are two edits. They are checked when a task is made."""
    removed: tuple[str, ...]
    """State parts that the default filter removes."""
    defaults: TaskDefaults = TaskDefaults()
    """Numbers for methods, learners and suites that belong to this robot."""
    locks_at_zero: bool = False
    """Whether broken(JOINT) locks at the angle 0 wherever the joint's range lies, as in the paper."""
    needs_contact_forces: bool = False
    """Whether `cfrc_ext` must hold at the observed state; costs one more dynamics evaluation."""
    fields: tuple[str, ...] = ()
    """Further fields of MjData that the methods below read from `physics.derived`, as MuJoCo's last substep
    left them; `sensordata`, all sensors of the model, holds at the observed state."""
    units: Mapping[str, str] = {}
    """The unit of every number of the state by patterns of names, the first that fits; for who reads an
    exported policy."""
    licence: str = ""
    """Of the model, where it is known."""
    sensors: tuple[str, ...] = ()
    """Sensors of the model that the methods below read with `physics.sensor(name)`, at the observed state.
    They cost a pass of the engine, up to the stage that the costliest needs; others cost nothing."""
    motors: Motors | None = None
    """What stands between actions and torques; without it, actions are mapped to the model's controls."""
    action_law: ActionLaw | None = None
    """How, for a robot without `motors`; left out, actions cover the range of each actuator of the model."""

    @abstractmethod
    def spec(self) -> mujoco.MjSpec:
        """The model, before the task adds its sensors."""

    @abstractmethod
    def initial_state(
        self, model: mujoco.MjModel, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities with which an episode begins."""

    def draw_model(self, model: mujoco.MjModel, generator: np.random.Generator) -> Mapping[str, np.ndarray]:
        """Whole fields of the model as one episode's robot happens to have them; by default as they are."""
        return {}

    def initial_fields(self, qpos: np.ndarray) -> Mapping[str, np.ndarray] | None:
        """`fields` at initial positions, one row each, if the robot knows them; None has them computed."""
        return None if self.fields or self.sensors else {}

    @abstractmethod
    def progress(self, physics: Physics) -> np.ndarray:
        """How far every robot has come, in metres."""

    @abstractmethod
    def healthy(self, physics: Physics) -> np.ndarray:
        """Whether every robot is still up; an episode terminates when not."""

    @abstractmethod
    def reward(self, motion: Motion) -> np.ndarray:
        """The reward of a step."""

    @abstractmethod
    def observe(self, physics: Physics) -> np.ndarray:
        """The observation of every robot, a new array."""


def add_sensors(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Give a model one contact sensor per foot and, where needed, the force sensor behind cfrc_ext.

    MuJoCo computes cfrc_ext only when a sensor asks for it. Sensors that nobody reads are taken away.
    """
    own = {sensor.name: sensor for sensor in spec.sensors}
    for name in robot.sensors:
        if name not in own:
            raise unknown_name("sensor", name, own)
    if "sensordata" not in robot.fields:
        for sensor in [one for one in spec.sensors if one.name not in robot.sensors]:
            spec.delete(sensor)
    if robot.needs_contact_forces:
        spec.worldbody.first_body().add_site(name="polygait_force")
        spec.add_sensor(
            name="polygait_force",
            type=mujoco.mjtSensor.mjSENS_FORCE,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname="polygait_force",
        )
    for geom in (geom for geoms in foot_geoms(robot) for geom in geoms):
        spec.add_sensor(
            name=f"polygait_foot_{geom}",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_GEOM,
            objname=geom,
            reftype=mujoco.mjtObj.mjOBJ_GEOM,
            refname=robot.floor,
            intprm=[1, 0, 1],  # report only whether a contact was found, one slot
        )


def sensor_places(model: mujoco.MjModel) -> dict[str, slice]:
    """Where the numbers of every sensor of the model's own lie in sensordata."""
    return {
        model.sensor(index).name: slice(
            int(model.sensor_adr[index]), int(model.sensor_adr[index] + model.sensor_dim[index])
        )
        for index in _own_sensors(model)
    }


def sensor_stage(model: mujoco.MjModel, robot: Robot) -> int:
    """How far the engine must compute at the observed state for what the robot reads; 0 is not at all."""
    if robot.needs_contact_forces:
        return mujoco.mjtStage.mjSTAGE_ACC.value
    read = bool(robot.sensors) or "sensordata" in robot.fields
    return (
        max([int(model.sensor_needstage[index]) for index in _own_sensors(model)], default=0) if read else 0
    )


def _own_sensors(model: mujoco.MjModel) -> list[int]:
    """The sensors that the model came with."""
    return [one for one in range(model.nsensor) if not model.sensor(one).name.startswith("polygait_")]


def foot_geoms(robot: Body) -> list[tuple[str, ...]]:
    """The geoms of every foot."""
    return [(geoms,) if isinstance(geoms, str) else geoms for geoms in robot.feet.values()]


def anatomy(model: mujoco.MjModel, robot: Robot) -> Anatomy:
    """The names in a robot's compiled model."""
    found = model_anatomy(
        model,
        robot.layout,
        None if robot.motors is None else robot.motors.action_names,
        battery=robot.motors is not None and model.nuser_actuator > 0,
        locks_at_zero=robot.locks_at_zero,
    )
    feet = zip(robot.feet, foot_geoms(robot), strict=True)
    return dataclasses.replace(found, feet={foot: _foot(model, found, parts) for foot, parts in feet})


def _foot(model: mujoco.MjModel, names: Anatomy, geoms: tuple[str, ...]) -> Foot:
    """A foot's geoms and the bodies that carry them."""
    body_names = {index: name for name, index in names.bodies.items()}
    bodies = dict.fromkeys(body_names[int(model.geom(geom).bodyid[0])] for geom in geoms)
    return Foot(geoms, tuple(bodies))


def action_law(model: mujoco.MjModel, robot: Robot, names: Anatomy) -> ActionLaw:
    """What a robot's actions do: its own law, or that of its model's actuators."""
    rate = 1 / float(model.opt.timestep * robot.frame_skip)
    if robot.motors is not None:
        return law_of_motors(names.actions, rate, robot.motors.meaning, robot.motors.gains)
    return robot.action_law or law_of(model, names.actions, rate)
