"""Selected rules: whole decision trees of public shape, drawn by one exponential mechanism.

Public names are loaded when they are first used: who picks a strategy asks for a constant alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

if TYPE_CHECKING:
    from dpforest.trees.rules.learner import RulesLearner
    from dpforest.trees.rules.model import RuleModel
    from dpforest.trees.rules.plan import RulesPlan
    from dpforest.trees.rules.settings import RulesSettings

_HOMES = {
    "RuleModel": "dpforest.trees.rules.model",
    "RulesLearner": "dpforest.trees.rules.learner",
    "RulesPlan": "dpforest.trees.rules.plan",
    "RulesSettings": "dpforest.trees.rules.settings",
}

__all__ = ["RuleModel", "RulesLearner", "RulesPlan", "RulesSettings"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
