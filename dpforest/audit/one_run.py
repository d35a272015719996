"""A lower bound on epsilon from a single run, with canaries (Steinke, Nasr, Jagielski 2023).

Canaries are records that go into the training set or stay out by one fair coin each. From the
released model one then guesses, for some of them, which way its coin fell. A model that is
(epsilon, delta)-DP under add/remove lets at most a certain number of guesses be right.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dpforest.audit.claims import check_claim, check_error
from dpforest.audit.gaps import joined, refuse_masked, table_of
from dpforest.audit.result import Verdict, _Record, judge
from dpforest.domain.domain import Domain
from dpforest.domain.schema import CategoricalFeature
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.entropy import RandomSource, SystemSource

#: Shares of the canaries that are guessed; the error is divided over them.
GUESSED = (1.0, 0.5, 0.2, 0.1)

Score = Callable[[Any, Any, Any], Any]


class OneRunResult(_Record):
    """Outcome of an audit of one run.

    Attributes
    ----------
    subject : str
    claimed_epsilon, delta : float
    lower_bound : float
    confidence : float
        One minus the probability that the bound is too large, over all shares tried.
    canaries, guesses, correct : int
        Of the share of guesses that gave the bound.
    largest_certifiable : float
        The bound if every guess had been right.
    verdict : {"violates", "consistent", "inconclusive"}
    reason : str
    """

    subject: str
    claimed_epsilon: float
    delta: float
    lower_bound: float
    confidence: float
    canaries: int
    guesses: int
    correct: int
    largest_certifiable: float
    verdict: Verdict
    reason: str


def audit_one_run(
    train: Callable[[Any, Any], Any],
    canaries: tuple[Any, Any],
    *,
    claimed_epsilon: Any,
    delta: Any = 0,
    base: tuple[Any, Any] | None = None,
    score: Score | None = None,
    confidence: float = 0.95,
    source: RandomSource | None = None,
) -> OneRunResult:
    """Audit one training run.

    Parameters
    ----------
    train : callable
        (X, y) -> released model; an estimator's ``fit``.
    canaries : tuple (X, y)
        Records that go in or stay out, each on its own; arrays. See `corner_canaries`. Masked
        cells are missing, and a masked label is refused.
    claimed_epsilon, delta : float
        The claim under add/remove of one record.
    base : tuple (X, y), optional
        Records that are always in.
    score : callable (model, X, y) -> array of shape (m,), optional
        Larger where a canary is thought to be in. The default is `own_label_score`.
    confidence : float, default=0.95
    source : RandomSource, optional
        Of the coins.

    Returns
    -------
    OneRunResult

    Raises
    ------
    ParameterError, ParameterTypeError
        A claim or a confidence that makes no sense, before anything is trained; fewer than ten
        canaries, or a score of another length.

    Notes
    -----
    **Claim**: with probability at least ``confidence`` no epsilon below ``lower_bound`` holds.
    **Proof**: Steinke, Nasr, Jagielski 2023, Theorem 5.2: under (epsilon, delta)-DP the number of
    right guesses among r is stochastically at most Binomial(r, e^epsilon / (1 + e^epsilon)), up to
    a term 2 m delta max_i P(v - i <= . < v) / i. The error is divided over the shares of canaries
    that are guessed (Bonferroni). **Tests**: tests/audit/test_one_run.py.
    """
    claim, slack = check_claim(claimed_epsilon, delta)
    alpha = check_error(confidence) / len(GUESSED)
    _check_labels(canaries[1], "canaries")
    X, y = table_of(canaries[0]), np.asarray(canaries[1])
    m = len(y)
    if m < 10:
        raise ParameterError("canaries", m, "must be at least 10 records", "Use a few hundred")
    words = (source or SystemSource()).words(2 * m)
    is_in = words[:m] < np.uint64(2**63)
    scores = _scores(train(*_with_base(base, X[is_in], y[is_in])), X, y, score)
    # Equal scores are ordered by words of their own, never by position.
    order = np.lexsort((words[m:], scores))
    tried = [_guess(order, is_in, share, slack, alpha) for share in GUESSED]
    bound, guesses, correct = max(tried)
    largest = max(one_run_epsilon(m, r, r, slack, alpha) for _, r, _ in tried)
    verdict, reason = judge(bound, claim, largest, slack, confidence, "canaries")
    return OneRunResult(
        subject=_name_of(train),
        claimed_epsilon=claim,
        delta=slack,
        lower_bound=bound,
        confidence=confidence,
        canaries=m,
        guesses=guesses,
        correct=correct,
        largest_certifiable=largest,
        verdict=verdict,
        reason=reason,
    )


def _with_base(base: tuple[Any, Any] | None, X: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    if base is None:
        return X, y
    return joined([table_of(base[0]), X]), joined([table_of(base[1]), y])


def _scores(model: Any, X: NDArray, y: NDArray, score: Score | None) -> NDArray[np.float64]:
    """Score each canary by the model."""
    given = (score or own_label_score)(model, X, y)
    refuse_masked(given, "score", "must give a number for each canary", "Score each canary")
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != (len(y),):
        raise ParameterError(
            "score", scores.shape, f"must give shape ({len(y)},)", "Score each canary"
        )
    return scores


def _guess(
    order: NDArray[np.intp], is_in: NDArray[np.bool_], share: float, delta: float, alpha: float
) -> tuple[float, int, int]:
    """Guess "in" for the largest scores and "out" for the smallest; bound, guesses, right ones."""
    half = max(1, int(share * order.size / 2))
    correct = int(is_in[order[-half:]].sum() + (~is_in[order[:half]]).sum())
    return one_run_epsilon(order.size, 2 * half, correct, delta, alpha), 2 * half, correct


def one_run_epsilon(m: int, guesses: int, correct: int, delta: float, alpha: float) -> float:
    """Largest epsilon refuted by so many right guesses, to 1e-6 downwards; 0 where none is."""
    low, high = 0.0, 40.0
    if one_run_p_value(m, guesses, correct, low, delta) > alpha:
        return 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if one_run_p_value(m, guesses, correct, middle, delta) <= alpha:
            low = middle
        else:
            high = middle
    return low


def one_run_p_value(m: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """Bound on the probability of so many right guesses under (epsilon, delta)-DP.

    Steinke, Nasr, Jagielski 2023, Theorem 5.2 and the program in their appendix D.
    """
    q = 1 / (1 + math.exp(-epsilon))
    p = float(binom.sf(correct - 1, guesses, q))
    if delta and correct:
        below = np.cumsum(binom.pmf(correct - np.arange(1, correct + 1), guesses, q))
        p += 2 * m * delta * float((below / np.arange(1, correct + 1)).max())
    return min(p, 1.0)


def _check_labels(y: Any, parameter: str) -> None:
    rule = "must have a label each, since one without a label is in no training"
    refuse_masked(y, parameter, rule, "Leave records without a label out")


def own_label_score(model: Any, X: Any, y: Any) -> NDArray[np.float64]:
    """Probability that the model gives to each record's own label."""
    _check_labels(y, "y")
    probability = np.asarray(model.predict_proba(X))
    columns = {label: index for index, label in enumerate(np.asarray(model.classes_).tolist())}
    return probability[np.arange(len(y)), [columns[label] for label in np.asarray(y).tolist()]]


