"""Pixels of aerial tiles as records: colours, local binary patterns, Haralick features of a window.

Bounds of all features are public: they follow from 256 colours and 8 levels of grey alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = "segmentation"
TILES = ("2_27", "2_28", "3_14")
#: Levels of grey, half the width of the window, radius and number of points of the patterns.
LEVELS, REACH, RADIUS, POINTS = 8, 7, 24, 24
_LAST = LEVELS - 1
#: Names and public bounds of the features.
BOUNDS: dict[str, tuple[float, float]] = {
    "red": (0, 255), "green": (0, 255), "blue": (0, 255), "pattern": (0, POINTS + 1),
    "second_moment": (0, 1), "contrast": (0, _LAST**2), "correlation": (-1, 1),
    "entropy": (0, 2 * np.log(LEVELS)), "homogeneity": (0, 1), "mean": (0, _LAST),
    "variance": (0, (_LAST / 2) ** 2), "deviation": (0, _LAST / 2),
}  # fmt: skip


@dataclass(frozen=True)
class Tile:
    """A tile.

    Attributes
    ----------
    X : ndarray of float64, shape (n_pixels, 12)
    y : ndarray of int64, shape (n_pixels,)
        1 where there is a building.
    shape : tuple of int
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    shape: tuple[int, int]


def present(folder: Path) -> bool:
    """Whether the tiles are there."""
    return all((folder / FOLDER / f"tile_{name}.jpg").exists() for name in TILES)


@lru_cache(maxsize=3)
def read_tile(folder: Path, name: str) -> Tile:
    """Read a tile and its mask."""
    from PIL import Image

    place = folder / FOLDER
    colours = np.asarray(Image.open(place / f"tile_{name}.jpg").convert("RGB"), dtype=float)
    mask = np.asarray(Image.open(place / f"buildings_{name}.png").convert("L")) > 127
    grey = colours @ np.array([0.299, 0.587, 0.114])
    columns = [*np.moveaxis(colours, 2, 0), patterns(grey), *haralick(grey)]
    X = np.stack([column.ravel() for column in columns], axis=1)
    return Tile(X, mask.ravel().astype(np.int64), mask.shape)


def patterns(grey: NDArray[np.float64]) -> NDArray[np.float64]:
    """Uniform local binary patterns: how many points of a circle are no darker than its centre.

    One more than there are points where the circle changes between darker and not more than twice.
    """
    rows, columns = grey.shape
    angles = 2 * np.pi * np.arange(POINTS) / POINTS
    wide = np.pad(grey, RADIUS, mode="reflect")
    shifts = np.rint(RADIUS * np.stack([-np.sin(angles), np.cos(angles)], axis=1)).astype(int)
    bits = np.stack([
        wide[RADIUS + down : RADIUS + down + rows, RADIUS + right : RADIUS + right + columns]
        >= grey for down, right in shifts
    ])  # fmt: skip
    changes = (bits != np.roll(bits, 1, axis=0)).sum(axis=0)
    return np.where(changes <= 2, bits.sum(axis=0), POINTS + 1).astype(float)


def haralick(grey: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Eight features of the co-occurrence of grey levels, side by side and one above the other."""
    levels = np.minimum(grey * LEVELS / 256, _LAST).astype(int)
    wide = np.pad(levels, REACH + 1, mode="reflect")
    shares = np.stack([_window(_pairs(wide, a, b)) for a in range(LEVELS) for b in range(LEVELS)])
    shares /= shares.sum(axis=0)
    a, b = (place[:, None, None] for place in np.divmod(np.arange(LEVELS**2), LEVELS))
    mean = (a * shares).sum(axis=0)
    variance = np.maximum(((a - mean) ** 2 * shares).sum(axis=0), 0.0)
    covariance = ((a - mean) * (b - mean) * shares).sum(axis=0)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return [
        (shares**2).sum(axis=0), ((a - b) ** 2 * shares).sum(axis=0),
        np.where(variance > 0, covariance / np.where(variance > 0, variance, 1.0), 1.0),
        -(shares * logs).sum(axis=0), (shares / (1 + (a - b) ** 2)).sum(axis=0), mean, variance,
        np.sqrt(variance),
    ]  # fmt: skip


def _pairs(wide: NDArray[np.int64], a: int, b: int) -> NDArray[np.float64]:
    """How often a pixel of level a has a neighbour of level b, each pair counted both ways."""
    first, second = wide == a, wide == b
    beside = (first[:-1, :-1] & second[:-1, 1:]) + 1.0 * (second[:-1, :-1] & first[:-1, 1:])
    below = (first[:-1, :-1] & second[1:, :-1]) + 1.0 * (second[:-1, :-1] & first[1:, :-1])
    return beside + below


def _window(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over the window around every pixel."""
    sums = np.pad(counts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    width = 2 * REACH + 1
    found = sums[width:, width:] - sums[:-width, width:] - sums[width:, :-width]
    return (found + sums[:-width, :-width])[1:, 1:]  # pairs that begin in the window
