"""The most likely table by constraint programming (OR-Tools CP-SAT).

Written from Ferry, Fukasawa, Pascal and Vidal, "Trained Random Forests Completely Reveal your
Dataset" (ICML 2024), and Gorgé, Ferry, Gambs and Vidal, "Training Set Reconstruction from
Differentially Private Forests" (arXiv 2502.05307): a variable for every value, one for every record
in a leaf with a class, which implies the values on the leaf's path, and counts of leaves that are
their sums. What differs: the log-likelihood is any concave function of the counts, by its chords;
the draws of a bootstrap are summed out of it; records are sorted by class; and the solver is given
a table to start from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.binary import Group
from attacks.evidence import N_CLASSES, Evidence, Trees
from attacks.search import Found
from dpforest.exceptions import MissingExtraError

#: Whole steps of what one record in the wrong leaf costs: the solver's numbers are whole.
_STEPS = 1000
#: No solve takes longer, in seconds.
WALL_CLOCK = 600.0


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver ended with.

    Attributes
    ----------
    found : Found
        The table that the solver was given, where it found none.
    status : str
        OPTIMAL, FEASIBLE, UNKNOWN (no table in time), INFEASIBLE, MODEL_INVALID.
    seconds, cpu_seconds : float
        By the wall clock, and what the solver got of the processor meanwhile.
    gap : float
        How far the objective is below its proven bound, in log-likelihood.
    """

    found: Found
    status: str
    seconds: float
    cpu_seconds: float
    gap: float


def solve(
    evidence: Evidence,
    n_features: int,
    groups: tuple[Group, ...],
    start: Found,
    seconds: float,
    seed: int = 0,
    workers: int = 1,
) -> Solution:
    """Look for the most likely table.

    Parameters
    ----------
    evidence : Evidence
    n_features : int
    groups : tuple of Group
    start : Found
        Given to the solver as a hint.
    seconds : float
        Limit of the processor's time; that of the wall clock is `WALL_CLOCK`.
    seed : int
        Of the solver.
    workers : int
        Number of its threads.

    Raises
    ------
    MissingExtraError
        When OR-Tools is not installed.
    """
    cp_model = _import_solver()
    builder = _Builder(cp_model, evidence, n_features, groups)
    builder.hint(start)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = WALL_CLOCK
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    if evidence.trees.n_trees > 1:
        # Minutes of preparation that bring nothing here.
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.symmetry_level = 0
        solver.parameters.linearization_level = 0
    before = time.process_time()
    with _limited(solver, seconds):
        status = solver.solve(builder.model)
    used, name = time.process_time() - before, solver.status_name(status)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solution(start, name, solver.wall_time, used, float("nan"))
    x, y = builder.table(solver)
    gap = (solver.best_objective_bound - solver.objective_value) * builder.unit
    return Solution(Found(x, y, evidence.log_likelihood(x, y)), name, solver.wall_time, used, gap)


@contextmanager
def _limited(solver: Any, seconds: float) -> Iterator[None]:
    """Stop a solver when this process has used so much of the processor.

    On a busy machine the wall clock says little of how hard was tried.
    """
    over, last = threading.Event(), time.process_time() + seconds

    def watch() -> None:
        while not over.wait(0.2):
            if time.process_time() > last:
                solver.stop_search()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _import_solver() -> Any:
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise MissingExtraError("reconstruction", "ortools", "attacks") from error
    return cp_model


