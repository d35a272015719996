"""Codes of a feature at which a model is explained."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.base import TableFacts

#: Parts of an ordered feature that are explained, at most.
MOST_SHOWN = 256


def codes_to_explain(feature: int, facts: TableFacts) -> NDArray[np.int64]:
    """Codes at which a feature is explained: every category, `shown_codes` of what is ordered."""
    n_codes = int(facts.n_codes[feature])
    if not facts.ordered[feature]:
        return np.arange(n_codes, dtype=np.int64)
    return shown_codes(n_codes, bool(facts.has_missing_code[feature]))


def shown_codes(n_codes: int, has_missing_code: bool) -> NDArray[np.int64]:
    """Codes of an ordered feature to explain: all; of a lattice the middles of 256 equal parts."""
    first, last = shown_parts(n_codes - has_missing_code)
    middle: NDArray[np.int64] = (first + last) // 2
    return np.append(middle, n_codes - 1) if has_missing_code else middle


def shown_parts(n_points: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last code of each part of an ordered feature that is explained as one."""
    n_parts = min(n_points, MOST_SHOWN)
    ends = np.arange(n_parts + 1, dtype=np.int64) * n_points // n_parts
    return ends[:-1], ends[1:] - 1
