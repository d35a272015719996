"""The true worst-case epsilon of small domains: every output, every pair of neighbours.

Scores come from the library's own kernels on every table of a small domain; laws follow from them
in closed form. The worst pair is searched in doubles (errors below 1e-9 of a log ratio), then its
loss is computed in decimals from the same scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpforest.audit.exact_parts import (
    ExactCheck,
    check_discrete_gaussian,
    check_geometric,
    check_label,
    check_residual_sums,
    check_sides,
    check_zero_sum_geometric,
)
from dpforest.audit.laws import Law, exponential_law, product_law, worst_loss
from dpforest.audit.one_split import many_roots
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.mechanisms.base import exponent
from dpforest.records.table import Table
from dpforest.trees.multinomial.cells import LevelCells
from dpforest.trees.multinomial.criteria import CRITERIA, Criterion

_ONE = Fraction(1)
_K = 2


# -- one split ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SmallTables:
    """All tables of up to so many records over features of ``n_codes`` values and two classes.

    Attributes
    ----------
    empty : Table
        Public facts.
    cells : ndarray of int32, shape (n_tables, total codes, 2)
        Class counts.
    below, above : ndarray of int64
        Neighbouring pairs: places of a table and of the one with a record more.
    """

    empty: Table
    cells: NDArray[np.int32]
    below: NDArray[np.int64]
    above: NDArray[np.int64]

    @classmethod
    def enumerate(cls, n_codes: tuple[int, ...], largest: int) -> SmallTables:
        """Every table of up to ``largest`` records."""
        empty = public_facts(n_codes)
        types = list(product(*(range(n) for n in n_codes), range(_K)))
        of_type = np.zeros((len(types), int(empty.offsets[-1]), _K), dtype=np.int32)
        for index, (*codes, label) in enumerate(types):
            of_type[index, empty.offsets[:-1] + np.array(codes), label] = 1
        places: dict[tuple[int, ...], int] = {}
        for size in range(largest + 1):
            for chosen in combinations_with_replacement(range(len(types)), size):
                places[chosen] = len(places)
        cells = np.stack([of_type[list(chosen)].sum(axis=0) for chosen in places]).astype(np.int32)
        pairs = [
            (place, places[tuple(sorted((*chosen, new)))])
            for chosen, place in places.items()
            if len(chosen) < largest
            for new in range(len(types))
        ]
        below, above = np.array(pairs, dtype=np.int64).T
        return cls(empty, cells, below, above)

    def level(self) -> LevelCells:
        """Every table as a node."""
        return many_roots(self.empty, self.cells)


def public_facts(n_codes: tuple[int, ...]) -> Table:
    """A table without records over ordered features of so many codes."""
    sizes = np.array(n_codes, dtype=np.int64)
    codes = np.zeros((0, sizes.size), dtype=np.uint8)
    matrix = EncodedMatrix(codes, sizes, np.ones(sizes.size, dtype=np.bool_))
    return Table.of(EncodedTable(matrix, np.zeros(0, dtype=np.int32), _K))


def check_joint_selection(
    criterion: Criterion, tables: SmallTables, name: str, epsilon: Fraction = _ONE
) -> ExactCheck:
    """One draw over all candidates of all features."""
    scores = joint_scores_of(tables.level(), criterion)
    c = exponent(epsilon, criterion.score_range, criterion.unit)
    logs = _log_law(scores, c)
    place, _ = _worst_pair(logs, tables.below, tables.above)
    pair = [tables.below[place], tables.above[place]]
    loss = worst_loss(*(exponential_law(scores[table].tolist(), c) for table in pair))
    where = f"cells {tables.cells[pair[0]].tolist()} and {tables.cells[pair[1]].tolist()}"
    return ExactCheck(name, float(epsilon), float(loss), tables.below.size, where)


def joint_scores_of(level: LevelCells, criterion: Criterion) -> NDArray[np.float64]:
    """Scores of all candidates of each node, shape (n_nodes, candidates)."""
    offer = level.scored(criterion).offer_jointly()
    scores = offer.scores.reshape(level.n_nodes, -1)
    return scores[:, np.isfinite(scores).any(axis=0)]


def check_one_split_tree(
    criterion: Criterion,
    tables: SmallTables,
    split_epsilon: Fraction = _ONE,
    leaf_epsilon: Fraction = _ONE,
) -> ExactCheck:
    """A feature, its cut, and both leaves' labels by count, all records serving for both."""
    laws = _TreeLaws(criterion, tables, split_epsilon / 2, leaf_epsilon)
    logs = np.concatenate(list(laws.log_laws()), axis=1)
    place, _ = _worst_pair(logs, tables.below, tables.above)
    pair = [int(tables.below[place]), int(tables.above[place])]
    loss = worst_loss(*(laws.law(table) for table in pair))
    where = f"cells {tables.cells[pair[0]].tolist()} and {tables.cells[pair[1]].tolist()}"
    claim = float(split_epsilon + leaf_epsilon)
    name = f"one-split tree, {criterion.name}"
    return ExactCheck(name, claim, float(loss), tables.below.size, where)


