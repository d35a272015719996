"""The ceiling: caps, floats, threads, copies, processes."""

from __future__ import annotations

import copy
import math
import os
import pickle
import sys
import threading
import time
from decimal import Decimal
from fractions import Fraction as F

import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    PrivacyLoss,
)
from dpforest.accounting.books import Books
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.rationals import to_rational
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError

DOMAIN = Domain(features={"a": (0, 1)}, classes=["0", "1"], approximate_rows=100)


def geometric(epsilon) -> GeometricNoise:
    return GeometricNoise(to_rational(epsilon, "epsilon"), F(1))


class TestCaps:
    @pytest.mark.parametrize(("total", "share", "times"), [
        (1.0, 0.1, 10), (0.3, 0.1, 3), (0.7, 0.07, 10), (1.1, 0.11, 10), (2.3, 0.023, 100),
    ])  # fmt: skip
    def test_floats_add_up_as_they_read(self, total, share, times):
        accountant = BudgetAccountant(total)
        for _ in range(times):
            accountant.request(geometric(share), role="test")
        assert accountant.spent.epsilon == total
        assert accountant.remaining.epsilon == 0
        with pytest.raises(BudgetExceeded):
            accountant.request(geometric(1e-15), role="test")

    @pytest.mark.parametrize("total", [1, 1.0, "1", Decimal(1), F(1)], ids=repr)
    def test_total_of_any_kind(self, total):
        assert BudgetAccountant(total).total.exact == PrivacyLoss(F(1), F(0), F(0))

    @pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "much"])
    def test_bad_epsilon(self, epsilon):
        with pytest.raises(ParameterError, match="epsilon=.*must be a (positive|finite) number"):
            BudgetAccountant(epsilon)

    @pytest.mark.parametrize("delta", [-0.1, 1, 2, math.nan])
    def test_bad_delta(self, delta):
        with pytest.raises(ParameterError, match="delta=.*must be"):
            BudgetAccountant(1, delta)

    @pytest.mark.parametrize("amount", [
        "1e99999999", "1e-99999999", "1e999999999999999999999", "1e1001", "1_0", "१", "1e१", "١/٢",
        "0x1", "", " ", "1/0", "1//2", "1.5/2", "nan", "inf", "3x", "1 0", "1" * 1001, 10**4000,
        Decimal("1e99999999"), Decimal("1e-99999999"), F(1, 10**4000), True, False,
    ], ids=lambda amount: "long" if isinstance(amount, (int, F)) else str(amount)[:20])  # fmt: skip
    def test_amounts_that_are_refused_at_once(self, amount):
        begin = time.process_time()
        for make in (
            lambda: BudgetAccountant(amount),
            lambda: BudgetAccountant(1, amount),
            lambda: GeometricNoise(amount, F(1)),
            lambda: DiscreteGaussianNoise(F(1), amount),
            lambda: BudgetAccountant(1).poisson("sampled", amount),
            lambda: PrivateForestClassifier(epsilon=amount, domain=DOMAIN).plan(),
            lambda: PrivateForestClassifier(epsilon=1, delta=amount, domain=DOMAIN).plan(),
        ):
            with pytest.raises(ParameterError) as refused:
                make()
            assert len(str(refused.value)) < 1300
        assert time.process_time() - begin < 2

    @pytest.mark.parametrize(("text", "value"), [
        ("0.5", F(1, 2)), (" 1/3 ", F(1, 3)), ("1e-6", F(1, 10**6)), ("1E+2", F(100)),
        (".5", F(1, 2)), ("5.", F(5)), ("+7", F(7)), (Decimal("1E-9"), F(1, 10**9)),
        (1e-300, F(1, 10**300)),
    ])  # fmt: skip
    def test_amounts_that_are_read(self, text, value):
        assert to_rational(text, "epsilon") == value
        assert BudgetAccountant(text).total.exact.epsilon == value

    @pytest.mark.parametrize("name", [7, b"survey", ["a"]])
    def test_a_name_is_a_text(self, name):
        with pytest.raises(ParameterTypeError, match="name=.*must be a str or None"):
            BudgetAccountant(1, name=name)

    def test_without_delta_no_gaussian(self):
        with pytest.raises(
            BudgetExceeded, match="no pure epsilon, .* has no delta.*without a delta, or open"
        ):
            BudgetAccountant(100).request(DiscreteGaussianNoise(F(10**9), F(1)), role="test")

    def test_with_delta_rho_is_a_cap_of_its_own(self):
        accountant = BudgetAccountant(1, delta=1e-6)
        cap = rho_of_epsilon(F(1), F(1, 10**6))
        assert accountant.total.exact.rho == cap
        accountant.request(DiscreteGaussianNoise(1 / (2 * cap), F(1)), role="test")
        assert accountant.remaining.exact.rho == 0
        assert accountant.spent.epsilon == math.inf
        assert (accountant.spent.delta, accountant.spent.exact.rho) == (0.0, cap)
        with pytest.raises(BudgetExceeded) as refused:
            accountant.request(DiscreteGaussianNoise(1 / (2 * cap), F(1)), role="test")
        said = str(refused.value)
        assert "inf" not in said and "which is epsilon=1 at delta=1e-06, but only (" in said
        assert str(pickle.loads(pickle.dumps(refused.value))) == said

    def test_many_small_selections_pass_under_rho(self):
        """80 selections at 1/25 add to 3.2 > 1 in epsilon, but to 0.016 in rho."""
        accountant = BudgetAccountant(1, delta=1e-6)
        for _ in range(80):
            accountant.request(ExponentialSelection(F(1, 25), F(2)), role="test")
        assert accountant.loss == PrivacyLoss(F(16, 5), F(2, 125))
        assert str(accountant.spent) == "(epsilon=3.2, rho=0.016)"

    def test_pure_spending_needs_no_delta(self):
        accountant = BudgetAccountant(1, delta=1e-6)
        accountant.request(geometric(1), role="test")
        assert (accountant.spent.epsilon, accountant.spent.delta) == (1.0, 0.0)

    def test_external_delta_is_taken_off_the_conversion(self):
        accountant = BudgetAccountant(1, delta=1e-6)
        accountant.request(ExternalSpend(F(1, 10), F(1, 2 * 10**6), "a mean"), role="external")
        assert accountant.loss.delta == F(1, 2 * 10**6)
        assert accountant.remaining.exact.delta == F(1, 2 * 10**6)
        with pytest.raises(BudgetExceeded):
            accountant.request(ExternalSpend(F(0), F(1, 10**6), "too much"), role="external")

    def test_a_spent_delta_lowers_the_rho_cap(self):
        spent, delta = F(1, 2 * 10**6), F(1, 10**6)
        cap = rho_of_epsilon(F(1), delta - spent)
        assert cap < rho_of_epsilon(F(1), delta)
        numerical = type("Numerical", (Event,), {"loss": PrivacyLoss(F(0), F(0), spent)})
        accountant = BudgetAccountant(1, delta)
        accountant.request(numerical(), role="slack of a sampler")
        assert accountant.remaining.exact.rho == cap
        rho = rho_of_epsilon(F(1), delta)
        with pytest.raises(BudgetExceeded):
            accountant.request(DiscreteGaussianNoise(1 / (2 * rho), F(1)), role="test")
        accountant.request(DiscreteGaussianNoise(1 / (2 * cap), F(1)), role="test")
        assert str(accountant.spent).startswith("(delta=5e-07, rho=")

    def test_refusal_says_what_was_asked_and_what_is_left(self):
        accountant = BudgetAccountant(1, name="census")
        accountant.request(geometric("0.75"), role="test")
        with pytest.raises(BudgetExceeded, match="accountant 'census': requested") as refused:
            accountant.request(geometric("0.5"), role="test")
        assert refused.value.requested.epsilon == F(1, 2)
        assert refused.value.remaining.epsilon == 0.25

    def test_dry_runs_have_no_ceiling(self):
        accountant = BudgetAccountant._unlimited(delta=1e-6)
        accountant.request(geometric(10**9), role="test")
        accountant.request(DiscreteGaussianNoise(F(0), F(1)), role="test")
        assert accountant.remaining.epsilon == accountant.spent.epsilon == math.inf


