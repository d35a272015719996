"""Fits that are charged to a data set and lack a guarantee of their own that holds.

The cap of a data set speaks of everything that was charged to it, as long as each fit's own
guarantee holds. So the data set counts the fits of which that is not so, or not known: settlements
and imports say so by a mark. A fit that began and was not settled is one of which it is not known.

The state of a data set counts marks since version 2 of what entries hold. States of version 1 do
not, and are read to the byte, so there the entries are gone through.

Held by tests/ledger/test_guarantee_marks.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from dpforest.checks import check_choice
from dpforest.ledger.bodies import ImportBody, ImportMark, SettleBody, SettleMark
from dpforest.ledger.entries import Entry
from dpforest.ledger.state import DataSetState
from dpforest.report.guarantee import Status

#: Marks of fits that the cap does not speak of, the worst first, in words.
NOT_GUARANTEED = {
    "void": "its own guarantee is void",
    "demonstration": "a demonstration only",
    "unknown": "its own guarantee is unknown",
}
#: The first version of which states count marks.
_COUNTED = 2


def import_mark(status: Any) -> Literal["holds", "demonstration", "void"]:
    """Mark that an import bears of what a guarantee's status is.

    Raises
    ------
    ParameterError
        If it is no status.
    """
    known = check_choice(status, "guarantee", get_args(Status))
    # What claims nothing is as good as void: no cap speaks of it either.
    return "void" if known == "none" else known  # type: ignore[return-value]


def settled_mark(status: Any) -> Literal["", "demonstration", "void"]:
    """Mark that a settlement bears: none where the guarantee holds, which is as it was planned."""
    mark = import_mark(status)
    return "" if mark == "holds" else mark


def all_marked(marks: Sequence[ImportMark], parts: int) -> ImportMark:
    """Mark of a reserve of several fits: the worst of them, and empty where one is not known.

    Parameters
    ----------
    marks : sequence of str
        Of those of its fits that somebody spoke of.
    parts : int
        Number of its fits.
    """
    if "void" in marks:
        return "void"
    if len(marks) < parts or "" in marks:
        return ""
    return "demonstration" if "demonstration" in marks else "holds"


def mark_of(body: Any) -> SettleMark:
    """Mark of what an entry says was made; empty where its guarantee holds, or nothing was made.

    Parameters
    ----------
    body : Body
    """
    if isinstance(body, SettleBody):
        return body.guarantee
    if isinstance(body, ImportBody):
        return "" if body.guarantee == "holds" else body.guarantee or "unknown"
    return ""


def counts_marks(state: DataSetState) -> bool:
    """Say if a data set's state counts marks."""
    return state.facts.version >= _COUNTED


def marked(state: DataSetState, body: SettleBody | ImportBody) -> DataSetState:
    """The state with the mark of one more entry counted."""
    mark = mark_of(body)
    if not mark or not counts_marks(state):
        return state
    count = state.lacking.get(mark, 0) + 1
    return state.model_copy(update={"lacking": {**state.lacking, mark: count}})


def count_marks(state: DataSetState, entries: Iterable[Entry] = ()) -> dict[str, int]:
    """Number of fits of each mark, those that began and were not settled included.

    Parameters
    ----------
    state : DataSetState
    entries : iterable of Entry
        All of its entries; needed where the state does not count marks.
    """
    found: Counter[str] = Counter()
    found.update(state.lacking)
    if not counts_marks(state):
        found.update(mark for entry in entries if (mark := mark_of(entry.body)))
    held = state.reserves.values()
    found["unknown"] += sum(len(one.started) - len(one.settled) for one in held)
    return {mark: found[mark] for mark in NOT_GUARANTEED if found[mark]}


def marks_words(found: dict[str, int]) -> str:
    """Words for numbers of fits: ``2 void, 1 unknown``."""
    return ", ".join(f"{count} {mark}" for mark, count in found.items())
