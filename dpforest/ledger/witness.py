"""A fit's place in a ledger: as a report bears witness of it, and worked out of the chain again.

Held by tests/ledger/test_witness.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.figures import figure_charged
from dpforest.accounting.rationals import exact_text
from dpforest.ledger.amounts import fraction_of
from dpforest.ledger.bodies import ReserveBody, SettleBody, StartBody
from dpforest.ledger.chain import Chain
from dpforest.ledger.charges import shifted
from dpforest.ledger.entries import Entry
from dpforest.ledger.plan_files import Charge
from dpforest.ledger.rules import applied
from dpforest.ledger.state import DataSetState
from dpforest.report.record import LedgerPlace

_BEHIND = (
    "the ledger ends at entry {end}, before the entry {number} that it names: it was restored from "
    "a backup, and is behind (see BudgetLedger.recover)"
)
_FORKED = (
    "entry {number} of the ledger is another one than it names: one of the two was written on a "
    "copy of the ledger (see BudgetLedger.recover)"
)


@dataclass(frozen=True, slots=True)
class ReserveSnapshot:
    """A reserve as it was set aside.

    Attributes
    ----------
    id : str
    charge : Charge
    charged : Fraction
        What it counts as.
    before : Fraction
        What a unit had been charged before it.
    """

    id: str
    charge: Charge
    charged: Fraction
    before: Fraction

    def amount(self, currency: str) -> str:
        """Amount that it counts as, in words; of a certified list that is no rho of its own."""
        whole = "the whole cap, by a certificate"
        return whole if self.charge.alone else f"{currency} = {figure_charged(self.charged)}"

    @classmethod
    def of(cls, entry: Entry, state: DataSetState) -> ReserveSnapshot:
        """The snapshot of a ``reserve`` entry.

        Parameters
        ----------
        entry : Entry
        state : DataSetState
            After it.
        """
        assert isinstance(entry.body, ReserveBody)
        held = state.reserves[entry.id]
        earlier = shifted(state, held.actor, -held.charged, held.blocks)
        charged, before = fraction_of(held.charged), fraction_of(earlier.total)
        return cls(entry.id, entry.body.charge, charged, before)


def place_of(snapshot: ReserveSnapshot, entry: Entry, state: DataSetState) -> LedgerPlace:
    """The place of a fit, as of its start or its settlement.

    Parameters
    ----------
    snapshot : ReserveSnapshot
    entry : Entry
        Of kind ``start`` or ``settle``.
    state : DataSetState
        After it.
    """
    assert isinstance(entry.body, (StartBody, SettleBody))
    charge, facts, part = snapshot.charge, state.facts, entry.body.part
    return LedgerPlace(
        ledger=facts.ledger,
        data_set=state.name,
        reserve=snapshot.id,
        part=part,
        parts=len(charge.parts),
        plan=charge.parts[part].plan,
        entry="start" if isinstance(entry.body, StartBody) else "settle",
        number=entry.number,
        hash=entry.hash,
        signature=entry.signature,
        key=entry.key,
        currency=facts.currency,
        charged=exact_text(snapshot.charged),
        before=exact_text(snapshot.before),
        in_all=exact_text(fraction_of(state.total)),
        cap=exact_text(fraction_of(state.cap)),
        cap_epsilon=facts.epsilon,
        cap_delta=facts.delta,
        blocks=charge.blocks,
        alone=charge.alone,
    )


def witness_problems(chain: Chain, place: LedgerPlace) -> Iterator[str]:
    """Compare a place with the chain of its data set: what does not agree.

    Parameters
    ----------
    chain : Chain
        That was checked whole.
    place : LedgerPlace
    """
    if place.number > chain.state.number:
        yield _BEHIND.format(end=chain.state.number, number=place.number)
        return
    entry = chain.entries[place.number]
    if (entry.hash, entry.signature, entry.key) != (place.hash, place.signature, place.key):
        yield _FORKED.format(number=place.number)
        return
    remade = _remade(chain, entry)
    if remade is None:
        yield f"entry {place.number} of the ledger is none of a fit"
        return
    for name in LedgerPlace.model_fields:
        if getattr(remade, name) != getattr(place, name):
            yield f"the ledger has another {name.replace('_', ' ')} than it says"


def _remade(chain: Chain, entry: Entry) -> LedgerPlace | None:
    """Place of an entry, from those up to it; None where it is none of a fit."""
    if not isinstance(entry.body, (StartBody, SettleBody)):
        return None
    state: DataSetState | None = None
    snapshot: ReserveSnapshot | None = None
    for one in chain.entries[: entry.number + 1]:
        state = applied(state, one)
        if one.id == entry.body.reserve:
            snapshot = ReserveSnapshot.of(one, state)
    assert state is not None and snapshot is not None
    return place_of(snapshot, entry, state)