ROLE = {"role": "test"}


def run_threads(work) -> None:
    start = threading.Barrier(8)

    def run(number: int) -> None:
        start.wait()
        work(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)


class TestThreads:
    """Eight threads that switch as often as they can, against one ceiling."""

    def test_requests_never_overspend(self):
        accountant = BudgetAccountant(1)
        share, granted = geometric("1/400"), []

        def spend(number):
            scope = accountant.open_scope("thread").sequential("inner")
            while True:
                try:
                    granted.append(scope.request(share, role="test"))
                except BudgetExceeded:
                    return

        run_threads(spend)
        assert len(granted) == 400 == len(accountant.ledger)
        assert accountant.loss.epsilon == 1

    def test_nobody_asks_while_another_request_is_answered(self, monkeypatch):
        accountant, admit = BudgetAccountant(1), Books.admit
        scopes = [accountant.open_scope(name) for name in ("first", "second")]
        second = threading.Thread(target=scopes[1].request, args=(geometric("1/4"),), kwargs=ROLE)
        inside, met = threading.Event(), []

        def slow(books, *losses):
            if threading.current_thread() is second:
                inside.set()
            else:
                second.start()
                met.append(inside.wait(0.3))
            return admit(books, *losses)

        monkeypatch.setattr(Books, "admit", slow)
        scopes[0].request(geometric("1/4"), **ROLE)
        second.join()
        assert met == [False] and inside.is_set() and accountant.loss.epsilon == F(1, 2)

    def test_reserves_never_overspend(self):
        accountant, kept = BudgetAccountant(1), []

        def spend(number):
            for _ in range(20):
                try:
                    with accountant.open_scope("fit", PrivacyLoss.pure(F(1, 5))) as scope:
                        assert accountant.loss.epsilon <= 1
                        scope.request(geometric("1/50"), role="test")
                        kept.append(1)
                except BudgetExceeded:
                    pass

        run_threads(spend)
        assert accountant.loss.epsilon == F(len(kept), 50) <= 1

    def test_one_mixture_from_eight_threads(self):
        accountant = BudgetAccountant._unlimited()
        sides = accountant.parallel_records("trees", {str(k): F(1, 8) for k in range(8)})

        def spend(number):
            for _ in range(40):
                sides.side(str(number)).request(geometric("1/40"), role="test")

        run_threads(spend)
        assert accountant.loss == PrivacyLoss(F(1), F(40, 2 * 40 * 40))


