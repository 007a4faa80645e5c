"""Minitaurs in PyBullet, each in a physics client of its own, their motors driven together."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polygait.tasks.minitaur_motor import (
    LEGS,
    NUM_MOTORS,
    REST,
    SETTLING,
    SUBSTEP,
    SUBSTEPS,
    VISCOUS_DAMPING,
    VOLTAGE,
    MotorMemory,
    Supply,
    motor_torques,
)
from polygait.tasks.minitaur_rules import MOTORS, SIDES, START_HEIGHT, START_KNEE

NUM_LINKS = 27
"""The base and its 26 links; link i of PyBullet is number i + 1 here."""
_SOLVER_ITERATIONS = 60
_DIRECTION = np.repeat([-1.0, 1.0], NUM_MOTORS // 2)
"""PyBullet's angles on the left side run the other way."""
_PARTS = {"motor": "motor", "upper_leg": "upper", "lower_leg": "lower"}


class Figures(NamedTuple):
    """What may differ between robots; one row per robot."""

    mass: np.ndarray
    """(robot, link) kg"""
    inertia: np.ndarray
    """(robot, link, 3) kg·m²"""
    friction: np.ndarray
    """(robot, link)"""
    gravity: np.ndarray
    """(robot, 3) m/s²"""
    strength: np.ndarray
    """(robot, motor), the share of its torque that a motor delivers"""
    supply: np.ndarray
    """(robot, motor, 2) voltage and viscous damping"""

    def at(self, row: int) -> Figures:
        """Those of one robot."""
        return Figures(*(array[row] for array in self))


class Readings(NamedTuple):
    """The state of every robot."""

    motors: np.ndarray
    """(robot, 24) angles, velocities and torques"""
    position: np.ndarray
    orientation: np.ndarray
    """(robot, 4) x, y, z, w"""


