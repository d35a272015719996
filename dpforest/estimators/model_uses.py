"""Uses of a released model: explanations, exports and drawings, which cost nothing."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.checks import check_integer
from dpforest.estimators import engine
from dpforest.exceptions import NoiseUnknownError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpforest.domain.domain import Domain
    from dpforest.domain.encoder import DomainEncoder
    from dpforest.estimators.explanation import Explanation
    from dpforest.estimators.shapley import ShapleyValues
    from dpforest.plain.shown import ShownTree
    from dpforest.plain.writing import Link
    from dpforest.trees.base import ReleasedModel, TableFacts


class ModelUses:
    """Uses of what a private fit released; no private record is in any of them.

    A subclass says what the model means for its task: ``_link``, ``_curves`` and ``_score_labels``.
    """

    strategy_: str
    model_: ReleasedModel
    domain_: Domain
    _encoder_: DomainEncoder

    # -- what a subclass gives ---------------------------------------------------------------

    @abstractmethod
    def _link(self) -> Link:
        """Rule that turns scores of classes into predictions, for the plain form."""

    @abstractmethod
    def _curves(self, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Predictions by what they are of, from class scores of shape (n, n_classes)."""

    @abstractmethod
    def _score_labels(self) -> list[tuple[str, int]]:
        """Label of each output in order, and the column of the model's scores that is its own."""

    # -- explanations ------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the released model's effect that each feature carries; sum 1, or all 0.

        In the order of ``domain_.feature_names``, whatever the order of a frame's columns.
        """
        check_is_fitted(self)
        return self.model_.feature_importances()

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
            With ``plot``. A model that was read from a file, or that has curves at once, has no
            standard errors, and its ``note`` says why.
        """
        from dpforest.estimators.noise import check_draws

        check_is_fitted(self)
        facts, n_draws = engine.table_facts(self._encoder_, None), check_draws(n_draws)
        try:
            draws = self._noise_draws(n_draws) if n_draws else ()
        except NoiseUnknownError as unknown:
            return self._explained(facts, ()).model_copy(update={"note": str(unknown)})
        return self._explained(facts, draws)

    def _explained(self, facts: TableFacts, draws: tuple[ReleasedModel, ...]) -> Explanation:
        """Curves of the model and of models with other noise, and what they differ by."""
        from dpforest.estimators.explanation import Errors, explain
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
        engine.check_enumerable(self.model_, len(names), self.strategy_)
        others = self._coded(engine.background_records(background, self.domain_))
        codes = self._coded(X)
        found = shapley_values(self.model_, codes, others)
        base = np.tile(self.model_.scores(others).mean(axis=0), (codes.shape[0], 1))
        labels, order = map(list, zip(*self._score_labels(), strict=True))
        found, base = found[..., order], base[..., order]
        if len(labels) == 2:
            found, base, labels = _apart(found), _apart(base), labels[1:]
        source = "drawn evenly from the domain" if background is None else background.source
        given = self._encoder_.as_given(X)
        return engine.ShapleyValues(found, base, given, names, labels, source)

    def _noise_draws(self, n_draws: int) -> tuple[ReleasedModel, ...]:
        """Models with other noise; the last ones are kept."""
        from dpforest.estimators.noise import noise_draws

        kept = self.__dict__.get("_renoised")
        if kept is None or kept[0] is not self.model_ or len(kept[1]) != n_draws:
            transcript = self.__dict__.get("_transcript")
            kept = self._renoised = self.model_, noise_draws(self.model_, transcript, n_draws)
        found: tuple[ReleasedModel, ...] = kept[1]
        return found

    def _noise_of(self, predict: Callable[[Any], NDArray[np.float64]], n_draws: Any) -> Any:
        """Standard errors of predictions that are made from a model."""
        from dpforest.estimators.noise import check_draws, standard_errors

        draws = self._noise_draws(check_draws(n_draws, 2))
        return standard_errors(predict, self.model_, draws)

    # -- records to predict ------------------------------------------------------------------

    def _codes(self, X: Any) -> NDArray[Any]:
        """Codes of records to predict, whose columns' names are looked at first."""
        check_is_fitted(self)
        engine.check_feature_names(self, X)
        return self._coded(X)

    def _coded(self, X: Any) -> NDArray[Any]:
        """Codes of records, as predictions have them; warns of columns that mean nothing."""
        codes, meaningless = self._encoder_.encode_to_predict(X, self.model_.features_read())
        engine.warn_of_times(meaningless.of_times)
        engine.warn_of_no_numbers(meaningless.without_numbers)
        return codes

    # -- exports and drawings ----------------------------------------------------------------

    def to_plain(self, path: str | Path | None = None) -> str:
        """The released model as plain JSON, to be followed without dpforest or numpy.

        docs/plain_model.md has the format; :func:`dpforest.read_plain` and a reader in JavaScript
        follow it. It holds what predicts and nothing else: no guarantee, no ledger;
        :meth:`to_json` keeps those.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the text too; a file that is there is replaced.
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
            Where to write the file too; one that is there is replaced.
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
            Where to write the text too; a file that is there is replaced.
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


def _importances(model: ReleasedModel) -> NDArray[np.float64]:
    return model.feature_importances()


def _apart(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores of the second class over the first."""
    found: NDArray[np.float64] = scores[..., 1] - scores[..., 0]
    return found
