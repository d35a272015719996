"""A fit's plan made again from what its report says: settings, domain, and no data."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.allocation import resolve_allocation
from dpforest.accounting.diffprivlib_adapter import DiffprivlibCeiling
from dpforest.accounting.fits import DIFFPRIVLIB, OWN_BUDGET
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.rationals import exact_text
from dpforest.accounting.scopes import Scope
from dpforest.domain.domain import Domain
from dpforest.estimators.base import PrivateEstimator
from dpforest.estimators.classifier import PrivateForestClassifier
from dpforest.estimators.fit_plan import COUNTED
from dpforest.estimators.fitting import Fit
from dpforest.estimators.multinomial import MultinomialForestClassifier
from dpforest.estimators.parameters import storable, stored
from dpforest.estimators.planning import plan_of, settled_by
from dpforest.estimators.progress import PartProgress, PassProgress
from dpforest.estimators.regressor import PrivateForestRegressor
from dpforest.estimators.training import Training, training_scope
from dpforest.exceptions import ParameterError
from dpforest.records.base import Records
from dpforest.records.streams.batches import BatchStream
from dpforest.report.report import PrivacyReport
from dpforest.trees.training import ask_for_all

_ESTIMATORS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (MultinomialForestClassifier, PrivateForestClassifier, PrivateForestRegressor)
}


@dataclass(frozen=True, slots=True)
class Remade:
    """An estimator with the settings of a report, not fitted to any record, and its plan.

    Attributes
    ----------
    model : estimator
    plan : FitPlan
        As it is before any record is read.
    settled : FitPlan
        The whole plan: where it waited for a number of records, by the one that was bought.
    """

    model: Any
    plan: Any
    settled: Any

    def requests(self, report: PrivacyReport) -> ScopeRecord:
        """Requests of a fit, made again on a table without records; nothing is learnt of it.

        A plan that was fixed beforehand asks for the same whatever the records are, and one that
        waited for a number of them does once that is given.
        """
        model = self.model
        model.verbose = 0
        model.accountant = self._accountant(report)
        width = len(report.domain["features"])
        # This fits nobody's records, so it is not added to the process-wide list of fits. ``fit``
        # is not called, because on Dask it takes only Dask collections.
        fit = Asking(model, listing=report.basis.listing, counted=self.settled.counted)
        if report.facts.streamed:
            fit.run(BatchStream([]), None)
        else:
            fit.run(np.empty((0, width), dtype=object), np.empty(0, dtype=object))
        return fit.requests.relabelled(report.composition.label)

    def _accountant(self, report: PrivacyReport) -> Any:
        """Accountant that charges the fit as the report's did: by its parts' sum, or whole."""
        if report.facts.charged_to == OWN_BUDGET:
            return None
        if report.facts.charged_to == DIFFPRIVLIB:
            return DiffprivlibCeiling(Boundless())
        reserve = report.composition.reserve
        if reserve is None or not reserve.loss.delta:
            return BudgetAccountant._unlimited(self.model.delta)
        return BudgetAccountant(self.model.epsilon, self.model.delta)


class AskingTraining(Training):
    """A training that asks for all that its plan lists, and makes no model of it.

    A learner can ask for nothing else and no less (`Bridge`), so none is run: what it would count
    and draw takes most of a fit's time, and nobody looks at it.
    """

    def _tell_of_compiling(self) -> None:
        """Say nothing: what is not learnt is not compiled."""

    def _learn(
        self, scope: Scope, records: Records, progress: PartProgress | PassProgress
    ) -> tuple[Any, None]:
        plan = self.settled.plan
        assert plan is not None
        with training_scope(self.settled, scope) as training:
            ask_for_all(plan, training, self._door.source, records, progress.part_done)
        return None, None


class Asking(Fit):
    """A fit that asks for all that its plan lists, and hands over no model.

    Attributes
    ----------
    requests : ScopeRecord
        What was asked for, once it was run.
    """

    requests: ScopeRecord
    _trains = AskingTraining

    def _finish(self, scope: Scope, released: Any, few: Any) -> None:
        self.requests = scope.record()


class Boundless:
    """Part of diffprivlib's accountant that the adapter uses; grants everything."""

    def total(self) -> tuple[float, float]:
        return math.inf, 1.0

    remaining = total

    def check(self, epsilon: float, delta: float) -> bool:
        return True

    def spend(self, epsilon: float, delta: float) -> None:
        """Count nothing."""


def estimator_of(name: str) -> type[Any]:
    """The private estimator of dpforest of that name.

    Raises
    ------
    LookupError
        If there is none.
    """
    if name in _ESTIMATORS:
        return _ESTIMATORS[name]
    on_dask = import_module("dpforest.dask")  # needs no Dask to be imported
    kind = getattr(on_dask, name) if name in on_dask.__all__ else None
    if isinstance(kind, type) and issubclass(kind, PrivateEstimator):
        return kind
    raise LookupError(f"dpforest has no private estimator {name!r}")


def remade_plan(report: PrivacyReport) -> Remade | str | None:
    """The plan that a report's settings and domain lead to.

    Parameters
    ----------
    report : PrivacyReport

    Returns
    -------
    Remade, str or None
        None where it cannot be made here, because a part of it is of somebody else's making; a
        text where the settings contradict themselves.
    """
    facts, domain = report.facts, Domain._of_record(report.domain)
    try:
        kind = estimator_of(report.estimator)
    except LookupError:
        return None
    if _is_foreign(facts.settings.get("allocation")):
        return None
    try:
        model = kind(domain=domain, **{k: stored(v) for k, v in facts.settings.items()})
        wanted = model._wanted(done=True)
        written = {k: storable(v) for k, v in model._reported_parameters().items()}
        if written != facts.settings or set(written) != set(facts.parameters):
            return "its parameters are not those of its estimator"
        if exact_text(wanted.budget.delta) != facts.delta:
            return "its delta is not the one of its parameters"
        encoder, rows = model._encoder(domain), domain.approximate_rows
        plan = plan_of(wanted, encoder, rows, facts.charged_to, not facts.streamed)
        if plan.count is None:
            return Remade(model, plan, plan)
        if (counted := _counted(report)) is None:
            return "it does not name the noisy number of records that its plan was made from"
        return Remade(model, plan, settled_by(plan, counted))
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        return f"its settings make no plan ({type(error).__name__})"


def _counted(report: PrivacyReport) -> int | None:
    """The noisy number of records that a report names; of no more digits than counts have."""
    text = report.plan.get(COUNTED, "")
    return int(text) if re.fullmatch(r"-?[1-9][0-9]{0,18}|0", text) else None


def _is_foreign(allocation: Any) -> bool:
    """Say if an allocation is noted by a name that only its maker can resolve."""
    if not isinstance(allocation, str):
        return False
    try:
        resolve_allocation(allocation)
    except ParameterError:
        return True
    return False
