"""Protocols of what a learner hands to a sealed answer, each of which stands beside its query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.objective import Calibration, ClippedLosses
from dpforest.mechanisms.streamed import Envelope, Family
from dpforest.records.base import Query, Sensitivity, View
from dpforest.records.rows import Rows

T_contra = TypeVar("T_contra", contravariant=True)


class Score(Protocol[T_contra]):
    """Scores of candidates, made of what was counted; stands beside its query.

    Attributes
    ----------
    unit : Fraction
        What one step of the scores is worth.
    score_range : Fraction
        Largest minus smallest change of the scores by one record; its class's docstring proves it.
    """

    @property
    def unit(self) -> Fraction: ...

    @property
    def score_range(self) -> Fraction: ...

    def rows(self, counted: T_contra) -> Rows:
        """Scored candidates, a row a cell; secret."""


class Part(Protocol[T_contra]):
    """Some of what was counted, that is noised by itself; stands beside its query."""

    @property
    def query(self) -> Query | View[Any]:
        """The one that was asked."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest change of the part by one record; the docstring has the proof."""

    def counts(self, counted: T_contra) -> NDArray[np.int64]:
        """The part; secret."""


class Families(Protocol[T_contra]):
    """Sets of candidates that are too large to write down; see ``mechanisms.streamed``."""

    @property
    def unit(self) -> Fraction | Sequence[Fraction]: ...

    @property
    def score_range(self) -> Fraction: ...

    def makers(self, counted: T_contra) -> Sequence[Callable[[Envelope], Family]]:
        """A family a cell, each made when the mechanism asks for it; secret."""


class Objective(Protocol[T_contra]):
    """Losses whose noisy minimum is released; stands beside its query.

    Attributes
    ----------
    query : View
        The one that was asked.
    clip, curvature : Fraction
        Largest slope of one record's loss in its score, and how fast it grows at most; its class's
        docstring proves both.
    calibration : Calibration
        What the event's epsilon is divided into.
    """

    @property
    def query(self) -> View[Any]: ...

    @property
    def clip(self) -> Fraction: ...

    @property
    def curvature(self) -> Fraction: ...

    @property
    def calibration(self) -> Calibration: ...

    def losses(self, counted: T_contra) -> ClippedLosses:
        """The losses of all records; secret."""
