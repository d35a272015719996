"""The budget of a report as strips and bars: by part of the fit, by stage, by level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import LossRecord
from dpforest.accounting.losses import Amount
from dpforest.accounting.units import group_loss
from dpforest.report.branches import Figure
from dpforest.report.record import ReportRecord, SpendingRow

#: Bars in one table, and segments in one strip; what is beyond them is one more.
_BARS, _SEGMENTS = 40, 120
_WIDTH = 960.0
#: A letter of a label, in the strip's units.
_LETTER = 8.2


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a table of shares."""

    name: str
    requests: int
    amount: Figure
    share: float


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a strip."""

    x: float
    width: float
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class View:
    """The budget divided in one way.

    Attributes
    ----------
    title : str
    head : str
        Of the column of names.
    bars : tuple of Bar
    segments : tuple of Segment
    note : str
        How the pieces relate to the total.
    """

    title: str
    head: str
    bars: tuple[Bar, ...]
    segments: tuple[Segment, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The budget in the currency in which it adds up."""

    currency: str
    total: Figure
    views: tuple[View, ...]
    width: float = _WIDTH


def picture_of(report: ReportRecord) -> Picture | None:
    """The picture; None where nothing was spent, or where nothing of it is finite."""
    total = report.composition.composed.loss
    # Releases that are composed as a whole have no epsilon each; their rho adds up.
    certified = any(scope.certificate is not None for scope in report.composition.walk())
    by_rho = certified or total.epsilon == math.inf
    currency, amount = ("ρ", total.rho) if by_rho else ("ε", total.epsilon)
    if amount in (0, math.inf):
        return None

    size = report.composition.records_per_unit

    def part(record: LossRecord) -> Amount:
        loss = group_loss(record.loss, size)
        return loss.epsilon if currency == "ε" else loss.rho

    added = (_added(report, part, group, amount) for group in ("role", "level"))
    views = (_parts(report, part), *added)
    kept = tuple(view for view in views if view is not None)
    return Picture(currency, Figure.of(amount), kept)


_Part = Callable[[LossRecord], Amount]


def _parts(report: ReportRecord, part: _Part) -> View | None:
    """By tree, or by stage where the fit has no trees of its own scopes."""
    trees = [row for row in report.spending if row.group == "tree"]
    rows = trees or [row for row in report.spending if row.group == "stage"]
    own = {child.label: child for child in report.composition.children if child.certificate}
    pieces = [
        # Composed as a whole for a privacy unit already, and then shown in rho.
        (row.name, row.requests, own[row.name].composed.loss.rho)
        if row.name in own
        else (row.name, row.requests, part(row.composed))
        for row in rows
        if row.composed
    ]
    if not trees:
        bought = report.composition.entries
        pieces = [(e.role, 1, part(LossRecord.of(e.loss))) for e in bought] + pieces
    word = "tree" if trees else "stage"
    note = f"What each {word} composes to, by the rules of the composition below."
    return _view(f"By {word}", word, pieces, note, alike_together=True)


def _added(report: ReportRecord, part: _Part, group: str, composed: Amount) -> View | None:
    rows: list[SpendingRow] = [row for row in report.spending if row.group == group]
    if group == "level":
        rows.sort(key=lambda row: (row.name == "None", len(row.name), row.name))
    if group == "level" and [row.name for row in rows] == ["None"]:
        return None
    pieces = [(row.shown, row.requests, part(row.loss)) for row in rows]
    note = _added_note(report.composition.records_per_unit, composed, [a for *_, a in pieces])
    title, head = ("By level of the tree", "level") if group == "level" else ("By use", "use")
    return _view(title, head, pieces, note, alike_together=False)


def _added_note(size: int, composed: Amount, amounts: list[Amount]) -> str:
    """Say how the pieces relate to their sum; both are already for a whole privacy unit."""
    together = sum((a for a in amounts if a != math.inf), Fraction(0))
    whose = "one record" if size == 1 else f"all records of one privacy unit (up to {size})"
    note = f"Requests added up as if {whose} had met all of them."
    if together <= composed:
        return note
    return (
        f"{note} That comes to {figure_up(together)}, more than what they compose to, because some "
        "of them ran in parallel; see the composition."
    )


def _view(
    title: str,
    head: str,
    pieces: list[tuple[str, int, Amount]],
    note: str,
    *,
    alike_together: bool,
) -> View | None:
    finite = [(name, n, Fraction(amount)) for name, n, amount in pieces if amount != math.inf]
    total = sum((amount for *_, amount in finite), Fraction(0))
    if not total:
        return None
    grouped = _alike(finite) if alike_together else [(n, r, a, a) for n, r, a in finite]
    bars = [
        Bar(name, requests, Figure.of(each), float(together / total))
        for name, requests, each, together in grouped
    ]
    if len(bars) > _BARS:
        rest = grouped[_BARS:]
        left = sum((together for *_, together in rest), Fraction(0))
        requests = sum(row[1] for row in rest)
        name = f"{len(rest)} more, together"
        bars = [*bars[:_BARS], Bar(name, requests, Figure.of(left), float(left / total))]
    return View(title, head, tuple(bars), tuple(_segments(finite, total)), note)


def _alike(
    pieces: list[tuple[str, int, Fraction]],
) -> list[tuple[str, int, Fraction, Fraction]]:
    """Neighbours that cost the same, as one: (name, requests, each, together)."""
    groups: list[list[tuple[str, int, Fraction]]] = []
    for piece in pieces:
        if groups and groups[-1][0][1:] == piece[1:]:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    rows = []
    for group in groups:
        name, requests, each = group[0]
        if len(group) > 1:
            name = f"{name} … {group[-1][0]}: {len(group)} alike, each"
        rows.append((name, requests * len(group), each, each * len(group)))
    return rows


def _segments(pieces: list[tuple[str, int, Fraction]], total: Fraction) -> list[Segment]:
    if len(pieces) > _SEGMENTS:
        left = sum((amount for *_, amount in pieces[_SEGMENTS:]), Fraction(0))
        pieces = [*pieces[:_SEGMENTS], (f"{len(pieces) - _SEGMENTS} more", 0, left)]
    segments, x = [], 0.0
    for name, _, amount in pieces:
        share = float(amount / total)
        width = share * _WIDTH
        label = name if len(name) * _LETTER < width - 8 else name.split()[-1]
        if len(label) * _LETTER > width - 4:
            label = ""
        segments.append(Segment(round(x, 2), round(width, 2), label, f"{name}: {share:.2%}"))
        x += width
    return segments
