"""Selected rules: whole decision trees of public shape, drawn by one exponential mechanism."""

from dpforest.learners.rules.learner import RulesLearner
from dpforest.learners.rules.model import RuleModel
from dpforest.learners.rules.plan import RulesPlan
from dpforest.learners.rules.settings import RulesSettings

__all__ = ["RuleModel", "RulesLearner", "RulesPlan", "RulesSettings"]
