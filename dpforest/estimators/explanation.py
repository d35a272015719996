"""Explanation of a released forest, feature by feature, from released values alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from dpforest.display import Grid, Page, Shown, short_list
from dpforest.domain.cells import Cells
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import CategoricalFeature, NumericFeature
from dpforest.exceptions import MissingExtraError, ParameterError, printable
from dpforest.own_names import OwnNames
from dpforest.trees.shown import shown_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

#: Plots in a figure, where nobody says which features, and features that are printed.
_MOST_PLOTS, MOST_SHOWN = 6, 20
#: Curves that a table has room for.
_MOST_CURVES = 6
_HAS_ALL = "all are in to_frame(), and in a shell in --json"
_MISSING = "missing"
#: Standard errors to either side, which hold what they are of in 95 % of fits.
_REACH = 1.96
_BLUE, _GREY = "#4878a8", "#a0a0a0"
#: Share of draws above which a curve cannot be told from noise.
LIKE_NOISE = 0.05
GIVEN = (
    "standard errors are of the privacy noise on released numbers, given what was drawn or chosen "
    "(splits, rules, candidates) and the public random structure; they are no part of chance in "
    "the table itself"
)
NO_NUMBERS = (
    "no standard errors: what was released was chosen by the exponential mechanism, and no noisy "
    "number went into it"
)


class PartialDependence(Shown, OwnNames):
    """Mean prediction at every public cell of one feature; of a lattice, in 256 equal parts.

    It prints as a table of at most 20 cells, which are spread over the range, and six classes.

    Attributes
    ----------
    feature : str
    cells : tuple of str
        Each cell in words: its category, or its range.
    places : tuple of float or None
        Middle of each cell of a numeric feature; None for missing, and for categories.
    predictions : dict
        From a class (or ``"mean"`` for regression) to the mean prediction in every cell: the
        probability at the mean score.
    errors : dict or None
        Standard errors of the same by privacy noise, None for a number that has none; None in all
        where none were asked for or can be known.
    as_flat : float or None
        How often privacy noise alone bends a curve as far as this one is bent.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    feature: str
    cells: tuple[str, ...]
    places: tuple[float | None, ...]
    predictions: dict[str, tuple[float, ...]]
    errors: dict[str, tuple[float | None, ...]] | None = None
    as_flat: float | None = None

    def _page(self) -> Page:
        # Names are of whoever wrote the model's file; a grid makes them printable.
        shown = self._shown_cells()
        heads = tuple(self.predictions)[:_MOST_CURVES]
        curves = [self.predictions[head] for head in heads]
        rows = tuple(
            (self.cells[place], *(f"{curve[place]:.4g}" for curve in curves)) for place in shown
        )
        left = [_left_out(len(shown), len(self.cells), "cells"),
                _left_out(len(heads), len(self.predictions), "classes")]  # fmt: skip
        note = ", ".join(filter(None, left))
        return Page((Grid((self.feature, *heads), rows), note and f"{note}; {_HAS_ALL}"))

    def _shown_cells(self) -> list[int]:
        """Cells that are printed: of many ranges some from end to end, of categories the first."""
        ranges = [cell for cell, place in enumerate(self.places) if place is not None]
        others = [cell for cell, place in enumerate(self.places) if place is None]
        if len(ranges) > MOST_SHOWN:
            spread = np.linspace(0, len(ranges) - 1, MOST_SHOWN).round().astype(int)
            ranges = [ranges[number] for number in spread]
        return [*ranges, *others[:MOST_SHOWN]]

    def to_frame(self) -> DataFrame:
        """The curve as a pandas frame, a row for each cell.

        Returns
        -------
        pandas.DataFrame
            With the column ``place``, and one for each class, or ``mean``. Needs
            ``dpforest[frames]``.
        """
        columns = {"place": np.array(self.places, float), **self.predictions}
        return _frame(columns, list(self.cells), "cell")


