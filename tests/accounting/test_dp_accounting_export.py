"""Exported events: a maintained library composes them to our own figures."""

from __future__ import annotations

import math
import sys
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
    PrivacyLoss,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.dp_accounting_export import to_dp_event
from dpforest.exceptions import MissingExtraError

DELTA = F(1, 10**6)


@pytest.fixture
def library():
    return pytest.importorskip("dp_accounting")


def total_rho(event) -> float:
    return math.fsum(getattr(part, "rho", 0.0) for part in event.events)


def filled() -> BudgetAccountant:
    accountant = BudgetAccountant._unlimited(delta=DELTA)
    accountant.request(ExponentialSelection(F(1, 3), F(2)), role="a", cells=4)
    accountant.request(PermuteAndFlipSelection(F(1, 7), F(2)), role="b")
    accountant.request(GeometricNoise(F(1, 9), F(1)), role="c")
    accountant.request(DiscreteGaussianNoise(F(90), F(1)), role="d")
    minimum = ObjectivePerturbation(F(1, 8), F(1, 40), F(1, 2), F(1, 4), F(3))
    accountant.request(minimum, role="minimum")
    accountant.request(ZeroSumGeometricNoise(F(1, 11), F(4), F(3)), role="sums")
    accountant.request(ExponentialSelection(F(0), F(2)), role="nothing")
    cells = accountant.parallel_cells("cells")
    for label, epsilon in (("x", F(1, 5)), ("y", F(1, 4))):
        for _ in range(3):
            cells.sequential(f"{label}{_}").request(GeometricNoise(epsilon, F(1)), role="e")
    return accountant


def test_its_renyi_accountant_agrees_with_our_conversion(library):
    from dp_accounting.rdp import RdpAccountant

    accountant = filled()
    event = to_dp_event(accountant)
    theirs = RdpAccountant().compose(event).get_epsilon(float(DELTA))
    ours = float(epsilon_of_rho(accountant.loss.rho, DELTA)[0])
    # Their default orders are coarser than ours, so theirs is a little larger.
    assert theirs * 0.98 <= ours <= theirs * (1 + 1e-4)
    assert total_rho(event) == pytest.approx(float(accountant.loss.rho), rel=1e-12)


def test_events_come_one_by_one(library):
    event = to_dp_event(filled())
    kinds = [type(part).__name__ for part in event.events]
    assert kinds == ["ZCDpEvent"] * 6 + ["NoOpDpEvent", "ZCDpEvent"]
    assert event.events[0].rho == pytest.approx(1 / 72)


def test_frozen_books_export_alike(library):
    accountant = filled()
    assert to_dp_event(accountant.frozen()) == to_dp_event(accountant)
    assert to_dp_event(accountant.composition()) == to_dp_event(accountant)


@pytest.mark.parametrize("case", ["sides", "poisson", "held", "adaptive", "empty"])
def test_every_scope_exports_its_rho(library, case):
    accountant = BudgetAccountant._unlimited()
    noise = GeometricNoise(F(2), F(1))
    if case == "sides":
        both = accountant.parallel_records("r", {"S": F(1, 3), "E": F(1, 10)})
        both.side("S").request(noise, role="test")
        both.side("E").request(ExponentialSelection(F(1), F(1)), role="test")
    elif case == "poisson":
        accountant.poisson("p", F(1, 10)).request(noise, role="test")
    elif case == "held":
        accountant.open_scope("fit", PrivacyLoss.pure(F(3))).request(noise, role="test")
    elif case == "adaptive":
        with accountant.open_scope("fit", PrivacyLoss.pure(F(3)), adaptive=True) as scope:
            scope.request(noise, role="test")
    else:
        accountant.parallel_cells("c")
    rho = accountant.loss.rho
    exported = total_rho(to_dp_event(accountant))
    assert exported == pytest.approx(float(rho), rel=1e-12)
    assert exported >= float(rho) * (1 - 1e-15)


def test_what_has_no_rho_is_not_private(library):
    accountant = BudgetAccountant(1, delta=0.1)
    accountant.request(ExternalSpend(F(1), F(1, 100), "a mean"), role="external")
    assert to_dp_event(accountant).events == [library.NonPrivateDpEvent()]


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtraError, match=r"dpforest\[accounting\]"):
        to_dp_event(BudgetAccountant(1))
