"""The long audit: every mechanism and private estimator, exact worst cases, planted faults.

Run with ``python benchmarks/audit.py [--repetitions 200] [--faults 100] [--runs 200000]
[--seconds 15] [--forests 1000] [--parts TEXT] [--rows FILE] [--output docs/audit_results.md]``.
``--add`` audits the parts that the page's first table does not list yet (with ``--parts``, those of
them) and adds their rows to it; the rest of the page stays.
With ``--rows`` finished rows are kept in a file, and a run that was stopped goes on behind them;
rows of other code are made anew.
Fast settings of the same audits run in the tests.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common.pages import place_of, rows_lost
from common.results import Store
from common.sources import Sources
from scipy.stats import beta

from dpforest import BudgetAccountant, Domain, MultinomialForestClassifier
from dpforest.audit import (
    AuditPart,
    AuditResult,
    audit,
    audit_one_run,
    corner_canaries,
    estimator_parts,
    exact_checks,
    mechanism_parts,
)

SOURCES = Sources(
    ("audit:bounds", "audit:accusations", "audit:powers", "audit:speed"),
    ("tests/faults/faults.py",),
)
FAMILY = 0.001  # probability of one false accusation in the whole run
#: Options of a whole run; with less it writes beside the page.
WHOLE: dict[str, float] = {
    "repetitions": 200, "faults": 100, "runs": 200_000, "seconds": 15.0, "forests": 1000
}  # fmt: skip


def planted_faults() -> tuple[Any, ...]:
    """The faults of tests/faults, which are no part of the package."""
    path = Path(__file__).parent.parent / "tests" / "faults" / "faults.py"
    spec = importlib.util.spec_from_file_location("planted_faults", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return tuple(module.planted_faults())


class Rows:
    """Finished rows of the page by what they are of, in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else Store(path, SOURCES)
        lines = [] if self._file is None else self._file.lines()
        self._found: dict[str, str] = {line["key"]: line["row"] for line in lines}

    def row(self, key: str, make: Callable[[], str]) -> str:
        """A row, made if it is not there."""
        if key not in self._found:
            self._found[key] = make()
            print(self._found[key], file=sys.stderr, flush=True)
            if self._file is not None:
                self._file.append({"key": key, "row": self._found[key]})
        return self._found[key]


def table(header: str, rows: list[str]) -> Iterator[str]:
    """A table in Markdown."""
    yield header
    yield "|" + " --- |" * (header.count("|") - 1)
    yield from rows
    yield ""


def bounds(rows: Rows, parts: list[tuple[AuditPart, int | None]], options: Any) -> Iterator[str]:
    """Claim and certified bound of every part, on all its pairs."""

    def row(part: AuditPart, runs: int | None) -> str:
        runs = runs or affordable(part, options.seconds)
        started = time.perf_counter()
        result = audited(part, list(part.pairs), runs, options.error)
        seconds = time.perf_counter() - started
        claim = f"{part.epsilon:.3g}" + (f", delta {part.delta:g}" if part.delta else "")
        return (
            f"| {part.name} | {claim} | {result.lower_bound:.3f} | {result.interval[1]:.3f} | "
            f"{runs:,} | {result.largest_certifiable:.1f} | {result.pair} | "
            f"{cell(result.event.description)} | {result.verdict} | {seconds:.1f} |"
        )

    return table(
        "| part | claim | certified | upper end of the event | runs | largest certifiable | pair | "
        "event | verdict | s |",
        [rows.row(f"bound {p.name} {runs}", lambda p=p, runs=runs: row(p, runs))
         for p, runs in parts],
    )  # fmt: skip


