"""The plan of selected rules: a few draws of whole trees, and counts of their leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.releases import LearnerBudget, Plan, Release, once
from dpforest.records.counts import ClassCounts
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.rules.family import FamilyWeights
from dpforest.trees.rules.offers import inner_cuts
from dpforest.trees.rules.queries import LEAF_COUNTS_SENSITIVITY, TreesOfHeightTwo
from dpforest.trees.rules.settings import MANY_CLASSES, SEVERAL_CLASSES, RulesSettings

OWNER = "rules"
COUNT_ROLE = "leaf counts"
#: Leaves of a drawn tree, at most: the cells in which a second stage draws in parallel.
LEAVES_OF_A_STAGE = 4
#: R where no row count is declared: a modest confidence, one tree, nothing counted.
_UNKNOWN_SIGNAL = 20.0
#: Stages of which each is drawn with the whole family, and that memory always holds.
_FIRST_STAGES = 3
#: Probabilities of a model up to which more than three stages are drawn: they have to be held.
_MOST_CELLS = 2**20
#: Classes up to which the bounds of a family's trees stay below 2^63; of more, class shares alone.
_MOST_CLASSES = 4096
#: Cuts of a direction that many features leave at least: three lose points that seven do not.
_FEWEST_CUTS = 7
#: Records whose bits take as long to compare as the bounds of one class, and records from which on
#: the work below has shrunk families already.
_RECORDS_A_CLASS, _MANY_RECORDS = 1200, 10_000


def stage_role(stage: int) -> str:
    """Role of a stage in the ledger."""
    return f"rules, stage {stage + 1}"


def cells_role(stage: int) -> str:
    """Role of the class counts in the cells of a stage, which are the leaves of the one before."""
    return f"leaf counts before stage {stage + 1}"


@dataclass(frozen=True, slots=True)
class FamilySize:
    """Number of directions of a family: sums, single ones at most, and cuts of each at most."""

    n_sums: int
    n_singles: int
    n_cuts: int

    def halved(self) -> FamilySize:
        """Half the sums and half the cuts, a quarter of the pairs of cuts that are weighed."""
        return FamilySize(-(-self.n_sums // 2), self.n_singles, -(-self.n_cuts // 2))

    def with_fewer_cuts(self, least: int) -> FamilySize:
        """One cut less where that leaves so many, else a fifth of the directions less."""
        if self.n_cuts > least:
            return replace(self, n_cuts=self.n_cuts - 1)
        return self.with_fewer_directions()

    def with_fewer_directions(self) -> FamilySize:
        """A fifth of the directions less."""
        return replace(self, n_sums=int(self.n_sums * 0.8), n_singles=int(self.n_singles * 0.8))


@dataclass(frozen=True, slots=True)
class RulesShape:
    """Sizes of selected rules, and how released values become probabilities.

    Attributes
    ----------
    n_classes : int
    n_stages : int
        The first draws a tree of height at most two on all records, every further one such a
        tree in each leaf that is there. 0 where the budget teaches the class shares only.
    size : FamilySize
        Of the first three stages, and of two classes of all.
    signal : float
        R, from the declared or bought row count; the confidence of uncounted labels follows.
    settings : RulesSettings
    """

    n_classes: int
    n_stages: int
    size: FamilySize
    signal: float
    settings: RulesSettings

    def size_at(self, stage: int) -> FamilySize:
        """Size of the family of a stage: there are many small cells from the fourth on."""
        return self.size.halved() if self.n_classes > 2 and stage >= _FIRST_STAGES else self.size


RulesPlan: TypeAlias = Plan[RulesShape]


def build_plan(facts: TableFacts, budget: LearnerBudget, settings: RulesSettings) -> RulesPlan:
    """Make a plan that costs exactly epsilon, purely, from public facts alone.

    Delta is not used: the draws are epsilon-DP, and at a small R that is worth more than what
    rho would buy.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` one tree is drawn and nothing counted. Trees need all records
        at hand; where those are read pass by pass, class shares are all.
    budget : LearnerBudget
    settings : RulesSettings
    """
    epsilon, signal = Fraction(budget.epsilon), _signal(facts, budget)
    if facts.n_classes == 2 and (facts.approximate_rows or 0.0) < settings.few_rows:
        settings = settings.of_few()
    n_stages = _n_stages(facts, settings, signal)
    size = family_size(facts, settings, signal, n_stages)
    shape = RulesShape(facts.n_classes, n_stages, size, signal, settings)
    if not n_stages:
        return Plan((once(OWNER, _class_shares(epsilon)),), shape, _words(shape, counted=True))
    shares = _shares(shape, _has_two_classes(facts))
    rounds = tuple(once(OWNER, release) for release in _releases(shares, epsilon, facts))
    weighed = bool(shares.classes or shares.cells)
    return Plan(rounds, shape, _words(shape, bool(shares.leaves), weighed))


def _signal(facts: TableFacts, budget: LearnerBudget) -> float:
    """R of pure epsilon, whatever delta there is."""
    if facts.approximate_rows is None:
        return _UNKNOWN_SIGNAL
    return LearnerBudget(Fraction(budget.epsilon), Fraction(0)).signal(facts.approximate_rows)


def _has_two_classes(facts: TableFacts) -> bool:
    """True of two classes that are no bounds of a target."""
    return facts.n_classes == 2 and not facts.is_regression


def _n_stages(facts: TableFacts, settings: RulesSettings, signal: float) -> int:
    """Stages that the budget carries, as many as memory holds the leaves of; 0 without trees."""
    if facts.n_classes > _MOST_CLASSES or not facts.in_memory:
        return 0
    n_stages = settings.n_stages(signal, facts.n_classes, _has_two_classes(facts))
    while n_stages > _FIRST_STAGES and LEAVES_OF_A_STAGE**n_stages * facts.n_classes > _MOST_CELLS:
        n_stages -= 1
    return n_stages


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of epsilon, which add up to 1.

    Attributes
    ----------
    classes : Fraction
        For class shares before the first stage; 0 where there are none.
    cells : Fraction
        For class counts before each further stage; 0 where there are none.
    stages : tuple of Fraction
        For the trees of each stage.
    leaves : Fraction
        For counts in the last leaves; 0 where they have labels alone.
    """

    classes: Fraction
    cells: Fraction
    stages: tuple[Fraction, ...]
    leaves: Fraction


def _shares(shape: RulesShape, two_classes: bool) -> _Shares:
    """Shares by R: what is counted comes first, and stages have the rest."""
    settings, signal, n_stages = shape.settings, shape.signal, shape.n_stages
    nothing = Fraction(0)
    leaves = settings.count_share if signal >= settings.counted_signal else nothing
    classes = settings.share_of_shares(signal) if two_classes else nothing
    cells = settings.share_of_cells(signal) if two_classes else nothing
    left = 1 - leaves - classes - cells * (n_stages - 1)
    return _Shares(classes, cells, _growing(left, n_stages, settings.stage_growth), leaves)


def _releases(shares: _Shares, epsilon: Fraction, facts: TableFacts) -> Iterator[Release]:
    """Requests that have a share, in the order of training."""
    if shares.classes:
        yield _class_shares(shares.classes * epsilon)
    for stage, share in enumerate(shares.stages):
        if stage and shares.cells:
            yield _leaf_counts(cells_role(stage), stage, shares.cells * epsilon, facts)
        yield _stage(stage, share * epsilon)
    if shares.leaves:
        yield _leaf_counts(COUNT_ROLE, len(shares.stages), shares.leaves * epsilon, facts)


def _growing(total: Fraction, n_parts: int, growth: Fraction) -> tuple[Fraction, ...]:
    """A total in parts, each so many times the one before."""
    parts = [growth**k for k in range(n_parts)]
    return tuple(total * part / sum(parts) for part in parts)


def _class_shares(epsilon: Fraction) -> Release:
    event = GeometricNoise(epsilon, ClassCounts().sensitivity.l1)
    return Release(PRIOR_ROLE, event, says="one class histogram, with noise")


def _stage(stage: int, epsilon: Fraction) -> Release:
    """Trees of a stage: in as many cells as a tree can have leaves, however many it has."""
    event = ExponentialSelection(epsilon, TreesOfHeightTwo.score_range)
    what = "one such tree in each leaf" if stage else "a decision tree of height 2"
    cells = LEAVES_OF_A_STAGE**stage
    return Release(stage_role(stage), event, cells, says=f"{what}, drawn whole")


def _leaf_counts(role: str, n_stages: int, epsilon: Fraction, facts: TableFacts) -> Release:
    """Class counts in the leaves of so many stages, or those of the two ends of a range."""
    event = GeometricNoise(epsilon, LEAF_COUNTS_SENSITIVITY.l1)
    what = "records of the leaves by toss" if facts.is_regression else "class counts of the leaves"
    return Release(role, event, LEAVES_OF_A_STAGE**n_stages, says=f"{what}, with noise")


def _words(shape: RulesShape, counted: bool, weighed: bool = False) -> dict[str, str]:
    """The plan in words, for the report."""
    if not shape.n_stages:
        why = "the budget teaches no more than the class shares"
        if shape.n_classes > _MOST_CLASSES:
            why = f"class shares alone, of more than {_MOST_CLASSES} classes"
        return {"rules": f"none: {why}"}
    size = shape.size
    confidence = "noisy class counts of the leaves, shrunk by their noise"
    return {
        "rules": "whole decision trees by the exponential mechanism; score: records right"
        + (", those of a rare class for more" if weighed else ""),
        "stages": f"{shape.n_stages}, each adds at most two levels",
        "directions": f"up to {size.n_singles} single features and categories, "
        f"{size.n_sums} random sums, {_whence(shape)}, at most {size.n_cuts} cuts each",
        "probabilities": confidence if counted else f"modest, from R = {shape.signal:.3g}",
        "budget shares add up in": "epsilon",
    }


def _whence(shape: RulesShape) -> str:
    """Source of the sums, in words."""
    near = shape.n_stages > 1 and shape.settings.near_share
    return "later ones mostly near to released ones" if near else "public"


def family_size(
    facts: TableFacts, settings: RulesSettings, signal: float, n_stages: int
) -> FamilySize:
    """The largest family whose fit stays below the elementary steps that settings allow."""
    n_sums, n_cuts = settings.n_sums, settings.n_cuts
    if facts.n_classes > MANY_CLASSES:
        n_sums = min(n_sums, settings.n_sums_of_very_many)
        n_cuts = min(n_cuts, settings.n_cuts_of_very_many)
    size, singles = FamilySize(n_sums, 4 * n_sums, n_cuts), _Singles.of(facts)
    while size.n_sums > 8 and _work(facts, singles, size) > settings.work:
        many = size.n_cuts > 16
        size = replace(size, n_cuts=size.n_cuts // 2) if many else size.with_fewer_directions()
    if signal >= settings.much_signal:
        size = replace(size, n_sums=min(size.n_sums, settings.n_sums_of_much))
    while size.n_sums > 8 and _has_many_pairs(facts, singles, settings, size, n_stages):
        size = size.with_fewer_cuts(_FEWEST_CUTS)
    held = partial(FamilyWeights.hold, n_classes=facts.n_classes, stop_share=settings.stop_share)
    # Settings may ask for more than 64 bits hold, which the defaults never come to.
    while n_stages and not held(singles.most_cuts(size)):
        size = size.with_fewer_cuts(_FEWEST_CUTS)
    return size


@dataclass(frozen=True, slots=True)
class _Singles:
    """Directions of single features that a table has, which families offer all or a part of.

    Attributes
    ----------
    sizes : tuple of int
        One more than the cuts of each direction of several: of an ordered feature, or of a list
        of categories that tells an order.
    n_values : int
        Declared values of all other features: each against the rest is a direction of one cut.
    """

    sizes: tuple[int, ...]
    n_values: int

    @classmethod
    def of(cls, facts: TableFacts) -> _Singles:
        sizes = [facts.declared_codes(f).size for f in range(facts.n_features)]
        paired = list(zip(sizes, facts.ordered, strict=True))
        cut = [n for n, is_ordered in paired if is_ordered]
        cut += [inner + 1 for f in range(facts.n_features) if (inner := inner_cuts(facts, f))]
        return cls(tuple(cut), sum(n for n, is_ordered in paired if not is_ordered))

    def numbers(self, size: FamilySize) -> tuple[float, float, float]:
        """Directions that a family has, cuts of its single features, and all cuts."""
        n_directions = len(self.sizes) + self.n_values
        kept = min(1.0, size.n_singles / max(n_directions, 1))
        of_singles = kept * (self.n_values + sum(min(n - 1, size.n_cuts) for n in self.sizes))
        return kept * n_directions + size.n_sums, of_singles, of_singles + size.n_sums * size.n_cuts

    def most_cuts(self, size: FamilySize) -> int:
        """Cuts that a family has at most, whichever of its single features it offers."""
        ordered = min(len(self.sizes), size.n_singles)
        return (size.n_sums + ordered) * size.n_cuts + min(self.n_values, size.n_singles)


def _work(facts: TableFacts, singles: _Singles, size: FamilySize) -> float:
    """Rough number of steps: a record a pair of directions, and every pair of cuts."""
    directions, _, cuts = singles.numbers(size)
    return directions**2 * (facts.approximate_rows or 1e3) + cuts**2 * 2 * facts.n_classes


def _has_many_pairs(
    facts: TableFacts, singles: _Singles, settings: RulesSettings, size: FamilySize, n_stages: int
) -> bool:
    """True if the stages' pairs of cuts take too long, where each cut parts records in its own way.

    Where many features are fine they do. Most sums of few features do not, nor do most cuts in the
    small cells of later stages. So pairs with a cut of a single feature are counted, and all pairs
    of several classes alone, of which each pair takes long. From the fourth on stages have cells
    that are smaller still.
    """
    records = min(facts.approximate_rows or 1e3, _MANY_RECORDS)
    of_a_pair = min(n_stages, _FIRST_STAGES) * (facts.n_classes + records / _RECORDS_A_CLASS)
    _, of_singles, cuts = singles.numbers(size)
    has_several = facts.n_classes >= SEVERAL_CLASSES
    of_several = cuts**2 * of_a_pair if has_several else 0.0
    most, most_of_several = settings.pair_work, settings.pair_work_of_several
    return of_singles * cuts * of_a_pair > most or of_several > most_of_several
