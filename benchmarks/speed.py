"""Fits, predictions and encoding beside other packages' on the same codes, as ratios of one run.

Encoded tables (encoding is timed by itself), after compilation, actions in turn so that drift hits
all; a ratio is the median over repeats of ours over theirs, in the same turn. On one thread times
are processor seconds of the process, which other load on the machine disturbs least; on two they
are wall seconds. scikit-learn's forest has as many trees of the same depth as ours, as many as it
has rounds for a refitted forest, and 100 grown out beside our default. "Floor" is the time for
the updates, look-ups and steps that a fit cannot do without, see ``common.speed_cases``.

Each measurement is a JSON line, appended as it ends, and is not made again while it is there:
``python benchmarks/speed.py [parts] [--threads 1 2] [--fits …] [--again]``; parts are adult,
continuous, connect_4, covertype (the last two from ``--data``, skipped where absent), sizes,
growth, synthetic.
``python benchmarks/speed.py --write`` makes docs/speed.md's tables and plots of the lines.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import re
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import speed_cases as cases
from common import speed_peers as peers
from common.results import Store
from common.sources import Sources
from common.speed_report import write_page
from common.tables import REPOSITORY, data_folder

Actions = dict[str, Callable[[], Any]]
DEFAULT_RESULTS = REPOSITORY / "benchmarks" / "results" / "speed.jsonl"
PARTS = ("adult", "continuous", "connect_4", "covertype", "sizes", "growth", "synthetic")
FITS = {
    "one-shot": cases.one_shot,
    "multinomial": cases.multinomial,
    "refitted": cases.refitted,
    "default": cases.default,
}
#: By part; where other packages are timed beside ours, theirs count too.
_PEERS = ("scikit-learn", "diffprivlib", "interpret-core", "treelite")
MADE_BY = {
    "fit": Sources(("speed:time_fits",), packages=_PEERS),
    "predict": Sources(("speed:time_prediction",), packages=_PEERS),
    "encode": Sources(("speed:time_encoding",)),
    "sizes": Sources(("speed:time_sizes",), packages=_PEERS),
    "growth": Sources(("speed:time_growth",), packages=_PEERS),
    "synthetic": Sources(("speed:time_synthetic",)),
}
#: What tells one measurement from another.
KEY = ("part", "table", "fit", "threads", "over", "value")
#: A repeat that takes so many seconds is made few times.
LONG = 10.0


class Results:
    """Lines that are there already, and the file that new ones go to."""

    def __init__(self, path: Path, again: bool, made_by: dict[str, Sources] = MADE_BY) -> None:
        self.file = Store(path, lambda line: made_by[line["part"]])
        self.done = set() if again else {key_of(line) for line in self.file.lines()}

    def missing(self, **key: Any) -> bool:
        """Whether a measurement has still to be made."""
        return key_of(key) not in self.done

    def add(self, line: dict[str, Any]) -> None:
        """Keep a measurement with its setting."""
        self.file.append({**line, **setting()})
        shown = {name: line[name] for name in (*KEY, "ratio", "seconds") if name in line}
        print(shown, f"load {os.getloadavg()[0]:.1f}", flush=True)


def key_of(line: dict[str, Any]) -> tuple[Any, ...]:
    """What a measurement is known by."""
    return tuple(line.get(name) for name in KEY)


def setting() -> dict[str, Any]:
    """Machine and versions, and how busy the machine was."""
    import numba
    import sklearn

    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scikit-learn": sklearn.__version__,
    }


def timed(actions: Actions, repeats: int, threads: int, long: float = LONG) -> dict[str, Any]:
    """Median seconds by action, and the median ratio of the first to each, turn by turn."""
    turns = in_turn(actions, repeats, threads, long)
    ratios = turns[:, :1] / turns
    return {
        "repeats": len(turns),
        "seconds": dict(zip(actions, np.median(turns, axis=0).tolist(), strict=True)),
        "ratio": dict(zip(actions, np.median(ratios, axis=0).tolist(), strict=True)),
    }


def in_turn(actions: Actions, repeats: int, threads: int, long: float = LONG) -> np.ndarray:
    """Seconds by turn and action; of long turns there are fewer."""
    from threadpoolctl import threadpool_limits

    clock = time.process_time if threads == 1 else time.perf_counter
    turns: list[list[float]] = []
    with threadpool_limits(threads):
        while len(turns) < repeats:
            turn = []
            for action in actions.values():
                started = clock()
                action()
                turn.append(clock() - started)
            turns.append(turn)
            if sum(turn) > long:
                repeats = min(repeats, 3)
            if sum(turn) > 6 * long:
                repeats = 1
    return np.array(turns)


def time_fits(
    table: cases.Coded,
    fits: list[str],
    repeats: int,
    threads: int,
    results: Results,
    long: float = LONG,
) -> None:
    """Fits of one table on so many threads."""
    X, rows = table.plain, table.codes[:1]
    for name in fits:
        make = FITS[name]
        key = {"part": "fit", "table": table.name, "fit": name, "threads": threads}
        if not results.missing(**key) or (name == "default" and threads > 1):
            continue
        fit = make(table)
        ours = fit.make(threads)
        actions: Actions = {"ours": lambda ours=ours: ours.fit(rows, table.labels[:1])}
        actions["scikit-learn"] = peers.sklearn_forest(fit, table, X, threads)
        if name == "one-shot":
            actions |= peers.diffprivlib(fit, table, X, threads)
            if threads == 1:
                actions |= peers.boosting(table, X) | peers.dp_ebm(table, X)
        actions["ours"]()  # compiles
        if name == "multinomial":
            fit = cases.with_floor(fit, table, ours.forest_)
        shape = {"shape": table.codes.shape, "classes": table.n_classes, "size": fit.size}
        measured = timed(actions, repeats, threads, long)
        over = measured["seconds"]["ours"] / fit.floor if fit.floor else None
        results.add({**key, **shape, "floor": fit.floor, "over_floor": over, **measured})


def time_prediction(table: cases.Coded, repeats: int, results: Results) -> None:
    """``predict_proba`` of 100 trees on a numeric array, encoding included."""
    key = {"part": "predict", "table": table.name, "threads": 1}
    if table.raw is None or isinstance(table.raw[0], np.ndarray) is False:
        return
    if not results.missing(**key):
        return
    from sklearn.ensemble import RandomForestClassifier

    X, y, domain = table.raw
    X = np.asarray(X, dtype=np.float64)
    filled = np.nan_to_num(X).astype(np.float32)
    ours = cases.Multinomial(
        epsilon=1, domain=domain, n_estimators=cases.TREES, max_depth=cases.DEPTH
    )
    ours.fit(X, y).predict_proba(X[:10])
    theirs = RandomForestClassifier(cases.TREES, max_depth=cases.DEPTH).fit(filled, y)
    actions: Actions = {
        "ours": lambda: ours.predict_proba(X),
        "scikit-learn": lambda: theirs.predict_proba(filled),
    }
    actions |= peers.compiled_trees(theirs, filled)
    results.add({**key, "shape": X.shape, **timed(actions, repeats, 1)})


def time_encoding(table: cases.Coded, repeats: int, results: Results) -> None:
    """Encoding of the raw table: of the array or frame and, where there is one, of the other."""
    key = {"part": "encode", "table": table.name, "threads": 1}
    if table.raw is None or not results.missing(**key):
        return
    X, y, domain = table.raw
    encoder = cases.DomainEncoder(domain)
    actions: Actions = {type(X).__name__: lambda: encoder.encode(X, y)}
    if table.frame is not None:
        actions["DataFrame"] = lambda: encoder.encode(*table.frame)
    results.add({**key, "shape": table.codes.shape, **timed(actions, repeats, 1)})


def time_sizes(results: Results, repeats: int) -> None:
    """One-shot fits beside diffprivlib's and scikit-learn's forests, over n."""
    full = cases.synthetic(1_024_000)
    for n in (1_000, 4_000, 16_000, 64_000, 256_000, 1_024_000):
        key = {"part": "sizes", "over": "n", "value": n, "fit": "one-shot", "threads": 1}
        if not results.missing(**key):
            continue
        table = full.part(slice(0, n), slice(0, 14))
        fit, X = cases.one_shot(table), table.plain
        ours = fit.make(1)
        actions: Actions = {"ours": lambda ours=ours, t=table: ours.fit(t.codes[:1], t.labels[:1])}
        actions["scikit-learn"] = peers.sklearn_forest(fit, table, X, 1)
        actions |= peers.diffprivlib(fit, table, X, 1)
        actions["ours"]()
        results.add({**key, "size": fit.size, **timed(actions, repeats, 1)})


def time_growth(results: Results, repeats: int) -> None:
    """Multinomial fits over n, D, trees and depth, one at a time around 40,000 x 20, 20 x 6."""
    sizes = {
        "n": [(n, 20, 20, 6) for n in (5_000, 20_000, 80_000, 320_000)],
        "D": [(40_000, width, 20, 6) for width in (5, 10, 20, 30)],
        "trees": [(40_000, 20, trees, 6) for trees in (5, 20, 80, 320)],
        "depth": [(40_000, 20, 20, depth) for depth in (2, 4, 6, 8, 10)],
    }
    full = cases.synthetic(320_000)
    for over, all_cells in sizes.items():
        for cells in all_cells:
            value = cells[list(sizes).index(over)]
            key = {"part": "growth", "over": over, "value": value, "threads": 1}
            if not results.missing(**key):
                continue
            n, width, trees, depth = cells
            table = full.part(slice(0, n), slice(0, width))
            fit = cases.multinomial(table, trees, depth)
            ours = fit.make(1)
            actions: Actions = {
                "ours": lambda o=ours, t=table: o.fit(t.codes[:1], t.labels[:1]),
                "scikit-learn": peers.sklearn_forest(fit, table, table.plain, 1),
            }
            actions["ours"]()
            memory = {name: peak_beyond(action) for name, action in actions.items()}
            line = {**key, "table_mb": table.codes.nbytes / 2**20, "memory_mb": memory}
            results.add({**line, **timed(actions, repeats, 1)})


def peak_beyond(action: Callable[[], Any]) -> float | None:
    """Megabytes of memory that an action takes at its peak; None where Linux does not tell."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        action()
        return (_status("VmHWM") - before) / 1024
    except OSError:
        return None


