"""Files of pixels are read back by another decoder."""

import io
import sys

import av
import numpy as np
import pytest

from polygait.errors import UserError
from polygait.report.pictures.images import gif, mp4, png, webp


def test_a_png_holds_every_pixel():
    pixels = np.random.default_rng(0).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    data = png(pixels)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    with av.open(io.BytesIO(data), "r") as container:
        (frame,) = container.decode(video=0)
    np.testing.assert_array_equal(frame.to_ndarray(format="rgb24"), pixels)


def test_a_film_has_its_frames_in_h264():
    frames = [np.full((48, 64, 3), level, dtype=np.uint8) for level in range(20, 220, 20)]
    with av.open(io.BytesIO(mp4(frames, 25)), "r") as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.average_rate) == ("h264", 25)
        shown = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(shown) == len(frames) and shown[0].shape == (48, 64, 3)
    levels = [frame.mean() for frame in shown]
    np.testing.assert_allclose(levels, range(20, 220, 20), atol=6)


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 5, 3), (64, 40, 3)])
def test_every_pixel_of_a_png_is_as_it_was(shape):
    chance = np.random.default_rng(0)
    smooth = np.add.outer(np.arange(shape[0]), np.arange(shape[1]))[..., None] * np.array([1, 2, 3])
    for pixels in (chance.integers(0, 256, shape), smooth % 256, np.full(shape, 255), np.zeros(shape)):
        written = png(pixels.astype(np.uint8))
        with av.open(io.BytesIO(written), "r") as file:
            (read,) = (frame.to_ndarray(format="rgb24") for frame in file.decode(video=0))
        np.testing.assert_array_equal(read, pixels)


def test_without_av_there_are_pictures_and_a_word_about_films(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    assert png(np.zeros((2, 2, 3), np.uint8)).startswith(b"\x89PNG")
    with pytest.raises(UserError, match=r"polygait\[film\]"):
        mp4([np.zeros((16, 16, 3), np.uint8)], 30)


def test_a_gif_has_its_frames_and_plays_on():
    frames = [np.full((48, 64, 3), level, dtype=np.uint8) for level in range(20, 220, 20)]
    data = gif(frames, 25)
    assert data.startswith(b"GIF89a") and b"NETSCAPE2.0\x03\x01\x00\x00" in data  # again and again
    with av.open(io.BytesIO(data), "r") as container:
        assert container.streams.video[0].average_rate == 25
        levels = [frame.to_ndarray(format="rgb24").mean() for frame in container.decode(video=0)]
    np.testing.assert_allclose(levels, range(20, 220, 20), atol=3)


def test_a_webp_has_its_frames_and_plays_on():
    image = pytest.importorskip("PIL.Image")  # the decoder behind PyAV reads the first frame alone
    frames = [np.full((48, 64, 3), level, dtype=np.uint8) for level in range(20, 220, 20)]
    with image.open(io.BytesIO(webp(frames, 25))) as found:
        assert (found.format, found.n_frames, found.info["loop"]) == ("WEBP", 10, 0)
        levels = []
        for index in range(10):
            found.seek(index)
            levels.append(np.asarray(found.convert("RGB")).mean())
            assert found.info["duration"] == 40
    np.testing.assert_allclose(levels, range(20, 220, 20), atol=3)
