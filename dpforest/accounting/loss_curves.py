"""Hockey-stick curves: what Gaussians, selections and pure releases come to together.

Write H(x) for the largest P(S) - e^x Q(S), where P and Q are the laws of everything released on
two neighbours: (epsilon, delta)-DP says that H(epsilon) <= delta, both ways. With l = dP/dQ it is
E_Q (l - e^x)+, a sum of convex functions of l; each release multiplies l by a factor of its own
with mean 1 under Q, whatever was released before. So, going backward from the last release,

    V_k(z) = sup over the factors l_k that release k may have of E V_{k+1}(z l_k),  V_n = (z - e^x)+

bounds the curve of an adaptive sequence by V_0(1), and every V_k is convex and increasing in z.
The factors of three kinds:

* **Gaussian**: dominated by one law, the normal shift of mu standard deviations (see
  ``certificates``). Shifts of several compose to one, mu^2 added up; H is the curve of Balle and
  Wang (2018, Theorem 8).
* **Bounded range** (the exponential mechanism; Dong, Durfee, Rogers 2020): l lies in
  [e^(t - epsilon), e^t] for some t in [0, epsilon] that may depend on what was released before.
  Under a convex V the worst such l with mean 1 sits on the two ends, at the upper one with
  probability (e^-t - e^-epsilon) / (1 - e^-epsilon); the worst t is found for every z.
* **Pure**: the same with the ends -epsilon and epsilon (randomised response; Kairouz, Oh,
  Viswanath 2015).

A step with one fixed law of factors, L, and a step B that is a sup over laws satisfy L B >= B L: to
choose after having seen more is never worse for the chooser. So all fixed laws are put first,
whatever their true place, and the selections are worked through backward in their own order.

Everything is computed in doubles by sums of positive terms; ``certificates`` adds the slack.
Held by tests/accounting/test_loss_curves.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr

Floats = NDArray[np.float64]

#: Cells into which the range of one selection is cut; few selections are cut finer.
_CELLS = 8
_FINE_CELLS = 64
_FEW = 8
#: Work of one offset for each atom of pure releases, which is gone through once for each epsilon
#: that is tried: some dozens.
_WORK_OF_ATOM = 64
#: Steps to which a guess is rounded down: libraries and processors differ by some 1e-13 of it.
_SHARED = 2**24


@dataclass(frozen=True, slots=True, eq=False)
class StepCurve:
    """The convex curve V(z) = sum over k of weights[k] (z - e^offsets[k])+.

    Attributes
    ----------
    offsets, weights : ndarray of float64
        Weights are not negative and sum to 1; an offset of -inf stands for e^offset = 0.
    """

    offsets: Floats
    weights: Floats

    def with_pure(self, epsilon: float, times: int) -> StepCurve:
        """After ``times`` randomised responses at epsilon, which come before: a fixed law.

        E V(z l) with l = e^(+-epsilon) is again such a curve: l (z - e^offset / l)+ moves the
        offset by -+epsilon and puts the weight P(loss = +-epsilon) on it.
        """
        ups = np.arange(times + 1)
        logs = gammaln(times + 1) - gammaln(ups + 1) - gammaln(times - ups + 1)
        logs += ups * epsilon - times * np.logaddexp(0.0, epsilon)
        moves = (times - 2 * ups) * epsilon
        weights = self.weights[:, None] * np.exp(logs)
        return StepCurve((self.offsets[:, None] + moves).ravel(), weights.ravel())

    def with_gaussian(self, mu: float, epsilon: float) -> tuple[float, float]:
        """E V(l) for V with its kink at e^epsilon and l the factor of a normal shift by mu.

        Returns
        -------
        delta : float
        scale : float
            Sum of the terms whose differences it is made of, which its rounding is relative to.
        """
        curves, scales = gaussian_curve(mu, epsilon + self.offsets)
        return float(self.weights @ curves), float(self.weights @ scales)


#: Nothing but the kink itself.
KINK = StepCurve(np.zeros(1), np.ones(1))


def gaussian_curve(mu: float, epsilons: Floats) -> tuple[Floats, Floats]:
    """Balle and Wang 2018, Theorem 8: H of two normal laws mu standard deviations apart.

    Returns
    -------
    curve : ndarray of float64
        Phi(mu/2 - x/mu) - e^x Phi(-mu/2 - x/mu); 1 at x = -inf, (1 - e^x)+ for mu = 0.
    scale : ndarray of float64
        Its first term.
    """
    if mu == 0.0:
        curve = np.maximum(-np.expm1(epsilons), 0.0)
        return curve, curve
    finite = np.where(np.isneginf(epsilons), 0.0, epsilons)
    # Far out a probability is 0, whatever numpy was told to make of that.
    with np.errstate(under="ignore"):
        first = np.exp(log_ndtr(mu / 2 - finite / mu))
        # e^x times a small probability, as one exponential: neither may overflow alone.
        second = np.exp(np.minimum(finite + log_ndtr(-mu / 2 - finite / mu), 0.0))
    curve = np.where(np.isneginf(epsilons), 1.0, np.maximum(first - second, 0.0))
    return curve, np.where(np.isneginf(epsilons), 1.0, first)


@lru_cache(maxsize=256)
def gaussian_shift(epsilon: float, delta: float) -> float:
    """The mu at which the Gaussian curve is delta at epsilon, for a first guess; 0 < delta < 1.

    Plans are made from it to its last digit, and made again elsewhere: reports are verified, and
    reserves of a ledger are taken up. So it has no digits in which machines differ.
    """
    low, high = 0.0, 1.0
    while gaussian_curve(high, np.array([epsilon]))[0][0] < delta:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        if gaussian_curve(middle, np.array([epsilon]))[0][0] < delta:
            low = middle
        else:
            high = middle
    mantissa, exponent = math.frexp(low)
    return math.ldexp(math.floor(mantissa * _SHARED), exponent) / _SHARED


@lru_cache(maxsize=256)
def selections_curve(selections: tuple[tuple[float, int], ...], reach: int) -> StepCurve:
    """The curve before a sequence of bounded-range selections with its kink at 1 after them.

    Parameters
    ----------
    selections : tuple of (epsilon, times)
        In the order of their release.
    reach : int
        Standard deviations of the loss beyond which the curve is bounded by straight lines.

    Notes
    -----
    Going from one grid to another, a curve is read on the new grid and joined by straight lines
    in z: above a convex function.
    """
    curve = KINK
    for epsilon, times in reversed(selections):
        curve = _before_equal_selections(curve, epsilon, times, reach)
    return curve


def _before_equal_selections(curve: StepCurve, epsilon: float, times: int, reach: int) -> StepCurve:
    """The curve before ``times`` selections of one epsilon.

    V is held at the points of a grid and joined by straight lines in z, from (0, 0) below the grid
    and with slope 1 above it, each an upper bound of a convex V with V(0) = 0 and slopes at
    most 1.
    """
    finite = curve.offsets[np.isfinite(curve.offsets)]
    grid = _grid(float(finite.min()), float(finite.max()), epsilon, times, reach)
    places = grid.width * np.arange(grid.low, grid.high + 1)
    points = np.exp(places)
    values = _values(curve, points)
    for _ in range(times):
        values = _before_one_selection(points, values, epsilon, grid.n_cells)
    slopes = np.diff(values, prepend=0.0) / np.diff(points, prepend=0.0)
    weights = np.maximum(np.diff(slopes, prepend=0.0, append=1.0), 0.0)
    return StepCurve(np.concatenate([[-np.inf], places]), weights)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Offsets at which a curve is held: whole multiples of a width, from ``low`` to ``high``."""

    n_cells: int
    width: float
    low: int
    high: int


