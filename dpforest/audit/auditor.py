"""The audit: runs on neighbouring datasets, an event that tells them apart, a certified bound."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.bounds import certified_epsilon, largest_certifiable, largest_epsilon
from dpforest.audit.claims import check_claim, check_error
from dpforest.audit.events import choose_event
from dpforest.audit.neighbours import DatasetPair, as_pairs
from dpforest.audit.outcomes import NoOutput, are_errors, of_one_width
from dpforest.audit.result import AuditResult, FoundEvent, judge
from dpforest.audit.subjects import Estimator, Subject, as_subject, draw_outputs
from dpforest.audit.worst_cases import worst_cases
from dpforest.checks import check_integer
from dpforest.domain.domain import Domain
from dpforest.exceptions import ParameterError, PrivacyLeakWarning


def audit(
    subject: Any,
    pairs: Any = None,
    *,
    claimed_epsilon: Any = None,
    delta: Any = None,
    runs: int = 20_000,
    confidence: float = 0.99,
    domain: Domain | None = None,
) -> AuditResult:
    """Find a lower bound on epsilon and hold it against the claim.

    Parameters
    ----------
    subject : Subject, estimator or callable
        Whatever releases an output from a dataset: a function dataset -> numbers, one wrapped in
        `Batched` that makes many runs at once, or an estimator (see `Estimator` for what it is
        taken to release).
    pairs : DatasetPair, tuple of two datasets, list of DatasetPair, or None
        Neighbouring datasets. Of several the one that promises the largest bound is tested.
        None: the built-in worst cases of ``domain``.
    claimed_epsilon : float, optional
        The claim. For an estimator the default is its ``epsilon``, which is of adding or removing a
        record: with a pair that replaces one, it must be given.
    delta : float, optional
        For an estimator the default is its ``delta``, else 0; the same holds for a pair that
        replaces a record.
    runs : int, default=20_000
        Runs on each dataset. Half of them learn the event (divided over the pairs), half test it.
    confidence : float, default=0.99
        One minus the probability that the bound is too large, for the audit as a whole.
    domain : Domain, optional
        For the built-in pairs; for an estimator the default is its own.

    Returns
    -------
    AuditResult

    Raises
    ------
    ParameterError, ParameterTypeError
        Parameters that make no sense, or datasets that are not neighbours; a subject of which every
        run ends with an error, or many runs at once do. Other errors of single runs are outputs.

    Warns
    -----
    PrivacyLeakWarning
        An estimator is run on a pair that is not said to be made up. Its many fits are paid for by
        no budget, and listed nowhere. The event's description quotes no output of them.

    Notes
    -----
    **Claim**: with probability at least ``confidence`` the subject is not (epsilon, delta)-DP
    under the pair's relation for any epsilon below ``lower_bound``. **Proof**: pair, event, its
    direction and the division of the error are functions of the learning runs. Given them, the
    testing runs on each dataset are independent Bernoulli trials, so both Clopper-Pearson limits
    hold together with probability >= confidence (Bonferroni over the two), and then
    ln((p - delta) / q) >= lower_bound. One event of one pair is tested, so there is nothing more
    to divide the error over. Runs must be independent; those on the two datasets take turns, unless
    the subject makes many at once, in an order that no output decides. **Tests**:
    tests/audit/test_auditor.py, tests/audit/test_outcomes.py.
    """
    audited = as_subject(subject)
    given = claimed_epsilon, delta
    claim, delta = _read_claim(subject, *given)
    runs, alpha = check_integer(runs, "runs", 4), check_error(confidence)
    candidates = _read_pairs(subject, pairs, domain)
    _check_relations(subject, candidates, *given)
    _warn_of_records(audited, candidates)
    test = _Test(audited, runs - runs // 2, delta, alpha)
    learning = max(2, runs // 2 // len(candidates))
    tried, left_out = _tried_pairs(test, candidates, learning)
    pair, outputs = _most_promising(test, tried)
    found, bound, interval, errors = test.run(pair, outputs)
    largest = largest_certifiable(test.runs, delta, alpha)
    verdict, reason = judge(bound, claim, largest, delta, confidence)
    return AuditResult(
        subject=audited.name,
        pair=pair.name,
        relation=pair.relation,
        claimed_epsilon=claim,
        delta=delta,
        lower_bound=bound,
        interval=(bound, interval),
        event=found,
        runs=runs,
        confidence=confidence,
        largest_certifiable=largest,
        verdict=verdict,
        reason=reason + _error_words(errors, 2 * test.runs) + _left_out_words(left_out),
    )


_Outputs = tuple[NDArray, NDArray]


@dataclass(frozen=True, slots=True)
class _Test:
    """Settings that every pair is tried with."""

    subject: Subject
    runs: int
    delta: float
    alpha: float

    def draw(self, pair: DatasetPair, runs: int) -> _Outputs:
        """Outputs of so many runs on each dataset."""
        drawn = draw_outputs(self.subject, runs, pair)
        first, second = of_one_width(self.subject.name, drawn)
        return first, second

    def promise(self, learning: _Outputs) -> float:
        """Bound that the learning runs promise."""
        return choose_event(learning, None, self.runs, self.delta, self.alpha).promised

    def run(self, pair: DatasetPair, learning: _Outputs) -> tuple[FoundEvent, float, float, int]:
        """The event, its certified bound, the upper end of what it shows, and errors of runs."""
        testing, shown = self.draw(pair, self.runs), not _is_of_records(self.subject, pair)
        *known, first, second = of_one_width(self.subject.name, [*learning, *testing])
        learning, testing = (known[0], known[1]), (first, second)
        event = choose_event(learning, testing, self.runs, self.delta, self.alpha, shown)
        hits = [int(part.sum()) for part in np.split(event.happened, 2)]
        more, less = hits if event.likelier_on_first else hits[::-1]
        n, delta, alpha = self.runs, self.delta, self.alpha
        bound = float(certified_epsilon(more, less, n, n, delta, alpha, event.share))
        found = FoundEvent(
            description=event.description,
            likelier_on="first" if event.likelier_on_first else "second",
            hits_first=hits[0],
            hits_second=hits[1],
            runs=n,
        )
        interval = max(bound, largest_epsilon(more, less, n, delta, alpha))
        return found, bound, interval, sum(int(are_errors(part).sum()) for part in testing)


_Tried = list[tuple[DatasetPair, _Outputs]]


def _tried_pairs(
    test: _Test, candidates: tuple[DatasetPair, ...], runs: int
) -> tuple[_Tried, list[str]]:
    """Pairs with their learning runs, and names of those on which no run gives an output."""
    tried, refusals = [], {}
    for pair in candidates:
        try:
            tried.append((pair, test.draw(pair, runs)))
        except NoOutput as refusal:  # an error on both datasets tells nothing of them
            refusals[pair.name] = refusal
    if not tried:
        raise next(iter(refusals.values()))
    return tried, list(refusals)


def _most_promising(test: _Test, tried: _Tried) -> tuple[DatasetPair, _Outputs]:
    """The pair to test, with its learning runs."""
    if len(tried) == 1:
        return tried[0]
    promises = [test.promise(outputs) for _, outputs in tried]
    return tried[int(np.argmax(promises))]


def _error_words(errors: int, runs: int) -> str:
    if not errors:
        return ""
    return f" {errors:,} of {runs:,} testing runs ended with an error, which counts as an output."


def _left_out_words(names: list[str]) -> str:
    if not names:
        return ""
    return f" Left out, since every run ended with an error: {', '.join(map(repr, names))}."


def _read_claim(subject: Any, claim: Any, delta: Any) -> tuple[float, float]:
    """The claim as given, or as the subject makes it."""
    if claim is None:
        claim = getattr(subject, "epsilon", None)
    if delta is None:
        delta = getattr(subject, "delta", 0) or 0
    return check_claim(claim, delta)


def _read_pairs(subject: Any, pairs: Any, domain: Domain | None) -> tuple[DatasetPair, ...]:
    size = getattr(subject, "max_records_per_unit", 1)
    if pairs is not None:
        found = as_pairs(pairs)
        if hasattr(subject, "max_records_per_unit"):
            _check_units(found, size)
        return found
    domain = domain if domain is not None else getattr(subject, "domain", None)
    if not isinstance(domain, Domain):
        raise ParameterError(
            "pairs", pairs, "built-in pairs need a domain", "Give pairs=..., or domain=..."
        )
    return worst_cases(domain, records_per_unit=size)


def _is_of_records(subject: Subject, pair: DatasetPair) -> bool:
    """Say if an estimator is run on tables of which nobody said that they were made up."""
    return isinstance(subject, Estimator) and not pair.made_up


def _warn_of_records(subject: Subject, pairs: tuple[DatasetPair, ...]) -> None:
    names = [pair.name for pair in pairs if _is_of_records(subject, pair)]
    if not names:
        return
    warnings.warn(
        f"{subject.name} is fitted many times on tables that were handed in ({names[0]}), and no "
        "budget pays for that: where they hold records of people, what the audit says of them is "
        "covered by no guarantee. Leave pairs out for built-in tables, or write "
        "DatasetPair(..., made_up=True) where nobody's records are in them.",
        PrivacyLeakWarning,
        stacklevel=3,
    )


def _check_relations(subject: Any, pairs: tuple[DatasetPair, ...], claim: Any, delta: Any) -> None:
    """Refuse a pair under another relation than the one that an estimator's own claim is for."""
    own = hasattr(subject, "max_records_per_unit")
    replacing = [pair.name for pair in pairs if pair.relation == "replace_one"]
    if not (own and replacing):
        return
    lacking = "claimed_epsilon" if claim is None else "delta"
    if claim is None or (delta is None and subject.delta):
        raise ParameterError(
            lacking, None,
            f"must be given for {replacing[0]!r}, where a record is replaced: the estimator's own "
            "is of adding or removing one",
            "Give what its report says of replacing a record: "
            "claimed_epsilon=report.guarantee.bounds[1].epsilon, and delta of it",
        )  # fmt: skip


def _check_units(pairs: tuple[DatasetPair, ...], size: int) -> None:
    """Refuse a pair that differs in more records than the estimator's claim is for."""
    for pair in pairs:
        if pair.records_per_unit > size:
            raise ParameterError(
                "pairs", pair.name,
                f"privacy units of {pair.records_per_unit} records, but the claim is for {size}",
                "Set max_records_per_unit of the estimator, or give smaller units",
            )  # fmt: skip
