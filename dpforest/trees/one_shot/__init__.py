"""The one-shot forest: public random trees, one noisy release of all their leaves, calibration.

``plan`` lists what is asked for, ``learner`` asks; structures and everything between the noisy
counts and the scores of classes cost nothing.
"""

from dpforest.trees.one_shot.learner import OneShotForest
from dpforest.trees.one_shot.model import OneShotModel
from dpforest.trees.one_shot.plan import OneShotShape

__all__ = ["OneShotForest", "OneShotModel", "OneShotShape"]
