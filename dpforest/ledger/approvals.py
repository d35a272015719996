"""Requests, and the owners who approve of them: of one plan, price and purpose each.

An approval is of an owner as that owner was known when it was given. It ends when the owner's key
is given, replaced or dropped, or the owner leaves: whoever wrote it may have been somebody else.

Held by tests/ledger/test_rules.py.
"""

from __future__ import annotations

from dpforest.exceptions import ApprovalMissing, ParameterError
from dpforest.ledger.actors import check_owner
from dpforest.ledger.bodies import ApproveBody, RequestBody, ReserveBody, RevokeBody
from dpforest.ledger.charges import check_charge
from dpforest.ledger.entries import Entry
from dpforest.ledger.plan_files import Charge
from dpforest.ledger.state import DataSetState, Pending, put
from dpforest.ledger.words import BY_THE_SAME, several
from dpforest.report.digests import digest_of

#: Requests that may be open at a time; the state holds them all.
MOST_REQUESTS = 1000
#: Version of data sets from which on approvals end with what their owners were known by.
_ENDING = 3

_ASK = "Make a request of this very plan, and let owners other than yourself approve of it"
_AS_ASKED = (
    f"Reserve the very fits that were asked for, with the same settings{BY_THE_SAME}; or make a "
    "request of this plan, and let owners other than yourself approve of it"
)


def approved_content(charge: Charge) -> Charge:
    """A charge as it is approved of: without its list of releases, which follows from the plans."""
    return charge.model_copy(update={"releases": ()})


def charge_digest(charge: Charge) -> str:
    """Digest by which owners approve of a charge."""
    return digest_of(approved_content(charge).model_dump(mode="json"))


def requested(state: DataSetState, entry: Entry, body: RequestBody) -> DataSetState:
    """The state with one more open request.

    Raises
    ------
    BudgetExceeded, ParameterError
        If its charge is none of this data set, or too many are open.
    """
    check_charge(state, body.charge)
    if len(state.requests) >= MOST_REQUESTS:
        raise ParameterError(
            "request", entry.id, f"would be one of more than {MOST_REQUESTS} that are open",
            "Let some be revoked by those who made them, or by an owner",
        )  # fmt: skip
    pending = Pending(actor=entry.actor, charge=approved_content(body.charge))
    return with_request(state, entry.id, pending)


def with_request(state: DataSetState, name: str, pending: Pending | None) -> DataSetState:
    """The state with an open request of that name, or without it."""
    return state.model_copy(update={"requests": put(state.requests, name, pending)})


def _pending(state: DataSetState, request: str) -> Pending:
    if request not in state.requests:
        raise ParameterError(
            "request", request, f"is no open request of data set {state.name!r}",
            "It was used up, revoked or never made: make a request, and use the id it returns",
        )  # fmt: skip
    return state.requests[request]


def approved(state: DataSetState, entry: Entry, body: ApproveBody) -> DataSetState:
    """The state with one more approval of a request.

    Raises
    ------
    ParameterError
        If the actor made the request or has approved of it, or it is of another charge.
    """
    pending = _pending(state, body.request)
    if pending.actor == entry.actor:
        raise ParameterError(
            "actor", entry.actor, "made this request, and nobody approves of his own",
            "Ask another owner",
        )  # fmt: skip
    if entry.actor in pending.approvals:
        raise ParameterError(
            "request", body.request, f"was approved by {entry.actor!r} before", "Ask another owner"
        )
    if body.charge != charge_digest(pending.charge):
        raise ParameterError(
            "charge", body.charge, "is the digest of another plan or price than the request's",
            "Look at the request, and approve of the digest that it has",
        )  # fmt: skip
    approvals = (*pending.approvals, entry.actor)
    return with_request(state, body.request, pending.model_copy(update={"approvals": approvals}))


def revoked(state: DataSetState, entry: Entry, body: RevokeBody) -> DataSetState:
    """The state without the actor's approval, or without the request.

    Raises
    ------
    ParameterError
        If the actor neither made the request, nor approved of it, nor is an owner.
    """
    pending = _pending(state, body.request)
    if entry.actor == pending.actor:
        return with_request(state, body.request, None)
    if entry.actor not in pending.approvals:
        # So that nobody's requests keep out those of all others.
        check_owner(state, entry.actor)
        return with_request(state, body.request, None)
    left = tuple(name for name in pending.approvals if name != entry.actor)
    return with_request(state, body.request, pending.model_copy(update={"approvals": left}))


def with_owners(state: DataSetState, owners: dict[str, str]) -> DataSetState:
    """The state with these owners and their keys, without approvals of who is not the same.

    Requests that an open reserve used up lose them too, since they come back if it is voided. Data
    sets of before keep all approvals, as the digests in their entries say.
    """
    same = {name for name, key in state.owners.items() if owners.get(name) == key}
    after = state.model_copy(update={"owners": owners})
    if state.facts.version < _ENDING or len(same) == len(state.owners):
        return after
    requests = {name: _approved_by(same, one) for name, one in state.requests.items()}
    reserves = {
        name: held.model_copy(update={"pending": _approved_by(same, held.pending)})
        if held.pending is not None
        else held
        for name, held in state.reserves.items()
    }
    return after.model_copy(update={"requests": requests, "reserves": reserves})


def _approved_by(same: set[str], pending: Pending) -> Pending:
    """A request with the approvals of these owners alone."""
    kept = tuple(name for name in pending.approvals if name in same)
    return pending.model_copy(update={"approvals": kept})


def request_used(state: DataSetState, actor: str, body: ReserveBody) -> Pending | None:
    """The request that a reserve uses up, if it needs or names one.

    Raises
    ------
    ApprovalMissing, ParameterError
        If it needs one and names none, or one of another plan or actor, or with few approvals.
    """
    if not body.request and not state.approvals:
        return None
    if not body.request:
        raise _missing(state, f"a fit needs the approval of {state.approvals} of its owners")
    pending = _pending(state, body.request)
    asked = approved_content(body.charge)
    fields = [n for n in Charge.model_fields if getattr(asked, n) != getattr(pending.charge, n)]
    if fields:
        rule = f"request {body.request} is of another plan: {', '.join(fields)}"
        raise _missing(state, rule, _AS_ASKED if "parts" in fields else _ASK)
    if actor != pending.actor:
        raise _missing(state, f"request {body.request} was made by {pending.actor!r}")
    # Whoever is no owner any more approves of nothing.
    given = [n for n in pending.approvals if n in state.owners]
    if len(given) < state.approvals:
        more = state.approvals - len(given)
        raise _missing(
            state,
            f"request {body.request} has {len(given)} of {several(state.approvals, 'approval')}",
            f"Wait until {several(more, 'more owner approves', 'more owners approve')} of it",
        )  # fmt: skip
    return pending


def _missing(state: DataSetState, rule: str, repair: str = _ASK) -> ApprovalMissing:
    return ApprovalMissing(rule, repair, state.facts.ledger, state.name)
