"""What a composed loss guarantees: its best (epsilon, delta) under each neighbouring relation."""

from __future__ import annotations

import math
from fractions import Fraction

from dpforest.accounting.certificates import Certificate, epsilon_bound, grouped
from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import exp_up


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
    text = "composition in epsilon and delta" if loss.delta else "composition in epsilon"
    pure = (loss.epsilon, loss.delta, text)
    if delta <= loss.delta or loss.rho == math.inf:
        return pure
    converted, method = epsilon_of_rho(Fraction(loss.rho), delta - loss.delta)
    if loss.epsilon <= converted:
        return pure
    return converted, delta, f"composition in rho, converted by {method}"


def certified_add_remove_price(certificate: Certificate) -> tuple[Amount, Fraction, str]:
    """Return what a certificate says of a whole list of releases, and how; see above."""
    return certificate.epsilon, certificate.delta, f"composition as a whole: {certificate.method}"


def certified_replace_one_price(certificate: Certificate) -> tuple[Amount, Fraction, str]:
    """Return the (epsilon, delta) of a certified list when one record is replaced.

    Notes
    -----
    At the certificate's delta: the same list with every shift, range and pure loss doubled
    (``certificates.grouped``). 4 rho, converted, where that is less.
    """
    delta = certificate.delta
    epsilon = epsilon_bound(grouped(certificate.unit_blocks, 2), delta)
    converted, method = epsilon_of_rho(certificate.rho * 4, delta)
    if converted < epsilon:
        return converted, delta, f"4 rho, converted by {method}"
    return epsilon, delta, "every shift and range doubled, composed as a whole and converted"


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
            return math.inf, loss.delta, "no finite epsilon"
        doubled = (1 + Fraction(exp_up(Fraction(loss.epsilon)))) * loss.delta
        return loss.epsilon * 2, min(doubled, Fraction(1)), "2 epsilon, (1 + e^epsilon) delta"
    converted, method = epsilon_of_rho(loss.rho * 4, delta)
    if loss.epsilon * 2 <= converted:
        return loss.epsilon * 2, Fraction(0), "2 epsilon"
    return converted, delta, f"4 rho, converted by {method}"
