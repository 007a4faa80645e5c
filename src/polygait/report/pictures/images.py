"""Pixels as files: PNG pictures, and H.264 films by PyAV, which only films need."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from polygait.errors import UserError

_QUALITY = "24"  # x264's constant rate factor: lower is better and larger


def png(pixels: np.ndarray) -> bytes:
    """A picture, (height, width, 3) in 0…255, as a PNG file."""
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # eight bits of red, green and blue
    parts = {b"IHDR": header, b"IDAT": zlib.compress(_predicted(pixels), 9), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts.items())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _predicted(pixels: np.ndarray) -> bytes:
    """Every row as what differs from its neighbours, by the one of PNG's predictors that leaves least."""
    here = np.ascontiguousarray(pixels, dtype=np.uint8).astype(np.int16)
    left, above, corner = np.zeros_like(here), np.zeros_like(here), np.zeros_like(here)
    left[:, 1:], above[1:], corner[1:, 1:] = here[:, :-1], here[:-1], here[:-1, :-1]
    guess = left + above - corner
    away = np.stack([abs(guess - one) for one in (left, above, corner)])
    paeth = np.choose(away.argmin(axis=0), (left, above, corner))
    kinds = (np.zeros_like(here), left, above, (left + above) // 2, paeth)
    rests = np.stack([(here - one).astype(np.uint8) for one in kinds]).reshape(len(kinds), len(here), -1)
    least = abs(rests.astype(np.int8).astype(np.int16)).sum(axis=2).argmin(axis=0)
    rows = np.empty((len(here), 1 + rests.shape[2]), np.uint8)
    rows[:, 0], rows[:, 1:] = least, rests[least, np.arange(len(here))]
    return rows.tobytes()


def mp4(frames: Iterable[np.ndarray], frames_per_second: int) -> bytes:
    """A film that every browser plays; its width and height must be even."""
    av = require_av()
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


def require_av() -> Any:
    """PyAV, where it is installed; long work that ends in a film asks before it begins."""
    try:
        import av
    except ImportError:
        raise UserError(
            "Films need the package av.",
            "Install it with: pip install 'polygait[film]'; pictures (.png) and pages work without.",
        ) from None
    return av
