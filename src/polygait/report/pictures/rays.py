"""Pictures without OpenGL: rays cast with MuJoCo's own geometry, shaded in NumPy.

Needs no system package. Four rays per pixel, sent only where the robot or its shadow can be.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from polygait.report.pictures.scene import FLOOR, LIGHT, SKY, SQUARE, Stage, rgba, view

_FINE = 2  # rays per pixel along each side
_FARTHEST = 1000.0
_FADE = (8.0, 25.0)  # the ground loses its pattern between these distances, in metres
_SHADOW = 0.75
_AMBIENT, _HEAD, _LAMP = 0.5, 0.2, 0.45


class _Hits(NamedTuple):
    """What rays met."""

    geom: np.ndarray
    """−1 for nothing."""
    normal: np.ndarray


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
        self._sky = _tone(SKY[1]) * (1 - share) + _tone(SKY[0]) * share
        self._below = np.zeros((height, width), dtype=bool)
        if stage.floor is not None:
            self._below = self._rays[..., 2] < -1e-3
            distance = (stage.data.geom_xpos[stage.floor, 2] - origin[2]) / self._rays[self._below, 2]
            self._ahead = (distance[:, None] * self._rays[self._below])[:, :2].astype(np.float32)
            fade = np.clip((distance - _FADE[0]) / (_FADE[1] - _FADE[0]), 0, 1)[:, None]
            sky = fade * self._sky[self._below]
            self._tones = [(sky + (1 - fade) * _tone(one)).astype(np.float32) for one in FLOOR]
        self._sky = self._sky.astype(np.float32)

    def paint(self) -> np.ndarray:
        """The stage as its camera sees it, (height, width, 3) in 0…255."""
        origin, _ = view(self._stage.camera())
        picture = self._sky.copy()
        if self._stage.floor is not None:
            picture[self._below] = self._ground(origin)
        self._draw_robot(picture, origin)
        width, height = self._stage.size
        rows = picture.reshape(height, _FINE, width * _FINE, 3).mean(axis=1)
        smooth = rows.reshape(height, width, _FINE, 3).mean(axis=2)
        return np.clip(255 * smooth + 0.5, 0, 255).astype(np.uint8)

    def close(self) -> None:
        """Nothing is held."""

    def _ground(self, origin: np.ndarray) -> np.ndarray:
        """Squares that fade into the sky, darker where the robot keeps the light away."""
        places = self._ahead + origin[:2].astype(np.float32)
        odd = (np.floor(places[:, 0] / SQUARE) + np.floor(places[:, 1] / SQUARE)) % 2 == 1
        colour = np.where(odd[:, None], self._tones[1], self._tones[0])
        centres, radii = self._spheres()
        height = self._stage.data.geom_xpos[self._stage.floor, 2]
        cast = centres - (centres[:, 2:] - height) / LIGHT[2] * LIGHT
        spread = (radii / -LIGHT[2])[:, None]
        low, high = (cast - spread).min(axis=0)[:2], (cast + spread).max(axis=0)[:2]
        near = np.flatnonzero(((places > low) & (places < high)).all(axis=1))
        points = np.concatenate([places[near], np.full((len(near), 1), height)], axis=1)
        lamp = cast.mean(axis=0) - 50.0 * LIGHT
        colour[near[self._solid(self._cast(lamp, points - lamp).geom)]] *= _SHADOW
        return colour

    def _draw_robot(self, picture: np.ndarray, origin: np.ndarray) -> None:
        """All that is not ground, in the rectangle of the picture in which it can be."""
        box = self._rectangle(origin, picture.shape)
        inside = self._rays[box].reshape(-1, 3)
        hits = self._cast(origin, inside)
        solid = self._solid(hits.geom)
        facing = np.clip(-(hits.normal[solid] * inside[solid]).sum(axis=1), 0, 1)
        lit = np.clip(-hits.normal[solid] @ LIGHT, 0, 1)
        bright = _AMBIENT + _HEAD * facing + _LAMP * lit
        part = picture[box].reshape(-1, 3)
        part[solid] = self._stage.model.geom_rgba[hits.geom[solid], :3] * bright[:, None]
        picture[box] = part.reshape(picture[box].shape)

    def _rectangle(self, origin: np.ndarray, shape: tuple[int, ...]) -> tuple[slice, slice]:
        """Where in the picture the robot is."""
        centres, radii = self._spheres()
        seen = (centres - origin) @ self._axes.T
        if (seen[:, 2] <= radii).any():
            return slice(None), slice(None)
        spread = (1.2 * self._scale * radii / (seen[:, 2] - radii))[:, None]
        middle = self._scale * seen[:, :2] / seen[:, 2:] * (1, -1) + np.array(shape[1::-1]) / 2
        left, top = np.maximum((middle - spread).min(axis=0), 0).astype(int)
        right, bottom = np.maximum(np.ceil((middle + spread).max(axis=0)), 0).astype(int)
        return slice(top, bottom), slice(left, right)

    def _spheres(self) -> tuple[np.ndarray, np.ndarray]:
        """Balls around everything but the ground."""
        others = np.arange(self._stage.model.ngeom) != self._stage.floor
        return self._stage.data.geom_xpos[others], self._stage.model.geom_rbound[others]

    def _solid(self, geom: np.ndarray) -> np.ndarray:
        return np.flatnonzero((geom >= 0) & (geom != self._stage.floor))

    def _cast(self, origin: np.ndarray, rays: np.ndarray) -> _Hits:
        count = len(rays)
        geom, distance, normal = np.full(count, -1, np.int32), np.zeros(count), np.zeros((count, 3))
        if count:
            mujoco.mj_multiRay(
                self._stage.model,
                self._stage.data,
                origin,
                np.ascontiguousarray(rays).reshape(-1),
                None,
                True,
                -1,
                geom,
                distance,
                normal.reshape(-1),
                count,
                _FARTHEST,
            )
        return _Hits(geom, normal)


def _tone(colour: str) -> np.ndarray:
    return rgba(colour)[:3]
