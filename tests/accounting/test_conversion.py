"""rho and (epsilon, delta): against an independent minimisation, always on the private side."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from dpforest.accounting import conversion
from dpforest.accounting.bounds import add_remove_price
from dpforest.accounting.conversion import (
    CLOSED_FORM,
    LIBRARY,
    conversion_method,
    epsilon_of_rho,
    rho_of_epsilon,
)
from dpforest.accounting.losses import PrivacyLoss

RHOS = [F(1, 10**6), F(1, 1000), F(244, 10**4), F(1, 2), F(10), F(200)]
DELTAS = [F(1, 100), F(1, 10**6), F(1, 10**12)]


def canonne_kamath_steinke(rho: float, delta: float) -> float:
    """Minimum over orders of rho a + ln(1 - 1/a) - ln(a delta) / (a - 1), on a fine grid."""
    below = np.logspace(-4, 7, 400_001)
    orders = 1 + below
    return float(np.min(rho * orders + np.log1p(-1 / orders) - np.log(delta * orders) / below))


@pytest.fixture(params=["library", "closed form"])
def bounds(request, monkeypatch):
    """Both states of an environment: with dp_accounting, and without."""
    conversion._epsilon_of_rho.cache_clear()
    rho_of_epsilon.cache_clear()
    if request.param == "library":
        pytest.importorskip("dp_accounting")
    else:
        monkeypatch.setattr(conversion, "_has_library", lambda: False)
    yield request.param
    conversion._epsilon_of_rho.cache_clear()
    rho_of_epsilon.cache_clear()


@pytest.mark.parametrize("delta", DELTAS, ids=float)
@pytest.mark.parametrize("rho", RHOS, ids=float)
def test_epsilon_is_an_upper_bound(bounds, rho, delta):
    epsilon, method = epsilon_of_rho(rho, delta)
    oracle = max(canonne_kamath_steinke(float(rho), float(delta)), 0.0)
    assert isinstance(epsilon, F)
    assert epsilon >= oracle * (1 - 1e-7)
    closed = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    assert float(epsilon) <= closed * (1 + 1e-12)
    if bounds == "library":
        assert method == LIBRARY == conversion_method()
        assert float(epsilon) <= oracle * (1 + 1e-4) + 1e-11
    else:
        assert method == CLOSED_FORM == conversion_method()


@pytest.mark.parametrize("delta", DELTAS, ids=float)
@pytest.mark.parametrize("target", [F(1, 100), F(1, 2), F(1), F(8)], ids=float)
def test_rho_converts_back_to_at_most_epsilon(bounds, target, delta):
    rho = rho_of_epsilon(target, delta)
    assert rho > 0
    assert epsilon_of_rho(rho, delta)[0] <= target
    assert epsilon_of_rho(rho * (1 + F(1, 10**5)), delta)[0] > target


def test_monotone_in_rho_and_delta(bounds):
    in_rho = [epsilon_of_rho(F(k, 50), F(1, 10**6))[0] for k in range(60)]
    in_delta = [epsilon_of_rho(F(1, 10), F(1, 2**k))[0] for k in range(3, 60)]
    assert in_rho == sorted(in_rho)
    assert in_delta == sorted(in_delta)


def test_edges(bounds):
    assert epsilon_of_rho(F(0), F(0))[0] == 0
    assert epsilon_of_rho(F(1), F(0))[0] == math.inf
    assert epsilon_of_rho(math.inf, F(1, 10))[0] == math.inf
    assert epsilon_of_rho(F(1), F(1, 10**320))[1] == CLOSED_FORM
    assert rho_of_epsilon(F(1), F(0)) == 0
    assert rho_of_epsilon(F(1), F(-1)) == 0


def test_a_delta_that_was_spent_is_not_used_again_to_convert():
    rho, delta, spent = F(1, 50), F(1, 10**5), F(9, 10**6)
    epsilon, at, _ = add_remove_price(PrivacyLoss(math.inf, rho, spent), delta)
    assert (epsilon, at) == (epsilon_of_rho(rho, delta - spent)[0], delta)
    assert epsilon > epsilon_of_rho(rho, delta)[0]
    assert add_remove_price(PrivacyLoss(math.inf, rho, delta), delta)[:2] == (math.inf, delta)


def test_the_contracts_figures():
    """rho = 0.0244 at delta = 1e-6 is 1.00, and four times that rho is 2.11, not 2."""
    pytest.importorskip("dp_accounting")
    delta = F(1, 10**6)
    assert float(epsilon_of_rho(F("0.0244"), delta)[0]) == pytest.approx(1.00, abs=0.005)
    assert float(epsilon_of_rho(F("0.0976"), delta)[0]) == pytest.approx(2.11, abs=0.005)
