"""The privacy report in words: Markdown for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import LedgerEntry, LossRecord, ScopeRecord
from dpforest.report.places import place_rows
from dpforest.report.record import ReportRecord

#: Characters that Markdown reads as markup wherever they stand. An underscore or a dash inside a
#: line can only make text slanted or nothing, and names are full of them.
_MARKUP = re.compile(r"[\\|`*\[\]~]")
#: Trees and scopes shown in full; the JSON holds all of them.
SHOWN = 3


def report_markdown(report: ReportRecord) -> str:
    """The whole report as Markdown."""
    parts = [
        f"# Privacy report: {report.estimator}",
        f"**{_cell(report.sentence)}**",
        _cell(report.known_fits),
        _guarantee(report),
        _notices(report),
        _place(report),
        "## Public facts\n\n" + _facts(report),
        "## Plan\n\n" + _pairs(report.plan),
        "## Spending\n\n" + _spending(report),
        "## Composition\n\n" + _composition(report.composition),
        f"## Randomness\n\n{report.randomness}",
        "## Not covered\n\n" + _list(report.not_covered),
        "## Parameters\n\n" + _pairs(report.parameters),
        "## Versions\n\n" + _pairs(report.versions),
        "## Fingerprints\n\n" + _fingerprints(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _place(report: ReportRecord) -> str:
    """The fit's place in a ledger; nothing where it stands in none."""
    place = report.basis.ledger
    return "" if place is None else "## Ledger\n\n" + _pairs(place_rows(place))


def _fingerprints(report: ReportRecord) -> str:
    return _pairs({"released model": report.model_fingerprint, "this report": report.digest})


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
            bound.derivation,
        )
        for bound in report.guarantee.bounds
    ]
    table = _table(("relation", "epsilon", "delta", "rho", "from"), rows)
    return f"## {heading}\n\nPrivacy unit: {report.guarantee.unit}.\n\n{table}"


def _notices(report: ReportRecord) -> str:
    lines = [f"**{notice.severity}**: {_cell(notice.text)}" for notice in report.notices]
    lines += [f"Charged outside this library: {_inline(entry)}" for entry in report.external]
    return "## Notices\n\n" + _list(lines or ["none"])


def _facts(report: ReportRecord) -> str:
    domain = report.domain
    rows = [
        (
            _cell(entry["name"]),
            entry["kind"],
            _cell(_values(entry)),
            "yes" if entry["missing"] else "no",
            _cell(_status(entry)),
            _cell(entry["declared_by"] or "-"),
            _cell(entry["source"] or "-"),
        )
        for entry in domain["features"]
    ]
    table = _table(
        ("feature", "kind", "values", "missing", "status", "declared by", "source"), rows
    )
    lines = [table]
    if domain["classes"]:
        classes = domain["classes"]
        labels = ", ".join(str(label) for label in classes["labels"])
        who = _cell(classes["declared_by"] or "nobody named")
        lines.append(f"Classes ({classes['status']}, declared by {who}): {_cell(labels)}.")
    rows_text = domain["approximate_rows"] or "not declared"
    lines.append(
        f"Approximate number of rows: {rows_text}. Fingerprint: `{report.domain_fingerprint}`."
    )
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
        (row.group, _cell(row.name), str(row.requests), *_amounts(row.composed))
        for row in [*stages, *trees[:SHOWN]]
    ]
    text = _table(("part", "name", "requests", "epsilon", "rho"), part_rows)
    if len(trees) > SHOWN:
        text += f"\n\n… and {len(trees) - SHOWN} more trees in the JSON report."
    rows = [
        (row.group, _cell(row.shown), str(row.requests), str(row.cells), *_amounts(row.loss))
        for row in others
    ]
    added = _table(("by", "name", "requests", "cells", "epsilon added up", "rho added up"), rows)
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
        sides = ", sides " + ", ".join(f"{name} {p}" for name, p in scope.probabilities.items())
    kind = f"{scope.kind}{sides}"
    if scope.kind == "units":
        kind += f" of up to {scope.records_per_unit} records, amounts inside are for one record"
    if scope.adaptive or scope.caps:
        kind += ", planned from released values, within caps that were fixed beforehand"
    if scope.certificate is not None:
        kind += f", composed as a whole by the {_cell(scope.certificate.method)}"
    yield f"{'  ' * indent}- {_cell(scope.label)} ({kind}): epsilon {epsilon}, rho {rho}"
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
    return (
        f"{entry.role},{level} {entry.mechanism}, {entry.cells} cells in parallel: "
        f"epsilon {epsilon}, rho {rho}"
    )


def _amounts(record: LossRecord | None) -> tuple[str, str]:
    if record is None:
        return "-", "-"
    return figure_up(record.epsilon_float), figure_up(record.rho_float)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _pairs(values: dict[str, str]) -> str:
    return _table(("what", "value"), [(_cell(k), _cell(v)) for k, v in values.items()])


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _inline(entry: dict[str, Any]) -> str:
    return ", ".join(f"{key} {_cell(value)}" for key, value in entry.items())


def _cell(text: str) -> str:
    """Text of others on one line, without power over the markup around it: cells, links, HTML."""
    line = "".join(c if c.isprintable() else " " for c in str(text))
    return _MARKUP.sub(r"\\\g<0>", line).replace("&", "&amp;").replace("<", "&lt;")
