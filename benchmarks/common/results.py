"""Result lines in JSON: one a fit, appended as it ends, so that a run takes up where one stopped.

Every line carries the print of the sources that made it (see `common.sources`). Lines of other
code, and those without a print, are as good as absent: a run makes them anew, a report leaves them
out and says so.

Other packages' results on the same splits may lie in a folder of their own, named by
``DPFOREST_BENCH`` (default ``../shared/bench``, file ``results/peers.jsonl``); they are used where
their split's fingerprint is ours, and nothing depends on them. They are of no code of ours and
carry no print.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from common.models import GRID
from common.records import part_of
from common.sources import REPOSITORY, Sources, code_of

Line = dict[str, Any]
Key = tuple[str, str, float | None, int]
#: Under which a line carries its print.
STAMP = "sources"

#: Our name of another package's model, and the configurations that are its defaults, by theirs.
_STORED = {
    "dpl_rf": ("diffprivlib forest", ("T10_d5@ord", "T10_d5@oh")),
    "dpl_lr": ("diffprivlib logistic regression", ("C1@unit",)),
    "dpl_gnb": ("diffprivlib naive Bayes", ("ord", "oh")),
    "dp_ebm": ("DP-EBM", ("default",)),
    "dp_ebm_ovr": ("DP-EBM", ("default",)),
    "dpxgb": ("dp-xgboost", ("example",)),
    "dpxgb_ovr": ("dp-xgboost", ("example",)),
}
#: Models of another file, whose splits are the same ones: it holds no fingerprints of them.
_STORED_LINEAR = {
    "gam": "noisy additive model",
    "sgd_lr": "DP-SGD logistic regression",
    "sgd_mlp": "DP-SGD network",
    "objpert": "objective perturbation",
}


def key_of(line: Line) -> Key:
    """What a fit is known by."""
    return line["dataset"], line["model"], line["epsilon"], line["seed"]


def _read_lines(path: Path) -> list[Line]:
    """All whole lines; the last may have been cut short when a run was stopped."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return [line for line in lines if isinstance(line, dict)]


def finished(lines: Iterable[Line]) -> dict[Key, Line]:
    """Fits by key, the last line of each; one that failed is tried again."""
    return {key_of(line): line for line in lines if "error" not in line}


class Store:
    """A file of result lines, each with the print of the sources that it depends on.

    Parameters
    ----------
    path : Path
        JSON lines; made, with its folder, by the first line.
    sources : Sources, or callable
        What the lines depend on; or what a line depends on, of the line. It may raise a KeyError
        for a line of a case that no longer is.
    repository : Path
        Whose code is meant, as it is now.
    """

    def __init__(
        self,
        path: Path,
        sources: Sources | Callable[[Line], Sources],
        repository: Path = REPOSITORY,
    ) -> None:
        self.path, self.repository = path, repository
        self._of = (lambda line: sources) if isinstance(sources, Sources) else sources
        code_of(repository)

    def lines(self) -> list[Line]:
        """Those of this code."""
        return [line for line in _read_lines(self.path) if self._is_current(line)]

    def reported(self) -> list[Line]:
        """The lines that a report is made of, those of this code; others are left out in words.

        Raises
        ------
        SystemExit
            If all are of other code.
        """
        lines, every = self.lines(), _read_lines(self.path)
        left_out = f"{len(every) - len(lines)} of {len(every)} lines of {self.path}"
        if every and not lines:
            raise SystemExit(f"nothing to report: {left_out} are of other code; run the benchmark")
        if len(lines) < len(every):
            print(f"left out: {left_out} are of other code", file=sys.stderr)
        return lines

    def append(self, line: Line) -> None:
        """Write one line with its print; one that another process made may carry its own."""
        stamped = line if STAMP in line else self.stamped(line)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            start = max(file.seek(0, os.SEEK_END) - 1, 0)
            file.seek(start)
            ends_well = file.read() in (b"", b"\n")
            file.write(("" if ends_well else "\n").encode() + json.dumps(stamped).encode() + b"\n")

    def stamped(self, line: Line) -> Line:
        """The line with the print of what it depends on."""
        return {**line, STAMP: self._of(line).print(self.repository)}

    def _is_current(self, line: Line) -> bool:
        try:
            return STAMP in line and line[STAMP] == self.stamped(line)[STAMP]
        except KeyError:
            return False


