"""Pixels as files: PNG pictures, H.264 films and moving pictures for pages, all by PyAV."""

from __future__ import annotations

import io
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

import av
import numpy as np
from av.error import BlockingIOError as NothingYet
from av.error import EOFError as NothingMore
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
    encoder = av.CodecContext.create("png", "w")
    encoder.height, encoder.width = pixels.shape[:2]
    encoder.pix_fmt, encoder.time_base = "rgb24", Fraction(1, 1)
    encoder.options = {"compression_level": "9", "pred": "mixed"}
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])


def mp4(frames: Iterable[np.ndarray], frames_per_second: int) -> bytes:
    """A film that every browser plays; its width and height must be even."""
    return _encoded(frames, frames_per_second, _MP4)


def gif(frames: Iterable[np.ndarray], frames_per_second: int) -> bytes:
    """A moving picture that plays wherever pictures do, again and again, with the colours it needs most."""
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


def _palette(graph: Graph, width: int, height: int, rate: int) -> FilterContext:
    """Where pictures enter a graph that leaves them in the 256 colours that fit all of them best."""
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
