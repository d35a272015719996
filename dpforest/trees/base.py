"""Learners: each is a plan from public facts, a training under grants, a released model.

A learner's plan is made before any record is read and lists everything that will be released;
training asks a bridge for exactly that list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import LearnerBudget, Plan
from dpforest.bridge.bridge import Bridge
from dpforest.domain.list_order import ListOrder
from dpforest.trees.splits import Trees

#: Called after each finished part of a training; counts parts, never records.
PartDone = Callable[[], None]
#: What a plan settles before any record is read, in a report's words.
FIXED = "fixed before any record is read"
ALL_FIXED = {FIXED: "every request and its price"}
#: Role of what is released of all records together: class shares, or the mean of a target.
PRIOR_ROLE = "prior"
#: Role of histograms that say where thresholds lie.
QUANTILES_ROLE = "quantiles"
#: Role of a median of the target, where that is all that is released.
MEDIAN_ROLE = "median of the target"


@dataclass(frozen=True, slots=True, eq=False)
class TableFacts:
    """Public facts about a coded table.

    Attributes
    ----------
    n_codes : ndarray of int64, shape (D,)
        Codes of each feature; a missing value is the last one.
    ordered : ndarray of bool, shape (D,)
    has_missing_code : ndarray of bool, shape (D,)
    scaled : tuple of (ndarray of float64 or None)
        For an ordered feature the public value of each code, scaled to [0, 1] over the declared
        bounds (the middle of its cell; 0.5 for missing); None where it is categorical, or
        a lattice.
    n_classes : int
        2, the bounds of the target, for regression.
    approximate_rows : float or None
        Declared, or bought from the budget; None where neither is known.
    unit : int
        What a record adds to class counts in all: 1, or the steps of a regression's target.
    in_memory : bool
        Whether all records can be looked at at once.
    unknown : tuple of int
        Of each feature the code that no declared value has, -1 where there is none. Empty where
        no feature has one.
    listed : tuple of ListOrder
        What each feature's list of categories says of their order. Empty where none says any.
    """

    n_codes: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    has_missing_code: NDArray[np.bool_]
    scaled: tuple[NDArray[np.float64] | None, ...]
    n_classes: int
    approximate_rows: float | None
    unit: int = 1
    in_memory: bool = True
    unknown: tuple[int, ...] = ()
    listed: tuple[ListOrder, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.n_codes.size)

    @property
    def is_regression(self) -> bool:
        """True if records have targets; their bounds then stand for two classes."""
        return self.unit > 1

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Flat position of code 0 of each feature, and the total, shape (D + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_codes)]).astype(np.int64)

    def signal(self, budget: LearnerBudget) -> float:
        """Signal R of a budget on these records; 0 where their number is not known."""
        return budget.signal(self.approximate_rows or 0.0)

    @property
    def list_orders(self) -> NDArray[np.uint8]:
        """Word of lists of categories on their order, as `ListOrder`, shape (D,)."""
        return np.array(self.listed or np.zeros(self.n_features), dtype=np.uint8)

    def listed_codes(self, feature: int) -> int:
        """Categories of a list that tells an order: the first codes, in that order; else 0."""
        if not self.listed or self.listed[feature] is not ListOrder.TOLD:
            return 0
        beside = int(self.has_missing_code[feature]) + (self.unknown_code(feature) >= 0)
        return int(self.n_codes[feature]) - beside

    def unknown_code(self, feature: int) -> int:
        """Code of a feature that no declared value has; -1 where there is none."""
        return self.unknown[feature] if self.unknown else -1

    def declared_codes(self, feature: int) -> NDArray[np.int64]:
        """Codes of a feature that declared values have, the missing one's with them."""
        codes = np.arange(int(self.n_codes[feature]), dtype=np.int64)
        return codes[codes != self.unknown_code(feature)]


def counted(of_means: bool) -> str:
    """Words for what tables hold: each record's class, or its target as parts of two."""
    return "sums of targets" if of_means else "class counts"


def prior_text(of_means: bool) -> str:
    """Words for what is released of all records together."""
    return "the noisy mean of the target" if of_means else "one noisy class histogram"


def unit_words(records_per_unit: int) -> dict[str, str]:
    """Words for the unit that pays for a plan, where it is not one record."""
    if records_per_unit == 1:
        return {}
    return {"unit of privacy": f"owns up to {records_per_unit} records, and pays for all of them"}


#: What makes probabilities of a model's scores: softmax of log-odds, or division by their sum.
ScoreLink = Literal["softmax", "shares"]


