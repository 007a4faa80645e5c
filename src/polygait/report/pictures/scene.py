"""A robot on a stage: one look for every picture of it, and a camera that goes along.

Each leg has the colour of its foot, here and in every chart; what a variation has changed is red.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

import mujoco
import numpy as np

from polygait.errors import UserError
from polygait.report.feet import foot_colours
from polygait.tasks.gym import GymTask
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robot import Body, foot_geoms
from polygait.tasks.schedule import schedule
from polygait.tasks.task import Task
from polygait.variations import (
    LAST_STEP,
    ActionDrop,
    ActionGain,
    ActionPlay,
    Effect,
    Force,
    JointHold,
    ModelChange,
    Variation,
)

CHANGED = "#d6001c"
TORSO = "#9aa5b1"
SKY = ("#e4eaf1", "#f7f9fb")
"""At the top of the picture and at the horizon."""
FLOOR = ("#dfe5eb", "#cdd6df")
"""The two tones of the ground, in squares of SQUARE metres."""
SQUARE = 0.5
LIGHT = np.array([0.3, 0.5, -1.0]) / np.linalg.norm([0.3, 0.5, -1.0])
"""Where the light goes."""
FIELD_OF_VIEW = 35.0
SHOWN_GROUPS = (0, 1, 2)
"""Groups of geoms that are drawn, MuJoCo's own choice; models keep shapes for collisions in higher ones."""
_MARGIN = 1.2
_LEAP = 1.15  # of the height: robots hop
_LEAST_WIDTH = 0.85  # of the height: legs swing
_SIDE, _BEHIND = (90.0, -8.0), (125.0, -22.0)  # azimuth and elevation, in degrees
FROM_ABOVE = (90.0, -58.0)
"""A view that keeps the legs of a robot apart that is not held in a plane."""
_SKYBOX = mujoco.mjtTexture.mjTEXTURE_SKYBOX
_PLANE = mujoco.mjtGeom.mjGEOM_PLANE


class Camera(NamedTuple):
    """Where one stands and looks, as MuJoCo's free camera has it; angles in degrees."""

    lookat: np.ndarray
    distance: float
    azimuth: float
    elevation: float


@runtime_checkable
class DrawableTask(Task, Protocol):
    """A task with a body."""

    variations: list[Variation]

    @property
    def model(self) -> mujoco.MjModel:
        """What is simulated."""
        ...

    @property
    def body(self) -> Body:
        """What is drawn."""
        ...

    @property
    def poses(self) -> np.ndarray:
        """(num_envs, position) How every robot stands."""
        ...

    @property
    def step_count(self) -> np.ndarray:
        """(num_envs,) Steps since every episode began."""
        ...


class Framing(NamedTuple):
    """How a robot is taken into the picture."""

    share: float = 1.0
    """Of the picture's width, for the robot."""
    angles: tuple[float, float] = _BEHIND
    """Azimuth and elevation for a robot that can turn; one held in a plane is seen from its side."""
    home: np.ndarray | None = None
    """The pose that must fit; the model's own when left out."""


class Stage:
    """One robot to be drawn: its model in polygait's look, and its pose."""

    def __init__(self, robot: Body, size: tuple[int, int], framing: Framing | None = None) -> None:
        framing = framing or Framing()
        self.size = size
        self.model = _dressed(robot, size)
        self.data = mujoco.MjData(self.model)
        floor = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_GEOM.value, robot.floor)
        self.floor = floor if floor >= 0 and self.model.geom_type[floor] == _PLANE else None
        self._colours = _leg_colours(self.model, robot)
        self.pose(self.model.qpos0 if framing.home is None else framing.home)
        ground = 0.0 if self.floor is None else float(self.data.geom_xpos[self.floor, 2])
        half_width, top = _room(self.model, self.data)
        half_height = max(_LEAP * (top - ground) / 2, 1e-3)
        half_width = max(half_width, _LEAST_WIDTH * half_height)
        needed = max(half_height, half_width * size[1] / (size[0] * framing.share))
        planar = is_planar(self.model)
        self._angles = _SIDE if planar else framing.angles
        self._middle = ground + half_height
        self._distance = _MARGIN * needed / np.tan(np.radians(FIELD_OF_VIEW / 2))
        if not planar:
            self._distance += half_width  # a leg may point at the camera

    def twin(self) -> Stage:
        """The same stage once more, with a pose of its own: to be drawn at the same time."""
        other = copy.copy(self)
        other.model = copy.copy(self.model)
        other.data = mujoco.MjData(other.model)
        return other

    def pose(self, qpos: np.ndarray, changed: Iterable[int] = ()) -> None:
        """Put the robot where it was, with some of its geoms in red."""
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        self.model.geom_rgba[:] = self._colours
        for geom in changed:
            if self.model.geom_bodyid[geom] > 0:
                self.model.geom_rgba[geom] = rgba(CHANGED)

    def camera(self) -> Camera:
        """A view that goes along with the robot; its height stays, so that one sees the torso bob.

        It follows the centre of mass, which moves with the torso but does not nod with it.
        """
        x, y, _ = self.model.body_mass @ self.data.xipos / self.model.body_mass.sum()
        return Camera(np.array([x, y, self._middle]), self._distance, *self._angles)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Where points of the world, (n, 3), are in the picture, (n, 2) in pixels from its upper left."""
        origin, axes = view(self.camera())
        seen = (np.asarray(points) - origin) @ axes.T
        scale = self.size[1] / 2 / np.tan(np.radians(FIELD_OF_VIEW / 2))
        return np.array(self.size) / 2 + scale * seen[:, :2] / seen[:, 2:] * (1, -1)


def is_drawable(task: Task) -> TypeGuard[DrawableTask]:
    """Whether a task simulates a MuJoCo model whose file is known: a robot, or one of Gymnasium's."""
    return isinstance(task, MujocoTask | GymTask) and task.body is not None


