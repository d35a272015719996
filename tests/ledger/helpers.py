"""Small data sets, charges and chains for tests of the ledger."""

from __future__ import annotations

import uuid
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpforest import Domain
from dpforest.accounting.certificate_record import EventRecord
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.rationals import exact_text
from dpforest.ledger import BudgetLedger, Charge, Part, Signer, bodies, to_units
from dpforest.ledger.approvals import charge_digest
from dpforest.ledger.chain import End, Statement, linked
from dpforest.ledger.facts import cap_facts, domain_digest
from dpforest.ledger.plan_files import Repeated
from dpforest.ledger.rules import token_digest

DOMAIN = Domain(features={"age": (17, 90), "sex": ["Female", "Male"]}, classes=["no", "yes"])
PLAN = "ab" * 32
LEDGER = "00000000-0000-4000-8000-000000000000"
TOKEN = "cd" * 32
#: A release that costs next to nothing, so that a certificate of a larger epsilon stands by it.
SMALL = Repeated(
    releases=(EventRecord.of(GeometricNoise(Fraction(1, 1000), Fraction(1))),), times=1
)


def charge(
    amount: Any, currency: str = "rho", parts: int = 1, domain: Domain = DOMAIN, **others: Any
) -> Charge:
    """Charge of some equal fits that cost so much in all."""
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
    if others.get("alone"):
        fields["releases"] = (SMALL,)
    return Charge(**(fields | others))


def ledger_at(url: str | Path, actor: str = "olga", **options: Any) -> BudgetLedger:
    """A ledger, at a url or in a file, made if there is none."""
    place = url if isinstance(url, str) else f"sqlite:///{url}"
    return BudgetLedger.open(place, actor=actor, create=True, **options)


def registered(ledger: BudgetLedger, name: str = "claims", **facts: Any) -> BudgetLedger:
    """The ledger with a data set of rho 1, whose owners are olga and oscar."""
    standard: dict[str, Any] = {"domain": DOMAIN, "owners": ["olga", "oscar"]}
    if facts.get("currency") == "epsilon":
        standard["epsilon"] = 1
    elif "epsilon" not in facts:
        standard |= {"rho": 1, "delta": "1e-6"}
    ledger.register(name, **(standard | facts))
    return ledger


def opening(**facts: Any) -> bodies.OpenBody:
    """The first body of a data set of rho 1."""
    standard: dict[str, Any] = {
        "version": bodies.VERSION,
        "ledger": LEDGER,
        "domain": domain_digest(DOMAIN),
        "relation": "add or remove one record",
        "unit": "one record",
        "max_records_per_unit": 1,
        "max_blocks_per_unit": 0,
        "owners": {"olga": "", "oscar": "", "otto": ""},
        "approvals": 0,
        **cap_facts("rho", None, Fraction(1, 10**6), 1),
    }
    return bodies.OpenBody(**(standard | facts))


class PureChain:
    """A chain in memory, without a store."""

    def __init__(self, name: str = "claims", actor: str = "olga", **facts: Any) -> None:
        self.name, self.entries, self.place = name, [], None
        self.say(opening(**facts), actor)

    def say(self, body: Any, actor: str = "ana", signer: Signer | None = None) -> str:
        """Append an entry and return its id; raise what the rules raise, and append nothing."""
        said = Statement(self.name, str(uuid.uuid4()), actor, body, signer)
        entry, state = linked(self.place, said)
        self.entries.append(entry)
        self.place = End(entry.hash, state)
        return entry.id

    @property
    def state(self) -> Any:
        """State after the last entry."""
        return self.place.state

    def reserve(self, asked: Charge, actor: str = "ana", request: str = "") -> str:
        """Reserve with the token of these tests."""
        body = bodies.ReserveBody(charge=asked, request=request, token=token_digest(TOKEN))
        return self.say(body, actor)


def chain_of_every_kind(signer: Signer | None = None) -> PureChain:
    """A chain that holds each kind of entry; of owner olga, they are signed if she has a key."""
    owners = {"olga": signer.public_key if signer else "", "oscar": "", "otto": ""}
    chain = PureChain.__new__(PureChain)
    chain.name, chain.entries, chain.place = "claims", [], None
    chain.say(opening(owners=owners, max_blocks_per_unit=2), "olga", signer)
    chain.say(bodies.NoteBody(text="a table of claims, since 1999; Größe: klein"), "ana")
    chain.say(
        bodies.BlockBody(name="2025", by="arrival", cap=to_units(Fraction(1, 2))), "olga", signer
    )
    chain.say(bodies.BlockBody(name="2026", by="arrival", cap=to_units(Fraction(1, 2))), "oscar")
    asked = charge(Fraction(1, 10), blocks=("2025",), purpose="churn")
    rules = bodies.PolicyBody(
        quotas={"ana": to_units(Fraction(3, 4))}, approvals=1, reason="so be it"
    )
    chain.say(rules, "olga", signer)
    request = chain.say(bodies.RequestBody(charge=asked))
    chain.say(bodies.ApproveBody(request=request, charge=charge_digest(asked)), "oscar")
    chain.say(bodies.RevokeBody(request=request, reason="a mistake"), "oscar")
    chain.say(bodies.ApproveBody(request=request, charge=charge_digest(asked)), "olga", signer)
    reserve = chain.reserve(asked, request=request)
    chain.say(bodies.StartBody(reserve=reserve, part=0))
    chain.say(bodies.SettleBody(reserve=reserve, part=0, outcome="done", guarantee="demonstration"))
    chain.say(bodies.PolicyBody(approvals=0), "olga", signer)
    reserve = chain.reserve(charge(Fraction(1, 10), parts=2, blocks=("2025", "2026")))
    chain.say(bodies.VoidBody(reserve=reserve, token=TOKEN))
    body = bodies.ImportBody(units=7, source="a report", witness="12" * 32, guarantee="void")
    chain.say(body, "olga", signer)
    chain.say(bodies.CheckpointBody(frozen=True, reason="a backup was restored"), "oscar")
    chain.say(bodies.CheckpointBody(frozen=False, reason="nothing is missing"), "oscar")
    chain.reserve(charge(Fraction(1, 7), blocks=("2026",)))
    assert {entry.kind for entry in chain.entries} == set(bodies.Kind)
    return chain
