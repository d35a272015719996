"""The question of curves at once: all records, and their losses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.objective import LARGEST_CURVATURE, Calibration, ClippedLosses
from dpforest.records.counts import in_units
from dpforest.records.table import Table
from dpforest.trees.curves.at_once.columns import CurveColumns


@dataclass(frozen=True, slots=True)
class CodedRecords:
    """A look at all records: their codes, and labels or targets.

    Attributes
    ----------
    unit : int
        1, or the steps of a regression's target.
    """

    unit: int

    def look(self, table: Table) -> Table:
        """The records; secret."""
        return in_units(table, self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class CurveLosses:
    """Losses of records by the sum of their curves: of a target, or of the second of two classes.

    Attributes
    ----------
    query : CodedRecords
        The one that is asked.
    columns : CurveColumns
    start : float
        Score that curves are added to; released.
    clip : Fraction
    calibration : Calibration

    Notes
    -----
    **Relation**: add or remove one record. **Proof**: a record's loss is a function of its own
    codes and its label or target, by `ClippedLosses`, whose slope lies within the clip and grows by
    at most a quarter. Sizes of its columns add up to at most 1 in each block: parts of two knots,
    a category, or a line from -1 to 1. **Tests**: tests/trees/curves.
    """

    query: CodedRecords
    columns: CurveColumns
    start: float
    clip: Fraction
    calibration: Calibration

    #: Largest second derivative of a loss in its score.
    curvature: ClassVar[Fraction] = LARGEST_CURVATURE

    def losses(self, table: Table) -> ClippedLosses:
        """Losses of the records; secret."""
        if table.targets is not None:
            targets = table.targets / float(TARGET_STEPS)
        else:
            targets = (table.labels == 1).astype(np.float64)
        return ClippedLosses(
            table.codes, targets, table.offsets[:-1], self.columns.columns, self.columns.values,
            self.start, float(self.clip),
        )  # fmt: skip
