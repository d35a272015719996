"""Whether a version of onnxruntime says what forests say: files made here, read there.

``make`` writes forests of every strategy, records and what the forests say of them to a folder.
``run`` needs onnxruntime and numpy alone, of whatever versions and on Python 3.8 or later; it
prints the largest difference, and ends with 1 where it is above 1e-12.

    python benchmarks/onnx_runtimes.py make forests
    other/bin/python benchmarks/onnx_runtimes.py run forests
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

CLOSE = 1e-12
N_FITTED, N_SENT = 5_000, 300
FOUND = "records.npz"


def make(folder: Path) -> None:
    """Files of two classes and of a regression; every fifth value is missing or unknown."""
    from common.our_forests import NAMES

    from dpforest.datasets import load_adult

    folder.mkdir(parents=True, exist_ok=True)
    adult = load_adult()
    kinds = [feature.kind for feature in adult.domain.features]
    records = sent(adult.data[:N_SENT], kinds)
    found = {
        _column(place): np.array(values, dtype=float if kind == "numeric" else str)
        for place, (values, kind) in enumerate(zip(zip(*records), kinds))  # noqa: B905
    }
    for strategy in NAMES:
        forest = fitted(adult, strategy)
        forest.to_onnx(folder / f"{strategy}.onnx")
        found[strategy] = forest.predict_proba(records)
    np.savez(folder / FOUND, **found)


def _column(place: int) -> str:
    return f"column {place}"


def fitted(adult: Any, strategy: str) -> Any:
    """A forest of the first records."""
    from common.our_forests import our_forest

    domain = adult.domain.model_copy(update={"approximate_rows": N_FITTED})
    forest = our_forest(strategy, domain, 8, "1e-6" if strategy == "refitted" else 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return forest.fit(adult.data[:N_FITTED], adult.target[:N_FITTED])


def sent(rows: Any, kinds: list[str]) -> list[list[Any]]:
    """Records as a graph takes them, with gaps and texts that no domain has."""
    records = []
    for i, row in enumerate(np.asarray(rows, dtype=object).tolist()):
        gaps = [(i + j) % 5 == 0 for j in range(len(row))]
        records.append(
            [_odd(i, kind) if gap else value for value, kind, gap in zip(row, kinds, gaps)]  # noqa: B905
        )
    return records


def _odd(i: int, kind: str) -> Any:
    if kind == "numeric":
        return float("nan")
    return "" if i % 2 else "neither"


def run(folder: Path) -> float:
    """The largest difference that this runtime makes."""
    import onnxruntime

    found = np.load(folder / FOUND)
    worst = 0.0
    for path in sorted(folder.glob("*.onnx")):
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        columns = [found[_column(place)] for place in range(len(session.get_inputs()))]
        feed = {
            one.name: (column if column.dtype == float else column.astype(object))[:, None]
            for one, column in zip(session.get_inputs(), columns)  # noqa: B905
        }
        worst = max(worst, float(np.abs(session.run(None, feed)[1] - found[path.stem]).max()))
    print(f"onnxruntime {onnxruntime.__version__}, numpy {np.__version__}: {worst:.1e}")
    return worst


def main() -> None:
    """Make or run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("make", "run"))
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    if asked.what == "make":
        make(asked.folder)
    elif run(asked.folder) > CLOSE:
        sys.exit(1)


if __name__ == "__main__":
    main()