def fit_and_report(
    asked: argparse.Namespace,
    out: Store,
    fit_missing: Callable[[argparse.Namespace, Store], None],
    report: Callable[[argparse.Namespace, list[Line]], None],
) -> None:
    """Fit on one thread what has no line yet, but where a report alone is asked for; report."""
    threadpool_limits(1)
    if not asked.report_only:
        fit_missing(asked, out)
    report(asked, out.reported())


def bench_folder() -> Path:
    """The optional folder of stored results of other packages."""
    return Path(os.environ.get("DPFOREST_BENCH", REPOSITORY.parent / "shared" / "bench"))


def stored_peers(tables: Collection[str]) -> Iterator[Line]:
    """Stored results in our form, each with its configuration and its split's fingerprint.

    Of a long table they are those of its part, if that is one of our tables.

    Where a package is for two classes only, those for more are of one model a class against the
    rest, at its part of the budget.
    """
    for row in _read_lines(bench_folder() / "results" / "peers.jsonl"):
        if row["estimator"] in _STORED and "acc" in row:
            model, defaults = _STORED[row["estimator"]]
            yield {
                "dataset": _table_of(row["dataset"], tables),
                "model": model,
                "choice": row["config"],
                "default": row["config"] in defaults,
                "epsilon": row["eps"],
                "seed": row["seed"],
                "split": row["split"],
                "accuracy": row["acc"],
                "auc": row["auc"],
            }
    yield from _linear_peers(tables)


def _table_of(dataset: str, tables: Collection[str]) -> str:
    """Our name of a stored result's table: of a long one its part, if that is one of ours."""
    part = part_of(dataset)
    return part if part in tables else dataset


def _linear_peers(tables: Collection[str]) -> Iterator[Line]:
    """Stored results of additive and linear learners with a delta, each at one fixed setting."""
    for row in _read_lines(bench_folder() / "results" / "linear_peers.jsonl"):
        if row["delta"]:
            yield {
                "dataset": _table_of(row["dataset"], tables),
                "model": _STORED_LINEAR[row["model"]],
                "choice": "default",
                "default": True,
                "epsilon": row["eps"],
                "seed": row["seed"],
                "split": None,
                "accuracy": row["acc"],
                "auc": row["auc"],
                "log_loss": row["ll"],
            }


def as_choice(line: Line) -> Line:
    """A result line of another package that ran here, in the form of the stored ones."""
    model, _, choice = line["model"].partition(GRID)
    return {**line, "model": model, "choice": choice or "default", "default": not choice}


def defaults_of(lines: Iterable[Line]) -> Iterator[Line]:
    """The results at the defaults; of several encodings the best, see `best_choices`."""
    yield from best_choices(line for line in lines if line["default"])


def best_of_grids(lines: Iterable[Line]) -> Iterator[Line]:
    """The best choice wherever more than the defaults ran, see `best_choices`."""
    lines = list(lines)
    tuned = {_group_of(line) for line in lines if not line["default"]}
    yield from best_choices(line for line in lines if _group_of(line) in tuned)


def best_choices(lines: Iterable[Line]) -> Iterator[Line]:
    """Of each dataset, model and epsilon the choice with the best mean accuracy, all its lines.

    Chosen on test labels at no cost, which no user can do: an optimistic bound.
    """
    groups: dict[tuple[str, str, float], dict[str, list[Line]]] = {}
    for line in lines:
        groups.setdefault(_group_of(line), {}).setdefault(line["choice"], []).append(line)
    for choices in groups.values():
        most = max(map(len, choices.values()))
        whole = [fits for fits in choices.values() if len(fits) >= min(3, most)]
        yield from max(whole, key=lambda fits: sum(fit["accuracy"] for fit in fits) / len(fits))


def _group_of(line: Line) -> tuple[str, str, float]:
    return line["dataset"], line["model"], line["epsilon"]
