"""Integer noise on counts: two-sided geometric and discrete Gaussian, drawn exactly.

The event says how far one record moves the whole array of counts (in L1, or in L2 squared):
1 for a table in which a record lies in one cell, T for T such tables released together. A
2-D array has a cell (a leaf) a row; other arrays are one cell.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.accounting.grants import Grant, consume, require_sensitivity
from dpforest.exceptions import Described, ParameterError, ParameterTypeError
from dpforest.mechanisms.base import exponent, public_shape, variance
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.slow import finish_acceptance, finish_two_sided_geometric
from dpforest.observation import observed

_ONE = Fraction(1)
_LIMIT = 2**62


@observed(public_shape)
def add_geometric_noise(
    counts: ArrayLike, grant: Grant | None, source: RandomSource
) -> NDArray[np.int64]:
    """Add two-sided geometric noise to every count: P(k) proportional to exp(-a abs(k)), exactly.

    Parameters
    ----------
    counts : array of whole numbers, of any shape
        Below 2^62 in size.
    grant : Grant
        For a ``GeometricNoise`` with ``l1_sensitivity`` >= 1. a is the largest double that is
        not larger than ``event.epsilon / event.l1_sensitivity``.
    source : RandomSource
        One word a count, and further ones where it does not decide.

    Returns
    -------
    int64 array of the shape of ``counts``
        May be negative; clipped at 2^62 on both sides.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterTypeError
        When counts are of a type that holds more than whole numbers of 64 bits.
    ParameterError
        When epsilon is so small that a is zero in doubles.

    Notes
    -----
    **Claim**: ``event.epsilon``-DP. **Relation**: add or remove one record. **Sensitivity**:
    ``event.l1_sensitivity`` in L1; for a table of class counts it is 1, since a record is
    counted in one cell. **Proof**: P(k) / P(k') <= exp(a abs(k - k')) for each count, so the
    ratio for the table is at most exp(a * L1) <= e^epsilon; clipping is post-processing.
    **Source**: Ghosh, Roughgarden, Sundararajan 2009. **Tests**: tests/mechanisms/test_noise.py
    (twin, chi-square, tails chosen by words, diffprivlib).
    """
    table = whole_counts(counts)
    require_sensitivity(grant, "l1_sensitivity", 1)
    event = consume(grant, GeometricNoise, cells=_n_cells(table))
    a = exponent(event.epsilon, event.l1_sensitivity, _ONE)
    check_exponent(a)
    noise, wide = geometric_draws(table.size, a, source)
    return noisy(table, noise, wide)


@observed(public_shape)
def add_discrete_gaussian_noise(
    counts: ArrayLike, grant: Grant | None, source: RandomSource
) -> NDArray[np.int64]:
    """Add discrete Gaussian noise to every count: P(k) proportional to exp(-k^2 / (2 s)), exactly.

    Parameters
    ----------
    counts : array of whole numbers, of any shape
        Below 2^62 in size.
    grant : Grant
        For a ``DiscreteGaussianNoise`` with ``l2_sensitivity_squared`` >= 1. s is the smallest
        double that is not smaller than ``event.sigma_squared``.
    source : RandomSource
        Two words an attempt, 1.3 to 2 attempts a count, and further ones where they do not decide.

    Returns
    -------
    int64 array of the shape of ``counts``
        May be negative; clipped at 2^62 on both sides.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterTypeError
        When counts are of a type that holds more than whole numbers of 64 bits.
    ParameterError
        When sigma squared is not a finite positive double.

    Notes
    -----
    **Claim**: rho-zCDP with rho = ``l2_sensitivity_squared / (2 sigma_squared)``. **Relation**:
    add or remove one record. **Sensitivity**: ``event.l2_sensitivity_squared``; for a table of
    class counts it is 1. **Proof**: Canonne, Kamath, Steinke 2020, Theorem 14, for noise of
    variance parameter s >= sigma_squared. The draw: a proposal with P(k) proportional to
    exp(-a abs(k)), a = 1/sqrt(s) in doubles, accepted with probability exp(-gamma),
    gamma = (abs(k) - a s)^2 / (2 s); their product is exp(-k^2 / (2 s)) times a constant,
    whatever a is (their Algorithm 3). **Tests**: tests/mechanisms/test_noise.py (twin,
    chi-square, tails chosen by words, words running out).
    """
    table = whole_counts(counts)
    require_sensitivity(grant, "l2_sensitivity_squared", 1)
    event = consume(grant, DiscreteGaussianNoise, cells=_n_cells(table))
    noise, wide = _discrete_gaussian(table.size, variance(event.sigma_squared), source)
    return noisy(table, noise, wide)


def check_exponent(a: float) -> None:
    """Refuse an exponent under which no noise has a law."""
    if a <= 0.0:
        raise ParameterError("epsilon", a, "must be positive as a double", "Spend more budget")


def two_sided_geometric(n: int, a: float, source: RandomSource) -> list[int]:
    """Draw n whole numbers k with P(k) proportional to exp(-a abs(k)), exactly, for mechanisms.

    Parameters
    ----------
    n : int
    a : float
        Above 0.
    source : RandomSource
    """
    noise, wide = geometric_draws(n, a, source)
    return [wide.get(i, value) for i, value in enumerate(noise.tolist())]


def geometric_draws(
    n: int, a: float, source: RandomSource
) -> tuple[NDArray[np.int64], dict[int, int]]:
    """Draw n values; those that doubles do not decide are in the dictionary, by position."""
    from dpforest.mechanisms.kernels import noise as kernels

    words = source.words(n)
    noise = np.empty(n, dtype=np.int64)
    wide: dict[int, int] = {}
    if kernels.two_sided_geometric_values(a, geometric_constant(a), words, noise):
        for i in np.flatnonzero(noise == kernels.UNDECIDED):
            wide[int(i)] = finish_two_sided_geometric(a, int(words[i]), source)
    return noise, wide


def _discrete_gaussian(
    n: int, sigma_squared: float, source: RandomSource
) -> tuple[NDArray[np.int64], dict[int, int]]:
    """Draw n values; those that do not fit an int64 are in the dictionary, by position."""
    from dpforest.mechanisms.kernels.noise import (
        OPEN_ACCEPTANCE,
        OPEN_PROPOSAL,
        REJECTED,
        discrete_gaussian_attempts,
    )

    a = 1.0 / math.sqrt(sigma_squared)
    constant = geometric_constant(a)
    noise = np.empty(n, dtype=np.int64)
    wide: dict[int, int] = {}
    pending = np.arange(n)
    while pending.size:
        words = source.words(2 * pending.size).reshape(-1, 2)
        values = np.empty(pending.size, dtype=np.int64)
        state = np.empty(pending.size, dtype=np.int64)
        discrete_gaussian_attempts(sigma_squared, a, constant, words, values, state)
        for i in np.flatnonzero((state == OPEN_PROPOSAL) | (state == OPEN_ACCEPTANCE)):
            proposal = finish_two_sided_geometric(a, int(words[i, 0]), source)
            wide[int(pending[i])] = proposal
            gamma = discrete_gaussian_gamma(proposal, a, sigma_squared)
            if not finish_acceptance(gamma, int(words[i, 1]), source):
                state[i] = REJECTED
                del wide[int(pending[i])]
        noise[pending] = values
        pending = pending[state == REJECTED]
    return noise, wide


def discrete_gaussian_gamma(proposal: int, a: float, sigma_squared: float) -> Fraction:
    """Return gamma, exactly: a proposal is accepted with probability exp(-gamma)."""
    s = Fraction(sigma_squared)
    return (abs(proposal) - Fraction(a) * s) ** 2 / (2 * s)


@lru_cache(maxsize=256)
def geometric_constant(a: float) -> float:
    """Return ln 2 - ln(1 + e^-a), correctly rounded."""
    with decimal.localcontext(decimal.Context(prec=50, traps=[])):
        return float(Decimal(2).ln() - (1 + (-Decimal(a)).exp()).ln())


def whole_counts(counts: ArrayLike) -> NDArray[np.int64]:
    """Counts as int64, by their type alone.

    Others would be cut or wrap around, by which one record may move them further than was paid for.
    """
    table = np.asarray(counts)
    if table.size and not np.can_cast(table.dtype, np.int64, casting="safe"):
        raise ParameterTypeError(
            "counts", Described(f"an array of {table.dtype}"), "must be whole numbers of 64 bits",
            "Sum whole numbers, and give them as int64",
        )  # fmt: skip
    return np.ascontiguousarray(table, dtype=np.int64)


def _n_cells(table: NDArray[np.int64]) -> int:
    return len(table) if table.ndim == 2 else 1


def noisy(
    table: NDArray[np.int64], noise: NDArray[np.int64], wide: dict[int, int]
) -> NDArray[np.int64]:
    """Add the noise; draws from the slow path may exceed an int64, so theirs are added in ints."""
    counts = table.ravel()
    for i in wide:
        noise[i] = 0
    total = np.clip(counts + noise, -_LIMIT, _LIMIT)
    for i, value in wide.items():
        total[i] = max(-_LIMIT, min(_LIMIT, int(counts[i]) + value))
    return total.reshape(table.shape)
