"""The public lattice on which residuals are summed, and what one record can change there."""

from __future__ import annotations

from fractions import Fraction

#: Steps of a residual of 1. Rounding toward zero loses half a step a record, far below the noise.
STEPS = 2**16
#: What a record counts for in the column of sizes: a fifth of the largest residual.
SIZE_STEPS = STEPS // 5

#: Range of the score of a candidate tree, in units of 1.
#:
#: The score is the sum over leaves of |G| (two classes) or half the L1 of G over classes. One
#: record has ``|r| <= 1``, or half the L1 of r at most 1, *after* rounding toward zero, and lies
#: in one leaf of every tree. So every score moves by something in [-1, 1].
SCORE_RANGE = Fraction(2)
#: Value of one step of the score.
SCORE_UNIT = Fraction(1, STEPS)


def n_score_columns(n_classes: int) -> int:
    """Columns of scores and residuals: the log-odds of class 1, or one a class."""
    return 1 if n_classes == 2 else n_classes


def residual_bound_squared(n_classes: int) -> int:
    """Largest square of one record's residuals, in steps squared.

    One column: ``|r| <= STEPS``. More: the others' sizes add up to at most STEPS, so their
    squares add up to at most STEPS**2, and the label's own is their sum: 2 STEPS**2 together.
    """
    return STEPS**2 if n_classes == 2 else 2 * STEPS**2


def sums_sensitivity_squared(n_classes: int) -> Fraction:
    """L2 squared of what one record adds to the sums of one tree: residuals and its size."""
    return Fraction(residual_bound_squared(n_classes) + SIZE_STEPS**2)
