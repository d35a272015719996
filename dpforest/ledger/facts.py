"""Facts of a data set that are fixed when it is registered."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpforest.accounting.conversion import conversion_method, epsilon_of_rho, rho_of_epsilon
from dpforest.accounting.losses import Amount
from dpforest.accounting.rationals import exact_text, parse_amount, parse_finite, to_rational
from dpforest.checks import check_choice
from dpforest.domain.domain import Domain
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.ledger.amounts import cap_in_units, fraction_of
from dpforest.ledger.bodies import OpenBody
from dpforest.report.digests import digest_of

#: Parts of a domain's entry that decide no code.
_FOR_PEOPLE = ("source", "declared_by", "status", "drafted")


def domain_digest(domain: Domain) -> str:
    """Fingerprint of the public facts that decide what code a value gets.

    Names, kinds, bounds, categories and classes are in it, in their order. What is there for
    people is not, nor is ``approximate_rows``, which may grow with the table.

    Parameters
    ----------
    domain : Domain

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    ParameterTypeError
        If it is no domain.
    """
    if not isinstance(domain, Domain):
        raise ParameterTypeError("domain", domain, "must be a Domain", "Write Domain(...)")
    facts = domain.model_dump(mode="json", include={"features", "classes", "target"})
    for entry in (*facts["features"], facts["classes"], facts["target"]):
        for name in _FOR_PEOPLE:
            (entry or {}).pop(name, None)
    return digest_of(facts)


def cap_facts(currency: Any, epsilon: Any, delta: Any, rho: Any) -> dict[str, Any]:
    """The cap of a data set, and the guarantee it stands for, as an ``OpenBody`` holds them.

    Parameters
    ----------
    currency : {"rho", "epsilon"}
    epsilon, delta, rho : number or None
        Of rho: ``epsilon`` and ``delta``, or ``rho`` and ``delta``. Of pure epsilon: ``epsilon``.

    Raises
    ------
    ParameterError
        If the currency is none of these, or a number is missing, one too many or out of range.
    ParameterTypeError
        If one of them is no number.
    """
    if check_choice(currency, "currency", ("rho", "epsilon")) == "epsilon":
        return _pure(epsilon, delta, rho)
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            "epsilon", epsilon, "must be given, or rho in its place, and not both",
            "Give the guarantee of the data set over its life, such as epsilon=2, delta=1e-6",
        )  # fmt: skip
    slack = _positive(
        delta, "delta", "Give about 1e-6, or choose currency='epsilon', in which no fit has a delta"
    )
    if slack >= 1:
        raise ParameterError("delta", delta, "must be below 1", "Give about 1e-6")
    if rho is None:
        declared: Amount = _positive(epsilon, "epsilon", "Give the total to spend")
        most = rho_of_epsilon(Fraction(declared), slack)
        cap, given_in = cap_in_units(most), "epsilon"
    else:
        cap = cap_in_units(_positive(rho, "rho", "Give the total to spend"), "rho")
        declared, given_in = epsilon_of_rho(fraction_of(cap), slack)[0], "rho"
    facts = _facts("rho", cap, declared, slack, conversion_method())
    return facts | {"given_in": given_in}


def _pure(epsilon: Any, delta: Any, rho: Any) -> dict[str, Any]:
    if rho is not None:
        raise ParameterError("rho", rho, "is not the currency of this data set", "Give epsilon")
    if delta is not None and to_rational(delta, "delta"):
        raise ParameterError(
            "delta", delta, "must be 0 for a data set that counts pure epsilon",
            'Leave it out, or choose currency="rho"',
        )  # fmt: skip
    total = _positive(epsilon, "epsilon", "Give the total to spend")
    facts = _facts("epsilon", cap_in_units(total, "epsilon"), total, Fraction(0), "none: pure")
    return facts | {"given_in": "epsilon"}


def is_given_in_rho(facts: OpenBody) -> bool:
    """Say if the cap of a data set was given in rho, or may have been.

    Facts of version 1 do not say so. Their epsilon tells: it was converted from the cap then.
    Where another means of conversion is at hand, nothing tells.
    """
    if facts.given_in or facts.currency != "rho":
        return facts.given_in == "rho"
    if facts.conversion != conversion_method():
        return True
    converted = epsilon_of_rho(fraction_of(facts.cap), parse_finite(facts.delta))[0]
    return parse_amount(facts.epsilon) == converted


def _positive(value: Any, parameter: str, repair: str) -> Fraction:
    if value is None:
        raise ParameterError(parameter, value, "must be given", repair)
    exact = to_rational(value, parameter)
    if exact <= 0:
        raise ParameterError(parameter, value, "must be a positive number", repair)
    return exact


def _facts(
    currency: str, cap: int, epsilon: Amount, delta: Fraction, conversion: str
) -> dict[str, Any]:
    return {
        "currency": currency,
        "cap": cap,
        "epsilon": exact_text(epsilon),
        "delta": exact_text(delta),
        "conversion": conversion,
    }
