"""Summaries of entries for people, in a few words: what changed, for how much, and how a fit ended.

Held by tests/ledger/test_entry_summaries.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dpforest.accounting.figures import figure_cap, figure_charged, figure_up
from dpforest.accounting.rationals import parse_amount
from dpforest.ledger.amounts import fraction_of
from dpforest.ledger.bodies import (
    BlockBody,
    CheckpointBody,
    ImportBody,
    Kind,
    OpenBody,
    PolicyBody,
    RequestBody,
    ReserveBody,
    SettleBody,
)
from dpforest.ledger.entries import Entry
from dpforest.ledger.guarantee_marks import NOT_GUARANTEED


def entry_summary(entry: Entry) -> str:
    """Words for what an entry says, apart from its kind, its time and whoever wrote it.

    Parameters
    ----------
    entry : Entry
    """
    return _WORDS[entry.kind](entry.body).strip()


def behind_words(entry: Entry) -> str:
    """Words that stand behind the time of an entry that bears the one's before it."""
    return " (clock behind)" if entry.clock_behind else ""


def policy_summary(body: PolicyBody) -> str:
    """Words for what a policy changes, without its reason."""
    return "; ".join(_changes(body)) or "nothing changed"


def _changes(body: PolicyBody) -> Iterator[str]:
    if body.cap is not None:
        yield f"cap {_cap(body.cap)}"
    for name, cap in body.block_caps.items():
        yield f"cap of block {name!r} {_cap(cap)}"
    for name, most in body.quotas.items():
        yield f"no quota of {name!r}" if most is None else f"quota of {name!r} {_cap(most)}"
    if body.approvals is not None:
        yield f"approvals that a fit needs: {body.approvals}"
    for name, key in body.add_owners.items():
        yield f"owner {name!r} {f'with key {key[:12]}…' if key else 'without a key'}"
    for name in body.remove_owners:
        yield f"{name!r} is no owner"


def outcome_summary(body: SettleBody) -> str:
    """Words for how a fit ended."""
    return body.outcome + _mark(body.guarantee)


def _mark(guarantee: str) -> str:
    """Words for a guarantee that lacks something; none where nobody said so."""
    return f" ({NOT_GUARANTEED[guarantee]})" if guarantee in NOT_GUARANTEED else ""


def checkpoint_summary(body: CheckpointBody) -> str:
    """Words for what a checkpoint does."""
    return "frozen" if body.frozen else "goes on"


def _with_reason(words: str, reason: str) -> str:
    return f"{words}: {reason}" if reason else words


def _cap(units: int) -> str:
    return figure_cap(fraction_of(units))


def _charged(body: RequestBody | ReserveBody) -> str:
    return f"{figure_charged(fraction_of(body.charge.units))} {body.charge.purpose}"


def _opened(body: OpenBody) -> str:
    epsilon, delta = (figure_up(parse_amount(a)) for a in (body.epsilon, body.delta))
    return f"cap {_cap(body.cap)} {body.currency} (epsilon {epsilon}, delta {delta}), {body.unit}"


def _block(body: BlockBody) -> str:
    return f"{body.name} by {body.by}, cap {_cap(body.cap)}"


def _import(body: ImportBody) -> str:
    kind = "written off: " if body.write_off else ""
    return f"{figure_charged(fraction_of(body.units))} {kind}{body.source}{_mark(body.guarantee)}"


def _none(body: Any) -> str:
    return ""


def _reason(body: Any) -> str:
    return str(body.reason)


_WORDS: dict[Kind, Callable[[Any], str]] = {
    Kind.OPEN: _opened,
    Kind.POLICY: lambda body: _with_reason(policy_summary(body), body.reason),
    Kind.BLOCK: _block,
    Kind.REQUEST: _charged,
    Kind.APPROVE: _none,
    Kind.REVOKE: _reason,
    Kind.RESERVE: _charged,
    Kind.START: _none,
    Kind.SETTLE: outcome_summary,
    Kind.VOID: _reason,
    Kind.IMPORT: _import,
    Kind.CHECKPOINT: lambda body: _with_reason(checkpoint_summary(body), body.reason),
    Kind.NOTE: lambda body: str(body.text),
}
