"""On paper: what a fit of 10⁹ rows on 1,000 workers would take, from what was measured here."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from common.results import Line

ROWS, WORKERS = 10**9, 1000
#: Bytes a second between two machines, assumed: a network of 10 Gbit/s.
BANDWIDTH = 1.25e9
FAN_IN = 8
#: Fits whose passes are projected, by the case that measured them.
CASES = {
    "one-shot, 30 features": "dask/synthetic/one_shot/1",
    "multinomial, 10 trees of depth 8, 30 features": "dask/synthetic/multinomial/1",
    "refitted, as on covertype (54 features, 7 classes)": "dask/covertype/refitted/1",
}


@dataclass(frozen=True)
class Projected:
    """Seconds of a fit by what they go to."""

    counting: float
    travel: float
    scheduling: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.counting + self.travel + self.scheduling


def project(line: Line, task_seconds: float) -> Projected:
    """Sums over passes of what each takes on so many workers."""
    rounds = math.ceil(math.log(WORKERS, FAN_IN))
    n_tasks = 2 + sum(math.ceil(WORKERS / FAN_IN**k) for k in range(rounds + 1))
    counting = travel = 0.0
    share = processor_share(line)
    for one in line["passes"]:
        rows_a_second = line["rows"] / (one["seconds"] * share)
        counting += ROWS / WORKERS / rows_a_second
        # Whoever adds up takes eight sums in, one after the other; questions go down a tree too.
        travel += rounds * FAN_IN * (one["sum_bytes"] + one["question_bytes"]) / BANDWIDTH
    return Projected(counting, travel, n_tasks * task_seconds * len(line["passes"]))


def processor_share(line: Line) -> float:
    """Of the time of passes, what the one worker worked; the rest others took, or waiting."""
    return line["pass_cpu_seconds"] / line["pass_seconds"]


def projection(found: dict[str, Line]) -> list[str]:
    """The section, with formula and figures."""
    tasks = found.get("dask/tasks")
    if tasks is None:
        return []
    each = tasks["cpu_seconds"] / tasks["tasks"]
    rows = []
    for shown, case in CASES.items():
        if case not in found:
            continue
        line = found[case]
        whole = project(line, each)
        mean = len(line["passes"]) * line["rows"] / line["pass_cpu_seconds"] / 1e6
        largest = max(one["sum_bytes"] for one in line["passes"]) / 2**20
        asked = max(one["question_bytes"] for one in line["passes"]) / 2**20
        rows.append(
            f"| {shown} | {len(line['passes'])} | {mean:.1f} | {largest:.2f} | {asked:.2f} | "
            f"{whole.counting:.0f} | {whole.travel:.1f} | {whole.scheduling:.0f} | "
            f"{whole.total:.0f} |"
        )
    head = (
        "| fit | passes | r, millions | largest sum, MB | largest question, "
        "MB | s counting | s travelling | s scheduling | s in all |"
    )
    encoding = encoding_seconds(found)
    return [
        "**On paper: 10⁹ rows on 1,000 workers.** A pass takes n / (W r) to count, "
        "⌈log₈ W⌉ · 8 (S + Q) / b for sums and question on their way, and t seconds of the "
        "scheduler for each of W + W/8 + W/64 + … tasks. Measured here: r, rows that one worker "
        "counts in a second of its processor time; S and Q, bytes of a sum and of a "
        f"question; t = {1e3 * each:.2f} ms of the processor. Assumed: b = "
        f"{BANDWIDTH / 1e9:.2f} GB/s, a block a worker, nobody lost. Not run.",
        "",
        head,
        "|" + " --- |" * (head.count("|") - 1),
        *rows,
        "",
        f"To these come reading and encoding once: {encoding:.0f} s at the rate of one worker "
        "here, reading left out. A deep level of many trees is what travels most: sums grow with "
        "trees × nodes × cells, never with rows. Counting divides by workers; the scheduler does "
        "not, so past some thousands of workers larger ones are worth more than further ones.",
        "",
    ]


def encoding_seconds(found: dict[str, Line]) -> float:
    """Encoding of a worker's part, at the rate measured for 30 features on a loaded core."""
    rates = [
        line["rows"] / line["encoding_seconds"]
        for name, line in found.items()
        if name.startswith("dask/synthetic/") and name.endswith("/1")
    ]
    return ROWS / WORKERS / float(np.median(rates)) if rates else float("nan")
