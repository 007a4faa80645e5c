"""Pixels as files: PNG pictures; films and moving pictures for pages by PyAV, which only these need."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from polygait.errors import UserError

if TYPE_CHECKING:
    from av.filter import Graph
    from av.filter.context import FilterContext

FRAMES_PER_SECOND = {".mp4": 30, ".gif": 25, ".webp": 25}
"""Of what moves, by the ending of its file's name; a GIF counts in hundredths of a second."""


class _Form(NamedTuple):
    """A kind of file for pictures in motion."""

    container: Literal["mp4", "webp"]
    codec: Literal["libx264", "libwebp_anim"]
    options: dict[str, object]
    container_options: dict[str, str]


_MP4 = _Form("mp4", "libx264", {"crf": "24", "preset": "medium"}, {})
"""The constant rate factor: lower is better and larger."""
_WEBP = _Form("webp", "libwebp_anim", {"quality": "60", "compression_level": "4"}, {"loop": "0"})
"""Quality is of 100; it plays again and again."""


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
    return _encoded(frames, frames_per_second, _MP4)


def gif(frames: Iterable[np.ndarray], frames_per_second: int) -> bytes:
    """A moving picture that plays wherever pictures do, again and again, with the colours it needs most."""
    av = require_av()
    from av.error import BlockingIOError as NothingYet
    from av.error import EOFError as NothingMore
    from av.filter import Graph

    graph, source = Graph(), None
    file = io.BytesIO()
    with av.open(file, "w", format="gif", options={"loop": "0"}) as container:
        stream = container.add_stream("gif", rate=frames_per_second)
        stream.pix_fmt = "pal8"
        for index, pixels in enumerate(frames):
            if source is None:
                stream.height, stream.width = pixels.shape[:2]
                source = _palette(graph, stream.width, stream.height, frames_per_second)
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            picture.pts, picture.time_base = index, Fraction(1, frames_per_second)
            source.push(picture)
        if source is not None:
            source.push(None)
        while True:  # the palette is known when all pictures are
            try:
                picture = graph.vpull()
            except (NothingYet, NothingMore):
                break
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return file.getvalue()


def webp(frames: Iterable[np.ndarray], frames_per_second: int) -> bytes:
    """The same in far fewer bytes, for browsers of this decade."""
    return _encoded(frames, frames_per_second, _WEBP)


def film(frames: Iterable[np.ndarray], path: Path) -> bytes:
    """Pictures in motion, in the form that the ending of a file's name asks for."""
    encode = {".mp4": mp4, ".gif": gif, ".webp": webp}[path.suffix]
    return encode(frames, FRAMES_PER_SECOND[path.suffix])


def _encoded(frames: Iterable[np.ndarray], frames_per_second: int, form: _Form) -> bytes:
    """Pictures as they come into a file."""
    av = require_av()
    file = io.BytesIO()
    with av.open(file, "w", format=form.container, options=form.container_options) as container:
        stream = container.add_stream(form.codec, rate=frames_per_second)
        stream.pix_fmt, stream.options = "yuv420p", form.options
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


def _palette(graph: Graph, width: int, height: int, rate: int) -> FilterContext:
    """Where pictures enter a graph that leaves them in the 256 colours that fit all of them best."""
    av = require_av()
    source = graph.add_buffer(
        width=width, height=height, format=av.VideoFormat("rgb24"), time_base=Fraction(1, rate)
    )
    split, find = graph.add("split"), graph.add("palettegen", "stats_mode=full")
    use, sink = graph.add("paletteuse", "dither=none:diff_mode=rectangle"), graph.add("buffersink")
    source.link_to(split)
    split.link_to(use, 0, 0)
    split.link_to(find, 1, 0)
    find.link_to(use, 0, 1)
    use.link_to(sink)
    graph.configure()
    return source
