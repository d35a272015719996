"""The page of results: kills, server crashes, contention, and milliseconds a fit."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

from common.ledger_kills import PLACES

Line = dict[str, Any]
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}

_HEAD = """# Results of the ledger's benchmark

Written by `benchmarks/ledger.py`. Each line of results carries a print of the stores and of this
benchmark; those of other code are left out.
"""
_KILLS = """## Processes killed while they write

A process reserves, starts and settles a fit, or voids it, and is killed with `SIGKILL`: at each
labelled step of its transactions and between them, and as often at any time. Who had ended before
is not counted. After each kill the chain is checked whole, and what clients were told is compared
with the rows: nothing that was answered or granted is lost, nothing stands twice or was not asked
for, and the sum is that of the entries. Then the fit is brought to its end with the same UUIDs. In
every fifth round a second process is killed before anybody has looked. A killed process leaves what
it had handed to the system; that a commit outlives a power cut rests on `fsync`, and is not
measured here.
"""
_CRASHES = """## Servers killed while a client writes

All processes of the server are killed, and it is started again. The client goes on with the same
UUIDs.
"""
_CONTENTION = """## Processes that reserve at the same time

Three quarters of what they ask for fits under the cap, and exactly that is granted. *Least and
most*: turns of single processes when half of all turns were taken. *Without the queue*: SQLite's
own lock as it comes.
"""
_TIMES = """## Milliseconds beside a fit

Reserve, start and settle, each of them one durable transaction.
"""


def write_page(path: Path, lines: list[Line], sources: str) -> None:
    """Write the page from the lines of these sources."""
    by_kind: dict[str, list[Line]] = collections.defaultdict(list)
    for line in lines:
        by_kind[line["kind"]].append(line)
    parts = [_HEAD, f"Print of the sources: `{sources}`.", ""]
    parts += [_KILLS, *_kills(by_kind["kills"]), ""]
    parts += [_CRASHES, *_crashes(by_kind["crashes"]), ""]
    parts += [_CONTENTION, *_contention(by_kind["contention"]), ""]
    parts += [_TIMES, *_times(by_kind["times"])]
    path.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


def _kills(lines: list[Line]) -> list[str]:
    rows = [
        "| store | processes killed | at a labelled step | at any time | faults | minutes |",
        _rule(6),
    ]
    for store, name in NAMES.items():
        own = [line for line in lines if line["store"] == store]
        labelled = sum(sum(line["places"].values()) for line in own)
        anywhere = sum(line["any_time"] for line in own)
        minutes = sum(line["seconds"] for line in own) / 60
        rows.append(
            f"| {name} | {labelled + anywhere:,} | {labelled:,} | {anywhere:,} | "
            f"{sum(line['faults'] for line in own)} | {minutes:.0f} |"
        )
    return [*rows, "", *_places(lines)]


def _places(lines: list[Line]) -> list[str]:
    """Kills by step, of both stores."""
    total: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for line in lines:
        for place, count in line["places"].items():
            total[place.partition(",")[0]][line["store"]] += count
    rows = ["| step | SQLite | PostgreSQL |", _rule(3)]
    order = [step for step, _ in PLACES]
    for step in sorted(total, key=order.index):
        rows.append(f"| {step} | {total[step]['sqlite']:,} | {total[step]['postgresql']:,} |")
    return rows


def _crashes(lines: list[Line]) -> list[str]:
    fits = sum(line["fits"] for line in lines)
    begun = ", ".join(str(line["begun"]) for line in lines)
    return [
        f"{len(lines)} crashes of a PostgreSQL server, {fits} fits in all, "
        f"{sum(line['faults'] for line in lines)} faults. Fits that had begun by then: {begun}."
    ]


def _contention(lines: list[Line]) -> list[str]:
    rows = [
        "| store | reserves | granted | refused | seconds | last process' first turn, s | "
        "longest wait, s | least and most |",
        _rule(8),
    ]
    for line in lines:
        name = NAMES[line["store"]] + ("" if line["queue"] else ", without the queue")
        rows.append(
            f"| {name} | {line['processes']} × {line['each']} | {line['granted']:,} | "
            f"{line['refused']:,} | {line['seconds']:.0f} | {line['first']:.1f} | "
            f"{line['longest']:.1f} | {line['least']} to {line['most']} |"
        )
    return rows


def _times(lines: list[Line]) -> list[str]:
    rows = ["| store | fits before | median | 95 % | longest of |", _rule(5)]
    for line in lines:
        rows.append(
            f"| {NAMES[line['store']]} | {line['before']:,} | {line['median']:.0f} | "
            f"{line['most_of']:.0f} | {line['longest']:.0f} of {line['fits']} |"
        )
    return rows


def _rule(columns: int) -> str:
    return "|" + " --- |" * columns
