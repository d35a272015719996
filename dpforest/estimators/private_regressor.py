"""PrivateForestRegressor: the private forest for numbers between declared bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpforest.accounting.scopes import Scope
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.private_base import PrivateForest
from dpforest.estimators.private_plan import RANGE_ROLE, PrivateForestPlan
from dpforest.estimators.settings import refuse_fit_parameters
from dpforest.estimators.target_range import Rescaled, Tossed, release_target_range
from dpforest.exceptions import DomainError, ModelFormatError
from dpforest.mechanisms.entropy import RandomSource
from dpforest.plain.writing import Link
from dpforest.records.base import MappedRecords, Records
from dpforest.trees.base import ReleasedModel
from dpforest.trees.stored import whole_numbers

#: Strategies that draw by counts of whole records.
_BY_CLASSES = frozenset({"rules", "combined", "multinomial"})


class PrivateForestRegressor(RegressorMixin, PrivateForest):
    """Private regressor that is good without tuning.

    A target y between declared bounds is the number t = (y - lower) / (upper - lower) in [0, 1],
    and the forest learns the log-odds of its expectation: the fractional logistic model of
    Papke and Wooldridge (1996), whose likelihood is highest at the conditional mean. So every
    prediction lies between the bounds, and everything that holds for two classes holds here:
    a record counts t for one and 1 - t for the other, its residual is at most 1.

    Parameters
    ----------
    epsilon : float, int, str, Decimal or Fraction
        Total budget of one fit under add/remove of one record. No default.
    delta : float, default=0
        As in :class:`PrivateForestClassifier`.
    domain : Domain or None
        Public facts with ``target=(lower, upper)``; targets outside are clipped. None reads them
        off the data, which voids the guarantee.
    strategy : str, default="auto"
        ``"rules"``, ``"one_shot"``, ``"refitted"``, ``"combined"`` or ``"multinomial"``.
        Rules and the multinomial forest see each record with a class of its own coin, 1 with
        probability t.
    max_records_per_unit, accountant, invalid, random_state, n_jobs, verbose
        As in :class:`PrivateForestClassifier`.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    strategy_ : str
        What was learnt.
    target_range_ : tuple of float
        Between what predictions lie.
    feature_importances_ : ndarray of float64, shape (n_features,)
        From released values.
    accountant_, spent_, guarantee_
        As in :class:`MultinomialForestClassifier`.

    Notes
    -----
    Bounds decide what noise there is: the noise on a mean is in units of upper - lower. Declare
    them as narrow as what is publicly known allows. Where the table is large for the budget, a
    twentieth of it buys noisy counts that tell a narrower range; targets outside are clipped.

    Examples
    --------
    >>> from dpforest import Domain, PrivateForestRegressor
    >>> domain = Domain(features={"age": (0, 120)}, target=(0, 300), approximate_rows=4)
    >>> PrivateForestRegressor(epsilon=1.0, domain=domain).plan().teachable
    False
    """

    _task = "regression"

    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> PrivateForestRegressor:
        """Train under the budget; see :meth:`MultinomialForestClassifier.fit` for the errors.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features), or Stream
        y : array-like of shape (n,)
            Numbers; left out with a stream, which holds them.
        **fit_parameters
            None are taken; ``sample_weight`` is refused with the reason.
        """
        refuse_fit_parameters(fit_parameters)
        self._fit(X, y)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Expected target of each record; touches released values only and costs nothing.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Values outside the domain follow fixed public rules; no record is dropped.

        Returns
        -------
        ndarray of float64, shape (n,)
            Between the declared bounds.
        """
        check_is_fitted(self)
        self._check_feature_names(X)
        codes = self._encoder_.encode_features(X, for_predict=True)[0].codes
        return self._means(self.model_.log_odds(codes))

    def _means(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        share = 1.0 / (1.0 + np.exp(np.clip(scores[:, 0] - scores[:, 1], -700.0, 700.0)))
        lower, upper = self.target_range_
        return lower * (1.0 - share) + upper * share

    def _link(self) -> Link:
        return Link({"kind": "mean", "range": list(self.target_range_)}, (0, 1))

    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {"mean": self._means(scores)}

    @property
    def target_range_(self) -> tuple[float, float]:
        """Bounds of what is predicted: the declared ones, or narrower ones that were released."""
        check_is_fitted(self)
        lower, upper = target_bounds(self.domain_)
        low, high = (steps / TARGET_STEPS for steps in self.target_steps_)
        return lower * (1 - low) + upper * low, lower * (1 - high) + upper * high

    # -- what the base class asks for -----------------------------------------------------

    def _encoder(self, domain: Domain) -> DomainEncoder:
        target_bounds(domain)
        return DomainEncoder(
            domain, invalid=self.invalid, task="regression", estimator_name=type(self).__name__
        )

    def _prepare(
        self, plan: PrivateForestPlan, scope: Scope, records: Records, source: RandomSource
    ) -> Records:
        """Targets between released bounds, or classes by each record's own coin."""
        self.target_steps_ = 0, TARGET_STEPS
        if plan.target_range is not None:
            grant = scope.request(plan.target_range, role=RANGE_ROLE)
            self.target_steps_ = release_target_range(records, grant, source.spawn(RANGE_ROLE))
            records = MappedRecords(records, Rescaled(*self.target_steps_))
        if plan.strategy in _BY_CLASSES:
            records = MappedRecords(records, Tossed(source.spawn("target coins").rows()))
        return records

    def _released_to_data(self) -> Any:
        return {"target_steps": list(self.target_steps_), **super()._released_to_data()}

    def _released_from_data(self, data: Any, encoder: DomainEncoder) -> None:
        steps = whole_numbers(data["target_steps"], (2,), "range of the target", 0, TARGET_STEPS)
        low, high = steps.tolist()
        if not low < high:
            raise ModelFormatError("the stored range of the target is no range. Store it again.")
        self.target_steps_ = low, high
        super()._released_from_data(data, encoder)

    def _set_model(self, model: ReleasedModel, strategy: str, domain: Domain) -> None:
        self.model_ = model
        self.strategy_ = strategy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Noise at a small epsilon may leave a small table at the mean.
        tags.regressor_tags.poor_score = True
        return tags


def target_bounds(domain: Domain) -> tuple[float, float]:
    """The declared bounds of the target.

    Raises
    ------
    DomainError
        When there are none.
    """
    if domain.target is None:
        raise DomainError(
            "target",
            "a regressor needs bounds of the target",
            'Declare target=(lower, upper); Domain.draft takes task="regression"',
        )
    return float(domain.target.lower), float(domain.target.upper)
