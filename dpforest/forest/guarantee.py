"""The guarantee of a fitted forest: printed only as far as the run earned it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict

from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import float_up
from dpforest.relations import NeighbouringRelation

Status = Literal["holds", "demonstration", "void", "none"]


class RelationBound(BaseModel):
    """One bound: (epsilon, delta) under one neighbouring relation."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    relation: NeighbouringRelation
    epsilon: float
    delta: float
    rho: float | None
    derivation: str


class Guarantee(BaseModel):
    """What was earned, in numbers and words.

    Attributes
    ----------
    status : {"holds", "demonstration", "void", "none"}
        ``demonstration``: seeded noise, so it holds only against those who neither know the
        seed nor can search for it, and for one fit. ``void``: something was learnt without paying.
        ``none``: the model is not private and claims nothing.
    unit : str
        What is protected.
    bounds : tuple of RelationBound
        Native relation first. Where the status is ``void``, what the paid part alone would give.
    reasons : tuple of str
        Why the status is not ``holds``.
    """

    model_config = ConfigDict(frozen=True)

    status: Status
    unit: str = "one record"
    bounds: tuple[RelationBound, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """Epsilon under add/remove of one record; infinite where no guarantee was earned."""
        return self.bounds[0].epsilon if self.status in ("holds", "demonstration") else math.inf

    @property
    def delta(self) -> float:
        """Delta under add/remove of one record; 1 where no guarantee was earned."""
        return self.bounds[0].delta if self.status in ("holds", "demonstration") else 1.0

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        if self.status == "none":
            return "No privacy is claimed: this model is not private."
        if self.status == "void":
            return "VOID, no privacy guarantee: " + "; ".join(self.reasons) + "."
        native = self.bounds[0]
        text = (
            f"The released model is ({_number(native.epsilon)}, {_number(native.delta)})-differentially "
            f"private when {self.unit} is added or removed"
        )
        if self.status == "demonstration":
            return f"DEMONSTRATION ONLY: {text}, but only under this condition: " + "; ".join(self.reasons) + "."
        return text + "."


def _number(value: float) -> str:
    return f"{value:.6g}"


def make_guarantee(
    loss: PrivacyLoss, delta: Fraction, leaks: tuple[str, ...], seeded: bool
) -> Guarantee:
    """Judge a finished fit.

    Parameters
    ----------
    loss : PrivacyLoss
        What the fit spent, composed by its scopes.
    delta : Fraction
        The delta at which zero-concentrated bounds are converted; 0 for pure claims only.
    leaks : tuple of str
        What was learnt without paying, in words; any of them voids the guarantee.
    seeded : bool
        Whether the noise came from a seed.
    """
    bounds = (_native(loss, delta), _replace_one(loss, delta))
    reasons = list(leaks)
    if seeded:
        reasons.append(
            "the noise came from random_state, so it holds only against those who neither know "
            "the seed nor can search for it, and for one fit"
        )
    status: Status = "void" if leaks else "demonstration" if seeded else "holds"
    return Guarantee(status=status, bounds=bounds, reasons=tuple(reasons))


def _native(loss: PrivacyLoss, delta: Fraction) -> RelationBound:
    epsilon, at_delta, derivation = best_bound(loss, delta)
    return RelationBound(
        relation=NeighbouringRelation.ADD_OR_REMOVE_ONE,
        epsilon=_float(epsilon),
        delta=_float(at_delta),
        rho=None if math.isinf(loss.rho) else _float(loss.rho),
        derivation=derivation,
    )


def _replace_one(loss: PrivacyLoss, delta: Fraction) -> RelationBound:
    """One removal and one addition: 2 epsilon, 4 rho, converted anew."""
    twice = PrivacyLoss(loss.epsilon * 2, loss.rho * 4, Fraction(0))
    if loss.delta:
        # Group privacy of an (epsilon, delta) part costs (1 + e^epsilon) delta; it is not claimed here.
        return RelationBound(
            relation=NeighbouringRelation.REPLACE_ONE,
            epsilon=math.inf,
            delta=1.0,
            rho=None,
            derivation="not claimed beside an external (epsilon, delta) part",
        )
    epsilon, at_delta, derivation = best_bound(twice, delta)
    return RelationBound(
        relation=NeighbouringRelation.REPLACE_ONE,
        epsilon=_float(epsilon),
        delta=_float(at_delta),
        rho=None if math.isinf(twice.rho) else _float(twice.rho),
        derivation=f"one removal and one addition: {derivation} of 2 epsilon, 4 rho",
    )


def best_bound(loss: PrivacyLoss, delta: Fraction) -> tuple[Fraction | float, Fraction, str]:
    """Smallest valid (epsilon, delta) of a loss: pure, or zero-concentrated converted at ``delta``."""
    pure = (loss.epsilon, loss.delta, "pure composition")
    if delta <= loss.delta or math.isinf(loss.rho):
        return pure
    converted, method = epsilon_of_rho(Fraction(loss.rho), delta - loss.delta)
    if loss.epsilon <= converted:
        return pure
    return converted, delta, f"zero-concentrated composition, converted by {method}"


def _float(amount: Fraction | float) -> float:
    return float_up(amount) if isinstance(amount, Fraction) else amount
