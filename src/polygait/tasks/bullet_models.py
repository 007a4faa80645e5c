"""The figures of many PyBullet robots under the names that variations use."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from polygait.errors import UserError
from polygait.tasks import minitaur_rules as rules
from polygait.tasks.bullet_physics import Figures
from polygait.variations import Anatomy, Foot, GravityTilt, PhysicsEffect

_FIELDS = {
    "body_mass": "mass",
    "body_inertia": "inertia",
    "geom_friction": "friction",
    "opt.gravity": "gravity",
    "actuator_gainprm": "strength",
    "actuator_biasprm": "",
    "actuator_user": "supply",
}
"""What variations call the figures of a robot; our motors have no bias."""


class BulletModels:
    """The figures of every robot, under the names that variations use, as World wants them."""

    def __init__(self, nominal: Figures, num_envs: int) -> None:
        self.nsim = num_envs
        values: dict[str, Any] = {
            field: getattr(nominal, name) if name else np.zeros(len(rules.MOTORS))
            for field, name in _FIELDS.items()
        }
        values["geom_friction"] = nominal.friction[:, None]
        self._values = {field: np.repeat(array[None], num_envs, axis=0) for field, array in values.items()}
        self._sent = {field: array.copy() for field, array in self._values.items()}
        gravity = values.pop("opt.gravity")
        self.model = SimpleNamespace(**values, opt=SimpleNamespace(gravity=gravity))

    def expand(self, name: str) -> np.ndarray:
        """The values of every robot, to be written."""
        return self._values[name]

    def set_const(self, ids: np.ndarray) -> None:
        """Bullet has no derived constants."""

    def built(self, build: rules.Build, anatomy: Anatomy) -> dict[str, np.ndarray]:
        """The fields of one robot."""
        model = self.model
        scale = np.array([rules.mass_scale(name, build) for name in anatomy.bodies])
        friction = model.geom_friction.copy()
        friction[list(anatomy.geom_rows("foot_*"))] = build.foot_friction
        return {
            "body_mass": model.body_mass * scale,
            "body_inertia": model.body_inertia * scale[:, None],
            "geom_friction": friction,
            "actuator_user": np.tile([build.voltage, build.viscous_damping], (len(rules.MOTORS), 1)),
        }

    def changed(self) -> np.ndarray:
        """The rows that differ from what was last asked for; from now on they do not."""
        different = np.zeros(self.nsim, dtype=bool)
        for field, values in self._values.items():
            axes = tuple(range(1, values.ndim))
            different |= (values != self._sent[field]).any(axis=axes)
            self._sent[field][:] = values
        return np.flatnonzero(different)

    def figures(self, rows: np.ndarray) -> Figures:
        """The figures of some robots."""
        given = {name: self._values[field][rows] for field, name in _FIELDS.items() if name}
        return Figures(**{**given, "friction": given["friction"][:, :, 0]})


def check_fields(effects: Sequence[PhysicsEffect]) -> None:
    """Refuse changes that this robot cannot make."""
    for effect in effects:
        field = getattr(effect, "field", "jnt_range")
        if not (isinstance(effect, GravityTilt) or field in _FIELDS):
            raise UserError(
                f"PyBullet's robot cannot change its {field}.",
                "It can change masses, friction, gravity, voltage and strength; use minitaur for the rest.",
            )


def bullet_anatomy(links: list[str]) -> Anatomy:
    """The names of MuJoCo's robot on PyBullet's; a link's friction goes by the name of its geom.

    The floor has none: Bullet multiplies its friction with a foot's, so scaling both would count twice.
    """
    geoms = [name.replace("lower_", "foot_") for name in links]
    joints = [name for name in links if name.startswith("motor_")]
    return Anatomy(
        joints={name: (row, row) for row, name in enumerate(joints)},
        bodies={name: row for row, name in enumerate(links)},
        geoms={name: row for row, name in enumerate(geoms)},
        actions=rules.ACTIONS,
        state=rules.LAYOUT.select,
        motors=rules.MOTORS,
        battery=True,
        feet={
            foot: Foot(parts, tuple(part.replace("foot_", "lower_") for part in parts))
            for foot, parts in rules.FEET.items()
        },
        state_parts=list(rules.LAYOUT.parts),
    )
