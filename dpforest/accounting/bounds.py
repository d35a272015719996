"""Guarantees of a composed loss: its best (epsilon, delta) under each neighbouring relation."""

from __future__ import annotations

import math
from fractions import Fraction

from dpforest.accounting.certificates import METHOD, Certificate, epsilon_bound, grouped
from dpforest.accounting.conversion import MEANS, epsilon_of_rho
from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import exp_up

#: How a price may follow where nothing is converted from rho.
_ADDED = ("composition in epsilon", "composition in epsilon and delta")
_DOUBLED = ("2 epsilon", "2 epsilon, (1 + e^epsilon) delta", "no finite epsilon")
_WHOLE = "composition as a whole: "
_WHOLE_DOUBLED = "every shift and range doubled, composed as a whole and converted"
_BY_RHO, _BY_FOUR_RHO = "composition in rho, ", "4 rho, "
_UNCONVERTED = (*_ADDED, *_DOUBLED, _WHOLE + METHOD, _WHOLE_DOUBLED)


def is_derivation(text: str) -> bool:
    """True if a text is one in which the prices below say how they follow, on any machine."""
    begin, converted, means = text.partition("converted by ")
    known = (_BY_RHO, _BY_FOUR_RHO, f"{_WHOLE}addition in rho, ")
    return text in _UNCONVERTED or (bool(converted) and begin in known and means in MEANS)


def add_remove_price(loss: PrivacyLoss, delta: Fraction) -> tuple[Amount, Fraction, str]:
    """Return the smallest valid (epsilon, delta) of a loss when one record is added or removed.

    Parameters
    ----------
    loss : PrivacyLoss
        Composed, under add/remove.
    delta : Fraction
        At which rho may be converted; 0 for pure claims only.

    Returns
    -------
    epsilon : Fraction or math.inf
    delta : Fraction
        The one that goes with it.
    derivation : str
    """
    text = _ADDED[1] if loss.delta else _ADDED[0]
    pure = (loss.epsilon, loss.delta, text)
    if delta <= loss.delta or loss.rho == math.inf:
        return pure
    converted, method = epsilon_of_rho(Fraction(loss.rho), delta - loss.delta)
    if loss.epsilon <= converted:
        return pure
    return converted, delta, f"{_BY_RHO}converted by {method}"


def certified_add_remove_price(certificate: Certificate) -> tuple[Amount, Fraction, str]:
    """Return what a certificate says of a whole list of releases, and how; see above."""
    return certificate.epsilon, certificate.delta, f"{_WHOLE}{certificate.method}"


def certified_replace_one_price(certificate: Certificate) -> tuple[Amount, Fraction, str]:
    """Return the (epsilon, delta) of a certified list when one record is replaced.

    Notes
    -----
    At the certificate's delta: the same list with every shift, range and pure loss doubled
    (``certificates.grouped``). 4 rho, converted, where that is less.
    """
    delta = certificate.delta
    epsilon = epsilon_bound(grouped(certificate.unit_repeats, 2), delta)
    converted, method = epsilon_of_rho(certificate.rho * 4, delta)
    if converted < epsilon:
        return converted, delta, f"{_BY_FOUR_RHO}converted by {method}"
    return epsilon, delta, _WHOLE_DOUBLED


def replace_one_price(loss: PrivacyLoss, delta: Fraction) -> tuple[Amount, Fraction, str]:
    """Return the (epsilon, delta) of an add/remove loss when one record is replaced.

    Parameters
    ----------
    loss : PrivacyLoss
        Under add/remove.
    delta : Fraction
        At which rho may be converted.

    Returns
    -------
    epsilon : Fraction or math.inf
    delta : Fraction
        The one that goes with it.
    derivation : str

    Notes
    -----
    Replacing is one removal and one addition. Pure: 2 epsilon. Concentrated: 4 rho (group
    privacy, Bun and Steinke 2016, Prop. 1.9), converted anew at delta. With a delta that was
    spent already: (2 epsilon, (1 + e^epsilon) delta).
    """
    if loss.delta:
        if loss.epsilon == math.inf:
            return math.inf, loss.delta, _DOUBLED[2]
        doubled = (1 + Fraction(exp_up(Fraction(loss.epsilon)))) * loss.delta
        return loss.epsilon * 2, min(doubled, Fraction(1)), _DOUBLED[1]
    converted, method = epsilon_of_rho(loss.rho * 4, delta)
    if loss.epsilon * 2 <= converted:
        return loss.epsilon * 2, Fraction(0), _DOUBLED[0]
    return converted, delta, f"{_BY_FOUR_RHO}converted by {method}"
