"""Selected rules and a one-shot forest beside each other, weighed by a private choice."""

from dpforest.trees.combined.learner import CombinedLearner
from dpforest.trees.combined.model import CombinedModel
from dpforest.trees.combined.plan import CombinedSettings, CombinedShape

__all__ = ["CombinedLearner", "CombinedModel", "CombinedSettings", "CombinedShape"]
