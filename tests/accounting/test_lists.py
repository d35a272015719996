"""A scope that holds a list: its books are those of one request after the other, and no others."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
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
from dpforest.accounting.certificates import certify, epsilon_bound, grouped
from dpforest.accounting.certified import is_alone, is_held
from dpforest.accounting.grants import Grant
from dpforest.accounting.lists import ListScope, Price, grant_steps, open_list, price
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.releases import (
    LearnerBudget,
    Plan,
    Release,
    Round,
    Step,
    loss_of,
    once,
    repeats,
)
from dpforest.accounting.scopes import SequentialScope
from dpforest.accounting.units import group_loss
from dpforest.accounting.verify import verify_composition
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError
from dpforest.observation import Observer, set_observer

MILLIONTH = F(1, 10**6)
NOISE = DiscreteGaussianNoise(F(4000), F(1))
PICK = ExponentialSelection(F(1, 50), F(2))
SUMS = DiscreteGaussianNoise(F(10**6), F(100))
COUNT = GeometricNoise(F(1, 10), F(1))
EACH = Step((Release("pick", PICK), Release("sums", SUMS, cells=8, level=1)))
LIST = (once("refitted", Release("prior", NOISE)), Round("refitted", (EACH,), 20))
PURE = (once("rules", Release("stage", PICK)), Round("rules", (Step((Release("c", COUNT),)),), 3))
STEPS = [step for one in LIST for _ in range(one.times) for step in one.steps]
GROWN = Round("trees", (Step((Release("pick", PICK),)), Step((Release("leaf", COUNT),))), 2, "tree")


def certified_price(size: int = 1) -> Price:
    listed = repeats(LIST)
    epsilon = epsilon_bound(grouped(listed, size), MILLIONTH)
    return Price.of(Plan(LIST, None).with_certificate(certify(listed, epsilon, MILLIONTH, size)))


def plain_price(rounds=LIST, size: int = 1) -> Price:
    return Price.of(Plan(rounds, None), size)


def steps_of(rounds) -> list[Step]:
    return [step for one in rounds for _ in range(one.times) for step in one.steps]


# -- the same books as before --------------------------------------------------------------------


class OneByOne(SequentialScope):
    """A certified scope: requests one after the other, the whole charged with the first."""

    def __init__(self, fit, label, listed, adds_up):
        reserve = listed.additive if adds_up else listed.loss
        super().__init__(fit._books, fit, label, reserve=reserve)
        self._listed, self._adds_up = listed, adds_up

    @property
    def certificate(self):
        return self._listed

    def _price(self, inner, adaptive=False):
        if inner == NO_LOSS:
            return NO_LOSS
        added = group_loss(inner, self._listed.records_per_unit)
        alone = PrivacyLoss(self._listed.epsilon, added.rho, self._listed.delta)
        return added if self._adds_up else alone

    def _end(self, keep_reserve, failed):
        given_up = not self._entries and self._root()._has_granted()
        kept = given_up and not self._adds_up and not is_held(self)
        super()._end(keep_reserve or kept, failed)


def opened_before(fit, label, rounds, made: Price):
    """The scope that such a list had: requests one after the other."""
    if made.certificate is None:
        return fit.sequential(label, reserve=loss_of(rounds))
    if is_held(fit) or fit._is_held_alone():
        return fit._adopt(OneByOne(fit, label, made.certificate, False))
    try:
        return fit._adopt(OneByOne(fit, label, made.certificate, True))
    except BudgetExceeded:
        assert is_alone(fit)
    only = fit._adopt(OneByOne(fit, label, made.certificate, False))
    fit._books.alone = only
    return only


def ask_before(scope, step: Step) -> list[Grant]:
    return scope.request_all([Request(r.event, r.role, r.cells, r.level) for r in step.releases])


def ask_now(scope, step: Step) -> list[Grant]:
    return list(grant_steps(scope, [step], "x")[0].values())


def books(place: str, rounds, made: Price, size: int, n_asked: int, fails: bool, new: bool):
    """The accountant after a fit that asked for so many steps, by requests or by the list."""
    loss = made.alone or made.charge
    extra = PrivacyLoss.pure(F(1))
    accountant = BudgetAccountant(60, F(1, 10**5))
    if place == "beside others":
        accountant.request(COUNT, role="before")
        fit = accountant.open_scope("fit", made.charge, max_records_per_unit=size)
    elif place == "alone":
        accountant = BudgetAccountant(loss.epsilon, loss.delta)
        fit = accountant.open_scope("fit", made.charge, max_records_per_unit=size, alone=made.alone)
    elif place == "adaptive":
        reserve = loss + group_loss(extra, size)
        fit = accountant.open_scope("fit", reserve, True, max_records_per_unit=size)
        fit.request(COUNT, role="rows")
    else:
        fit = accountant.open_scope("fit", max_records_per_unit=size)
    try:
        with fit, (open_list if new else opened_before)(fit, "learner", rounds, made) as scope:
            seen = [(scope.loss, scope.charged, scope.is_open)]
            for step in steps_of(rounds)[:n_asked]:
                grants = (ask_now if new else ask_before)(scope, step)
                assert [grant.role for grant in grants] == list(step.roles)
                seen.append((scope.loss, scope.charged, accountant.loss))
            if fails:
                raise KeyError
            if not new and 0 < n_asked < len(steps_of(rounds)):
                scope.close(keep_reserve=True)
    except KeyError:
        pass
    accountant.request(COUNT, role="after") if accountant.remaining.epsilon > 1 else None
    return accountant.to_json(), accountant.loss, seen, accountant


CASES = [
    ("plain", LIST, plain_price, 1),
    ("plain", PURE, lambda: plain_price(PURE), 1),
    ("certified", LIST, certified_price, 1),
    ("units", LIST, lambda: plain_price(LIST, 3), 3),
    ("certified units", LIST, lambda: certified_price(3), 3),
]


@pytest.mark.parametrize("place", ["beside others", "alone", "adaptive", "no reserve"])
@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("part", ["all", "none", "some", "some and failed", "all and failed"])
def test_the_books_are_those_of_one_request_after_the_other(place, case, part):
    _, rounds, make, size = CASES[case]
    made = make()
    n_asked = {"all": 10**6, "none": 0, "some": 2}[part.split(" ")[0]]
    if place == "alone" and made.alone is None:
        pytest.skip("a list without a certificate needs no place of its own")
    old = books(place, rounds, made, size, n_asked, "failed" in part, False)
    new = books(place, rounds, made, size, n_asked, "failed" in part, True)
    assert new[0] == old[0] and new[1] == old[1] and new[2] == old[2]
    assert verify_composition(new[3].composition()) == ()


# -- what a list refuses -------------------------------------------------------------------------


def opened(rounds=LIST, made: Price | None = None) -> ListScope:
    fit = BudgetAccountant(60, F(1, 10**5)).open_scope("fit")
    return open_list(fit, "learner", rounds, made or plain_price(rounds))


@pytest.mark.parametrize("made", [plain_price, certified_price])
@pytest.mark.parametrize(
    "step",
    [
        STEPS[1],  # not yet
        Step(()),
        Step((Release("prior", PICK),)),
        Step((Release("other", NOISE),)),
        Step((Release("prior", NOISE, cells=2),)),
        Step((Release("prior", NOISE, level=3),)),
        Step((Release("prior", NOISE), Release("prior", NOISE))),
    ],
)
def test_what_is_not_next_on_the_list_is_refused(made, step):
    scope = opened(made=made())
    if not step.releases:
        assert scope.grant(step) == ({},)  # it asks for nothing
        return
    with pytest.raises(ScopeError, match="in order"):
        scope.grant(step)
    assert scope.loss == NO_LOSS and not scope.record().entries
    scope.grant(STEPS[0])  # as it was before


def test_nothing_is_granted_beyond_the_end():
    scope = opened(PURE)
    scope.grant(*steps_of(PURE))
    with pytest.raises(ScopeError, match="nothing more"):
        scope.grant(steps_of(PURE)[-1])
    assert scope.loss == loss_of(PURE)


def test_several_steps_are_granted_together_or_not_at_all():
    scope = opened()
    with pytest.raises(ScopeError):
        scope.grant(*STEPS[:3], STEPS[0])
    assert not scope.record().entries
    found = scope.grant(*STEPS[:3])
    assert [list(grants) for grants in found] == [["prior"], ["pick", "sums"], ["pick", "sums"]]


def test_an_event_does_not_say_itself_that_it_is_on_the_list():
    class Anything(DiscreteGaussianNoise):
        def __eq__(self, other):
            return True

        __hash__ = None

    scope = opened()
    with pytest.raises(ScopeError, match="in order"):
        scope.grant(Step((Release("prior", Anything(F(1), F(1))),)))


def test_requests_and_scopes_beside_the_list_are_refused():
    scope = opened()
    with pytest.raises(ScopeError, match="grants nothing else"):
        scope.request(NOISE, role="prior")
    for make in (scope.sequential, scope.parallel_cells):
        with pytest.raises(ScopeError, match="takes no scopes"):
            make("inner")
    scope.close()
    with pytest.raises(ScopeError, match="closed"):
        scope.grant(STEPS[0])


def test_a_list_that_does_not_fit_is_not_opened():
    accountant = BudgetAccountant(F(1, 100))
    with pytest.raises(BudgetExceeded):
        open_list(accountant.open_scope("fit"), "learner", PURE, plain_price(PURE))
    assert accountant.loss == NO_LOSS and accountant.composition().children[0].children == ()


def test_a_certificate_of_another_list_is_refused():
    fit = BudgetAccountant(60, F(1, 10**5)).open_scope("fit")
    longer = (*LIST, once("refitted", Release("more", NOISE)))
    with pytest.raises(ParameterError, match="does not follow"):
        open_list(fit, "learner", longer, certified_price())
    with pytest.raises(ParameterError, match="units"):
        open_list(fit, "learner", LIST, certified_price(3))
    with pytest.raises(ScopeError, match="sequential scopes only"):
        open_list(fit.poisson("sample", F(1, 2)), "learner", LIST, certified_price())


def test_a_list_whose_sum_does_not_fit_stands_alone_or_is_refused():
    made = certified_price()
    for spent in (False, True):
        accountant = BudgetAccountant(made.alone.epsilon + F(1, 10**4), MILLIONTH)
        assert made.charge.rho > accountant.total.rho
        fit = accountant.open_scope("fit")
        if spent:
            fit.request(GeometricNoise(F(1, 10**9), F(1)), role="before")
            with pytest.raises(BudgetExceeded):
                open_list(fit, "learner", LIST, made)
            continue
        with open_list(fit, "learner", LIST, made) as scope:
            scope.grant(STEPS[0])
        assert accountant.loss.epsilon == made.alone.epsilon
        with pytest.raises(BudgetExceeded):
            fit.request(GeometricNoise(F(1, 10**9), F(1)), role="after")


@pytest.mark.parametrize("opened", [open_list, opened_before])
def test_a_list_that_is_given_up_after_something_beside_it_keeps_its_delta(opened):
    made = certified_price()
    reserve = made.alone + PrivacyLoss.pure(F(1, 10**4))
    accountant = BudgetAccountant(reserve.epsilon, MILLIONTH)
    fit = accountant.open_scope("fit", made.charge, alone=reserve)
    assert fit.reserve == reserve
    with opened(fit, "learner", LIST, made) as scope:
        fit.request(GeometricNoise(F(1, 10**9), F(1)), role="beside")
    assert scope.charged == made.alone and scope.loss == NO_LOSS
    fit.close()
    assert accountant.loss.delta == MILLIONTH


def test_it_is_charged_before_anything_is_granted_and_given_back_where_nothing_was():
    accountant = BudgetAccountant(60, F(1, 10**5))
    with accountant.open_scope("fit") as fit:
        with open_list(fit, "learner", LIST, plain_price()):
            assert accountant.loss == loss_of(LIST)
        assert accountant.loss == NO_LOSS


@pytest.mark.parametrize("rounds", [PURE, (*PURE, GROWN), (GROWN,)])
def test_a_list_that_is_left_early_stays_spent_whole(rounds):
    accountant = BudgetAccountant(60, F(1, 10**5))
    with accountant.open_scope("fit") as fit:
        with open_list(fit, "learner", rounds, plain_price(rounds)) as scope:
            if rounds[0] is GROWN:
                with scope.sequential("tree 0") as tree:
                    grant_steps(tree, GROWN.steps[:1], "trees")
            else:
                scope.grant(*steps_of(PURE))
                scope.close() if len(rounds) > 1 else None
        whole = accountant.loss == loss_of(rounds)
    assert whole and scope.record().reserve_kept is (rounds is not PURE)
    assert verify_composition(accountant.composition()) == ()


def test_it_is_not_pickled():
    with pytest.raises(ParameterTypeError):
        pickle.dumps(opened())


# -- rounds with scopes of their own -------------------------------------------------------------


def test_labelled_rounds_are_granted_inside():
    rounds = (*PURE, GROWN)
    scope = opened(rounds)
    scope.grant(*steps_of(PURE))
    for number in range(2):
        with scope.sequential(f"tree {number}") as tree:
            for step in GROWN.steps:
                grant_steps(tree, [step], "trees")
    assert scope.loss == scope.charged == loss_of(rounds)
    with pytest.raises(ScopeError, match="takes no scopes"):
        scope.sequential("forest 0")
    with pytest.raises(BudgetExceeded):
        scope.sequential("tree 2").request(PICK, role="pick")


# -- who looks on ---------------------------------------------------------------------------------


def test_whoever_looks_on_is_told_for_whom_grants_are_made_after_they_were_written_down():
    scope = opened()
    told = []

    class Looking(Observer):
        def granted(self, grants, owner=""):
            told.append((owner, [g.role for g in grants], len(scope.record().entries)))

    before = set_observer(Looking())
    try:
        scope.grant(STEPS[0], owner="refitted")
        scope.grant(*STEPS[1:3], owner="refitted")
        grant_steps(BudgetAccountant(1).open_scope("other"), steps_of(PURE)[:1], "rules")
    finally:
        set_observer(before)
    assert told == [
        ("refitted", ["prior"], 1),
        ("refitted", ["pick", "sums"] * 2, 5),
        ("rules", ["stage"], 5),
    ]


# -- what a list costs -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3])
def test_a_price_is_a_sum_or_a_certificate_where_the_sum_is_too_much(size):
    listed = repeats(LIST)
    plenty = LearnerBudget(F(50), MILLIONTH, certified=True, records_per_unit=size)
    assert price(LIST, plenty) == Price(group_loss(loss_of(LIST), size))
    own = certified_price(size)
    epsilon = own.certificate.epsilon / size
    tight = LearnerBudget(epsilon, MILLIONTH, certified=True, records_per_unit=size)
    assert tight.rho < loss_of(LIST).rho
    found = price(LIST, tight)
    assert found.alone == PrivacyLoss(epsilon * size, own.certificate.rho, MILLIONTH)
    assert found.charge == group_loss(loss_of(LIST), size) and found.certificate.repeats == listed
    with pytest.raises(ParameterError):
        price(LIST, LearnerBudget(epsilon / 2, MILLIONTH, certified=True, records_per_unit=size))


@pytest.mark.parametrize("read", ["loss", "record"])
@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupted_sum_hands_nothing_back(read, fails, monkeypatch):
    # The first time that the list is priced is cut short; whatever had been granted stays spent.
    accountant = BudgetAccountant(10, MILLIONTH)
    cut = [True]

    def once_interrupted(self, inner, adaptive=False):
        if cut.pop() if cut else False:
            raise KeyboardInterrupt
        return SequentialScope._price(self, inner)

    fit = accountant.open_scope("fit")
    ended = pytest.raises(RuntimeError) if fails else nullcontext()
    with ended, open_list(fit, "learner", PURE, plain_price(PURE)) as scope:
        scope.grant(*steps_of(PURE)[:2])
        monkeypatch.setattr(ListScope, "_price", once_interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = scope.loss if read == "loss" else scope.record()
        if fails:
            raise RuntimeError
    assert accountant.loss.epsilon >= PICK.loss.epsilon + COUNT.loss.epsilon
    assert accountant.composition().children[0].children[0].failed == fails


def test_a_list_with_rounds_inside_grants_its_own_releases_alone():
    scope = opened((*PURE, GROWN))
    with pytest.raises(ScopeError, match="next on it is 'stage'"):
        scope.grant(Step((Release("bogus", COUNT),)))
    scope.grant(steps_of(PURE)[0])


class _Liar(DiscreteGaussianNoise):
    """Says of itself that it is any other noise."""

    def __eq__(self, other):
        return True

    __hash__ = DiscreteGaussianNoise.__hash__


def test_an_event_does_not_say_itself_that_it_is_what_was_certified():
    made = certified_price()
    rounds = (once("refitted", Release("prior", _Liar(F(1, 10**6), F(1)))), LIST[1])
    fit = BudgetAccountant(10, MILLIONTH).open_scope("fit")
    with pytest.raises(ParameterError, match="does not follow from the list"):
        open_list(fit, "learner", rounds, made)
