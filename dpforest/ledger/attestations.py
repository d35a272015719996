"""Attestations of people: what privacy reports and exports say of a ledger's chain.

A report says where its fit stands in the ledger, and what was spent on the data set by then. An
export holds whole chains. Both are read here as places of a chain, with the hash that stood there.

Held by tests/ledger/test_recovery.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any

from dpforest.accounting.rationals import parse_finite
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.ledger.amounts import to_units
from dpforest.ledger.bodies import ImportMark, ReserveBody, SettleBody, StartBody
from dpforest.ledger.chain import Chain
from dpforest.ledger.entries import Entry
from dpforest.ledger.exporting import FORMAT, LIMITS, Export, export_of
from dpforest.ledger.fields import is_id, is_name
from dpforest.ledger.guarantee_marks import all_marked, import_mark, mark_of
from dpforest.ledger.plan_files import Charge
from dpforest.report.carried import report_text
from dpforest.report.digests import digest_of
from dpforest.signatures import is_hex, verifier
from dpforest.strict_json import name_of, parse_object

_REPAIR = "Give a privacy report of a fit that was charged to a ledger (JSON or page), or an export"
_CHANGED = (
    "its digest belongs to another text, so somebody changed it, or a program that formatted the "
    "file anew wrote its numbers otherwise, such as jq (1 for 1.0): ask for the file as it was "
    "written"
)


@dataclass(frozen=True)
class Spend:
    """Budget of one reserve (or import), as somebody bears witness of it.

    Attributes
    ----------
    id : str
        The reserve's.
    units : int
        What it counts as.
    blocks : tuple of str
    number : int
        Place of the entry that bears witness of it.
    hash : str
        Of that entry.
    guarantee : {"", "holds", "demonstration", "void"}
        Status of the guarantee of all that was made of it; empty where that is not known.
    """

    id: str
    units: int
    blocks: tuple[str, ...]
    number: int
    hash: str
    guarantee: ImportMark = ""


@dataclass(frozen=True)
class Attestation:
    """Everything that one report, or one chain of an export, says of a data set.

    Attributes
    ----------
    source : str
        The file, or what it is, for people.
    ledger, data_set : str
    hashes : dict of int to str
        Hash of each entry that it speaks of, by number.
    spends : tuple of Spend
    total : int
        What a unit was charged by the last of these entries, in units of the currency.
    starts : dict of int to str
        Reserve of which a fit began, for each of these entries that is such a start.
    whole : Chain or None
        The chain of an export.
    """

    source: str
    ledger: str
    data_set: str
    hashes: dict[int, str]
    spends: tuple[Spend, ...]
    total: int
    starts: dict[int, str]
    whole: Chain | None = None

    @property
    def last(self) -> int:
        """Number of the last entry that it speaks of."""
        return max(self.hashes)


def read_attestations(witnesses: Iterable[Any]) -> list[Attestation]:
    """The attestations of reports and exports.

    Parameters
    ----------
    witnesses : iterable of PrivacyReport, str or path
        Reports, texts of reports (JSON or page) or exports, or paths of such files.

    Raises
    ------
    ParameterTypeError
        If they are nothing that one could go through.
    ParameterError
        If one is neither, or is not as it was written, or says nothing of a ledger.
    """
    if isinstance(witnesses, (str, PathLike)) or hasattr(witnesses, "to_json"):
        witnesses = [witnesses]
    if not isinstance(witnesses, Iterable):
        raise ParameterTypeError(
            "witnesses", witnesses, "must be reports, exports or their files", _REPAIR
        )
    return [one for given in witnesses for one in _read(given)]


def _read(given: Any) -> list[Attestation]:
    text = given.to_json() if hasattr(given, "to_json") else given
    source = _source(given)

    def refuse(rule: str) -> ParameterError:
        return ParameterError("witnesses", source, f"cannot be read: {rule}", _REPAIR)

    data = parse_object(report_text(text, refuse, LIMITS), refuse, LIMITS)
    if data.get("format") == FORMAT:
        export = export_of(data)
        if not export.chains:
            raise refuse("it is an export without a data set")
        return _of_export(export, source)
    if data.get("format") != "dpforest-report":
        raise refuse("it is neither a privacy report nor an export of a ledger")
    if data.pop("digest", None) != digest_of(data):
        raise refuse(_CHANGED)
    return [_of_report(data, source, refuse)]


def _source(given: Any) -> str:
    """Name of a witness for people."""
    return "a report" if hasattr(given, "to_json") else name_of(given)


# -- reports --------------------------------------------------------------------------------------


def _of_report(data: dict[str, Any], source: str, refuse: Any) -> Attestation:
    basis = data.get("basis")
    place = basis.get("ledger") if isinstance(basis, dict) else None
    if place is None:
        raise refuse("its fit was charged to no ledger")
    try:
        found = _of_place(place, source, _mark_of(data))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise refuse("what it says of a ledger is not what a report says") from None
    _check_signature(place, refuse)
    return found


def _mark_of(data: dict[str, Any]) -> ImportMark:
    """Status of the guarantee that a report names; empty where it names none that is known."""
    guarantee = data.get("guarantee")
    try:
        return import_mark(guarantee.get("status")) if isinstance(guarantee, dict) else ""
    except ParameterError:
        return ""


def _of_place(place: dict[str, Any], source: str, mark: ImportMark) -> Attestation:
    number, digest = place["number"], place["hash"]
    if type(number) is not int or number < 1 or not is_hex(digest, 32):
        raise ValueError
    charged, total = (_units(place[name]) for name in ("charged", "in_all"))
    parts = place["parts"]
    ledger, name, reserve = place["ledger"], place["data_set"], place["reserve"]
    blocks = tuple(place["blocks"])
    if not 0 < charged <= total or type(parts) is not int:
        raise ValueError
    if not (is_id(ledger) and is_id(reserve) and all(map(is_name, (name, *blocks)))):
        raise ValueError
    # A report speaks of its own fit alone, and a campaign has others.
    spend = Spend(reserve, charged, blocks, number, digest, all_marked([mark], parts))
    starts = {number: reserve} if place["entry"] == "start" else {}
    return Attestation(source, ledger, name, {number: digest}, (spend,), total, starts)


def _units(amount: Any) -> int:
    return to_units(Fraction(parse_finite(amount)))


def _check_signature(place: dict[str, Any], refuse: Any) -> None:
    key, signature = place["key"], place["signature"]
    if not key and not signature:
        return
    if not (is_hex(key, 32) and is_hex(signature, 64)):
        raise refuse("its signature is none")
    if not verifier()(key, place["hash"], signature):
        raise refuse("its entry is not signed with the key that it names")


# -- exports --------------------------------------------------------------------------------------


def _of_export(export: Export, source: str) -> list[Attestation]:
    return [
        Attestation(
            source=source,
            ledger=export.ledger,
            data_set=name,
            hashes={entry.number: entry.hash for entry in chain.entries},
            spends=tuple(_marked(chain)),
            total=chain.state.total,
            starts=starts_of(chain.entries),
            whole=chain,
        )
        for name, chain in export.chains.items()
    ]


def _marked(chain: Chain) -> Iterator[Spend]:
    """Everything that counts in a chain, with what its settlements say of their guarantees."""
    marks: dict[str, list[ImportMark]] = {}
    parts: dict[str, int] = {}
    for entry in chain.entries:
        if isinstance(body := entry.body, ReserveBody):
            parts[entry.id] = len(body.charge.parts)
        elif isinstance(body, SettleBody):
            marks.setdefault(body.reserve, []).append(_as_import(body))
    for spend in spends_of(chain.entries, chain.state.facts.cap):
        if spend.id in parts:
            mark = all_marked(marks.get(spend.id, []), parts[spend.id])
            spend = replace(spend, guarantee=mark)
        yield spend


def _as_import(body: SettleBody) -> ImportMark:
    """Mark of a settlement, as an import of it bears it."""
    mark = mark_of(body)
    return "" if mark == "unknown" else mark or "holds"


def spends_of(entries: Iterable[Entry], cap: int) -> Iterable[Spend]:
    """Everything that counts in some entries: reserves that were not voided, and imports.

    Parameters
    ----------
    entries : iterable of Entry
        Of one chain, in order.
    cap : int
        What a certificate that stands alone uses up.
    """
    found: dict[str, Spend] = {}
    for entry in entries:
        body: Any = entry.body
        if entry.kind == "reserve":
            found[entry.id] = spend_of(entry, cap)
        elif entry.kind == "import":
            place = entry.number, entry.hash
            found[entry.id] = Spend(entry.id, body.units, body.blocks, *place, body.guarantee)
        elif entry.kind == "void":
            found.pop(body.reserve, None)
    return found.values()


def starts_of(entries: Iterable[Entry]) -> dict[int, str]:
    """Reserves of which a fit began, by the number of its ``start``."""
    return {e.number: e.body.reserve for e in entries if isinstance(e.body, StartBody)}


def spend_of(entry: Entry, cap: int) -> Spend:
    """Budget of a ``reserve`` entry."""
    charge: Charge = entry.body.charge  # type: ignore[union-attr, assignment]
    units = cap if charge.alone else charge.units
    return Spend(entry.id, units, charge.blocks, entry.number, entry.hash)
