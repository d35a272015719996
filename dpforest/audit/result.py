"""Result of an audit: a certified lower bound, the event that shows it, and a verdict."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import ConfigDict

from dpforest.own_names import OwnNames

Verdict = Literal["violates", "consistent", "inconclusive"]


class _Record(OwnNames):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class FoundEvent(_Record):
    """The event that was tested: learnt from one half of the runs, counted on the other.

    Attributes
    ----------
    description : str
        Which outputs are in it.
    likelier_on : {"first", "second"}
        The dataset of the pair on which it was expected more often.
    hits_first, hits_second : int
        How often it happened in the runs that tested it.
    runs : int
        How many runs on each dataset tested it.
    """

    description: str
    likelier_on: Literal["first", "second"]
    hits_first: int
    hits_second: int
    runs: int


class AuditResult(_Record):
    """Outcome of an audit.

    Attributes
    ----------
    subject, pair : str
        What was audited, and on which neighbouring datasets the bound was found.
    relation : str
        How those datasets neighbour: ``"add_remove"`` or ``"replace_one"``.
    claimed_epsilon, delta : float
        The claim.
    lower_bound : float
        No claim below it holds at this delta, at ``confidence``.
    interval : tuple of float
        Lower bound and the upper end for what *this event* shows. The upper end bounds no
        claim: an event that was not tried may show more.
    event : FoundEvent
    runs : int
        Runs on each dataset, those that learnt the event included.
    confidence : float
        One minus the probability that ``lower_bound`` is too large: the family-wise error of the
        whole audit, since one event of one pair is tested, chosen on other runs.
    largest_certifiable : float
        The largest bound that so many runs could have given.
    verdict : {"violates", "consistent", "inconclusive"}
        ``"consistent"`` means that no violation was found, not that there is none.
    reason : str
        The verdict in words.
    """

    subject: str
    pair: str
    relation: str
    claimed_epsilon: float
    delta: float
    lower_bound: float
    interval: tuple[float, float]
    event: FoundEvent
    runs: int
    confidence: float
    largest_certifiable: float
    verdict: Verdict
    reason: str

    def __str__(self) -> str:
        return f"{self.subject} on {self.pair!r}: {self.verdict}. {self.reason}"


def judge(
    lower_bound: float,
    claim: float,
    largest: float,
    delta: float,
    confidence: float,
    units: str = "runs",
) -> tuple[Verdict, str]:
    """Verdict and reason; an infinite claim and too few runs never pass."""
    at = f" at delta = {delta:g}" if delta else ""
    if math.isinf(claim):
        return "inconclusive", (
            "A claim of infinite epsilon promises nothing, so nothing can hold it or break it. "
            f"Certified at {confidence:.6g}: epsilon >= {lower_bound:.4g}{at}."
        )
    if lower_bound > claim:
        return "violates", (
            f"At confidence {confidence:.6g} epsilon is at least {lower_bound:.4g}{at}, "
            f"more than the claimed {claim:.4g}."
        )
    if largest <= claim:
        return "inconclusive", (
            f"So many {units} cannot show more than epsilon = {largest:.4g}{at}, whatever the "
            f"subject does, so they cannot test a claim of {claim:.4g}. Use more {units}."
        )
    return "consistent", (
        f"No violation found: epsilon >= {lower_bound:.4g}{at} of the claimed {claim:.4g}, where "
        f"so many {units} could show up to {largest:.4g}. That is no proof."
    )
