"""Chunks of pairs: what was tried in each and what was found, as one line of JSON."""

from __future__ import annotations

import collections
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from doorway import containers, readers
from doorway.answers import FAULTS, Answer, Case, NotMade, judged
from doorway.effects import effect_of
from doorway.objects import AttributeRefuses
from doorway.smaller import described, signature_of, smallest
from doorway.tables import Manner, Pair, draw_pair

#: Pairs of a chunk, one family of containers or readers.
CHUNK = 200
#: Tables that are drawn for a pair before the family is said to take none.
MOST_DRAWS = 30
#: Examples of one sort of fault that a chunk makes small.
MOST_EXAMPLES = 2

Line = dict[str, Any]


def families() -> dict[str, tuple[Case, ...]]:
    """Containers and readers, each with its ways."""
    found: dict[str, tuple[Case, ...]] = {}
    for case in (*containers.ways(), *readers.readers()):
        found[case.family] = (*found.get(case.family, ()), case)
    return found


class Chunk:
    """Some pairs of one family.

    Parameters
    ----------
    family : name of a container or reader
    number, seed : which pairs are drawn
    folder : where files are written
    """

    def __init__(self, family: str, number: int, seed: int, folder: Path) -> None:
        self.family, self.number, self.seed, self.folder = family, number, seed, folder
        self.cases = families()[family]
        self.manner = containers.manner_of(family)
        self.tried: collections.Counter[str] = collections.Counter()
        self.kinds: collections.Counter[str] = collections.Counter()
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.found: dict[Any, Line] = {}

    def run(self, pairs: int = CHUNK) -> Line:
        """Draw so many pairs, and say what was found."""
        started = time.process_time()
        for place in range(pairs):
            self._one(self.number * CHUNK + place)
        return {
            "family": self.family, "number": self.number, "seed": self.seed, "pairs": pairs,
            "ways": dict(self.tried), "kinds": dict(self.kinds), "outcomes": dict(self.outcomes),
            "faults": list(self.found.values()),
            "seconds": round(time.process_time() - started, 2),
        }  # fmt: skip

    def _one(self, number: int) -> None:
        """One pair; where a container does not take the values, others are drawn."""
        rng = random.Random(f"{self.seed} {self.family} {number}")
        case = self.cases[number % len(self.cases)]
        for _ in range(MOST_DRAWS):
            pair = draw_pair(rng, self.manner)
            if _ends_the_process(self.family, pair):
                self.outcomes["not made"] += 1
                continue
            try:
                fault, answers = judged(case, pair, self.folder)
            except NotMade:
                self.outcomes["not made"] += 1
                continue
            self._note(case, pair, fault, answers)
            return
        self.outcomes["none made"] += 1

    def _note(
        self, case: Case, pair: Pair, fault: str | None, answers: tuple[Answer, Answer]
    ) -> None:
        self.tried[case.name] += 1
        self.kinds.update(pair.kinds)
        if fault is None:
            refused = answers[0].error is not None
            self.outcomes["refused alike" if refused else "the same"] += 1
            return
        effect = effect_of(case, pair, self.folder)
        if effect is not None:
            self.outcomes[f"effect: {effect}"] += 1
            return
        self.outcomes[fault] += 1
        self._keep(case, pair, (case.name, *signature_of(fault, answers)))

    def _keep(self, case: Case, pair: Pair, key: tuple[Any, ...]) -> None:
        known = self.found.setdefault(
            key, {"way": case.name, "signature": key[1:], "count": 0, "kinds": {}, "examples": []}
        )
        known["count"] += 1
        for kind in pair.kinds:
            known["kinds"][kind] = known["kinds"].get(kind, 0) + 1
        if len(known["examples"]) < MOST_EXAMPLES:
            small = smallest(case, pair, key[1:], self.folder)
            known["examples"].append(described(small, judged(case, small, self.folder)[1]))


#: Where cells reach Arrow, which ends the process at some: objects without attributes, numpy's
#: times without a unit, and numpy's dates beside others of its scalars.
_WITH_ARROW = ("Arrow", "pandas, Arrow", "Parquet", "BatchStream of frames", "Dask", "array-likes",
               "polars", "lazy")  # fmt: skip


def _ends_the_process(family: str, pair: Pair) -> bool:
    if not family.startswith(_WITH_ARROW):
        return False
    rows, labels = pair.larger
    cells = [*labels, *(cell for row in rows if isinstance(row, tuple) for cell in row)]
    kinds = {type(cell) for cell in cells if issubclass(type(cell), np.generic)}
    return (np.datetime64 in kinds and len(kinds) > 1) or any(
        type(cell) is AttributeRefuses or _is_without_unit(cell) for cell in cells
    )


def _is_without_unit(cell: Any) -> bool:
    is_time = type(cell) in (np.datetime64, np.timedelta64)
    return is_time and np.datetime_data(cell.dtype)[0] == "generic"


def run_chunk(family: str, number: int, seed: int, pairs: int = CHUNK) -> Line:
    """One chunk, with a folder for its files."""
    folder = Path(tempfile.mkdtemp())
    try:
        return Chunk(family, number, seed, folder).run(pairs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def first_found(
    family: str, most: int, seed: int, folder: Path, manner: Manner | None = None
) -> int | None:
    """How many pairs it takes until a fault is found, or None; effects aside."""
    chunk = Chunk(family, 0, seed, folder)
    chunk.manner = manner or chunk.manner
    for number in range(most):
        chunk._one(number)
        if any(chunk.outcomes[fault] for fault in FAULTS):
            return number + 1
    return None