def require_drawable(task: Task) -> DrawableTask:
    """The same task, or why it cannot be drawn."""
    if not is_drawable(task):
        raise not_drawable(task)
    return task


def require_robot(task: Task) -> MujocoTask:
    """The same task, or why its parts cannot be shown by name."""
    if not isinstance(task, MujocoTask):
        raise not_drawable(task)
    return task


def not_drawable(task: Task) -> UserError:
    """Why a task cannot be drawn, and what can be done instead."""
    if isinstance(task, GymTask):
        return UserError(
            f"{task.name} cannot be drawn: it is a Gymnasium environment without a Robot file"
            f"{'' if task.body is None else ', whose parts have no names'}.",
            "Gymnasium draws it: make it with render_mode='human', wrap it in RescaleAction(env, -1, 1) "
            "and step it with population.act(observation, member)[0].",
        )
    if twin := drawable_twin(task.name):
        return UserError(
            f"{task.name} cannot be drawn: it is not simulated by MuJoCo.",
            f"Draw it in the MuJoCo task that has the same state: {twin}.",
        )
    return UserError(
        f"{task.name} cannot be drawn: it has no Robot file.",
        "Write one for its MuJoCo model (docs/robots.md).",
    )


def drawable_twin(name: str) -> str | None:
    """The task in which a robot of another simulator can be drawn, as far as names tell."""
    return name.removesuffix("-bullet") if name.endswith("-bullet") else None


def changed_geoms(task: DrawableTask, variation: Variation, moment: int) -> tuple[int, ...]:
    """The geoms of all parts that a variation has changed at this step of an episode, or ever (LAST_STEP)."""
    geoms: set[int] = set()
    for scheduled in schedule([variation], task.anatomy):
        if moment >= LAST_STEP or scheduled.due(np.array([moment])).size:
            geoms.update(_touched(task.model, scheduled.effect))
    return tuple(sorted(geoms))


def view(camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    """A camera's place, and its axes right, up and forward as rows."""
    azimuth, elevation = np.radians(camera.azimuth), np.radians(camera.elevation)
    forward = np.array(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    )
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    return camera.lookat - camera.distance * forward, np.stack([right, np.cross(right, forward), forward])


def rgba(colour: str) -> np.ndarray:
    """A colour such as #2b6cb0 as four numbers from 0 to 1."""
    return np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)] + [1.0])


def is_planar(model: mujoco.MjModel) -> bool:
    """Whether the robot is held in a plane; the others have a free joint."""
    return mujoco.mjtJoint.mjJNT_FREE.value not in model.jnt_type


def bodies_above(model: mujoco.MjModel, geom: str) -> list[int]:
    """The body of a geom and all that carry it, but for the world."""
    bodies, body = [], int(model.geom(geom).bodyid[0])
    while body:
        bodies.append(body)
        body = int(model.body_parentid[body])
    return bodies


def torso(model: mujoco.MjModel) -> int:
    """The first body that moves: the root of the robot."""
    return next((body for body in range(1, model.nbody) if model.body_dofnum[body]), model.nbody - 1)


