"""Kinds of scope: prices, reserves, closing, adaptive spending, refusals."""

from __future__ import annotations

import math
import sys
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    PrivacyLoss,
    Request,
)
from dpforest.accounting.rationals import mixture_epsilon
from dpforest.accounting.scopes import Scope
from dpforest.accounting.verify import verify_composition
from dpforest.exceptions import (
    BudgetExceeded,
    DPForestError,
    ParameterError,
    ParameterTypeError,
    ScopeError,
)


def geometric(epsilon) -> GeometricNoise:
    return GeometricNoise(F(epsilon), F(1))


def ask(scope, epsilon) -> None:
    scope.request(geometric(epsilon), role="test")


@pytest.fixture
def accountant():
    return BudgetAccountant(1)


class TestPrices:
    def test_cells_cost_the_maximum(self, accountant):
        cells = accountant.parallel_cells("level")
        for label, epsilon in (("a", "1/10"), ("b", "3/10"), ("c", "2/10")):
            ask(cells.sequential(label), epsilon)
        assert accountant.loss == PrivacyLoss.pure(F(3, 10))

    def test_many_cells_of_one_request_cost_as_one(self, accountant):
        accountant.request(geometric("1/10"), role="histogram", cells=256)
        assert accountant.loss == PrivacyLoss.pure(F(1, 10))

    def test_secret_sides_cost_the_mixture(self):
        accountant = BudgetAccountant(10)
        sides = accountant.parallel_records("draw", {"S": 0.25, "E": 0.25})
        ask(sides.side("S"), 2)
        ask(sides.side("E"), 3)
        mixed = accountant.loss.epsilon
        assert mixed == mixture_epsilon([F(1, 4), F(1, 4)], [F(2), F(3)])
        expected = math.log(0.25 * math.exp(2) + 0.25 * math.exp(3) + 0.5)
        assert float(mixed) == pytest.approx(expected, rel=1e-12)
        assert accountant.loss.rho == min(F(9, 2), mixed * mixed / 2)

    def test_poisson_is_amplified_once_per_draw(self):
        accountant = BudgetAccountant(100)
        shared = accountant.poisson("one draw for ten trees", "0.1")
        for _ in range(10):
            ask(shared, 1)
        assert float(accountant.loss.epsilon) == pytest.approx(7.698, abs=1e-3)
        for tree in range(10):
            ask(accountant.poisson(f"tree {tree}", "0.1"), 1)
        apart = math.log(1 + 0.1 * (math.e - 1))
        assert float(accountant.loss.epsilon) == pytest.approx(7.698 + 10 * apart, abs=1e-3)

    def test_delta_is_sampled_with_one_side_and_maximal_with_several(self):
        accountant = BudgetAccountant(10, delta=0.5)
        spend = ExternalSpend(F(1), F(1, 10), "test")
        accountant.poisson("p", "0.1").request(spend, role="test")
        assert accountant.loss.delta == F(1, 100)
        sides = accountant.parallel_records("r", {"S": 0.5, "E": 0.5})
        sides.side("S").request(spend, role="test")
        assert accountant.loss.delta == F(1, 100) + F(1, 10)

    def test_gaussian_beside_pure(self):
        accountant = BudgetAccountant._unlimited()
        for _ in range(2):
            with accountant.open_scope("a", reserve=PrivacyLoss(math.inf, F(1))) as scope:
                ask(scope, 1)
        # The infinite reserve is gone, so the sum had to be taken anew.
        assert accountant.loss == PrivacyLoss(F(2), F(1))
        gaussian = DiscreteGaussianNoise(F(2), F(1))
        accountant.parallel_cells("c").sequential("x").request(gaussian, role="test")
        assert accountant.loss == PrivacyLoss(math.inf, F(5, 4))


