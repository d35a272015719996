"""Result lines in JSON: one a fit, appended as it ends, so that a run takes up where one stopped.

Other packages' results on the same splits may lie in a folder of their own, named by
``DPFOREST_BENCH`` (default ``../shared/bench``, file ``results/peers.jsonl``); they are used where
their split's fingerprint is ours, and nothing depends on them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from common.models import GRID
from common.tables import REPOSITORY

Line = dict[str, Any]
Key = tuple[str, str, float | None, int]

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


def key_of(line: Line) -> Key:
    """What a fit is known by."""
    return line["dataset"], line["model"], line["epsilon"], line["seed"]


def read_lines(path: Path) -> list[Line]:
    """All whole lines; the last may have been cut short when a run was stopped."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def finished(lines: Iterable[Line]) -> dict[Key, Line]:
    """Fits by key, the last line of each; one that failed is tried again."""
    return {key_of(line): line for line in lines if "error" not in line}


class ResultFile:
    """Appends lines, each flushed."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        ends_well = not path.exists() or path.read_bytes()[-1:] in (b"", b"\n")
        self._file = path.open("a", encoding="utf-8")
        if not ends_well:
            self._file.write("\n")

    def append(self, line: Line) -> None:
        """Write one line."""
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def bench_folder() -> Path:
    """The optional folder of stored results of other packages."""
    return Path(os.environ.get("DPFOREST_BENCH", REPOSITORY.parent / "shared" / "bench"))


def stored_peers() -> Iterator[Line]:
    """Stored results in our form, each with its configuration and its split's fingerprint.

    Where a package is for two classes only, those for more are of one model a class against the
    rest, at its part of the budget.
    """
    for row in read_lines(bench_folder() / "results" / "peers.jsonl"):
        if row["estimator"] in _STORED and "acc" in row:
            model, defaults = _STORED[row["estimator"]]
            yield {
                "dataset": row["dataset"],
                "model": model,
                "choice": row["config"],
                "default": row["config"] in defaults,
                "epsilon": row["eps"],
                "seed": row["seed"],
                "split": row["split"],
                "accuracy": row["acc"],
                "auc": row["auc"],
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
