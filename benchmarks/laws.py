"""Do two versions of the package release by the same laws? Many small fits of each, compared.

``compare OLD NEW`` makes ``--fits`` fits of every case of ``tests/frozen/frozen_cases.py`` that has
a law of its own, with the package of one source tree and with that of the other, each in processes
of its own and with seeds of its own. It compares every released number that a fit of one version
and one of the other have in the same place (first and last entries of lists) and predictions at
fixed points: few values by a chi-square test, many by that of Kolmogorov and Smirnov and by a
chi-square test of their tenths. It ends with status 1 where a p-value times the number of all
tests falls below ``ALPHA``.

Results are kept in ``--results``; fits of the same code and cases are not made twice. A fit of a
refitted forest takes ten times as long as one of the others.

Run with ``python benchmarks/laws.py compare OLD NEW [--fits 2000] [--only rules one_shot]``; paths
are those of checkouts, such as two worktrees.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from common.results import Line, Store
from common.sources import REPOSITORY, Sources
from scipy import stats
from tqdm import tqdm

FROZEN = REPOSITORY / "tests" / "frozen"
sys.path.insert(0, str(FROZEN))

#: Error rate over all tests of a comparison.
ALPHA = 1e-4
#: Fits of one process, which a run that was stopped makes again at most.
CHUNK = 250
#: What has more values than these is compared as if it were continuous.
MOST_VALUES = 30
#: Values that fewer fits than these have are counted together.
RARE = 20
#: Texts, such as sets of codes, are compared by the remainder of a checksum.
_REMAINDERS = 16
#: Seeds of the second version begin here.
_SECOND = 10**6
PACKAGE = Sources(files=("dpforest",))
#: A column: a released number of each fit, None where a fit has none there.
Columns = dict[str, list[Any]]


# -- fits, in a process that has one version of the package ---------------------------------------


def columns_of_fits(name: str, first: int, n_fits: int) -> Columns:
    """Released numbers of some fits of a case, by their places."""
    from frozen_cases import CASES

    case = next(case for case in CASES if case.name == name).on_lean_table()
    fits = [_numbers_of(case, first + place) for place in range(n_fits)]
    places = dict.fromkeys(place for fit in fits for place in fit)
    return {place: [fit.get(place) for fit in fits] for place in places}


def _numbers_of(case: Any, seed: int) -> dict[str, Any]:
    from frozen_digests import released_by

    model = case.fit(seed)
    predicted = case.predictions(model)
    found = dict(_flat(released_by(model), "released"))
    # The last probability follows from the others.
    for place, value in np.ndenumerate(predicted[..., :-1] if predicted.ndim > 1 else predicted):
        found[f"prediction {place}"] = float(f"{value:.6g}")
    return found


def _flat(data: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Numbers and texts of nested data with where they stand; of lists the first and the last."""
    if isinstance(data, dict):
        for key in data:
            yield from _flat(data[key], f"{name}.{key}")
    elif isinstance(data, list):
        for place in (0, -1)[: len(data)]:
            yield from _flat(data[place], f"{name}[{place}]")
    elif isinstance(data, float):
        yield name, float(f"{data:.6g}")
    else:
        yield name, crc32(data.encode()) % _REMAINDERS if isinstance(data, str) else data


# -- making and keeping them ---------------------------------------------------------------------


@dataclass(frozen=True)
class Chunk:
    """Some fits of a case with the package of a source tree."""

    tree: Path
    case: str
    first: int
    n_fits: int

    def run(self) -> Line:
        """Make them in a process of their own."""
        command = [sys.executable, __file__, "fits", self.case, str(self.first), str(self.n_fits)]
        environment = {**os.environ, "PYTHONPATH": str(self.tree)}
        made = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=self.tree
        )
        if made.returncode:
            raise SystemExit(f"{self.case} fails with {self.tree}:\n{made.stderr[-3000:]}")
        found = json.loads(made.stdout)
        if Path(found["package"]) != self.tree / "dpforest":
            raise SystemExit(f"fits were made with {found['package']}, not {self.tree}")
        return {**self.key, "cases": _cases_print(), "columns": found["columns"]}

    @property
    def key(self) -> Line:
        """By what its line is known."""
        return {"case": self.case, "first": self.first, "n_fits": self.n_fits}


def _cases_print() -> str:
    return hashlib.sha256((FROZEN / "frozen_cases.py").read_bytes()).hexdigest()[:16]


class Fits:
    """Kept fits of one version, those of this code and these cases."""

    def __init__(self, tree: Path, folder: Path, first: int, n_fits: int) -> None:
        self.tree, self.starts = tree, range(first, first + n_fits, CHUNK)
        self.store = Store(folder / "laws.jsonl", PACKAGE, tree)
        self._found: dict[str, Line] = {}
        for line in self.store.lines():
            self._keep(line)

    def _keep(self, line: Line) -> None:
        if line["cases"] == _cases_print():
            self._found[json.dumps([line["case"], line["first"], line["n_fits"]])] = line

    def missing(self, case: str) -> list[Chunk]:
        """What is to be made of a case."""
        chunks = [Chunk(self.tree, case, start, CHUNK) for start in self.starts]
        return [chunk for chunk in chunks if json.dumps([*chunk.key.values()]) not in self._found]

    def add(self, line: Line) -> None:
        """Keep what was made."""
        self.store.append(line)
        self._keep(line)

    def columns(self, case: str) -> Columns:
        """All fits of a case."""
        lines = [self._found[json.dumps([case, start, CHUNK])] for start in self.starts]
        places = dict.fromkeys(place for line in lines for place in line["columns"])
        empty = [None] * CHUNK
        return {
            place: [value for line in lines for value in line["columns"].get(place, empty)]
            for place in places
        }


