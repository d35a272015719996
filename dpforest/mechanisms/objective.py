"""Objective perturbation in pure epsilon: the minimum of a noisy objective, released exactly.

The privacy of a minimum is a theorem about real numbers, and computers have doubles. So noise is
drawn as integers, the minimum that doubles find is certified to lie close to the real one, and a
little integer noise on a lattice covers what is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.grants import Grant, consume
from dpforest.accounting.rationals import float_down
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.k_norm import k_norm_noise
from dpforest.mechanisms.noise import two_sided_geometric
from dpforest.observation import observed

#: Of what the determinant leaves of epsilon, for the lattice; the rest is for the noise.
LATTICE_SHARE = Fraction(2, 100)
#: Of what the determinant may grow by, for the constant.
CONSTANT_SHARE = Fraction(1, 4)
#: Standard deviation that the lattice's noise is to have, at most.
LATTICE_NOISE = 0.002
#: Largest exponent of the noise, times the widest block: sharper noise is found by ever more
#: attempts, and is for more epsilon than anybody spends.
SHARPEST = 0.5
#: Smallest and largest determinant, and largest curvature, whose ridges doubles hold. Ridges of
#: larger determinants are so small that doubles next to each other have gradients too far apart:
#: from 20 on the minimum of some tables is not found, and that an error comes tells of records.
_LEAST_PART, _MOST_PART, _MOST_CURVATURE = Fraction(1, 2**60), 8, 2**60
#: Largest size of a start, for the same reason: scores near it have its last digits.
_MOST_START = 100.0
#: How often the gradient at which the minimum is found may be in what the noise is as a rule: a
#: 32nd of what doubles tell apart, since noise may lie further out.
_DIGITS = 2.0**48
#: Steps of Newton's method after which something must be wrong with the code. In real numbers it
#: ends always, and in doubles once it is as close as they can tell.
_MOST_STEPS = 1000
_HALVINGS = 60
_LIMIT, _MOST = 2.0**52, 2**61
#: Newton's steps are made longer at most so many times.
_LONGEST = 2.0**20
#: Of p (1 - p), and so of a loss in its score.
LARGEST_CURVATURE = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Parts that an event's epsilon is divided into, from public numbers alone.

    Attributes
    ----------
    widths : tuple of int
        Columns of each block; the constant is the last.
    ridge : tuple of float
        Of a column of a feature, and of the constant.
    noise_step : float
        What a step of the noise is worth; a power of two.
    noise_exponent : float
        P(z) of the noise is proportional to exp(-exponent |z|).
    step : float
        Of the lattice of weights; a power of two.
    step_exponent : float
        Of the noise on the lattice.
    """

    widths: tuple[int, ...]
    ridge: tuple[float, float]
    noise_step: float
    noise_exponent: float
    step: float
    step_exponent: float

    @property
    def n_columns(self) -> int:
        """Columns of all blocks."""
        return sum(self.widths)

    @property
    def ridges(self) -> NDArray[np.float64]:
        """Ridge of each column, shape (d,)."""
        of_column, of_constant = self.ridge
        return np.append(np.full(self.n_columns - 1, of_column), of_constant)

    @property
    def largest_gradient(self) -> float:
        """Length of the gradient, in doubles, at which weights are close enough to the minimum."""
        left = self.step * min(self.ridge) - self.n_columns**0.5 * self.noise_step / 2
        return left * (1.0 - 2.0**-40)

    @classmethod
    def of(cls, event: ObjectivePerturbation, widths: Sequence[int]) -> Calibration:
        """Divide epsilon: for noise, determinant and lattice.

        Raises
        ------
        ParameterError
            When what epsilon leaves for noise is so little that doubles could not find the minimum,
            the clip is no power of two, or the blocks are others than the event's.
        """
        _check(event, widths)
        epsilon, n = Fraction(event.epsilon), sum(widths)
        left = epsilon - event.determinant
        lattice = LATTICE_SHARE * left
        ridge = _ridge(event, float_down(event.determinant))
        step_exponent = float_down(lattice / (2 * n))
        step = _power_below(LATTICE_NOISE * min(step_exponent, 1.0) / 2**0.5)
        noise_step = min(_power_below(step * min(ridge) / (2 * n**0.5)), float(event.clip))
        steps = Fraction(noise_step)
        noise_exponent = float_down((left - lattice) * steps / (event.clip + steps * max(widths)))
        noise_exponent = min(noise_exponent, SHARPEST / max(widths))
        made = cls(tuple(widths), ridge, noise_step, noise_exponent, step, step_exponent)
        reach = (n + 1) * noise_step  # of the noise, times its exponent
        if not 0.0 < reach <= noise_exponent * made.largest_gradient * _DIGITS:
            rule = "must leave more for the noise: doubles could not find the minimum"
            raise ParameterError("epsilon", event.epsilon, rule, "Spend more budget")
        return made


