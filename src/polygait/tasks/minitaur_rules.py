"""What holds for Minitaur in every simulator: state, reward, ending, conditions, and how robots differ.

Figures of PyBullet's MinitaurBulletEnv-v0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polygait.tasks.defaults import TaskDefaults, for_all_presets
from polygait.tasks.minitaur_motor import LEGS, NUM_MOTORS, SUBSTEP, VISCOUS_DAMPING, VOLTAGE
from polygait.tasks.state import StateLayout

SIDES = ("left", "right")
LAYOUT = StateLayout.of(
    {
        **{f"{leg}.{quantity}": SIDES for quantity in ("position", "velocity", "torque") for leg in LEGS},
        "base.orientation": ("x", "y", "z", "w"),
    }
)
UNITS = {"*.position.*": "rad", "*.velocity.*": "rad/s", "*.torque.*": "N·m", "base.orientation.*": "1"}
REMOVED = ("*.position",)
"""The eight motor angles."""
MOTORS = tuple(f"motor_{leg}_{side}" for leg in LEGS for side in SIDES)
"""The joints of the motors, in the order of the state."""
ACTIONS = tuple(f"{leg}.{motion}" for motion in ("swing", "extension") for leg in LEGS)
FEET = {leg: tuple(f"foot_{leg}_{side}" for side in SIDES) for leg in LEGS}
CONDITIONS = {
    "motor-failure": "motor(back_left.*)",
    **{f"motor-failure-{leg.replace('_', '-')}": f"motor({leg}.*)" for leg in LEGS},
    "base-mass": "mass(base):inertia",
    "leg-mass": "mass(upper_*,lower_*):inertia",
    "motor-mass": "mass(motor_*):inertia",
    "foot-friction": "friction(foot_*)",
    "floor-friction": "friction(*)",
    **{f"{leg.replace('_', '-')}-sensor": f"sensor({leg}.position)" for leg in LEGS},
}
DEFAULTS = TaskDefaults(
    alpha={"dir": 0.0005, "dvd": 0.001},
    # SMERL's R* of the authors' code is beyond every published return, so its gate stays shut.
    settings=for_all_presets({"smerl.target_return": 30.0}, paper={"task.max_episode_steps": 2000}),
    paper_conditions=("motor-failure",),
)
START_HEIGHT = 0.2
START_KNEE = -2.1834
_ENERGY_COST = 0.005
_LEAST_UPRIGHT = 0.85
_LEAST_HEIGHT = 0.13


class Build(NamedTuple):
    """How one robot differs from another: scales of masses, and figures of motors and feet."""

    base_mass: float = 1.0
    leg_mass: float = 1.0
    motor_mass: float = 1.0
    voltage: float = VOLTAGE
    viscous_damping: float = VISCOUS_DAMPING
    foot_friction: float = 1.0


def draw_build(generator: np.random.Generator) -> Build:
    """The randomiser of the original: another robot in every episode."""
    lowest = (0.8, 0.8, 0.8, 14.8, 0.0, 0.8)
    highest = (1.2, 1.2, 1.2, 16.8, 0.01, 1.5)
    return Build(*generator.uniform(lowest, highest).tolist())


def mass_scale(body: str, build: Build) -> float:
    """By how much a body is heavier than nominal: the base, motors, upper and lower legs, not the rails."""
    kind = body.partition("_")[0]
    legs = {"upper": build.leg_mass, "lower": build.leg_mass}
    return {"base": build.base_mass, "motor": build.motor_mass, **legs}.get(kind, 1.0)


def reward(forward: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Metres gained minus the energy of the last substep: Δx − 0.005·|τ·ω|·0.002."""
    velocity, torque = state[:, NUM_MOTORS : 2 * NUM_MOTORS], state[:, 2 * NUM_MOTORS : 3 * NUM_MOTORS]
    power = np.abs((torque * velocity).sum(axis=1))
    return forward - _ENERGY_COST * power * SUBSTEP


def upright(height: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether a robot still stands: neither tilted (x and y of its quaternion) nor low."""
    return (1 - 2 * (x**2 + y**2) >= _LEAST_UPRIGHT) & (height >= _LEAST_HEIGHT)
