"""The plan of a forest: everything it will ask for, fixed before any record is read.

Built from parameters and public facts alone. The grower runs the plan's events and the
accountant prices the same events, so what is paid and what runs have one source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.allocation import Allocation, Theorem2Allocation, TreeShares
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
)
from dpforest.accounting.figures import figure_down, figure_up
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.exceptions import ParameterError
from dpforest.trees.base import ALL_FIXED, LearnerBudget, PlanPart
from dpforest.trees.multinomial.criteria import Criterion
from dpforest.trees.multinomial.tree_plan import LEAF_RULES, TreePlan, charge_tree


@dataclass(frozen=True, slots=True)
class ForestPlan:
    """A forest as a list of requests.

    Attributes
    ----------
    n_trees : int
    tree : TreePlan
        What each tree asks for; the same for all.
    currency : str
        ``"epsilon"`` (pure, shares add in epsilon) or ``"rho"`` (shares add in rho).
    allocation : str
        How the shares were chosen, in words.
    """

    n_trees: int
    tree: TreePlan
    currency: str
    allocation: str

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost of the whole forest, composed by the accountant's own scopes."""
        return tree_loss(self.tree) * self.n_trees

    @property
    def parts(self) -> tuple[PlanPart, ...]:
        """What is released, in order: structure of all trees, then leaves."""
        tree = self.tree
        choices = [event for event in (*tree.feature_events, *tree.value_events) if event]
        structure = sum((event.loss for event in choices), NO_LOSS) * self.n_trees
        text = f"splits of {self.n_trees} trees with {tree.depth} levels"
        leaves = LEAF_RULES[tree.leaves].description
        return (
            PlanPart("structure", text, structure),
            PlanPart("leaves", leaves, tree.leaf_event.loss * self.n_trees),
        )

    @property
    def n_steps(self) -> int:
        """How often training says that a part is done: for each level of a tree and its leaves."""
        return self.n_trees * (self.tree.depth + 1)

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        tree = self.tree
        sides = "all records serve for splits and leaves"
        if tree.partition is not None:
            sides = (
                f"each record draws its side, structure with probability {float(tree.partition):g}"
            )
        criterion = tree.criterion
        return {
            "trees": str(self.n_trees),
            "depth": f"{tree.depth} levels of splits",
            "allocation": self.allocation,
            "budget shares add up in": self.currency,
            "criterion": f"{criterion.name}, range {float(criterion.score_range):.8g}",
            "choice": "feature and value in one draw"
            if tree.joint
            else "a feature, then its value",
            "leaves": LEAF_RULES[tree.leaves].description,
            "records": sides,
            **ALL_FIXED,
        }


def tree_loss(tree: TreePlan) -> PrivacyLoss:
    """Cost of one tree, by running its requests against an accountant without a ceiling."""
    scratch = BudgetAccountant._unlimited()
    with scratch.open_scope("one tree") as scope:
        charge_tree(tree, scope)
        return scope.loss


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
    """

    n_trees: int
    depth: int
    allocation: Allocation
    criterion: Criterion
    draw: str = "exponential"
    joint: bool = False
    leaves: str = "auto"
    partition: Fraction | None = None


def build_plan(settings: ForestSettings, budget: LearnerBudget) -> ForestPlan:
    """Turn parameters into events; the plan never costs more than the budget.

    Parameters
    ----------
    settings : ForestSettings
    budget : LearnerBudget
        Of a record.

    Returns
    -------
    ForestPlan

    Raises
    ------
    ParameterError
        Leaf rule and delta do not fit, or the allocation asks for more than there is.
    """
    currency = "rho" if budget.delta else "epsilon"
    if settings.leaves == "auto":
        settings = replace(settings, leaves="gaussian" if budget.delta else "geometric")
    _check_currency(settings, currency)
    total = budget.rho if budget.delta else budget.epsilon
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
    plan = ForestPlan(
        settings.n_trees,
        _tree_plan(settings, shares, "epsilon" if _in_epsilon(settings) else currency),
        currency,
        settings.allocation.describe(),
    )
    _check_within(plan, settings, budget.epsilon, total)
    return plan


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
    """Whether the allocation gives epsilons, whatever currency the plan adds up in."""
    return bool(getattr(settings.allocation, "in_epsilon", False))


def _check_within(
    plan: ForestPlan, settings: ForestSettings, epsilon: Fraction, total: Fraction
) -> None:
    loss = plan.loss
    if _in_epsilon(settings) and loss.epsilon <= epsilon:
        return  # its draws may also add up in epsilon, which needs no delta
    spent = loss.rho if plan.currency == "rho" else loss.epsilon
    if spent > total:
        raise ParameterError(
            "allocation",
            settings.allocation.name,
            f"asks for {figure_up(spent)} of a total {plan.currency} of {figure_down(total)}",
            "Ask for less in each draw, or use fewer trees or levels",
        )


def _tree_plan(settings: ForestSettings, shares: TreeShares, currency: str) -> TreePlan:
    def selection(share: Fraction) -> Event | None:
        return _selection_event(settings.draw, share, settings.criterion.score_range, currency)

    return TreePlan(
        depth=settings.depth,
        feature_events=tuple(selection(share) for share in shares.feature),
        value_events=tuple(selection(share) for share in shares.value),
        leaf_event=_leaf_event(settings.leaves, shares.leaf, currency),
        leaves=settings.leaves,
        criterion=settings.criterion,
        joint=settings.joint,
        partition=settings.partition,
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
