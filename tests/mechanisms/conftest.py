"""What the tests of mechanisms share: real grants, and one test of a distribution.

Statistical tests accept the truth with an error rate of 1e-9 each (chi-square, on words that
are fixed, so a result does not change between runs). That they reject a scale 30 % off in
both directions is asserted, not hoped for.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpforest.accounting import BudgetAccountant, Event, Grant

ALPHA = 1e-9


@pytest.fixture
def grant() -> Callable[..., Grant]:
    accountant = BudgetAccountant(epsilon=1000, delta=Fraction(1, 10**6))

    def make(event: Event, cells: int = 1) -> Grant:
        return accountant.request(event, role="test", cells=cells)

    return make


@pytest.fixture
def fits() -> Callable[..., bool]:
    """Whether counts could come from probabilities; rare outcomes are pooled."""

    def decide(counts, probabilities) -> bool:
        counts = np.asarray(counts, dtype=float)
        expected = np.asarray(probabilities, dtype=float) * counts.sum()
        if counts[expected == 0].any():
            return False
        rare = expected < 20
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        keep = expected > 0
        return bool(stats.chisquare(counts[keep], expected[keep], sum_check=False).pvalue > ALPHA)

    return decide


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
