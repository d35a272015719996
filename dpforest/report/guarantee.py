"""The guarantee of a fitted forest: printed only as far as the run earned it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from pydantic import ConfigDict, model_validator

from dpforest.accounting.bounds import (
    add_remove_price,
    certified_add_remove_price,
    certified_replace_one_price,
    replace_one_price,
)
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import Budget
from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import float_up
from dpforest.display import Grid, Page
from dpforest.own_names import OwnNames
from dpforest.relations import NeighbouringRelation, relations_of

Status = Literal["holds", "demonstration", "void", "none"]
#: A guarantee above promises little: fits warn of it, and reports point it out.
MOST_EPSILON = 10.0


class RelationBound(OwnNames):
    """One bound: (epsilon, delta) under one neighbouring relation."""

    model_config = ConfigDict(defer_build=True, frozen=True, ser_json_inf_nan="strings")

    relation: NeighbouringRelation
    epsilon: float
    delta: float
    rho: float | None
    derivation: str


class Guarantee(OwnNames):
    """Guarantee that a fit earned, in numbers and words.

    Attributes
    ----------
    status : {"holds", "demonstration", "void", "none"}
        ``demonstration``: seeded noise, so it holds only against those who neither know the
        seed nor can search for it, and for one fit; or an observer that may have replaced what
        was drawn. ``void``: something was learnt without paying.
        ``none``: the model is not private and claims nothing.
    unit : str
        Privacy unit: one record, or whoever owns up to so many.
    bounds : tuple of RelationBound
        Native relation first. Where the status is ``void``, what the paid part alone would give.
    reasons : tuple of str
        Why the status is not ``holds``.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    status: Status
    unit: str = "one record"
    bounds: tuple[RelationBound, ...] = ()
    reasons: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _claims_have_figures(self) -> Guarantee:
        if self.status in ("holds", "demonstration") and not self.bounds:
            raise ValueError("a claim needs its bounds")
        return self

    @property
    def epsilon(self) -> float:
        """Epsilon under add/remove of one privacy unit; infinite where no guarantee was earned."""
        return self.bounds[0].epsilon if self.status in ("holds", "demonstration") else math.inf

    @property
    def delta(self) -> float:
        """Delta under add/remove of one privacy unit; 1 where no guarantee was earned."""
        return self.bounds[0].delta if self.status in ("holds", "demonstration") else 1.0

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return Page((self.sentence, self._figures())).to_html()

    def _figures(self) -> Grid | str:
        """Figures by neighbouring relation, where any are claimed."""
        if self.status not in ("holds", "demonstration"):
            return ""
        rows = tuple(_figures_of(bound) for bound in self.bounds)
        return Grid(("one privacy unit is", "epsilon", "delta", "rho", "how it follows"), rows)

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        if self.status == "none":
            return "No privacy is claimed: this model is not private."
        if self.status == "void":
            return "VOID, no privacy guarantee: " + "; ".join(self.reasons) + "."
        native = self.bounds[0]
        text = (
            f"The released model is ({figure_up(native.epsilon)}, {figure_up(native.delta)})-"
            f"differentially private when {self.unit} is added or removed"
        )
        if self.status == "demonstration":
            these = "this condition" if len(self.reasons) == 1 else "these conditions"
            conditions = "; ".join(self.reasons)
            return f"DEMONSTRATION ONLY: {text}, but only under {these}: {conditions}."
        return text + "."


def _figures_of(bound: RelationBound) -> tuple[str, ...]:
    """Row of a bound; figures are rounded up."""
    rho = "" if bound.rho is None else figure_up(bound.rho)
    changed = bound.relation.value.replace("_", " ")
    return changed, figure_up(bound.epsilon), figure_up(bound.delta), rho, bound.derivation


SEEDED = (
    "the noise came from random_state, so it holds only against those who neither know "
    "the seed nor can search for it, and for one fit"
)
#: A refit on changed data with the same seed voids both fits; one on the same data, as tools make
#: them, releases nothing new. Which of the two happened must not be looked up in the records, so
#: the status stays "demonstration" and the reason names the condition.
SEED_REUSED = (
    "this object or a clone was fitted before with the same random_state, so the same noise may "
    "have been used twice: if the records changed in between, neither fit has any guarantee"
)
OBSERVED = (
    "an observer took part in the fit (as an audit's recording does), so it holds only if it "
    "handed on what the mechanisms drew"
)


def make_guarantee(
    loss: PrivacyLoss,
    delta: Fraction,
    leaks: tuple[str, ...],
    seeded: bool,
    *,
    seed_reused: bool = False,
    observed: bool = False,
    certificate: Certificate | None = None,
    records_per_unit: int = 1,
) -> Guarantee:
    """Judge a finished fit.

    Parameters
    ----------
    loss : PrivacyLoss
        What the fit spent, composed by its scopes, or the caps that it kept where its spending
        depended on released values.
    delta : Fraction
        The delta at which zero-concentrated bounds are converted; 0 for pure claims only.
    leaks : tuple of str
        What was learnt without paying, in words; any of them voids the guarantee.
    seeded : bool
        Whether the noise came from a seed, or a source of somebody else's.
    seed_reused : bool
        Whether an earlier fit of the object or a clone drew from the same seed.
    observed : bool
        Whether an observer handled a release, which it may replace.
    certificate : Certificate, optional
        Where it speaks for all that was spent.
    records_per_unit : int
        Most records of a privacy unit; loss and certificate are for such a unit.
    """
    if certificate is None:
        prices = add_remove_price(loss, delta), replace_one_price(loss, delta)
    else:
        prices = certified_add_remove_price(certificate), certified_replace_one_price(certificate)
    native, replacement = relations_of(records_per_unit)
    bounds = (
        _bound(native, loss.rho, prices[0]),
        _bound(replacement, loss.rho * 4, prices[1]),
    )
    texts = ((seeded, SEEDED), (seed_reused, SEED_REUSED), (observed, OBSERVED))
    conditions = tuple(text for applies, text in texts if applies)
    status: Status = "void" if leaks else "demonstration" if conditions else "holds"
    unit = unit_text(records_per_unit)
    return Guarantee(status=status, unit=unit, bounds=bounds, reasons=(*leaks, *conditions))


def unit_text(records_per_unit: int) -> str:
    """Name what is protected, in words."""
    if records_per_unit == 1:
        return "one record"
    return f"one privacy unit (such as a person) that owns up to {records_per_unit} records"


def _bound(
    relation: NeighbouringRelation, rho: Amount, price: tuple[Amount, Fraction, str]
) -> RelationBound:
    epsilon, delta, derivation = price
    return RelationBound(
        relation=relation,
        epsilon=float_up(epsilon),
        delta=float_up(delta),
        rho=None if rho == math.inf else float_up(rho),
        derivation=derivation,
    )


def spent_budget(loss: PrivacyLoss, guarantee: Guarantee) -> Budget:
    """Spending of a fit as floats rounded up, with the exact loss beside them."""
    native = guarantee.bounds[0]
    rho = native.rho if native.rho is not None else math.inf
    return Budget(native.epsilon, native.delta, rho, loss)
