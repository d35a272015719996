"""A fitted greedy tree: a boosted forest of one tree, whose steps lead to its leaves' shares."""

from __future__ import annotations

from dpforest.trees.boosted.model import BoostedModel as GreedyModel

__all__ = ["GreedyModel"]