def _grid(least: float, largest: float, epsilon: float, times: int, reach: int) -> _Grid:
    """For ``times`` selections before a curve with offsets from ``least`` to ``largest``."""
    n_cells = _FINE_CELLS if times <= _FEW else _CELLS
    width = epsilon / n_cells
    half = min(times * n_cells, math.ceil(reach * math.sqrt(times) * n_cells / 2) + n_cells)
    low = math.floor(least / width) - half - n_cells
    high = math.ceil(largest / width) + half + n_cells
    return _Grid(n_cells, width, low, high)


def curve_work(selections: tuple[tuple[float, int], ...], reach: int, n_atoms: int = 1) -> float:
    """Steps that :func:`selections_curve` takes, told without taking them.

    Parameters
    ----------
    selections, reach
        As there.
    n_atoms : int
        Atoms of the pure releases that the curve is then multiplied by.

    Returns
    -------
    float
        Cells of grids that are gone through; infinite where there is no such grid in doubles.
    """
    work, size = 0, 1
    try:
        for grid, times in _grids(selections, reach):
            size = grid.high - grid.low + 2
            work += times * size * grid.n_cells
        return float(work + _WORK_OF_ATOM * size * (n_atoms - 1))
    except (OverflowError, ZeroDivisionError):
        return math.inf


