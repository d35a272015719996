"""Explanation of a released forest, feature by feature, from released values alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from dpforest.display import Grid, Page
from dpforest.domain.cells import Cells
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import CategoricalFeature, NumericFeature
from dpforest.exceptions import MissingExtraError, ParameterError
from dpforest.own_names import OwnNames
from dpforest.trees.partial import shown_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Plots in a figure, where nobody says which features.
_MOST_PLOTS = 6
_MISSING = "missing"


class PartialDependence(OwnNames):
    """Mean prediction at every public cell of one feature; of a lattice, in 256 equal parts.

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
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    feature: str
    cells: tuple[str, ...]
    places: tuple[float | None, ...]
    predictions: dict[str, tuple[float, ...]]


class Explanation(OwnNames):
    """Importances and partial dependence of a released forest; costs nothing.

    Attributes
    ----------
    importances : dict of str to float
        Share of the effect that each feature carries, largest first.
    dependence : tuple of PartialDependence
        In the same order.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    importances: dict[str, float]
    dependence: tuple[PartialDependence, ...]

    def __str__(self) -> str:
        width = max(map(len, self.importances), default=0)
        lines = [
            f"{share:6.1%}  {name:{width}}".rstrip() for name, share in self.importances.items()
        ]
        return "\n".join(["share of the effect", *lines])

    def _repr_html_(self) -> str:
        rows = tuple((name, f"{share:.1%}") for name, share in self.importances.items())
        return Page((Grid(("feature", "share of the effect"), rows),)).to_html()

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
        raise ParameterError("feature", feature, "is not in the domain", "Give a declared name")

    def plot(self, features: list[str] | None = None) -> Figure:
        """Draw importances, and how the prediction goes with the most important features.

        Parameters
        ----------
        features : list of str, optional
            Which to draw; the six most important without.

        Returns
        -------
        matplotlib.figure.Figure
            Needs ``dpforest[plots]``.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtraError("matplotlib", "plots", "Explanation.plot()") from None
        names = list(self.importances)[:_MOST_PLOTS] if features is None else features
        drawn = [self.of(name) for name in names]
        n_rows = 1 + -(-len(drawn) // 3)
        figure = Figure(figsize=(12, 3.2 * n_rows), layout="constrained")
        grid = figure.add_gridspec(n_rows, 3)
        _draw_importances(figure.add_subplot(grid[0, :]), self.importances)
        for number, dependence in enumerate(drawn):
            _draw_dependence(figure.add_subplot(grid[1 + number // 3, number % 3]), dependence)
        return figure


def _draw_importances(axes: Any, importances: dict[str, float]) -> None:
    names = list(importances)[:20]
    axes.bar(names, [importances[name] for name in names], color="#4878a8")
    axes.set_ylabel("importance")
    axes.set_title("Share of the released model's effect")
    axes.tick_params(axis="x", rotation=40)


def _draw_dependence(axes: Any, dependence: PartialDependence) -> None:
    numeric = [i for i, place in enumerate(dependence.places) if place is not None]
    curves = list(dependence.predictions.items())
    # For two classes the first curve is the second one upside down.
    for label, curve in curves[1:] if len(curves) == 2 else curves:
        if numeric:
            places = [dependence.places[i] for i in numeric]
            axes.step(places, [curve[i] for i in numeric], where="mid", label=label)
        else:
            axes.plot(dependence.cells, curve, "o", label=label)
            axes.tick_params(axis="x", rotation=40)
    axes.set_title(dependence.feature)
    axes.legend(fontsize="small")


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
) -> Explanation:
    """Put released figures beside the domain's words.

    Parameters
    ----------
    encoder : DomainEncoder
    importances : ndarray of float64, shape (D,)
    predictions : dict
        From a feature's number to its mean predictions by class, at every shown code.
    """
    features, order = encoder.domain.features, np.argsort(-importances, kind="stable")
    dependence = []
    for number in order:
        feature = features[number]
        texts, places = cell_texts(feature, encoder.cells[number], int(encoder.n_codes[number]))
        curves = {label: tuple(curve.tolist()) for label, curve in predictions[number].items()}
        dependence.append(
            PartialDependence(feature=feature.name, cells=texts, places=places, predictions=curves)
        )
    shares = {features[number].name: float(importances[number]) for number in order}
    return Explanation(importances=shares, dependence=tuple(dependence))
