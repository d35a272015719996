"""The exponential mechanism over sets too large to write down, drawn exactly.

A family of candidates is never held as a list. It knows how to *propose* one, by nested draws
in integers, with a probability that is a little too large by a known factor; the mechanism
accepts it with just the probability that mends this, computed in decimals for that one
candidate. So no sum of millions of terms has to be known beyond doubt, only bounds of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import ExponentialSelection
from dpforest.accounting.grants import Grant, consume
from dpforest.mechanisms.base import exponent
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.slow import Uniform
from dpforest.observation import observed

#: Bits of the integers that bound a single factor e^(-c gap).
FACTOR_BITS = 14
#: Relative room of a bound computed in doubles; errors are below 2^-42 (kernels/selection.py).
ROOM = 1.0 + 2.0**-40
_SMALLEST_EXPONENT = -700.0


class Proposal(NamedTuple):
    """One candidate, and how far its proposal's weight lies above its exact one.

    Attributes
    ----------
    outcome : object
        What is released if it is accepted.
    ratio : Fraction
        Exact weight at gap zero over the proposal's weight; ``ratio * exp(-c * gap) <= 1``.
    gap : int
        Steps that the candidate's score lies below the family's reference.
    """

    outcome: Any
    ratio: Fraction
    gap: int


class Family(Protocol):
    """A public set of candidates with secret integer scores."""

    def propose(self, source: RandomSource) -> Proposal:
        """Draw a candidate o with probability g(o) / sum of g, exactly.

        For all candidates of the family g(o) * ratio(o) * exp(-c * gap(o)) must be the same
        constant times w(o) * exp(c * q(o)), w its public weight and q its score.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Upper bounds of the factors e^(-c gap), for one exponent c.

    Attributes
    ----------
    c : float
        Taken as the exact rational that it is; at least 0.
    """

    c: float

    def factors(self, largest_gap: int) -> NDArray[np.float64]:
        """Bounds in doubles for gaps 0 ... largest_gap; zero where the factor is below 2^-1000."""
        x = -self.c * np.arange(largest_gap + 1, dtype=np.float64)
        bounds = np.where(
            x >= _SMALLEST_EXPONENT, np.exp(np.maximum(x, _SMALLEST_EXPONENT)) * ROOM, 0.0
        )
        bounds[0] = 1.0
        return bounds

    def integers(self, largest_gap: int) -> NDArray[np.int64]:
        """Bounds of 2^FACTOR_BITS e^(-c gap) in positive integers; exact at gap 0."""
        bounds = np.floor(self.factors(largest_gap) * 2.0**FACTOR_BITS).astype(np.int64) + 1
        bounds[0] = 2**FACTOR_BITS
        return bounds


@observed(lambda families, *_, **__: len(families))
def select_exponential_streamed(
    families: Sequence[Callable[[Envelope], Family]],
    unit: Fraction | Sequence[Fraction],
    grant: Grant | None,
    source: RandomSource,
) -> list[Any]:
    """Draw one candidate of each family by the exponential mechanism, exactly.

    Candidate o of a family is drawn with probability proportional to ``w(o) * exp(c * q(o))``
    with c the largest double that is not larger than
    ``event.epsilon / event.score_range * unit``: not approximately, but as these reals.

    Parameters
    ----------
    families : sequence of callables
        Each makes a `Family` for an `Envelope`, and reads records only then. Which
        candidates and weights a family has must be public.
    unit : Fraction or sequence of Fraction
        Value of one step of the scores, of all families or one a family; public or released.
    grant : Grant
        For an ``ExponentialSelection`` over at least as many cells as families.
    source : RandomSource

    Returns
    -------
    list of outcomes, one a family

    Raises
    ------
    ValueError
        When units are not as many as families.
    GrantError
        When the grant does not fit. No family is made in either case.

    Notes
    -----
    **Claim**: each draw is ``event.epsilon``-DP and ``event.epsilon``-bounded-range; families
    over disjoint records are parallel cells. **Relation**: add or remove one record.
    **Sensitivity**: ``event.score_range``, which the family's learner proves. **Proof**: o is
    proposed with probability g(o) / G and accepted with ratio(o) exp(-c gap(o)) <= 1; the
    product is proportional to w(o) exp(c q(o)) by what a family promises, and drawing afresh
    until something is accepted conditions on acceptance (rejection sampling). So it is
    `select_exponential`'s law, and its proof holds. How often is drawn afresh is time, which
    is not covered. **Tests**: tests/mechanisms/test_streamed.py (the law of
    `select_exponential` on the same candidates, chi-square, acceptance at chosen words,
    candidates below 2^-60), tests/trees/rules/test_family.py.
    """
    event = consume(grant, ExponentialSelection, cells=len(families))
    units = [unit] * len(families) if isinstance(unit, Fraction) else unit
    envelopes = [Envelope(exponent(event.epsilon, event.score_range, one)) for one in units]
    pairs = list(zip(families, envelopes, strict=True))
    return [_draw(make(envelope), envelope.c, source) for make, envelope in pairs]


def _draw(family: Family, c: float, source: RandomSource) -> Any:
    while True:
        proposal = family.propose(source)
        if accept(proposal.ratio, c, proposal.gap, source):
            return proposal.outcome


def accept(ratio: Fraction, c: float, gap: int, source: RandomSource) -> bool:
    """Accept with probability ratio * exp(-c * gap), exactly, by as many words as it takes.

    Parameters
    ----------
    ratio : Fraction
        Positive.
    c : float
        Taken as the exact rational that it is.
    gap : int
        Not negative.
    source : RandomSource
        At least one word, unless the probability is 1 by ``ratio == 1`` and ``gap == 0``.
    """
    if ratio == 1 and not gap:
        return True
    uniform = Uniform(int(source.words(1)[0]))
    while True:
        with uniform.context(c * gap):
            factor = (-Decimal(c) * gap).exp()
            probability = factor * Decimal(ratio.numerator) / Decimal(ratio.denominator)
            scale = Decimal(2) ** uniform.bits
            if Decimal(uniform.word + 1) / scale < probability - uniform.error():
                return True
            if Decimal(uniform.word) / scale > probability + uniform.error():
                return False
        uniform = uniform.refined(source)


def pick(weights: NDArray[np.int64], source: RandomSource) -> int:
    """Draw an index with probability proportional to integer weights, exactly.

    Parameters
    ----------
    weights : int64 array, shape (m,)
        Not negative; their sum is positive and below 2^63.
    source : RandomSource
        At least one word.
    """
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, draw_one_below(int(sums[-1]), source), side="right"))


def draw_one_below(bound: int, source: RandomSource) -> int:
    """Draw a uniform integer in [0, bound), exactly: words above the last multiple are redrawn."""
    n_words = max(1, math.ceil(bound.bit_length() / 64))
    limit = 2 ** (64 * n_words)
    while True:
        word = 0
        for part in source.words(n_words).tolist():
            word = word << 64 | part
        if word < limit - limit % bound:
            return word % bound


@dataclass(frozen=True, slots=True, eq=False)
class StreamedBlocks:
    """A family whose candidates come block by block; one block at a time is in memory.

    Parameters
    ----------
    block : callable
        Scores of block k, an int64 array that is not empty; called again when k is proposed,
        and must give the same scores then. An outcome is (block, place in it).
    envelope : Envelope
    """

    block: Callable[[int], NDArray[np.int64]]
    envelope: Envelope
    _tops: list[int]
    _bounds: NDArray[np.int64]
    _weights: NDArray[np.int64]

    @classmethod
    def of(
        cls, block: Callable[[int], NDArray[np.int64]], n_blocks: int
    ) -> Callable[[Envelope], StreamedBlocks]:
        """Arguments for `select_exponential_streamed`; scores are read when it calls.

        There are at most 2^20 blocks, of at most 2^20 candidates.
        """

        def make(envelope: Envelope) -> StreamedBlocks:
            tops, sums = [], []
            for k in range(n_blocks):
                scores = block(k)
                tops.append(int(scores.max()))
                sums.append(int(_bounds_of(scores, tops[-1], envelope).sum()))
            totals = np.array(sums, dtype=np.int64)
            gaps = max(tops) - np.array(tops, dtype=np.int64)
            # Sums are below 2^35, so doubles hold them; +1 makes up for the floor.
            weights = np.floor(totals * envelope.factors(int(gaps.max()))[gaps]) + 1
            whole = np.where(gaps == 0, totals, weights.astype(np.int64))
            return cls(block, envelope, tops, totals, whole)

        return make

    def propose(self, source: RandomSource) -> Proposal:
        k = pick(self._weights, source)
        scores, top = self.block(k), self._tops[k]
        bounds = _bounds_of(scores, top, self.envelope)
        j = pick(bounds, source)
        ratio = Fraction(
            int(self._bounds[k]) * 2**FACTOR_BITS, int(self._weights[k]) * int(bounds[j])
        )
        return Proposal((k, j), ratio, max(self._tops) - int(scores[j]))


def _bounds_of(scores: NDArray[np.int64], top: int, envelope: Envelope) -> NDArray[np.int64]:
    gaps = top - scores
    return envelope.integers(int(gaps.max()))[gaps]
