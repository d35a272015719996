"""Status of a data set, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpforest.accounting.figures import figure_down, figure_up, figures_beside
from dpforest.accounting.frozen import Frozen
from dpforest.accounting.rationals import parse_amount
from dpforest.ledger.amounts import Units, fraction_of
from dpforest.ledger.approvals import charge_digest
from dpforest.ledger.bodies import OpenBody
from dpforest.ledger.entries import Entry
from dpforest.ledger.guarantee_marks import count_marks, marks_words
from dpforest.ledger.state import DataSetState, OpenReserve, Pending


class BlockStatus(Frozen):
    """A block: its cap, what it was charged, the whole table's charges too, and what is left."""

    name: str
    cap: Units
    spent: Units
    remaining: Units


class RequestStatus(Frozen):
    """An open request: who asks, for what, and who approved of it.

    ``charge`` is the digest that an owner approves of; ``units`` its price.
    """

    id: str
    actor: str
    charge: str
    purpose: str
    plans: tuple[str, ...]
    units: Units
    approvals: tuple[str, ...]


class ReserveStatus(Frozen):
    """A reserve that is not settled: what it counts as, and which of its fits began and ended."""

    id: str
    actor: str
    units: Units
    blocks: tuple[str, ...]
    plans: tuple[str, ...]
    started: tuple[int, ...]
    settled: tuple[int, ...]


class DataSetStatus(Frozen):
    """A data set as it stands.

    Attributes
    ----------
    ledger, url, data_set : str
    number : int
        Of its last entry.
    hash, time : str
        Of its last entry.
    facts : OpenBody
        What was fixed when it was registered.
    cap, spent, remaining : int
        In units of its currency, 2^-128 each. ``spent`` is the most that any unit of privacy was
        charged, what is reserved and not begun included.
    blocks : tuple of BlockStatus
    owners : dict of str
    approvals : int
    quotas, used : dict of int
        Of analysts, in units.
    requests : tuple of RequestStatus
    reserves : tuple of ReserveStatus
    stands_alone : bool
        Whether one certified list stands for everything, so that nothing else fits beside it.
    frozen : bool
    why_frozen : str
    lacking : dict of int
        Fits of which the cap does not speak, since their own guarantee is ``"void"``, was for a
        ``"demonstration"``, or is ``"unknown"``: not said, or not settled yet.
    """

    ledger: str
    url: str
    data_set: str
    number: int
    hash: str
    time: str
    facts: OpenBody
    cap: Units
    spent: Units
    remaining: Units
    blocks: tuple[BlockStatus, ...]
    owners: dict[str, str]
    approvals: int
    quotas: dict[str, Units]
    used: dict[str, Units]
    requests: tuple[RequestStatus, ...]
    reserves: tuple[ReserveStatus, ...]
    stands_alone: bool
    frozen: bool
    why_frozen: str
    lacking: dict[str, int] = {}

    @property
    def figures(self) -> dict[str, str]:
        """Cap, what was spent and what remains of it, as they are written for people."""
        return _figures_of(self)

    def __str__(self) -> str:
        currency = self.facts.currency
        guarantee = figure_up(parse_amount(self.facts.epsilon))
        delta = parse_amount(self.facts.delta)
        promised = f"epsilon={guarantee}" + (f", delta={figure_up(delta)}" if delta else "")
        lines = [
            f"data set {self.data_set!r}: {_left_of(self, currency)} is left "
            f"({promised} in all, for {self.facts.unit})"
        ]
        lines += [f"  block {b.name!r}: {_left_of(b)} is left" for b in self.blocks]
        if self.spent > self.cap:
            lines.append(
                f"  {currency} {self.figures['spent']} is spent, which is more than the cap: what "
                "was spent elsewhere was charged to it, and the cap's guarantee does not hold for "
                "all of it"
            )
        if self.lacking:
            lines.append(
                "  the cap does not speak of fits without a guarantee of their own: "
                f"{marks_words(self.lacking)}"
            )
        if self.frozen:
            lines.append(f"  frozen: {self.why_frozen}")
        return "\n".join(lines)


def _figures_of(one: DataSetStatus | BlockStatus) -> dict[str, str]:
    spent, cap = figures_beside(fraction_of(one.spent), fraction_of(one.cap))
    return {"cap": cap, "spent": spent, "remaining": figure_down(fraction_of(one.remaining))}


def _left_of(one: DataSetStatus | BlockStatus, currency: str = "") -> str:
    """Figures of what remains of a cap: never more than there is."""
    figures = _figures_of(one)
    left, whole = figures["remaining"], figures["cap"]
    if one.remaining == one.cap and left != whole:
        return f"all of {currency} {whole}".replace("  ", " ")
    return f"{currency} {left} of {whole}".strip()


def status_of(
    state: DataSetState, head: str, url: str, entries: Iterable[Entry] = ()
) -> DataSetStatus:
    """The status that a state comes to.

    Parameters
    ----------
    state : DataSetState
    head : str
        Hash of its last entry.
    url : str
        Place of the ledger.
    entries : iterable of Entry
        All of its entries; needed where the state does not count marks.
    """
    same: dict[str, Any] = {
        name: getattr(state, name)
        for name in (
            "number", "time", "facts", "cap", "remaining", "owners", "approvals", "quotas",
            "used", "frozen", "why_frozen",
        )
    }  # fmt: skip
    return DataSetStatus(
        ledger=state.facts.ledger,
        url=url,
        data_set=state.name,
        hash=head,
        spent=state.total,
        blocks=tuple(_block(state, name) for name in state.blocks),
        requests=tuple(_request(name, one) for name, one in state.requests.items()),
        reserves=tuple(_reserve(name, one) for name, one in state.reserves.items()),
        stands_alone=bool(state.alone),
        lacking=count_marks(state, entries),
        **same,
    )


def _block(state: DataSetState, name: str) -> BlockStatus:
    block = state.blocks[name]
    return BlockStatus(
        name=name,
        cap=block.cap,
        spent=state.spent + block.spent,
        remaining=state.room([name]),
    )


def _request(name: str, pending: Pending) -> RequestStatus:
    charge = pending.charge
    return RequestStatus(
        id=name,
        actor=pending.actor,
        charge=charge_digest(charge),
        purpose=charge.purpose,
        plans=tuple(part.plan for part in charge.parts),
        units=charge.units,
        approvals=pending.approvals,
    )


def _reserve(name: str, held: OpenReserve) -> ReserveStatus:
    return ReserveStatus(
        id=name,
        actor=held.actor,
        units=held.charged,
        blocks=held.blocks,
        plans=held.plans,
        started=held.started,
        settled=held.settled,
    )
