"""The privacy report in words: Markdown for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import LedgerEntry, LossRecord, ScopeRecord
from dpforest.display import one_line
from dpforest.report.decision import Decision, decision_of
from dpforest.report.header import header_rows
from dpforest.report.places import place_rows
from dpforest.report.record import ReportRecord
from dpforest.report.utility import UtilityFigure

#: Characters that Markdown reads as markup wherever they stand. An underscore or a dash inside a
#: line can only make text slanted or nothing, and names are full of them.
_MARKUP = re.compile(r"[\\|`*\[\]~]")
#: Beginnings of what readers of Markdown make a link of unasked, and the middle of an address.
_LINKS = re.compile(r"((?:https?|ftp)://|mailto:|xmpp:|www\.|@)", re.IGNORECASE)
#: Beginnings of lines that are markup, as `cell` leaves them.
_BEGINNINGS = re.compile(r"^(\d{0,9})([#>+=_.)-])")
_NO_UTILITY = (
    "No figure was handed in. One needs public records that were held out, or a release of its own "
    "that is paid for."
)
#: First words of the whole report, by which it is told from its JSON.
BEGINS = "# Privacy report: "
#: Trees and scopes shown in full; the JSON holds all of them.
SHOWN = 3


def report_markdown(report: ReportRecord) -> str:
    """The whole report as Markdown."""
    decision = decision_of(report)
    parts = [
        f"{BEGINS}{cell(report.header.title or report.estimator)}",
        f"**{cell(report.sentence)}**",
        _top(report, decision),
        "## Header, as typed in\n\n" + pairs(header_rows(report.header)),
        _guarantee(report),
        "## Utility\n\n" + _utility(report),
        _notes(report, decision),
        _place(report),
        "## Public facts\n\n" + facts_text(report),
        "## Plan\n\n" + pairs(report.plan),
        "## Spending\n\n" + _spending(report),
        "## Composition\n\n" + _composition(report.composition),
        f"## Randomness\n\n{paragraph(report.randomness)}",
        "## Not covered\n\n" + _list(map(cell, report.not_covered)),
        "## Parameters\n\n" + pairs(report.parameters),
        "## Versions\n\n" + pairs(report.versions),
        "## Fingerprints\n\n" + _fingerprints(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _top(report: ReportRecord, decision: Decision) -> str:
    """The half page for the person who decides."""
    lines = [f"**{question}**: {cell(answer)}" for question, answer in decision.lines.items()]
    if report.utility:
        figures = ", ".join(f"{f.name} {f.shown} ({f.origin})" for f in report.utility)
        lines.append(f"**How well it does**: {cell(figures)}")
    lines += cautions(decision) or ["**Cautions**: none"]
    return "## For the person who decides\n\n" + _list(lines)


def cautions(decision: Decision) -> list[str]:
    """Voids and cautions as lines of Markdown."""
    return [f"**{notice.severity}**: {cell(notice.text)}" for notice in decision.cautions]


def _utility(report: ReportRecord) -> str:
    return utility_table(report.utility) if report.utility else _NO_UTILITY


def utility_table(utility: tuple[UtilityFigure, ...]) -> str:
    """Figures of utility with where they come from, as a table of Markdown."""
    rows = [
        (
            cell(figure.name),
            figure.shown,
            "-" if figure.baseline is None else f"{figure.baseline:.4g}",
            cell(figure.origin_words),
        )
        for figure in utility
    ]
    return table(("figure", "value", "best constant", "where it comes from"), rows)


def _place(report: ReportRecord) -> str:
    """The fit's place in a ledger; nothing where it stands in none."""
    place = report.basis.ledger
    return "" if place is None else "## Ledger\n\n" + pairs(place_rows(place))


def _fingerprints(report: ReportRecord) -> str:
    return pairs(
        {
            "released model": report.model_fingerprint,
            "this report": report.digest,
            "public facts": report.domain_fingerprint,
        }
    )


def _guarantee(report: ReportRecord) -> str:
    heading = (
        "Guarantee" if report.guarantee.status != "void" else "What the paid part alone would give"
    )
    rows = [
        (
            bound.relation.value,
            figure_up(bound.epsilon),
            figure_up(bound.delta),
            "-" if bound.rho is None else figure_up(bound.rho),
            cell(bound.derivation),
        )
        for bound in report.guarantee.bounds
    ]
    bounds = table(("relation", "epsilon", "delta", "rho", "from"), rows)
    return f"## {heading}\n\nPrivacy unit: {cell(report.guarantee.unit)}.\n\n{bounds}"


def _notes(report: ReportRecord, decision: Decision) -> str:
    lines = [f"**{notice.severity}**: {cell(notice.text)}" for notice in decision.notes]
    lines += [f"Charged outside this library: {_inline(entry)}" for entry in report.external]
    return "## Notes\n\n" + _list(lines or ["none beside the cautions on top"])


def facts_text(report: ReportRecord) -> str:
    """The public facts and who declared them, as Markdown."""
    domain = report.domain
    rows = [
        (
            cell(entry["name"]),
            entry["kind"],
            cell(_values(entry)),
            "yes" if entry["missing"] else "no",
            cell(_status(entry)),
            cell(entry["declared_by"] or "-"),
            cell(entry["source"] or "-"),
        )
        for entry in domain["features"]
    ]
    lines = [
        table(("feature", "kind", "values", "missing", "status", "declared by", "source"), rows)
    ]
    if domain["classes"]:
        classes = domain["classes"]
        labels = ", ".join(str(label) for label in classes["labels"])
        who = cell(classes["declared_by"] or "nobody named")
        lines.append(f"Classes ({classes['status']}, declared by {who}): {cell(labels)}.")
    rows_text = domain["approximate_rows"] or "not declared"
    lines.append(f"Approximate number of rows: {rows_text}.")
    return "\n\n".join(lines)


