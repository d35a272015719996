"""Base of every private estimator: a fit under an accountant, and the uses of its model."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.fits import charged_to
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.ledger import Budget
from dpforest.accounting.releases import LearnerBudget
from dpforest.accounting.units import check_records_per_unit
from dpforest.checks import check_choice, check_integer, check_n_jobs
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.background import background_records
from dpforest.estimators.explanation import Errors, Explanation, explain
from dpforest.estimators.fit_plan import FitRequest, checked_approximate_rows, table_facts
from dpforest.estimators.fitting import Fit, fit_price
from dpforest.estimators.forecast import PlanSummary, summarise
from dpforest.estimators.forecast_range import PublicFigures, public_figures, range_after_fit
from dpforest.estimators.names import check_feature_names, warn_of_times
from dpforest.estimators.outcome import FitOutcome
from dpforest.estimators.parameters import (
    check_delta,
    check_epsilon,
    check_verbose,
    refuse_fit_parameters,
    storable,
)
from dpforest.estimators.planning import plan_of, warn_of_large_delta, warn_of_large_epsilon
from dpforest.estimators.shapley import ShapleyValues, check_enumerable
from dpforest.estimators.sharing import SharedBudget
from dpforest.exceptions import NoiseUnknownError, ParameterTypeError, kind_of
from dpforest.ledger.accountant import Tariff
from dpforest.ledger.pricing import FitPrice
from dpforest.report.digests import model_fingerprint
from dpforest.report.guarantee import Guarantee
from dpforest.report.header import ReportHeader, checked_header
from dpforest.report.making import make_report
from dpforest.report.record import RunFacts
from dpforest.report.report import PrivacyReport
from dpforest.report.utility import UtilityFigure, checked_figures
from dpforest.trees.base import ReleasedModel, TableFacts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpforest.plain.shown import ShownTree
    from dpforest.plain.writing import Link


class PrivateEstimator(SharedBudget):
    """Base of estimators that train under an accountant.

    A subclass says what its parameters ask for (``_request``), how a table is read
    (``_encoder``), and what a released model means for its task (``_serve``, with ``_link`` and
    ``_curves``).
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
    strategy_: str
    model_: ReleasedModel
    domain_: Domain
    accountant_: BudgetAccountant | FrozenLedger
    spent_: Budget
    guarantee_: Guarantee
    _encoder_: DomainEncoder
    _facts: RunFacts
    #: Words about a fit that failed; absent if none did.
    _failure: str = ""

    # -- what a subclass gives ---------------------------------------------------------------

    @abstractmethod
    def _request(self, budget: LearnerBudget) -> FitRequest:
        """Check the parameters of its own, and say what they ask for."""

    @abstractmethod
    def _encoder(self, domain: Domain) -> DomainEncoder:
        """Make the encoder of a table."""

    def _serve(self, released: FitOutcome, domain: Domain) -> dict[str, Any]:
        """Attributes that predictions are made of; all are set at once."""
        return {"strategy_": released.strategy, "model_": released.model}

    @abstractmethod
    def _link(self) -> Link:
        """Rule that turns scores of classes into predictions, for the plain form."""

    @abstractmethod
    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Predictions by what they are of, from class scores of shape (n, n_classes)."""

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
        refuse_fit_parameters(fit_parameters)
        Fit(self).run(X, y)
        return self

    def _wanted(self) -> FitRequest:
        """Check all parameters, and state what they ask for."""
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        size = check_records_per_unit(self.max_records_per_unit)
        check_choice(self.invalid, "invalid", ("drop", "raise"))
        check_verbose(self.verbose)
        check_n_jobs(self.n_jobs)
        return self._request(LearnerBudget.of_unit(epsilon, delta, size))

    def _reported_parameters(self) -> dict[str, Any]:
        """Parameters for the report: the seed itself, the domain and the accountant stay out."""
        hidden = ("domain", "accountant", "random_state")
        return {k: v for k, v in self.get_params(deep=False).items() if k not in hidden}

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
        if not isinstance(domain, Domain):
            raise ParameterTypeError(
                "domain", kind_of(domain),
                "a plan needs the public facts",
                "Give a Domain, here or to the estimator",
            )  # fmt: skip
        wanted = self._wanted()
        rows: float | None = domain.approximate_rows
        if approximate_rows is not None:
            rows = checked_approximate_rows(approximate_rows)
        by_passes = self._by_passes if streamed is None else bool(streamed)
        if by_passes:
            wanted.check_streamable()
        place = charged_to(self.accountant)
        plan = plan_of(wanted, self._encoder(domain), rows, place, not by_passes)
        warn_of_large_epsilon(wanted.budget.unit_epsilon, 3)
        if rows is not None:
            warn_of_large_delta(wanted.budget.delta, round(rows), 3)
        return summarise(plan, wanted.budget.unit_epsilon, wanted.budget.delta)

    def _priced(self, tariff: Tariff, streamed: bool | None = None) -> FitPrice:
        """Price of a fit as one of a ledger's data set; touches no data and spends nothing."""
        wanted = self._wanted()
        tariff.check(self.domain, wanted.budget)
        by_passes = self._by_passes if streamed is None else bool(streamed)
        if by_passes:
            wanted.check_streamable()
        domain = self.domain.without_marks()
        encoder, rows = self._encoder(domain), domain.approximate_rows
        plan = plan_of(wanted, encoder, rows, tariff.charged_to, not by_passes)
        settings = {name: storable(value) for name, value in self._reported_parameters().items()}
        return fit_price(self, plan, wanted, settings, domain)

    # -- what was released -------------------------------------------------------------------

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the released model's effect that each feature carries; sum 1, or all 0.

        In the order of ``domain_.feature_names``, whatever the order of a frame's columns.
        """
        check_is_fitted(self)
        return self.model_.feature_importances()

    def expected_gain(self) -> tuple[float, float] | None:
        """Range of what the fitted model likely gains over the best constant; costs nothing.

        Accuracy less the share of the most frequent class, or R². With ``strategy="auto"`` it is
        narrower than the range of :meth:`plan`, since it goes by what the released model says of
        itself; with others it is that range. It held in about three of four fits on tables that
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
            claimed = claimed_gain(self.model_, table_facts(self._encoder_, figures.rows))
        return range_after_fit(figures, self.strategy_, claimed)

    def _figures_again(self) -> PublicFigures | None:
        """Figures of a fit that was read from a file: of its settings and the declared records."""
        rows, facts = self.domain_.approximate_rows, self._facts
        if rows is None:
            return None
        wanted = type(self)(**facts.settings)._wanted()
        wanted = replace(wanted, strategy=self.strategy_)
        place, in_memory = facts.charged_to, not facts.streamed
        return public_figures(plan_of(wanted, self._encoder_, rows, place, in_memory))

    def explain(self, n_draws: int | None = None) -> Explanation:
        """Explain the model feature by feature, from released values alone; costs nothing.

        Importances, and the mean prediction at every public cell of each feature; of a lattice of
        thresholds, at the middles of 256 equal parts. A record that meets a split of another
        feature goes both ways by the released sizes, or in halves where leaves are labels; rules
        and curves at once are averaged over made-up records that are spread evenly over the domain.
        No record is touched. Standard errors say how far privacy noise moves these figures, given
        what was chosen (docs/explanations.md).

        Parameters
        ----------
        n_draws : int, optional
            Models with other noise that standard errors are made of: 40, or none for 0, which is
            quicker; not 1, which would say nothing of how far noise reaches.

        Returns
        -------
        Explanation
            With ``plot``. A model that was read from a file has no standard errors, and its
            ``note`` says so.
        """
        from dpforest.estimators.noise import check_draws

        check_is_fitted(self)
        facts, n_draws = table_facts(self._encoder_, None), check_draws(n_draws)
        try:
            draws = self._noise_draws(n_draws) if n_draws else ()
        except NoiseUnknownError as unknown:
            return self._explained(facts, ()).model_copy(update={"note": str(unknown)})
        return self._explained(facts, draws)

    def _explained(self, facts: TableFacts, draws: tuple[ReleasedModel, ...]) -> Explanation:
        """Curves of the model and of models with other noise, and what they differ by."""
        from dpforest.estimators.noise import scores_of_all, share_as_flat, standard_errors

        curves, errors, as_flat = {}, [], []
        for feature in range(facts.n_features):
            own, *others = (
                self._curves(scores)
                for scores in scores_of_all((self.model_, *draws), feature, facts)
            )
            curves[feature] = own
            errors.append({k: standard_errors(itemgetter(k), own, others) for k in own})
            stacked = [np.stack([one[label] for label in own]) for one in (own, *others)]
            as_flat.append(share_as_flat(stacked[0], stacked[1:]))
        importances = self.feature_importances_
        if not draws:
            return explain(self._encoder_, importances, curves)
        of_importances = standard_errors(_importances, self.model_, draws)
        return explain(self._encoder_, importances, curves, Errors(of_importances, errors, as_flat))

    def shapley_values(self, X: Any, background: Any = None) -> ShapleyValues:
        """Shapley values of records, exactly, from the released model and a public background.

        Of the interventional game: a coalition's features are the record's, all others those of a
        background record. It costs nothing: no private record is in it.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Records to explain; the values show no others, and no other columns than are declared.
        background : PublicBackground, optional
            Records that are public; without, 100 records that are drawn evenly from the domain.

        Returns
        -------
        ShapleyValues

        Raises
        ------
        ParameterError
            The background was not declared public: it would be a release that nobody paid for. Or
            the model is of rules, and has more than 10 features.
        """
        from dpforest.trees.shapley import shapley_values

        check_is_fitted(self)
        names = list(self.domain_.feature_names)
        check_enumerable(self.model_, len(names), self.strategy_)
        others = self._coded(background_records(background, self.domain_))
        codes = self._coded(X)
        found = shapley_values(self.model_, codes, others)
        base = np.tile(self.model_.scores(others).mean(axis=0), (codes.shape[0], 1))
        order = getattr(self, "_order_", np.arange(2))
        labels = [str(label) for label in getattr(self, "classes_", ("rest", "mean"))]
        found, base = found[..., order], base[..., order]
        if len(labels) == 2:
            found, base, labels = _apart(found), _apart(base), labels[1:]
        source = "drawn evenly from the domain" if background is None else background.source
        given = self._encoder_.as_given(X)
        return ShapleyValues(found, base, given, names, labels, source)

    def _codes(self, X: Any) -> NDArray[Any]:
        """Codes of records to predict, whose columns' names are looked at first."""
        check_is_fitted(self)
        check_feature_names(self, X)
        return self._coded(X)

    def _coded(self, X: Any) -> NDArray[Any]:
        """Codes of records, as predictions have them; warns of columns that mean nothing."""
        codes, of_times = self._encoder_.encode_to_predict(X)
        warn_of_times(of_times)
        return codes

    def _noise_draws(self, n_draws: int) -> tuple[ReleasedModel, ...]:
        """Models with other noise; the last ones are kept."""
        from dpforest.estimators.noise import noise_draws

        kept = self.__dict__.get("_renoised")
        if kept is None or kept[0] is not self.model_ or len(kept[1]) != n_draws:
            heard = self.__dict__.get("_heard")
            kept = self._renoised = self.model_, noise_draws(self.model_, heard, n_draws)
        found: tuple[ReleasedModel, ...] = kept[1]
        return found

    def _noise_of(self, predict: Callable[[Any], NDArray[np.float64]], n_draws: Any) -> Any:
        """Standard errors of predictions that are made from a model."""
        from dpforest.estimators.noise import check_draws, standard_errors

        draws = self._noise_draws(check_draws(n_draws, 2))
        return standard_errors(predict, self.model_, draws)

    def to_plain(self, path: str | Path | None = None) -> str:
        """The released model as plain JSON, to be followed without dpforest or numpy.

        docs/plain_model.md has the format; :func:`dpforest.read_plain` and a reader in JavaScript
        follow it. It holds what predicts and nothing else: no guarantee, no ledger;
        :meth:`to_json` keeps those.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the text too.
        """
        check_is_fitted(self)
        from dpforest.plain.writing import plain_model

        return plain_model(self._encoder_, self.strategy_, self.model_, self._link(), path)

    def to_onnx(
        self, path: str | Path | None = None, *, outputs: Sequence[str] | None = None
    ) -> bytes:
        """The released model as ONNX, in doubles, which takes records as they are.

        One input a feature, by its name and of shape (n, 1): doubles of a numeric one, where NaN
        is missing; texts of a categorical one, where an empty one is missing. docs/exports.md says
        how texts are read. It is made from the plain form: it costs nothing, and holds no
        guarantee and no ledger.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the file too.
        outputs : sequence of str, optional
            Names of the outputs. A classifier has ``("label", "probabilities")``, of shapes (n,)
            and (n, n_classes); a regressor has ``("variable",)``, of shape (n, 1).

        Returns
        -------
        bytes
            The file.

        Raises
        ------
        ParameterError
            An output has the name of a feature, or a text of the domain cannot be in the file.
        MissingExtraError
            Without onnx, which ``dpforest[onnx]`` brings.
        """
        from dpforest.exports.onnx_model import onnx_model

        return onnx_model(self.to_plain(), path, outputs)

    def to_sql(
        self,
        path: str | Path | None = None,
        *,
        table: str | Sequence[str] = "records",
        keep: Sequence[str] = (),
        outputs: Sequence[str] | None = None,
        max_bytes: int = 4_000_000,
    ) -> str:
        """The released model as one SELECT of SQL, which SQLite, DuckDB and PostgreSQL run alike.

        It reads a table that has the features as columns, by their names: numbers of numeric
        ones, texts or whole numbers of categorical ones, NULL where missing.
        docs/exports_sql.md says how they are read. It is made from the plain form: it costs
        nothing, and holds no guarantee and no ledger.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the text too.
        table : str or sequence of str, default="records"
            Name of the table, without a point in it, or names in turn: ``("clinic", "stays")`` is
            the table stays of the schema clinic, and ``("clinic.stays",)`` is one name.
        keep : sequence of str
            Columns of the table that come out too, before the predictions: a key, for instance.
        outputs : sequence of str, optional
            Names of the columns that come out. A classifier has ``label`` and
            ``probability_<class>`` of each class in the order of ``classes_``; a regressor has
            ``prediction``.
        max_bytes : int, default=4_000_000
            A longer text is refused.

        Returns
        -------
        str
            The statement.

        Raises
        ------
        ParameterError
            A name is none, two names are alike, the table is a text with a point in it, which may
            be one name or two, or a text of the domain cannot be in a statement.
        ExportSizeError
            The text would be longer than ``max_bytes``, or have more columns than databases take.
        """
        from dpforest.exports.sql_model import sql_model

        return sql_model(
            self.to_plain(), path, table=table, keep=keep, outputs=outputs, max_bytes=max_bytes
        )

    def export_text(self, tree: int | None = None, *, max_depth: int | None = None) -> str:
        """Selected rules, or one tree, as indented text, from released values; costs nothing.

        Parameters
        ----------
        tree : int, optional
            Number of a tree, counted from 0. Without one the rules, where the model has rules, or
            else the first tree.
        max_depth : int, optional
            Deepest splits that are shown; all without.

        Returns
        -------
        str
            As scikit-learn's ``export_text``, with what a leaf adds to the prediction.

        Raises
        ------
        ParameterError
            If the model has no such tree: a sum of curves has none, see :meth:`explain`.
        """
        from dpforest.plain.drawing import tree_text

        return tree_text(self._shown_tree(tree), max_depth)

    def plot_tree(self, tree: int | None = None, *, max_depth: int | None = None) -> Figure:
        """Draw selected rules, or one tree, from released values; costs nothing.

        Parameters
        ----------
        tree, max_depth : int, optional
            As in :meth:`export_text`.

        Returns
        -------
        matplotlib.figure.Figure
            Needs ``dpforest[plots]``.

        Raises
        ------
        ParameterError
            As in :meth:`export_text`.
        MissingExtraError
            Without matplotlib.
        """
        from dpforest.plain.drawing import tree_figure

        return tree_figure(self._shown_tree(tree), max_depth)

    def _shown_tree(self, tree: int | None) -> ShownTree:
        from dpforest.plain.shown import shown_tree

        number = None if tree is None else check_integer(tree, "tree", 0)
        return shown_tree(json.loads(self.to_plain()), self.domain_.features, number)

    def _released(self) -> FitOutcome:
        """Everything that the last fit released."""
        return FitOutcome(self.strategy_, self.model_)

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
        return make_report(
            self._facts,
            self.domain_,
            self.guarantee_,
            composition,
            self.fingerprint_,
            checked_header(header),
            checked_figures(utility, composition.ledger),
        )

    @property
    def fingerprint_(self) -> str:
        """Digest of what was released, by which a report says which model it speaks of."""
        check_is_fitted(self)
        return model_fingerprint(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.random_state is None
        return tags


def _importances(model: ReleasedModel) -> NDArray[np.float64]:
    return model.feature_importances()


def _apart(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores of the second class over the first."""
    found: NDArray[np.float64] = scores[..., 1] - scores[..., 0]
    return found
