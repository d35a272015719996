"""Selected rules and a one-shot forest beside each other, weighed by a private choice."""

from dpforest.learners.combined.learner import CombinedLearner
from dpforest.learners.combined.model import CombinedModel
from dpforest.learners.combined.plan import CombinedPlan, CombinedSettings

__all__ = ["CombinedLearner", "CombinedModel", "CombinedPlan", "CombinedSettings"]