class _TreeLaws:
    """Laws of a one-split tree on every table."""

    def __init__(
        self, criterion: Criterion, tables: SmallTables, choice: Fraction, leaf: Fraction
    ) -> None:
        self._c = exponent(choice, criterion.score_range, criterion.unit)
        self._leaf = exponent(leaf, _ONE, _ONE)
        level = tables.level()
        self._features = level.scored(criterion).best()
        self._cuts: list[NDArray[np.float64]] = []
        self._children: list[NDArray[np.float64]] = []
        for feature in range(tables.empty.n_codes.size):
            every = np.full(level.n_nodes, feature, dtype=np.int64)
            offer = level.scored(criterion).offer(every)
            width = int(tables.empty.n_codes[feature])
            rows = offer.starts[:, None] + np.arange(width)
            self._cuts.append(offer.scores[rows][:, :-1])
            first = int(tables.empty.offsets[feature])
            left = tables.cells[:, first : first + width].cumsum(axis=1)
            sides = np.stack([left[:, :-1], left[:, -1:] - left[:, :-1]], axis=2)
            self._children.append(sides.astype(np.float64))

    def log_laws(self) -> Iterator[NDArray[np.float64]]:
        """Log probabilities of the outputs of each feature, shape (n_tables, outputs)."""
        features = _log_law(self._features, self._c)
        for feature, (cuts, sides) in enumerate(zip(self._cuts, self._children, strict=True)):
            labels = _log_law(sides, self._leaf)
            both = labels[:, :, 0, :, None] + labels[:, :, 1, None, :]
            split = features[:, feature, None] + _log_law(cuts, self._c)
            yield (split[:, :, None, None] + both).reshape(cuts.shape[0], -1)

    def law(self, table: int) -> Law:
        """Probabilities of all outputs on one table, in decimals."""
        features = exponential_law(self._features[table].tolist(), self._c)
        outputs: list[Decimal] = []
        for feature, (cuts, sides) in enumerate(zip(self._cuts, self._children, strict=True)):
            cut_law = exponential_law(cuts[table].tolist(), self._c)
            for cut, probability in enumerate(cut_law):
                leaves = [exponential_law(s.tolist(), self._leaf) for s in sides[table, cut]]
                outputs += product_law([features[feature]], [probability], *leaves)
        return outputs


def _log_law(scores: NDArray[np.float64], c: float) -> NDArray[np.float64]:
    exponents = scores * c
    return exponents - logsumexp(exponents, axis=-1, keepdims=True)


def _worst_pair(
    logs: NDArray[np.float64], below: NDArray[np.int64], above: NDArray[np.int64]
) -> tuple[int, float]:
    losses = np.abs(logs[above] - logs[below]).max(axis=1)
    place = int(losses.argmax())
    return place, float(losses[place])


def spoilt_leaves(largest: int = 40) -> SmallTables:
    """Two features of two codes where one record spoils a pure side of one and serves the other.

    The side that a record enters holds up to ``largest`` records of each class; the other
    side of the second feature may hold twice as many. Not every table, but those on which
    count-weighted scores move most.
    """
    empty = public_facts((2, 2))
    steps = sorted({0, 1, 2, 5, 10, largest // 2, largest})
    sides = np.array(list(product(steps, repeat=_K)))
    rest = np.array(list(product([*steps, 2 * largest], repeat=_K)))
    splits = np.array([[near, far] for near in sides for far in rest])
    by_total: dict[tuple[int, ...], list[NDArray]] = {}
    for split in splits:
        by_total.setdefault(tuple(split.sum(axis=0)), []).append(split)
    cells = np.array(
        [np.vstack(pair) for same in by_total.values() for pair in product(same, repeat=2)]
    ).astype(np.int32)
    more = np.repeat(cells[None], _K, axis=0)
    for label in range(_K):  # it enters the first side of both features
        more[label][:, [0, 2], label] += 1
    n = len(cells)
    below = np.tile(np.arange(n), _K)
    return SmallTables(
        empty, np.concatenate([cells, *more]), below, n + np.arange(_K * n, dtype=np.int64)
    )


def exact_checks() -> tuple[ExactCheck, ...]:
    """Every check of this module, at sizes that take about a second."""
    small, wider, long = (
        SmallTables.enumerate(n_codes, largest)
        for n_codes, largest in (((2, 2), 6), ((3, 3), 4), ((8,), 5))
    )
    checks = [
        check_label(rule) for rule in ("count_label", "count_label_permute_and_flip", "label")
    ]
    checks += [check_geometric(), check_zero_sum_geometric()]
    checks += [check_discrete_gaussian(), check_sides()]
    checks += [check_residual_sums(n_classes) for n_classes in (_K, 3)]
    for criterion in CRITERIA.values():
        name = f"selection, {criterion.name}"
        checks += [
            check_joint_selection(criterion, wider, f"{name}, up to 4 records"),
            check_joint_selection(criterion, long, f"{name}, 8 values, up to 5 records"),
            check_joint_selection(criterion, spoilt_leaves(), f"{name}, up to 40 records a cell"),
            check_one_split_tree(criterion, small),
        ]
    return tuple(checks)
