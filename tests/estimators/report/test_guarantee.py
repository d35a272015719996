"""Claims that a finished fit may make."""

from __future__ import annotations

import copy
import importlib.util
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from dpforest import BudgetAccountant
from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import float_up
from dpforest.estimators.training import Training
from dpforest.mechanisms.entropy import FixedWords, RandomSource, SystemSource
from dpforest.observation import Observer, set_observer
from dpforest.report.guarantee import Guarantee, make_guarantee

MILLIONTH = Fraction(1, 10**6)
PURE = PrivacyLoss(Fraction(1), Fraction(1, 2), Fraction(0))


def test_a_pure_loss():
    guarantee = make_guarantee(PURE, Fraction(0), (), seeded=False)
    native, replaced = guarantee.bounds
    assert guarantee.status == "holds"
    assert (guarantee.epsilon, guarantee.delta) == (1.0, 0.0)
    assert (native.epsilon, native.rho) == (1.0, 0.5)
    assert (replaced.epsilon, replaced.delta, replaced.rho) == (2.0, 0.0, 2.0)


def test_replacing_is_converted_anew_from_four_rho():
    # Doubling epsilon at the same delta would be wrong: it is too little.
    loss = PrivacyLoss(math.inf, Fraction("0.0244"), Fraction(0))
    native, replaced = make_guarantee(loss, MILLIONTH, (), seeded=False).bounds
    assert replaced.epsilon > 2 * native.epsilon
    if importlib.util.find_spec("dp_accounting"):  # its conversion is tighter than the closed form
        assert (native.epsilon, replaced.epsilon) == pytest.approx((1.0, 2.11), abs=0.02)
    assert replaced.rho == pytest.approx(0.0976)
    assert replaced.delta == native.delta == 1e-6


def test_the_smaller_valid_bound_is_reported():
    small = PrivacyLoss(Fraction(1, 10), Fraction(1, 200), Fraction(0))
    native = make_guarantee(small, MILLIONTH, (), seeded=False).bounds[0]
    assert (native.epsilon, native.delta) == (0.1, 0)
    large = PrivacyLoss(Fraction(9), Fraction(1, 100), Fraction(0))
    native = make_guarantee(large, MILLIONTH, (), seeded=False).bounds[0]
    assert (native.epsilon, native.delta) == (
        float_up(epsilon_of_rho(Fraction(1, 100), MILLIONTH)[0]),
        1e-6,
    )
    assert native.epsilon < 9 and "rho" in native.derivation
    assert make_guarantee(large, Fraction(0), (), seeded=False).epsilon == 9


def test_figures_are_rounded_up():
    third = PrivacyLoss(Fraction(1, 3), Fraction(1, 18), Fraction(0))
    native = make_guarantee(third, Fraction(0), (), seeded=False).bounds[0]
    assert Fraction(repr(native.epsilon)) >= Fraction(1, 3)
    assert native.epsilon == pytest.approx(1 / 3)
    assert native.rho is not None and Fraction(repr(native.rho)) >= Fraction(1, 18)


@pytest.mark.parametrize(
    ("leaks", "seeded", "status", "start"),
    [
        ((), False, "holds", "The released model is (1, 0)-differentially private"),
        ((), True, "demonstration", "DEMONSTRATION ONLY: The released model is (1, 0)-"),
        (("bounds were read",), False, "void", "VOID, no privacy guarantee: bounds were read."),
        (("bounds were read",), True, "void", "VOID, no privacy guarantee: bounds were read; the"),
    ],
)
def test_status_and_sentence(leaks, seeded, status, start):
    guarantee = make_guarantee(PURE, Fraction(0), leaks, seeded)
    assert guarantee.status == status
    assert guarantee.sentence.startswith(start) and str(guarantee) == guarantee.sentence
    claims = status in ("holds", "demonstration")
    assert guarantee.epsilon == (1.0 if claims else math.inf)
    assert guarantee.delta == (0.0 if claims else 1.0)


def test_no_claim():
    guarantee = Guarantee(status="none")
    assert guarantee.epsilon == math.inf and guarantee.delta == 1
    assert "not private" in guarantee.sentence


