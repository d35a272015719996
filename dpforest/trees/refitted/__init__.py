"""The refitted forest: rounds of random trees, each fitted to the residuals of those before it.

In a round one exponential mechanism picks one of m random trees, and noisy sums of residuals
fill its leaves ((epsilon, delta) only). ``plan`` lists what is asked for, ``learner`` asks.
"""

from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.model import RefittedModel
from dpforest.trees.refitted.plan import RefittedShape

__all__ = ["RefittedForest", "RefittedModel", "RefittedShape"]
