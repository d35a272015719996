"""PrivateForestClassifier: the forest to use, which picks its plan from public quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.domain import Domain
from dpforest.estimators.classifier import PrivateClassifier, class_array, class_order
from dpforest.estimators.private_base import PrivateForest
from dpforest.estimators.settings import refuse_fit_parameters
from dpforest.plain.writing import Link
from dpforest.trees.base import ReleasedModel


class PrivateForestClassifier(PrivateClassifier, PrivateForest):
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
        How many records one unit (a person) may own: epsilon and delta then hold for adding or
        removing a whole unit. The caller's promise; records have no owner, so nothing checks it.
    accountant : BudgetAccountant, diffprivlib.BudgetAccountant or None
        Ceiling that this fit is charged to.
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

    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> PrivateForestClassifier:
        """Train under the budget; see :meth:`MultinomialForestClassifier.fit` for the errors.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features), or Stream
        y : array-like of shape (n,)
            Left out with a stream, which holds the labels.
        **fit_parameters
            None are taken; ``sample_weight`` is refused with the reason.
        """
        refuse_fit_parameters(fit_parameters)
        self._fit(X, y)
        return self

    def _set_model(self, model: ReleasedModel, strategy: str, domain: Domain) -> None:
        labels = class_array(domain)
        self._order_ = class_order(labels)
        self.classes_ = labels[self._order_]
        self.model_ = model
        self.strategy_ = strategy

    def _probabilities(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        return self._softmax(self.model_.log_odds(codes))

    def _softmax(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities from scores in the order of declaration, columns as ``classes_``."""
        scores = scores[:, self._order_]
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def _link(self) -> Link:
        return Link({"kind": "softmax", "classes": self.classes_.tolist()}, self._order_.tolist())

    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {
            str(label): curve
            for label, curve in zip(self.classes_, self._softmax(scores).T, strict=True)
        }