def _status(entry: dict[str, Any]) -> str:
    """Status of an entry; of bounds also that they began as a draft."""
    began = entry.get("drafted") is not None and "lower" in entry
    if entry["status"] != "declared" or not began:
        return str(entry["status"])
    return "declared, began as a draft"


def _values(entry: dict[str, Any]) -> str:
    if entry["kind"] == "numeric":
        kind = "whole numbers" if entry["integer"] else "numbers"
        return f"{kind} in [{entry['lower']:g}, {entry['upper']:g}]"
    categories = entry["categories"]
    shown = ", ".join(categories[:6])
    return shown if len(categories) <= 6 else f"{shown}, … ({len(categories)})"


def _spending(report: ReportRecord) -> str:
    parts = ("stage", "tree")
    others = [row for row in report.spending if row.group not in parts]
    levels = [row.name for row in others if row.group == "level"]
    if levels == ["None"]:  # nothing is divided by levels
        others = [row for row in others if row.group != "level"]
    stages, trees = ([row for row in report.spending if row.group == part] for part in parts)
    part_rows = [
        (row.group, cell(row.name), str(row.requests), *_amounts(row.composed))
        for row in [*stages, *trees[:SHOWN]]
    ]
    text = table(("part", "name", "requests", "epsilon", "rho"), part_rows)
    if len(trees) > SHOWN:
        text += f"\n\n… and {len(trees) - SHOWN} more trees in the JSON report."
    rows = [
        (row.group, cell(row.shown), str(row.requests), str(row.cells), *_amounts(row.loss))
        for row in others
    ]
    added = table(("by", "name", "requests", "cells", "epsilon added up", "rho added up"), rows)
    return (
        f"Composed, by part of the fit:\n\n{text}\n\nRequests added up (what ran in parallel is "
        f"counted as if it had run in sequence):\n\n{added}"
    )


def _composition(root: ScopeRecord) -> str:
    lines = "\n".join(_scope_lines(root, 0))
    if "epsilon inf" not in lines:
        return lines
    why = "Where epsilon is inf, noise is Gaussian: it has no pure epsilon, and adds up in rho."
    return f"{lines}\n\n{why}"


def _scope_lines(scope: ScopeRecord, indent: int) -> Iterable[str]:
    epsilon, rho = _amounts(scope.composed)
    sides = ""
    if scope.probabilities:
        sides = ", sides " + ", ".join(f"{cell(k)} {p}" for k, p in scope.probabilities.items())
    kind = f"{scope.kind}{sides}"
    if scope.kind == "units":
        kind += f" of up to {scope.records_per_unit} records, amounts inside are for one record"
    if scope.adaptive or scope.caps:
        kind += ", planned from released values, within caps that were fixed beforehand"
    if scope.certificate is not None:
        kind += f", composed as a whole by the {cell(scope.certificate.method)}"
    yield f"{'  ' * indent}- {cell(scope.label)} ({kind}): epsilon {epsilon}, rho {rho}"
    for line, times in Counter(map(_entry_line, scope.entries)).items():
        yield f"{'  ' * (indent + 1)}- {f'{times} × ' if times > 1 else ''}{line}"
    for child in scope.children[:SHOWN]:
        yield from _scope_lines(child, indent + 1)
    if len(scope.children) > SHOWN:
        hidden = len(scope.children) - SHOWN
        yield f"{'  ' * (indent + 1)}- … {hidden} more scopes in the JSON report"


def _entry_line(entry: LedgerEntry) -> str:
    epsilon, rho = _amounts(LossRecord.of(entry.loss))
    level = "" if entry.level is None else f" level {entry.level},"
    cells = f", {entry.cells} cells" if entry.cells > 1 else ""
    return (
        f"{cell(entry.role)},{level} {cell(entry.mechanism)}{cells}: epsilon {epsilon}, rho {rho}"
    )


def _amounts(record: LossRecord | None) -> tuple[str, str]:
    if record is None:
        return "-", "-"
    return figure_up(record.epsilon_float), figure_up(record.rho_float)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def pairs(values: dict[str, str]) -> str:
    """A table of names and values, which may be texts of others."""
    return table(("what", "value"), [(cell(k), cell(v)) for k, v in values.items()])


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _inline(entry: dict[str, Any]) -> str:
    return ", ".join(f"{key} {cell(value)}" for key, value in entry.items())


def cell(text: str) -> str:
    """Text of others on one line, without power over the markup around it: cells, links, HTML.

    What would become a link by itself is shown as code, of which no reader makes one.
    """
    line = one_line(str(text))
    parts = _LINKS.split(line)  # every second one is the beginning of a link
    return "".join(f"`{part}`" if i % 2 else _escaped(part) for i, part in enumerate(parts))


def paragraph(text: str) -> str:
    """Text of others where a line begins: no heading, list, quotation or rule."""
    return _BEGINNINGS.sub(r"\1\\\2", cell(text).lstrip(), count=1)


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text).replace("&", "&amp;").replace("<", "&lt;")
