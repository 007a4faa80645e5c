"""Conditions of the mesh as people say them."""

import pytest

from polygait.report.condition_words import condition_words


@pytest.mark.parametrize(
    ("world", "group", "label"),
    [
        ("broken(thigh_left_joint)", "Joints", "thigh left locked"),
        ("broken(hip_1):limp", "Joints", "hip 1 limp"),
        ("broken(foot_joint):weak=0.3", "Joints", "foot weak (30 %)"),
        ("friction(foot_left_geom)=0.4", "Feet", "foot left friction × 0.4"),
        ("mass(lower_back_left_left,lower_back_left_right)=2.5", "Feet", "lower back left mass × 2.5"),
        ("gravity=1.4", "World", "gravity × 1.4"),
        ("delay=2.0", "World", "actions 2 steps late"),
        ("strength(*)=0.6", "World", "all motors × 0.6"),
        ("sensor(right_leg.velocity)", "Sensors", "right_leg.velocity"),
        ("sensor(torso.*):noise=0.1", "Sensors", "torso.* noise"),
        ("gravity=1.4+delay=2.0", "Others", "gravity=1.4+delay=2.0"),
    ],
)
def test_a_condition_in_words(world, group, label):
    assert condition_words(world) == (group, label)