class BulletMinitaurs:
    """Some robots in this process. `stock_order` keeps the order in which Bullet happens to meet contacts."""

    def __init__(self, count: int, stock_order: bool) -> None:
        self._bullet = bullet = _pybullet()
        self._stock_order = stock_order
        self._clients = [bullet.connect(bullet.DIRECT) for _ in range(count)]
        self._starts = [self._load(client) for client in self._clients]
        links = {
            self._bullet.getJointInfo(1, index, physicsClientId=self._clients[0])[12].decode(): index
            for index in range(NUM_LINKS - 1)
        }
        self.links = [_name(name) for name in ("base", *links)]
        self._motors = [self.links.index(name) - 1 for name in MOTORS]
        self._feet = np.array([[self.links.index(f"lower_{leg}_{s}") - 1 for s in SIDES] for leg in LEGS])
        self._nominal = self._read_figures()
        self._figures = [self._nominal] * count
        self._memory = np.zeros((count, 3 * NUM_MOTORS))
        self._supply = np.repeat(self._nominal.supply[None], count, axis=0)
        self._strength = np.ones((count, NUM_MOTORS))

    def names_and_figures(self) -> tuple[list[str], Figures]:
        """The names of the links, and the figures of PyBullet's own file."""
        return self.links, self._nominal

    def apply(self, rows: Sequence[int], figures: Figures) -> None:
        """Change robots from the next substep on."""
        for place, row in enumerate(rows):
            self._change(row, figures.at(place))

    def reset(self, rows: Sequence[int]) -> None:
        """Put new robots on the floor and let them come to rest."""
        for row in rows:
            client = self._clients[row]
            if self._stock_order or not all(np.isfinite(part).all() for part in self._read([row])):
                # A broken simulation is better thrown away.
                figures, self._figures[row] = self._figures[row], self._nominal
                self._bullet.resetSimulation(physicsClientId=client)
                self._starts[row] = self._load(client)
                self._change(row, figures)
            else:
                self._bullet.restoreState(self._starts[row], physicsClientId=client)
        self._memory[rows] = 0.0
        self._drive(rows, np.full((len(rows), NUM_MOTORS), REST), SETTLING)

    def step(self, rows: Sequence[int], commands: np.ndarray) -> None:
        """Drive the motors of some robots towards their commanded angles for one step."""
        self._drive(rows, commands, SUBSTEPS)

    def read(self) -> Readings:
        """The state of every robot now."""
        return self._read(range(len(self._clients)))

    def foot_contacts(self) -> np.ndarray:
        """Which feet touch the floor, (robot, leg)."""
        touching = np.zeros((len(self._clients), len(LEGS)), dtype=bool)
        for row, client in enumerate(self._clients):
            contacts = self._bullet.getContactPoints(0, 1, physicsClientId=client)
            links = [contact[4] for contact in contacts if contact[8] <= 0]
            touching[row] = np.isin(self._feet, links).any(axis=1)
        return touching

    def save(self) -> tuple[list[bytes], np.ndarray]:
        """The physics of every robot in Bullet's own format, and what the motors remember."""
        saved = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.bullet"
            for client in self._clients:
                self._bullet.saveBullet(str(path), physicsClientId=client)
                saved.append(path.read_bytes())
        return saved, self._memory.copy()

    def restore(self, saved: Sequence[bytes], memory: np.ndarray) -> None:
        """Go back to what `save` gave."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.bullet"
            for client, content in zip(self._clients, saved, strict=True):
                path.write_bytes(content)
                self._bullet.restoreState(fileName=str(path), physicsClientId=client)
        self._memory[:] = memory

    def close(self) -> None:
        """Give the clients back."""
        for client in self._clients:
            self._bullet.disconnect(physicsClientId=client)
        self._clients = []

    def _drive(self, rows: Sequence[int], commands: np.ndarray, substeps: int) -> None:
        """Torques anew before every substep, computed for all robots at once."""
        supply, strength = self._supply[rows], _DIRECTION * self._strength[rows]
        numbers = self._memory[rows]
        memory = MotorMemory.of(numbers)
        for _ in range(substeps):
            angle, velocity = self._read_motors(rows)
            figures = Supply(supply[:, :, 0], supply[:, :, 1])
            torques = strength * motor_torques(commands, angle, velocity, figures, memory)
            for row, forces in zip(rows, torques.tolist(), strict=True):
                client = self._clients[row]
                self._bullet.setJointMotorControlArray(
                    1, self._motors, self._bullet.TORQUE_CONTROL, forces=forces, physicsClientId=client
                )
                self._bullet.stepSimulation(physicsClientId=client)
        self._memory[rows] = numbers

    def _read_motors(self, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Angles and velocities, each (robot, motor)."""
        states = np.array(
            [
                [joint[:2] for joint in self._bullet.getJointStates(1, self._motors, self._clients[row])]
                for row in rows
            ]
        ).reshape(len(rows), NUM_MOTORS, 2)
        return _DIRECTION * states[:, :, 0], _DIRECTION * states[:, :, 1]

    def _read(self, rows: Sequence[int]) -> Readings:
        poses = [self._bullet.getBasePositionAndOrientation(1, self._clients[row]) for row in rows]
        return Readings(
            motors=np.concatenate(
                [*self._read_motors(rows), MotorMemory.of(self._memory[rows]).torque], axis=1
            ),
            position=np.array([pose[0] for pose in poses]),
            orientation=np.array([pose[1] for pose in poses]),
        )

    def _load(self, client: int) -> int:
        """A floor and a robot in its first pose; the saved state to come back to."""
        import pybullet_data

        bullet, here = self._bullet, {"physicsClientId": client}
        folder = pybullet_data.getDataPath()
        bullet.setPhysicsEngineParameter(numSolverIterations=_SOLVER_ITERATIONS, **here)
        if not self._stock_order:
            bullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, **here)
        bullet.setTimeStep(SUBSTEP, **here)
        plain = bullet.URDF_IGNORE_VISUAL_SHAPES
        bullet.loadURDF(f"{folder}/plane.urdf", flags=plain, **here)
        bullet.setGravity(0, 0, -10, **here)
        bullet.loadURDF(
            f"{folder}/quadruped/minitaur.urdf",
            (0, 0, START_HEIGHT),
            flags=plain | bullet.URDF_USE_SELF_COLLISION,
            **here,
        )
        joints = {bullet.getJointInfo(1, index, **here)[1].decode(): index for index in range(NUM_LINKS - 1)}
        for leg, direction in zip(LEGS, (-1, -1, 1, 1), strict=True):
            knees = {side: joints[f"knee_{leg}{side}_link"] for side in "RL"}
            for side in "LR":
                angles = {joints[f"motor_{leg}{side}_joint"]: REST, knees[side]: START_KNEE}
                for joint, angle in angles.items():
                    bullet.resetJointState(1, joint, direction * angle, 0, **here)
                    # Bullet's own motors would brake the joint.
                    bullet.setJointMotorControl2(1, joint, bullet.VELOCITY_CONTROL, force=0, **here)
            closing = (bullet.JOINT_POINT2POINT, (0, 0, 0), (0, 0.005, 0.2), (0, 0.01, 0.2))
            bullet.createConstraint(1, knees["R"], 1, knees["L"], *closing, **here)
        return bullet.saveState(**here)

    def _read_figures(self) -> Figures:
        infos = [
            self._bullet.getDynamicsInfo(1, link, physicsClientId=self._clients[0])
            for link in range(-1, NUM_LINKS - 1)
        ]
        return Figures(
            mass=np.array([info[0] for info in infos]),
            inertia=np.array([info[2] for info in infos]),
            friction=np.array([info[1] for info in infos]),
            gravity=np.array([0.0, 0.0, -10.0]),
            strength=np.ones(NUM_MOTORS),
            supply=np.tile([VOLTAGE, VISCOUS_DAMPING], (NUM_MOTORS, 1)),
        )

    def _change(self, row: int, figures: Figures) -> None:
        """Tell Bullet what differs from the robot it has."""
        before, here = self._figures[row], {"physicsClientId": self._clients[row]}
        for link in range(-1, NUM_LINKS - 1):
            heavier = figures.mass[link + 1] != before.mass[link + 1]
            if heavier or (figures.inertia[link + 1] != before.inertia[link + 1]).any():
                mass, inertia = float(figures.mass[link + 1]), figures.inertia[link + 1].tolist()
                self._bullet.changeDynamics(1, link, mass=mass, **here)
                self._bullet.changeDynamics(1, link, localInertiaDiagonal=inertia, **here)
        for link in np.flatnonzero(figures.friction != before.friction).tolist():
            self._bullet.changeDynamics(1, link - 1, lateralFriction=float(figures.friction[link]), **here)
        if (figures.gravity != before.gravity).any():
            self._bullet.setGravity(*figures.gravity.tolist(), **here)
        self._supply[row], self._strength[row] = figures.supply, figures.strength
        self._figures[row] = figures


def _pybullet() -> Any:
    """The module, without the greeting that it writes to the error stream."""
    stream, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        return importlib.import_module("pybullet")
    finally:
        os.dup2(stream, 2)
        os.close(stream)
        os.close(nowhere)


def _name(link: str) -> str:
    """PyBullet's link by the name it has in MuJoCo: motor_front_leftL_link is motor_front_left_left."""
    if link.startswith("chassis_"):
        return f"rail_{link.removeprefix('chassis_')}"
    for theirs, ours in _PARTS.items():
        if link.startswith(theirs):
            leg = link.removeprefix(f"{theirs}_").removesuffix("_link")
            return f"{ours}_{leg[:-1]}_{'left' if leg[-1] == 'L' else 'right'}"
    return link
