"""The long audit: every mechanism and private estimator, exact worst cases, planted faults.

Run with ``python benchmarks/audit.py [--repetitions 200] [--faults 100] [--runs 200000]
[--fits 2000] [--parts TEXT] [--output docs/audit_results.md]``; the defaults take about ten
minutes on a core, forests that are slower to fit apart.
Fast settings of the same audits run in the tests.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import platform
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import dpforest
from dpforest import BudgetAccountant, Domain, MultinomialForestClassifier
from dpforest.audit import (
    AuditResult,
    Part,
    audit,
    audit_one_run,
    corner_canaries,
    estimator_part,
    exact_checks,
    mechanism_parts,
)

FAMILY = 0.001  # probability of one false accusation in the whole run
VARIANTS: list[dict[str, Any]] = [
    {},
    {"factory": "as_published"},
    {"choice": "joint", "criterion": "majority_count", "leaves": "count_label"},
    {"selection": "permute_and_flip", "leaves": "count_label_permute_and_flip"},
    {"thresholds": "lattice"},
    {"delta": 0.01},
    {"partition_rate": 1, "allocation": "theorem2"},
]


def estimators() -> list[Part]:
    """Every public estimator that takes a budget and public facts; the multinomial in variants."""
    parts = [estimator_part(MultinomialForestClassifier, **variant) for variant in VARIANTS]
    for name in dpforest.__all__:
        kind = getattr(dpforest, name)
        if kind is MultinomialForestClassifier or not isinstance(kind, type):
            continue
        # Of what can be fitted, those that take a budget and public facts.
        if not hasattr(kind, "fit"):
            continue
        if {"epsilon", "domain"} <= inspect.signature(kind).parameters.keys():
            parts.append(estimator_part(kind))
    return parts


def planted_faults() -> tuple[Any, ...]:
    """The faults of tests/faults, which are no part of the package."""
    path = Path(__file__).parent.parent / "tests" / "faults" / "faults.py"
    spec = importlib.util.spec_from_file_location("planted_faults", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return tuple(module.planted_faults())


def table(header: str, rows: list[str]) -> Iterator[str]:
    """A table in Markdown."""
    yield header
    yield "|" + " --- |" * (header.count("|") - 1)
    yield from rows
    yield ""


def bounds(parts: list[tuple[Part, int]], error: float) -> Iterator[str]:
    """Claim and certified bound of every part, on all its pairs."""
    rows = []
    for part, runs in parts:
        started = time.perf_counter()
        result = audited(part, list(part.pairs), runs, error)
        seconds = time.perf_counter() - started
        claim = f"{part.epsilon:.3g}" + (f", delta {part.delta:g}" if part.delta else "")
        rows.append(
            f"| {part.name} | {claim} | {result.lower_bound:.3f} | {result.interval[1]:.3f} | "
            f"{runs:,} | {result.largest_certifiable:.1f} | {result.pair} | "
            f"{cell(result.event.description)} | {result.verdict} | {seconds:.1f} |"
        )
        progress(rows[-1])
    return table(
        "| part | claim | certified | upper end of the event | runs | largest certifiable | pair | "
        "event | verdict | s |",
        rows,
    )


def audited(part: Part, pairs: Any, runs: int, error: float) -> AuditResult:
    """One audit of a part."""
    return audit(
        part.subject, pairs, claimed_epsilon=part.epsilon, delta=part.delta, runs=runs,
        confidence=1 - error,
    )  # fmt: skip


def cell(text: str) -> str:
    """A text that fits a cell of a table."""
    text = text.replace("|", "\\|")
    return text if len(text) <= 90 else text[:87] + "..."


def accusations(parts: list[tuple[Part, int, int]], error: float) -> Iterator[str]:
    """How often a real part was accused; pairs in turn."""
    rows = []
    for part, runs, repetitions in parts:
        results = [
            audited(part, part.pairs[i % len(part.pairs)], runs, error) for i in range(repetitions)
        ]
        accused = sum(result.verdict == "violates" for result in results)
        largest = max(result.lower_bound for result in results)
        rows.append(
            f"| {part.name} | {repetitions} | {runs:,} | {accused} | {largest:.3f} of "
            f"{part.epsilon:.3g} |"
        )
        progress(rows[-1])
    return table("| part | audits | runs of each | accused | largest bound |", rows)


def powers(repetitions: int, error: float) -> Iterator[str]:
    """How often each planted fault was found, with a 95 % lower limit of the power."""
    rows = []
    for fault in planted_faults():
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
        rows.append(
            f"| {fault.name} | {fault.pair.name} | {claim} | {median:.2f} | {fault.runs:,} | "
            f"{found}/{repetitions} | {power:.3f} | {seconds:.2f} |"
        )
        progress(rows[-1])
    return table(
        "| fault | pair | claim | certified (median) | runs | found | power at least | s |", rows
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


def progress(line: str) -> None:
    """Say what is done; the table itself is printed at the end."""
    print(line, file=sys.stderr, flush=True)


def sections(options: argparse.Namespace) -> Iterator[str]:
    """The whole page."""
    mechanisms, forests = list(mechanism_parts()), estimators()
    error = FAMILY / ((len(mechanisms) + len(forests)) * 200)
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
        [(part, options.runs) for part in mechanisms] + [(part, options.fits) for part in forests],
        error,
    )
    yield from ["## False accusations", ""]
    yield from accusations(
        [(part, 4000, options.repetitions) for part in mechanisms]
        + [(part, 400, max(1, options.repetitions // 20)) for part in forests],
        error,
    )
    if options.parts:
        return
    yield from ["## Planted faults", ""]
    yield (
        "Each is audited again and again with fresh randomness; the power is at least the given "
        "number at 95 % confidence (Clopper-Pearson)."
    )
    yield ""
    yield from powers(options.faults, error)
    yield from ["## The multinomial forest as published", ""]
    yield from published(20_000)
    yield from ["## Exact worst cases", ""]
    yield from exact()
    yield from ["## One-run audits", ""]
    yield "Ten trees of depth 8, four features, 2,000 canaries, confidence 0.999."
    yield ""
    yield from one_run()


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--fits", type=int, default=2000)
    parser.add_argument("--parts", default="", help="only parts with this text in their name")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = "\n".join(sections(options)).rstrip() + "\n"
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