class TestReserve:
    def test_it_counts_while_open_and_is_released(self, accountant):
        with accountant.open_scope("fit", reserve=PrivacyLoss.pure(F(8, 10))) as scope:
            assert accountant.spent.epsilon == 0.8
            ask(scope, "3/10")
            assert (scope.loss.epsilon, scope.charged.epsilon) == (F(3, 10), F(8, 10))
            with pytest.raises(BudgetExceeded, match="accountant: requested"):
                ask(accountant, "3/10")
        assert accountant.loss == PrivacyLoss.pure(F(3, 10))
        ask(accountant, "7/10")

    def test_nothing_inside_exceeds_it(self, accountant):
        scope = accountant.open_scope("fit", reserve=PrivacyLoss.pure(F(1, 2)))
        inner = scope.sequential("tree")
        ask(inner, "2/5")
        before = accountant.frozen()
        with pytest.raises(BudgetExceeded, match="reserve of 'fit': requested") as refused:
            ask(inner, "1/5")
        assert refused.value.remaining.exact.epsilon == F(1, 10)
        assert accountant.frozen() == before
        ask(inner, "1/10")

    def test_a_delta_that_was_not_set_aside_is_not_spent_in_it(self):
        accountant = BudgetAccountant(1, F(1, 10**5))
        with accountant.open_scope("fit", reserve=PrivacyLoss.pure(F(1, 2))) as scope:
            with pytest.raises(BudgetExceeded, match="reserve of 'fit'"):
                scope.request(ExternalSpend(F(1, 10), F(1, 10**6), "elsewhere"), role="test")
            assert scope.loss == PrivacyLoss()
        assert not PrivacyLoss.pure(1).covers(PrivacyLoss(delta=F(1, 10**9)))

    def test_one_that_does_not_fit_opens_nothing(self, accountant):
        ask(accountant, "1/2")
        before = accountant.frozen()
        with pytest.raises(BudgetExceeded) as refused:
            accountant.open_scope("fit", reserve=PrivacyLoss.pure(F(2, 3)))
        assert refused.value.requested.epsilon == F(2, 3)
        assert refused.value.remaining.exact.epsilon == F(1, 2)
        assert accountant.frozen() == before

    @pytest.mark.parametrize(
        "loss",
        [PrivacyLoss(0.1, F(1)), PrivacyLoss(F(1), 0.5), PrivacyLoss(F(1), F(1), 1e-9),
         PrivacyLoss(F(-1), F(1))],
    )  # fmt: skip
    def test_it_is_exact_and_no_refund(self, loss, accountant):
        """A float would stay in the sum of all that is charged after the reserve is released."""
        ask(accountant, "1/3")
        before = accountant.frozen()
        for given in ({"reserve": loss}, {"reserve": PrivacyLoss.pure(F(2)), "alone": loss}):
            with pytest.raises(ParameterError, match="exact loss that is not negative"):
                accountant.open_scope("fit", **given)
        with pytest.raises(ParameterError, match="exact loss that is not negative"):
            accountant.open_scope("fit", loss, max_records_per_unit=2)
        with pytest.raises(ParameterTypeError, match="alone"):
            accountant.open_scope("fit", alone=1)
        assert accountant.frozen() == before and accountant.loss.epsilon == F(1, 3)

    def test_reserves_nest(self, accountant):
        outer = accountant.open_scope("outer", reserve=PrivacyLoss.pure(F(1, 2)))
        inner = outer.sequential("inner", reserve=PrivacyLoss.pure(F(2, 5)))
        with pytest.raises(BudgetExceeded, match="reserve of 'outer'"):
            ask(outer, "1/5")
        inner.close()
        ask(outer, "1/5")

    def test_a_failure_after_a_grant_keeps_it(self, accountant):
        scope = accountant.open_scope("fit", reserve=PrivacyLoss.pure(F(1, 2)))
        with pytest.raises(ZeroDivisionError), scope:
            ask(scope, "1/10")
            raise ZeroDivisionError
        assert accountant.loss.epsilon == F(1, 2)
        (record,) = accountant.composition().children
        assert record.reserve_kept
        assert record.composed.loss.epsilon == F(1, 10)

    def test_a_failure_before_any_grant_costs_nothing(self, accountant):
        scope = accountant.open_scope("fit", reserve=PrivacyLoss.pure(F(1, 2)))
        with pytest.raises(ZeroDivisionError), scope:
            raise ZeroDivisionError
        assert accountant.loss == PrivacyLoss()

    def test_it_must_be_a_loss(self, accountant):
        with pytest.raises(ParameterTypeError, match="reserve=0.5: must be a PrivacyLoss"):
            accountant.open_scope("fit", reserve=0.5)


