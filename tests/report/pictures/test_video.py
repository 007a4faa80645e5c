"""Films and strips: the right moments, the broken part in red, and mistakes explained."""

import io
import re
from dataclasses import replace

import av
import numpy as np
import pytest
from tests.report.conftest import redness

from polygait.episodes import Job
from polygait.errors import UserError
from polygait.report.pictures.recording import record
from polygait.report.pictures.scene import require_drawable
from polygait.report.pictures.video import RenderConfig, Studio, render, strip_window


@pytest.fixture(scope="module")
def recording(population):
    (one,) = record(population, [Job(1, "broken-foot@30", 0)])
    return one


def shortened(recording, steps, fell):
    return replace(recording, down=recording.down[:1].repeat(steps, axis=0), fell=fell)


def test_a_strip_shows_the_middle_or_the_fall_or_all(recording):
    assert strip_window(shortened(recording, 1000, False), 1.2) == (424, 574)  # 150 steps of 8 ms
    assert strip_window(shortened(recording, 1000, True), 1.2) == (849, 999)
    assert strip_window(shortened(recording, 40, False), 1.2) == (0, 39)
    assert strip_window(shortened(recording, 1, True), 1.2) == (0, 0)


def test_the_broken_part_is_red_from_the_onset_on(population, recording):
    task = require_drawable(population.make_task(1))
    with Studio(task, (64, 64), "rays") as studio:
        before, after = studio.pictures(recording, [29, 30])
        assert not redness(before).any() and redness(after).any()
        strip = studio.strip(recording, (0, 59), 4)
        assert strip.shape == (64, 4 * 64 + 3 * 3, 3)
        film = list(studio.film(recording, 1.0, 0.2))
        assert len(film) == 6  # 0.2 s at 30 pictures a second
        assert len(list(studio.film(recording, 0.5, 0.2))) == 12
        np.testing.assert_array_equal(film[0], next(studio.pictures(recording, [0])))


@pytest.mark.parametrize(("name", "kind"), [("gait.mp4", "h264"), ("gait.png", "png")])
def test_members_are_drawn_into_files(population, tmp_path, name, kind):
    config = RenderConfig(variation="broken-leg", seconds=0.1, size=(64, 48), renderer="rays")
    done = render(population, 3, tmp_path / name, config)
    assert done.renderer == "rays" and done.recording.job == Job(3, "broken-leg", 0)
    with av.open(io.BytesIO(done.path.read_bytes()), "r") as container:
        assert container.streams.video[0].codec_context.name == kind
        frames = list(container.decode(video=0))
    assert len(frames) == (3 if kind == "h264" else 1)
    assert frames[0].height == 48 and frames[0].width == (64 if kind == "h264" else 8 * 64 + 7 * 3)


@pytest.mark.parametrize(
    ("name", "member", "wishes", "words"),
    [
        ("gait.gif", 0, {}, ".mp4 for a film"),
        ("gait.mp4", 0, {"frames": 3}, "frames is of a strip"),
        ("gait.png", 0, {"frames": 101}, "frames must be at most 100"),
        ("gait.png", 0, {"speed": 0.5}, "speed is of a film"),
        ("gait.mp4", 0, {"speed": 0.0}, "speed must be above 0"),
        ("gait.mp4", 0, {"size": (33, 64)}, "even numbers"),
        ("gait.mp4", 9, {}, "Unknown member"),
        ("gait.mp4", 0, {"variation": "broken-fot"}, "'broken-foot'"),
        ("gait.mp4", 0, {"renderer": "gpu"}, "Unknown renderer"),
        ("gait.mp4", 0, {"on": "ant"}, "other state parts"),
    ],
)
def test_mistakes_are_explained_and_leave_no_file(population, tmp_path, name, member, wishes, words):
    with pytest.raises(UserError, match=re.escape(words)):
        render(population, member, tmp_path / name, RenderConfig(**wishes))
    assert not any(tmp_path.iterdir())