def _check(event: ObjectivePerturbation, widths: Sequence[int]) -> None:
    if len(widths) != event.blocks or widths[-1] != 1 or min(widths) < 1:
        rule = f"must be as many as the event has, which is {event.blocks}, with a constant last"
        raise ParameterError("widths", tuple(widths), rule, "Give the event's blocks")
    if not event.determinant < event.epsilon < math.inf:
        rule = "must be finite, and more than its part for the determinant"
        raise ParameterError("epsilon", event.epsilon, rule, "Give the noise a part of it")
    if not is_power_of_two(event.clip):
        raise ParameterError("clip", event.clip, "must be a power of two", "Round it")
    for name, most in (("determinant", _MOST_PART), ("curvature", _MOST_CURVATURE)):
        if not _LEAST_PART <= getattr(event, name) <= most:
            rule = f"must be from {_LEAST_PART} to {most}"
            raise ParameterError(name, getattr(event, name), rule, "Give what doubles can hold")


def _ridge(event: ObjectivePerturbation, determinant: float) -> tuple[float, float]:
    """Ridges of columns and of the constant: what they leave adds up to exp(determinant) - 1.

    Rounded up, with a margin for expm1.
    """
    left, constant = math.expm1(determinant) * (1.0 - 2.0**-40), float(CONSTANT_SHARE)
    bend, more = float(event.curvature), 1.0 + 2.0**-40
    n_features = max(float(event.blocks - 1), 1.0)
    return bend * n_features / ((1.0 - constant) * left) * more, bend / (constant * left) * more


def is_power_of_two(value: Fraction) -> bool:
    """True if a value, rounded down, is a power of two in doubles."""
    return math.frexp(float_down(value))[0] == 0.5


