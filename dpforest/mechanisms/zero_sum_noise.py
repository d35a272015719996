"""Integer noise on rows that add up to nothing: noise that does so, too, which is less of it.

Residuals of several classes add up to nothing for every record, so their sums do, whatever the
records are. Noise that leaves that plane tells nobody less about them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpforest.accounting.events import ZeroSumGeometricNoise
from dpforest.accounting.grants import Grant, consume, require_sensitivity
from dpforest.exceptions import Described, ParameterError
from dpforest.mechanisms.base import exponent, public_shape
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import (
    check_exponent,
    geometric_constant,
    geometric_draws,
    noisy,
    whole_counts,
)
from dpforest.mechanisms.slow import finish_acceptance, finish_two_sided_geometric
from dpforest.observation import observed


@observed(public_shape)
def add_zero_sum_geometric_noise(
    counts: ArrayLike, grant: Grant | None, source: RandomSource
) -> NDArray[np.int64]:
    """Add geometric noise to rows, of which leading columns add up to nothing, exactly.

    Parameters
    ----------
    counts : array of whole numbers, shape (n, m)
        Below 2^62 in size; the first ``event.columns`` of each row add up to nothing. The last of
        them is made of the others here, so that it holds.
    grant : Grant
        For a ``ZeroSumGeometricNoise`` with ``l1_sensitivity`` >= 1, over at least n cells. a is
        the largest double that is not larger than ``event.epsilon / event.l1_sensitivity``.
    source : RandomSource
        A word a number, and so many again for each row that is not kept: of 3, 4, 7 and 10
        columns .38, .31, .23 and .19 are. Further ones where words do not decide.

    Returns
    -------
    int64 array of shape (n, m)
        Its leading columns add up to nothing, unless a number was clipped at 2^62.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterTypeError
        When counts are of a type that holds more than whole numbers of 64 bits.
    ParameterError
        When there are no rows of so many columns, or epsilon is so small that a is zero in doubles.

    Notes
    -----
    **Claim**: ``event.epsilon``-DP. **Relation**: add or remove one record. **Sensitivity**:
    ``event.l1_sensitivity`` in L1, over all columns, where what a record adds has leading columns
    that add up to nothing. **Proof**: the noise k of a row has P(k) = Z^-1 exp(-a abs(k)_1) over
    the lattice of rows whose leading columns add up to nothing. Two neighbouring tables differ by a
    d of that lattice, so the same outputs are possible, and P(k) / P(k - d) <= exp(a abs(d)_1);
    over all rows the ratio is at most exp(a * L1) <= e^epsilon; clipping is post-processing. This
    is the K-norm mechanism, K the L1 ball of the lattice. The draw: n - 1 geometric numbers, and
    less their sum, k_n, kept with probability exp(-a abs(k_n)), so that the product is
    exp(-a abs(k)_1). Whether one was kept depends on the noise alone. **Source**: Hardt, Talwar
    2010. **Tests**: tests/mechanisms/test_zero_sum_noise.py (twin, chi-square on the whole law,
    tails chosen by words, other scales rejected).
    """
    require_sensitivity(grant, "l1_sensitivity", 1)
    table = whole_counts(counts)
    columns = _columns_of(grant, table)
    event = consume(grant, ZeroSumGeometricNoise, cells=len(table))
    a = exponent(event.epsilon, event.l1_sensitivity, Fraction(1))
    check_exponent(a)
    table = table.copy()
    table[:, columns - 1] = -table[:, : columns - 1].sum(axis=1)
    noise = np.empty(table.shape, dtype=np.int64)
    noise[:, :columns], wide = _zero_sum(len(table), columns, a, source)
    others = noise[:, columns:]
    drawn, more = geometric_draws(others.size, a, source)
    others[:] = drawn.reshape(others.shape)
    width, n_others = table.shape[1], others.shape[1]
    far = {i * width + k: value for (i, k), value in wide.items()}
    far |= {
        place // n_others * width + columns + place % n_others: value
        for place, value in more.items()
    }
    return noisy(table, noise.ravel(), far)


def _columns_of(grant: Grant | None, table: NDArray[np.int64]) -> int:
    """Columns that add up to nothing, once the table has them."""
    event = getattr(grant, "event", None)
    columns = int(event.columns) if isinstance(event, ZeroSumGeometricNoise) else 2
    if table.ndim != 2 or table.shape[1] < columns:
        raise ParameterError(
            "counts", Described(f"an array of shape {table.shape}"),
            f"must have rows of {columns} columns at least", "Give a cell a row",
        )  # fmt: skip
    return columns


def _zero_sum(
    n: int, columns: int, a: float, source: RandomSource
) -> tuple[NDArray[np.int64], dict[tuple[int, int], int]]:
    """Draw n rows that add up to nothing; those that doubles do not hold are in the dictionary."""
    from dpforest.mechanisms.kernels.noise import (
        OPEN_ACCEPTANCE,
        OPEN_PROPOSAL,
        REJECTED,
        zero_sum_attempts,
    )

    noise = np.zeros((n, columns), dtype=np.int64)
    wide: dict[tuple[int, int], int] = {}
    pending = np.arange(n)
    while pending.size:
        words = source.words(pending.size * columns).reshape(-1, columns)
        rows = np.zeros((pending.size, columns), dtype=np.int64)
        state = np.empty(pending.size, dtype=np.int64)
        zero_sum_attempts(a, geometric_constant(a), words, rows, state)
        for i in np.flatnonzero((state == OPEN_PROPOSAL) | (state == OPEN_ACCEPTANCE)):
            row = finished_row(a, words[i].tolist(), source)
            if row is None:
                state[i] = REJECTED
                continue
            rows[i] = 0
            wide |= {(int(pending[i]), k): value for k, value in enumerate(row)}
        noise[pending] = rows
        pending = pending[state == REJECTED]
    return noise, wide


def finished_row(a: float, words: list[int], source: RandomSource) -> list[int] | None:
    """One attempt at a row, in decimals; None where it is not kept.

    Run from the first word it is the slow twin of the kernel.
    """
    row = [finish_two_sided_geometric(a, word, source) for word in words[:-1]]
    last = -sum(row)
    kept = finish_acceptance(Fraction(a) * abs(last), words[-1], source)
    return [*row, last] if kept else None