def _dressed(robot: Body, size: tuple[int, int]) -> mujoco.MjModel:
    """The robot's model with plain colours, soft light and a chequered floor; its mechanics stay."""
    spec = robot.spec()
    for unwanted in (*spec.lights, *(texture for texture in spec.textures if texture.type == _SKYBOX)):
        spec.delete(unwanted)
    for geom in spec.geoms:
        geom.material = ""
    for name, kind, builtin, tones in (
        ("polygait_sky", _SKYBOX, mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, SKY),
        ("polygait_floor", mujoco.mjtTexture.mjTEXTURE_2D, mujoco.mjtBuiltin.mjBUILTIN_CHECKER, FLOOR),
    ):
        first, second = (rgba(tone)[:3] for tone in tones)
        spec.add_texture(
            name=name, type=kind, builtin=builtin, rgb1=first, rgb2=second, width=256, height=256
        )
    floor = spec.add_material(name="polygait_floor", texuniform=True, specular=0, emission=0.05)
    floor.texrepeat = [1 / SQUARE] * 2
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "polygait_floor"
    ground = next((geom for geom in spec.geoms if geom.name == robot.floor), None)
    if ground is not None and ground.type == _PLANE:
        ground.material, ground.size = "polygait_floor", [0, 0, 0.05]
    if (root := spec.worldbody.first_body()) is not None:
        root.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACK,
            pos=-4 * LIGHT,
            dir=LIGHT,
            diffuse=[0.45] * 3,
            specular=[0.15] * 3,
        )
    lamp = spec.visual.headlight
    lamp.ambient, lamp.diffuse, lamp.specular = [0.5] * 3, [0.2] * 3, [0.0] * 3
    spec.visual.global_.fovy = FIELD_OF_VIEW
    spec.visual.global_.offwidth, spec.visual.global_.offheight = size
    spec.stat.extent = 3.0  # the reach of shadows and of the camera's sharpness
    return spec.compile()


def _room(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, float]:
    """Half of the robot's width, and how high it reaches."""
    parts = np.flatnonzero(model.geom_bodyid > 0)
    if not len(parts):
        return 1.0, 1.0
    centres, radii = data.geom_xpos[parts], model.geom_rbound[parts][:, None]
    low, high = (centres - radii).min(axis=0), (centres + radii).max(axis=0)
    return float((high - low)[:2].max() / 2), float(high[2])


def _leg_colours(model: mujoco.MjModel, robot: Body) -> np.ndarray:
    """The colour of every geom: a foot's for all bodies that carry only this foot, grey for the rest."""
    carried: dict[int, set[str]] = {}
    for foot, geoms in zip(robot.feet, foot_geoms(robot), strict=True):
        for geom in geoms:
            for body in bodies_above(model, geom):
                carried.setdefault(body, set()).add(foot)
    carried.pop(torso(model), None)
    chosen = foot_colours(robot.feet)
    colours = model.geom_rgba.copy()
    for geom, body in enumerate(model.geom_bodyid.tolist()):
        feet = carried.get(body, set())
        if model.geom_matid[geom] >= 0:
            colours[geom] = 1.0  # the floor's colours come from its texture
        elif body > 0 and colours[geom, 3] > 0:
            colours[geom] = rgba(chosen[min(feet)] if len(feet) == 1 else TORSO)
    return colours


def _touched(model: mujoco.MjModel, effect: Effect) -> list[int]:
    """The geoms of what an effect changes; a joint stands for the body that it moves."""
    bodies: set[int] = set()
    if isinstance(effect, ActionGain | ActionDrop | ActionPlay):
        bodies = _driven(model, effect.indices)
    elif isinstance(effect, JointHold):
        bodies = {int(model.jnt_bodyid[row]) for row in effect.rows}
    elif isinstance(effect, Force):
        pushed = effect.field == "xfrc_applied"
        bodies = set(effect.rows) if pushed else {int(model.dof_bodyid[row]) for row in effect.rows}
    elif isinstance(effect, ModelChange):
        kind = effect.field.partition("_")[0]
        if kind == "geom":
            return list(effect.rows)
        if kind in ("jnt", "dof"):
            owner = model.jnt_bodyid if kind == "jnt" else model.dof_bodyid
            bodies = {int(owner[row]) for row in effect.rows}
        elif kind == "body":
            bodies = set(effect.rows)
        elif kind == "actuator":
            bodies = _driven(model, effect.rows)
    return [geom for geom, body in enumerate(model.geom_bodyid.tolist()) if body in bodies]


def _driven(model: mujoco.MjModel, actuators: Iterable[int]) -> set[int]:
    """The bodies that some motors move."""
    joint = mujoco.mjtTrn.mjTRN_JOINT.value
    return {
        int(model.jnt_bodyid[model.actuator_trnid[actuator, 0]])
        for actuator in actuators
        if model.actuator_trntype[actuator] == joint
    }
