"""Actors of entries: anybody, owners, owners who sign, and nobody while a data set is frozen.

Held by tests/ledger/test_rules.py.
"""

from __future__ import annotations

from dpforest.display import short_list
from dpforest.exceptions import LedgerFrozen, ParameterError
from dpforest.ledger.bodies import Kind
from dpforest.ledger.entries import Entry
from dpforest.ledger.state import DataSetState

#: Kinds that only owners write, and those that a frozen data set takes.
_OF_OWNERS = {Kind.POLICY, Kind.BLOCK, Kind.APPROVE, Kind.IMPORT, Kind.CHECKPOINT}
_WHILE_FROZEN = {Kind.IMPORT, Kind.CHECKPOINT, Kind.NOTE}


def check_actor(state: DataSetState, entry: Entry) -> None:
    """Refuse an entry that its actor may not write, or nobody while the data set is frozen.

    Raises
    ------
    LedgerFrozen, ParameterError
    """
    check_key(state, entry)
    if state.frozen and entry.kind not in _WHILE_FROZEN:
        raise LedgerFrozen(
            f"the data set is frozen ({state.why_frozen})",
            "One of its owners gives the reports that people hold: `dpforest ledger recover "
            "DATA_SET --witness FILE …`, or ledger.recover(data_set, witnesses=[…])",
            state.facts.ledger,
            state.name,
        )
    if entry.kind in _OF_OWNERS or (state.frozen and entry.kind is Kind.NOTE):
        check_owner(state, entry.actor)


def check_key(state: DataSetState, entry: Entry) -> None:
    """An owner whose key is known signs; nobody else writes in that name.

    Raises
    ------
    ParameterError
        If the entry has another key, or none.
    """
    key = state.owners.get(entry.actor, "")
    if key and entry.key != key:
        raise ParameterError(
            "signer", entry.key or None, f"is not the key of owner {entry.actor!r}",
            "Open the ledger with that owner's signer, or as another actor",
        )  # fmt: skip


def check_owner(state: DataSetState, actor: str) -> None:
    """Refuse what only owners do.

    Raises
    ------
    ParameterError
        If the actor is no owner; it names some who are.
    """
    if actor not in state.owners:
        names = short_list([*map(repr, state.owners)])
        raise ParameterError(
            "actor", actor, f"must be an owner of data set {state.name!r} for this",
            f"Ask one of them ({names})",
        )  # fmt: skip
