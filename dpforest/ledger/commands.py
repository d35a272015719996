"""Commands of ``dpforest ledger``: each opens the ledger, asks one thing of it, and answers.

An answer is words for people, or with ``--json`` one object. Amounts in JSON are texts of whole
numbers of 2^-128 under ``units``, and figures for people, rounded to the safe side, beside them.

Held by tests/ledger/test_command_line.py.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpforest.accounting.figures import figure_charged, figure_up
from dpforest.accounting.rationals import parse_amount
from dpforest.checks import is_same_file
from dpforest.domain.domain import Domain
from dpforest.exceptions import BudgetExceeded, LedgerFrozen, ParameterError, printable
from dpforest.ledger.amounts import fraction_of
from dpforest.ledger.bodies import Kind
from dpforest.ledger.charges import charged, check_charge
from dpforest.ledger.entries import Entry
from dpforest.ledger.entry_summaries import behind_words, entry_summary
from dpforest.ledger.exporting import read_export
from dpforest.ledger.guarantee_marks import NOT_GUARANTEED, mark_of
from dpforest.ledger.imported_fits import imported_fit
from dpforest.ledger.ledger import BudgetLedger
from dpforest.ledger.opening import ledger_files, open_store
from dpforest.ledger.places import LOG_ENDINGS
from dpforest.ledger.plan_files import Charge
from dpforest.ledger.status import DataSetStatus, RequestStatus, ReserveStatus
from dpforest.ledger.words import several
from dpforest.signatures import Signer
from dpforest.standard_streams import print_notice
from dpforest.writing import check_new, new_place, write_text


@dataclass(frozen=True)
class Answer:
    """Result of a command: words for people, and data for programs.

    Attributes
    ----------
    words : str
    data : dict
    notice : str
        For people who watch: goes to standard error.
    """

    words: str
    data: dict[str, Any] = field(default_factory=dict)
    notice: str = ""


def run_command(chosen: argparse.Namespace) -> str:
    """Run a command of the ledger; return what goes to standard output.

    Parameters
    ----------
    chosen : argparse.Namespace
        Of :func:`dpforest.ledger.command_line.add_ledger_parser`.

    Raises
    ------
    DPForestError
        Whatever refuses it; nothing was written then.
    """
    _check_file(chosen)
    with _opened(chosen) as ledger:
        answer = _RUNS[chosen.action](ledger, chosen)
    if answer.notice:
        print_notice(answer.notice)
    return json.dumps(answer.data) if chosen.json else answer.words


def _check_file(chosen: argparse.Namespace) -> None:
    """Refuse a file that is the ledger's own or its key, or that would be written over unasked."""
    if "file" not in chosen:
        return
    own = [*([chosen.key] if chosen.key else []), *ledger_files(chosen.ledger)]
    if "force" in chosen:
        check_new(Path(chosen.file), chosen.force, "FILE", read=own)
    elif any(is_same_file(chosen.file, place) for place in own):
        raise ParameterError(
            "FILE", chosen.file, "is a file of the ledger's own, or its key", "Name another place"
        )


def _opened(chosen: argparse.Namespace) -> BudgetLedger:
    if not chosen.ledger:
        raise ParameterError(
            "--ledger", chosen.ledger, "must name a ledger",
            "Write --ledger sqlite:///claims.ledger, or set DPFOREST_LEDGER to it",
        )  # fmt: skip
    signer = Signer.read(chosen.key) if chosen.key else None
    actor = chosen.actor or login()
    if chosen.action != "import" or chosen.data_set:
        create = chosen.action == "init"
        incomplete = getattr(chosen, "incomplete", False)
        return BudgetLedger.open(
            chosen.ledger, actor=actor, signer=signer, create=create, incomplete=incomplete
        )
    # An export is read into a ledger of its own identity, which is made where there is none.
    identity = read_export(chosen.file).ledger
    return BudgetLedger(open_store(chosen.ledger, create=True, identity=identity), actor, signer)


