"""The minimum of a noisy objective, as near as was asked for, whatever records and noise are.

Whether an end is found must not tell of records. So Newton's method in doubles, which finds nearly
all minima, is followed by a search that provably ends, in numbers of as many digits as it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.decimal_weights import Decimals
from dpforest.mechanisms.noisy_objective import ROUNDED, NoisyObjective, length_of
from dpforest.mechanisms.two_doubles import TwoDoubles, compile_search
from dpforest.mechanisms.weight_numbers import Numbers, Place

W = TypeVar("W")

#: Steps of Newton's method that do not halve the shortest gradient, until another search goes on.
_PATIENCE = 40
#: The same of steps that others follow anyway.
_SHORT_PATIENCE = 5
_HALVINGS = 60
#: Newton's steps are made longer at most so many times.
_LONGEST = 2.0**20
#: A step of the search that ends is a whole one of Newton's or, by halves, down to 2^-12 of it.
_SHARES = 12
#: Decimal digits at first.
_DIGITS = 60


def certified_minimum(objective: NoisyObjective, largest: float) -> list[Fraction]:
    """Weights whose gradient is no longer than asked for, exactly; secret.

    Parameters
    ----------
    objective : NoisyObjective
    largest : float
        Above 0: length of the gradient at which weights are near enough.

    Returns
    -------
    list of Fraction, of length d

    Notes
    -----
    **Claim**: it ends, and raises nothing, for all records and all noise. **Proof**:

    1. *Newton's method in doubles* ends by itself. It runs twice, by gradients in doubles and then
       by those of two doubles, which are certified. Each run goes on while lengths are halved from
       time to time, which doubles can be about 2,000 times. In real numbers too it need not find
       the minimum, since a step that ends where the slope is a half of what it was may have gone
       up.
    2. *The search*, `shortest`, takes a place only where the gradient is shorter by a share: by a
       quarter of 2^-12 at least, or by m / (4 M), m and M the least and the largest second
       derivative. Bounds on lengths count its errors. So after finitely many places it has the
       length that was asked for, or finds no next place.
    3. *It has a next place where digits are enough*. From w with the gradient g one of its offers
       is w - g / M. The gradient there is (1 - A / M) g, where A, a mean of second derivatives on
       the way, lies between m and M; so its length is at most (1 - m / M) that of g. With ever more
       digits what is computed comes as near to that as one likes, and is below
       (1 - m / (4 M)) |g|. Each time that no place is found digits are doubled, until it is found.

    Numbers of two doubles come first, and nearly always do. **Tests**:
    tests/mechanisms/test_minimum.py.
    """
    if not largest > 0.0:
        raise ValueError("no gradient is shorter than nothing")
    compile_search()
    # Numbers that overflow are met on the way, and a warning would tell of them.
    with np.errstate(all="ignore"):
        found, is_certified = newton(objective, largest)
        weights, kinds = [Fraction(weight) for weight in found.tolist()], _ever_more(objective)
        while not is_certified:
            weights, is_certified = _searched(next(kinds), weights, largest)
        return weights


def newton(objective: NoisyObjective, largest: float) -> tuple[NDArray[np.float64], bool]:
    """Newton's method in doubles, with a step's length by its slope; no step need go down.

    Returns
    -------
    weights : ndarray of float64, shape (d,)
        Those with the shortest gradient.
    is_certified : bool
        Whether that is as short as was asked for.
    """
    rests = np.zeros(objective.ridge.size)

    def gradient(weights: NDArray[np.float64], _: NDArray[np.float64]) -> NDArray[np.float64]:
        hi, lo = objective.gradient(weights, rests)
        return np.asarray(hi + lo)

    def is_certified(weights: NDArray[np.float64], length: float) -> bool:
        return length + objective.gradient_error(weights) <= largest

    begin = _roughly(objective, largest)
    return _nearest(begin, _steps(objective, gradient, begin, _PATIENCE), is_certified)


def _roughly(objective: NoisyObjective, largest: float) -> NDArray[np.float64]:
    """Weights near the minimum by gradients in doubles, which take a fraction of the time.

    Nothing is promised of them: there the steps begin whose gradients are known.
    """
    begin = np.zeros(objective.ridge.size)
    steps = _steps(objective, objective.rough_gradient, begin, _SHORT_PATIENCE)
    return _nearest(begin, steps, lambda _, length: length <= largest)[0]


def _nearest(
    best: NDArray[np.float64],
    places: Iterator[tuple[NDArray[np.float64], float]],
    is_near: Callable[[NDArray[np.float64], float], bool],
) -> tuple[NDArray[np.float64], bool]:
    """The first place that is near enough, or the one with the shortest gradient; and which."""
    shortest_yet = math.inf
    for weights, length in places:
        if is_near(weights, length):
            return weights, True
        if length < shortest_yet:
            best, shortest_yet = weights, length
    return best, False


def _steps(
    objective: NoisyObjective,
    gradient_of: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
    weights: NDArray[np.float64],
    patience: int,
) -> Iterator[tuple[NDArray[np.float64], float]]:
    """Weights of Newton's method and lengths of their gradients, at most; it ends by itself."""
    half, waited = math.inf, 0
    while waited < patience:
        scores = objective.losses.scores(weights)
        gradient = gradient_of(weights, scores)
        length = length_of(gradient) * (1.0 + ROUNDED)
        yield weights, length
        half, waited = (length / 2.0, 0) if length < half else (half, waited + 1)
        step = objective.newton_step(scores, gradient)
        if step is None:
            return
        along = _length(objective, weights, scores, step, float(gradient @ step))
        weights = weights + along * step


