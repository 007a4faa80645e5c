"""Parts of the state are found on the robot, and named as a filter takes them."""

import pytest
from tests.report.conftest import robot_task

from polygait.report.pictures.state_parts import patterns_of, state_patterns
from polygait.tasks.state import StateFilter


@pytest.mark.parametrize(
    ("robot", "expected"),
    [
        (
            "walker",
            {
                ("joint", "thigh_joint"): "right_leg.*.thigh",
                ("joint", "foot_left_joint"): "left_leg.*.foot",
                ("joint", "rootz"): "torso.position.height, torso.velocity.z",  # torso.* would be more
                ("body", "torso"): "torso.*",
                ("foot", "left"): "left_leg.*",
            },
        ),
        (
            "ant",
            {
                ("joint", "hip_2"): "leg_2.*.hip",
                ("body", "torso"): "torso.*",
                ("foot", "leg_4"): "leg_4.*",
            },
        ),
        (
            "minitaur",
            {
                ("joint", "motor_back_left_right"): "back_left.*.right",
                ("body", "base"): "base.orientation.*",
                ("foot", "front_right"): "front_right.*",
            },
        ),
    ],
)
def test_every_part_of_the_robot_has_its_part_of_the_state(robot, expected):
    task = robot_task(robot)
    found = state_patterns(task)
    assert {part: found.get(part) for part in expected} == expected
    for text in found.values():
        assert StateFilter.remove(task.layout, text.split(", ")).size < task.layout.size


def test_what_is_not_observed_has_no_part():
    assert ("joint", "knee_back_left_left") not in state_patterns(robot_task("minitaur"))


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        ([], []),
        (["a.b.c"], ["a.b.c"]),
        (["a.b.c", "a.d.c"], ["a.*.c"]),
        (["a.b.c", "a.d.e"], ["a.*"]),
        (["a.b", "a.b.c"], ["a.b.*"]),
        (["state.3", "other.1", "other.2"], ["state.3", "other.*"]),
    ],
)
def test_names_become_patterns(names, patterns):
    assert patterns_of(names) == patterns
