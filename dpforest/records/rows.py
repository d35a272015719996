"""Scored candidates of several nodes, a row each, as a selection takes them; secret."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rows:
    """Scored candidates of one feature in each node; secret.

    Attributes
    ----------
    scores : ndarray of float64, shape (m,)
        In steps of the criterion's lattice; -inf where the box has no candidate.
    starts, ends : ndarray of int64, shape (n_nodes,)
        Node i has the candidates ``starts[i]:ends[i]``.
    firsts, lengths : ndarray of int64, shape (m,), or None
        A candidate stands for the codes ``firsts[j] … firsts[j] + lengths[j] - 1``, all with its
        score. None: it stands for one code, its place in the row.
    """

    scores: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    firsts: NDArray[np.int64] | None = None
    lengths: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        """Nothing of the records: it may stand in a log."""
        return "<scored candidates>"

    @classmethod
    def of_one(cls, scores: NDArray[np.float64]) -> Rows:
        """One row of all candidates."""
        return cls(scores, np.array([0]), np.array([scores.size]))

    @classmethod
    def of_table(cls, scores: NDArray[Any]) -> Rows:
        """As many candidates in each row, from scores of shape (n_rows, n_candidates)."""
        n_rows, width = scores.shape
        starts = np.arange(n_rows, dtype=np.int64) * width
        return cls(scores.ravel().astype(np.float64, copy=False), starts, starts + width)


class Totalled(Protocol):
    """A query of totals, one a candidate."""

    @property
    def most_each(self) -> int:
        """Most that one record adds to one total, from 0 on; its docstring proves it."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of candidates as their scores, one row.

    Attributes
    ----------
    query : Totalled
        The one that was asked; the bridge refuses another.

    Notes
    -----
    **Relation**: add or remove one record. **Range**: 1. **Proof**: a record adds 0 to
    ``query.most_each`` steps to each total, and a step is worth that part of 1.
    """

    query: Totalled
    score_range: ClassVar[Fraction] = Fraction(1)

    @property
    def unit(self) -> Fraction:
        """Worth of one step of a total."""
        return Fraction(1, self.query.most_each)

    def rows(self, counted: NDArray[np.int64]) -> Rows:
        """The totals; secret."""
        return Rows.of_one(counted.astype(np.float64))
