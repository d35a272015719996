"""Export of a ledger: every entry of its data sets as one JSON object, and back again.

An export is a copy for archives, for another store, and for ``dpforest.ledger.recovery``. It
holds the entries to the byte, so their hashes and signatures are checked again when it is read.

Held by tests/ledger/test_exporting.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from dpforest.exceptions import ParameterError, printable
from dpforest.ledger.chain import Chain, checked_chain, head_of, row_of
from dpforest.ledger.fields import is_id
from dpforest.ledger.rules import applied
from dpforest.ledger.store import Row, Store
from dpforest.report.digests import canonical_bytes
from dpforest.strict_json import Limits, read_object

FORMAT, VERSION = "dpforest-ledger", 1
#: An export holds years.
LIMITS = Limits(size=2**30)

_KEYS = {"format", "version", "ledger", "data_sets"}
_REPAIR = "Give the file that `dpforest ledger export` wrote"


@dataclass(frozen=True)
class Export:
    """Chains that an export holds, each checked whole.

    Attributes
    ----------
    ledger : str
        Identity of the ledger.
    chains : mapping of str to Chain
    """

    ledger: str
    chains: Mapping[str, Chain]


def export_text(ledger: str, chains: Mapping[str, Chain]) -> str:
    """Chains as JSON, one entry a line.

    Parameters
    ----------
    ledger : str
    chains : mapping of str to Chain
    """
    written = ",\n".join(f"{json.dumps(name)}: [\n{_lines(c)}\n]" for name, c in chains.items())
    return (
        f'{{"format": "{FORMAT}", "version": {VERSION}, "ledger": {json.dumps(ledger)}, '
        f'"data_sets": {{\n{written}\n}}}}\n'
    )


def _lines(chain: Chain) -> str:
    rows = map(row_of, chain.entries)
    return ",\n".join(
        f'{{"hash": "{row.hash}", "signature": "{row.signature}", "entry": {row.text}}}'
        for row in rows
    )


def read_export(given: str | PathLike[str]) -> Export:
    """The chains of an export, each checked whole.

    Parameters
    ----------
    given : str or path
        The text, or the path of the file.

    Raises
    ------
    ParameterError
        If it is no export.
    LedgerDamaged
        If an entry of it is not as it was written.
    """
    return export_of(read_object(given, refused, LIMITS))


def export_of(data: dict[str, Any]) -> Export:
    """The chains of an export that was read as JSON; see :func:`read_export`."""
    if data.get("format") != FORMAT or data.get("version") != VERSION or set(data) != _KEYS:
        raise refused(f"it is no {FORMAT} of version {VERSION}")
    ledger, data_sets = data["ledger"], data["data_sets"]
    if not is_id(ledger) or not isinstance(data_sets, dict):
        raise refused("its parts are not those of one")
    return Export(
        ledger,
        {
            name: checked_chain([_row(name, one) for one in _listed(entries)], None, ledger, name)
            for name, entries in data_sets.items()
        },
    )


def refused(rule: str) -> ParameterError:
    """The error of a file that is no export."""
    return ParameterError("file", None, f"cannot be read as an export: {rule}", _REPAIR)


def _listed(entries: Any) -> list[Any]:
    if not isinstance(entries, list):
        raise refused("its entries are no list")
    return entries


def _row(data_set: str, given: Any) -> Row:
    """A row as the store would keep it; what it says is checked with the chain."""
    if not isinstance(given, dict) or set(given) != {"hash", "signature", "entry"}:
        raise refused("an entry has other parts than one has")
    entry = given["entry"]
    if not isinstance(entry, dict):
        raise refused("an entry is no object")
    number, key = entry.get("number"), entry.get("key", "")
    return Row(
        data_set=data_set,
        number=number if type(number) is int else -1,
        id=str(entry.get("id")),
        kind=str(entry.get("kind")),
        text=canonical_bytes(entry).decode("ascii"),
        hash=str(given["hash"]),
        signature=str(given["signature"]),
        key=str(key),
    )


def restore(store: Store, export: Export) -> dict[str, int]:
    """Write what a store lacks of an export into it.

    Parameters
    ----------
    store : Store
        Of the same ledger, with none of its entries or the first ones.
    export : Export

    Returns
    -------
    dict of int
        How many entries were added, by data set.

    Raises
    ------
    ParameterError
        If the store is of another ledger, or holds entries that the export has not; of the data
        set in question nothing was written.
    """
    if store.ledger_id != export.ledger:
        raise ParameterError(
            "file", export.ledger,
            f"is an export of another ledger than this one ({printable(store.url)})",
            "Import it to a place where there is no ledger yet",
        )  # fmt: skip
    return {name: extend(store, chain, name) for name, chain in export.chains.items()}


def extend(store: Store, chain: Chain, data_set: str) -> int:
    """Append the entries of a chain that a store lacks, all or none; return their number."""
    rows = [row_of(entry) for entry in chain.entries]
    with store.locked(data_set) as locked:
        known = locked.rows()
        if not is_prefix(known, rows):
            raise ParameterError(
                "file", data_set, "does not go on where this ledger ends: it has other entries",
                "Give it to `dpforest ledger recover` as a witness",
            )  # fmt: skip
        for entry, state in _states(chain, len(known)):
            locked.append(row_of(entry), head_of(entry, state))
    return len(rows) - len(known)


def is_prefix(known: Iterable[Row], rows: list[Row]) -> bool:
    """Say if a store's rows are the first ones of a chain."""
    known = list(known)
    return known == rows[: len(known)]


def _states(chain: Chain, start: int) -> Iterable[tuple[Any, Any]]:
    """Entries from a number on, each with the state after it."""
    state = None
    for entry in chain.entries:
        state = applied(state, entry)
        if entry.number >= start:
            yield entry, state