def _status(name: str) -> int:
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text()).group(1))


def time_synthetic(results: Results, largest: int) -> None:
    """One-shot fits of 10^5 to 10^7 records on both threads; memory beyond the codes."""
    for n_rows in (10**5, 10**6, 10**7):
        key = {"part": "synthetic", "over": "n", "value": n_rows, "threads": 2}
        if n_rows > largest or not results.missing(**key):
            continue
        table = cases.synthetic(n_rows)
        fit, rows = cases.one_shot(table), table.codes[:1]
        cases.one_shot(table.part(slice(0, 70_000), slice(None))).make(2).fit(rows, rows[0, :1])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, processor = time.perf_counter(), time.process_time()
        fit.make(2).fit(rows, table.labels[:1])
        line = {
            "trees": fit.n_trees, "size": fit.size, "floor": fit.floor,
            "seconds": {"wall": time.perf_counter() - wall,
                        "processor": time.process_time() - processor},
            "codes_gb": table.codes.nbytes / 2**30,
            "beyond_gb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20,
        }  # fmt: skip
        results.add({**key, "shape": table.codes.shape, **line})


def run(part: str, arguments: argparse.Namespace, results: Results) -> None:
    """One part of the benchmark."""
    repeats = arguments.repeats
    if part == "synthetic":
        return time_synthetic(results, arguments.largest)
    if part == "growth":
        return time_growth(results, repeats)
    if part == "sizes":
        return time_sizes(results, repeats)
    makers = {"adult": cases.adult, "continuous": cases.continuous}
    table = makers[part]() if part in makers else cases.from_folder(part, arguments.data)
    if table is None:
        print(f"{part}: skipped, no {part}.csv.gz in {arguments.data}")
        return None
    if 1 in arguments.threads:
        time_encoding(table, repeats, results)
        time_prediction(table, repeats, results)
    for threads in arguments.threads:
        time_fits(table, arguments.fits, repeats, threads, results, arguments.long)
    return None


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--long", type=float, default=LONG, help="seconds of a turn made seldom")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--fits", nargs="*", choices=list(FITS), default=list(FITS))
    parser.add_argument("--largest", type=int, default=10**7)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--results", type=Path, default=DEFAULT_RESULTS)
    parser.add_argument("--again", action="store_true", help="measure what is there, too")
    parser.add_argument("--write", action="store_true", help="make docs/speed.md of the results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(arguments.results, arguments.again)
    for part in arguments.parts:
        run(part, arguments, results)
    if arguments.write:
        write_page(results.file.reported(), REPOSITORY / "docs")


if __name__ == "__main__":
    main()
