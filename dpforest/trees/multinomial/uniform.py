"""Splits drawn uniformly from what public boxes leave: no record is read, so nothing is paid."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.lattice import draw_below
from dpforest.mechanisms.uniform import select_uniform


class PublicBoxes(Protocol):
    """Part of each feature that ancestors' splits left in each node; public."""

    def n_candidates(self) -> NDArray[np.int64]:
        """Number of candidates that each box leaves of each feature, shape (n_nodes, D)."""

    def nth_candidates(
        self, features: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Codes of the candidates at these places of the boxes; -1 without feature."""


def uniform_features(boxes: PublicBoxes, source: RandomSource) -> NDArray[np.int64]:
    """Draw a feature for every node among those that its box leaves candidates of."""
    offered = boxes.n_candidates() > 0
    starts = np.arange(offered.shape[0], dtype=np.int64) * offered.shape[1]
    return select_uniform(offered.ravel(), starts, starts + offered.shape[1], source)


def uniform_codes(
    boxes: PublicBoxes, features: NDArray[np.int64], source: RandomSource
) -> NDArray[np.int64]:
    """Draw a code of the feature that each node drew."""
    sizes = boxes.n_candidates()[np.arange(features.size), features]
    sizes[features < 0] = 0
    return boxes.nth_candidates(features, draw_below(np.maximum(sizes, 1), source))


def uniform_splits(
    boxes: PublicBoxes, source: RandomSource
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw feature and code of every node in one draw: each candidate is as likely as another."""
    sizes = boxes.n_candidates()
    ends = np.cumsum(sizes, axis=1)
    totals = ends[:, -1]
    places = draw_below(np.maximum(totals, 1), source)
    features = np.where(totals > 0, (ends <= places[:, None]).sum(axis=1), -1)
    before = (ends - sizes)[np.arange(totals.size), features]
    return features, boxes.nth_candidates(features, places - before)
