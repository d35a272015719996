"""MultinomialForestClassifier: splits drawn by exponential mechanisms, every draw paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from dpforest.checks import check_choice, check_integer
from dpforest.estimators import engine
from dpforest.estimators.classifier import PrivateClassifier, class_array

if TYPE_CHECKING:
    from dpforest.accounting.releases import LearnerBudget
    from dpforest.domain.domain import Domain
    from dpforest.domain.encoder import DomainEncoder
    from dpforest.estimators.fit_plan import FitRequest
    from dpforest.trees.multinomial.heaps import ReleasedTrees
    from dpforest.trees.multinomial.model import MultinomialModel
    from dpforest.trees.multinomial.plan import ForestSettings

_CHOICES = ("two_stage", "joint")


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
        Number of trees. Each one divides the budget further; docs/multinomial.md says how many
        trees and levels serve a small table.
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
        Most records that one privacy unit (such as a person) owns: epsilon and delta then hold for
        adding or removing all of a unit's records. This is the caller's promise: records carry no
        owner, so nothing checks it.
    accountant : BudgetAccountant, ledger accountant, diffprivlib.BudgetAccountant or None
        Ceiling that this fit is charged to. ``BudgetLedger.accountant`` makes one that lasts.
        None opens one of size epsilon for each fit and lists the fit in a process-wide ledger.
    invalid : {"drop", "raise"}, default="drop"
        What happens to records that no rule of the domain covers (an undeclared missing value,
        an infinity, an unknown class). Raising is for the curator's desk.
    random_state : int, RandomState, Generator or None
        None draws from the operating system. Anything else marks the guarantee as a
        demonstration's.
    n_jobs : int or None, default=None
        Threads over trees. The forest does not depend on it.
    verbose : int, default=0
        1 shows a bar over the levels of all trees.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The domain's classes, sorted, since scikit-learn's scorers take columns in that order.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        The domain's feature names, where the table had names.
    strategy_ : str
        ``"multinomial"``.
    forest_ : ReleasedTrees
        Released trees; their leaves have the classes in the domain's order.
    feature_importances_ : ndarray of float64, shape (n_features,)
        From released splits.
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

    model_: MultinomialModel
    #: No parameter here: this forest has one.
    strategy = "multinomial"

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

    @property
    def forest_(self) -> ReleasedTrees:
        """Released trees; their leaves have the classes in the domain's order."""
        check_is_fitted(self)
        return self.model_.forest

    def _encoder(self, domain: Domain) -> DomainEncoder:
        class_array(domain)
        return engine.DomainEncoder(
            domain,
            invalid=self.invalid,
            thresholds=self.thresholds,
            estimator_name=type(self).__name__,
        )

    def _request(self, budget: LearnerBudget, done: bool) -> FitRequest:
        check_choice(self.thresholds, "thresholds", ("cells", "lattice"))
        settings = self._settings()
        # What it asks for follows from the parameters alone, so that is refused before all else.
        engine.build_plan(settings, budget)
        learner = engine.MultinomialForest(settings=settings)
        return engine.FitRequest(budget, self.strategy, learner, thresholds=self.thresholds)

    def _settings(self) -> ForestSettings:
        leaves = check_choice(self.leaves, "leaves", ("auto", *engine.LEAF_RULES))
        draw = check_choice(self.selection, "selection", engine.DRAWS)
        joint = check_choice(self.choice, "choice", _CHOICES) == "joint"
        engine.check_lattice_draw(self.thresholds, draw, joint)
        return engine.ForestSettings(
            n_trees=check_integer(self.n_estimators, "n_estimators", 1),
            depth=check_integer(self.max_depth, "max_depth", 1, engine.MAX_DEPTH),
            allocation=engine.resolve_allocation(self.allocation),
            criterion=engine.resolve_criterion(self.criterion),
            draw=draw,
            joint=joint,
            leaves=leaves,
            partition=engine.check_partition_rate(self.partition_rate),
        )