class Explanation(OwnNames):
    """Importances and partial dependence of a released forest; costs nothing.

    Attributes
    ----------
    importances : dict of str to float
        Share of the effect that each feature carries, largest first.
    dependence : tuple of PartialDependence
        In the same order.
    importance_errors : dict of str to (float or None), or None
        Standard errors of importances by privacy noise. None for one that no released number goes
        into, which is no error of nothing: what is drawn by the exponential mechanism alone has
        noise, but no standard error. None in all where none were asked for or can be known.
    like_noise : tuple of str
        Features whose curve cannot be told from privacy noise: noise alone bends a curve as far in
        more than 5 % of draws. A feature whose curve would be flat without noise is missing here
        in about 5 % of fits.
    note : str
        What the standard errors speak of, or why there are none.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    importances: dict[str, float]
    dependence: tuple[PartialDependence, ...]
    importance_errors: dict[str, float | None] | None = None
    like_noise: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        # Names are of whoever wrote the model's file.
        rows = [(share, printable(name), self._beside(name)) for name, share in self._shown()]
        width = max((len(name) for _, name, _ in rows), default=0)
        lines = [f"{share:6.1%}  {name:{width}}{beside}".rstrip() for share, name, beside in rows]
        return "\n".join(["share of the effect", *lines, *self._notes()])

    def _repr_html_(self) -> str:
        what = " ± standard error by privacy noise" if self._has_errors else ""
        rows = tuple((name, f"{share:.1%}{self._beside(name)}") for name, share in self._shown())
        grid = Grid(("feature", f"share of the effect{what}"), rows)
        return Page((grid, *self._notes())).to_html()

    @property
    def _has_errors(self) -> bool:
        """True if there is a standard error of some importance."""
        return any(error is not None for error in (self.importance_errors or {}).values())

    def _shown(self) -> list[tuple[str, float]]:
        """Importances of the features that are shown, the largest first; never all but one."""
        whole = list(self.importances.items())
        return whole if len(whole) == MOST_SHOWN + 1 else whole[:MOST_SHOWN]

    def _notes(self) -> tuple[str, ...]:
        """Sum of what is not shown, and the reason that there are no standard errors."""
        left = list(self.importances.values())[len(self._shown()) :]
        others = f"{sum(left):6.1%}  {len(left)} others together: see importances"
        reason = "" if self._has_errors else self.note
        return (*((others,) if left else ()), *((reason,) if reason else ()))

    def _beside(self, name: str) -> str:
        """Standard error of an importance in words, and whether it may be noise."""
        found = (self.importance_errors or {}).get(name)
        error = "" if found is None else f"  ± {found:.1%}"
        return error + "  (like noise)" * (name in self.like_noise)

    def of(self, feature: str) -> PartialDependence:
        """Partial dependence on one feature.

        Raises
        ------
        ParameterError
            When there is no such feature.
        """
        for found in self.dependence:
            if found.feature == feature:
                return found
        names = short_list([repr(found.feature) for found in self.dependence])
        raise ParameterError(
            "feature", feature, "is not in the domain", f"Give a declared name: {names}"
        )

    def to_frame(self) -> DataFrame:
        """Importances as a pandas frame, a row for each feature, the largest first.

        Returns
        -------
        pandas.DataFrame
            With the columns ``importance``, ``standard_error`` (nan where there is none) and
            ``like_noise``. Needs ``dpforest[frames]``.
        """
        errors = self.importance_errors or {}
        columns = {
            "importance": list(self.importances.values()),
            "standard_error": np.array([errors.get(name) for name in self.importances], float),
            "like_noise": [name in self.like_noise for name in self.importances],
        }
        return _frame(columns, list(self.importances), "feature")

    def plot(self, features: str | list[str] | None = None) -> Figure:
        """Draw importances, and how the prediction goes with the most important features.

        Bands and bars are 1.96 standard errors of privacy noise to either side. All curves are
        drawn on one scale, so that what moves little looks it; features like noise are in grey.

        Parameters
        ----------
        features : str or list of str, optional
            Which to draw; the six most important without.

        Returns
        -------
        matplotlib.figure.Figure
            Needs ``dpforest[plots]``.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        ParameterError
            If a feature is not in the domain.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtraError("matplotlib", "plots", "Explanation.plot()") from None
        names = list(self.importances)[:_MOST_PLOTS] if features is None else features
        names = [names] if isinstance(names, str) else names
        drawn = [self.of(name) for name in names]
        n_rows = 1 + -(-len(drawn) // 3)
        figure = Figure(figsize=(12, 3.2 * n_rows), layout="constrained")
        grid = figure.add_gridspec(n_rows, 3)
        _draw_importances(figure.add_subplot(grid[0, :]), self)
        first: Any = None
        for number, dependence in enumerate(drawn):
            place = grid[1 + number // 3, number % 3]
            axes = figure.add_subplot(place, sharey=first)
            first = axes if first is None else first
            _draw_dependence(axes, dependence, dependence.feature in self.like_noise)
        return figure


def _left_out(n_shown: int, n_all: int, noun: str) -> str:
    """Numbers of those printed and of all; empty where all are."""
    return f"{n_shown} of {n_all} {noun}" if n_shown < n_all else ""


def _frame(columns: Mapping[str, Any], rows: list[str], name: str) -> DataFrame:
    """Columns as a frame of pandas, whose rows are called as they are shown."""
    try:
        from pandas import DataFrame, Index
    except ImportError:
        raise MissingExtraError("pandas", "frames", "to_frame()") from None
    return DataFrame(columns, index=Index(rows, name=name))


def _draw_importances(axes: Any, explanation: Explanation) -> None:
    importances, errors = explanation.importances, explanation.importance_errors or {}
    names = list(importances)[:MOST_SHOWN]
    places = range(len(names))  # of two names that look alike, each has a bar of its own
    bars = [_REACH * (errors.get(name) or 0.0) for name in names]
    colours = [_GREY if name in explanation.like_noise else _BLUE for name in names]
    axes.bar(places, [importances[name] for name in names], color=colours)
    if any(bars):
        axes.errorbar(places, [importances[n] for n in names], bars, fmt="none", ecolor="black")
    axes.set_xticks(places, [_drawn(name) for name in names])
    axes.set_ylabel("importance")
    marked = " (grey: like noise)" if explanation.importance_errors is not None else ""
    axes.set_title(f"Share of the released model's effect{marked}")
    axes.tick_params(axis="x", rotation=40)


def _draw_dependence(axes: Any, dependence: PartialDependence, like_noise: bool = False) -> None:
    numeric = [i for i, place in enumerate(dependence.places) if place is not None]
    curves = list(dependence.predictions.items())
    drawn: list[Any] = []
    labels: list[str] = []
    # For two classes the first curve is the second one upside down.
    for label, curve in curves[1:] if len(curves) == 2 else curves:
        errors = _reaches(dependence, label)
        style = {"color": _GREY} if like_noise else {}
        if numeric:
            drawn.append(_draw_steps(axes, dependence, curve, errors, style))
        else:
            drawn.append(axes.errorbar(range(len(curve)), curve, errors, fmt="o", **style))
        labels.append(_drawn(label))
    if not numeric:
        axes.set_xticks(range(len(dependence.cells)), list(map(_drawn, dependence.cells)))
        axes.tick_params(axis="x", rotation=40)
    axes.set_title(_drawn(dependence.feature) + " (like noise)" * like_noise)
    # By handles: a label that begins with an underscore would be left out.
    axes.legend(drawn, labels, fontsize="small")


def _drawn(text: str) -> str:
    """Text of others as it stands: a dollar sign would begin a formula."""
    return printable(text).replace("$", r"\$")


def _reaches(dependence: PartialDependence, label: str) -> list[float]:
    """Half widths of the bands of a curve; nothing where there is no standard error."""
    errors = (dependence.errors or {}).get(label, (None,) * len(dependence.cells))
    return [_REACH * (error or 0.0) for error in errors]


def _draw_steps(
    axes: Any,
    dependence: PartialDependence,
    curve: tuple[float, ...],
    errors: list[float],
    style: dict[str, Any],
) -> Any:
    """Draw a curve over the cells of a numeric feature with its band."""
    numeric = [i for i, place in enumerate(dependence.places) if place is not None]
    places, own = [dependence.places[i] for i in numeric], np.array([curve[i] for i in numeric])
    drawn = axes.step(places, own, where="mid", **style)
    if any(errors):
        band = np.array([errors[i] for i in numeric])
        colour = drawn[0].get_color()
        axes.fill_between(places, own - band, own + band, step="mid", alpha=0.2, color=colour)
    return drawn[0]


def cell_texts(
    feature: NumericFeature | CategoricalFeature, cells: Cells | None, n_codes: int
) -> tuple[tuple[str, ...], tuple[float | None, ...]]:
    """Every shown code of a feature in words, and the middle of its range where it has one."""
    if isinstance(feature, CategoricalFeature):
        unknown = ["any other"] * (feature.other is None)
        missing = [_MISSING] * feature.missing
        return (*feature.categories, *unknown, *missing), (None,) * n_codes
    assert cells is not None
    texts, places, low = [], [], float(feature.lower)
    for last in shown_parts(n_codes - cells.has_missing_code)[1]:
        high = cells.threshold(int(last))
        texts.append(f"{low:.6g} to {high:.6g}")
        places.append((low + high) / 2)
        low = high
    missing = [_MISSING] * cells.has_missing_code
    return (*texts, *missing), (*places, *(None for _ in missing))


def explain(
    encoder: DomainEncoder,
    importances: NDArray[np.float64],
    predictions: dict[int, dict[str, NDArray[np.float64]]],
    errors: Errors | None = None,
) -> Explanation:
    """Put released figures beside the domain's words.

    Parameters
    ----------
    encoder : DomainEncoder
    importances : ndarray of float64, shape (D,)
    predictions : dict
        From a feature's number to its mean predictions by class, at every shown code.
    errors : Errors, optional
        Standard errors of both.
    """
    features, order = encoder.domain.features, np.argsort(-importances, kind="stable")
    dependence = []
    for number in order:
        feature = features[number]
        texts, places = cell_texts(feature, encoder.cells[number], int(encoder.n_codes[number]))
        curves = {label: tuple(curve.tolist()) for label, curve in predictions[number].items()}
        dependence.append(
            PartialDependence(
                feature=feature.name, cells=texts, places=places, predictions=curves,
                errors=None if errors is None else _known(errors.curves[number]),
                as_flat=None if errors is None else errors.as_flat[number],
            )
        )  # fmt: skip
    shares = {features[number].name: float(importances[number]) for number in order}
    if errors is None:
        return Explanation(importances=shares, dependence=tuple(dependence))
    by_name = _or_none(errors.importances[order])
    return Explanation(
        importances=shares,
        dependence=tuple(dependence),
        importance_errors=dict(zip(shares, by_name, strict=True)),
        like_noise=tuple(one.feature for one in dependence if errors.is_like_noise(one.as_flat)),
        note=GIVEN if errors.known else NO_NUMBERS,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Standard errors of an explanation by privacy noise; nan where there is none.

    Attributes
    ----------
    importances : ndarray of float64, shape (D,)
    curves : list of dict
        Of each feature, as its predictions.
    as_flat : list of float
        Of each feature, how often noise alone bends a curve as far.
    """

    importances: NDArray[np.float64]
    curves: list[dict[str, NDArray[np.float64]]]
    as_flat: list[float]

    @property
    def known(self) -> bool:
        """True if any number has one."""
        return any(np.isfinite(curve).any() for one in self.curves for curve in one.values())

    def is_like_noise(self, as_flat: float | None) -> bool:
        """True if a curve cannot be told from noise; never where there is no noisy number."""
        return self.known and as_flat is not None and as_flat > LIKE_NOISE


def _known(curves: dict[str, NDArray[np.float64]]) -> dict[str, tuple[float | None, ...]]:
    return {label: _or_none(curve) for label, curve in curves.items()}


def _or_none(errors: NDArray[np.float64]) -> tuple[float | None, ...]:
    """Numbers, and None for nan."""
    return tuple(float(error) if np.isfinite(error) else None for error in errors)
