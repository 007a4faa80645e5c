"""Pixels as files: PNG pictures and H.264 films, both by PyAV."""

from __future__ import annotations

import io
from collections.abc import Iterable
from fractions import Fraction

import av
import numpy as np

_QUALITY = "24"  # x264's constant rate factor: lower is better and larger


def png(pixels: np.ndarray) -> bytes:
    """A picture, (height, width, 3) in 0…255, as a PNG file."""
    encoder = av.CodecContext.create("png", "w")
    encoder.height, encoder.width = pixels.shape[:2]
    encoder.pix_fmt, encoder.time_base = "rgb24", Fraction(1, 1)
    encoder.options = {"compression_level": "9", "pred": "mixed"}
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])


def mp4(frames: Iterable[np.ndarray], frames_per_second: int) -> bytes:
    """A film that every browser plays; its width and height must be even."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=frames_per_second)
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": _QUALITY, "preset": "medium"}
        for index, pixels in enumerate(frames):
            if index == 0:
                stream.height, stream.width = pixels.shape[:2]
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return file.getvalue()
