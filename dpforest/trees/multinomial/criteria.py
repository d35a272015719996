"""Scores of a split, and how far one record can move them.

A criterion gives every public candidate of a node a score, computed from the class counts
``m_c`` of the two children the candidate would make. A selection mechanism needs one number of
it, the *range*: over neighbours D and D' = D + one record, the largest minus the smallest change
over all outputs. That is ``score_range``.

What every proof below uses
---------------------------
*Relation.* Add or remove one record. Replacing one is a removal and an addition, so its range is at
most twice ``score_range``. Removal changes each output by minus what adding it back would, so the
range of a removal is that of an addition.

*One child moves.* Which candidates exist follows from the node's box, not from its records. Under
any candidate the added record, of class k say, enters exactly one child; the other child's
counts, and so its computed term, stay as they are bit for bit.

*Maxima.* If every candidate's score changes by something in [a, b], so does the maximum over any
fixed set of candidates. So the range of a feature's score (its best candidate) is that of its
candidates, and so is the range of the joint choice.

*Other nodes.* A record reaches one node of a level, so the nodes are cells in parallel.

Held by ``tests/trees/multinomial/test_criteria.py``, which measures the ranges of the compiled
scores exactly on neighbouring count tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpforest.exceptions import ParameterError
from dpforest.trees.multinomial.kernels.scoring import (
    ENTROPY_DECREASE,
    GINI_COUNT,
    GINI_DECREASE,
    LATTICE_STEPS,
    MAJORITY_COUNT,
)

_UNIT = Fraction(1, LATTICE_STEPS)


@dataclass(frozen=True, slots=True)
class Criterion:
    """A split score on a public lattice, with its range under add/remove.

    Attributes
    ----------
    name : str
        Name by which users ask for it.
    score_range : Fraction
        Largest minus smallest change over outputs, in units of the score, rounding included.
    unit : Fraction
        What one lattice step is worth; kernels give scores in steps.
    code : int
        How kernels call it.
    normalised : bool
        Whether scores are taken to 0 … 1 over the outputs of each choice. Such a score does not
        grow with the number of records.
    """

    name: str
    score_range: Fraction
    unit: Fraction
    code: int
    normalised: bool


#: Decrease of the Gini impurity, normalised to 0 … 1 over the outputs of a choice (the paper's).
#:
#: Claim: range 2. Proof: on every table each output's score is a lattice point of [0, 1] (floating
#: min–max never leaves it, whatever its rounding errors), so each output changes by an amount in
#: [-1, 1]. Reached: two outputs can swap 0 and 1.
GINI_DECREASE_CRITERION = Criterion("gini_decrease", Fraction(2), _UNIT, GINI_DECREASE, True)

#: Decrease of the entropy, normalised like :data:`GINI_DECREASE_CRITERION`; same claim, same proof.
#: There is no count-weighted entropy: adding a record to m others can move it by about 1 + ln m.
ENTROPY_DECREASE_CRITERION = Criterion(
    "entropy_decrease", Fraction(2), _UNIT, ENTROPY_DECREASE, True
)

#: Count-weighted Gini purity, the sum over both children of S = sum_c m_c**2 / m (0 if m = 0).
#:
#: It is m minus the count-weighted impurity G = m - S, so it ranks candidates as the paper's
#: decrease does, and unlike that grows with the number of records.
#:
#: Claim: range 2 + 4 steps of 2**-20, for fewer than 2**31 records.
#:
#: Proof without rounding. With p_c = m_c / m, adding a record of class k to m > 0 others changes
#: G by m (1 - 2 p_k + sum_c p_c**2) / (m + 1). As sum_c p_c**2 >= p_k**2, the bracket is at least
#: (1 - p_k)**2 >= 0; as sum_c p_c**2 <= p_k**2 + (1 - p_k)**2, it is at most 2 (1 - p_k)**2 <= 2.
#: So G changes by an amount in [0, 2), S by one in (-1, 1]; for m = 0, S changes from 0 to 1.
#:
#: Rounding. Let s = 2**20 S be a child's term in steps: s <= 2**20 m < 2**51. Its numerator, an
#: integer below 2**62, is summed exactly and rounded once to a double; one division follows;
#: multiplying by 2**20 is exact. So t = s (1 + d1)(1 + d2) is floored, |d1|, |d2| <= 2**-53,
#: whence |t - s| < 2**51 (2**-52 + 2**-106) < 0.51, and the floor lies in (s - 1.51, s + 0.51].
#: Only the entered child's term moves, so a computed change is less than 2.02 away from the change
#: of s, hence in (-2**20 - 2.02, 2**20 + 2.02). Terms are integers below 2**51, so their sum is
#: exact and the change is an integer of [-2**20 - 2, 2**20 + 2]: a range of 2**21 + 4 steps.
GINI_COUNT_CRITERION = Criterion("gini_count", 2 + 4 * _UNIT, _UNIT, GINI_COUNT, False)

#: Records that a majority vote in each child would get right, the sum of max_c m_c.
#:
#: Claim: range 1. Proof: adding a record raises one count of one child by one, so its maximum
#: rises by 0 or 1. Counts are integers, so there is no rounding.
MAJORITY_COUNT_CRITERION = Criterion(
    "majority_count", Fraction(1), Fraction(1), MAJORITY_COUNT, False
)

#: Criteria by name.
CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        GINI_DECREASE_CRITERION,
        ENTROPY_DECREASE_CRITERION,
        GINI_COUNT_CRITERION,
        MAJORITY_COUNT_CRITERION,
    )
}


def resolve_criterion(criterion: str | Criterion) -> Criterion:
    """The criterion of that name; one of ours is returned as it is.

    Parameters
    ----------
    criterion : str or Criterion

    Returns
    -------
    Criterion

    Raises
    ------
    ParameterError
        If it is neither. A criterion made by hand is refused: its range would be unproved.
    """
    if isinstance(criterion, Criterion) and criterion in CRITERIA.values():
        return criterion
    if isinstance(criterion, str) and criterion in CRITERIA:
        return CRITERIA[criterion]
    names = ", ".join(repr(name) for name in CRITERIA)
    rule = f"must be one of {names}"
    raise ParameterError("criterion", criterion, rule, "Pick one of those names")
