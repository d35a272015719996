"""Clip of a regression's residuals by the public signal."""

from __future__ import annotations

from fractions import Fraction


def clip_of_targets(signal: float, limit: float, least: Fraction, most: Fraction) -> Fraction:
    """Largest residual of a target, as a share of its range; it grows with the root of a signal.

    Parameters
    ----------
    signal : float
    limit : float
        Signal up to which it is the least.
    least, most : Fraction
        Clips at the limit, and anywhere.
    """
    times = Fraction((signal / limit) ** 0.5).limit_denominator(1000)
    return min(max(least, times * least), most)