def login() -> str:
    """Name of whoever runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        raise ParameterError(
            "--as", None, "must name who asks, since your login has no name",
            "Write --as NAME, or set DPFOREST_ACTOR",
        ) from None  # fmt: skip


# -- data sets ------------------------------------------------------------------------------------


def _init(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    data: dict[str, Any] = {"ledger": ledger.id, "url": ledger.url}
    words = f"ledger {ledger.id} at {printable(ledger.url)}"
    if chosen.data_set is None:
        return Answer(words, data)
    if chosen.domain is None:
        raise ParameterError(
            "--domain", None, "must be given where a data set is registered",
            "Write the domain's JSON file, as Domain.to_json writes it",
        )  # fmt: skip
    _check_cap(chosen)
    entry = ledger.register(
        chosen.data_set,
        domain=Domain.from_json(chosen.domain),
        epsilon=chosen.epsilon,
        delta=chosen.delta,
        rho=chosen.rho,
        currency=chosen.currency,
        unit=chosen.unit,
        max_records_per_unit=chosen.max_records_per_unit,
        max_blocks_per_unit=chosen.max_blocks_per_unit,
        owners=_owners(chosen.owner),
        approvals=chosen.approvals,
    )
    status = ledger.status(chosen.data_set)
    return Answer(f"{words}\n{status}", data | _written(entry) | {"status": _status_data(status)})


def _check_cap(chosen: argparse.Namespace) -> None:
    """Refuse a cap that lacks an amount, by the options that may be written."""
    if chosen.epsilon is None and chosen.rho is None:
        raise ParameterError(
            "--epsilon", None, "must be given, or --rho in its place",
            "Write the guarantee for its life, such as --epsilon 2 --delta 1e-6",
        )  # fmt: skip
    if chosen.delta is None and chosen.currency == "rho":
        raise ParameterError(
            "--delta", None, "must be given, since the data set counts rho",
            "Write --delta 1e-6, or --currency epsilon for a data set without a delta, in which "
            "no fit may have one",
        )  # fmt: skip


def _owners(given: Iterable[str]) -> dict[str, str] | None:
    pairs = (one.partition("=") for one in given)
    return {name: key for name, _, key in pairs} or None


def _names(ledger: BudgetLedger, chosen: argparse.Namespace) -> tuple[str, ...]:
    return ledger.data_sets if chosen.data_set is None else (chosen.data_set,)


def _status(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    found = [ledger.status(name) for name in _names(ledger, chosen)]
    words = "\n".join(_status_words(one) for one in found) or "no data set is registered"
    data = {"ledger": ledger.id, "data_sets": [_status_data(one) for one in found]}
    return Answer(words, data)


def _status_words(status: DataSetStatus) -> str:
    """Status in lines, with what waits for somebody."""
    currency = status.facts.currency
    requests = [
        f"  request {one.id} of {one.actor!r} ({_purpose(one)}): "
        f"{currency} {_up(one.units)}, {_approvals(len(one.approvals), status)}"
        for one in status.requests
    ]
    reserves = [
        f"  reserve {one.id} of {one.actor!r}: {_held(one, status)}, "
        f"{len(one.started)} of {several(len(one.plans), 'fit')} begun"
        for one in status.reserves
    ]
    head = f"  head: entry {status.number}, {status.hash}"
    return "\n".join([str(status), *requests, *reserves, head])


def _status_data(status: DataSetStatus) -> dict[str, Any]:
    return status.model_dump(mode="json") | {"figures": status.figures}


def _log(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    end = ledger.status(chosen.data_set).number + 1
    if chosen.last is not None and chosen.last < 1:
        raise ParameterError("--last", chosen.last, "must be 1 or more", "Leave it out for all")
    start = 0 if chosen.last is None else max(0, end - chosen.last)
    entries = ledger.log(chosen.data_set, start)
    data = {"data_set": chosen.data_set, "entries": [e.model_dump(mode="json") for e in entries]}
    return Answer("\n".join(map(_line, entries)), data)


def _line(entry: Entry) -> str:
    """One entry in a line."""
    body: Any = entry.body
    # What people name it by in commands: a reserve by its own ID, whatever request it used.
    about = entry.id
    if entry.kind is not Kind.RESERVE:
        about = getattr(body, "reserve", "") or getattr(body, "request", "") or entry.id
    mark = " signed" if entry.signature else ""
    time = f"{entry.time[:19]}Z{behind_words(entry)}"
    # In quotes: a name may be "olga signed".
    line = f"{entry.number:>5} {time} {entry.kind.value:<10} {entry.actor!r}{mark}"
    return f"{line} {about} {entry_summary(entry)}".rstrip()


# -- plans ----------------------------------------------------------------------------------------


def _plan(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    charge = Charge.from_json(chosen.plan)
    state = ledger.chain(chosen.data_set).state
    check_charge(state, charge)
    why = ""
    try:
        charged(state, ledger.actor, charge)
    except BudgetExceeded as refusal:
        why = str(refusal)
    data = {
        "data_set": chosen.data_set,
        "fits": len(charge.parts),
        "currency": state.facts.currency,
        "units": str(charge.units),
        "remaining": str(state.room(charge.blocks, ledger.actor)),
        "granted": not why,
        "alone": charge.alone,
        "approvals": state.approvals,
        "frozen": state.frozen,
        "plans": [part.plan for part in charge.parts],
    }
    verdict = f"it does not fit: {why}" if why else "it fits; nothing was charged"
    waits = [f"; needs {several(state.approvals, 'approval')}"] if state.approvals else []
    waits += [f"; waits, since the data set is frozen ({state.why_frozen})"] if state.frozen else []
    return Answer(f"{_price(charge, state.facts.currency)}; {verdict}{''.join(waits)}", data)


def _price(charge: Charge, currency: str) -> str:
    fits = several(len(charge.parts), "fit")
    if charge.alone:
        epsilon, delta = (figure_up(parse_amount(a)) for a in (charge.epsilon, charge.delta))
        return f"{fits}: by one certificate epsilon {epsilon} at delta {delta}, and the whole cap"
    return f"{fits}: {currency} {_up(charge.units)}"


def _request(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    entry = ledger.request(chosen.data_set, Charge.from_json(chosen.plan))
    # For a shell: whoever registers a data set may name it as he likes.
    name = shlex.quote(chosen.data_set)
    notice = f"owners approve of it with: dpforest ledger approve {name} {entry.id}"
    return Answer(entry.id, {"request": entry.id} | _written(entry), notice)


def _approve(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    entry = ledger.approve(chosen.data_set, chosen.request)
    status = ledger.status(chosen.data_set)
    found = next((one for one in status.requests if one.id == chosen.request), None)
    words = f"approved as entry {entry.number}"
    # It may be used up already.
    if found is not None:
        words += (
            f": {_purpose(found)}, {status.facts.currency} {_up(found.units)}, by "
            f"{found.actor!r}; {_approvals(len(found.approvals), status)}"
        )
    return Answer(words, _written(entry))


def _revoke(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    entry = ledger.revoke(chosen.data_set, chosen.request)
    return Answer(f"revoked as entry {entry.number}", _written(entry))


def _reserve(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    charge = Charge.from_json(chosen.plan)
    made = ledger.reserve(chosen.data_set, charge, request=chosen.request)
    data = {"reserve": made.id, "token": made.token} | _written(made.entry)
    notice = (
        f"its fit takes it up: ledger.accountant({chosen.data_set!r}, reserve={made.id!r})\n"
        f"to give it back before a fit has started: --token {made.token}"
    )
    return Answer(made.id, data, notice)


def _void(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    status = ledger.status(chosen.data_set)
    entry = ledger.void(chosen.data_set, chosen.reserve, token=chosen.token, reason=chosen.reason)
    found = next((one for one in status.reserves if one.id == chosen.reserve), None)
    words = f"given back as entry {entry.number}"
    if found is not None:
        words += f": {_held(found, status)}, reserved by {found.actor!r}"
    return Answer(words, _written(entry))


def _settle(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    entry = ledger.settle(
        chosen.data_set, chosen.reserve, chosen.part, chosen.outcome, guarantee=chosen.guarantee
    )
    words = f"settled as entry {entry.number}: {entry_summary(entry)}; all of it stays spent"
    return Answer(words, _written(entry))


# -- checking, recovering, copies -----------------------------------------------------------------


def _verify(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    names = None if chosen.data_set is None else (chosen.data_set,)
    found = ledger.verify(chosen.witness, names)
    data = {
        "ledger": found.ledger,
        "entries": found.entries,
        "signed": found.signed,
        "witnesses": [vars(one) for one in found.findings],
    }
    return Answer(str(found), data)


def _recover(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    found = ledger.recover(
        chosen.data_set, chosen.witness, write_off=chosen.write_off, reason=chosen.reason
    )
    if found.frozen:
        raise LedgerFrozen(
            found.words.rstrip("."), "What was given so far is charged", ledger.url, found.data_set
        )
    data = {
        "data_set": found.data_set,
        "restored": found.restored,
        "charged_again": [one.id for one in found.charged_again],
        "written_off": str(found.written_off),
    }
    return Answer(str(found), data)


def _export(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    text = ledger.export_json()
    write_text(Path(chosen.file), text, force=chosen.force, option="FILE")
    counts = {name: ledger.status(name).number + 1 for name in ledger.data_sets}
    return Answer(f"{printable(chosen.file)}: {_entries(counts)} written", {"entries": counts})


def _import(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    if chosen.data_set is None:
        added = ledger.import_json(chosen.file)
        return Answer(f"{_entries(added)} added", {"entries": added})
    facts = ledger.status(chosen.data_set).facts
    fit = imported_fit(chosen.file, facts)
    source = f"{fit.words} {chosen.reason}".strip()
    entry = ledger.charge_elsewhere(
        chosen.data_set, fit.units, source, witness=fit.digest, blocks=chosen.block,
        guarantee=fit.guarantee,
    )  # fmt: skip
    words = f"{facts.currency} {_up(fit.units)} was charged as entry {entry.number}"
    if mark := mark_of(entry.body):
        words += f"; {NOT_GUARANTEED[mark]}, so the cap does not speak of what it released"
    data = {"units": str(fit.units), "guarantee": fit.guarantee}
    return Answer(words, data | _written(entry))


def _backup(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    path = Path(chosen.file)
    _check_no_log(path)
    with new_place(path, force=chosen.force, option="FILE") as begun:
        ledger.backup(begun)
    return Answer(f"{printable(chosen.file)}: a whole copy", {"file": chosen.file})


def _check_no_log(path: Path) -> None:
    """Refuse a place with the log of another ledger, which SQLite would take for the copy's."""
    logs = [path.with_name(path.name + ending) for ending in LOG_ENDINGS]
    if any(os.path.lexists(log) for log in logs):
        raise ParameterError(
            "FILE", str(path), "has the log of a ledger beside it, which is in use or was cut off",
            "Name another place",
        )  # fmt: skip


