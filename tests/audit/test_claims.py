"""Claims and confidences that no audit takes, of many runs or of one."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpforest import ParameterError
from dpforest.audit import DatasetPair, audit, audit_one_run

NAN, INFINITY = float("nan"), float("inf")
CANARIES = np.arange(20.0).reshape(-1, 1), np.zeros(20)


class Watched:
    """A subject of either audit, which says if any run was made of it."""

    def __init__(self):
        self.runs = 0

    def train(self, X, y):
        self.runs += 1
        return np.arange(20.0)

    def release(self, records):
        self.runs += 1
        return 0.0


def of_many_runs(subject, **settings):
    return audit(subject.release, DatasetPair([0], [0, 1]), runs=20, **settings)


def of_one_run(subject, **settings):
    return audit_one_run(subject.train, CANARIES, score=lambda model, X, y: model, **settings)


either = pytest.mark.parametrize("audited", [of_many_runs, of_one_run])


@either
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"claimed_epsilon": None}, "Say which epsilon the subject claims"),
        ({"claimed_epsilon": -1}, "claimed_epsilon=-1: must be at least 0"),
        ({"claimed_epsilon": -INFINITY}, "must be at least 0"),
        ({"claimed_epsilon": NAN}, "must be at least 0"),
        ({"claimed_epsilon": True}, "must be a number"),
        ({"claimed_epsilon": "much"}, "must be a finite number"),
        ({"claimed_epsilon": [1]}, "must be a number"),
        ({"delta": -1e-9}, "must be at least 0 and below 1"),
        ({"delta": 1}, "must be at least 0 and below 1"),
        ({"delta": 3}, "delta=3: must be at least 0 and below 1"),
        ({"delta": NAN}, "must be at least 0 and below 1"),
        ({"delta": INFINITY}, "must be at least 0 and below 1"),
        ({"delta": "none"}, "must be a finite number"),
        ({"confidence": 0}, "must be above 0 and below 1"),
        ({"confidence": 1.0}, "must be above 0 and below 1"),
        ({"confidence": 5}, "confidence=5: must be above 0 and below 1"),
        ({"confidence": -0.5}, "must be above 0 and below 1"),
        ({"confidence": NAN}, "must be above 0 and below 1"),
        ({"confidence": "0.95"}, "must be above 0 and below 1"),
        ({"confidence": None}, "must be above 0 and below 1"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_run(audited, changes, text):
    subject = Watched()
    with pytest.raises(ParameterError, match=text) as told:
        audited(subject, **{"claimed_epsilon": 1, **changes})
    assert told.value.parameter in changes
    assert not subject.runs


@either
@pytest.mark.parametrize(
    "half", [0.5, "0.5", "1/2", Fraction(1, 2), Decimal("0.5"), np.float32(0.5)]
)
def test_a_claim_is_any_number_that_a_budget_is_given_as(audited, half):
    result = audited(Watched(), claimed_epsilon=half, delta=half)
    assert (result.claimed_epsilon, result.delta) == (0.5, 0.5)


@either
@pytest.mark.parametrize("endless", [INFINITY, np.float32(INFINITY)])
def test_an_infinite_claim_is_taken_and_passes_nothing(audited, endless):
    result = audited(Watched(), claimed_epsilon=endless)
    assert result.claimed_epsilon == INFINITY and result.verdict == "inconclusive"