def _length(
    objective: NoisyObjective,
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
    step: NDArray[np.float64],
    first: float,
) -> float:
    """About where the slope along a step, which begins below 0 and rises, is 0: a half will do."""
    losses, ridge = objective.losses, objective.ridge
    along = losses.scores(step)
    linear = float(step @ (objective.noise + ridge * weights))
    square = float(step @ (ridge * step))

    def slope(times: float) -> float:
        slopes, _ = losses.slopes(scores + times * along)
        return float(slopes @ along) + linear + times * square

    return _zero_near(slope, first)


def _zero_near(slope: Callable[[float], float], first: float) -> float:
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


def _ever_more(objective: NoisyObjective) -> Iterator[Numbers[Any]]:
    """Kinds of numbers, of ever more digits, without end."""
    yield TwoDoubles(objective)
    digits = _DIGITS
    while True:
        yield Decimals(objective, digits)
        digits *= 2


def _searched(
    numbers: Numbers[W], weights: list[Fraction], largest: float
) -> tuple[list[Fraction], bool]:
    """The end of the search from weights, or from those of noise and ridge alone where nearer.

    With whether it is near enough.
    """
    starts = weights, numbers.objective.without_losses
    nearer = min((numbers.place(numbers.of(start)) for start in starts), key=lambda at: at.most)
    place = shortest(numbers, nearer, largest)
    return numbers.exactly(place.weights), place.most <= largest


def shortest(numbers: Numbers[W], place: Place[W], largest: float) -> Place[W]:
    """The first place whose gradient is short enough, or that has no next one in such numbers."""
    while not place.most <= largest:
        following = next(_following(numbers, place), None)
        if following is None:
            break
        place = following
    return place


def _following(numbers: Numbers[W], place: Place[W]) -> Iterator[Place[W]]:
    """Places near one whose gradients are shorter, each by the share that it is to be."""
    for share, weights in _offers(numbers, place):
        other = numbers.place(weights)
        if other.most <= (1 - share) * place.least:
            yield other


def _offers(numbers: Numbers[W], place: Place[W]) -> Iterator[tuple[Fraction, W]]:
    """Weights to go on to, and by which share their gradient is to be shorter.

    Along Newton's step the gradient shrinks by as much as one goes, at first; and it does along
    itself, as far as the steepest second derivative lets it.
    """
    objective = numbers.objective
    if place.least <= 0:  # nothing is known to be shorter
        return
    step = objective.newton_step(place.scores, numbers.scaled(place))
    if step is not None:
        for halvings in range(_SHARES + 1):
            yield Fraction(1, 4 * 2**halvings), numbers.moved(place, step, halvings)
    steepness = 2**objective.steepness_bits
    yield Fraction(objective.convexity) / (4 * steepness), numbers.lowered(place)
