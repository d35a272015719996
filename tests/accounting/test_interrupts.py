"""An interrupt at any instruction of the accounting leaves books that agree with themselves.

Ctrl-C comes between two instructions of Python. It is raised here before every line of the modules
that write books, one after the other, and before every instruction of the functions that do.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PrivacyLoss,
    Request,
)
from dpforest.accounting.caps import open_capped
from dpforest.accounting.certificates import certify, epsilon_bound, grouped
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.ledger import Budget
from dpforest.accounting.ledger_check import verify_ledger
from dpforest.accounting.lists import Price, open_list
from dpforest.accounting.releases import Plan, Release, Round, Step, once, repeats
from dpforest.accounting.verify import verify_composition
from dpforest.exceptions import BudgetExceeded

MILLIONTH = F(1, 10**6)
PICK = ExponentialSelection(F(1, 50), F(2))
COUNT = GeometricNoise(F(1, 10), F(1))
NOISE = DiscreteGaussianNoise(F(4000), F(1))
RESERVE = PrivacyLoss.pure(F(1, 2))
LIST = (once("rules", Release("pick", PICK)), Round("rules", (Step((Release("c", NOISE),)),), 3))
STEPS = [step for one in LIST for _ in range(one.times) for step in one.steps]
WRITING = {
    f"dpforest.accounting.{name}"
    for name in ("accountant", "caps", "certified", "lists", "scopes", "units")
}

#: Functions that set what others read.
IN_STEPS = {
    "_commit",
    "_end",
    "_adopt",
    "_settle",
    "fail",
    "grant",
    "hold",
    "let_go",
    "request_all",
}

Work = Callable[[], object]


# What each prepares, and what is cut short.


def a_request(accountant: BudgetAccountant) -> Work:
    scope = accountant.open_scope("fit").sequential("tree")
    return lambda: scope.request_all([Request(PICK, "pick"), Request(COUNT, "count")])


def a_request_of_a_side(accountant: BudgetAccountant) -> Work:
    sides = accountant.open_scope("fit").parallel_records("sides", {"S": F(1, 3), "E": F(2, 3)})
    sides.side("E").request(COUNT, role="count")
    return lambda: sides.side("S").request(COUNT, role="count")


def a_request_of_units(accountant: BudgetAccountant) -> Work:
    units = accountant.open_scope("fit", max_records_per_unit=2)
    tree = units.parallel_cells("cells").sequential("tree").poisson("sample", F(1, 2))
    return lambda: tree.request(COUNT, role="count")


def an_opening(accountant: BudgetAccountant) -> Work:
    return lambda: accountant.open_scope("fit", RESERVE, max_records_per_unit=2)


def an_adaptive_opening(accountant: BudgetAccountant) -> Work:
    sample = accountant.poisson("sample", F(1, 2))
    sample.request(COUNT, role="count")
    return lambda: sample.sequential("fit", RESERVE, adaptive=True)


def an_opening_first(accountant: BudgetAccountant) -> Work:
    return lambda: accountant.open_scope("fit", RESERVE, adaptive=True)


def an_opening_alone(accountant: BudgetAccountant) -> Work:
    price = certified()
    return lambda: accountant.open_scope("fit", PrivacyLoss.pure(F(9)), alone=price.alone)


def a_closing(accountant: BudgetAccountant) -> Work:
    scope = accountant.open_scope("fit", RESERVE)
    scope.sequential("tree", PrivacyLoss.pure(F(1, 4))).request(COUNT, role="count")
    return scope.close


def a_closing_that_keeps(accountant: BudgetAccountant) -> Work:
    scope = accountant.open_scope("fit", RESERVE, adaptive=True)
    return lambda: scope.close(keep_reserve=True)


def a_failure(accountant: BudgetAccountant) -> Work:
    scope = accountant.open_scope("fit", RESERVE)
    scope.request(COUNT, role="count")
    return lambda: scope.__exit__(ValueError, ValueError(), None)


def an_error_of_reading(accountant: BudgetAccountant) -> Work:
    return accountant.open_scope("fit", RESERVE).fail


def a_hold(accountant: BudgetAccountant) -> Work:
    return open_capped(accountant, "fit", (RESERVE, PrivacyLoss.concentrated(F(1, 100)))).hold


def a_letting_go(accountant: BudgetAccountant) -> Work:
    scope = open_capped(accountant, "fit", (RESERVE, PrivacyLoss.concentrated(F(1, 100))))
    scope.hold()
    return scope.let_go


@functools.cache
def certified() -> Price:
    listed = repeats(LIST)
    epsilon = epsilon_bound(grouped(listed, 1), MILLIONTH)
    return Price.of(Plan(LIST, None).with_certificate(certify(listed, epsilon, MILLIONTH)))


def a_certified_list(accountant: BudgetAccountant) -> Work:
    price, fit = certified(), accountant.open_scope("fit")
    return lambda: open_list(fit, "learner", LIST, price)


def steps_of_a_list(accountant: BudgetAccountant) -> Work:
    scope = open_list(accountant.open_scope("fit"), "learner", LIST, certified())
    scope.grant(*STEPS[:2])
    return lambda: scope.grant(*STEPS[2:])


def the_end_of_a_list(accountant: BudgetAccountant) -> Work:
    scope = open_list(accountant.open_scope("fit"), "learner", LIST, certified())
    scope.grant(*STEPS)
    return scope.close


#: What is cut short, and the ceiling that it is asked of.
CASES = {
    a_request: F(1),
    a_request_of_a_side: F(1),
    a_request_of_units: F(1),
    an_opening: F(1),
    an_adaptive_opening: F(1),
    an_opening_first: F(1),
    an_opening_alone: F(1),
    a_closing: F(1),
    a_closing_that_keeps: F(1),
    a_failure: F(1),
    an_error_of_reading: F(1),
    a_hold: F(1),
    a_letting_go: F(1),
    a_certified_list: certified().alone.epsilon + MILLIONTH,
    steps_of_a_list: F(1),
    the_end_of_a_list: F(1),
}


@contextmanager
def raised_before(step: int, error: type[BaseException]) -> Iterator[list[int]]:
    """Raise an error before so many steps through what writes books; yields how many are left."""
    left, before = [step], sys.gettrace()

    def each(frame, event, argument):
        if frame.f_globals["__name__"] not in WRITING:
            return None
        frame.f_trace_opcodes = in_steps = frame.f_code.co_name in IN_STEPS
        if event == ("opcode" if in_steps else "line"):
            left[0] -= 1
            if left[0] == -1:
                raise error
        return each

    sys.settrace(each)
    try:
        yield left
    except error:
        pass
    finally:
        sys.settrace(before)


def check_books(accountant: BudgetAccountant) -> None:
    composition = accountant.composition()
    assert verify_composition(composition) == ()
    assert verify_ledger(accountant.frozen()) == ()
    assert composition.charged.loss == accountant.loss


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_books_agree_wherever_they_are_cut_short(case):
    for step in range(10_000):
        accountant = BudgetAccountant(CASES[case], MILLIONTH)
        work = case(accountant)
        with raised_before(step, KeyboardInterrupt) as left:
            work()
        check_books(accountant)
        if left[0] >= 0:
            return
        with suppress(BudgetExceeded):
            accountant.open_scope("after").request(COUNT, role="count")
        check_books(accountant)
    raise AssertionError("no work takes so many steps")


def test_memory_that_runs_out_leaves_all_or_nothing():
    class Full(list):
        def extend(self, entries):
            raise MemoryError

    accountant = BudgetAccountant(1)
    scope = accountant.open_scope("fit")
    scope._entries = Full()
    with pytest.raises(MemoryError):
        scope.request(COUNT, role="count")
    assert accountant.loss == PrivacyLoss()
    check_books(accountant)


@pytest.mark.parametrize("after", [0, MILLIONTH])
def test_books_of_a_fit_that_ended_before_its_list_are_read(after):
    # It was to be all that its accountant grants, so nothing is left, and no list tells so yet.
    price = certified()
    accountant = BudgetAccountant(price.alone.epsilon + after, MILLIONTH)
    scope = accountant.open_scope("fit", PrivacyLoss.pure(F(9)), alone=price.alone)
    scope.fail()
    assert accountant.remaining == Budget.left(PrivacyLoss())
    assert FrozenLedger.from_json(accountant.to_json()).scopes == accountant.composition()
