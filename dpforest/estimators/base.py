"""Base of every private estimator: a fit under an accountant, its plan and its report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dpforest.checks import check_choice, check_n_jobs
from dpforest.estimators import engine
from dpforest.estimators.model_uses import ModelUses
from dpforest.estimators.sharing import SharedBudget
from dpforest.exceptions import ParameterTypeError, kind_of

if TYPE_CHECKING:
    from dpforest.accounting.accountant import BudgetAccountant
    from dpforest.accounting.frozen_ledger import FrozenLedger
    from dpforest.accounting.ledger import Budget
    from dpforest.accounting.releases import LearnerBudget
    from dpforest.domain.domain import Domain
    from dpforest.domain.encoder import DomainEncoder
    from dpforest.estimators.fit_plan import FitRequest
    from dpforest.estimators.forecast import PlanSummary
    from dpforest.estimators.forecast_range import PublicFigures
    from dpforest.estimators.outcome import FitOutcome
    from dpforest.ledger.accountant import DataSetCeiling
    from dpforest.ledger.pricing import FitPrice
    from dpforest.report.guarantee import Guarantee
    from dpforest.report.header import ReportHeader
    from dpforest.report.record import RunFacts
    from dpforest.report.report import PrivacyReport
    from dpforest.report.utility import UtilityFigure


class PrivateEstimator(ModelUses, SharedBudget):
    """Base of estimators that train under an accountant.

    A subclass says what its parameters ask for (``_request``), how a table is read
    (``_encoder``), and what a released model means for its task (``_serve``, and what
    :class:`ModelUses` asks for).
    """

    # scikit-learn's tools then know that epsilon has no default.
    _required_parameters = ["epsilon"]
    # What a drafted domain reads the target as.
    _task: Literal["classification", "regression"]
    #: Whether ``fit`` takes nothing but what is read pass by pass.
    _by_passes = False

    epsilon: Any
    delta: Any
    domain: Any
    strategy: Any
    max_records_per_unit: Any
    accountant: Any
    invalid: Any
    random_state: Any
    n_jobs: Any
    verbose: Any

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    accountant_: BudgetAccountant | FrozenLedger
    spent_: Budget
    guarantee_: Guarantee
    _facts: RunFacts
    #: Words about a fit that failed; absent if none did.
    _failure: str = ""

    # -- what a subclass gives ---------------------------------------------------------------

    @abstractmethod
    def _request(self, budget: LearnerBudget, done: bool) -> FitRequest:
        """Check the parameters of its own, and say what they ask for; see :meth:`_wanted`."""

    @abstractmethod
    def _encoder(self, domain: Domain) -> DomainEncoder:
        """Make the encoder of a table."""

    def _serve(self, released: FitOutcome, domain: Domain) -> dict[str, Any]:
        """Attributes that predictions are made of; all are set at once."""
        return {"strategy_": released.strategy, "model_": released.model}

    # -- a fit -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> Self:
        """Train under the budget.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features), or Stream
            Columns by name where the table has the domain's names, else by position.
        y : array-like of shape (n,)
            Class labels, or numbers in a regression; left out with a stream, which holds them.
        **fit_parameters
            None are taken. ``sample_weight`` is refused with the reason: a weight multiplies what
            a record adds to every count, and no public bound of it is declared.

        Returns
        -------
        self

        Raises
        ------
        ParameterError, ParameterTypeError, DomainError
            Before any record is read and any budget spent.
        BudgetExceeded
            The accountant holds less than the plan asks for; nothing was read or spent.
        InvalidRecordError
            Only with ``invalid="raise"``; nothing was released, nor spent from a
            ``BudgetAccountant``. A ledger and a diffprivlib accountant stay charged: they are
            charged before any record is read and take nothing back.
        ApprovalMissing, LedgerError
            A ledger refuses the fit, or cannot be reached; no record was read.

        Warns
        -----
        LedgerWarning
            The ledger could not be told that the fit is done. The model is kept.
        """
        # Here, since it loads what a fit takes, all of it before anything is charged.
        from dpforest.estimators.fitting import Fit

        engine.refuse_fit_parameters(fit_parameters)
        Fit(self).run(X, y)
        return self

    def _wanted(self, done: bool = False) -> FitRequest:
        """Check all parameters, and state what they ask for.

        Those of a fit that is ``done``, as a model or a report has them, may ask for what nobody
        can ask for any more.
        """
        epsilon, delta = engine.check_epsilon(self.epsilon), engine.check_delta(self.delta)
        size = engine.check_records_per_unit(self.max_records_per_unit)
        check_choice(self.invalid, "invalid", ("drop", "raise"))
        engine.check_verbose(self.verbose)
        check_n_jobs(self.n_jobs)
        return self._request(engine.LearnerBudget.of_unit(epsilon, delta, size), done)

    def _reported_parameters(self) -> dict[str, Any]:
        """Parameters for the report: the seed itself, the domain and the accountant stay out."""
        hidden = ("domain", "accountant", "random_state")
        # Those of ours: a class of somebody else's may take others, and fewer.
        names = self._ours()._parameter_names().difference(hidden)
        return {name: getattr(self, name) for name in sorted(names)}

    def __sklearn_is_fitted__(self) -> bool:
        return "guarantee_" in vars(self)

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Refuse a name: of what a fit gives before there was one, or of nothing at all."""
            kind = type(self).__name__
            given = name.endswith("_") and not name.startswith("_")
            if given and not self.__sklearn_is_fitted__():
                failed = f" ({self._failure})" if self._failure else ""
                raise NotFittedError(
                    f"this {kind} is not fitted yet{failed}, so it has no {name}. Call fit first."
                )
            rule = f"{kind!r} object has no attribute {name!r}"
            raise AttributeError(rule, name=name, obj=self)

    # -- before any data ---------------------------------------------------------------------

    def plan(
        self,
        domain: Domain | None = None,
        approximate_rows: float | None = None,
        *,
        streamed: bool | None = None,
    ) -> PlanSummary:
        """Plan a fit: what it would release, at which cost, and what it can be expected to teach.

        Touches no data and spends nothing.

        Parameters
        ----------
        domain : Domain, optional
            Instead of the estimator's.
        approximate_rows : float, optional
            Instead of the domain's.
        streamed : bool, optional
            Whether records will be read pass by pass, which not every strategy can do: True for
            a stream. None asks the estimator: those on Dask always read so.

        Raises
        ------
        ParameterTypeError
            If there is no domain, or a parameter is of a wrong kind.
        ParameterError
            If a parameter breaks a rule, or the strategy cannot read a stream.
        DomainError
            If the domain has no labels of the estimator's kind.
        """
        domain = domain if domain is not None else self.domain
        if not isinstance(domain, engine.Domain):
            raise ParameterTypeError(
                "domain", kind_of(domain),
                "a plan needs the public facts",
                "Give a Domain, here or to the estimator",
            )  # fmt: skip
        wanted = self._wanted()
        rows: float | None = domain.approximate_rows
        if approximate_rows is not None:
            rows = engine.checked_approximate_rows(approximate_rows)
        by_passes = self._by_passes if streamed is None else bool(streamed)
        if by_passes:
            wanted.check_streamable()
        place = engine.charged_to(self.accountant)
        plan = engine.plan_of(wanted, self._encoder(domain), rows, place, not by_passes)
        engine.warn_of_large_epsilon(wanted.budget.unit_epsilon, 3)
        if rows is not None:
            engine.warn_of_large_delta(wanted.budget.delta, round(rows), 3)
        return engine.summarise(plan, wanted.budget.unit_epsilon, wanted.budget.delta)

    def _priced(self, ceiling: DataSetCeiling, streamed: bool | None = None) -> FitPrice:
        """Price of a fit as one of a ledger's data set; touches no data and spends nothing."""
        from dpforest.estimators.charge import fit_price

        wanted = self._wanted()
        ceiling.check(self.domain, wanted.budget)
        by_passes = self._by_passes if streamed is None else bool(streamed)
        if by_passes:
            wanted.check_streamable()
        domain = self.domain.without_marks()
        encoder, rows = self._encoder(domain), domain.approximate_rows
        plan = engine.plan_of(wanted, encoder, rows, ceiling.charged_to, not by_passes)
        settings = {
            name: engine.storable(value) for name, value in self._reported_parameters().items()
        }
        return fit_price(self, plan, wanted, settings, domain)

    # -- what was released -------------------------------------------------------------------

    def expected_gain(self) -> tuple[float, float] | None:
        """Range of what the fitted model likely gains over the best constant; costs nothing.

        Accuracy less the share of the most frequent class, or R². With ``strategy="auto"`` it is
        narrower than the range of :meth:`plan`, since it goes by what the released model says of
        itself; with others it is that range. It held in nine of ten fits and more on tables that
        were not used to find it (docs/forecast_results.md).

        Returns
        -------
        tuple of two floats, or None
            None for a model that was read from a file and whose number of records was bought.
        """
        from dpforest.estimators.claimed_gain import claimed_gain

        check_is_fitted(self)
        figures = self.__dict__.get("_figures") or self._figures_again()
        if figures is None:
            return None
        claimed = None
        if self._facts.settings.get("strategy") == "auto":  # all others tell too much or too little
            claimed = claimed_gain(self.model_, engine.table_facts(self._encoder_, figures.rows))
        return engine.range_after_fit(figures, self.strategy_, claimed)

    def _figures_again(self) -> PublicFigures | None:
        """Figures of a fit that was read from a file: of its settings and the declared records."""
        rows, facts = self.domain_.approximate_rows, self._facts
        if rows is None:
            return None
        wanted = self._ours()(**facts.settings)._wanted(done=True)
        wanted = replace(wanted, strategy=self.strategy_)
        place, in_memory = facts.charged_to, not facts.streamed
        return engine.public_figures(engine.plan_of(wanted, self._encoder_, rows, place, in_memory))

    def _released(self) -> FitOutcome:
        """Everything that the last fit released."""
        return engine.FitOutcome(self.strategy_, self.model_)

    def to_json(self, path: str | Path | None = None) -> str:
        """The released model as JSON with a format version; :meth:`from_json` reads it back.

        Parameters
        ----------
        path : str or Path, optional
            File to write it to as well; one that is there is replaced.

        Raises
        ------
        ParameterError
            The file cannot be written.
        """
        from dpforest.estimators.storage import model_to_json

        check_is_fitted(self)
        return model_to_json(self, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a model that :meth:`to_json` wrote; it predicts identically.

        Parameters
        ----------
        source : str or path
            The JSON text, or a file that holds it.

        Raises
        ------
        ModelFormatError
            Not such a file, damaged, or of an unknown version.
        """
        from dpforest.estimators.storage import model_from_json

        return model_from_json(cls, source)

    def privacy_report(
        self,
        header: ReportHeader | None = None,
        utility: UtilityFigure | Sequence[UtilityFigure] = (),
    ) -> PrivacyReport:
        """Report what was spent, on what, and what it guarantees.

        Parameters
        ----------
        header : ReportHeader, optional
            What people say of the release: title, data set, purpose, why this epsilon and so on. It
            is shown as typed in; what is missing is shown as "not stated".
        utility : UtilityFigure or sequence of them, optional
            How well the model does, of public records or for a grant. Nothing is computed here.

        Returns
        -------
        PrivacyReport
            With ``to_html``, ``to_json`` and ``to_markdown``.

        Raises
        ------
        NotFittedError
            Without a fit. Where the last one failed after something was granted it says so, and
            what stays spent.
        ParameterTypeError
            If ``header`` or ``utility`` is of another kind.
        ParameterError
            If the grant of a figure is one that a fit used.
        """
        if self._failure and not self.__sklearn_is_fitted__():
            raise NotFittedError(f"{type(self).__name__}: {self._failure}")
        check_is_fitted(self)
        composition = self._composition()
        return engine.make_report(
            self._facts,
            self.domain_,
            self.guarantee_,
            composition,
            self.fingerprint_,
            engine.checked_header(header),
            engine.checked_figures(utility, composition.ledger),
        )

    @property
    def fingerprint_(self) -> str:
        """Digest of what was released, by which a report says which model it speaks of."""
        check_is_fitted(self)
        return engine.model_fingerprint(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.random_state is None
        return tags
