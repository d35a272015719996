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

from common.tables import REPOSITORY

Line = dict[str, Any]
Key = tuple[str, str, float | None, int]

#: Stored name of a package's model, and the configurations that are its defaults, by ours.
_STORED = {
    "diffprivlib forest": ("dpl_rf", ("T10_d5@ord", "T10_d5@oh")),
    "diffprivlib logistic regression": ("dpl_lr", ("C1@unit",)),
    "diffprivlib naive Bayes": ("dpl_gnb", ("ord", "oh")),
    "DP-EBM": ("dp_ebm", ("default",)),
    "DP-EBM, one against the rest": ("dp_ebm_ovr", ("default",)),
    "dp-xgboost": ("dpxgb", ("example",)),
    "dp-xgboost, one against the rest": ("dpxgb_ovr", ("example",)),
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


def stored_peers(splits: dict[tuple[str, int], str]) -> Iterator[Line]:
    """Stored results on our own splits, in our form; the choices of a grid are marked.

    Parameters
    ----------
    splits : dict
        Fingerprints by (dataset, seed).
    """
    of_stored = {name: (ours, defaults) for ours, (name, defaults) in _STORED.items()}
    for row in read_lines(bench_folder() / "results" / "peers.jsonl"):
        known = of_stored.get(row["estimator"])
        same_split = splits.get((row["dataset"], row["seed"])) == row.get("split")
        if known is not None and same_split and "acc" in row:
            yield {
                "dataset": row["dataset"],
                "model": known[0],
                "choice": row["config"],
                "default": row["config"] in known[1],
                "epsilon": row["eps"],
                "seed": row["seed"],
                "accuracy": row["acc"],
                "auc": row["auc"],
                "n_classes": row["classes"],
                "stored": True,
            }


def best_choices(lines: Iterable[Line], only_defaults: bool) -> Iterator[Line]:
    """One line a fit: of each model, dataset and epsilon the choice of the best mean accuracy.

    Chosen on test labels at no cost, which no user can do: an optimistic bound, also among the
    two encodings of a default.
    """
    groups: dict[tuple[str, str, float], dict[str, list[Line]]] = {}
    for line in lines:
        if line["default"] or not only_defaults:
            group = groups.setdefault((line["dataset"], line["model"], line["epsilon"]), {})
            group.setdefault(line["choice"], []).append(line)
    for choices in groups.values():
        most = max(map(len, choices.values()))
        whole = [lines for lines in choices.values() if len(lines) >= min(3, most)]
        best = max(whole, key=lambda fits: sum(fit["accuracy"] for fit in fits) / len(fits))
        yield from best
