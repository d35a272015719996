"""The range of a regression's targets is made of noisy counts, and of nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetAccountant, bridge
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import SHARED, Release, once
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.fit_plan import RANGE_ROLE
from dpforest.estimators.target_range import N_CELLS, find_range, release_target_range
from dpforest.mechanisms.entropy import SystemSource
from dpforest.records.base import Secret


class Counted:
    """Records of which all lie in one cell."""

    def __init__(self, cell: int) -> None:
        self._counts = np.bincount([cell] * 1000, minlength=N_CELLS)

    def sealed_total(self, query):
        return Secret(self._counts)


@pytest.mark.parametrize("cell", [0, 20, N_CELLS - 1])
def test_it_follows_what_the_mechanism_hands_out_and_not_the_records(cell, monkeypatch):
    event = GeometricNoise(Fraction(1), Fraction(1))
    noisy = np.bincount(np.arange(40, 50).repeat(100), minlength=N_CELLS)
    monkeypatch.setattr(bridge, "add_geometric_noise", lambda *_: noisy)
    rounds = (once(SHARED, Release(RANGE_ROLE, event)),)
    scope = BudgetAccountant(1).open_scope("fit")
    asked = bridge.Bridge(rounds, scope, Counted(cell), SystemSource())
    low, high = release_target_range(asked)
    first, last = find_range(noisy, 1.0)
    assert (first, last) == (40, 50)
    width = TARGET_STEPS // N_CELLS
    assert (low, high) == (39 * width, 51 * width)
