"""Parts that private classifiers share: classes, probabilities, scikit-learn's tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.base import PrivateEstimator
from dpforest.estimators.names import check_feature_names
from dpforest.estimators.outcome import FitOutcome
from dpforest.exceptions import DomainError
from dpforest.plain.writing import Link


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of private classifiers: class probabilities from what the model releases."""

    _task = "classification"
    classes_: NDArray[Any]
    #: Place in the order of declaration of each of ``classes_``.
    _order_: NDArray[np.intp]

    def _encoder(self, domain: Domain) -> DomainEncoder:
        class_array(domain)
        return DomainEncoder(domain, invalid=self.invalid, estimator_name=type(self).__name__)

    def _serve(self, released: FitOutcome, domain: Domain) -> dict[str, Any]:
        labels = class_array(domain)
        order = class_order(labels)
        served = {"classes_": labels[order], "_order_": order}
        return super()._serve(released, domain) | served

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities from scores in the order of declaration, columns as ``classes_``."""
        weights = scores[:, self._order_]
        if self.model_.link == "softmax":
            weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def _link(self) -> Link:
        content = {"kind": self.model_.link, "classes": self.classes_.tolist()}
        return Link(content, self._order_.tolist())

    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        shares = self._probabilities(scores).T
        return {str(label): own for label, own in zip(self.classes_, shares, strict=True)}

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
        check_is_fitted(self)
        check_feature_names(self, X)
        codes = self._encoder_.encode_features(X, for_predict=True)[0].codes
        return self._probabilities(self.model_.scores(codes))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each record, shape (n,)."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Noise at a small epsilon may leave a small table at the prior.
        tags.classifier_tags.poor_score = True
        return tags


def class_array(domain: Domain) -> NDArray[Any]:
    """The declared classes as an array, in their declared order."""
    if domain.classes is None:
        raise DomainError("classes", "a classifier needs classes", "Declare at least two classes")
    labels = domain.classes.labels
    kinds = {float if isinstance(label, int) else type(label) for label in labels}
    if len(kinds) == 1 and len({type(label) is bool for label in labels}) == 1:
        return np.array(labels)
    # Numpy would turn numbers beside texts into texts, and booleans beside numbers into numbers.
    mixed = np.empty(len(labels), dtype=object)
    mixed[:] = labels
    return mixed


def class_order(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions that sort the labels; as declared where they are of kinds that do not compare."""
    if labels.dtype == object:
        return np.arange(labels.size)
    return np.argsort(labels, kind="stable")
