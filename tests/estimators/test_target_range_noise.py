"""The range of a regression's targets is made of noisy counts, and of nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetAccountant, bridge
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import SHARED, Release, once
from dpforest.estimators.fit_plan import RANGE_ROLE
from dpforest.estimators.target_range import EDGES, release_target_range
from dpforest.mechanisms.entropy import SystemSource
from dpforest.records.base import Secret

N_SPANS = len(EDGES) - 1


class Counted:
    """Records of which all lie in one span."""

    def __init__(self, span: int) -> None:
        self._counts = np.bincount([span] * 1000, minlength=N_SPANS)

    def sealed_total(self, query):
        return Secret(self._counts)


@pytest.mark.parametrize("span", [0, 20, N_SPANS - 1])
def test_it_follows_what_the_mechanism_hands_out_and_not_the_records(span, monkeypatch):
    event = GeometricNoise(Fraction(1), Fraction(1))
    noisy = np.bincount(np.arange(45, 55).repeat(100), minlength=N_SPANS)
    monkeypatch.setattr(bridge, "add_geometric_noise", lambda *_: noisy)
    rounds = (once(SHARED, Release(RANGE_ROLE, event)),)
    scope = BudgetAccountant(1).open_scope("fit")
    asked = bridge.Bridge(rounds, scope, Counted(span), SystemSource())
    low, high = release_target_range(asked, 1000.0)
    # Ten cells, and a tenth of that as a margin at each end.
    width = EDGES[46] - EDGES[45]
    assert (low, high) == (EDGES[45] - width, EDGES[55] + width)
