"""PrivateForestClassifier: the forest to use, which picks its plan from public quantities."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.domain import Domain
from dpforest.estimators.classifier import PrivateClassifier
from dpforest.estimators.private_plan import Wanted
from dpforest.estimators.strategies import by_strategy


class PrivateForestClassifier(PrivateClassifier):
    """Private classifier that is good without tuning.

    From epsilon, delta, the domain and a number of records that is declared or bought, it picks
    what to learn: selected decision rules where the budget is small for the table, a one-shot
    forest of public random trees with noisy leaves (pure epsilon), or a forest refitted to its
    residuals round by round (with a delta). The plan can be read before any data is touched:
    :meth:`plan`.

    Parameters
    ----------
    epsilon : float, int, str, Decimal or Fraction
        Total budget of one fit under add/remove of one record. No default.
    delta : float, default=0
        With a positive delta the guarantee is (epsilon, delta), which buys much more accuracy
        from a few thousand records on. Choose it well below one over the number of records.
    domain : Domain or None
        Public facts; None reads them off the data, which voids the guarantee. Its
        ``approximate_rows`` spares buying a noisy number of records.
    strategy : str, default="auto"
        ``"rules"``, ``"one_shot"``, ``"refitted"``, ``"combined"`` or ``"multinomial"``;
        ``auto`` picks by the public rule R (docs/private_forest.md).
    max_records_per_unit : int, default=1
        Most records that one privacy unit (such as a person) owns: epsilon and delta then hold for
        adding or removing all of a unit's records. This is the caller's promise: records carry no
        owner, so nothing checks it.
    accountant : BudgetAccountant, ledger accountant, diffprivlib.BudgetAccountant or None
        Ceiling that this fit is charged to. ``BudgetLedger.accountant`` makes one that lasts.
    invalid : {"drop", "raise"}, default="drop"
        What happens to records that no rule of the domain covers.
    random_state : int, RandomState, Generator or None
        None draws from the operating system. Anything else marks the guarantee.
    n_jobs : int or None, default=None
        Threads, where the strategy uses them. The model does not depend on it.
    verbose : int, default=0
        1 shows a bar over the parts of the plan.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    strategy_ : str
        What was learnt.
    feature_importances_ : ndarray of float64, shape (n_features,)
        From released values.
    accountant_, spent_, guarantee_
        As in :class:`MultinomialForestClassifier`.

    Examples
    --------
    >>> from dpforest import Domain, PrivateForestClassifier
    >>> features = {"age": (0, 120), "smoker": ["no", "yes"]}
    >>> domain = Domain(features=features, classes=["ill", "well"], approximate_rows=4)
    >>> PrivateForestClassifier(epsilon=1.0, domain=domain).plan().teachable
    False
    """

    def __init__(
        self,
        *,
        epsilon: Any,
        delta: Any = 0,
        domain: Domain | None = None,
        strategy: str = "auto",
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
        self.strategy = strategy
        self.max_records_per_unit = max_records_per_unit
        self.accountant = accountant
        self.invalid = invalid
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _request(self, budget: LearnerBudget) -> Wanted:
        return by_strategy(budget, self.strategy)
