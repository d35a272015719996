"""A diffprivlib accountant as the ceiling: priced for replace-one, charged once, never copied."""

from __future__ import annotations

import copy
import math
import os
import pickle
import sys
import threading
from fractions import Fraction as F

import pytest

from dpforest.accounting import BudgetAccountant, PrivacyLoss
from dpforest.accounting.bounds import replace_one_price
from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.diffprivlib_adapter import (
    DiffprivlibCeiling,
    ceiling_of,
    is_diffprivlib_accountant,
)
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError

DELTA = F(1, 10**6)


class TestPrice:
    def test_pure_is_doubled(self):
        epsilon, delta, derivation = replace_one_price(PrivacyLoss.pure(F(1, 10)), F(0))
        assert (epsilon, delta, derivation) == (F(1, 5), 0, "2 epsilon")

    def test_rho_is_quadrupled_and_converted_anew(self):
        epsilon, delta, derivation = replace_one_price(PrivacyLoss(math.inf, F("0.0244")), DELTA)
        assert (epsilon, delta) == (epsilon_of_rho(F("0.0976"), DELTA)[0], DELTA)
        assert epsilon > 2 * F("1.0")
        assert derivation.startswith("4 rho")

    def test_the_smaller_one_is_charged(self):
        assert replace_one_price(PrivacyLoss(F(1, 100), F(1)), DELTA)[0] == F(1, 50)
        assert replace_one_price(PrivacyLoss(F(100), F("0.01")), DELTA)[0] < 3

    def test_a_spent_delta_grows_by_group_privacy(self):
        epsilon, delta, _ = replace_one_price(PrivacyLoss(F(1), math.inf, F(1, 100)), F(0))
        assert epsilon == 2
        assert float(delta) == pytest.approx((1 + math.e) / 100, rel=1e-12)
        assert replace_one_price(PrivacyLoss(math.inf, F(1), F(1, 9)), F(0))[0] == math.inf


@pytest.fixture
def library():
    # The library says on import what it thinks of the newest scikit-learn.
    return pytest.importorskip("diffprivlib", exc_type=ImportError)


class TestRealAccountant:
    def test_a_fit_is_one_charge(self, library):
        ceiling = library.BudgetAccountant(epsilon=1.0, delta=0)
        assert is_diffprivlib_accountant(ceiling)
        entry = DiffprivlibCeiling(ceiling).charge(PrivacyLoss.pure(F(1, 10)))
        assert ceiling.spent_budget == [(0.2, 0.0)]
        assert (entry.library, entry.relation) == ("diffprivlib", "replace one record")
        assert (entry.epsilon, entry.delta, entry.exact_epsilon) == (0.2, 0.0, "1/5")

    def test_refusal_charges_nothing(self, library):
        ceiling = library.BudgetAccountant(epsilon=1.0, delta=0)
        DiffprivlibCeiling(ceiling).charge(PrivacyLoss.pure(F(2, 5)))
        with pytest.raises(BudgetExceeded, match="diffprivlib accountant: requested") as refused:
            DiffprivlibCeiling(ceiling).charge(PrivacyLoss.pure(F(1, 5)))
        assert refused.value.requested.epsilon == F(2, 5)
        assert refused.value.remaining.epsilon == pytest.approx(0.2)
        assert "rho" not in str(refused.value.remaining)  # that library knows none
        assert ceiling.spent_budget == [(0.8, 0.0)]

    def test_rho_is_charged_at_delta(self, library):
        ceiling = library.BudgetAccountant(epsilon=3.0, delta=1e-5)
        entry = DiffprivlibCeiling(ceiling).charge(PrivacyLoss(math.inf, F(1, 100)), 1e-6)
        assert ceiling.spent_budget == [(entry.epsilon, 1e-6)]
        assert F(repr(entry.epsilon)) >= F(entry.exact_epsilon)

    def test_one_budget_covers_a_pipeline_of_both(self, library):
        ceiling = library.BudgetAccountant(epsilon=1.0, delta=0)
        library.tools.mean([0.0, 1.0, 0.5], epsilon=0.5, bounds=(0, 1), accountant=ceiling)
        DiffprivlibCeiling(ceiling).charge(PrivacyLoss.pure(F(1, 4)))
        with pytest.raises(library.utils.BudgetError):
            library.tools.mean([0.0, 1.0], epsilon=0.1, bounds=(0, 1), accountant=ceiling)

    def test_threads_never_overspend(self, library):
        ceiling = library.BudgetAccountant(epsilon=1.0, delta=0)
        loss, granted = PrivacyLoss.pure(F(1, 64)), []

        def charge():
            for _ in range(10):
                try:
                    granted.append(DiffprivlibCeiling(ceiling).charge(loss))
                except BudgetExceeded:
                    return

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=charge) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert len(granted) == 32 == len(ceiling)


class StandIn:
    """Has the methods, so that copies and refusals are tested where the library is absent."""

    def __init__(self):
        self.charges = []

    def spend(self, epsilon, delta):
        if epsilon > 1:
            raise ValueError("not a budget error")
        self.charges.append((epsilon, delta))

    def check(self, epsilon, delta): ...
    def remaining(self): ...
    def total(self): ...


def test_a_ceiling_is_never_duplicated():
    ceiling = DiffprivlibCeiling(StandIn())
    assert copy.copy(ceiling) is ceiling
    assert copy.deepcopy(ceiling) is ceiling
    with pytest.raises(ParameterTypeError, match="is live and cannot be pickled"):
        pickle.dumps(ceiling)


def test_a_ceiling_does_not_charge_in_another_process(monkeypatch):
    stand_in = StandIn()
    ceiling = DiffprivlibCeiling(stand_in)
    monkeypatch.setattr(ceiling, "_process", -1)
    with pytest.raises(ScopeError, match="belongs to another process"):
        ceiling.charge(PrivacyLoss.pure(F(1, 10)))
    assert stand_in.charges == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_spends_from_no_copy():
    stand_in, loss = StandIn(), PrivacyLoss.pure(F(1, 10))
    ceiling = DiffprivlibCeiling(stand_in)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        told = []
        try:
            for charge in (
                lambda: ceiling.charge(loss),
                lambda: ceiling_of(ceiling).charge(loss),
                lambda: ceiling_of(stand_in).charge(loss),
                lambda: DiffprivlibCeiling(StandIn()).charge(loss),
            ):
                try:
                    charge()
                    told.append("charged")
                except ScopeError:
                    told.append("refused")
        finally:
            os.write(writing, " ".join(told).encode())
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100) == b"refused refused refused charged"
    os.close(reading), os.close(writing)
    assert ceiling_of(stand_in).charge(loss).epsilon == 0.2


def test_what_has_no_price_is_refused():
    stand_in = StandIn()
    with pytest.raises(ParameterError, match="no finite replace-one epsilon"):
        DiffprivlibCeiling(stand_in).charge(PrivacyLoss.concentrated(F(1)))
    assert stand_in.charges == []


def test_other_errors_of_the_library_pass_through():
    with pytest.raises(ValueError, match="not a budget error"):
        DiffprivlibCeiling(StandIn()).charge(PrivacyLoss.pure(F(1)))


def test_what_is_no_accountant_is_refused():
    assert not is_diffprivlib_accountant(BudgetAccountant(1))
    assert not is_diffprivlib_accountant(StandIn)
    with pytest.raises(ParameterTypeError, match="must be a diffprivlib.BudgetAccountant"):
        DiffprivlibCeiling(object())
