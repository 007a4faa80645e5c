"""Files of pixels are read back by another decoder."""

import io

import av
import numpy as np
import pytest

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
