"""Figures of how well a model does: of public records, or of a release that was paid for.

Nothing here computes one from records. A figure is handed in with its origin, and one of private
records only with the ledger's entry that it was granted by, which is none of a fit's own. That a
figure is what its origin says is the word of who hands it in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import LedgerEntry
from dpforest.exceptions import ParameterError, ParameterTypeError, kind_of
from dpforest.report.typed import Typed, Words

#: Said wherever a figure is shown.
GROUPS = (
    "The figures of utility are averages. Noise weighs most on small groups and rare classes, so "
    "the model may do much worse for them than an average tells. Before it decides about people, "
    "check every group on public records, or for a grant of its own"
)
_PAID = (
    "{name} was measured on private records. That was charged to {place} (epsilon = {epsilon}, "
    "rho = {rho}), is no part of the guarantee of this fit, and adds up with it"
)
#: Scopes of fits in the books of an accountant.
_OF_A_FIT = re.compile(r"fit: [^\W\d]\w*(?: #\d+)?")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Number = Annotated[float, AfterValidator(_finite)]


class UtilityFigure(Typed):
    """One figure of how well a model does, and where it comes from.

    Attributes
    ----------
    name : str
        What was measured: "accuracy", "AUC", "R²".
    value : float
    origin : {"public holdout", "paid release"}
        Of public records that were held out; or of private ones, noisy and paid for.
    source : str
        Which records, and who says that they are public; or what was released.
    lower, upper : float, optional
        Interval for the figure, both or none.
    baseline : float, optional
        The same figure of the best constant prediction.
    records : int, optional
        How many public records; never of private ones.
    charged_to : str, optional
        Accountant or ledger that a paid release was charged to.
    grant : LedgerEntry, optional
        What a paid release was granted: an entry of ``accountant.ledger``.

    Raises
    ------
    ParameterError
        If a paid release has no grant, a public figure has one, a number is not finite, or a
        number of private records is given.
    """

    name: Words
    value: Number
    origin: Literal["public holdout", "paid release"]
    source: Words
    lower: Number | None = None
    upper: Number | None = None
    baseline: Number | None = None
    records: int | None = Field(default=None, ge=1)
    charged_to: Words | None = None
    grant: LedgerEntry | None = None

    @model_validator(mode="after")
    def _has_its_origin(self) -> Self:
        paid = self.origin == "paid release"
        if paid != (self.grant is not None) or paid != (self.charged_to is not None):
            raise ValueError("a paid release needs grant and charged_to, and only that has them")
        if paid and self.records is not None:
            raise ValueError("records must not be given for a paid release: it is a private number")
        if (self.lower is None) != (self.upper is None):
            raise ValueError("lower and upper must be given both or not at all")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ValueError("lower must not be above upper")
        return self

    @property
    def shown(self) -> str:
        """The value with its interval, for people."""
        text = f"{self.value:.4g}"
        return text if self.lower is None else f"{text} ({self.lower:.4g} to {self.upper:.4g})"

    @property
    def paid(self) -> str:
        """Price of a paid release, in words; nothing for public records."""
        if self.grant is None:
            return ""
        loss = self.grant.loss
        epsilon, rho = figure_up(loss.epsilon), figure_up(loss.rho)
        return _PAID.format(name=self.name, place=self.charged_to, epsilon=epsilon, rho=rho)

    @property
    def origin_words(self) -> str:
        """Origin of the figure, in a few words."""
        if self.grant is not None:
            return f"paid release, charged to {self.charged_to}: {self.source}"
        count = "" if self.records is None else f" ({self.records} records)"
        return f"public holdout{count}: {self.source}"


def utility_cautions(utility: tuple[UtilityFigure, ...]) -> list[str]:
    """Cautions that belong beside figures of utility; none without any."""
    paid = [figure.paid for figure in utility if figure.grant is not None]
    return [*paid, GROUPS] if utility else []


def granted_to_a_fit(figure: UtilityFigure, entries: Iterable[LedgerEntry]) -> bool:
    """True if the grant of a paid release is one that a fit used: it paid for a model already.

    Parameters
    ----------
    figure : UtilityFigure
    entries : iterable of LedgerEntry
        Grants of the fit that is reported, which are known wherever they are said to stand. Those
        of other fits are known by the scope that they stand in.
    """
    grant = figure.grant
    if grant is None:
        return False
    of_another = bool(grant.path) and _OF_A_FIT.fullmatch(grant.path[0]) is not None
    return of_another or any(
        grant == entry.model_copy(update={"index": grant.index}) for entry in entries
    )


def checked_figures(utility: Any, entries: Iterable[LedgerEntry]) -> tuple[UtilityFigure, ...]:
    """One figure or several; anything else is refused, and a grant that a fit used.

    Parameters
    ----------
    utility : UtilityFigure or sequence of them
    entries : iterable of LedgerEntry
        Grants of the fit.

    Raises
    ------
    ParameterTypeError
    ParameterError
    """
    figures = (utility,) if isinstance(utility, UtilityFigure) else utility
    if isinstance(figures, (tuple, list)) and all(isinstance(f, UtilityFigure) for f in figures):
        _check_grants(figures, tuple(entries))
        return tuple(figures)
    raise ParameterTypeError(
        "utility", kind_of(utility), "must be a UtilityFigure, or several",
        "Give dpforest.UtilityFigure(name=..., value=..., origin=..., source=...)",
    )  # fmt: skip


def _check_grants(figures: Iterable[UtilityFigure], entries: tuple[LedgerEntry, ...]) -> None:
    for figure in figures:
        if granted_to_a_fit(figure, entries):
            raise ParameterError(
                "grant", figure.name, "is one that a fit used, so it paid for no figure",
                "Give the entry that the figure's own release was granted, in a scope that is not "
                "named as those of fits are (fit: ...)",
            )  # fmt: skip
