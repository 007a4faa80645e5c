"""Suites: which conditions a name or a file stands for."""

import re

import pytest

import polygait as pg
from polygait.errors import UserError
from polygait.suites import KINDS, SCALES, offered_suites, suite_conditions
from polygait.tasks.defaults import TaskDefaults
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.hopper import Hopper
from polygait.variations import FORMS, parse_variation

WALKER = pg.make_task("walker")


def conditions(suite: str, task: str = "walker") -> list[tuple[str, float | None, str]]:
    made = pg.make_task(task)
    found = suite_conditions(suite, made)
    for one in found:
        made.set_variation(one.variation)  # each can be carried out
    return [(one.name, one.scale, one.variation) for one in found]


def test_nominal_is_the_unchanged_world_alone():
    assert conditions("nominal") == [("nominal", None, "nominal")]


def test_kinds_are_told_apart_by_what_they_change():
    assert [name for name, _, _ in conditions("damage", "hopper")] == [
        "nominal",
        "broken-thigh",
        "broken-leg",
        "broken-foot",
    ]
    assert [name for name, _, _ in conditions("sensors")] == [
        "nominal",
        "right-leg-sensor",
        "left-leg-sensor",
    ]


def test_dynamics_sweep_from_half_to_2_4():
    assert SCALES[0] == 0.5 and SCALES[-1] == 2.4 and len(SCALES) == 20
    found = conditions("dynamics", "hopper")
    assert found[1] == ("foot-mass", 0.5, "foot-mass=0.5")
    assert [scale for name, scale, _ in found if name == "foot-mass"] == list(SCALES)
    assert {name for name, _, _ in found} == {"nominal", "foot-mass", "foot-friction", "floor-friction"}


@pytest.mark.parametrize(("task", "count"), [("hopper", 1 + 2 + 40), ("walker", 1 + 2 + 40 + 2)])
def test_the_papers_suite_is_what_was_published(task, count):
    found = conditions("paper", task)
    assert len(found) == count
    assert "broken-thigh" not in {name for name, _, _ in found}


def test_a_file_lists_variations_or_names_them(tmp_path):
    listed, named = tmp_path / "listed.toml", tmp_path / "named.toml"
    listed.write_text('variations = ["broken-foot", "foot-mass=1.5+broken-leg@10"]')
    named.write_text('[variations]\nlimp = "broken-foot:limp"')
    assert conditions(str(listed))[1] == (
        "foot-mass=1.5+broken-leg@10",
        None,
        "foot-mass=1.5+broken-leg@10",
    )
    assert conditions(str(named)) == [("limp", None, "broken-foot:limp")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("variations = 3", "must name its variations"),
        ("variations = []", "must name its variations"),
        ("variations = [1]", "must name its variations"),
        ('variations = [["broken-foot"]]', "must name its variations"),
        ('variation = ["broken-foot"]', "must name its variations"),
        ('variations = ["broken-foot"]\nepisodes = 3', "episodes"),
        ("variations = [", "not TOML"),
    ],
)
def test_a_bad_file_is_explained(tmp_path, text, words):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=words):
        suite_conditions(str(file), WALKER)


def test_unknown_suites_and_missing_files_are_explained(tmp_path):
    with pytest.raises(UserError, match="Did you mean 'damage'"):
        suite_conditions("damages", WALKER)
    with pytest.raises(UserError, match="Cannot read"):
        suite_conditions(str(tmp_path / "none.toml"), WALKER)
    with pytest.raises(UserError, match="no named condition"):
        suite_conditions("damage", pg.make_task("gym:Pendulum-v1"))


def mine(**own: str) -> MujocoTask:
    """A robot with conditions of its own, of which the paper knows nothing."""

    class Mine(Hopper):
        name = "mine"
        conditions = own
        defaults = TaskDefaults()

    return MujocoTask(Mine())


def test_a_condition_of_several_edits_is_of_the_kind_of_each():
    task = mine(
        worn="broken(foot_joint)+friction(foot_geom)=0.5",
        older="mass(foot)+damping(*)",
        blind="sensor(leg.*)",
    )
    kinds = {"damage": ["worn"], "dynamics": ["worn", *["older"] * len(SCALES)], "sensors": ["blind"]}
    for suite, names in kinds.items():
        assert [one.name for one in suite_conditions(suite, task)] == ["nominal", *names]
    assert suite_conditions("dynamics", task)[2] == ("older", 0.5, "older=0.5")


def test_every_edit_of_the_language_is_of_a_kind():
    of_a_kind = tuple(kind for kinds in KINDS.values() for kind in kinds)
    for text in FORMS.values():
        for example in re.split(r", (?!\d)| or ", text):
            assert all(isinstance(edit, of_a_kind) for edit in parse_variation(example, {})), example


def test_pushes_slopes_play_and_wear_are_found_and_can_be_carried_out():
    task = mine(
        shoved="push=50N@20..25",
        uphill="slope=5",
        dragged="torque(leg_joint)=-2Nm",
        drifting="sensor(leg.*):drift=0.01",
        lossy="sensor(leg.*):drop=0.2",
        deaf="motor(foot_joint):drop=0.1",
        worn="backlash(foot_joint)=0.2",
        bent="offset(foot_joint)=0.1",
        tired="strength(*):fade=0.002",
        weak="strength(*)=0.7",
    )
    kinds = {
        "damage": ["deaf", "worn", "bent", "tired"],
        "dynamics": ["shoved", "uphill", "dragged", "weak"],
        "sensors": ["drifting", "lossy"],
    }
    for suite, names in kinds.items():
        found = suite_conditions(suite, task)
        assert [one.name for one in found] == ["nominal", *names]
        for one in found:
            task.set_variation(one.variation)
    assert [one.name for one in suite_conditions("paper", task)] == ["nominal", *task.conditions]


def test_what_is_no_factor_is_not_swept():
    task = mine(shove="push", late="delay", heavier="mass(foot)", wreck="heavier+broken(leg_joint)")
    assert {one.name for one in suite_conditions("dynamics", task)} == {"nominal", "heavier", "wreck"}
    assert len(suite_conditions("damage", task)) == 1 + len(SCALES)


def test_the_suites_of_a_robot_are_those_that_change_anything():
    task = mine(moon="gravity=0.2")
    assert list(offered_suites(task)) == ["dynamics", "paper", "mesh", "unforeseen"]
    assert list(offered_suites(pg.make_task("gym:Pendulum-v1"))) == ["mesh", "unforeseen"]
    with pytest.raises(UserError, match="it has dynamics, paper, mesh, unforeseen, nominal"):
        suite_conditions("damage", task)


def test_another_robots_suite_is_all_it_has():
    task = mine(moon="gravity=0.2", late="delay=2", bent="broken(foot_joint)")
    kinds = {"paper": [*task.conditions], "dynamics": ["moon", "late"], "damage": ["bent"]}
    for suite, names in kinds.items():
        assert [one.name for one in suite_conditions(suite, task)] == ["nominal", *names]