def make_missing(sides: tuple[Fits, Fits], cases: list[str], jobs: int) -> None:
    """Fit what is not kept yet, in so many processes at a time."""
    wanted = [(side, chunk) for case in cases for side in sides for chunk in side.missing(case)]
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(chunk.run): side for side, chunk in wanted}
        try:
            for done in tqdm(as_completed(running), total=len(wanted), disable=None):
                running[done].add(done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# -- comparing -----------------------------------------------------------------------------------


def p_value(first: list[Any], second: list[Any]) -> float | None:
    """How likely two columns are to differ so much by chance; None where both are constant."""
    values = Counter(first) + Counter(second)
    if len(values) < 2:
        return None
    if len(values) <= MOST_VALUES:
        return _of_few_values(first, second, values)
    pair = [[value for value in column if value is not None] for column in (first, second)]
    if not all(pair):
        return 0.0
    # That of Kolmogorov and Smirnov sees a shift well, and a wider law less than these shares do.
    shares = _of_few_values(*_binned(first, second))
    both = (float(stats.ks_2samp(*pair, method="asymp").pvalue), 1.0 if shares is None else shares)
    return min(1.0, 2 * min(both))


def _binned(first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any], Counter]:
    """Both columns by tenths of all values."""
    every = np.array([value for value in first + second if value is not None], dtype=np.float64)
    edges = np.quantile(every, np.arange(1, 10) / 10)
    binned = [
        [None if value is None else int(np.searchsorted(edges, value)) for value in column]
        for column in (first, second)
    ]
    return binned[0], binned[1], Counter(binned[0]) + Counter(binned[1])


def _of_few_values(first: list[Any], second: list[Any], values: Counter) -> float | None:
    rows = [Counter(first), Counter(second)]
    common = [value for value, times in values.items() if times >= RARE]
    table = [[row[value] for value in common] for row in rows]
    table = [[*row, len(first) - sum(row)] for row in table]
    kept = np.array(table)[:, np.sum(table, axis=0) > 0]
    return (
        float(stats.chi2_contingency(kept, correction=False).pvalue) if kept.shape[1] > 1 else None
    )


def compare(sides: tuple[Fits, Fits], cases: list[str]) -> bool:
    """Print a line for each case; False where a law differs."""
    found: dict[str, dict[str, float]] = {}
    alone: Counter[str] = Counter()
    for case in cases:
        old, new = (side.columns(case) for side in sides)
        alone[case] = len(old.keys() ^ new.keys())
        tried = {place: p_value(old[place], new[place]) for place in old if place in new}
        found[case] = {place: p for place, p in tried.items() if p is not None}
    n_tests = max(1, sum(map(len, found.values())))
    print("| case | tests | in one version only | smallest p, times all tests | where |")
    print("|" + " --- |" * 5)
    for case, tests in found.items():
        where, p = min(tests.items(), key=lambda item: item[1], default=("", math.nan))
        mark = " **differs**" if p * n_tests < ALPHA else ""
        shown = f"{min(1.0, p * n_tests):.2g}{mark}"
        print(f"| {case} | {len(tests)} | {alone[case]} | {shown} | {where} |")
    differing = [c for c, t in found.items() if min(t.values(), default=1.0) * n_tests < ALPHA]
    print(f"\n{n_tests} tests; {len(differing)} of {len(cases)} cases differ")
    return not differing


def cases_with_laws(only: list[str]) -> list[str]:
    """Names of the cases, all or those whose names begin so."""
    from frozen_cases import CASES

    names = [case.name for case in CASES if case.lean]
    chosen = [name for name in names if not only or name.startswith(tuple(only))]
    if not chosen:
        raise SystemExit(f"no case begins so; there are: {', '.join(names)}")
    return chosen


def main() -> None:
    """Read the command line and do as it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("fits", help="what `compare` runs in each version")
    one.add_argument("case")
    one.add_argument("first", type=int)
    one.add_argument("n_fits", type=int)
    both = commands.add_parser("compare", help="compare two source trees")
    both.add_argument("old", type=Path)
    both.add_argument("new", type=Path)
    both.add_argument("--fits", type=int, default=2000, help=f"a multiple of {CHUNK}")
    both.add_argument("--only", nargs="+", default=[], help="beginnings of names of cases")
    both.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    both.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results")
    given = parser.parse_args()
    if given.command == "fits":
        import dpforest

        columns = columns_of_fits(given.case, given.first, given.n_fits)
        package = str(Path(dpforest.__file__).resolve().parent)
        json.dump({"package": package, "columns": columns}, sys.stdout)
        return
    cases = cases_with_laws(given.only)
    sides = (
        Fits(given.old.resolve(), given.results, 0, given.fits),
        Fits(given.new.resolve(), given.results, _SECOND, given.fits),
    )
    make_missing(sides, cases, given.jobs)
    sys.exit(0 if compare(sides, cases) else 1)


if __name__ == "__main__":
    main()
