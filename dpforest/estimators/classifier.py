"""PrivateForestClassifier, and parts that private classifiers share: classes, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpforest.call_stack import callers_stacklevel
from dpforest.decisions import ClassScores, log_shares, softmax
from dpforest.estimators import engine
from dpforest.estimators.base import PrivateEstimator
from dpforest.exceptions import DomainError, UndeclaredLabelsWarning
from dpforest.searches import running_search, warn_in_search

if TYPE_CHECKING:
    from dpforest.accounting.releases import LearnerBudget
    from dpforest.domain.domain import Domain
    from dpforest.domain.encoder import DomainEncoder
    from dpforest.estimators.fit_plan import FitRequest
    from dpforest.estimators.outcome import FitOutcome
    from dpforest.plain.writing import Link


class PrivateClassifier(ClassScores, ClassifierMixin, PrivateEstimator):
    """Base of private classifiers: class probabilities from what the model releases."""

    _task = "classification"
    classes_: NDArray[Any]
    #: Place in the order of declaration of each of ``classes_``.
    _order_: NDArray[np.intp]

    def _encoder(self, domain: Domain) -> DomainEncoder:
        class_array(domain)
        return engine.DomainEncoder(
            domain, invalid=self.invalid, estimator_name=type(self).__name__
        )

    def _serve(self, released: FitOutcome, domain: Domain) -> dict[str, Any]:
        order = class_order(class_array(domain))
        served = {"classes_": sorted_classes(domain), "_order_": order}
        return super()._serve(released, domain) | served

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities from scores in the order of declaration, columns as ``classes_``."""
        weights = scores[:, self._order_]
        if self.model_.link == "softmax":
            return softmax(weights)
        return weights / weights.sum(axis=1, keepdims=True)

    def _link(self) -> Link:
        from dpforest.plain.writing import Link

        content = {"kind": self.model_.link, "classes": self.classes_.tolist()}
        return Link(content, self._order_.tolist())

    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        shares = self._probabilities(scores).T
        return {str(label): own for label, own in zip(self.classes_, shares, strict=True)}

    def _score_labels(self) -> list[tuple[str, int]]:
        return list(zip(map(str, self.classes_), self._order_.tolist(), strict=True))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; touches released values only and costs nothing.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Values outside the domain follow fixed public rules; no record is dropped.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._probabilities(self._model_scores(X))

    def _model_scores(self, X: Any) -> NDArray[np.float64]:
        """Scores of the model, in the order of declaration."""
        return self.model_.scores(self._codes(X))

    def _class_scores(self, X: Any) -> NDArray[np.float64]:
        scores = self._model_scores(X)
        if self.model_.link == "softmax":
            return log_shares(scores[:, self._order_])
        return self._probabilities(scores)

    def prediction_noise(self, X: Any, n_draws: int | None = None) -> NDArray[np.float64]:
        """Standard errors of ``predict_proba`` by privacy noise, given what was chosen; free.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        n_draws : int, optional
            Models with other noise that they are made of: 40.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            nan where no noisy number goes into a prediction.

        Raises
        ------
        NoiseUnknownError
            The model was read from a file, or has curves at once: they are in pure epsilon (see
            docs/explanations.md).
        """
        codes = self._codes(X)
        found: NDArray[np.float64] = self._noise_of(
            lambda model: self._probabilities(model.scores(codes)), n_draws
        )
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each record; touches released values only and costs nothing.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Values outside the domain follow fixed public rules; no record is dropped.

        Returns
        -------
        ndarray, shape (n,)
            Of ``classes_``, and of its dtype.
        """
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of records whose class is predicted; on private records it is no private figure.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        y : array-like of shape (n,)
            Labels, read as ``fit`` reads them: those that mean a declared class are that class.
            Others are right for no prediction; if no label means one, a warning says so.
        sample_weight : array-like of shape (n,), optional
            Finite numbers of at least 0, some above 0.

        Raises
        ------
        ParameterError
            There are no records, or not one label, or one such weight, for each.
        """
        from sklearn.metrics import accuracy_score

        check_is_fitted(self)
        codes = self._encoder_.encode_labels(y)
        if codes.size and codes.max() < 0:
            self._warn_of_labels()
        predicted = self._order_[self.predict_proba(X).argmax(axis=1)]
        engine.check_scored(len(predicted), codes)
        weights = engine.read_weights(len(predicted), sample_weight)
        return float(accuracy_score(codes, predicted, sample_weight=weights))

    def _warn_of_labels(self) -> None:
        declared = ", ".join(repr(label) for label in self.classes_[:3].tolist())
        text = (
            "no label means a declared class, so no prediction can be right. Write labels as the "
            f"domain declares them: {declared}{', …' if len(self.classes_) > 3 else ''}"
        )
        level = callers_stacklevel()
        warn_in_search(text, UndeclaredLabelsWarning, running_search(None), stacklevel=level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Noise at a small epsilon may leave a small table at the prior.
        tags.classifier_tags.poor_score = True
        return tags


class PrivateForestClassifier(PrivateClassifier):
    """Private classifier that is good without tuning.

    From epsilon, delta, the domain and a number of records that is declared or bought, it picks
    what to learn: selected decision rules where the budget is small for the table, a one-shot
    forest of public random trees with noisy leaves (pure epsilon), or a forest refitted to its
    residuals round by round (with a delta; in pure epsilon of many records, or at a large epsilon).
    Many records can carry a boosted forest, whose trees draw their splits. Of two classes in memory
    it may pick a sum of curves of single features, ``"additive"`` (in pure epsilon), where records
    are fewer than 2,000 or most features are categories. The plan can be read before any data is
    touched: :meth:`plan`.

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
        ``"rules"``, ``"one_shot"``, ``"refitted"``, ``"boosted"`` or ``"additive"``; ``auto``
        picks one of these by a public rule (docs/private_forest.md).
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

    #: The multinomial forest for such records, which is no strategy.
    _of_its_own = "MultinomialForestClassifier"

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
        return engine.by_strategy(budget, self.strategy, self._of_its_own, done)


def class_array(domain: Domain) -> NDArray[Any]:
    """The declared classes as an array, in their declared order."""
    if domain.classes is None:
        raise DomainError("classes", "a classifier needs classes", "Declare at least two classes")
    labels = domain.classes.labels
    kind: Any = _exact_type(labels) if _are_alike(labels) else object
    # Numpy by itself would turn large whole numbers into doubles, numbers beside texts into texts,
    # and booleans beside numbers into numbers.
    return np.array(labels, dtype=kind)


def _exact_type(labels: Sequence[Any]) -> Any:
    """Type that holds labels of one kind exactly, whole numbers as whole; None for numpy's own."""
    if all(type(label) is int for label in labels):
        spans = ((kind, np.iinfo(kind)) for kind in (np.int64, np.uint64))
        fit = (kind for kind, span in spans if span.min <= min(labels) <= max(labels) <= span.max)
        return next(fit, object)
    return None if np.array(labels).tolist() == list(labels) else object


def _are_alike(labels: Sequence[Any] | NDArray[Any]) -> bool:
    """Say if labels compare: all of them texts, all booleans or all numbers."""
    kinds = {float if isinstance(label, int) else type(label) for label in labels}
    return len(kinds) == 1 and len({type(label) is bool for label in labels}) == 1


def sorted_classes(domain: Domain) -> NDArray[Any]:
    """The declared classes in the order of ``classes_``."""
    labels = class_array(domain)
    return labels[class_order(labels)]


def class_order(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions that sort the labels; as declared where they are of kinds that do not compare."""
    if labels.dtype == object and not _are_alike(labels):
        return np.arange(labels.size)
    return np.argsort(labels, kind="stable")
