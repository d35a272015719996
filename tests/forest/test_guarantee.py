"""What a finished fit may claim."""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction

import pytest

from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.losses import PrivacyLoss
from dpforest.forest.guarantee import Guarantee, best_bound, make_guarantee

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
    assert best_bound(small, MILLIONTH)[:2] == (Fraction(1, 10), 0)
    large = PrivacyLoss(Fraction(9), Fraction(1, 100), Fraction(0))
    epsilon, delta, derivation = best_bound(large, MILLIONTH)
    assert (epsilon, delta) == (epsilon_of_rho(Fraction(1, 100), MILLIONTH)[0], MILLIONTH)
    assert epsilon < 9 and "zero-concentrated" in derivation
    assert best_bound(large, Fraction(0))[0] == 9


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


def test_an_external_delta_part_claims_nothing_for_replacing():
    loss = PrivacyLoss(Fraction(1), Fraction(1), MILLIONTH)
    replaced = make_guarantee(loss, MILLIONTH, (), seeded=False).bounds[1]
    assert replaced.epsilon == math.inf and "not claimed" in replaced.derivation
    assert (
        Guarantee.model_validate_json(
            make_guarantee(loss, MILLIONTH, (), seeded=False).model_dump_json()
        ).bounds[1]
        == replaced
    )
