"""The plan of a forest: the list of all that it will ask for, fixed before any record is read.

Built from parameters and public facts alone. The learner walks the list and the accountant prices
it, so what is paid and what runs have one source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpforest.accounting.allocation import Allocation, Theorem2Allocation, TreeShares
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
)
from dpforest.accounting.figures import figure_down, figure_up
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, Step
from dpforest.checks import check_choice, check_count, check_kind, check_part
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.trees.base import ALL_FIXED
from dpforest.trees.multinomial.criteria import Criterion

#: Roles of a level, in the order in which they are drawn: one draw, or two; and of the leaves.
SPLIT, FEATURE, VALUE = "split selection", "feature selection", "value selection"
LEAF_LABEL, LEAF_HISTOGRAM = "leaf label", "leaf histogram"
#: Mechanisms that draw splits.
DRAWS = "exponential", "permute_and_flip"


@dataclass(frozen=True, slots=True)
class LeafRule:
    """Answer of a leaf: what it releases, and the range of its scores where it selects."""

    releases: str
    score_range: Fraction
    description: str


LEAF_RULES = {
    "label": LeafRule("labels", Fraction(2), "label drawn by its frequency, once a leaf"),
    "count_label": LeafRule("labels", Fraction(1), "label drawn by its count, once a leaf"),
    "count_label_permute_and_flip": LeafRule(
        "labels", Fraction(1), "label by its count with permute-and-flip, once a leaf"
    ),
    "geometric": LeafRule("counts", Fraction(0), "class counts with two-sided geometric noise"),
    "gaussian": LeafRule("counts", Fraction(0), "class counts with discrete Gaussian noise"),
}


@dataclass(frozen=True, slots=True)
class TreeEvents:
    """Events of one tree, level by level.

    Attributes
    ----------
    feature : tuple of Event or None
        Selection of a feature at each level (of feature and value together where ``joint``);
        None draws uniformly, which reads no record and costs nothing.
    value : tuple of Event or None
        Selection of a value at each level; not used where ``joint``.
    leaf : Event
    """

    feature: tuple[Event | None, ...]
    value: tuple[Event | None, ...]
    leaf: Event


@dataclass(frozen=True, slots=True)
class ForestShape:
    """Sizes and settings of a forest; its events stand in its list.

    Attributes
    ----------
    n_trees, depth : int
    level_roles : tuple of tuple of str
        What is paid for at each level.
    criterion : Criterion
    joint : bool
        Whether feature and value are drawn at once.
    leaves : str
        Key of ``LEAF_RULES``.
    partition : Fraction or None
        Probability that a record is a structure point; None where all records serve both.
    """

    n_trees: int
    depth: int
    level_roles: tuple[tuple[str, ...], ...]
    criterion: Criterion
    joint: bool
    leaves: str
    partition: Fraction | None

    @property
    def leaf_role(self) -> str:
        """Role of all leaves of a tree."""
        return LEAF_LABEL if LEAF_RULES[self.leaves].releases == "labels" else LEAF_HISTOGRAM


def forest_plan(
    n_trees: int,
    events: TreeEvents,
    criterion: Criterion,
    *,
    joint: bool = False,
    leaves: str = "geometric",
    partition: Fraction | None = None,
) -> Plan[ForestShape]:
    """List what so many trees ask for: a step a level, then one for the leaves.

    A level that nothing is paid for has a step without releases: its counts make those of the
    next one.
    """
    levels = _level_steps(events, joint, n_trees)
    depth, roles = len(levels), tuple(step.roles for step in levels)
    shape = ForestShape(n_trees, depth, roles, criterion, joint, leaves, partition)
    says = LEAF_RULES[leaves].description
    last = Step((Release(shape.leaf_role, events.leaf, 2**depth, depth, says),))
    return Plan((Round("trees", (*levels, last), n_trees, "tree", partition),), shape)


def _level_steps(events: TreeEvents, joint: bool, n_trees: int) -> tuple[Step, ...]:
    """Steps of all levels; what has no event is not asked for."""
    of_splits = f"splits of {n_trees} trees with {len(events.feature)} levels"
    kinds = [(FEATURE, events.feature, f"features of the {of_splits}"),
             (VALUE, events.value, f"values of the {of_splits}")]  # fmt: skip
    if joint:
        kinds = [(SPLIT, events.feature, of_splits)]
    return tuple(
        Step(
            tuple(
                Release(role, event, 2**level, level, says)
                for role, of_levels, says in kinds
                if (event := of_levels[level]) is not None
            )
        )
        for level in range(len(events.feature))
    )


@dataclass(frozen=True, slots=True)
class ForestSettings:
    """Validated parameters of a forest.

    Attributes
    ----------
    n_trees, depth : int
    allocation : Allocation
    criterion : Criterion
    draw : {"exponential", "permute_and_flip"}
    joint : bool
        Whether a feature and its value are one draw.
    leaves : str
        A rule of ``LEAF_RULES``, or ``"auto"``: Gaussian noise where there is a delta.
    partition : Fraction or None
        Probability of being a structure point; None uses all records for both.

    Raises
    ------
    ParameterError
        Where there is no tree or no level, or a setting is of another type or none of its choices.
    """

    n_trees: int
    depth: int
    allocation: Allocation
    criterion: Criterion
    draw: str = "exponential"
    joint: bool = False
    leaves: str = "auto"
    partition: Fraction | None = None

    def __post_init__(self) -> None:
        """Check what plans and trees take for granted."""
        check_count(self.n_trees, "n_trees")
        check_count(self.depth, "depth")
        if not callable(getattr(self.allocation, "shares", None)):
            rule = "must divide a total with its method shares()"
            raise ParameterTypeError("allocation", self.allocation, rule, "Give an allocation")
        check_kind(self.criterion, "criterion", Criterion)
        check_choice(self.draw, "draw", DRAWS)
        check_kind(self.joint, "joint", bool)
        check_choice(self.leaves, "leaves", ("auto", *LEAF_RULES))
        if self.partition is not None:
            check_part(self.partition, "partition")


def build_plan(settings: ForestSettings, budget: LearnerBudget) -> Plan[ForestShape]:
    """Turn parameters into events; the plan never costs more than the budget.

    Parameters
    ----------
    settings : ForestSettings
    budget : LearnerBudget
        Of a record.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        Leaf rule and delta do not fit, or the allocation asks for more than there is.
    """
    currency = "rho" if budget.delta else "epsilon"
    if settings.leaves == "auto":
        settings = replace(settings, leaves="gaussian" if budget.delta else "geometric")
    _check_currency(settings, currency)
    total = budget.total
    if not total:
        raise ParameterError(
            "epsilon", float(budget.epsilon),
            f"is so small that it converts to no rho at delta = {float(budget.delta)!r}",
            "Raise epsilon, or use delta=0",
        )  # fmt: skip
    shares = settings.allocation.shares(
        total,
        settings.n_trees,
        settings.depth,
        partitioned=settings.partition is not None,
        joint=settings.joint,
    )
    events = _tree_events(settings, shares, "epsilon" if _in_epsilon(settings) else currency)
    plan = forest_plan(
        settings.n_trees,
        events,
        settings.criterion,
        joint=settings.joint,
        leaves=settings.leaves,
        partition=settings.partition,
    )
    _check_within(plan.loss, settings, budget.epsilon, total, currency)
    return replace(plan, words=_words(settings, currency))


def _words(settings: ForestSettings, currency: str) -> dict[str, str]:
    """The plan in words, for the report."""
    sides = "all records serve for splits and leaves"
    if settings.partition is not None:
        probability = float(settings.partition)
        sides = f"each record draws its side, structure with probability {probability:g}"
    criterion, draws = settings.criterion, "a feature, then its value"
    if settings.joint:
        draws = "feature and value in one draw"
    return {
        "trees": str(settings.n_trees),
        "depth": f"{settings.depth} levels of splits",
        "allocation": settings.allocation.describe(),
        "budget shares add up in": currency,
        "criterion": f"{criterion.name}, range {float(criterion.score_range):.8g}",
        "choice": draws,
        "leaves": LEAF_RULES[settings.leaves].description,
        "records": sides,
        **ALL_FIXED,
    }


def _check_currency(settings: ForestSettings, currency: str) -> None:
    if settings.leaves == "gaussian" and currency == "epsilon":
        raise ParameterError(
            "leaves", "gaussian", "needs delta > 0", 'Give a delta, or use leaves="geometric"'
        )
    if isinstance(settings.allocation, Theorem2Allocation) and currency == "rho":
        raise ParameterError(
            "allocation",
            settings.allocation.name,
            "divides a pure epsilon, so it needs delta = 0",
            'Use delta=0, or allocation="uniform"',
        )


def _in_epsilon(settings: ForestSettings) -> bool:
    """True if the allocation gives epsilons, whatever currency the plan adds up in."""
    return bool(getattr(settings.allocation, "in_epsilon", False))


def _check_within(
    loss: PrivacyLoss, settings: ForestSettings, epsilon: Fraction, total: Fraction, currency: str
) -> None:
    if _in_epsilon(settings) and loss.epsilon <= epsilon:
        return  # its draws may also add up in epsilon, which needs no delta
    spent = loss.rho if currency == "rho" else loss.epsilon
    if spent > total:
        raise ParameterError(
            "allocation",
            settings.allocation.name,
            f"asks for {figure_up(spent)} of a total {currency} of {figure_down(total)}",
            "Ask for less in each draw, or use fewer trees or levels",
        )


def _tree_events(settings: ForestSettings, shares: TreeShares, currency: str) -> TreeEvents:
    def selection(share: Fraction) -> Event | None:
        return _selection_event(settings.draw, share, settings.criterion.score_range, currency)

    return TreeEvents(
        feature=tuple(selection(share) for share in shares.feature),
        value=tuple(selection(share) for share in shares.value),
        leaf=_leaf_event(settings.leaves, shares.leaf, currency),
    )


def _selection_event(
    draw: str, share: Fraction, score_range: Fraction, currency: str
) -> Event | None:
    if not share:
        return None
    if draw == "permute_and_flip":
        return PermuteAndFlipSelection(_epsilon_of(share, currency, 2), score_range)
    return ExponentialSelection(_epsilon_of(share, currency, 8), score_range)


def _leaf_event(leaves: str, share: Fraction, currency: str) -> Event:
    if not share:
        raise ParameterError(
            "allocation",
            "no budget for leaves",
            "must leave a share for the leaves",
            "Lower the selection share",
        )
    if leaves == "gaussian":
        # An epsilon stands for the rho of any release at it, epsilon^2 / 2.
        rho = share * share / 2 if currency == "epsilon" else share
        return DiscreteGaussianNoise(1 / (2 * rho), Fraction(1))
    if leaves == "geometric":
        return GeometricNoise(_epsilon_of(share, currency, 2), Fraction(1))
    if leaves == "count_label_permute_and_flip":
        return PermuteAndFlipSelection(_epsilon_of(share, currency, 2), Fraction(1))
    return ExponentialSelection(_epsilon_of(share, currency, 8), LEAF_RULES[leaves].score_range)


def _epsilon_of(share: Fraction, currency: str, factor: int) -> Fraction:
    """Epsilon whose cost is at most ``share``: itself, or the root of rho = epsilon^2 / factor."""
    return share if currency == "epsilon" else sqrt_in_steps(share * factor)
