"""Laws of composition, inherited by every kind of scope and by every accountant.

A subclass says which accountant is meant and where in its tree the requests are made; all laws
then hold there. The expected figures come from ``composed_again``, a slow twin that composes a
frozen record from its leaves up, without the accountant's increments.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import sys
from dataclasses import dataclass
from fractions import Fraction as F

import pytest
from certified_lists import open_certified

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
    PrivacyLoss,
    Request,
    ScopeRecord,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.certificates import Repeat, certify
from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.rationals import mixture_epsilon
from dpforest.exceptions import BudgetExceeded, ParameterError

NOTHING = PrivacyLoss()

EVENTS = (
    ExponentialSelection(F(1, 10), F(2)),
    PermuteAndFlipSelection(F(1, 7), F(1)),
    GeometricNoise(F(1, 5), F(1)),
    DiscreteGaussianNoise(F(50), F(1)),
    ObjectivePerturbation(F(1, 6), F(1, 30), F(1, 2), F(1, 4), F(3)),
    ZeroSumGeometricNoise(F(1, 9), F(4), F(3)),
)


@dataclass(frozen=True, slots=True)
class Bundle(Event):
    """An event whose loss is written on it."""

    epsilon: F
    rho: F
    delta: F = F(0)

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon, self.rho, self.delta)


def bundle(loss: PrivacyLoss) -> Bundle:
    return Bundle(loss.epsilon, loss.rho, loss.delta)


def composed_again(scope: ScopeRecord) -> PrivacyLoss:
    """Compose a scope without open reserves from its leaves up."""
    children = [composed_again(child) for child in scope.children]
    if scope.kind.startswith("parallel"):
        worst = NOTHING
        for loss in children:
            worst = worst.maximum(loss)
        if scope.kind == "parallel cells":
            return worst
        by_name = {child.label: loss for child, loss in zip(scope.children, children, strict=True)}
        sides = [(F(p), by_name[name]) for name, p in scope.probabilities.items()]
        return mixed(sides, worst)
    total = sum(children, sum((entry.loss for entry in scope.entries), NOTHING))
    if scope.kind == "poisson":
        return mixed([(F(scope.probabilities["rate"]), total)], total)
    return total


def mixed(sides: list[tuple[F, PrivacyLoss]], worst: PrivacyLoss) -> PrivacyLoss:
    epsilon = mixture_epsilon([p for p, _ in sides], [loss.epsilon for _, loss in sides])
    delta = sides[0][0] * worst.delta if len(sides) == 1 else worst.delta
    rho = worst.rho if worst.delta else min(worst.rho, epsilon * epsilon / 2)
    return PrivacyLoss(epsilon, rho, delta)


WRITING = {f"dpforest.accounting.{name}" for name in ("accountant", "grants", "nodes", "scopes")}


@contextlib.contextmanager
def cut_short(line: int):
    """Raise what Ctrl-C raises before so many lines that may write books have run."""
    left = itertools.count(line, -1)

    def each_line(frame, event, arg):
        if frame.f_globals["__name__"] not in WRITING:
            return None
        if event == "line" and next(left) == 0:
            raise KeyboardInterrupt
        return each_line

    before = sys.gettrace()
    sys.settrace(each_line)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


class AtTheRoot:
    """Laws for requests at the accountant itself; subclasses go deeper into the tree."""

    def accountant(self) -> BudgetAccountant:
        return BudgetAccountant._unlimited()

    def limited(self) -> BudgetAccountant:
        return BudgetAccountant(F(1))

    def place(self, accountant):
        """Open the scope in which requests are made."""
        return accountant

    def spend(self, events) -> BudgetAccountant:
        accountant = self.accountant()
        place = self.place(accountant)
        for event in events:
            place.request(event, role="test")
        return accountant

    @pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.mechanism)
    @pytest.mark.parametrize("times", [0, 1, 2, 7])
    def test_repeating_is_composing(self, event, times):
        together = self.spend([bundle(event.loss * times)] if times else [])
        assert self.spend([event] * times).loss == together.loss

    def test_order_is_irrelevant(self):
        events = (*EVENTS[:3], bundle(PrivacyLoss(F(1, 3), F(1, 90), F(1, 10**9))))
        losses = {self.spend(order).loss for order in itertools.permutations(events)}
        assert len(losses) == 1

    def test_nothing_costs_nothing(self):
        assert self.spend([]).loss == NOTHING
        assert self.spend([ExponentialSelection(F(0), F(1)), bundle(NOTHING)]).loss == NOTHING
        accountant = self.spend([EVENTS[0]])
        before = accountant.loss
        accountant.open_scope("empty").parallel_records("empty", {"a": F(1, 2)})
        assert accountant.loss == before

    @pytest.mark.parametrize(
        "event",
        [
            DiscreteGaussianNoise(F(0), F(1)),
            ExponentialSelection(math.inf, F(1)),
            PermuteAndFlipSelection(math.inf, F(1)),
            GeometricNoise(math.inf, F(1)),
            ObjectivePerturbation(math.inf, F(1), F(1, 2), F(1, 4), F(3)),
            ZeroSumGeometricNoise(math.inf, F(4), F(3)),
        ],
        ids=lambda e: e.mechanism,
    )
    def test_no_noise_costs_infinity(self, event):
        loss = self.spend([event]).loss
        assert loss.epsilon == loss.rho == math.inf
        with pytest.raises(BudgetExceeded, match="requested"):
            self.place(self.limited()).request(event, role="test")

    @pytest.mark.parametrize("make", [
        lambda noise: ExponentialSelection(1 / noise, F(2)),
        lambda noise: PermuteAndFlipSelection(1 / noise, F(1)),
        lambda noise: GeometricNoise(1 / noise, F(1)),
        lambda noise: DiscreteGaussianNoise(noise, F(1)),
        lambda noise: ObjectivePerturbation(1 / noise, F(1, 30), F(1, 2), F(1, 4), F(3)),
        lambda noise: ZeroSumGeometricNoise(1 / noise, F(4), F(3)),
    ])  # fmt: skip
    def test_more_noise_never_costs_more(self, make):
        losses = [self.spend([EVENTS[0], make(F(noise, 3))]).loss for noise in range(1, 12)]
        assert all(less.covers(more) for less, more in itertools.pairwise(losses))

    def test_spending_never_falls(self):
        accountant = self.accountant()
        place = self.place(accountant)
        before = accountant.loss
        for event in EVENTS * 3:
            place.request(event, role="test")
            assert accountant.loss.covers(before)
            before = accountant.loss

    def test_refusal_changes_nothing(self):
        accountant = self.limited()
        place = self.place(accountant)
        place.request(EVENTS[0], role="test")
        before = accountant.frozen()
        with pytest.raises(BudgetExceeded, match="requested") as refused:
            place.request(PermuteAndFlipSelection(F(100), F(1)), role="test")
        assert refused.value.requested.epsilon == 100
        assert accountant.frozen() == before
        place.request(EVENTS[0], role="smaller, so still granted")
        assert len(accountant.ledger) == len(before.ledger) + 1

    def test_all_at_once_is_one_after_the_other(self):
        requests = [Request(e, f"role {i}", 2**i, i) for i, e in enumerate(EVENTS * 2)]
        books, granted = [], []
        for together in (True, False):
            accountant = self.accountant()
            place = self.place(accountant)
            for number, part in enumerate((requests[:1], requests[1:], [])):
                if together or not part:
                    granted += place.request_all(part)
                    continue
                for r in part:
                    asked = place.request(r.event, role=r.role, cells=r.cells, level=r.level)
                    granted.append(asked)
                assert number < 2
            assert accountant.loss == composed_again(accountant.composition())
            books.append(accountant.frozen())
        assert books[0] == books[1] and len(books[0].ledger) >= len(requests)
        one, other = granted[: len(requests)], granted[len(requests) :]
        pairs = zip(one, other, requests, strict=True)
        for a, b, request in pairs:
            assert a.event is b.event is request.event
            assert (a.role, a.cells) == (b.role, b.cells) == (request.role, request.cells)

    def test_all_or_none(self):
        accountant = self.limited()
        place = self.place(accountant)
        before = accountant.frozen()
        too_many = [Request(EVENTS[0], "test"), Request(ExponentialSelection(F(100), F(1)), "test")]
        with pytest.raises(BudgetExceeded, match="requested") as refused:
            place.request_all(too_many)
        assert refused.value.requested.epsilon > 100
        with pytest.raises(ParameterError, match="cells=0"):
            place.request_all([Request(EVENTS[0], "test"), Request(EVENTS[0], "test", 0)])
        assert accountant.frozen() == before
        place.request_all(too_many[:1])

    def test_cut_short_anywhere_no_less_is_spent_than_the_ledger_says(self):
        requests = [Request(EVENTS[0], "test"), Request(EVENTS[1], "test")]
        for line in range(1000):
            accountant = self.accountant()
            place = self.place(accountant)
            granted = []
            with cut_short(line):
                granted = place.request_all(requests)
            assert accountant.loss.covers(composed_again(accountant.composition()))
            place.request_all(requests)
            assert accountant.loss.covers(composed_again(accountant.composition()))
            if granted:
                return
        raise AssertionError("a request takes fewer lines")

    def test_increments_agree_with_composing_from_the_leaves(self):
        accountant = self.spend(EVENTS)
        assert accountant.loss == composed_again(accountant.composition())


class TestRoot(AtTheRoot):
    pass


class TestRootWithDelta(AtTheRoot):
    def accountant(self):
        return BudgetAccountant._unlimited(delta=F(1, 10**6))

    def limited(self):
        return BudgetAccountant(1, delta=1e-6)


class TestSequential(AtTheRoot):
    def place(self, accountant):
        return accountant.open_scope("a").sequential("b")


class TestCell(AtTheRoot):
    def place(self, accountant):
        cells = accountant.parallel_cells("cells")
        cells.sequential("other").request(GeometricNoise(F(1, 1000), F(1)), role="test")
        return cells.sequential("cell")

    def test_nothing_costs_nothing(self):
        accountant = BudgetAccountant._unlimited()
        place = accountant.parallel_cells("cells").sequential("cell")
        place.request(bundle(NOTHING), role="test")
        assert accountant.loss == NOTHING

    def test_repeating_is_composing(self):
        for times in (1, 2, 7):
            together = self.spend([bundle(EVENTS[0].loss * times)])
            assert self.spend([EVENTS[0]] * times).loss == together.loss


class TestSide(AtTheRoot):
    def place(self, accountant):
        return accountant.parallel_records("sides", {"S": F(1, 3), "E": F(1, 2)}).side("E")


class TestSingleSide(AtTheRoot):
    def place(self, accountant):
        return accountant.parallel_records("sides", {"S": F(1)}).side("S")


class TestPoisson(AtTheRoot):
    def place(self, accountant):
        return accountant.poisson("tree", F(1, 10))


class TestReserve(AtTheRoot):
    """A reserve that is released costs what was spent in it."""

    def place(self, accountant):
        return accountant.open_scope("fit")

    def spend(self, events):
        accountant = self.accountant()
        reserve = sum((event.loss for event in events), NOTHING)
        with accountant.open_scope("fit", reserve=reserve * 2) as scope:
            for event in events:
                scope.request(event, role="test")
        return accountant


class Lists:
    """Grants what it can in certified lists, each as long as it is asked for at once."""

    def __init__(self, accountant):
        self._accountant, self._number = accountant, 0

    def request(self, event, *, role, cells=1, level=None):
        return self.request_all([Request(event, role, cells, level)])[0]

    def request_all(self, requests):
        self._number += 1
        root, requests = self._accountant._root, list(requests)
        events = tuple(request.event for request in requests)
        if any(1 < event.loss.epsilon < math.inf for event in events):
            return self._accountant.request_all(requests)
        try:
            certificate = certify((Repeat(events),), F(4), F(1, 2))
        except ParameterError:
            return self._accountant.request_all(requests)
        with open_certified(root, f"list {self._number}", certificate) as scope:
            return scope.request_all(requests)


class TestLists(AtTheRoot):
    """Lists that share an accountant count as what they add up to."""

    def place(self, accountant):
        return Lists(accountant)

    def test_all_at_once_is_one_after_the_other(self):
        requests = [Request(event, "test") for event in EVENTS * 2]
        together, apart = self.accountant(), self.accountant()
        self.place(together).request_all(requests)
        place = self.place(apart)
        for request in requests:
            place.request(request.event, role="test")
        assert together.loss == apart.loss == self.spend(EVENTS * 2).loss
        assert len(together.composition().children) == 1
        assert len(apart.composition().children) == len(requests)

    def test_all_or_none(self):
        accountant = self.limited()
        certificate = certify((Repeat((EVENTS[0], EVENTS[1])),), F(4), F(1, 2))
        with open_certified(accountant._root, "list", certificate) as scope:
            before = accountant.frozen()
            with pytest.raises(ParameterError, match="cells=0"):
                scope.request_all([Request(EVENTS[0], "test"), Request(EVENTS[1], "test", 0)])
            assert accountant.frozen() == before
            scope.request_all([Request(EVENTS[0], "test"), Request(EVENTS[1], "test")])
        with pytest.raises(BudgetExceeded):
            open_certified(
                accountant._root, "more", certify((Repeat(EVENTS[2:3], 9),), F(4), F(1, 2))
            )
        assert accountant.loss == EVENTS[0].loss + EVENTS[1].loss


class TestListsWithDelta(TestLists):
    def accountant(self):
        return BudgetAccountant._unlimited(delta=F(1, 10**6))

    def limited(self):
        return BudgetAccountant(1, delta=1e-6)


class TestDeep(AtTheRoot):
    def place(self, accountant):
        forest = accountant.open_scope("forest").parallel_records("trees", {"1": "0.5", "2": "0.4"})
        tree = forest.side("1").poisson("draw", "0.3").parallel_cells("cells").sequential("left")
        return tree.parallel_records("halves", {"S": "0.5", "E": "0.5"}).side("S")


@pytest.mark.parametrize("seed", range(25))
def test_random_trees_compose_as_their_twin(seed):
    """Increments along the path agree with a composition of the whole tree, in any order."""
    chance = random.Random(seed)
    accountant = BudgetAccountant._unlimited()
    askable, parallel = [accountant.open_scope("root")], []
    for step in range(60):
        scope = chance.choice(askable)
        move = chance.randrange(6)
        if move == 0:
            askable.append(scope.sequential(f"s {step}"))
        elif move == 1:
            parallel.append(scope.parallel_cells(f"c {step}"))
        elif move == 2:
            sides = {"S": F(chance.randint(1, 5), 10), "E": F(chance.randint(1, 5), 10)}
            both = scope.parallel_records(f"r {step}", sides)
            askable += [both.side("S"), both.side("E")]
        elif move == 3:
            askable.append(scope.poisson(f"p {step}", F(chance.randint(1, 10), 10)))
        else:
            scope.request(chance.choice(EVENTS), role="test")
        if parallel and chance.random() < 0.4:
            askable.append(chance.choice(parallel).sequential(f"cell {step}"))
    assert accountant.loss == composed_again(accountant.composition())