def affordable(part: AuditPart, seconds: float) -> int:
    """Runs that take about so long on a core, from 400 to 20,000, in hundreds."""
    part.subject.sample(part.pairs[0].first, 2, part.pairs[0])
    started = time.process_time()
    part.subject.sample(part.pairs[0].first, 20, part.pairs[0])
    each = (time.process_time() - started) / 20
    return int(np.clip(seconds / (2 * each) // 100 * 100, 400, 20_000))


def audited(part: AuditPart, pairs: Any, runs: int, error: float) -> AuditResult:
    """One audit of a part."""
    return audit(
        part.subject, pairs, claimed_epsilon=part.epsilon, delta=part.delta, runs=runs,
        confidence=1 - error,
    )  # fmt: skip


def cell(text: str) -> str:
    """A text that fits a cell of a table."""
    text = text.replace("|", "\\|")
    return text if len(text) <= 90 else text[:87] + "..."


def accusations(rows: Rows, parts: list[tuple[AuditPart, int, int]], options: Any) -> Iterator[str]:
    """How often a real part was accused; pairs in turn."""

    def row(part: AuditPart, runs: int, repetitions: int) -> str:
        results = [
            audited(part, part.pairs[i % len(part.pairs)], runs, options.error)
            for i in range(repetitions)
        ]
        accused = sum(result.verdict == "violates" for result in results)
        largest = max(result.lower_bound for result in results)
        return (
            f"| {part.name} | {repetitions} | {runs:,} | {accused} | {largest:.3f} of "
            f"{part.epsilon:.3g} |"
        )

    return table(
        "| part | audits | runs of each | accused | largest bound |",
        [rows.row(f"accused {p.name} {n} {again}", lambda p=p, n=n, again=again: row(p, n, again))
         for p, n, again in parts],
    )  # fmt: skip


def powers(rows: Rows, repetitions: int, error: float) -> Iterator[str]:
    """How often each planted fault was found, with a 95 % lower limit of the power."""

    def row(fault: Any) -> str:
        started = time.perf_counter()
        results = [
            audit(
                fault.subject, fault.pair, claimed_epsilon=fault.epsilon, delta=fault.delta,
                runs=fault.runs, confidence=1 - error,
            )
            for _ in range(repetitions)
        ]  # fmt: skip
        seconds = (time.perf_counter() - started) / repetitions
        found = sum(result.verdict == "violates" for result in results)
        power = beta.ppf(0.05, found, repetitions - found + 1) if found else 0.0
        median = float(np.median([result.lower_bound for result in results]))
        claim = f"{fault.epsilon:.3g}" + (f", delta {fault.delta:g}" if fault.delta else "")
        return (
            f"| {fault.name} | {fault.pair.name} | {claim} | {median:.2f} | {fault.runs:,} | "
            f"{found}/{repetitions} | {power:.3f} | {seconds:.2f} |"
        )

    return table(
        "| fault | pair | claim | certified (median) | runs | found | power at least | s |",
        [rows.row(f"fault {f.name} {repetitions}", lambda f=f: row(f)) for f in planted_faults()],
    )


def speed(rows: Rows, parts: list[AuditPart], forests: int) -> Iterator[str]:
    """Time of so many small forests of every estimator."""

    def row(part: AuditPart) -> str:
        pair = part.pairs[0]
        part.subject.sample(pair.first, 2, pair)
        wall, own = time.perf_counter(), time.process_time()
        part.subject.sample(pair.first, forests, pair)
        wall, own = time.perf_counter() - wall, time.process_time() - own
        return f"| {part.name} | {forests:,} | {own:.1f} | {wall:.1f} |"

    return table(
        "| part | fits | s of a core | s by the clock |",
        [rows.row(f"speed {p.name} {forests}", lambda p=p: row(p)) for p in parts],
    )


def exact() -> Iterator[str]:
    """True worst cases of small domains."""
    rows = [
        f"| {check.name} | {check.claim:g} | {check.worst:.6f} | {check.ratio:.4f} | "
        f"{check.pairs:,} | {cell(check.where)} |"
        for check in exact_checks()
    ]
    return table("| what | claim | worst case | ratio | pairs | worst pair |", rows)


def published(runs: int) -> Iterator[str]:
    """The multinomial forest as published."""
    fault = next(f for f in planted_faults() if f.name.startswith("the multinomial"))
    result = audit(fault.subject, fault.pair, claimed_epsilon=1, runs=runs, confidence=0.999)
    yield (
        f"With {runs:,} runs on each of the two tables ({fault.pair.name}) and confidence 0.999: "
        f"epsilon >= {result.lower_bound:.2f} where Theorem 2 claims 1 "
        f"({result.event.hits_first} and {result.event.hits_second} of {result.event.runs:,} "
        f"testing runs; {result.event.description}). It grows with the runs without end: the event "
        "cannot happen on the first table."
    )
    yield ""


def one_run() -> Iterator[str]:
    """One-run audits of forests on 2,000 canaries."""
    domain = Domain(features={name: (0.0, 1.0) for name in "abcd"}, classes=["a", "b"])
    rows = []
    for epsilon in (0.5, 1, 2, 5, 20, 200):
        forest = MultinomialForestClassifier(
            epsilon=epsilon, domain=domain, n_estimators=10, max_depth=8,
            accountant=BudgetAccountant(epsilon),
        )  # fmt: skip
        started = time.perf_counter()
        result = audit_one_run(
            forest.fit, corner_canaries(domain, 2000), claimed_epsilon=epsilon, confidence=0.999
        )
        rows.append(
            f"| {epsilon:g} | {result.lower_bound:.3f} | {result.correct}/{result.guesses} | "
            f"{result.largest_certifiable:.2f} | {result.verdict} | "
            f"{time.perf_counter() - started:.2f} |"
        )
    return table("| claim | certified | guesses right | largest certifiable | verdict | s |", rows)


def sections(options: argparse.Namespace) -> Iterator[str]:
    """The whole page."""
    mechanisms, forests = list(mechanism_parts()), list(estimator_parts())
    options.error = error = FAMILY / ((len(mechanisms) + len(forests)) * 200)
    rows = Rows(options.rows)
    yield "# Results of the audit"
    yield ""
    yield (
        "Written by `python benchmarks/audit.py`; what the columns mean and what an audit cannot "
        f"see is in [audit.md](audit.md). Python {platform.python_version()}, numpy "
        f"{np.__version__}."
    )
    yield ""
    yield (
        f"Error of every audit in the first three tables: {error:.2g}, which is {FAMILY:g} over "
        f"{len(mechanisms) + len(forests)} parts and 200 repetitions."
    )
    yield ""
    mechanisms = [part for part in mechanisms if options.parts in part.name]
    forests = [part for part in forests if options.parts in part.name]
    yield from ["## Every mechanism and estimator", ""]
    yield "The pair is the one of all built-in ones that promised most after the learning runs."
    yield ""
    yield from bounds(
        rows,
        [(part, options.runs) for part in mechanisms] + [(part, None) for part in forests],
        options,
    )
    yield from ["## False accusations", ""]
    yield from accusations(
        rows,
        [(part, 4000, options.repetitions) for part in mechanisms]
        + [(part, 400, max(1, options.repetitions // 40)) for part in forests],
        options,
    )
    if options.forests:
        yield from ["## Speed", ""]
        yield "Small forests on the first of the built-in tables, read out, one after another."
        yield ""
        yield from speed(rows, forests, options.forests)
    if options.parts:
        return
    yield from ["## Planted faults", ""]
    yield (
        "Each is audited again and again with fresh randomness; the power is at least the given "
        "number at 95 % confidence (Clopper-Pearson)."
    )
    yield ""
    yield from powers(rows, options.faults, error)
    yield from ["## The multinomial forest as published", ""]
    yield from published(20_000)
    yield from ["## Exact worst cases", ""]
    yield from exact()
    yield from ["## One-run audits", ""]
    yield "Ten trees of depth 8, four features, 2,000 canaries, confidence 0.999."
    yield ""
    yield from one_run()


def with_missing_parts(page: str, options: argparse.Namespace) -> str:
    """The page with the bounds of parts that its first table does not list."""
    every = [(part, options.runs) for part in mechanism_parts()]
    every += [(part, None) for part in estimator_parts()]
    options.error = FAMILY / (len(every) * 200)
    start = page.index("| part |")
    known, tail = page[start:].split("\n\n", 1)
    missing = [
        (part, runs)
        for part, runs in every
        if options.parts in part.name and f"\n| {part.name} |" not in known
    ]
    _, _, *rows, _ = bounds(Rows(options.rows), missing, options)
    says = (
        f"Rows at the end of the table were added later, with `--seconds {options.seconds:g}`, "
        f"at an error of {options.error:.2g} each.\n\n"
    )
    tail = says + tail if rows and says not in tail else tail
    return page[:start] + "\n".join([known, *rows]) + "\n\n" + tail


def shortened(options: argparse.Namespace) -> list[str]:
    """Options by which a run does less than the page's."""
    return [name for name, most in WHOLE.items() if getattr(options, name) < most]


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    helps = {"seconds": "of a core for an estimator", "forests": "0 leaves their speed out"}
    for name, most in WHOLE.items():
        parser.add_argument(f"--{name}", type=type(most), default=most, help=helps.get(name))
    parser.add_argument("--parts", default="", help="only parts with this text in their name")
    parser.add_argument("--rows", type=Path, help="file of finished rows")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--add", action="store_true", help="add what the output does not list")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.add:
            text = with_missing_parts(options.output.read_text(encoding="utf-8"), options)
        else:
            text = "\n".join(sections(options)).rstrip() + "\n"
    print(text)
    if options.output:
        missing = [] if options.add else [*shortened(options), *rows_lost(options.output, text)]
        place_of(options.output, missing).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
