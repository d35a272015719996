"""Small data sets and charges for tests of the ledger."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpforest import Domain
from dpforest.accounting.rationals import exact_text
from dpforest.ledger import BudgetLedger, Charge, Part, to_units
from dpforest.ledger.facts import domain_digest

DOMAIN = Domain(features={"age": (17, 90), "sex": ["Female", "Male"]}, classes=["no", "yes"])
PLAN = "ab" * 32


def charge(
    amount: Any, currency: str = "rho", parts: int = 1, domain: Domain = DOMAIN, **others: Any
) -> Charge:
    """What fits of so much in all ask for, in a currency."""
    exact = Fraction(amount)
    rho, epsilon = (exact, "inf") if currency == "rho" else (exact**2 / 2, exact_text(exact))
    each = Part(plan=PLAN, units=to_units(exact / parts))
    fields = {
        "domain": domain_digest(domain),
        "records_per_unit": 1,
        "parts": (each,) * parts,
        "units": to_units(exact),
        "epsilon": epsilon,
        "rho": exact_text(rho),
        "delta": "1/1000000" if currency == "rho" else "0",
    }
    return Charge(**(fields | others))


def ledger_at(path: Any, actor: str = "olga", **options: Any) -> BudgetLedger:
    """A ledger in a file, made if there is none."""
    return BudgetLedger.open(f"sqlite:///{path}", actor=actor, create=True, **options)


def registered(ledger: BudgetLedger, name: str = "claims", **facts: Any) -> BudgetLedger:
    """The ledger with a data set of rho 1 for owner olga."""
    standard = {"domain": DOMAIN, "rho": 1, "delta": "1e-6", "owners": ["olga", "oscar"]}
    if "currency" in facts:
        del standard["rho"], standard["delta"]
    ledger.register(name, **(standard | facts))
    return ledger
