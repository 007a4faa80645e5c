"""Robot cards: every name that a variation or a filter can use, where the part is."""

import functools
import importlib.util
import re

import pytest
from tests.report.conftest import robot_task

from polygait.errors import UserError
from polygait.report.pictures.cards import robot_card, save_card
from polygait.report.pictures.state_parts import state_patterns

PLATE = re.compile(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" rx="6"')


@functools.cache
def card(name):
    return robot_card(robot_task(name), "rays")


@pytest.mark.parametrize("name", ["hopper", "walker", "ant", "minitaur"])
def test_a_card_names_every_joint_body_and_foot(name):
    task = robot_task(name)
    svg = card(name)
    told = set(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    joints = set(task.anatomy.joints) - {"rootx", "rootz", "rooty", "root", "base"}
    assert {*joints, *task.anatomy.bodies, *task.feet} <= told
    assert not told & {"rootx", "rootz", "rooty", "root"}
    named = {(kind, part) for kind in ("joint", "body", "foot") for part in told}
    notes = {pattern for part, pattern in state_patterns(task).items() if part in named}
    assert notes and notes <= told and "part of the state, as --remove takes it" in told
    plates = [tuple(map(float, one)) for one in PLATE.findall(svg)]
    assert len(plates) == len(joints) + len(task.anatomy.bodies) + len(task.feet)
    for index, (x, y, width, height) in enumerate(plates):
        assert x >= 0 and x + width <= 960
        for left, top, wide, high in plates[:index]:
            assert x + width <= left or left + wide <= x or y + height <= top or top + high <= y


def test_the_legs_of_a_robot_in_a_plane_are_spread():
    svg = card("walker")
    marks = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)
    assert len(set(marks)) == len(marks) - 1  # only the two thigh joints are at one place


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_cards_are_written(tmp_path, suffix):
    file = save_card("hopper", tmp_path / f"hopper{suffix}", "rays")
    assert file.read_bytes().startswith({".svg": b"<svg", ".png": b"\x89PNG"}[suffix])


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("hopper", "hopper.jpg", ".svg or .png"),
        ("hoper", "hopper.png", "'hopper'"),
        ("gym:Pendulum-v1", "p.png", "without a Robot file"),
        ("minitaur-bullet", "m.png", "has the same state: minitaur"),
    ],
)
def test_mistakes_are_explained(tmp_path, name, file, words):
    if "bullet" in name and importlib.util.find_spec("pybullet") is None:
        pytest.skip("PyBullet is not installed: pip install polygait[bullet]")
    with pytest.raises(UserError, match=re.escape(words)):
        save_card(name, tmp_path / file, "rays")
    assert not any(tmp_path.iterdir())
