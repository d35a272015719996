"""MultinomialForestClassifier: splits drawn by exponential mechanisms, every draw paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.accounting.allocation import resolve_allocation
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.releases import Plan
from dpforest.accounting.scopes import Scope
from dpforest.accounting.units import group_loss
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import Domain
from dpforest.estimators.classifier import PrivateClassifier, class_array, class_order
from dpforest.estimators.progress import PassProgress, TreeProgress
from dpforest.estimators.run import FitRun
from dpforest.estimators.settings import (
    MAX_DEPTH,
    check_choice,
    check_integer,
    check_lattice_draw,
    check_n_jobs,
    check_partition_rate,
    check_verbose,
    refuse_fit_parameters,
)
from dpforest.exceptions import ParameterError
from dpforest.plain.writing import Link, plain_model
from dpforest.records.base import Records
from dpforest.trees.bare_storage import forest_from_data, forest_to_data
from dpforest.trees.base import LearnerBudget, TableFacts
from dpforest.trees.multinomial.criteria import resolve_criterion
from dpforest.trees.multinomial.heaps import PrivateForest
from dpforest.trees.multinomial.kernels.predict import sum_leaf_values
from dpforest.trees.multinomial.leaf_values import LeafValues, leaf_values, to_probabilities
from dpforest.trees.multinomial.learner import MultinomialForest
from dpforest.trees.multinomial.plan import LEAF_RULES, ForestShape, PlanSettings, build_plan
from dpforest.trees.passes import n_passes
from dpforest.trees.training import train_on

_SELECTIONS = ("exponential", "permute_and_flip")
_CHOICES = ("two_stage", "joint")
_LEAVES = ("auto", *LEAF_RULES)


@dataclass(frozen=True, slots=True)
class PublishedPlan:
    """What one fit asks for, and who pays for it.

    Attributes
    ----------
    plan : Plan
    records_per_unit : int
    """

    plan: Plan[ForestShape]
    records_per_unit: int

    @property
    def adaptive(self) -> bool:
        """Whether what is spent depends on released values: never here."""
        return False

    @property
    def loss(self) -> PrivacyLoss:
        """Exact cost of the whole forest for a unit."""
        return group_loss(self.plan.loss, self.records_per_unit)

    @property
    def additive(self) -> PrivacyLoss:
        """What it counts as beside other spending: the same, since no list of it is certified."""
        return self.loss

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        return self.plan.describe()


class MultinomialForestClassifier(PrivateClassifier):
    """Random forest whose splits and leaves are drawn from multinomials under a privacy budget.

    Each split is drawn in two stages, a feature and then a value, each by the exponential
    mechanism on public candidates; each leaf releases a noisy histogram, or a label drawn once.
    Every level asks the accountant before it draws. The idea is that of the Multinomial Random
    Forest (Li, Bai and others 2020, sections 3.2 and 4.2); docs/multinomial.md says where its
    privacy proof does not hold and what is done instead.

    The default is the *count mode*: all records serve for splits and leaves, scores grow with
    the number of records, leaves are noisy histograms. :meth:`as_published` gives the paper's
    mechanism made sound: normalised scores, structure and estimation points, a label drawn once
    a leaf, Theorem 2.

    Parameters
    ----------
    epsilon : float, int, str, Decimal or Fraction
        Total budget of one fit under add/remove of one record. No default. A float means its
        shortest decimal.
    delta : float, default=0
        With a positive delta the guarantee is (epsilon, delta), accounted in
        zero-concentrated differential privacy.
    domain : Domain or None
        Public facts: features, bounds, categories, classes. None reads them off the data,
        which voids the guarantee (``PrivacyLeakWarning``).
    n_estimators : int, default=20
        Number of trees. Each one divides the budget further.
    max_depth : int, default=8
        Levels of splits; every tree is complete, since stopping early would have to be paid for.
    allocation : str or Allocation, default="uniform"
        ``"theorem2"``, ``"uniform"``, ``"per_level"``, or an object such as
        ``ExplicitAllocation(B1, B2, B3)``.
    criterion : str, default="gini_count"
        ``"gini_count"``, ``"majority_count"`` (scores that grow with the records),
        ``"gini_decrease"``, ``"entropy_decrease"`` (the paper's normalised scores).
    selection : {"exponential", "permute_and_flip"}, default="exponential"
        How a candidate is drawn. Permute-and-flip is never worse in pure epsilon.
    choice : {"two_stage", "joint"}, default="two_stage"
        A feature and then its value, or both in one draw.
    leaves : str, default="auto"
        ``"geometric"`` or ``"gaussian"`` noise on class counts (auto: geometric where
        delta is 0), ``"label"`` (the paper's draw by frequency), ``"count_label"``,
        ``"count_label_permute_and_flip"``.
    partition_rate : float or None, default=None
        Structure points over estimation points; each record draws its side, afresh for each
        tree. None uses all records for both.
    thresholds : {"cells", "lattice"}, default="cells"
        Candidate values of ordered features: public cells, at most 256 a feature, or the
        continuous exponential mechanism on a public lattice of up to 2**32 points, for
        exponential two-stage draws only.
    max_records_per_unit : int, default=1
        How many records one unit (a person) may own: epsilon and delta then hold for adding or
        removing a whole unit. The caller's promise; records have no owner, so nothing checks it.
    accountant : BudgetAccountant, diffprivlib.BudgetAccountant or None
        Ceiling that this fit is charged to. None opens one of size epsilon for each fit and
        lists the fit in a process-wide ledger.
    invalid : {"drop", "raise"}, default="drop"
        What happens to records that no rule of the domain covers (an undeclared missing value,
        an infinity, an unknown class). Raising is for the curator's desk.
    random_state : int, RandomState, Generator or None
        None draws from the operating system. Anything else marks the guarantee as a
        demonstration's.
    n_jobs : int or None, default=None
        Threads over trees. The forest does not depend on it.
    verbose : int, default=0
        1 shows a bar over trees, 2 over levels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The domain's classes, sorted, since scikit-learn's scorers take columns in that order.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        The domain's feature names, where the table had names.
    forest_ : PrivateForest
        Released trees; their leaves have the classes in the domain's order.
    accountant_ : BudgetAccountant or FrozenLedger
        The accountant this fit was charged to; its frozen ledger in a pickled or stored model.
    spent_ : Budget
        What this fit spent: ``epsilon``, ``delta``, ``rho`` and ``exact``.
    guarantee_ : Guarantee
        What the run earned.

    Examples
    --------
    >>> from dpforest import Domain, MultinomialForestClassifier
    >>> features = {"age": (0, 120), "smoker": ["no", "yes"]}
    >>> domain = Domain(features=features, classes=["ill", "well"])
    >>> forest = MultinomialForestClassifier(epsilon=1.0, domain=domain)
    >>> X = [[34, "no"], [71, "yes"], [55, "yes"], [18, "no"]]
    >>> forest = forest.fit(X, ["well", "ill", "ill", "well"])
    >>> forest.spent_.epsilon
    1.0
    """

    forest_: PrivateForest
    _served_: tuple[PrivateForest, LeafValues]

    def __init__(
        self,
        *,
        epsilon: Any,
        delta: Any = 0,
        domain: Domain | None = None,
        n_estimators: int = 20,
        max_depth: int = 8,
        allocation: Any = "uniform",
        criterion: str = "gini_count",
        selection: str = "exponential",
        choice: str = "two_stage",
        leaves: str = "auto",
        partition_rate: Any = None,
        thresholds: str = "cells",
        max_records_per_unit: int = 1,
        accountant: Any = None,
        invalid: str = "drop",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.allocation = allocation
        self.criterion = criterion
        self.selection = selection
        self.choice = choice
        self.leaves = leaves
        self.partition_rate = partition_rate
        self.thresholds = thresholds
        self.max_records_per_unit = max_records_per_unit
        self.accountant = accountant
        self.invalid = invalid
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def as_published(cls, *, epsilon: Any, **parameters: Any) -> MultinomialForestClassifier:
        """The mechanism of the paper (MRF 2020), made sound.

        Normalised Gini decrease, structure and estimation points at rate 1, a label drawn by its
        frequency once a leaf, budget by Theorem 2. Candidates, depth and classes are public.

        Parameters
        ----------
        epsilon : number
        **parameters
            Any other parameter; those named above may be overridden.
        """
        published: dict[str, Any] = {
            "criterion": "gini_decrease",
            "partition_rate": 1,
            "leaves": "label",
            "allocation": "theorem2",
        }
        return cls(epsilon=epsilon, **{**published, **parameters})

    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> MultinomialForestClassifier:
        """Train under the budget.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features), or Stream
            Columns by name where the table has the domain's names, else by position.
        y : array-like of shape (n,)
            Class labels; left out with a stream, which holds them.
        **fit_parameters
            None are taken. ``sample_weight`` is refused with the reason: a weight multiplies what
            a record adds to every count, and no public bound of it is declared.

        Returns
        -------
        MultinomialForestClassifier
            This object.

        Raises
        ------
        ParameterError, ParameterTypeError, DomainError
            Before any record is read and any budget spent.
        BudgetExceeded
            The accountant holds less than the plan asks for; nothing was read or spent.
        InvalidRecordError
            Only with ``invalid="raise"``; nothing was released, nor spent from a
            ``BudgetAccountant``. A diffprivlib accountant stays charged: it is charged before
            any record is read and takes nothing back.
        """
        refuse_fit_parameters(fit_parameters)
        self._fit(X, y)
        return self

    def to_plain(self, path: str | Path | None = None) -> str:
        """The released forest as plain JSON; see :meth:`PrivateForestClassifier.to_plain`."""
        check_is_fitted(self)
        forest, values = self._served_
        kind = "softmax" if values.log_scale else "shares"
        order = class_order(class_array(self.domain_)).tolist()
        link = Link({"kind": kind, "classes": self.classes_.tolist()}, order)
        return plain_model(self._encoder_, "multinomial", forest, link, path)

    # -- what the base class asks for -----------------------------------------------------

    def _encoder(self, domain: Domain) -> DomainEncoder:
        class_array(domain)
        return DomainEncoder(
            domain,
            invalid=self.invalid,
            thresholds=self.thresholds,
            estimator_name=type(self).__name__,
        )

    def _check_parameters(self, epsilon: Fraction, delta: Fraction) -> PublishedPlan:
        check_choice(self.invalid, "invalid", ("drop", "raise"))
        check_choice(self.thresholds, "thresholds", ("cells", "lattice"))
        check_verbose(self.verbose)
        check_n_jobs(self.n_jobs)
        leaves = check_choice(self.leaves, "leaves", _LEAVES)
        if leaves == "auto":
            leaves = "gaussian" if delta else "geometric"
        draw = check_choice(self.selection, "selection", _SELECTIONS)
        joint = check_choice(self.choice, "choice", _CHOICES) == "joint"
        check_lattice_draw(self.thresholds, draw, joint)
        budget = LearnerBudget.of_unit(epsilon, delta, self._records_per_unit())
        settings = PlanSettings(
            epsilon=budget.epsilon,
            delta=delta,
            n_trees=check_integer(self.n_estimators, "n_estimators", 1),
            depth=check_integer(self.max_depth, "max_depth", 1, MAX_DEPTH),
            allocation=resolve_allocation(self.allocation),
            criterion=resolve_criterion(self.criterion),
            draw=draw,
            joint=joint,
            leaves=leaves,
            partition=check_partition_rate(self.partition_rate),
            records_per_unit=budget.records_per_unit,
        )
        plan = build_plan(settings, budget.rho if delta else None)
        return PublishedPlan(plan, budget.records_per_unit)

    def _check_streamable(self) -> None:
        if self.thresholds == "lattice":
            raise ParameterError(
                "thresholds", self.thresholds, "needs all records in order, which a stream has not",
                'Use thresholds="cells"',
            )  # fmt: skip

    def _build_plan(self, run: FitRun, checked: PublishedPlan) -> PublishedPlan:
        # The plan follows from the parameters alone.
        return checked

    def _train(self, run: FitRun, plan: PublishedPlan, scope: Scope, records: Records) -> None:
        facts = _facts_of(run.encoder)
        with records.threads(), self._progress(run, plan.plan, records) as progress:
            model = train_on(
                MultinomialForest(), plan.plan, scope, run.source, progress.over(records), facts,
                progress.step_done,
            )  # fmt: skip
        self._set_forest(model.forest, run.domain)

    def _progress(
        self, run: FitRun, plan: Plan[ForestShape], records: Records
    ) -> TreeProgress | PassProgress:
        """A bar over trees or levels, or over passes where a pass is what takes time."""
        if run.streamed:
            return PassProgress(n_passes(plan, records.schema), self.verbose)
        return TreeProgress(plan.shape.n_trees, self.verbose, plan.shape.depth)

    def _set_forest(self, forest: PrivateForest, domain: Domain) -> None:
        labels = class_array(domain)
        order = class_order(labels)
        values = leaf_values(forest).in_class_order(order)
        # Together, so that the splits of one forest are never read with the leaves of another.
        self.__dict__.update(forest_=forest, classes_=labels[order], _served_=(forest, values))

    def _probabilities(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        forest, values = self._served_
        total = np.empty((codes.shape[0], forest.n_classes), dtype=np.float64)
        sum_leaf_values(
            codes, forest.feature, forest.low, forest.high, forest.depth, values.values, total
        )
        return to_probabilities(total, values)

    def _released_to_data(self) -> Any:
        return forest_to_data(self.forest_)

    def _released_from_data(self, data: Any, encoder: DomainEncoder) -> None:
        n_classes = class_array(encoder.domain).size
        self._set_forest(forest_from_data(data, encoder.n_codes, n_classes), encoder.domain)


def _facts_of(encoder: DomainEncoder) -> TableFacts:
    """Public facts of a coded table, without a value of each code: a lattice has 2**32 of them."""
    n = encoder.n_codes.size
    n_classes = class_array(encoder.domain).size
    return TableFacts(
        encoder.n_codes, encoder.ordered, np.zeros(n, dtype=np.bool_), (None,) * n, n_classes, None
    )