class TestCopies:
    def test_copies_are_the_same_accountant(self):
        accountant = BudgetAccountant(1)
        scope = accountant.open_scope("fit")
        for twice in (copy.copy, copy.deepcopy):
            assert twice(accountant) is accountant
            assert twice(scope) is scope
            assert twice({"accountant": accountant})["accountant"] is accountant

    def test_scikit_learns_clone_keeps_it(self):
        from sklearn.base import BaseEstimator, clone

        class Holder(BaseEstimator):
            def __init__(self, accountant=None):
                self.accountant = accountant

        accountant = BudgetAccountant(1)
        assert clone(Holder(accountant)).accountant is accountant

    def test_pickling_raises(self):
        accountant = BudgetAccountant(1)
        with pytest.raises(ParameterTypeError, match="is live and cannot be pickled"):
            pickle.dumps(accountant)
        with pytest.raises(ParameterTypeError, match="belongs to a live accountant"):
            pickle.dumps(accountant.open_scope("fit"))

    def test_another_process_may_not_spend(self, monkeypatch):
        accountant = BudgetAccountant(1)
        here = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: here + 1)
        with pytest.raises(ScopeError, match="belongs to another process"):
            accountant.request(geometric("1/10"), role="test")
        assert accountant.loss == PrivacyLoss()


def test_sums_that_are_kept_are_those_of_adding():
    accountant = BudgetAccountant(10)
    events = [geometric(F(1, 7)), geometric(F(1, 3)), GeometricNoise(F(1, 5), F(2))]
    total = PrivacyLoss()
    for tree in range(4):
        with accountant.open_scope(f"tree {tree}") as scope:
            for event in events[: tree or 3]:
                scope.request(event, role="test")
                total = total + event.loss
    assert accountant.loss == total
    assert len(accountant._books._sums) == 3


def test_sums_that_are_kept_are_never_taken_for_those_of_other_losses():
    # Losses that nobody holds any more: the next ones take their places in memory.
    accountant = BudgetAccountant(10)
    for size in range(1, 100):
        one, other = PrivacyLoss.pure(F(size)), PrivacyLoss.pure(F(1, size))
        assert accountant._books.sum_of(one, other) == one + other
        del one, other
