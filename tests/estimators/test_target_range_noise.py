"""The range of a regression's targets is made of noisy counts, and of nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetAccountant
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import SHARED, Release, once
from dpforest.bridge import bridge
from dpforest.domain.targets import TARGET_STEPS
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


@pytest.mark.parametrize(("each", "part"), [(4000, 0.1), (180, 0.157), (60, 0.471)])
def test_the_margin_grows_with_what_noise_hides(each, part, monkeypatch):
    """By ten deviations of the noise on a cell, in parts of the records, where that is more."""
    event = GeometricNoise(Fraction(1, 20), Fraction(1))
    noisy = np.bincount(np.arange(35, 45).repeat(each), minlength=N_SPANS)
    monkeypatch.setattr(bridge, "add_geometric_noise", lambda *_: noisy)
    scope = BudgetAccountant(1).open_scope("fit")
    rounds = (once(SHARED, Release(RANGE_ROLE, event)),)
    asked = bridge.Bridge(rounds, scope, Counted(0), SystemSource())
    low, high = release_target_range(asked, 10.0 * each)
    width = EDGES[36] - EDGES[35]
    found = (EDGES[35] - low) / (10 * width), (high - EDGES[45]) / (10 * width)
    assert found == pytest.approx((part, part), abs=0.01)


def test_a_range_is_as_wide_as_nearly_all_records_need(monkeypatch):
    """Cells that are too thin to be seen one by one are seen together."""
    event = GeometricNoise(Fraction(1, 20), Fraction(1))
    thick = np.bincount(np.arange(35, 39).repeat(200), minlength=N_SPANS)
    thin = np.bincount(np.arange(20, 55).repeat(12), minlength=N_SPANS)
    wide = []
    for noisy in (thick, thick + thin):
        monkeypatch.setattr(bridge, "add_geometric_noise", lambda *_, noisy=noisy: noisy)
        scope = BudgetAccountant(1).open_scope("fit")
        rounds = (once(SHARED, Release(RANGE_ROLE, event)),)
        asked = bridge.Bridge(rounds, scope, Counted(0), SystemSource())
        wide.append(np.subtract(*release_target_range(asked, float(noisy.sum()))[::-1]))
    assert wide[0] < TARGET_STEPS // 8 and wide[1] > 2 * wide[0]
