"""The engine of the estimators: what their methods ask for, each part loaded when it is first used.

An estimator's class imports nothing else of accounts, domains, plans and trees, so that importing
it costs no more than scikit-learn does. A fit takes `fitting.Fit` instead, which loads all that it
will need before anything is charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

if TYPE_CHECKING:
    from dpforest.accounting.accountant import BudgetAccountant
    from dpforest.accounting.allocation import resolve_allocation
    from dpforest.accounting.fits import DetachedAccountant, charged_to, earlier_fits, recall_fits
    from dpforest.accounting.ledger import ScopeRecord
    from dpforest.accounting.releases import LearnerBudget
    from dpforest.accounting.units import check_records_per_unit
    from dpforest.domain.codes import target_faults
    from dpforest.domain.domain import Domain
    from dpforest.domain.encoder import DomainEncoder
    from dpforest.domain.labels import check_scored, read_labels, read_weights
    from dpforest.domain.targets import TARGET_STEPS
    from dpforest.estimators.background import background_records
    from dpforest.estimators.fit_plan import FitRequest, checked_approximate_rows, table_facts
    from dpforest.estimators.forecast import summarise
    from dpforest.estimators.forecast_range import public_figures, range_after_fit
    from dpforest.estimators.names import check_feature_names, warn_of_no_numbers, warn_of_times
    from dpforest.estimators.outcome import FitOutcome
    from dpforest.estimators.parameters import (
        MAX_DEPTH,
        check_delta,
        check_epsilon,
        check_lattice_draw,
        check_partition_rate,
        check_verbose,
        refuse_fit_parameters,
        storable,
    )
    from dpforest.estimators.planning import plan_of, warn_of_large_delta, warn_of_large_epsilon
    from dpforest.estimators.shapley import ShapleyValues, check_enumerable
    from dpforest.estimators.strategies import by_strategy
    from dpforest.mechanisms.entropy import WithheldSeed
    from dpforest.report.digests import model_fingerprint
    from dpforest.report.header import checked_header
    from dpforest.report.making import make_report
    from dpforest.report.utility import checked_figures
    from dpforest.trees.multinomial.criteria import resolve_criterion
    from dpforest.trees.multinomial.learner import MultinomialForest
    from dpforest.trees.multinomial.plan import DRAWS, LEAF_RULES, ForestSettings, build_plan

# Where each name lives. Type checkers read the imports above instead; a test compares the two.
_HOMES = {
    "BudgetAccountant": "dpforest.accounting.accountant",
    "DRAWS": "dpforest.trees.multinomial.plan",
    "DetachedAccountant": "dpforest.accounting.fits",
    "Domain": "dpforest.domain.domain",
    "DomainEncoder": "dpforest.domain.encoder",
    "FitOutcome": "dpforest.estimators.outcome",
    "FitRequest": "dpforest.estimators.fit_plan",
    "ForestSettings": "dpforest.trees.multinomial.plan",
    "LEAF_RULES": "dpforest.trees.multinomial.plan",
    "LearnerBudget": "dpforest.accounting.releases",
    "MAX_DEPTH": "dpforest.estimators.parameters",
    "MultinomialForest": "dpforest.trees.multinomial.learner",
    "ScopeRecord": "dpforest.accounting.ledger",
    "ShapleyValues": "dpforest.estimators.shapley",
    "TARGET_STEPS": "dpforest.domain.targets",
    "WithheldSeed": "dpforest.mechanisms.entropy",
    "background_records": "dpforest.estimators.background",
    "build_plan": "dpforest.trees.multinomial.plan",
    "by_strategy": "dpforest.estimators.strategies",
    "charged_to": "dpforest.accounting.fits",
    "check_delta": "dpforest.estimators.parameters",
    "check_enumerable": "dpforest.estimators.shapley",
    "check_epsilon": "dpforest.estimators.parameters",
    "check_feature_names": "dpforest.estimators.names",
    "check_lattice_draw": "dpforest.estimators.parameters",
    "check_partition_rate": "dpforest.estimators.parameters",
    "check_records_per_unit": "dpforest.accounting.units",
    "check_scored": "dpforest.domain.labels",
    "check_verbose": "dpforest.estimators.parameters",
    "checked_approximate_rows": "dpforest.estimators.fit_plan",
    "checked_figures": "dpforest.report.utility",
    "checked_header": "dpforest.report.header",
    "earlier_fits": "dpforest.accounting.fits",
    "make_report": "dpforest.report.making",
    "model_fingerprint": "dpforest.report.digests",
    "plan_of": "dpforest.estimators.planning",
    "public_figures": "dpforest.estimators.forecast_range",
    "range_after_fit": "dpforest.estimators.forecast_range",
    "read_labels": "dpforest.domain.labels",
    "read_weights": "dpforest.domain.labels",
    "recall_fits": "dpforest.accounting.fits",
    "refuse_fit_parameters": "dpforest.estimators.parameters",
    "resolve_allocation": "dpforest.accounting.allocation",
    "resolve_criterion": "dpforest.trees.multinomial.criteria",
    "storable": "dpforest.estimators.parameters",
    "summarise": "dpforest.estimators.forecast",
    "table_facts": "dpforest.estimators.fit_plan",
    "target_faults": "dpforest.domain.codes",
    "warn_of_large_delta": "dpforest.estimators.planning",
    "warn_of_large_epsilon": "dpforest.estimators.planning",
    "warn_of_no_numbers": "dpforest.estimators.names",
    "warn_of_times": "dpforest.estimators.names",
}

__all__ = [
    "BudgetAccountant",
    "DRAWS",
    "DetachedAccountant",
    "Domain",
    "DomainEncoder",
    "FitOutcome",
    "FitRequest",
    "ForestSettings",
    "LEAF_RULES",
    "LearnerBudget",
    "MAX_DEPTH",
    "MultinomialForest",
    "ScopeRecord",
    "ShapleyValues",
    "TARGET_STEPS",
    "WithheldSeed",
    "background_records",
    "build_plan",
    "by_strategy",
    "charged_to",
    "check_delta",
    "check_enumerable",
    "check_epsilon",
    "check_feature_names",
    "check_lattice_draw",
    "check_partition_rate",
    "check_records_per_unit",
    "check_scored",
    "check_verbose",
    "checked_approximate_rows",
    "checked_figures",
    "checked_header",
    "earlier_fits",
    "make_report",
    "model_fingerprint",
    "plan_of",
    "public_figures",
    "range_after_fit",
    "read_labels",
    "read_weights",
    "recall_fits",
    "refuse_fit_parameters",
    "resolve_allocation",
    "resolve_criterion",
    "storable",
    "summarise",
    "table_facts",
    "target_faults",
    "warn_of_large_delta",
    "warn_of_large_epsilon",
    "warn_of_no_numbers",
    "warn_of_times",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
