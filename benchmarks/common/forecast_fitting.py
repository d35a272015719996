"""Finding the ends of ranges: quantile regressions with a few coefficients each.

Only tables at hand come here, none of those that confirm the ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import QuantileRegressor

from common.forecast_rows import Row
from dpforest.estimators.forecast_range import NOISE_TOLD_AT_ONCE, Ends, by_classes, by_spread

#: Quantiles of the gain at which ranges end.
LEVELS = (0.075, 0.925)
#: Quantile of what models tell where labels are dealt anew.
NOISE_LEVEL = 0.95
#: Digits of coefficients.
DIGITS = 3
#: Sets of ends, by their names in the library.
NAMES = (
    "CLASSES_CONSTANT", "MEANS_CONSTANT", "CLASSES_PLANNED", "MEANS_PLANNED", "CLASSES_TOLD",
    "MEANS_TOLD",
)  # fmt: skip


def ends_of(rows: Sequence[Row], levels: tuple[float, float] = LEVELS) -> dict[str, Any]:
    """All ends, and what noise tells, by their names in the library."""
    own = [row for row in rows if not row.is_shuffled]
    ends = {name: _ends([row for row in own if _counts(row, name)], name, levels)
            for name in NAMES}  # fmt: skip
    return ends | {"NOISE_TOLD": _noise_told([row for row in rows if row.is_shuffled])}


def _noise_told(rows: Sequence[Row]) -> tuple[float, ...]:
    """Coefficients of what classifiers tell of labels that were dealt anew.

    Beside what crowded curves at once tell, which was found on coins.
    """
    told = [
        (row, row.told.gain - NOISE_TOLD_AT_ONCE * row.figures.crowding)
        for row in rows
        if _counts(row, "CLASSES_TOLD") and row.told
    ]
    design = [by_classes(row.figures.n_classes, row.strategy)[1:] for row, _ in told]
    return _quantile(np.array(design), np.array([gain for _, gain in told]), NOISE_LEVEL)


def _ends(rows: Sequence[Row], name: str, levels: tuple[float, float]) -> Ends:
    """Both ends of one range."""
    parts = [row.figures.most if name == "CLASSES_PLANNED" else 1.0 for row in rows]
    gains = np.array([row.gain for row in rows]) / parts
    if name.endswith("CONSTANT"):  # none is above the best constant, so all misses are below
        return (round(float(np.quantile(gains, 1 + levels[0] - levels[1])), DIGITS),), (0.0,)
    design = np.array([_design(row, name) for row in rows])
    low, high = (_quantile(design, gains, level) for level in levels)
    return low, high


def _counts(row: Row, name: str) -> bool:
    """Whether a fit is one that the ends are for."""
    if row.figures.is_regression != name.startswith("MEANS"):
        return False
    if name.endswith("CONSTANT"):
        return not row.figures.learns
    return row.figures.learns and not row.is_small and (
        name.endswith("PLANNED") or row.told is not None
    )  # fmt: skip


def _design(row: Row, name: str) -> tuple[float, ...]:
    """What the ends go by."""
    if name.endswith("PLANNED"):
        return (row.figures.level,)
    assert row.told is not None
    if row.figures.is_regression:
        return by_spread(row.figures, row.told)
    return row.told.gain, float(row.strategy == "refitted")


def _quantile(design: np.ndarray, gains: np.ndarray, level: float) -> tuple[float, ...]:
    """Coefficients of one end."""
    model = QuantileRegressor(quantile=level, alpha=0.0, solver="highs").fit(design, gains)
    found = (model.intercept_, *model.coef_)
    return tuple(round(float(one), DIGITS) + 0.0 for one in found)
