"""Pictures without OpenGL: rays cast with MuJoCo's own geometry, shaded in NumPy.

Needs no system package. Rays are sent only where the robot or its shadow can be: one per pixel, and four
where a neighbour met something else, for edges are all that four rays show better.
"""

from __future__ import annotations

import copy
import functools
from typing import NamedTuple

import mujoco
import numpy as np

from polygait.report.pictures.scene import FLOOR, LIGHT, SHOWN_GROUPS, SKY, SQUARE, Stage, rgba, view

_FINE = 2  # rays per pixel along each side, at edges
_CREASE = 0.8  # cosine between two normals below which an edge lies between them
_FARTHEST = 1000.0
_FADE = (8.0, 25.0)  # the ground loses its pattern between these distances, in metres
_SHADOW = 0.75
_AMBIENT, _HEAD, _LAMP = 0.5, 0.2, 0.45
_GROUPS = np.array([group in SHOWN_GROUPS for group in range(mujoco.mjNGROUP)], dtype=np.uint8)


class _Hits(NamedTuple):
    """What the rays of a block met."""

    geom: np.ndarray
    """(row, column) −1 for nothing."""
    normal: np.ndarray
    """(row, column, 3) Of the surface."""


class RayPainter:
    """Draws a stage with rays. Its camera moves but never turns, so much is computed only once."""

    name = "rays"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        width, height = (side * _FINE for side in stage.size)
        self._scale = height / 2 / np.tan(np.radians(stage.model.vis.global_.fovy / 2))
        across = (np.arange(width) + 0.5 - width / 2) / self._scale
        down = (height / 2 - np.arange(height) - 0.5) / self._scale
        rays = np.stack([*np.meshgrid(across, down), np.ones((height, width))], axis=-1)
        origin, self._axes = view(stage.camera())
        self._rays = rays / np.linalg.norm(rays, axis=-1, keepdims=True) @ self._axes
        share = np.clip(self._rays[..., 2:] / 0.35, 0, 1)
        sky = _tone(SKY[1]) * (1 - share) + _tone(SKY[0]) * share
        self._sky = sky.astype(np.float32)
        self._parts = np.flatnonzero(
            (np.arange(stage.model.ngeom) != stage.floor) & np.isin(stage.model.geom_group, SHOWN_GROUPS)
        )
        if stage.floor is not None:
            above = np.count_nonzero((self._rays[..., 2] >= -1e-3).any(axis=1))
            self._horizon = above + above % _FINE
            below = self._rays[self._horizon :]
            distance = (stage.data.geom_xpos[stage.floor, 2] - origin[2]) / below[..., 2:]
            self._ahead = (distance * below)[..., :2].astype(np.float32)
            fade = np.clip((distance - _FADE[0]) / (_FADE[1] - _FADE[0]), 0, 1)
            far = fade * sky[self._horizon :]
            self._tones = [(far + (1 - fade) * _tone(colour)).astype(np.float32) for colour in FLOOR]

    def on(self, stage: Stage) -> RayPainter:
        """A painter for a twin of the stage; what is computed once is shared."""
        other = copy.copy(self)
        other._stage = stage
        return other

    def paint(self) -> np.ndarray:
        """The stage as its camera sees it, (height, width, 3) in 0…255."""
        origin, _ = view(self._stage.camera())
        picture = self._sky.copy()
        if self._stage.floor is not None:
            picture[self._horizon :] = self._ground(origin)
        self._draw_robot(picture, origin)
        rows = functools.reduce(np.add, (picture[part::_FINE] for part in range(_FINE)))
        smooth = functools.reduce(np.add, (rows[:, part::_FINE] for part in range(_FINE)))
        return np.clip(255 / _FINE**2 * smooth + 0.5, 0, 255).astype(np.uint8)

    def close(self) -> None:
        """Nothing is held."""

    def _ground(self, origin: np.ndarray) -> np.ndarray:
        """Squares that fade into the sky, darker where the robot keeps the light away."""
        places = self._ahead + origin[:2].astype(np.float32)
        squares = np.floor(places / SQUARE).astype(np.int32)
        odd = (squares[..., 0] ^ squares[..., 1]) & 1 == 1
        colour = np.where(odd[..., None], self._tones[1], self._tones[0])
        centres, radii = self._spheres()
        if not len(centres):
            return colour
        height = self._stage.data.geom_xpos[self._stage.floor, 2]
        cast = centres - (centres[:, 2:] - height) / LIGHT[2] * LIGHT
        spread = (radii / -LIGHT[2])[:, None]
        low, high = (cast - spread).min(axis=0)[:2], (cast + spread).max(axis=0)[:2]
        coarse = places[::_FINE, ::_FINE]
        block = _block(((coarse > low) & (coarse < high)).all(axis=-1))
        points = np.concatenate([places[block], np.full((*places[block].shape[:2], 1), height)], axis=-1)
        lamp = cast.mean(axis=0) - 50.0 * LIGHT
        colour[block][self._solid(self._hits(lamp, points - lamp).geom)] *= _SHADOW
        return colour

    def _draw_robot(self, picture: np.ndarray, origin: np.ndarray) -> None:
        """All that is not ground, in the rectangle of the picture in which it can be."""
        box = self._rectangle(origin, picture.shape)
        hits = self._hits(origin, self._rays[box])
        solid = self._solid(hits.geom)
        normal = hits.normal[solid]
        facing = np.clip(-(normal * self._rays[box][solid]).sum(axis=1), 0, 1)
        bright = _AMBIENT + _HEAD * facing + _LAMP * np.clip(-normal @ LIGHT, 0, 1)
        picture[box][solid] = self._stage.model.geom_rgba[hits.geom[solid], :3] * bright[:, None]

    def _rectangle(self, origin: np.ndarray, shape: tuple[int, ...]) -> tuple[slice, slice]:
        """Where in the picture the robot is, in whole pixels."""
        centres, radii = self._spheres()
        seen = (centres - origin) @ self._axes.T
        if not len(centres) or (seen[:, 2] <= radii).any():
            return slice(None), slice(None)
        spread = (1.2 * self._scale * radii / (seen[:, 2] - radii))[:, None]
        middle = self._scale * seen[:, :2] / seen[:, 2:] * (1, -1) + np.array(shape[1::-1]) / 2
        left, top = np.maximum((middle - spread).min(axis=0) // _FINE, 0).astype(int) * _FINE
        right, bottom = np.maximum(np.ceil((middle + spread).max(axis=0) / _FINE), 0).astype(int) * _FINE
        return slice(top, bottom), slice(left, right)

    def _spheres(self) -> tuple[np.ndarray, np.ndarray]:
        """Balls around everything that is shown but the ground."""
        return self._stage.data.geom_xpos[self._parts], self._stage.model.geom_rbound[self._parts]

    def _solid(self, geom: np.ndarray) -> np.ndarray:
        return (geom >= 0) & (geom != (-1 if self._stage.floor is None else self._stage.floor))

    def _hits(self, origin: np.ndarray, rays: np.ndarray) -> _Hits:
        """What the rays of a block of whole pixels meet; away from edges a pixel's first tells for all."""
        first = self._cast(origin, rays[::_FINE, ::_FINE])
        geom, normal, more = (_enlarged(image) for image in (*first, _edges(first)))
        more[::_FINE, ::_FINE] = False
        geom[more], normal[more] = self._cast(origin, rays[more])
        return _Hits(geom, normal)

    def _cast(self, origin: np.ndarray, rays: np.ndarray) -> _Hits:
        shape = rays.shape[:-1]
        count = int(np.prod(shape))
        geom, distance, normal = np.full(count, -1, np.int32), np.zeros(count), np.zeros(3 * count)
        if count:
            mujoco.mj_multiRay(
                self._stage.model,
                self._stage.data,
                origin,
                np.ascontiguousarray(rays).reshape(-1),
                _GROUPS,
                True,
                -1,
                geom,
                distance,
                normal,
                count,
                _FARTHEST,
            )
        return _Hits(geom.reshape(shape), normal.reshape(*shape, 3))


def _edges(hits: _Hits) -> np.ndarray:
    """Where a neighbour above, below or beside shows another geom, or another side of this one."""
    edge = np.zeros(hits.geom.shape, dtype=bool)
    for one, other in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        crease = (hits.normal[one] * hits.normal[other]).sum(axis=-1) < _CREASE
        differ = (hits.geom[one] != hits.geom[other]) | (crease & (hits.geom[one] >= 0))
        edge[one] |= differ
        edge[other] |= differ
    return edge


def _enlarged(coarse: np.ndarray) -> np.ndarray:
    """Every pixel's value for all of its rays."""
    return coarse.repeat(_FINE, axis=0).repeat(_FINE, axis=1)


def _block(inside: np.ndarray) -> tuple[slice, slice]:
    """The rays of the smallest rectangle of pixels that holds all that are inside."""
    spans = [np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0)]
    rows, columns = (
        slice(int(span[0]) * _FINE, int(span[-1] + 1) * _FINE) if len(span) else slice(0, 0) for span in spans
    )
    return rows, columns


def _tone(colour: str) -> np.ndarray:
    return rgba(colour)[:3]
