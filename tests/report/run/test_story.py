"""Before, after, and after with the chosen member: who is shown, with which words, for how long."""

import io
from dataclasses import replace

import av
import numpy as np
import pytest
from tests.report.conftest import redness

import polygait as pg
from polygait.config import RenderConfig
from polygait.errors import UserError
from polygait.report.run import story
from polygait.report.run.story import caption, render_story

WORLD = "broken-leg"
SMALL = {"variation": WORLD, "size": (48, 40), "renderer": "rays", "story": True}


def frames(path):
    with av.open(io.BytesIO(path.read_bytes()), "r") as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_three_scenes_stand_beside_each_other(run, tmp_path):
    told = render_story(pg.load(run), tmp_path / "story.gif", RenderConfig(**SMALL, seconds=0.2), member=3)
    assert [scene.recording.job[:2] for scene in told.scenes] == [(1, None), (1, WORLD), (3, WORLD)]
    assert [scene.title for scene in told.scenes] == [
        "before",
        "leg locked: its old gait",
        "leg locked: the chosen gait",
    ]
    shown = frames(told.path)
    assert len(shown) == 5 and shown[0].shape == (90, 150, 3)
    before, *after = (shown[-1][50:, begin : begin + 48] for begin in (0, 51, 102))
    assert not redness(before).any() and all(redness(one).any() for one in after)


@pytest.mark.slow
def test_the_chosen_member_is_the_one_that_adapt_chose(run, tmp_path):
    population, config = pg.load(run), RenderConfig(**SMALL, seconds=0.04)
    with pytest.raises(UserError, match=r"Nobody has chosen .* for broken-leg yet\.\n.*polygait adapt"):
        render_story(population, tmp_path / "story.gif", config)
    result = pg.adapt(population, WORLD, episodes=1, held_out=0)
    told = render_story(population, tmp_path / "story.gif", config)
    assert told.scenes[2].recording.job.member == result.best


def test_a_member_that_fell_stays_where_it_lies():
    assert story._held([0, 4, 8], 5) == [0, 4, 8, 8, 8]


def test_captions_are_as_wide_as_their_scene_and_differ(run):
    (recording,) = story.record(pg.load(run), [story.Job(0, None, 0)])
    first, second = (caption(story.Scene(recording, title, 3.0), 200) for title in ("before", "after"))
    assert first.shape == (50, 200, 3) and (first < 100).any() and not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("speed", "fell", "words"),
    [(-0.01, False, "stands still"), (2.34, False, "2.3 m/s"), (2.0, True, "falls after 0.5 s")],
)
def test_a_caption_says_what_the_robot_does(population, speed, fell, words):
    (recording,) = story.record(population, [story.Job(2, None, 0)])
    shown = replace(recording, speed=speed, fell=fell)
    assert story.Scene(shown, "before", 3.0).outcome == f"member 2: {words}"


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("story.png", {}, "story is a film"),
        ("story.gif", {"variation": "nominal"}, "story needs a variation"),
        ("story.tiff", {}, "Cannot draw into"),
    ],
)
def test_what_is_no_story_is_explained(population, tmp_path, name, options, problem):
    with pytest.raises(UserError, match=problem):
        render_story(population, tmp_path / name, RenderConfig(**SMALL | options))