class TestAdaptive:
    def test_rho_stays_the_caps_and_epsilon_is_realised(self, accountant):
        cap = PrivacyLoss.pure(F(1, 2))
        with accountant.open_scope("early stop", reserve=cap, adaptive=True) as scope:
            ask(scope, "1/10")
        assert accountant.loss == PrivacyLoss(F(1, 10), cap.rho)

    @pytest.mark.parametrize("size", [1, 2])
    def test_where_nothing_was_granted_nothing_is_kept(self, accountant, size):
        cap = PrivacyLoss.pure(F(1, 2))
        place = accountant.open_scope("fit", cap, adaptive=True, max_records_per_unit=size)
        assert accountant.loss == cap
        place.close()
        assert accountant.loss == PrivacyLoss()
        assert verify_composition(accountant.composition()) == ()

    @pytest.mark.parametrize("size", [1, 2])
    def test_it_needs_a_reserve(self, accountant, size):
        with pytest.raises(ParameterError, match="adaptive=True: needs a reserve"):
            accountant.open_scope("early stop", adaptive=True, max_records_per_unit=size)
        accountant.open_scope("early stop", PrivacyLoss.pure(F(1)))  # nothing was opened

    @pytest.mark.parametrize("inside", [True, False])
    def test_no_rho_rests_on_a_realised_mixture(self, inside):
        """epsilon'^2/2 needs an epsilon' fixed beforehand, inside and around adaptive scopes."""
        accountant, cap = BudgetAccountant(10), PrivacyLoss.pure(F(4))
        if inside:
            scope = accountant.open_scope("a", cap, adaptive=True).poisson("p", "0.1")
        else:
            scope = accountant.poisson("p", "0.1").sequential("a", cap, adaptive=True)
        assert accountant.loss.rho == cap.rho
        ask(scope, 1)
        assert accountant.loss.rho == cap.rho
        # What is around is priced anew when what was spent is known.
        scope.close()
        assert accountant.loss.rho == cap.rho

    def test_a_refused_one_leaves_no_mark(self):
        accountant = BudgetAccountant(10)
        poisson = accountant.poisson("p", "0.5")
        with pytest.raises(BudgetExceeded):
            poisson.sequential("a", PrivacyLoss.pure(F(100)), adaptive=True)
        ask(poisson, 2)
        assert accountant.loss.rho == accountant.loss.epsilon**2 / 2 < 2