def test_an_external_delta_part_grows_when_a_record_is_replaced():
    loss = PrivacyLoss(Fraction(1), math.inf, MILLIONTH)
    guarantee = make_guarantee(loss, MILLIONTH, (), seeded=False)
    native, replaced = guarantee.bounds
    assert (native.epsilon, native.delta, native.rho) == (1, 1e-6, None)
    # Group privacy of two records: 2 epsilon, (1 + e^epsilon) delta.
    assert replaced.epsilon == 2
    assert replaced.delta == pytest.approx((1 + math.e) * 1e-6) and replaced.delta > 3.7e-6
    assert Guarantee.model_validate_json(guarantee.model_dump_json()) == guarantee


# -- noise that may not be what it should be -------------------------------------------------


class Foreign(RandomSource):
    """A source of somebody else's, which says that nobody chose its words."""

    seeded = False

    def words(self, n):
        return np.full(n, 2**40, dtype=np.uint64)

    def spawn(self, *key):
        return self

    def describe(self):
        return "operating system's generator"


class Tampered(SystemSource):
    """The system's source with words of its own."""

    def words(self, n):
        return np.full(n, 2**40, dtype=np.uint64)

    def spawn(self, *key):
        return self


@pytest.mark.parametrize("source", [Foreign(), Tampered(), FixedWords([1] * 10_000)])
def test_noise_of_somebody_elses_never_holds(source, make_forest, table):
    forest = make_forest(random_state=source).fit(*table())
    report = forest.privacy_report()
    assert forest.guarantee_.status == "demonstration"
    assert "random_state" in forest.guarantee_.sentence
    assert "given by the caller" in report.randomness
    assert "operating system" not in report.randomness


def test_the_systems_own_source_holds(make_forest, table):
    forest = make_forest(random_state=SystemSource()).fit(*table())
    assert forest.guarantee_.status == "holds"


class Replacing(Observer):
    """An observer that hands out zeros."""

    def release(self, name, grant, public, draw):
        drawn = draw()
        return np.zeros_like(drawn) if isinstance(drawn, np.ndarray) else drawn


def test_an_observer_that_may_replace_releases_is_told_of(make_forest, table):
    before = set_observer(Replacing())
    try:
        forest = make_forest().fit(*table())
    finally:
        set_observer(before)
    assert forest.guarantee_.status == "demonstration"
    assert "an observer took part" in forest.guarantee_.sentence
    assert make_forest().fit(*table()).guarantee_.status == "holds"


def test_an_observer_that_comes_in_the_middle_is_told_of_too(make_forest, table, monkeypatch):
    train = Training.train

    def looked_at(*arguments):
        before = set_observer(Replacing())
        released = train(*arguments)
        set_observer(before)
        return released

    monkeypatch.setattr(Training, "train", looked_at)
    assert make_forest().fit(*table()).guarantee_.status == "demonstration"


def test_a_seed_that_is_used_again_is_told_of(make_forest, table):
    accountant = BudgetAccountant(20)
    forest = make_forest(random_state=7, accountant=accountant)
    once = "fitted before with the same random_state"
    assert once not in forest.fit(*table()).guarantee_.sentence
    for again in (forest, clone(forest), copy.deepcopy(forest)):
        guarantee = again.fit(*table(seed=1)).guarantee_
        assert guarantee.status == "demonstration" and once in guarantee.sentence
        assert "if the records changed in between, neither fit" in guarantee.sentence
        assert any(once in notice.text for notice in again.privacy_report().notices)
    assert once not in forest.set_params(random_state=8).fit(*table()).guarantee_.sentence
    assert once not in make_forest(random_state=7).fit(*table()).guarantee_.sentence


def test_a_generator_gives_new_noise_to_every_fit_but_a_copy_of_it_does_not(make_forest, table):
    once = "fitted before with the same random_state"
    generator = np.random.default_rng(3)
    forest = make_forest(random_state=generator, accountant=BudgetAccountant(9))
    same = copy.deepcopy(generator)
    for _ in range(2):
        assert once not in forest.fit(*table()).guarantee_.sentence
    assert once in forest.set_params(random_state=same).fit(*table()).guarantee_.sentence