def corner_canaries(
    domain: Domain, n: int, source: RandomSource | None = None
) -> tuple[NDArray, NDArray]:
    """Records at places drawn uniformly from the domain, with classes in turn.

    Far from each other they are alone in their leaves more often than any other records.

    Raises
    ------
    ParameterError
        If the domain has no classes.
    """
    if domain.classes is None:
        raise ParameterError("domain", "no classes", "canaries need classes", "Declare them")
    words = (source or SystemSource()).words(n * domain.n_features).reshape(n, -1)
    numeric = all(feature.kind == "numeric" for feature in domain.features)
    X = np.empty(words.shape, dtype=np.float64 if numeric else object)
    for index, feature in enumerate(domain.features):
        place = words[:, index] / 2.0**64
        if isinstance(feature, CategoricalFeature):
            names = np.array(feature.categories, dtype=object)
            X[:, index] = names[(place * len(names)).astype(int).clip(max=len(names) - 1)]
        else:
            values = feature.lower + place * (feature.upper - feature.lower)
            X[:, index] = np.round(values) if feature.integer else values
    labels = np.array(domain.classes.labels)
    return X, labels[np.arange(n) % labels.size]


def _name_of(train: Callable[..., Any]) -> str:
    """Name of a training; of a method with the class of its object, which may inherit it."""
    if inspect.ismethod(train):
        return f"{type(train.__self__).__name__}.{train.__name__}"
    return str(getattr(train, "__qualname__", type(train).__name__))
