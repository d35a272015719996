"""About how many records a fit saw, as far as its own releases say.

What the domain does not declare is dropped, and how much of it there was stays secret. But counts
of all records that were released, noise and all, are public: where they add up to far less than
was declared, labels or values were written in another way than the domain has them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpforest.exceptions import FewRecordsWarning
from dpforest.searches import warn_in_search
from dpforest.trees.base import PRIOR_ROLE
from dpforest.trees.one_shot.plan import OneShotShape, Role
from dpforest.trees.rules.plan import COUNT_ROLE, RulesShape
from dpforest.trees.transcript import Noised, Transcript

#: Share of the declared records below which a fit warns, and a forecast goes by what was counted;
#: training parts of folds are larger.
FEWEST = 0.5
#: Deviations of the noise that it waits for. With right numbers noise has to reach further by
#: `FEWEST` of the records: where these are no more than a deviation, so that it says least, two
#: counts with geometric noise do so in one of 100,000 fits.
SURE = 6.0


@dataclass(frozen=True, slots=True)
class Counted:
    """A noisy number of records.

    Attributes
    ----------
    records : float
    deviation : float
        Standard deviation of the noise.
    """

    records: float
    deviation: float

    def is_few(self, declared: float) -> bool:
        """True if there are far fewer than the declared records, and hardly by noise alone."""
        return self.records + SURE * self.deviation < FEWEST * declared


def counted_records(transcript: Transcript | None) -> Counted | None:
    """Sum of the released class counts that say most; None where none were released.

    Parameters
    ----------
    transcript : Transcript or None

    Notes
    -----
    **Claim**: costs nothing. **Proof**: a function of released values and public facts. **Tests**:
    tests/estimators/test_counted.py.
    """
    if transcript is None:
        return None
    # Rules count records, whole ones in regressions too.
    unit = 1 if isinstance(transcript.shape, RulesShape) else transcript.facts.unit
    times = {PRIOR_ROLE: unit, COUNT_ROLE: 1}
    if isinstance(transcript.shape, OneShotShape):
        times[Role.LEAVES] = unit * transcript.shape.size.n_trees
    released = [answer for name, answer in transcript.answers if name == "noised"]
    sums = [_sum_of(one, times[one.role]) for one in released if one.role in times]
    return min(sums, key=lambda one: one.deviation, default=None)


def _sum_of(released: Noised, times: int) -> Counted:
    """Records of counts in which each is so many times, as in those of each tree."""
    values = np.asarray(released.values)
    deviation = (released.variance * values.size) ** 0.5
    return Counted(float(values.sum()) / times, deviation / times)


def warn_of_few(
    counted: Counted, declared: float | None, stacklevel: int, search: str | None = None
) -> None:
    """Warn that releases say that most of the declared records were not there, or dropped."""
    text = (
        f"released counts add up to about {max(round(counted.records), 0):,} of {declared:,.0f} "
        "declared records. Either the table is far smaller than was declared, or records were "
        "dropped because the domain does not declare their labels or values: see Domain.check "
        "(`dpforest domain check`)"
    )
    warn_in_search(text, FewRecordsWarning, search, stacklevel=stacklevel + 1)
