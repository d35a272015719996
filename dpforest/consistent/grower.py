"""Growing all trees of a forest: draw each tree's records, call the kernel, stack the trees."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent.answers import Label
from dpforest.consistent.kernels.grow import grow_tree
from dpforest.consistent.kernels.layout import Table, Tree
from dpforest.consistent.kernels.predict import (
    find_leaves,
    mean_values,
    pack_nodes,
    sum_votes,
    unpack_nodes,
)
from dpforest.consistent.rules import ForestRules
from dpforest.consistent.table import encode_table

#: Features of many values are kept in order in every node if they are at most so many times the
#: candidates of a node; else those that are drawn are sorted where they are drawn.
_SORT_RATHER = 6
_ROWS_A_TASK = 8192


@dataclass(frozen=True, slots=True)
class TreeStack:
    """Grown trees, one after the other.

    Attributes
    ----------
    roots : ndarray of int64, shape (n_trees + 1,)
        First node of each tree, and the number of nodes.
    nodes : ndarray of float64, shape (n_nodes, 2)
        ``feature``, ``low``, ``high`` and ``child`` of
        :class:`~dpforest.consistent.kernels.layout.Tree`, packed; children are numbered within
        their tree.
    value, n_estimation : ndarrays of shape (n_nodes,)
        As there.
    n_classes : int
        0 in regression.
    tie_word : int
        Hashed with a record's leaves where votes are tied.
    """

    roots: NDArray[np.int64]
    nodes: NDArray[np.float64]
    value: NDArray[np.float64]
    n_estimation: NDArray[np.int32]
    n_classes: int
    tie_word: int

    @classmethod
    def of(cls, trees: list[Tree], n_classes: int, tie_word: int) -> TreeStack:
        """Stack trees."""
        roots = np.concatenate([[0], np.cumsum([tree.feature.size for tree in trees])])
        return cls(
            roots=roots.astype(np.int64),
            nodes=np.concatenate([pack_nodes(t.feature, t.low, t.high, t.child) for t in trees]),
            value=np.concatenate([t.value for t in trees]),
            n_estimation=np.concatenate([t.n_estimation for t in trees]),
            n_classes=n_classes,
            tie_word=tie_word,
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.roots.size - 1

    def tree(self, number: int) -> Tree:
        """One tree."""
        own = slice(self.roots[number], self.roots[number + 1])
        return Tree(*unpack_nodes(self.nodes[own]), self.value[own], self.n_estimation[own])

    @property
    def feature(self) -> NDArray[np.int32]:
        """Feature that each node splits; -1 in leaves."""
        return unpack_nodes(self.nodes)[0]

    @property
    def low(self) -> NDArray[np.float64]:
        """Smallest value that goes to the first child."""
        return unpack_nodes(self.nodes)[1]

    @property
    def high(self) -> NDArray[np.float64]:
        """First value above those that do."""
        return unpack_nodes(self.nodes)[2]

    @property
    def child(self) -> NDArray[np.int32]:
        """First child of each node, numbered within its tree."""
        return unpack_nodes(self.nodes)[3]

    def leaves(self, X: NDArray[np.float64], n_jobs: int = 1) -> NDArray[np.int64]:
        """Leaf of each record in each tree, shape (n, n_trees)."""
        out = np.empty((X.shape[0], self.n_trees), np.int64)
        self._in_blocks(
            lambda rows: find_leaves(X[rows], *self._packed, out[rows]),
            X.shape[0],
            n_jobs,
        )
        return out

    def votes(self, X: NDArray[np.float64], n_jobs: int = 1) -> NDArray[np.float64]:
        """Votes for each class, shape (n, n_classes); ties are broken by a sliver of a vote."""
        out = np.empty((X.shape[0], self.n_classes))
        self._in_blocks(
            lambda rows: sum_votes(
                X[rows], *self._packed, self.value, np.uint64(self.tie_word), out[rows]
            ),
            X.shape[0],
            n_jobs,
        )
        return out

    def means(self, X: NDArray[np.float64], n_jobs: int = 1) -> NDArray[np.float64]:
        """Mean of the trees' answers, shape (n,)."""
        out = np.empty(X.shape[0])
        self._in_blocks(
            lambda rows: mean_values(X[rows], *self._packed, self.value, out[rows]),
            X.shape[0],
            n_jobs,
        )
        return out

    @property
    def _packed(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        return self.roots[:-1], self.nodes, self.nodes.view(np.int64)

    def _in_blocks(self, run: Callable[[slice], Any], n_rows: int, n_jobs: int) -> None:
        blocks = [slice(a, min(a + _ROWS_A_TASK, n_rows)) for a in range(0, n_rows, _ROWS_A_TASK)]
        run_all(run, blocks, n_jobs)


def run_all(run: Callable[[Any], Any], tasks: list[Any], n_jobs: int) -> list[Any]:
    """Results of the tasks, in their order, on so many threads."""
    if n_jobs == 1 or len(tasks) < 2:
        return [run(task) for task in tasks]
    with ThreadPoolExecutor(max_workers=n_jobs) as pool:
        return list(pool.map(run, tasks))


def seed_of(random_state: Any) -> np.random.SeedSequence:
    """A seed sequence from None, an int, a RandomState or a Generator."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, 4).tolist())
    from sklearn.utils import check_random_state

    words = check_random_state(random_state).randint(0, 2**32, 4, dtype=np.uint64)
    return np.random.SeedSequence(words.tolist())


def grow_forest(
    X: NDArray[np.float64],
    y: NDArray,
    n_classes: int,
    against_rest: NDArray[np.bool_],
    rules: ForestRules,
    n_trees: int,
    seed: np.random.SeedSequence,
    n_jobs: int = 1,
    tree_done: Callable[[], None] = lambda: None,
) -> TreeStack:
    """Grow a forest.

    Parameters
    ----------
    X : float64 array of shape (n, D)
    y : array of shape (n,)
        Class codes, or targets where ``n_classes`` is 0.
    n_classes : int
    against_rest : bool array of shape (D,)
        Features split one value against the rest; others are ordered.
    rules : ForestRules
    n_trees : int
    seed : SeedSequence
        All draws follow from it; each tree's from a spawn of its own.
    n_jobs : int
        Threads; the forest does not depend on it.
    tree_done : callable
        Called after each tree.

    Returns
    -------
    TreeStack
    """
    candidates = rules.candidates.parameters(X.shape[1])
    n_candidates = candidates.size + candidates.poisson
    table = encode_table(
        X,
        y if n_classes else None,
        None if n_classes else y,
        n_classes,
        against_rest,
        keep_sorted=_keeps_sorted(n_candidates, X.shape[1]),
        share=min(n_candidates / X.shape[1], 1.0) if n_candidates else 1.0,
    )

    def grow(child: np.random.SeedSequence) -> Tree:
        tree = _grow_one(table, rules, candidates, np.random.Generator(np.random.PCG64(child)))
        tree_done()
        return tree

    tie, *children = seed.spawn(n_trees + 1)
    trees = run_all(grow, children, n_jobs)
    return TreeStack.of(trees, n_classes, int(tie.generate_state(1, np.uint64)[0]))


def _keeps_sorted(n_candidates: float, n_features: int) -> bool:
    return n_candidates == 0 or n_features <= _SORT_RATHER * n_candidates


def _grow_one(
    table: Table, rules: ForestRules, candidates: Any, generator: np.random.Generator
) -> Tree:
    key = generator.integers(0, 2**64, dtype=np.uint64)
    structure, estimation = rules.records.draw(table.rows.shape[0], generator)
    answers = rules.answers
    return Tree(
        *grow_tree(
            table,
            candidates,
            rules.splits.parameters(),
            rules.stop.parameters(),
            float(answers.strength) if isinstance(answers, Label) else 0.0,
            0 if isinstance(answers, Label) else answers.code,
            structure,
            np.empty(0, np.int32) if estimation is None else estimation,
            estimation is None,
            key,
        )
    )