@dataclass(frozen=True, slots=True, eq=False)
class KnownSizes:
    """Account, by a released model, of how many records lie where.

    Attributes
    ----------
    sizes : ndarray of float64, shape (n_trees, n_leaves), or (total codes,)
        Of leaves, or of the codes of each feature where there are no trees.
    trees : Trees or None
    in_records : bool
        True if sizes are numbers of records; else they are shares of them.
    """

    sizes: NDArray[np.float64]
    trees: Trees | None = None
    in_records: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ScoreParts:
    """Terms that the scores of a released model add up, but for a constant.

    Attributes
    ----------
    trees : Trees or None
    leaf_values : ndarray of float64, shape (n_trees, n_leaves, C), or None
        None where there are no trees.
    offsets : ndarray of int64, shape (D + 1,), or None
        Flat position of code 0 of each feature, and the total; None where codes have no values.
    code_values : ndarray of float64, shape (total codes, C), or None
    """

    trees: Trees | None = None
    leaf_values: NDArray[np.float64] | None = None
    offsets: NDArray[np.int64] | None = None
    code_values: NDArray[np.float64] | None = None


#: Class shares of places, and the share of all records in each.
ClassShares: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


class ReleasedModel(Protocol):
    """A model made of released values only."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def link(self) -> ScoreLink:
        """Kind of function that makes probabilities of ``scores``."""

    def score_parts(self) -> ScoreParts | None:
        """Terms that ``scores`` adds up; None where its cuts look at sums of features."""

    def known_sizes(self) -> KnownSizes | None:
        """Released sizes of leaves, or of codes, that a population can be made of."""

    def leaf_shares(self) -> ClassShares | None:
        """Released class shares of leaves; None where they have none, or no sizes."""

    def features_read(self) -> Sequence[int] | None:
        """Places of the features that scores go by; None where that may be any."""

    def noise_draws(
        self, generator: np.random.Generator, n_draws: int
    ) -> tuple[ReleasedModel, ...] | None:
        """Models with fresh noise on what this one holds; None where it does not hold it."""

    def partial_scores_of(
        self, models: Sequence[Any], feature: int, facts: TableFacts
    ) -> list[NDArray[np.float64]]:
        """``partial_scores`` of models that have the structure of this one."""

    def scores(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes), as ``link`` takes them."""

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes); softmax makes them probabilities."""

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the effect that each feature carries, shape (D,), sum 1 or all 0."""

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean ``scores`` at every shown code of one feature, shape (codes, n_classes).

        Shown are all codes, but of a lattice (``trees.shown.shown_codes``).
        """

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data, all numbers finite; ``from_data`` reads it back."""

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> ReleasedModel:
        """Read what ``to_data`` wrote, checked against the facts: kernels do not check.

        Raises
        ------
        ModelFormatError
            Damaged: a shape, an index or a range does not fit.
        """


class ModelTraits:
    """Base of released models: what holds of most of them."""

    __slots__ = ()

    def known_sizes(self) -> KnownSizes | None:
        """Released sizes of leaves, or of codes; a model that has some gives them."""
        return None

    def leaf_shares(self) -> ClassShares | None:
        """Released class shares of leaves; a model whose leaves hold them gives them."""
        return None

    def features_read(self) -> Sequence[int] | None:
        """Places of the features that scores go by; a model of few cuts gives them."""
        return None

    def noise_draws(
        self, generator: np.random.Generator, n_draws: int
    ) -> tuple[ReleasedModel, ...] | None:
        """Models with fresh noise; a model that holds its released numbers gives them."""
        return None

    def partial_scores_of(
        self, models: Sequence[Any], feature: int, facts: TableFacts
    ) -> list[NDArray[np.float64]]:
        """``partial_scores`` of models that have the structure of this one."""
        return [model.partial_scores(feature, facts) for model in models]


class LogOddsModel(ModelTraits):
    """Base of released models whose scores are log-odds."""

    __slots__ = ()

    link: ClassVar[ScoreLink] = "softmax"

    def scores(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Class scores of coded records, shape (n, n_classes): their log-odds."""
        return self.log_odds(codes)

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Log-odds of coded records; each model gives its own."""
        raise NotImplementedError


class Learner(Protocol):
    """A way to learn under a budget."""

    @property
    def name(self) -> str:
        """Name by which users ask for it."""

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> Plan[Any]:
        """Make a plan that costs at most the budget, from public facts alone."""

    def train(self, shape: Any, bridge: Bridge, facts: TableFacts) -> ReleasedModel:
        """Ask the bridge for the plan's list, in its order, and make the model of what it gives.

        Parameters
        ----------
        shape : object
            The plan's.
        bridge : Bridge
        facts : TableFacts
        """
