"""The certified scope: its list in its order, charged at once, and only where that is sound."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction as F

import pytest
from certified_lists import open_certified

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PrivacyLoss,
    Request,
    ScopeRecord,
)
from dpforest.accounting.certificates import Certificate, Repeat, certify, epsilon_bound
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.verify import claimed_loss, verify_composition
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError

MILLIONTH = F(1, 10**6)
NOISE = DiscreteGaussianNoise(F(4000), F(1))
SELECTION = ExponentialSelection(F(1, 50), F(2))
SUMS = DiscreteGaussianNoise(F(10**6), F(100))
REPEATS = (Repeat((NOISE,)), Repeat((SELECTION, SUMS), 20))
LIST = [NOISE, *[SELECTION, SUMS] * 20]


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certify(REPEATS, epsilon_bound(REPEATS, MILLIONTH), MILLIONTH)


@pytest.fixture
def accountant(certificate) -> BudgetAccountant:
    return BudgetAccountant(certificate.epsilon, MILLIONTH)


def spend(scope, events) -> None:
    for event in events:
        scope.request(event, role="test")


def test_the_whole_list_is_granted_where_its_rho_would_be_refused(accountant, certificate):
    assert certificate.rho > rho_of_epsilon(certificate.epsilon, MILLIONTH)
    with accountant.open_scope("fit", reserve=certificate.loss) as fit:
        with open_certified(fit, "learner", certificate) as scope:
            spend(scope, LIST)
        assert scope.loss == scope.charged == certificate.loss
    assert accountant.loss == certificate.loss
    assert accountant.spent.epsilon == pytest.approx(float(certificate.epsilon))
    assert (accountant.spent.delta, accountant.remaining.rho) == (1e-6, 0.0)
    with pytest.raises(BudgetExceeded):
        accountant.request(SUMS, role="one more")


def test_without_it_the_same_list_is_refused(accountant):
    with accountant.open_scope("fit") as fit, pytest.raises(BudgetExceeded):
        spend(fit, LIST)


def test_a_part_costs_the_whole(accountant, certificate):
    with open_certified(accountant._root, "learner", certificate) as scope:
        assert scope.loss == NO_LOSS and scope.charged == certificate.loss
        spend(scope, LIST[:3])
        assert (scope.loss.epsilon, scope.loss.delta) == (certificate.epsilon, MILLIONTH)
    assert accountant.loss == certificate.loss  # where it was left may follow from what it released
    assert verify_composition(accountant.composition()) == ()


def test_nothing_granted_costs_nothing(accountant, certificate):
    with open_certified(accountant._root, "learner", certificate), pytest.raises(BudgetExceeded):
        accountant.request(GeometricNoise(F(1, 100), F(1)), role="meanwhile")
    assert accountant.loss == NO_LOSS


@pytest.mark.parametrize(
    ("before", "event"),
    [
        (0, SELECTION),
        (1, NOISE),
        (1, SUMS),
        (1, ExponentialSelection(F(1, 49), F(2))),
        (1, ExponentialSelection(F(1, 51), F(2))),
        (2, DiscreteGaussianNoise(F(10**6) - 1, F(100))),
        (2, DiscreteGaussianNoise(F(2 * 10**6), F(200))),
        (41, SELECTION),
    ],
)
def test_what_is_not_next_on_the_list_is_refused(accountant, certificate, before, event):
    with open_certified(accountant._root, "learner", certificate) as scope:
        spend(scope, LIST[:before])
        loss = scope.loss
        with pytest.raises(ScopeError, match="holds a list of releases, and next on it"):
            scope.request(event, role="test")
        rest = [Request(each, "test") for each in LIST[before:]]
        for wrong in ([Request(event, "test"), *rest], [*rest, Request(event, "test")]):
            with pytest.raises(ScopeError, match="holds a list of releases, and next"):
                scope.request_all(wrong)
        assert scope.loss == loss
        scope.request_all(rest)
    assert [entry.mechanism for entry in accountant.ledger] == [e.mechanism for e in LIST]


def test_an_event_does_not_say_itself_that_it_is_on_the_list(accountant, certificate):
    class Anything(type(NOISE)):
        def __eq__(self, other):
            return True

        __hash__ = None

    scope = open_certified(accountant._root, "learner", certificate)
    with pytest.raises(ScopeError, match="holds a list of releases, and next on it"):
        scope.request(Anything(2 * NOISE.sigma_squared, F(2)), role="test")


def test_takes_no_scopes(accountant, certificate):
    scope = open_certified(accountant._root, "learner", certificate)
    for attempt in (
        lambda: scope.sequential("inside"),
        lambda: scope.parallel_cells("inside"),
        lambda: scope.poisson("inside", F(1, 2)),
        lambda: open_certified(scope, "inside", certificate),
    ):
        with pytest.raises(ScopeError, match="takes no scopes"):
            attempt()


def test_may_follow_in_an_adaptive_scope_that_holds_its_delta(certificate):
    total = certificate.epsilon + F(1, 10)
    accountant = BudgetAccountant(total, MILLIONTH)
    reserve = PrivacyLoss(total, math.inf, MILLIONTH)
    with accountant.open_scope("fit", reserve, adaptive=True) as fit:
        fit.request(GeometricNoise(F(1, 10), F(1)), role="number of records")
        with open_certified(fit, "learner", certificate) as scope:
            spend(scope, LIST)
    record = fit.record()
    assert (accountant.loss.epsilon, accountant.loss.delta) == (total, MILLIONTH)
    assert claimed_loss(record, MILLIONTH) == reserve
    assert verify_composition(accountant.composition()) == ()


def test_lies_in_sequential_scopes_only(certificate):
    accountant = BudgetAccountant(9, MILLIONTH)
    places = (
        accountant.poisson("sampled", F(1, 2)),
        accountant.parallel_cells("cells").sequential("one"),
        accountant.parallel_records("sides", {"S": F(1, 2)}).side("S"),
    )
    for place in places:
        with pytest.raises(ScopeError, match="lies in sequential scopes only"):
            open_certified(place, "learner", certificate)


def test_a_false_certificate_is_refused(accountant, certificate):
    false = Certificate(REPEATS, F(1, 10), MILLIONTH)
    with pytest.raises(ParameterError, match="does not follow from the list of releases"):
        open_certified(accountant._root, "learner", false)
    little = BudgetAccountant(F(1, 10), MILLIONTH)
    with pytest.raises(BudgetExceeded):
        open_certified(little._root, "learner", certify(REPEATS, F(9), MILLIONTH))
    none = BudgetAccountant(certificate.epsilon, MILLIONTH / 2)
    with pytest.raises(BudgetExceeded):
        open_certified(none._root, "learner", certificate)


def test_a_failure_keeps_everything(accountant, certificate):
    with pytest.raises(RuntimeError), open_certified(accountant._root, "x", certificate) as scope:
        spend(scope, LIST[:1])
        raise RuntimeError
    assert accountant.loss == certificate.loss
    assert verify_composition(accountant.composition()) == ()


def test_it_is_not_pickled(accountant, certificate):
    scope = open_certified(accountant._root, "learner", certificate)
    assert scope.certificate is certificate
    with pytest.raises(ParameterTypeError, match="belongs to a live accountant"):
        pickle.dumps(scope)


class TestBooks:
    @pytest.fixture
    def record(self, accountant, certificate) -> ScopeRecord:
        fit = accountant.open_scope("fit", reserve=certificate.loss)
        with fit, open_certified(fit, "learner", certificate) as scope:
            spend(scope, LIST)
        return fit.record()

    def changed(self, record, **changes) -> ScopeRecord:
        data = record.model_dump(mode="json")
        learner = data["children"][0]
        for path, value in changes.items():
            place = learner
            *way, last = path.split("__")
            for step in way:
                place = place[int(step) if step.isdecimal() else step]
            place[int(last) if last.isdecimal() else last] = value
        return ScopeRecord.model_validate(data)

    def test_they_name_the_list_and_the_method(self, record, certificate):
        written = record.children[0].certificate
        assert written is not None and written.certificate == certificate
        assert "Balle and Wang" in written.method
        again = ScopeRecord.model_validate_json(record.model_dump_json())
        assert again == record and verify_composition(again) == ()

    def test_they_are_worked_out_again(self, record, certificate):
        for changes, problem in (
            ({"certificate__epsilon": "1/10"}, "does not follow from its list"),
            ({"certificate__delta": "1/10000000"}, "does not follow from its list"),
            ({"certificate__blocks__1__times": 19}, "not those that it was certified for"),
            ({"certificate__blocks__1__times": 21}, "not what was set aside"),
            (
                {"certificate__blocks__0__events__0__parameters__sigma_squared": "4001"},
                "not those that it was certified for",
            ),
            ({"certificate__blocks__0__events__0__mechanism": "another"}, "not readable"),
            ({"certificate": None}, "its total does not follow"),
        ):
            problems = verify_composition(self.changed(record, **changes))
            assert any(problem in text for text in problems), (changes, problems)

    def test_entries_must_stand_in_order(self, record):
        data = record.model_dump(mode="json")
        entries = data["children"][0]["entries"]
        entries[1], entries[2] = entries[2], entries[1]
        problems = verify_composition(ScopeRecord.model_validate(data))
        assert any("not those that it was certified for" in text for text in problems)
