"""The page of results: what was tried, what was found, and which planted faults were found."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from doorway.answers import FAULTS
from doorway.effects import EFFECTS
from doorway.search import Line

_EFFECT = "effect: "
#: Examples of a fault that are shown.
_MOST_SHOWN = 3

_HEAD = """# What the search at the door tried and found

Written by `benchmarks/door.py`; what is searched and how is in [door.md](door.md).
"""


def write_page(path: Path, lines: list[Line], planted: list[Line], sources: str) -> None:
    """Write the page from the lines of these sources."""
    parts = [_HEAD, *_totals(lines, sources), *_families(lines), *_kinds(lines)]
    parts += [*_effects(lines), *_faults(lines), *_planted(planted)]
    path.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


def _totals(lines: list[Line], sources: str) -> list[str]:
    pairs = sum(sum(line["ways"].values()) for line in lines)
    found = sum(line["count"] for one in lines for line in one["faults"])
    seconds = sum(line["seconds"] for line in lines)
    seeds = ", ".join(sorted({str(line["seed"]) for line in lines})) or "none"
    return [
        f"{pairs:,} pairs of tables in {len({line['family'] for line in lines})} containers and "
        f"readers, seed {seeds}, {seconds / 60:.0f} minutes of processor time; **{found:,} pairs "
        f"with a fault**. Print of the sources: `{sources}`.",
        "",
    ]


def _added(lines: Iterable[Line], name: str) -> collections.Counter[str]:
    total: collections.Counter[str] = collections.Counter()
    for line in lines:
        total.update(line[name])
    return total


def _families(lines: list[Line]) -> list[str]:
    by_family: dict[str, list[Line]] = {}
    for line in lines:
        by_family.setdefault(line["family"], []).append(line)
    rows = []
    for family, own in by_family.items():
        outcomes, ways = _added(own, "outcomes"), _added(own, "ways")
        counts = [
            sum(ways.values()), outcomes["the same"], outcomes["refused alike"],
            sum(n for name, n in outcomes.items() if name.startswith(_EFFECT)),
            sum(line["count"] for one in own for line in one["faults"]), outcomes["not made"],
        ]  # fmt: skip
        listed = ", ".join(f"{name} {n:,}" for name, n in sorted(ways.items()))
        rows.append([family, *(f"{n:,}" for n in counts), listed])
    return [
        "## Containers and readers",
        "",
        "*Same*: all other records are what they were. *Refused alike*: by both checks before "
        "anything is spent, in the same words. *Not made*: the container's own library would not "
        "have the values; another pair was drawn.",
        "",
        *_table(
            ["container or reader", "pairs", "same", "refused alike", "set aside", "faults",
             "not made", "ways, with their pairs"],
            rows,
        ),
    ]  # fmt: skip


def _kinds(lines: list[Line]) -> list[str]:
    rows = [[kind, f"{n:,}"] for kind, n in sorted(_added(lines, "kinds").items())]
    return ["## Odd values of the record", "", *_table(["kind", "pairs"], rows)]


def _effects(lines: list[Line]) -> list[str]:
    outcomes = _added(lines, "outcomes")
    rows = [[e.name, f"{outcomes[_EFFECT + e.name]:,}", e.reason] for e in EFFECTS]
    return [
        "## Set aside: what containers do themselves",
        "",
        "Here the container's own library changed cells of other records, or its shape or schema, "
        "before dpforest saw them, which was seen by reading the container back.",
        "",
        *_table(["effect", "pairs", "what happens"], rows),
    ]


def _faults(lines: list[Line]) -> list[str]:
    merged: dict[Any, dict[str, Any]] = {}
    for line in lines:
        for fault in line["faults"]:
            key = (line["family"], fault["way"], *fault["signature"])
            kept = merged.setdefault(key, {"count": 0, "examples": []})
            kept["count"] += fault["count"]
            kept["examples"] += fault["examples"]
    if not merged:
        listed = "; ".join(f"{name} ({what})" for name, what in FAULTS.items())
        return ["## Faults", "", f"None was found. Looked for: {listed}.", ""]
    found = ["## Faults", ""]
    for key, fault in sorted(merged.items(), key=lambda pair: -pair[1]["count"]):
        found += [f"### {key[0]}, {key[1]}: {key[2]} ({fault['count']:,} pairs)", ""]
        smallest = sorted(fault["examples"], key=lambda example: len(str(example)))
        for example in smallest[:_MOST_SHOWN]:
            found += [_example(example), ""]
    return found


def _example(example: dict[str, Any]) -> str:
    more = f" and {example['more']} more" if example["more"] else ""
    lines = [
        f"features   {'; '.join(example['domain'])}; labels {example['labels']}",
        f"records    {'; '.join(example['records']) or 'none'}{more}",
        f"one more   {example['record']} (before row {example['place']})",
        f"without it {example['without']}",
        f"with it    {example['with']}",
    ]
    return "\n".join(["```text", *lines, "```"])


def _planted(lines: list[Line]) -> list[str]:
    latest = {line["name"]: line for line in lines}
    rows = [
        [line["name"], line["family"], str(line["pairs"] or f"not in {line['most']}")]
        for line in latest.values()
    ]
    missed = sum(line["pairs"] is None for line in latest.values())
    return [
        "## Planted faults",
        "",
        f"{len(rows)} faults, each brought back into the code of today by "
        f"`benchmarks/doorway/planted.py`; {missed} were not found.",
        "",
        *_table(["fault", "searched in", "pairs until found"], rows),
    ]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [*map(_row, lines), ""]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
