"""What every private estimator does around its training: public facts first, budget second, records last."""

from __future__ import annotations

import itertools
import uuid
import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.diffprivlib_adapter import DiffprivlibCeiling, is_diffprivlib_accountant
from dpforest.accounting.fits import FitListing, register_fit
from dpforest.accounting.ledger import Budget, FrozenLedger, ScopeRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.scopes import Scope
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import Domain
from dpforest.exceptions import ParameterTypeError, PrivacyLeakWarning
from dpforest.forest.guarantee import Guarantee, make_guarantee
from dpforest.forest.report import PrivacyReport, RunFacts, library_versions, make_report
from dpforest.forest.settings import check_delta, check_epsilon
from dpforest.mechanisms.entropy import RandomSource, make_source

_FIT_NUMBER = itertools.count(1)


@dataclass(slots=True)
class FitRun:
    """What one fit gathers for its report: public and released facts only."""

    epsilon: Fraction
    delta: Fraction
    domain: Domain
    encoder: DomainEncoder
    source: RandomSource
    leaks: list[str] = field(default_factory=list)
    external: list[Any] = field(default_factory=list)


class PrivateEstimator(BaseEstimator):
    """Base of estimators that train under an accountant.

    A subclass gives ``_build_plan`` (what will be asked for, from public facts alone) and
    ``_train`` (make the requests and release). Order of a fit: parameters, domain, width and
    dtypes; plan; reserve; records; requests. So a refusal comes before records are read.
    """

    # scikit-learn's tools then know that epsilon has no default.
    _required_parameters = ["epsilon"]

    # What a drafted domain reads the target as.
    _task: Literal["classification", "regression"]

    epsilon: Any
    delta: Any
    domain: Any
    accountant: Any
    invalid: Any
    random_state: Any

    @abstractmethod
    def _build_plan(self, run: FitRun) -> Any:
        """Make the plan; has an exact ``loss``."""

    @abstractmethod
    def _train(self, run: FitRun, plan: Any, scope: Scope, table: Any) -> None:
        """Make the plan's requests in ``scope`` and set the released attributes."""

    @abstractmethod
    def _encoder(self, domain: Domain) -> DomainEncoder:
        """Make the encoder of a table."""

    def _fit(self, X: Any, y: Any) -> None:
        run = self._start(X, y)
        plan = self._build_plan(run)
        accountant, run.external = self._open_accountant(run, plan.loss)
        label = f"fit {next(_FIT_NUMBER)}: {type(self).__name__}"
        with accountant.open_scope(label, reserve=plan.loss) as scope:
            table = self._encode(run, X, y)
            listing = self._register(plan.loss)
            self._train(run, plan, scope, table)
            loss = scope.loss
        self._finish(run, X, plan, accountant, scope, loss, listing)

    def _encode(self, run: FitRun, X: Any, y: Any) -> Any:
        """Records as codes: the only place where a fit reads values."""
        return run.encoder.encode(X, y)

    def _start(self, X: Any, y: Any) -> FitRun:
        """Everything that can be refused without a look at any value."""
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        source = make_source(self.random_state)
        domain, leaks = self._resolve_domain(X, y)
        encoder = self._encoder(domain)
        encoder.check(X, y)
        return FitRun(epsilon, delta, domain, encoder, source, leaks)

    def _resolve_domain(self, X: Any, y: Any) -> tuple[Domain, list[str]]:
        """The declared domain; without one it is read off the data, which voids the guarantee."""
        if self.domain is None:
            leak = "no domain was declared, so bounds, categories and classes were read from the data"
            domain = Domain.draft(X, y, task=self._task)
        elif isinstance(self.domain, Domain):
            domain = self.domain
            if domain.is_declared:
                return domain, []
            entries = ", ".join(domain.drafted_entries)
            leak = f"the domain was drafted from data and not confirmed ({entries})"
        else:
            raise ParameterTypeError(
                "domain", type(self.domain).__name__, "must be a dpforest.Domain or None",
                "Build one with Domain(features=..., classes=...) or Domain.from_json(path)",
            )  # fmt: skip
        warnings.warn(
            f"{leak}. The guarantee is void. Declare the public facts: see Domain, Domain.draft.",
            PrivacyLeakWarning,
            stacklevel=5,
        )
        return domain, [leak]

    def _open_accountant(
        self, run: FitRun, loss: PrivacyLoss
    ) -> tuple[BudgetAccountant, list[Any]]:
        """The shared accountant, or one of this fit's own size; a diffprivlib ceiling is charged now."""
        if self.accountant is None:
            return BudgetAccountant(run.epsilon, run.delta), []
        if isinstance(self.accountant, BudgetAccountant):
            return self.accountant, []
        ceiling = self.accountant
        if is_diffprivlib_accountant(ceiling):
            ceiling = DiffprivlibCeiling(ceiling)
        if isinstance(ceiling, DiffprivlibCeiling):
            return BudgetAccountant(run.epsilon, run.delta), [ceiling.charge(loss, run.delta)]
        raise ParameterTypeError(
            "accountant", type(self.accountant).__name__,
            "must be a BudgetAccountant, a diffprivlib.BudgetAccountant or None",
            "Open one with BudgetAccountant(epsilon=..., delta=...)",
        )  # fmt: skip

    def _register(self, loss: PrivacyLoss) -> FitListing | None:
        """List the fit in the process-wide ledger where nobody else keeps count of it."""
        if self.accountant is not None:
            return None
        return register_fit(self._own_lineage(), type(self).__name__, loss)

    def _set_features_in(self, domain: Domain, X: Any) -> None:
        """Width and, where the table has names, the names that the domain declares."""
        self.n_features_in_ = domain.n_features
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            self.feature_names_in_ = np.array(domain.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _finish(
        self,
        run: FitRun,
        X: Any,
        plan: Any,
        accountant: BudgetAccountant,
        scope: Scope,
        loss: PrivacyLoss,
        listing: FitListing | None,
    ) -> None:
        self.domain_ = run.domain
        self._set_features_in(run.domain, X)
        self._encoder_ = run.encoder
        self.accountant_ = accountant
        self.guarantee_ = make_guarantee(loss, run.delta, tuple(run.leaks), run.source.seeded)
        self.spent_ = spent_budget(loss, self.guarantee_)
        self._stored_report: PrivacyReport | None = None
        # Written out when somebody asks: a closed scope does not change any more.
        self._scope: Scope | ScopeRecord = scope
        self._facts = RunFacts(
            estimator=type(self).__name__,
            parameters={name: repr(value) for name, value in self._reported_parameters().items()},
            domain=run.domain,
            plan=plan.describe(),
            randomness=run.source.describe(),
            external=tuple(run.external),
            listing=listing,
            guarantee=self.guarantee_,
            versions=library_versions(),
        )

    def _reported_parameters(self) -> dict[str, Any]:
        """Parameters for the report: the seed itself, the domain and the accountant stay out."""
        hidden = ("domain", "accountant", "random_state")
        return {k: v for k, v in self.get_params(deep=False).items() if k not in hidden}

    def privacy_report(self) -> PrivacyReport:
        """What was spent, on what, and what it guarantees.

        Returns
        -------
        PrivacyReport
            With ``to_json`` and ``to_markdown``.
        """
        check_is_fitted(self)
        if self._stored_report is not None:
            return self._stored_report
        return make_report(self._facts, self._composition())

    def _composition(self) -> ScopeRecord:
        return self._scope if isinstance(self._scope, ScopeRecord) else self._scope.record()

    # -- copies -------------------------------------------------------------------------

    def _own_lineage(self) -> str:
        """Name shared by an object and its clones, under which their fits are listed."""
        if not hasattr(self, "_lineage"):
            self._lineage = uuid.uuid4().hex
        return str(self._lineage)

    def __sklearn_clone__(self) -> PrivateEstimator:
        """Clone as scikit-learn does, and let the copy's fits be listed with this object's."""
        parameters = {k: clone(v, safe=False) for k, v in self.get_params(deep=False).items()}
        copy = type(self)(**parameters)
        copy._lineage = self._own_lineage()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        """State without a live accountant: a fitted forest keeps its frozen ledger.

        Raises
        ------
        ParameterTypeError
            An unfitted estimator holds a live accountant: a copy in another process could
            spend the same budget again.
        """
        state: dict[str, Any] = dict(super().__getstate__())
        fitted = "accountant_" in state
        if "_scope" in state:
            state["_scope"] = self._composition()
        if fitted and isinstance(state["accountant_"], BudgetAccountant):
            state["accountant_"] = state["accountant_"].frozen()
        if state.get("accountant") is not None:
            if not fitted:
                raise ParameterTypeError(
                    "accountant", type(self.accountant).__name__,
                    "cannot be pickled with an unfitted estimator, since the copy could spend it twice",
                    "Fit in this process (threads are fine), or pickle the fitted estimator",
                )  # fmt: skip
            state["accountant"] = None
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")


def spent_budget(loss: PrivacyLoss, guarantee: Guarantee) -> Budget:
    """What a fit spent, as floats rounded up, with the exact loss beside them."""
    native = guarantee.bounds[0]
    rho = native.rho if native.rho is not None else float("inf")
    return Budget(native.epsilon, native.delta, rho, loss)


__all__ = ["FitRun", "FrozenLedger", "PrivateEstimator"]
