"""Films and strips: the right moments, the broken part in red, and mistakes explained."""

import io
import re
import threading
import time
from collections import Counter
from dataclasses import replace

import av
import numpy as np
import pytest
from tests.report.conftest import redness

from polygait import cli, progress
from polygait.episodes import Job
from polygait.errors import UserError
from polygait.report.pictures import video
from polygait.report.pictures.rays import RayPainter
from polygait.report.pictures.recording import record
from polygait.report.pictures.scene import require_drawable
from polygait.report.pictures.video import (
    RenderConfig,
    Studio,
    film_moments,
    render,
    side_by_side,
    strip_moments,
    strip_window,
)


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
        strip = side_by_side(list(studio.pictures(recording, strip_moments((0, 59), 4))))
        assert strip.shape == (64, 4 * 64 + 3 * 3, 3)


def test_a_film_has_thirty_pictures_a_second(recording):
    assert film_moments(recording, 1 / 30, 0.2) == [0, 4, 8, 12, 16, 20]  # steps of 8 ms
    assert len(film_moments(recording, 0.5 / 30, 0.2)) == 12
    assert strip_moments((0, 59), 4) == [0, 20, 39, 59]


def test_pictures_drawn_at_once_are_those_drawn_one_by_one(population, recording, monkeypatch):
    """In their order, each with its own colours, by threads that draw at the same time."""
    task = require_drawable(population.make_task(1))
    moments = [40, 0, *range(20, 40)]  # red from 30 on
    drawn, at_once, most = {}, Counter(), 0
    paint = RayPainter.paint

    def watched(self):
        nonlocal most
        at_once["now"] += 1
        most = max(most, at_once["now"])
        time.sleep(0.01)
        try:
            return paint(self)
        finally:
            at_once["now"] -= 1

    monkeypatch.setattr(RayPainter, "paint", watched)
    for cores in (1, 3):
        monkeypatch.setattr(video, "available_cores", lambda cores=cores: cores)
        with Studio(task, (64, 48), "rays") as studio:
            most = 0
            drawn[cores] = list(studio.pictures(recording, moments))
            assert most == cores
    np.testing.assert_array_equal(drawn[3], drawn[1])
    assert [bool(redness(one).any()) for one in drawn[3]] == [moment >= 30 for moment in moments]


def test_a_film_that_is_given_up_leaves_no_thread(population, recording, monkeypatch):
    monkeypatch.setattr(video, "available_cores", lambda: 3)
    with Studio(require_drawable(population.make_task(1)), (64, 48), "rays") as studio:
        pictures = studio.pictures(recording, range(50))
        next(pictures)
        assert any(one.name.startswith("painter") for one in threading.enumerate())
        pictures.close()
    assert not any(one.name.startswith("painter") for one in threading.enumerate())


def test_every_picture_is_reported(population, tmp_path):
    told = []
    config = RenderConfig(seconds=0.2, size=(32, 32), renderer="rays")
    render(population, 0, tmp_path / "gait.mp4", config, lambda *counts: told.append(counts))
    assert told == [(done, 6) for done in range(7)]
    render(population, 0, tmp_path / "gait.png", config, lambda *counts: told.append(counts))
    assert told[7:] == [(done, 8) for done in range(9)]


def test_the_verb_shows_how_far_it_is_and_how_long_the_rest_takes(run, tmp_path, capsys, monkeypatch):
    out = tmp_path / "gait.mp4"
    monkeypatch.setattr(progress, "_PLAIN_SECONDS", 0.0)
    cli.render(str(run), out=str(out), options=RenderConfig(seconds=0.2, size=(32, 32), renderer="rays"))
    printed = capsys.readouterr()
    first, *others = printed.err.splitlines()
    assert first == "0/6 frames" and len(others) == 6
    assert re.fullmatch(r"3/6 frames  \d+ s left", others[2])
    assert printed.out.startswith(f"{out}: member ") and out.exists()


@pytest.mark.parametrize(("name", "kind"), [("gait.mp4", "h264"), ("gait.gif", "gif"), ("gait.png", "png")])
def test_members_are_drawn_into_files(population, tmp_path, name, kind):
    config = RenderConfig(variation="broken-leg", seconds=0.1, size=(64, 48), renderer="rays")
    done = render(population, 3, tmp_path / name, config)
    assert done.renderer == "rays" and done.recording.job == Job(3, "broken-leg", 0)
    with av.open(io.BytesIO(done.path.read_bytes()), "r") as container:
        assert container.streams.video[0].codec_context.name == kind
        frames = list(container.decode(video=0))
    assert len(frames) == (1 if kind == "png" else 3)
    assert frames[0].height == 48 and frames[0].width == (8 * 64 + 7 * 3 if kind == "png" else 64)


@pytest.mark.usefixtures("unchecked_annotations")
@pytest.mark.parametrize(
    ("name", "member", "options", "words"),
    [
        ("gait.avi", 0, {}, ".mp4 for a film"),
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
def test_mistakes_are_explained_and_leave_no_file(population, tmp_path, name, member, options, words):
    with pytest.raises(UserError, match=re.escape(words)):
        render(population, member, tmp_path / name, RenderConfig(**options))
    assert not any(tmp_path.iterdir())