def _power_below(value: float) -> float:
    """The largest power of two that is at most a value; 0 where doubles have none."""
    return math.ldexp(1.0, math.frexp(value)[1] - 1) if value > 2.0**-1000 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ClippedLosses:
    """Losses of all records by their score; secret.

    A record's score is ``start`` plus what its columns are worth, and its loss has the slope
    c k((p - t) / c) in it, where p = 1 / (1 + exp(-score)), t is the target, c the clip, and
    k(u) = u - (4 / 27) u^3 up to 1.5, which is 1 from there on.

    Attributes
    ----------
    codes : ndarray of unsigned int, shape (n, D)
    targets : ndarray of float64, shape (n,)
        From 0 to 1.
    offsets : ndarray of int64, shape (D,)
        Flat position of code 0 of each feature.
    columns : ndarray of int64, shape (total codes, 2)
        In which columns a code lies; in the block of its feature. The constant's is the last.
    values : ndarray of float64, shape (total codes, 2)
        What it is there; sizes of a code add up to at most 1.
    start : float
        Released.
    clip : float
        A power of two.

    Notes
    -----
    **Slopes** lie within the clip, since k rises from -1 to 1: its derivative is
    1 - (4 / 9) u^2 >= 0, which is continuous. They grow by at most p (1 - p) <= 1 / 4 with the
    score, and never fall.
    """

    codes: NDArray[Any]
    targets: NDArray[np.float64]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    start: float
    clip: float

    def has_blocks(self, widths: Sequence[int]) -> bool:
        """True if columns and values, which are public, are as a record's sensitivity has them.

        Codes of each feature lie in its block, and their sizes add up to at most 1, exactly: of two
        sizes the larger is taken from 1, which loses nothing from a half on.
        """
        n_codes = np.diff([*self.offsets.tolist(), len(self.columns)])
        shapes = {self.columns.shape, self.values.shape, (int(n_codes.sum()), 2)}
        n_features = len(widths) - 1
        if not (len(shapes) == 1 and self.codes.shape == (self.targets.size, n_features)):
            return False
        if self.offsets.size != n_features or (n_codes < 0).any():
            return False
        ends = np.cumsum((0, *widths))
        first, end = np.repeat(ends[:-2], n_codes), np.repeat(ends[1:-1], n_codes)
        inside = (first[:, None] <= self.columns) & (self.columns < end[:, None])
        small, large = np.sort(np.abs(self.values), axis=1).T
        return bool(inside.all() and (small <= 1.0 - large).all())

    @property
    def _design(self) -> tuple[NDArray[Any], NDArray[np.int64], Any, Any]:
        return self.codes, self.offsets, self.columns, self.values

    def scores(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Worth of all columns together, without the start, shape (n,)."""
        from dpforest.mechanisms.kernels.objective import add_scores

        scores = np.zeros(self.targets.size)
        add_scores(*self._design, weights, scores)
        return scores

    def slopes(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Slopes and curvatures at scores without the start, shape (n,) each."""
        from dpforest.mechanisms.kernels.objective import slopes_and_curvatures

        slopes, curvatures = np.empty_like(scores), np.empty_like(scores)
        slopes_and_curvatures(scores + self.start, self.targets, self.clip, slopes, curvatures)
        return slopes, curvatures

    def gram(self, curvatures: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
        """Sum of curvature times x x', shape (d, d)."""
        from dpforest.mechanisms.kernels.objective import add_gram

        gram = np.zeros((n_columns, n_columns))
        add_gram(*self._design, curvatures, gram)
        return gram + np.tril(gram, -1).T

    def add_gradient(
        self, weights: NDArray[np.float64], hi: NDArray[np.float64], lo: NDArray[np.float64]
    ) -> None:
        """Add slopes in all columns to sums of two doubles."""
        from dpforest.mechanisms.kernels.objective import add_gradient

        add_gradient(*self._design, self.targets, self.start, self.clip, weights, hi, lo)

    def gradient_error(self, weights: NDArray[np.float64]) -> float:
        """Most that the gradient's length is off.

        A score is a sum of 2 D + 2 terms, each off by 2^-100 of all; a slope grows by a quarter of
        it and is off by 2^-78 besides, and so are sums of slopes below n by 2^-100 of n each time.
        """
        n, n_terms = float(self.targets.size), 2.0 * self.codes.shape[1] + 2.0
        largest = float(np.abs(weights).max(initial=max(1.0, abs(self.start))))
        of_record = 2.0**-78 + n_terms**2 * largest * 2.0**-100
        return weights.size**0.5 * (n * of_record + n**2 * 2.0**-100)


@observed(lambda losses, calibration, *_: calibration.widths)
def release_minimum(
    losses: ClippedLosses, calibration: Calibration, grant: Grant | None, source: RandomSource
) -> NDArray[np.int64]:
    """Release the weights at which losses, a ridge and one noisy linear term are least.

    Parameters
    ----------
    losses : ClippedLosses
    calibration : Calibration
        Of the event that was paid for.
    grant : Grant
        For an ``ObjectivePerturbation`` whose clip is that of the losses, with a curvature of at
        least 1 / 4.
    source : RandomSource

    Returns
    -------
    int64 array, shape (d,)
        Weights in steps of ``calibration.step``.

    Raises
    ------
    GrantError
        When the grant does not fit.
    ParameterError
        When the calibration is of another event, or the losses are others than it was priced for:
        by clip, curvature, or columns; or when their start, which is released, is so far out that
        doubles could not find the minimum.

    Notes
    -----
    **Claim**: ``event.epsilon``-DP. **Relation**: add or remove one record. **Sensitivity**: a
    record adds s x to the gradient, where s, its slope, lies within the clip c, and sizes in each
    block of x add up to at most 1, which is looked at; so no block moves by more than c in L1.

    **Proof**: write J(w) for the sum of losses plus w' L w / 2 + b' w, L diagonal. Its gradient is
    one to one and has continuous derivatives, H(w) + L, so for each w there is one b at which w is
    the minimum: b(w) = -(sum of slopes x + L w).

    1. *Noise*. Let b = h (z + u), z drawn by `k_norm_noise` with exponent a, and u uniform in
       [-1/2, 1/2)^d, h the noise step. Where the data have one record more, b(w) moves by at most
       c in each block, so its rounded steps by at most c / h + m, m the widest block. The density
       of b changes by at most exp(a (c / h + m)).
    2. *Determinant*. The density of the minimum is that of b(w) times det(H(w) + L). A record
       adds g x x' to H, 0 <= g <= 1 / 4, which multiplies it by 1 + g x' (H + L)^-1 x; that is at
       least 1 and at most 1 + x' L^-1 x / 4 <= 1 + ((blocks - 1) / ridge_1 + 1 / ridge_0) / 4,
       which the ridges make at most exp(determinant).
    3. *Doubles*. Nobody draws u, and doubles do not find the minimum. The weights v that were
       found have a gradient of length at most g at b = h z, so of at most g + h sqrt(d) / 2 at any
       b = h (z + u). J is convex by min(L), so v lies within that over min(L) of the minimum,
       which is at most one step of the lattice. Both cut at 2^52 steps and rounded down, each of d
       weights differs by at most one step from the minimum's. Noise with exponent e on each covers
       it: what is released has at any place at most exp(d e) times the probability that it would
       have from the real minimum, and at least exp(-d e) times. Both times, with one record more
       or less, that is exp(2 d e).

    Together a (c / h + m), the determinant's part and 2 d e are at most epsilon. What is not drawn,
    u, is averaged over in all three. **Source**: Chaudhuri, Monteleoni, Sarwate 2011 for the idea;
    Kifer, Smith, Thakurta 2012 for the determinant; Iyengar et al. 2019 for minima that are not
    exact.
    **Tests**: tests/mechanisms/test_objective.py (the gradient against fractions, the minimum
    against a slow twin, the density ratio by integration, planted faults).
    """
    _take(losses, calibration, grant)
    draw = k_norm_noise(calibration.widths, calibration.noise_exponent, source)
    weights = certified_minimum(losses, calibration, draw)
    places = np.floor(np.clip(weights / calibration.step, -_LIMIT, _LIMIT)).astype(np.int64)
    more = two_sided_geometric(places.size, calibration.step_exponent, source)
    # The sum is clipped, not the noise: noise that ends somewhere would tell neighbours apart.
    total = places.astype(object) + np.array(more, dtype=object)
    return np.clip(total, -_MOST, _MOST).astype(np.int64)


def _take(losses: ClippedLosses, calibration: Calibration, grant: Grant | None) -> None:
    """Use the grant up, once it is for these losses and this calibration."""
    event = getattr(grant, "event", None)
    if isinstance(event, ObjectivePerturbation):
        if calibration != Calibration.of(event, calibration.widths):
            rule = "must be that of the event that was paid for"
            raise ParameterError("calibration", calibration, rule, "Make it of the event")
        if event.clip != Fraction(losses.clip) or event.curvature < LARGEST_CURVATURE:
            rule = f"must have the event's clip, {event.clip}, and curvature"
            raise ParameterError("losses", losses.clip, rule, "Pay for these losses")
        if not losses.has_blocks(calibration.widths):
            rule = "must have columns in their blocks, and sizes that add up to at most 1 in each"
            raise ParameterError("losses", losses.columns.shape, rule, "Lay them out so")
        if not abs(losses.start) <= _MOST_START:
            rule = f"must be from {-_MOST_START:g} to {_MOST_START:g}"
            raise ParameterError("start", losses.start, rule, "Start nearer to a half")
    consume(grant, ObjectivePerturbation, cells=1)


def certified_minimum(
    losses: ClippedLosses, calibration: Calibration, draw: Sequence[int]
) -> NDArray[np.float64]:
    """Weights that lie within a step of the minimum, noise included; secret.

    Newton's method, with a step's length by its slope, until the gradient in numbers of two
    doubles says that they do.

    Parameters
    ----------
    losses : ClippedLosses
    calibration : Calibration
    draw : sequence of int, of length d
        The noise, in steps.

    Raises
    ------
    AssertionError
        If Newton's method does not end, which would be a fault of the code.
    """
    problem = _Problem(losses, calibration, draw)
    weights = np.zeros(calibration.n_columns)
    for _ in range(_MOST_STEPS):
        gradient = problem.gradient(weights)
        length = float(np.linalg.norm(gradient)) * (1.0 + 2.0**-40)
        if length + problem.gradient_error(weights) <= calibration.largest_gradient:
            return weights
        weights = problem.moved(weights, gradient)
    raise AssertionError("the minimum of a noisy objective was not found")


class _Problem:
    """Losses, ridge and noise of one release; secret."""

    def __init__(
        self, losses: ClippedLosses, calibration: Calibration, draw: Sequence[int]
    ) -> None:
        self.losses = losses
        self.ridge = calibration.ridges
        step = calibration.noise_step
        self.noise = np.array([float(z) for z in draw]) * step
        self.noise_rest = np.array([float(z - int(float(z))) for z in draw]) * step

    def gradient(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradient of the noisy objective, made with two doubles a number."""
        from dpforest.mechanisms.kernels.objective import add_ridge

        hi, lo = self.noise.copy(), self.noise_rest.copy()
        add_ridge(self.ridge, weights, hi, lo)
        self.losses.add_gradient(weights, hi, lo)
        return hi + lo

    def gradient_error(self, weights: NDArray[np.float64]) -> float:
        """Most that the gradient's length is off.

        Slopes of n records are added to noise and ridge, which are in each sum; so all n are off by
        2^-100 of them besides.
        """
        sizes = np.abs(self.noise) + self.ridge * np.abs(weights)
        n_sums = self.losses.targets.size + 16.0
        of_others = weights.size**0.5 * float(sizes.max()) * n_sums * 2.0**-100
        return self.losses.gradient_error(weights) + of_others

    def moved(
        self, weights: NDArray[np.float64], gradient: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weights after a step of Newton's method."""
        scores = self.losses.scores(weights)
        _, curvatures = self.losses.slopes(scores)
        hessian = self.losses.gram(curvatures, weights.size)
        hessian[np.diag_indices_from(hessian)] += self.ridge
        step = np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)
        along = self.losses.scores(step)
        linear = float(step @ (self.noise + self.ridge * weights))
        square = float(step @ (self.ridge * step))

        def slope(times: float) -> float:
            slopes, _ = self.losses.slopes(scores + times * along)
            return float(slopes @ along) + linear + times * square

        return weights + _length(slope, float(gradient @ step)) * step


def k_norm_like(calibration: Calibration, generator: np.random.Generator) -> NDArray[np.float64]:
    """Doubles with about the law of the noise, to see how far it reaches; protects nobody.

    The largest L1 has a gamma law, and each block lies anywhere within it.
    """
    scale = calibration.noise_step / calibration.noise_exponent
    radius = generator.gamma(calibration.n_columns + 1) * scale
    blocks = [generator.dirichlet(np.ones(width + 1))[:-1] for width in calibration.widths]
    signs = generator.choice([-1.0, 1.0], calibration.n_columns)
    drawn: NDArray[np.float64] = radius * signs * np.concatenate(blocks)
    return drawn


def _length(slope: Callable[[float], float], first: float) -> float:
    """About where a rising slope, which begins below 0, is 0: a half of what it was will do."""
    low, high = 0.0, 1.0
    while slope(high) < first / 2.0 and high < _LONGEST:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        if slope(high) <= -first / 2.0:
            return high
        middle = (low + high) / 2.0
        if slope(middle) < 0.0:
            low = middle
        else:
            high = middle
    return high