def _page(ledger: BudgetLedger, chosen: argparse.Namespace) -> Answer:
    names = None if chosen.data_set is None else (chosen.data_set,)
    text = ledger.page(data_sets=names)
    write_text(Path(chosen.file), text, force=chosen.force, option="FILE")
    words = f"{printable(chosen.file)}: {len(text.encode())} bytes"
    return Answer(words, {"file": chosen.file})


# -- words ----------------------------------------------------------------------------------------


def _written(entry: Entry) -> dict[str, Any]:
    return {"entry": entry.number, "id": entry.id, "hash": entry.hash}


def _purpose(request: RequestStatus) -> str:
    """Words of whoever asks, in quotes: they may look like a price or an approval."""
    return repr(request.purpose) if request.purpose else "no purpose"


def _approvals(given: int, status: DataSetStatus) -> str:
    return f"{given} of {several(status.approvals, 'approval')}"


def _held(reserve: ReserveStatus, status: DataSetStatus) -> str:
    """Words for what a reserve counts as; a certified list is charged the cap, and has more rho."""
    whole = status.stands_alone and reserve.units == status.cap
    return "the whole cap" if whole else f"{status.facts.currency} {_up(reserve.units)}"


def _entries(counts: dict[str, int]) -> str:
    return several(sum(counts.values()), "entry was", "entries were")


def _up(units: int) -> str:
    return figure_charged(fraction_of(units))


_RUNS: dict[str, Callable[[BudgetLedger, argparse.Namespace], Answer]] = {
    "init": _init,
    "status": _status,
    "log": _log,
    "plan": _plan,
    "request": _request,
    "approve": _approve,
    "revoke": _revoke,
    "reserve": _reserve,
    "void": _void,
    "settle": _settle,
    "recover": _recover,
    "verify": _verify,
    "export": _export,
    "import": _import,
    "backup": _backup,
    "page": _page,
}