class TestRefusals:
    def test_closed_scopes(self, accountant):
        with accountant.open_scope("fit") as scope:
            inner = scope.sequential("tree")
        assert not inner.is_open
        for use in (lambda: ask(inner, "1/10"), lambda: scope.sequential("late")):
            with pytest.raises(ScopeError, match="scope 'fit' is closed"):
                use()
        scope.close()

    def test_names_are_unique_but_numbered_at_the_top(self, accountant):
        first, second = accountant.open_scope("fit"), accountant.open_scope("fit")
        assert (first.label, second.label) == ("fit", "fit #2")
        first.sequential("tree")
        with pytest.raises(ScopeError, match="has a child 'tree' already"):
            first.sequential("tree")
        with pytest.raises(ParameterTypeError, match="label='': must be a non-empty str"):
            first.sequential("")

    def test_parallel_scopes_take_no_requests(self, accountant):
        cells = accountant.parallel_cells("cells")
        both = accountant.parallel_records("both", {"S": 0.5})
        for scope in (cells, both):
            with pytest.raises(ScopeError, match="takes no requests of its own"):
                ask(scope, "1/10")
        with pytest.raises(ScopeError, match="its sides are fixed"):
            both.sequential("third")
        with pytest.raises(ScopeError, match="has no side 'E'. Its sides are 'S'"):
            both.side("E")

    def test_probabilities(self, accountant):
        with pytest.raises(ParameterError, match="must sum to at most 1"):
            accountant.parallel_records("both", {"S": 0.6, "E": 0.6})
        with pytest.raises(ParameterError, match="must name at least one side"):
            accountant.parallel_records("both", {})
        for rate in (0, -0.5, 1.5):
            with pytest.raises(ParameterError, match="rate=.*must be a probability"):
                accountant.poisson("p", rate)

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"event": 0.1}, "event=0.1: must be an Event"),
            ({"role": ""}, "role='': must be a non-empty str"),
            ({"cells": 0}, "cells=0: must be a positive integer"),
            ({"cells": 1.5}, "cells=1.5: must be a positive integer"),
            ({"level": "1"}, "level='1': must be an integer or None"),
            ({"level": 0.5}, "level=0.5: must be an integer or None"),
        ],
    )
    def test_requests(self, accountant, arguments, text):
        good = {"event": geometric("1/10"), "role": "test", "cells": 1}
        with pytest.raises(DPForestError, match=text):
            accountant.request(**(good | arguments))
        assert accountant.loss == PrivacyLoss()

    @pytest.mark.parametrize("loss", [PrivacyLoss(F(-1)), PrivacyLoss(0.5), PrivacyLoss(math.nan)])
    def test_no_refunds_and_no_inexact_losses(self, accountant, loss):
        odd = type("Odd", (Event,), {"loss": property(lambda self: loss)})
        with pytest.raises(ParameterError, match="must have an exact loss that is not negative"):
            accountant.request(odd(), role="test")

    def test_a_loss_is_read_once(self, accountant):
        class Falling(PrivacyLoss):
            @property
            def epsilon(self):
                return next(amounts)

        amounts, falling = iter([F(1, 4), *[F(0)] * 9]), object.__new__(Falling)
        object.__setattr__(falling, "rho", F(1, 32))
        object.__setattr__(falling, "delta", F(0))
        odd = type("Odd", (Event,), {"loss": property(lambda self: falling)})
        accountant.request(odd(), role="test")
        assert accountant.loss == accountant.ledger[0].loss == PrivacyLoss(F(1, 4), F(1, 32))


