"""Selected rules: whole decision trees of public shape, drawn by one exponential mechanism."""

from dpforest.trees.rules.learner import RulesLearner
from dpforest.trees.rules.model import RuleModel
from dpforest.trees.rules.plan import RulesPlan
from dpforest.trees.rules.settings import RulesSettings

__all__ = ["RuleModel", "RulesLearner", "RulesPlan", "RulesSettings"]
