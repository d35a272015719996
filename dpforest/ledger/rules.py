"""Rules of a data set: which entry may come next, and what state it leaves.

:func:`applied` is pure. It is asked before an entry is written, and a whole chain can be gone
through with it again. Whatever it refuses was not written, so nothing was charged.

The rules of charges, with their claim and its proof, are in :mod:`dpforest.ledger.charges`, those
of approvals in :mod:`dpforest.ledger.approvals`, and of who may write which entry in
:mod:`dpforest.ledger.actors`.

Held by tests/ledger/test_rules.py and tests/ledger/test_bad_input.py.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from dpforest.accounting.figures import figure_cap, figure_charged
from dpforest.display import short_list
from dpforest.exceptions import ParameterError
from dpforest.ledger.actors import check_actor, check_key, check_owner
from dpforest.ledger.amounts import fraction_of
from dpforest.ledger.approvals import (
    approved,
    request_used,
    requested,
    revoked,
    with_owners,
    with_request,
)
from dpforest.ledger.bodies import (
    BlockBody,
    CheckpointBody,
    ImportBody,
    Kind,
    NoteBody,
    OpenBody,
    PolicyBody,
    ReserveBody,
    SettleBody,
    StartBody,
    VoidBody,
)
from dpforest.ledger.charges import charged, check_charge, shifted
from dpforest.ledger.entries import Entry, damaged
from dpforest.ledger.guarantee_marks import marked
from dpforest.ledger.state import Block, DataSetState, OpenReserve, put


def applied(state: DataSetState | None, entry: Entry) -> DataSetState:
    """The state after one more entry.

    Parameters
    ----------
    state : DataSetState or None
        Before it; None before the first.
    entry : Entry
        Its hash and its digest of the state are not looked at.

    Raises
    ------
    BudgetExceeded, ApprovalMissing, LedgerFrozen, ParameterError
        If the rules refuse it.
    """
    if isinstance(entry.body, OpenBody):
        if state is not None:
            raise ParameterError(
                "data_set", entry.data_set, "is registered already",
                "Use it as it is, or choose another name for another table",
            )  # fmt: skip
        return _opened(entry, entry.body)
    if state is None:
        raise damaged("its first entry does not open it", data_set=entry.data_set)
    check_actor(state, entry)
    after = _RULES[entry.kind](state, entry, entry.body)
    return after.model_copy(update={"number": entry.number, "time": entry.time})


# -- opening ---------------------------------------------------------------------------


def _opened(entry: Entry, body: OpenBody) -> DataSetState:
    if body.cap <= 0:
        raise ParameterError(
            "cap", _cap_figure(body.cap), "comes to nothing in the currency of the data set",
            "Give a larger epsilon, or a larger delta",
        )  # fmt: skip
    _check_approvals(body.approvals, body.owners)
    state = DataSetState(
        name=entry.data_set,
        facts=body,
        number=entry.number,
        time=entry.time,
        cap=body.cap,
        owners=body.owners,
        approvals=body.approvals,
    )
    check_key(state, entry)
    return state


def _check_approvals(approvals: int, owners: dict[str, str]) -> None:
    if approvals > len(owners) - 1 and approvals:
        raise ParameterError(
            "approvals", approvals,
            "must be less than the number of owners, since nobody approves of what he asks for",
            "Ask for fewer approvals, or name more owners",
        )  # fmt: skip


# -- policy and blocks -----------------------------------------------------------------


def _policy(state: DataSetState, entry: Entry, body: PolicyBody) -> DataSetState:
    owners = _owners_after(state, body)
    _check_keys_after(state, entry, owners)
    approvals = state.approvals if body.approvals is None else body.approvals
    _check_approvals(approvals, owners)
    changed: dict[str, Any] = {"approvals": approvals}
    if body.cap is not None:
        _check_cap("cap", body.cap, state.cap, state.total)
        changed["cap"] = body.cap
    changed["blocks"] = {**state.blocks, **_blocks_after(state, body)}
    quotas = {**state.quotas, **body.quotas}
    changed["quotas"] = {name: most for name, most in quotas.items() if most is not None}
    return with_owners(state, owners).model_copy(update=changed)


def _owners_after(state: DataSetState, body: PolicyBody) -> dict[str, str]:
    for name in body.remove_owners:
        if name not in state.owners:
            raise ParameterError(
                "remove_owners", name, f"is no owner of data set {state.name!r}", "Leave it out"
            )
    kept = {n: key for n, key in state.owners.items() if n not in body.remove_owners}
    owners = {**kept, **body.add_owners}
    if not owners:
        raise ParameterError(
            "remove_owners", body.remove_owners, "would leave the data set without an owner",
            "Add another owner first",
        )  # fmt: skip
    return owners


def _check_keys_after(state: DataSetState, entry: Entry, owners: dict[str, str]) -> None:
    """Once an owner has a key, keys are given, replaced and dropped by owners who sign.

    Else a key would protect nobody: whoever writes in the name of an owner without one would give
    a key to an owner of his own making, who then replaces all others.
    """
    if state.owners[entry.actor] or not any(state.owners.values()):
        return
    for name in (*state.owners, *owners):
        key = state.owners.get(name, "")
        if key != owners.get(name, ""):
            who = f"{entry.actor!r}, who has none,"
            raise ParameterError(
                "remove_owners" if name not in owners else "add_owners", name,
                f"has a key, and {who} can neither replace nor drop it" if key
                else f"cannot be given a key by an owner who has none ({entry.actor!r})",
                "Let an owner do so who signs with a key that the data set knows",
            )  # fmt: skip


def _blocks_after(state: DataSetState, body: PolicyBody) -> dict[str, Block]:
    after = {}
    for name, cap in body.block_caps.items():
        block = _known_block(state, "block_caps", name)
        _check_cap(f"block_caps[{name!r}]", cap, block.cap, state.spent + block.spent)
        after[name] = block.model_copy(update={"cap": cap})
    return after


def _known_block(state: DataSetState, parameter: str, name: str) -> Block:
    if name not in state.blocks:
        raise ParameterError(
            parameter, name, f"is no block of data set {state.name!r}", "Add the block first"
        )
    return state.blocks[name]


def _check_cap(parameter: str, cap: int, present: int, spent: int) -> None:
    if cap > present:
        raise ParameterError(
            parameter, _cap_figure(cap),
            f"must not be above the present cap, {_cap_figure(present)}",
            "A cap can only be lowered",
        )  # fmt: skip
    if cap < spent:
        raise ParameterError(
            parameter, _cap_figure(cap),
            f"must not be below what is spent, {figure_charged(fraction_of(spent))}",
            "What is spent stays spent: give a cap that holds it",
        )  # fmt: skip


def _cap_figure(cap: int) -> str:
    """A cap as it was declared, in the currency of the data set."""
    return figure_cap(fraction_of(cap))


def _block(state: DataSetState, entry: Entry, body: BlockBody) -> DataSetState:
    if body.name in state.blocks:
        raise ParameterError("name", body.name, "is a block already", "Choose another name")
    if state.blocks_by and state.blocks_by != body.by:
        raise ParameterError(
            "by", body.by, f"must be {state.blocks_by!r}, as of the blocks before it",
            "Let one rule say which records are in which block",
        )  # fmt: skip
    if body.by == "arrival" and not state.facts.max_blocks_per_unit:
        raise ParameterError(
            "by", body.by,
            "needs max_blocks_per_unit: a unit may come again in a later block",
            "Register the data set with the most blocks that a unit's records are in",
        )  # fmt: skip
    if body.cap <= 0:
        raise ParameterError(
            "cap", _cap_figure(body.cap), "must be positive", "Give the block a budget"
        )
    blocks = {**state.blocks, body.name: Block(cap=body.cap)}
    return state.model_copy(update={"blocks": blocks, "blocks_by": body.by})


# -- reserves --------------------------------------------------------------------------


def _reserve(state: DataSetState, entry: Entry, body: ReserveBody) -> DataSetState:
    charge = body.charge
    check_charge(state, charge)
    pending = request_used(state, entry.actor, body)
    after, amount = charged(state, entry.actor, charge)
    held = OpenReserve(
        actor=entry.actor,
        token=body.token,
        charged=amount,
        blocks=charge.blocks,
        plans=tuple(part.plan for part in charge.parts),
        request=body.request,
        pending=pending,
    )
    if pending is not None:
        after = with_request(after, body.request, None)
    alone = entry.id if charge.alone else state.alone
    return _with_reserve(after, entry.id, held).model_copy(update={"alone": alone})


def _with_reserve(state: DataSetState, name: str, held: OpenReserve | None) -> DataSetState:
    return state.model_copy(update={"reserves": put(state.reserves, name, held)})


def _held(state: DataSetState, reserve: str) -> OpenReserve:
    if reserve not in state.reserves:
        raise ParameterError(
            "reserve", reserve,
            f"is no reserve of data set {state.name!r} that is held: it was given back, settled or "
            "never made",
            "Name one that `dpforest ledger status` shows, or ledger.status(data_set).reserves",
        )  # fmt: skip
    return state.reserves[reserve]


def _check_part(held: OpenReserve, part: int) -> None:
    if part >= len(held.plans):
        raise ParameterError(
            "part", part, f"must be below {len(held.plans)}, the number of fits of the reserve",
            "Begin each fit that was reserved once",
        )  # fmt: skip


def _start(state: DataSetState, entry: Entry, body: StartBody) -> DataSetState:
    held = _held(state, body.reserve)
    _check_part(held, body.part)
    if entry.actor != held.actor:
        raise ParameterError(
            "actor", entry.actor, f"did not reserve this: {held.actor!r} did",
            "Reserve budget of your own",
        )  # fmt: skip
    if body.part in held.started:
        raise ParameterError(
            "part", body.part, "has begun before, and a reserve pays for each fit once",
            "Reserve budget for another fit",
        )  # fmt: skip
    # A reserve that began is never voided, so its secret and its request have no use any more.
    begun = {"started": tuple(sorted((*held.started, body.part))), "request": "", "pending": None}
    return _with_reserve(state, body.reserve, held.model_copy(update=begun))


def _settle(state: DataSetState, entry: Entry, body: SettleBody) -> DataSetState:
    held = _held(state, body.reserve)
    _check_part(held, body.part)
    if entry.actor != held.actor:
        check_owner(state, entry.actor)
    if body.part not in held.started or body.part in held.settled:
        done = "was settled before" if body.part in held.settled else "has not begun"
        raise ParameterError("part", body.part, done, "Settle each fit once, after its start")
    settled = tuple(sorted((*held.settled, body.part)))
    whole = len(settled) == len(held.plans)
    left = None if whole else held.model_copy(update={"settled": settled})
    return _with_reserve(marked(state, body), body.reserve, left)


def _void(state: DataSetState, entry: Entry, body: VoidBody) -> DataSetState:
    held = _held(state, body.reserve)
    if held.started:
        raise ParameterError(
            "reserve", body.reserve,
            "has a fit that has begun, and what has begun never comes back",
            "Leave it: all of it stays spent",
        )  # fmt: skip
    _check_voider(state, entry, body, held)
    after = _with_reserve(
        shifted(state, held.actor, -held.charged, held.blocks), body.reserve, None
    )
    if held.pending is not None:
        # It was approved of, and nothing came of it.
        after = with_request(after, held.request, held.pending)
    return after.model_copy(update={"alone": "" if state.alone == body.reserve else state.alone})


def _check_voider(state: DataSetState, entry: Entry, body: VoidBody, held: OpenReserve) -> None:
    """Refuse who has neither the token, nor is an owner with a reason."""
    if body.token:
        if not hmac.compare_digest(token_digest(body.token), held.token):
            raise ParameterError(
                "token", None, "is not the token that was handed out with this reserve",
                "Give the token of this very reserve, or none: then an owner gives it back with a "
                "reason",
            )  # fmt: skip
        return
    if entry.actor not in state.owners:
        names = short_list([*map(repr, state.owners)])
        raise ParameterError(
            "actor", entry.actor,
            f"gives no token of this reserve, and is no owner of data set {state.name!r}",
            f"Give the token that was handed out with it, or ask an owner ({names})",
        )  # fmt: skip
    if not body.reason:
        raise ParameterError(
            "reason", body.reason,
            "must be given where an owner gives a reserve back without its token",
            "Say why none of its fits will begin",
        )  # fmt: skip


def token_digest(token: str) -> str:
    """Digest of the secret of a process, which its reserve holds."""
    return hashlib.sha256(bytes.fromhex(token)).hexdigest()


# -- others ----------------------------------------------------------------------------


def _import(state: DataSetState, entry: Entry, body: ImportBody) -> DataSetState:
    if not body.units or not body.source:
        name = "source" if body.units else "units"
        raise ParameterError(
            name, getattr(body, name), "must be given", "Say what was spent, and where"
        )
    if body.witness and body.witness in state.imported:
        raise ParameterError(
            "witness", body.witness, "was imported before", "Import each entry once"
        )
    for name in body.blocks:
        _known_block(state, "blocks", name)
    # Beyond the cap too: it was spent, whatever the cap is.
    after = shifted(marked(state, body), entry.actor, body.units, body.blocks)
    seen = (*state.imported, body.witness) if body.witness else state.imported
    return after.model_copy(update={"imported": seen, "used": state.used})


def _checkpoint(state: DataSetState, entry: Entry, body: CheckpointBody) -> DataSetState:
    if not body.reason:
        raise ParameterError("reason", body.reason, "must be given", "Say why")
    if not body.frozen and not state.frozen:
        raise ParameterError("frozen", False, "is so already", "Nothing is to be done")
    why = body.reason if body.frozen else ""
    return state.model_copy(update={"frozen": body.frozen, "why_frozen": why})


def _note(state: DataSetState, entry: Entry, body: NoteBody) -> DataSetState:
    if not body.text:
        raise ParameterError("text", body.text, "must be some words", "Write the note")
    return state


_RULES: dict[Kind, Callable[[DataSetState, Entry, Any], DataSetState]] = {
    Kind.POLICY: _policy,
    Kind.BLOCK: _block,
    Kind.REQUEST: requested,
    Kind.APPROVE: approved,
    Kind.REVOKE: revoked,
    Kind.RESERVE: _reserve,
    Kind.START: _start,
    Kind.SETTLE: _settle,
    Kind.VOID: _void,
    Kind.IMPORT: _import,
    Kind.CHECKPOINT: _checkpoint,
    Kind.NOTE: _note,
}
