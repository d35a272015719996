"""Consistent forests, and those they are compared with, as their papers have them. Not private.

Public names are loaded when they are first used, as those of ``dpforest`` are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpforest.consistent.brf import BRFClassifier, BRFRegressor
    from dpforest.consistent.denil14 import Denil14Classifier
    from dpforest.consistent.dmrf import DMRFClassifier, DMRFRegressor
    from dpforest.consistent.mrf import MRFClassifier
    from dpforest.consistent.mrf2019 import MRF2019Classifier, MRF2019Regressor
    from dpforest.consistent.safe_bayesian import SafeBayesianForestClassifier

_HOMES = {
    "BRFClassifier": "brf",
    "BRFRegressor": "brf",
    "DMRFClassifier": "dmrf",
    "DMRFRegressor": "dmrf",
    "Denil14Classifier": "denil14",
    "MRF2019Classifier": "mrf2019",
    "MRF2019Regressor": "mrf2019",
    "MRFClassifier": "mrf",
    "SafeBayesianForestClassifier": "safe_bayesian",
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpforest.consistent' has no attribute {name!r}")
    return getattr(import_module(f"dpforest.consistent.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
