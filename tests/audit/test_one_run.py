"""The one-run audit on subjects whose epsilon is known.

Coins, places and noise come from seeds wherever a bound is held against a number: a bound of 95 %
is above the truth now and then, and with words that are fixed it is so always or never.
"""

import numpy as np
import pytest
from scipy.stats import binom

from dpforest import BudgetAccountant, Domain, MultinomialForestClassifier, ParameterError
from dpforest.audit import SMALL_DOMAIN, audit_one_run, corner_canaries
from dpforest.audit.one_run import one_run_epsilon, one_run_p_value
from dpforest.mechanisms.entropy import SeededSource

NUMBERS = np.arange(1000).reshape(-1, 1).astype(float)
LABELS = np.zeros(1000, dtype=int)


class Responses:
    """Says for every canary whether it was in, each by randomised response."""

    def __init__(self, epsilon, seed=0):
        self.keep, self.rng = 1 / (1 + np.exp(-epsilon)), np.random.default_rng(seed)

    def fit(self, X, y):
        self.inside = np.isin(NUMBERS[:, 0], X[:, 0])
        lies = self.rng.random(1000) > self.keep
        return self.inside ^ lies


def said(model, X, y):
    return model.astype(float)


def test_without_delta_the_p_value_is_binomial():
    assert one_run_p_value(500, 100, 70, 0.5, 0.0) == pytest.approx(
        binom.sf(69, 100, 1 / (1 + np.exp(-0.5)))
    )
    assert one_run_p_value(500, 100, 100, 50.0, 0.0) == pytest.approx(1.0)


def test_a_delta_costs():
    # beta + 2 m delta alpha, by the paper's program, written out.
    m, r, v, epsilon, delta = 100, 20, 18, 1.0, 1e-3
    q = 1 / (1 + np.exp(-epsilon))
    sums = [sum(binom.pmf(v - j, r, q) for j in range(1, i + 1)) / i for i in range(1, v + 1)]
    expected = binom.sf(v - 1, r, q) + 2 * m * delta * max(sums)
    assert one_run_p_value(m, r, v, epsilon, delta) == pytest.approx(expected)
    assert one_run_epsilon(m, r, v, delta, 0.05) < one_run_epsilon(m, r, v, 0.0, 0.05)


def test_all_guesses_right():
    # (1 / (1 + e^-epsilon))^r = alpha
    q = 0.05 ** (1 / 100)
    assert one_run_epsilon(100, 100, 100, 0.0, 0.05) == pytest.approx(np.log(q / (1 - q)), abs=1e-5)


def test_the_bound_comes_close_to_the_truth_from_below():
    result = audit_one_run(
        Responses(1.0).fit, (NUMBERS, LABELS), claimed_epsilon=0.5, score=said,
        source=SeededSource(3),
    )  # fmt: skip
    assert 0.6 < result.lower_bound <= 1.0
    assert result.verdict == "violates"
    assert result.canaries == 1000


def test_a_bound_is_too_large_no_more_often_than_stated():
    # 150 audits at an error of 5 %: more than 28 errors have probability below 1e-8.
    model = Responses(1.0, seed=1)
    bounds = [
        audit_one_run(
            model.fit, (NUMBERS, LABELS), claimed_epsilon=1, score=said, source=SeededSource(n)
        ).lower_bound
        for n in range(150)
    ]
    assert sum(bound > 1.0 for bound in bounds) <= 28


def test_the_order_of_canaries_tells_nothing():
    # Equal scores: a subject that says nothing must not be accused by ties.
    def nothing(model, X, y):
        return np.zeros(len(y))

    results = [
        audit_one_run(
            Responses(9.0).fit,
            (NUMBERS, LABELS),
            claimed_epsilon=0,
            score=nothing,
            source=SeededSource(n),
        )  # fmt: skip
        for n in range(50)
    ]
    assert sum(result.lower_bound > 0 for result in results) <= 12


CUBE = Domain(features={name: (0.0, 1.0) for name in "abcd"}, classes=["a", "b"])


def test_a_whole_forest_is_audited_in_one_fit():
    forest = MultinomialForestClassifier(
        epsilon=2, domain=CUBE, n_estimators=10, max_depth=8, accountant=BudgetAccountant(2)
    )
    result = audit_one_run(forest.fit, corner_canaries(CUBE, 1000), claimed_epsilon=2,
                           confidence=1 - 1e-9)  # fmt: skip
    assert result.verdict == "consistent"
    assert result.subject == "MultinomialForestClassifier.fit"


def test_a_forest_that_claims_a_hundredth_is_found_out():
    forest = MultinomialForestClassifier(
        epsilon=200, domain=CUBE, n_estimators=10, max_depth=8, accountant=BudgetAccountant(200),
        random_state=0,
    )  # fmt: skip
    source = SeededSource(0)
    canaries, base = (corner_canaries(CUBE, n, source) for n in (2000, 10))
    result = audit_one_run(
        forest.fit, canaries, claimed_epsilon=0.5, base=base, source=SeededSource(1)
    )
    assert result.verdict == "violates"


def test_bad_input_and_claims_that_cannot_be_tested():
    canaries = (NUMBERS, LABELS)
    with pytest.raises(ParameterError, match="must be at least 10 records"):
        audit_one_run(Responses(1).fit, (NUMBERS[:9], LABELS[:9]), claimed_epsilon=1)
    with pytest.raises(ParameterError, match="must give shape \\(1000,\\)"):
        audit_one_run(Responses(1).fit, canaries, claimed_epsilon=1, score=lambda *_: [1.0])
    result = audit_one_run(Responses(9).fit, canaries, claimed_epsilon=20, score=said)
    assert result.verdict == "inconclusive" and "Use more canaries" in result.reason
    result = audit_one_run(Responses(9).fit, canaries, claimed_epsilon=float("inf"), score=said)
    assert result.verdict == "inconclusive"


def test_canaries_lie_in_their_domain():
    mixed = Domain(features={"age": (0, 90), "job": ["a", "b", "c"]}, classes=["no", "yes"])
    X, y = corner_canaries(mixed, 60)
    assert set(X[:, 1]) == {"a", "b", "c"} and set(y) == {"no", "yes"}
    assert X[:, 0].min() >= 0 and X[:, 0].max() <= 90
    X, _ = corner_canaries(SMALL_DOMAIN, 60)
    assert set(X.ravel()) == {0.0, 1.0, 2.0, 3.0}
