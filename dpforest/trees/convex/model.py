"""The released model of the convex learner: a sum of curves, as the additive learner's."""

from __future__ import annotations

from dpforest.trees.additive.model import AdditiveModel as AdditiveModel
