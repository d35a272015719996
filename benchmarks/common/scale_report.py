"""Tables of docs/scale.md from the lines of `scale.py`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from common.results import Line
from common.scale_data import FEATURES
from common.scale_plots import write_plots
from common.scale_projection import projection

BEGIN, END = "<!-- results: written by benchmarks/scale.py -->", "<!-- end of results -->"
BEGIN_AUTO, END_AUTO = "<!-- auto: written by benchmarks/scale.py -->", "<!-- end of auto -->"
KINDS = {"one_shot": "one-shot", "refitted": "refitted, 24 rounds", "multinomial": "multinomial"}
Lines = dict[str, Line]


def write_report(lines: list[Line], page: Path) -> None:
    """Put tables between the page's marks, and draw the plots beside it.

    What auto took has marks of its own; a part of which there is no line stays as it is.
    """
    text = page.read_text(encoding="utf-8")
    auto = {line["case"]: line for line in lines if line["case"].startswith("auto/")}
    found = {line["case"]: line for line in lines if line["case"] not in auto}
    if auto:
        text = between(text, BEGIN_AUTO, END_AUTO, [by_auto(auto)])
    if found:
        parts = [machine(found), in_memory(found), from_files(found), on_dask(found)]
        text = between(text, BEGIN, END, parts)
        write_plots(found, page.parent)
    page.write_text(text, encoding="utf-8")


def between(text: str, begin: str, end: str, parts: list[list[str]]) -> str:
    """The text with other lines between its marks."""
    body = "\n".join([begin, *("\n".join(part) for part in parts), end])
    return text.split(begin)[0] + body + text.split(end)[1]


def by_auto(found: Lines) -> list[str]:
    """Fits of whatever auto picks, from what users have."""
    words = {"float32": "array of float32", "parquet": "Parquet stream, `memory_limit` 2 GB"}
    rows = []
    for name, line in found.items():
        shown = words[name.split("/")[1]]
        rows.append(
            f"| {shown} | {line['rows']:,} × {FEATURES} | {line['strategy']}, {line['size']} | "
            f"{line['seconds']:.0f} | {line['cpu_seconds']:.0f} | {line['cpu_seconds'] / 2:.0f} | "
            f"{megabytes(line['peak_bytes'])} | {line['machine']['load']:g} | {aims(line)} |"
        )
    head = (
        "| from | table | picked | s | CPU s | at best, s | memory beyond it, MB | load before | "
        "aim |"
    )
    said = "At best: with both cores free and both threads busy throughout. "
    said += "Load before a fit is of other work, which went on beside it."
    return [f"{ran_on(found)}.", "", *table(head, rows), said]


def aims(line: Line) -> str:
    """Whether a fit kept to two minutes and 4 GB."""
    time, memory = line["seconds"] <= 120, line["peak_bytes"] <= 4 * 2**30
    words = {True: "held", False: "missed"}
    return f"time {words[time]}, memory {words[memory]}"


def machine(found: Lines) -> list[str]:
    """What it ran on."""
    facts = [line["machine"] for line in found.values()]
    loads = [one["load"] for one in facts]
    cores, low, high = facts[-1]["cores"], min(loads), max(loads)
    beside = f"Load {low:g} to {high:g}, that of the cases themselves."
    if high > cores + 1:
        beside = (
            f"Other work ran beside: load {low:g} to {high:g}, so seconds of the clock are up to "
            "several times what an idle machine needs. Seconds of the processor and ratios suffer "
            "less."
        )
    return [f"{ran_on(found)}. {beside}", ""]


def ran_on(found: Lines) -> str:
    """Processor, cores and versions, of the last line."""
    facts = list(found.values())[-1]["machine"]
    versions = "".join(f", {name} {text}" for name, text in facts["versions"].items())
    return f"{facts['processor']}, {facts['cores']} cores, Python {facts['python']}{versions}"


def table(head: str, rows: list[str]) -> list[str]:
    """A table in Markdown."""
    n_columns = head.count("|") - 1
    return [head, "|" + " --- |" * n_columns, *rows, ""]


def in_memory(found: Lines) -> list[str]:
    """Fits on encoded records, floors, exponents, and scikit-learn beside them."""
    rows = []
    for name, shown in KINDS.items():
        for line in sizes(found, name):
            n = int(line["case"].rsplit("/", 1)[1])
            over = line["cpu_seconds"] / line["floor_cpu_seconds"]
            rows.append(
                f"| {shown} | {n:,} | {line['seconds']:.2f} | {line['cpu_seconds']:.2f} | "
                f"{line['floor_cpu_seconds']:.2f} | {over:.2f} | "
                f"{megabytes(line['codes_bytes'])} | {megabytes(line['peak_bytes'])} |"
            )
    head = (
        "| forest | records | s | CPU s | floor, CPU s | CPU / floor | codes, MB | "
        "memory beyond them, MB |"
    )
    last = next(iter(sizes(found, "one_shot")[-1:]), None)
    rates = last["rates"] if last else {"updates": 0.0, "steps": 0.0}
    return [
        "### In memory",
        "",
        "Encoded records, two threads; R as for 10,000,000 declared rows at each size, so that "
        "forests have one size. "
        "The floor counts what a fit has to do, over the rates of one core in the same run (at "
        f"10,000,000: {rates['updates'] / 1e9:.2f} billion updates and "
        f"{rates['steps'] / 1e9:.2f} billion steps a second). " + works(found),
        "",
        *table(head, rows),
        "Below 1 is where the count of steps is more than is made: leaves of trees on few features "
        "are looked up.",
        "",
        *exponents(found),
        "",
        "![Time and memory over the number of records](scale_size.svg)",
        "",
        *others(found),
    ]


def sizes(found: Lines, kind: str) -> list[Line]:
    """Lines of one kind, by size."""
    own = [line for name, line in found.items() if name.startswith(f"memory/{kind}/")]
    return sorted(own, key=lambda line: line["codes_bytes"])


def works(found: Lines) -> str:
    """Counted work of a record."""
    texts = []
    for name, shown in KINDS.items():
        for line in sizes(found, name)[-1:]:
            texts.append(f"{shown} {line['updates']:.0f} updates and {line['steps']:.0f} steps")
    return "A record costs: " + "; ".join(texts) + "."


def exponents(found: Lines) -> list[str]:
    """How time grows with the number of records: the slope over all sizes, in logarithms."""
    texts = []
    for name, shown in KINDS.items():
        own = sizes(found, name)
        if len(own) < 3:
            continue
        n = np.log([line["codes_bytes"] for line in own])
        cpu, wall = (
            float(np.polyfit(n, np.log([line[key] for line in own]), 1)[0])
            for key in ("cpu_seconds", "seconds")
        )
        texts.append(f"{shown} {cpu:.2f} (of the clock {wall:.2f})")
    return ["Exponent of processor time over records, 10⁵ to 10⁷: " + "; ".join(texts) + "."]


def others(found: Lines) -> list[str]:
    """Encoding, and scikit-learn on the same table."""
    rows = []
    for name, line in found.items():
        if name.startswith("sklearn/"):
            _, model, n = name.split("/")
            rows.append(f"| {model} | {int(n):,} | {line['seconds']:.2f} | {cpu(line)} |")
        if name.startswith("encoding/"):
            n = name.split("/")[1]
            rows.append(
                f"| encoding, one thread | {int(n):,} | {line['seconds']:.2f} | {cpu(line)} |"
            )
    return [
        *table("| beside them | records | s | CPU s |", rows),
        "Threads of HistGradientBoosting wait for each other, so load hits it hardest.",
        "",
    ]


def cpu(line: Line) -> str:
    """Seconds of the processor."""
    return f"{line['cpu_seconds']:.2f}"


def from_files(found: Lines) -> list[str]:
    """Streams beside the same files read whole."""
    rows = []
    for name, line in found.items():
        if not name.startswith("stream/"):
            continue
        _, format, kind, n, limit = name.split("/")
        whole = found.get(f"stream/{format}/{kind}/{n}/None")
        over = f"{line['cpu_seconds'] / whole['cpu_seconds']:.2f}" if whole else ""
        passes = line["passes"]
        a_pass = f"{len(passes)} × {np.median(passes):.2f}" if passes else ""
        kept = "read whole" if limit == "None" else megabytes(int(limit))
        same = "" if whole is None else ("yes" if same_model(line, whole) else "no")
        rows.append(
            f"| {format} | {KINDS[kind]} | {int(n):,} | {kept} | {line['seconds']:.2f} | "
            f"{cpu(line)} | {over} | {a_pass} | {megabytes(line['peak_bytes'])} | {same} |"
        )
    head = (
        "| files | forest | records | `memory_limit`, MB | s | CPU s | over read whole | "
        "passes × s | memory, MB | same forest |"
    )
    return [
        "### From files",
        "",
        "30 features as whole numbers, a file a million records, two threads; reading and encoding "
        "are part of the time. Memory is what the process held at most beyond what it held before "
        "the fit; with a limit of 0 it is what a few batches take.",
        "",
        *table(head, rows),
        "![Memory over the limit](scale_stream.svg)",
        "",
    ]


def same_model(line: Line, other: Line) -> bool:
    """Whether two fits released the same."""
    return bool(line["fingerprint"] == other["fingerprint"])


def on_dask(found: Lines) -> list[str]:
    """Seconds by workers, bytes a pass, and the projection."""
    rows = []
    for name, one in found.items():
        if not (name.startswith("dask/") and name.endswith("/1")):
            continue
        two = found.get(name[:-1] + "2")
        if two is None:
            continue
        _, source, kind, _ = name.split("/")
        ratio = one["pass_seconds"] / two["pass_seconds"]
        work = one["pass_cpu_seconds"], two["pass_cpu_seconds"]
        rows.append(
            f"| {source} | {kind.replace('_', '-')} | {one['rows']:,} | {one['seconds']:.1f} | "
            f"{two['seconds']:.1f} | {len(two['passes'])} | {one['pass_seconds']:.1f} | "
            f"{two['pass_seconds']:.1f} | {ratio:.2f} | {work[0]:.1f} | {work[1]:.1f} | "
            f"{'yes' if same_model(one, two) else 'no'} |"
        )
    head = (
        "| table | forest | records | s, 1 worker | s, 2 workers | passes | s in passes, 1 | "
        "s in passes, 2 | times as fast | CPU s of workers, 1 | CPU s, 2 | same forest |"
    )
    return [
        "### On Dask",
        "",
        "Worker processes of one thread on the same two cores, records with the workers "
        "already, compiled code loaded. Multinomial: 10 trees of depth 8. What is not in passes "
        "is encoding. Client, scheduler and whatever else ran share the two cores with the "
        "workers, so two of them cannot be twice as fast here; what shows what a further worker "
        "costs is the processor time of all workers in passes: equal would be for nothing.",
        "",
        *table(head, rows),
        *fixed_costs(found),
        *bytes_a_pass(found),
        *projection(found),
    ]


def fixed_costs(found: Lines) -> list[str]:
    """What a pass takes where there is next to nothing to count."""
    texts = []
    for name, line in found.items():
        if name.startswith("dask/small/"):
            n = len(line["passes"])
            texts.append(
                f"{name.split('/')[2].replace('_', '-')} {1e3 * line['pass_seconds'] / n:.0f} ms "
                f"({1e3 * line['pass_cpu_seconds'] / n:.0f} ms of the workers' processor time, "
                f"load {line['machine']['load']:g})"
            )
    return [f"A pass over 20,000 records takes, on two workers: {'; '.join(texts)}.", ""]


def bytes_a_pass(found: Lines) -> list[str]:
    """What each kind of pass sends, with two workers."""
    rows = []
    for name, line in found.items():
        if not (name.startswith("dask/") and name.endswith("/2") and "/small/" not in name):
            continue
        _, source, kind, _ = name.split("/")
        for number, passed in enumerate(shown_passes(line["passes"])):
            what = f"{source}, {kind.replace('_', '-')}" if number == 0 else ""
            rows.append(
                f"| {what} | {passed['label']} | {passed['seconds']:.2f} | {passed['sums']} | "
                f"{kilobytes(passed['question_bytes'])} | {kilobytes(passed['sum_bytes'])} |"
            )
        between = kilobytes(line["between_workers_bytes"])
        rows.append(f"| | sent between workers in the whole fit | | | {between} | |")
    head = "| fit on two workers | pass | s | sums | question, kB | a sum, kB |"
    return [
        "What travels in a pass: the question once to each worker, and one sum for each worker "
        "thread, added up in groups of eight on the way to the client. No figure depends on the "
        "number of records.",
        "",
        *table(head, rows),
    ]


def shown_passes(passes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Passes with labels; of a long run of rounds the first, up to its leaves, and the last."""
    labelled = [{**one, "label": f"{k + 1}: {one['counting']}"} for k, one in enumerate(passes)]
    if len(labelled) <= 12:
        return labelled
    rounds = next(k for k, one in enumerate(labelled) if one["counting"] == "LeafSums")
    return [*labelled[: rounds + 1], *labelled[-2:]]


def megabytes(value: float) -> str:
    """In 2**20 bytes."""
    return f"{value / 2**20:,.0f}"


def kilobytes(value: float) -> str:
    """In 2**10 bytes, at least a tenth."""
    return f"{math.ceil(10 * value / 2**10) / 10:,.1f}"