def curve_range(selections: tuple[tuple[float, int], ...], reach: int) -> float:
    """Largest offset that :func:`selections_curve` comes to hold; infinite beyond doubles."""
    try:
        grids = [grid for grid, _ in _grids(selections, reach)]
    except (OverflowError, ZeroDivisionError):
        return math.inf
    # Each grid reaches further than the one before it.
    return max(grids[-1].width * grids[-1].high, -grids[-1].width * grids[-1].low) if grids else 0.0


def _grids(selections: tuple[tuple[float, int], ...], reach: int) -> Iterator[tuple[_Grid, int]]:
    """The grids that selections are worked through on, each with how many; OverflowError beyond."""
    least = largest = 0.0
    for epsilon, times in reversed(selections):
        grid = _grid(least, largest, epsilon, times, reach)
        least, largest = grid.width * grid.low, grid.width * grid.high
        if not math.isfinite(largest - least):
            raise OverflowError("a grid ends beyond the doubles")
        yield grid, times


def _values(curve: StepCurve, points: Floats) -> Floats:
    """V at the points, ascending."""
    order = np.argsort(curve.offsets)
    kinks, weights = np.exp(curve.offsets[order]), curve.weights[order]
    below = np.searchsorted(kinks, points, side="right")
    slopes = np.concatenate([[0.0], np.cumsum(weights)])
    at_kinks = np.concatenate([[0.0], np.cumsum(slopes[1:-1] * np.diff(kinks))])
    last = np.maximum(below - 1, 0)
    return np.where(below > 0, at_kinks[last] + slopes[below] * (points - kinks[last]), 0.0)


def _before_one_selection(points: Floats, values: Floats, epsilon: float, n_cells: int) -> Floats:
    """sup over t of q V(z e^t) + (1 - q) V(z e^(t - epsilon)) at every point z; new values.

    With u = e^-t and c = e^-epsilon, q = (u - c) / (1 - c). While t runs through one cell both ends
    run through one cell, where V is a + b z (upper end) and a' + b' z (lower end), and the sum is
    a constant - [(a' - a) u + (b - b') z c / u] / (1 - c): concave, since b >= b' and a' >= a, with
    its top at u = sqrt((b - b') z c / (a' - a)), or at an end of the cell; what an error in u costs
    is of second order. a + b z loses digits as b z / V does, some thousandfold where V is followed.
    """
    c = math.exp(-epsilon)
    slopes = np.diff(values) / np.diff(points)
    constants = values[:-1] - slopes * points[:-1]
    # Cell j of the range [0, epsilon] of t, counted from below: windows over cells of the grid.
    window = np.lib.stride_tricks.sliding_window_view
    n_inner = points.size - 2 * n_cells
    b, a = (window(x, n_cells)[n_cells:][:n_inner] for x in (slopes, constants))
    b_low, a_low = (window(x, n_cells)[:n_inner] for x in (slopes, constants))
    z = points[n_cells:-n_cells, None]
    ends = np.exp(-epsilon / n_cells * np.arange(n_cells + 1))
    falls, rises = np.maximum(a_low - a, 1e-300), np.maximum(b - b_low, 0.0) * (c * z)
    u = np.clip(np.sqrt(rises / falls), ends[1:], ends[:-1])
    upper, lower = a + b * (z / u), a_low + b_low * (c * z / u)
    inner = (((u - c) * upper + (1.0 - u) * lower) / (1.0 - c)).max(axis=1)
    below = inner[0] / points[n_cells] * points[:n_cells]
    above = inner[-1] + points[-n_cells:] - points[-n_cells - 1]
    return np.concatenate([below, inner, above])