class TestSeveralAtOnce:
    def test_whatever_gives_requests_is_gone_through_once(self, accountant):
        grants = accountant.request_all(Request(geometric("1/10"), f"{i}") for i in range(3))
        assert [g.role for g in grants] == [e.role for e in accountant.ledger] == ["0", "1", "2"]

    def test_what_is_priced_is_what_is_granted(self, accountant):
        class Turning(Request):
            @property
            def event(self):
                return next(events)

            @property
            def cells(self):
                return next(cells)

        turning = object.__new__(Turning)
        object.__setattr__(turning, "role", "test")
        object.__setattr__(turning, "level", None)
        for at in range(6):
            turned = [geometric(9 if i == at else "1/10") for i in range(6)]
            events, cells = iter(turned), iter([1, 9, 9])
            accountant = BudgetAccountant(20)
            (grant,) = accountant.request_all([turning])
            assert grant.event.epsilon == accountant.loss.epsilon
            assert grant.cells == accountant.ledger[0].cells == 1

    def test_the_same_requests_are_priced_once(self):
        accountant, event = BudgetAccountant(20), geometric("1/10")
        requests = [Request(event, "one"), Request(event, "two", 4, 2)]
        for tree in range(5):
            with accountant.open_scope(f"tree {tree}") as scope:
                made = scope.request_all(requests)
            assert [(g.role, g.cells, g.level) for g in made] == [("one", 1, None), ("two", 4, 2)]
        assert accountant.loss.epsilon == 1 and len(accountant.ledger) == 10
        assert len(accountant._books._requests_read) == 1

    def test_a_request_that_changes_is_priced_anew(self):
        dearer = type("Dearer", (Event,), {"loss": property(lambda self: next(losses))})
        losses = map(PrivacyLoss.pure, [F(1), F(2), F(3), F(4)])
        accountant, requests = BudgetAccountant(20), [Request(dearer(), "test")] * 2
        for _ in range(2):
            accountant.request_all(requests)
        assert accountant.loss.epsilon == 10

    def test_cells_that_change_are_counted_anew(self):
        class Growing:
            cells = 0

            def __index__(self):
                self.cells += 1
                return self.cells

        accountant, requests = (
            BudgetAccountant(20),
            [Request(geometric("1/10"), "a", Growing())] * 2,
        )
        granted = [grant.cells for _ in range(2) for grant in accountant.request_all(requests)]
        assert granted == [entry.cells for entry in accountant.ledger] == [1, 2, 3, 4]

    @pytest.mark.parametrize("other", [None, "ab", geometric("1/10"), {}])
    def test_other_things_are_refused(self, accountant, other):
        with pytest.raises(ParameterTypeError, match="requests=.*must be of Request only"):
            accountant.request_all([Request(geometric("1/10"), "test"), other])
        assert accountant.loss == PrivacyLoss() and not accountant.ledger

    def test_none_are_granted_in_a_closed_scope_either(self, accountant):
        with accountant.open_scope("fit") as scope:
            assert scope.request_all([]) == []
        with pytest.raises(ScopeError, match="scope 'fit' is closed"):
            scope.request_all([])


def ask_of_trees(n_trees: int, in_each_request=lambda: None) -> None:
    """Twenty requests a tree, in scopes within scopes."""
    share = ExponentialSelection(F(1, 4000), F(2))
    with BudgetAccountant(1).open_scope("fit", reserve=PrivacyLoss.pure(F(1, 2))) as fit:
        for tree in range(n_trees):
            sides = {"S": F(1, 3), "E": F(2, 3)}
            side = fit.sequential(f"tree {tree}").parallel_records("sides", sides).side("S")
            for level in range(20):
                side.request(share, role="test", cells=2**level, level=level)
                in_each_request()


def lines_run(work) -> int:
    """Lines of Python that a call runs, each turn of a loop counted: no clock, so no noise."""
    lines, before = 0, sys.gettrace()

    def count(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


#: Three times as many requests run three times as many lines, and some more.
MOST_TIMES = 3.3


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, BudgetExceeded])
def test_a_scope_whose_opening_is_cut_short_is_not_there(error, accountant, monkeypatch):
    def cut_short(*_):
        raise error(1, 0) if error is BudgetExceeded else error

    reserve = PrivacyLoss.pure(F(1, 2))
    with monkeypatch.context() as patched, pytest.raises(error):
        patched.setattr(Scope, "_check", cut_short)
        accountant.open_scope("fit", reserve)
    assert verify_composition(accountant.composition()) == ()
    assert not accountant.composition().children and accountant.loss == PrivacyLoss()
    with accountant.open_scope("fit", reserve):
        assert accountant.loss == reserve


def test_work_of_a_request_does_not_grow_with_the_requests_before():
    """A guard against a pass over the tree, or the ledger, in each request."""
    assert lines_run(lambda: ask_of_trees(60)) < MOST_TIMES * lines_run(lambda: ask_of_trees(20))


def test_a_pass_over_all_requests_in_each_would_be_seen():
    def passing(n_trees):
        asked = []
        ask_of_trees(n_trees, lambda: (asked.append(1), sum(1 for _ in asked)))

    assert lines_run(lambda: passing(60)) > MOST_TIMES * lines_run(lambda: passing(20))
