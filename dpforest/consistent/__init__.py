"""Consistent forests, and those they are compared with, as their papers have them. Not private.

Public names are loaded when they are first used, as those of ``dpforest`` are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

if TYPE_CHECKING:
    from dpforest.consistent.brf import BRFClassifier, BRFRegressor
    from dpforest.consistent.denil14 import Denil14Classifier
    from dpforest.consistent.dmrf import DMRFClassifier, DMRFRegressor
    from dpforest.consistent.mrf import MRFClassifier
    from dpforest.consistent.mrf2019 import MRF2019Classifier, MRF2019Regressor
    from dpforest.consistent.safe_bayesian import SafeBayesianForestClassifier

_HOMES = {
    "BRFClassifier": "dpforest.consistent.brf",
    "BRFRegressor": "dpforest.consistent.brf",
    "DMRFClassifier": "dpforest.consistent.dmrf",
    "DMRFRegressor": "dpforest.consistent.dmrf",
    "Denil14Classifier": "dpforest.consistent.denil14",
    "MRF2019Classifier": "dpforest.consistent.mrf2019",
    "MRF2019Regressor": "dpforest.consistent.mrf2019",
    "MRFClassifier": "dpforest.consistent.mrf",
    "SafeBayesianForestClassifier": "dpforest.consistent.safe_bayesian",
}

__all__ = [
    "BRFClassifier",
    "BRFRegressor",
    "DMRFClassifier",
    "DMRFRegressor",
    "Denil14Classifier",
    "MRF2019Classifier",
    "MRF2019Regressor",
    "MRFClassifier",
    "SafeBayesianForestClassifier",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
