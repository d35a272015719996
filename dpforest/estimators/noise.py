"""Share of privacy noise in a model: what it would have been with other noise of the same law.

Released numbers are given fresh noise of the law that they were released with, and what the
learner makes of them is made again (``trees.renoised``); what was chosen stays chosen. How far the
models so made lie from the released one is the standard error of all that is read off it. Only
released values are touched, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.checks import check_integer
from dpforest.exceptions import NoiseUnknownError, ParameterError
from dpforest.trees.base import ReleasedModel, TableFacts
from dpforest.trees.population import made_up
from dpforest.trees.renoised import Renoising
from dpforest.trees.transcript import Transcript

#: Models with other noise that standard errors are made of, where nobody says how many.
N_DRAWS = 40
#: Where the fresh noise starts from. It protects nobody, so the same one each time does no harm,
#: and a model explained twice is explained alike.
_SEED = 0

#: A curve that bends less is flat: what is left is the last bits of sums.
_FLAT = 1e-18

#: Reasons for no standard errors, and what to do about them.
_FROM_A_FILE = (
    "a model that was read from a file keeps what predicts, not what got noise, so figures may be "
    "of noise alone",
    "Ask the fitted object, or a pickle of it, and keep its explanation; where all curves were "
    "learnt at once that has no errors either",
)
_OF_A_MINIMUM = (
    "curves of all features are one noisy minimum, and how far its noise moves them depends on "
    "where the records lie, which nothing released tells; figures may be of noise alone",
    "Where errors matter fit with a delta: curves take turns, and the noise of sums is known",
)

Floats = NDArray[np.float64]


def noise_draws(
    model: ReleasedModel, transcript: Transcript | None, n_draws: int
) -> tuple[ReleasedModel, ...]:
    """Models that would have been released with other noise, given the same choices.

    Parameters
    ----------
    model : ReleasedModel
    transcript : Transcript or None
        What was released on the way to the model; None where that is not known any more.
    n_draws : int

    Raises
    ------
    NoiseUnknownError
        If it is not known, and the model does not hold it; or if the model has curves at once.

    Notes
    -----
    The noise of a minimum moves it by (H + L)^-1 of itself, L the ridges and H the curvature of the
    records' losses, which is secret. With the H of records that lie evenly standard errors come
    out far too small where they do not, and with none (H = 0) so large that they say nothing:
    benchmarks/at_once_noise.py measures both. So none is given (docs/explanations.md).
    """
    generator = np.random.default_rng(_SEED)
    own = model.noise_draws(generator, n_draws)
    if own is not None:
        return own
    if transcript is None:
        raise NoiseUnknownError(*_FROM_A_FILE)
    if any(name == "minimised" for name, _ in transcript.answers):
        raise NoiseUnknownError(*_OF_A_MINIMUM)
    # Without sizes there is no population: what is counted once answers to nothing before it.
    population = None if model.known_sizes() is None else made_up(model, transcript.facts)
    before = Renoising(transcript, population)
    before.model()
    return tuple(
        Renoising(transcript, population, generator, before.sums).model() for _ in range(n_draws)
    )


def standard_errors(of: Callable[[Any], Floats], model: Any, draws: Sequence[Any]) -> Floats:
    """Standard errors of numbers that are read off a model.

    The root of the mean squared distance of the draws' numbers from the model's own; nan where all
    draws agree with it, since then no released number is in them.
    """
    own = of(model)
    squares = np.zeros_like(own)
    for draw in draws:
        squares += (of(draw) - own) ** 2
    return np.where(squares > 0, np.sqrt(squares / max(len(draws), 1)), np.nan)


def scores_of_all(models: Sequence[Any], feature: int, facts: TableFacts) -> list[Floats]:
    """``partial_scores`` of models that share their structure."""
    found: list[Floats] = models[0].partial_scores_of(models, feature, facts)
    return found


def share_as_flat(own: Floats, draws: Sequence[Floats]) -> float:
    """Share of draws in which noise alone bends a curve as far as it is bent itself.

    Parameters
    ----------
    own : ndarray of float64, shape (n_curves, n_cells)
    draws : sequence of ndarray of float64, of the same shape
        Of models with other noise: what they differ by is noise alone.

    Returns
    -------
    float
        (1 + draws that noise bends as far) / (1 + draws): for a curve that would be flat without
        noise it is at most p with a probability of about p. 1 of a curve that is flat.
    """
    bend = _bend(own)
    if bend <= _FLAT:
        return 1.0
    further = sum(_bend(draw - own) >= bend for draw in draws)
    return (1.0 + further) / (1.0 + len(draws))


def _bend(curves: Floats) -> float:
    return float(((curves - curves.mean(axis=1, keepdims=True)) ** 2).sum())


def check_draws(n_draws: Any, least: int = 0) -> int:
    """Number of draws, as somebody asked for it.

    Raises
    ------
    ParameterError, ParameterTypeError
    """
    if n_draws is None:
        return N_DRAWS
    found = check_integer(n_draws, "n_draws", least)
    if found == 1:  # what differs by one draw alone says nothing of how far noise reaches
        raise ParameterError(
            "n_draws", found, "must be 0, or at least 2", "Leave it out for standard errors of 40"
        )
    return found
