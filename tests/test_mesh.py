"""The mesh: what may happen to a robot, made from its anatomy."""

import re

import pytest

import polygait as pg
from polygait.mesh import family_of, mesh_variations, unforeseen_variations
from polygait.suites import offered_suites, suite_conditions
from polygait.tasks.mujoco import MujocoTask


def test_hopper_has_every_joint_foot_and_sensor_part():
    task = pg.make_task("hopper")
    assert isinstance(task, MujocoTask)
    joints = ("thigh_joint", "leg_joint", "foot_joint")
    assert mesh_variations(task) == [
        *(f"broken({joint}){mode}" for joint in joints for mode in ("", ":limp", ":weak=0.3")),
        *("friction(foot_geom)=0.4", "friction(foot_geom)=2.5", "mass(foot)=0.4", "mass(foot)=2.5"),
        *("gravity=0.6", "gravity=1.4", "delay=2", "strength(*)=0.6"),
        *(f"sensor({part}.{kind})" for kind in ("position", "velocity") for part in ("torso", "leg")),
    ]
    assert isinstance(task, MujocoTask)
    assert [str(one) for one in task.variations] == ["nominal"]  # trying left nothing behind


@pytest.mark.parametrize(
    ("task", "joints", "feet", "parts"), [("walker", 6, 2, 6), ("ant", 8, 4, 13), ("minitaur", 8, 4, 13)]
)
def test_every_robot_of_ours_has_all_of_it(task, joints, feet, parts):
    made = pg.make_task(task)
    found = suite_conditions("mesh", made)
    assert len(found) == 1 + 3 * joints + 4 * feet + 4 + parts
    assert found[0].name == "nominal" and len(set(found)) == len(found)
    assert len({family_of(one.variation) for one in found}) == 1 + joints + 2 * feet + 3 + parts


def test_a_foot_of_several_geoms_is_changed_as_a_whole():
    found = mesh_variations(pg.make_task("minitaur"))
    assert "friction(foot_front_left_left,foot_front_left_right)=0.4" in found
    assert "mass(lower_front_left_left,lower_front_left_right)=2.5" in found


def test_a_gymnasium_environment_has_what_can_be_done_from_outside():
    task = pg.make_task("gym:Pendulum-v1")
    assert mesh_variations(task) == [
        "broken(action_0):limp",
        "broken(action_0):weak=0.3",
        "delay=2",
        "strength(*)=0.6",
        *(f"sensor(state.{place})" for place in range(3)),
    ]
    assert unforeseen_variations(task) == [
        "backlash(action_0)=0.8",
        "strength(action_0):fade=0.002",
        "motor(*):drop=0.5",
        "sensor(*):noise=0.1",
        *(
            f"sensor(state.{place}):{mode}"
            for place in range(3)
            for mode in ("drop=0.7", "freeze@random(100..400)")
        ),
    ]
    assert list(offered_suites(task)) == ["mesh", "unforeseen"]


@pytest.mark.parametrize(("task", "joints", "parts"), [("hopper", 3, 4), ("walker", 6, 6), ("ant", 8, 13)])
def test_the_unforeseen_is_of_kinds_that_the_mesh_does_not_have(task, joints, parts):
    made = pg.make_task(task)
    assert isinstance(made, MujocoTask)
    mesh, unforeseen = mesh_variations(made), unforeseen_variations(made)
    assert len(unforeseen) == len(set(unforeseen)) == 4 * joints + 6 + 2 * parts
    for joint in ("foot_joint", "hip_1"):
        jammed = f"broken({joint}):hold@random(100..400)"
        assert (jammed in unforeseen) is (f"broken({joint}):limp" in mesh)
    assert not {kind(one) for one in mesh} & {kind(one) for one in unforeseen}
    assert [str(one) for one in made.variations] == ["nominal"]


def kind(variation):
    """What is changed and how, not where, when and how much; of all parts together it is another kind."""
    return re.sub(r"\((?!\*).*?\)|=.*|@.*", "", variation)


def test_a_state_of_many_numbers_without_parts_fails_as_a_whole():
    names = [f"state.{place}" for place in range(105)]
    found = mesh_variations(pg.make_task("gym:Ant-v5", layout=names))
    assert [one for one in found if one.startswith("sensor")] == ["sensor(state)"]


@pytest.mark.parametrize(
    ("variation", "family"),
    [
        ("broken(foot_joint)", "joint(foot_joint)"),
        ("broken(foot_joint):limp@300", "joint(foot_joint)"),
        ("strength(foot_joint)=0.3", "joint(foot_joint)"),
        ("motor(foot_joint)", "joint(foot_joint)"),
        ("backlash(foot_joint)=0.8", "joint(foot_joint)"),
        ("offset(foot_joint)=0.3", "joint(foot_joint)"),
        ("strength(foot_joint):fade=0.002", "joint(foot_joint)"),
        ("mass(foot)=0.4", "mass(foot)"),
        ("mass(foot):inertia=2.5", "mass(foot)"),
        ("friction(foot_geom)=0.4", "friction(foot_geom)"),
        ("sensor(torso.velocity):noise=0.1", "sensor(torso.velocity)"),
        ("gravity=0.6", "gravity"),
        ("delay=2", "delay"),
        ("nominal", "nominal"),
        ("mass(foot)=2.0+gravity=1.4", "mass(foot)+gravity"),
    ],
)
def test_a_family_is_what_a_condition_is_about(variation, family):
    assert family_of(variation) == family


def test_a_robots_named_conditions_have_families_too():
    task = pg.make_task("walker")
    assert family_of("broken-foot:limp", task.conditions) == "joint(foot_joint)"
