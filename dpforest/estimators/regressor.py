"""PrivateForestRegressor: the private forest for numbers between declared bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpforest.estimators import engine
from dpforest.estimators.base import PrivateEstimator
from dpforest.exceptions import Described, DomainError, ParameterError

if TYPE_CHECKING:
    from dpforest.accounting.releases import LearnerBudget
    from dpforest.domain.domain import Domain
    from dpforest.domain.encoder import DomainEncoder
    from dpforest.estimators.fit_plan import FitRequest
    from dpforest.estimators.outcome import FitOutcome
    from dpforest.plain.writing import Link


class PrivateForestRegressor(RegressorMixin, PrivateEstimator):
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
        ``"rules"``, ``"one_shot"``, ``"refitted"``, ``"boosted"`` or ``"additive"``; ``auto``
        picks one of these, but never rules, by a public rule (docs/private_forest.md). Rules see
        each record with a class of its own coin, 1 with probability t. Curves at once, which an
        additive model has in pure epsilon, clip what targets far from their mean say, so of skewed
        ones they lean to the median.
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
    target_steps_: tuple[int, int]

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

    def _request(self, budget: LearnerBudget, done: bool) -> FitRequest:
        return engine.by_strategy(budget, self.strategy, None, done)

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected target of each record; touches released values only and costs nothing.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Values outside the domain follow fixed public rules; no record is dropped.
        return_std : bool, default=False
            Whether to return ``prediction_noise`` too. It speaks of privacy noise alone: not of
            how far targets lie from their mean.

        Returns
        -------
        ndarray of float64, shape (n,)
            Between the declared bounds.
        ndarray of float64, shape (n,)
            With ``return_std`` alone.

        Raises
        ------
        NoiseUnknownError
            With ``return_std``, where ``prediction_noise`` raises it.
        """
        codes = self._codes(X)
        means = self._means(self.model_.log_odds(codes))
        return (means, self._noise_of_codes(codes)) if return_std else means

    def prediction_noise(self, X: Any, n_draws: int | None = None) -> NDArray[np.float64]:
        """Standard errors of ``predict`` by privacy noise, given what was chosen; free.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        n_draws : int, optional
            Models with other noise that they are made of: 40.

        Returns
        -------
        ndarray of float64, shape (n,)
            In units of the target; nan where no noisy number goes into a prediction.

        Raises
        ------
        NoiseUnknownError
            The model was read from a file, or has curves at once: they are in pure epsilon (see
            docs/explanations.md).
        """
        return self._noise_of_codes(self._codes(X), n_draws)

    def _noise_of_codes(
        self, codes: NDArray[Any], n_draws: int | None = None
    ) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._noise_of(
            lambda model: self._means(model.log_odds(codes)), n_draws
        )
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of predictions; on private records it is no private figure.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        y : array-like of shape (n,)
            Targets, as they are: those outside of the declared bounds are not clipped.
        sample_weight : array-like of shape (n,), optional
            Finite numbers of at least 0, some above 0.

        Raises
        ------
        ParameterError
            Some target is no finite number, there are no records, or not one target, or one such
            weight, for each.
        """
        from sklearn.metrics import r2_score

        check_is_fitted(self)
        targets, faults = engine.target_faults(engine.read_labels(y, type(self).__name__))
        if any(broken.any() for _, broken in faults):
            raise ParameterError(
                "y", Described("targets"), "must all be finite numbers", "Leave out those without"
            )
        predicted = self.predict(X)
        engine.check_scored(len(predicted), targets)
        weights = engine.read_weights(len(predicted), sample_weight)
        return float(r2_score(targets, predicted, sample_weight=weights))

    def _means(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        share = 1.0 / (1.0 + np.exp(np.clip(scores[:, 0] - scores[:, 1], -700.0, 700.0)))
        lower, upper = self.target_range_
        return lower * (1.0 - share) + upper * share

    def _link(self) -> Link:
        from dpforest.plain.writing import Link

        return Link({"kind": "mean", "range": list(self.target_range_)}, (0, 1))

    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {"mean": self._means(scores)}

    def _score_labels(self) -> list[tuple[str, int]]:
        return [("rest", 0), ("mean", 1)]

    @property
    def target_range_(self) -> tuple[float, float]:
        """Bounds of what is predicted: the declared ones, or narrower ones that were released."""
        check_is_fitted(self)
        lower, upper = target_bounds(self.domain_)
        low, high = (steps / engine.TARGET_STEPS for steps in self.target_steps_)
        return lower * (1 - low) + upper * low, lower * (1 - high) + upper * high

    # -- what the base class asks for -----------------------------------------------------

    def _encoder(self, domain: Domain) -> DomainEncoder:
        target_bounds(domain)
        return engine.DomainEncoder(
            domain, invalid=self.invalid, task="regression", estimator_name=type(self).__name__
        )

    def _serve(self, released: FitOutcome, domain: Domain) -> dict[str, Any]:
        return super()._serve(released, domain) | {"target_steps_": released.target_steps}

    def _released(self) -> FitOutcome:
        return engine.FitOutcome(self.strategy_, self.model_, self.target_steps_)

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
