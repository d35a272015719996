"""Parts that tests of mechanisms share: one test of whether two samples have the same law.

Statistical tests accept the truth with an error rate of 1e-9 each (chi-square, on words that
are fixed, so a result does not change between runs). That they reject a scale 30 % off in
both directions is asserted, not hoped for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

# `objective_tables`, which tests here share.
sys.path.insert(0, str(Path(__file__).resolve().parent))

ALPHA = 1e-9


@pytest.fixture
def same_law() -> Callable[..., bool]:
    """Whether two samples of integers could come from one distribution; rare values are pooled."""

    def decide(first, second) -> bool:
        values = np.union1d(first, second)
        table = np.array([[np.sum(sample == v) for v in values] for sample in (first, second)])
        rare = table.sum(axis=0) < 40
        pooled = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
        pooled = pooled[:, pooled.sum(axis=0) > 0]
        return bool(stats.chi2_contingency(pooled).pvalue > ALPHA)

    return decide