class _Builder:
    """The model, and how its variables make a table."""

    def __init__(
        self, cp_model: Any, evidence: Evidence, n_features: int, groups: tuple[Group, ...]
    ) -> None:
        self.cp_model, self.evidence, self.groups = cp_model, evidence, groups
        self.model = cp_model.CpModel()
        self.unit = evidence.scale / _STEPS or 1.0
        n, model = evidence.n_records, self.model
        self.x = [[model.new_bool_var("") for _ in range(n_features)] for _ in range(n)]
        self.y = [model.new_bool_var("") for _ in range(n)]
        #: Variables of a record in a leaf with a class, and of its side at nodes that test sums.
        self.lies: list[tuple[int, int, int, int, Any]] = []
        self.rights: list[tuple[int, int, int, Any]] = []
        #: Variables of gains, with their leaf, its class (None: the margin) and gains by count.
        self.gains: list[tuple[int, int, int | None, NDArray[np.int64], Any]] = []
        self._tell_groups()
        for tree in range(evidence.trees.n_trees):
            self._tell_tree(tree)
        for before, after in zip(self.y, self.y[1:], strict=False):
            model.add_implication(before, after)  # class 0 first: records have no order
        if self.gains:
            model.maximize(sum(gain for *_, gain in self.gains))

    def _tell_groups(self) -> None:
        for record in self.x:
            for group in self.groups:
                members = [record[member] for member in group.members]
                tell = self.model.add_exactly_one if group.complete else self.model.add_at_most_one
                tell(members)

    def _tell_tree(self, tree: int) -> None:
        trees, model = self.evidence.trees, self.model
        sums: dict[tuple[int, int], list[Any]] = {}
        paths = _paths(trees, tree)
        nodes = {node for path in paths.values() for node, _ in path}
        for k in range(self.evidence.n_records):
            # One test of a node serves for all leaves below it.
            tests = {node: self._goes_right(k, tree, node) for node in nodes}
            own = []
            for leaf, steps in paths.items():
                path = [tests[node] if right else tests[node].negated() for node, right in steps]
                if _contradicts_itself(path):
                    continue
                for label in range(N_CLASSES):
                    lies = model.new_bool_var("")
                    own.append(lies)
                    self.lies.append((tree, leaf, label, k, lies))
                    sums.setdefault((leaf, label), []).append(lies)
                    model.add_implication(lies, self.y[k] if label else self.y[k].negated())
                    for test in path:
                        model.add_implication(lies, test)
            model.add_exactly_one(own)
        self._tell_counts(tree, sums)

    def _goes_right(self, k: int, tree: int, node: int) -> Any:
        """Literal of a record that goes right at a node that parts records."""
        trees, model = self.evidence.trees, self.model
        used = trees.features[tree, node] >= 0
        features, weights = trees.features[tree, node][used], trees.weights[tree, node][used]
        threshold = int(trees.thresholds[tree, node])
        if features.size == 1 and min(int(weights[0]), 0) <= threshold:
            value = self.x[k][int(features[0])]
            return value if int(weights[0]) > threshold else value.negated()
        total = sum(int(w) * self.x[k][int(f)] for f, w in zip(features, weights, strict=True))
        right = model.new_bool_var("")
        self.rights.append((k, tree, node, right))
        model.add(total >= threshold + 1).only_enforce_if(right)
        model.add(total <= threshold).only_enforce_if(right.negated())
        return right

    def _tell_counts(self, tree: int, sums: dict[tuple[int, int], list[Any]]) -> None:
        evidence = self.evidence
        for leaf in range(evidence.trees.n_leaves):
            counts = [sum(sums.get((leaf, label), [])) for label in range(N_CLASSES)]
            for label, count in enumerate(counts):
                if evidence.exact is not None:
                    self._tell_exact(count, int(evidence.exact[tree, leaf, label]))
                else:
                    self._tell_gain(count, (tree, leaf, label))
            self._tell_gain(counts[1] - counts[0], (tree, leaf, None))

    def _tell_exact(self, count: Any, value: int) -> None:
        if not isinstance(count, int):
            self.model.add(count == value)
        elif count != value:
            self.model.add_bool_or([])  # a leaf that nothing can reach has records: no table fits

    def _tell_gain(self, count: Any, place: tuple[int, int, int | None]) -> None:
        """A variable below all chords of a concave function; the objective lifts it to them."""
        tree, leaf, label = place
        gains = self.evidence.margins[tree, leaf]
        if label is not None:
            gains = self.evidence.counts[tree, leaf, label]
        values = np.rint(gains / self.unit).astype(np.int64)
        slopes = np.diff(values)
        if isinstance(count, int) or not slopes.any():
            return
        # Chords that hardly turn are left out; what is left still bounds from above.
        kept: list[tuple[int, int]] = []
        first = 0 if label is not None else -self.evidence.n_records
        for step, slope in enumerate(slopes.tolist()):
            if not kept or slope < kept[-1][0] - max(1, abs(kept[-1][0]) // 50):
                kept.append((slope, int(values[step]) - slope * (step + first)))
        counted = np.arange(first, first + len(values))
        below = np.min([slope * counted + height for slope, height in kept], axis=0)
        gain = self.model.new_int_var(int(below.min()), int(below.max()), "")
        for slope, height in kept:
            self.model.add(gain <= slope * count + height)
        self.gains.append((tree, leaf, label, below, gain))

    def hint(self, start: Found) -> None:
        """Give a table and all that follows from it."""
        order = np.argsort(start.y, kind="stable")
        x, y = start.x[order], start.y[order]
        leaves = self.evidence.trees.leaves(x)
        for k, record in enumerate(self.x):
            for variable, value in zip(record, x[k].tolist(), strict=True):
                self.model.add_hint(variable, value)
            self.model.add_hint(self.y[k], int(y[k]))
        for tree, leaf, label, k, lies in self.lies:
            self.model.add_hint(lies, int(leaves[k, tree] == leaf and y[k] == label))
        self._hint_sums(x, y)

    def _hint_sums(self, x: NDArray[np.uint8], y: NDArray[np.int64]) -> None:
        trees = self.evidence.trees
        for k, tree, node, right in self.rights:
            used = trees.features[tree, node] >= 0
            values = x[k, trees.features[tree, node][used]].astype(np.int64)
            total = int(values @ trees.weights[tree, node][used])
            self.model.add_hint(right, int(total > trees.thresholds[tree, node]))
        counts = trees.counts(x, y)
        for tree, leaf, own, below, gain in self.gains:
            count = counts[tree, leaf, own] if own is not None else self.evidence.n_records
            if own is None:
                count += counts[tree, leaf, 1] - counts[tree, leaf, 0]
            self.model.add_hint(gain, int(below[count]))

    def table(self, solver: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The solver's table."""
        x = [[solver.value(value) for value in record] for record in self.x]
        return np.array(x, dtype=np.uint8), np.array([solver.value(v) for v in self.y], np.int64)


def _paths(trees: Trees, tree: int) -> dict[int, list[tuple[int, bool]]]:
    """Nodes and sides on the way to each leaf, but for nodes that send all records left.

    Leaves to the right of those are left out: nothing reaches them.
    """
    most = np.maximum(np.where(trees.features[tree] < 0, 0, trees.weights[tree]), 0).sum(axis=1)
    parts = most > trees.thresholds[tree]
    paths: dict[int, list[tuple[int, bool]]] = {0: []}
    for _ in range(trees.depth):
        below = {}
        for place, path in paths.items():
            if parts[place]:
                below[2 * place + 1] = [*path, (place, False)]
                below[2 * place + 2] = [*path, (place, True)]
            else:
                below[2 * place + 1] = path
        paths = below
    return {place - (trees.n_leaves - 1): path for place, path in paths.items()}


def _contradicts_itself(literals: list[Any]) -> bool:
    """Whether a value is asked to be both; a negated literal has index -index - 1."""
    indices = {literal.index for literal in literals}
    return any(-index - 1 in indices for index in indices)
