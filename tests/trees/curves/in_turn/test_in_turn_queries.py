"""Sums over bins against slow twins, and what one record can change of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.domain.targets import TARGET_STEPS
from dpforest.records.base import Chunk, Sensitivity, rows_of
from dpforest.records.table import Table
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.in_turn.queries import (
    BinCounts,
    FeatureMove,
    ResidualSums,
    counts_sensitivity,
)
from dpforest.trees.random.bins import public_bins
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.gradients import GRADIENT_STEPS, GradientLattice, Gradients
from dpforest.trees.scored.queries import ScoreHistory, residual_sensitivity

#: More codes than bins, a category, and as many codes as bins; the ordered ones may be missing.
CODES = [40, -5, 7]
MAX_BINS = 6
TASKS = ["two", "three", "target"]
CLASSES = {"two": 2, "three": 3, "target": 2}
extreme = st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, -np.inf, 745.0, -745.0, 1e300])


def facts_and_table(task: str, n_records: int, seed: int = 0) -> tuple[TableFacts, Table]:
    generator = np.random.default_rng(seed)
    sizes = np.abs(CODES)
    ordered = np.array(CODES) > 0
    scaled = tuple(np.linspace(0.1, 0.9, n) if o else None for n, o in
                   zip(sizes, ordered, strict=True))  # fmt: skip
    unit = TARGET_STEPS if task == "target" else 1
    facts = TableFacts(sizes, ordered, ordered.copy(), scaled, CLASSES[task], None, unit)
    codes = np.floor(generator.random((n_records, 3)) * sizes).astype(np.uint8)
    codes[: n_records // 4, [0, 2]] = sizes[[0, 2]] - 1  # missing
    targets = None
    if task == "target":
        targets = generator.integers(0, unit + 1, n_records).astype(np.int32)
        targets[:2] = 0, unit
    labels = (targets is None) * generator.integers(0, CLASSES[task], n_records)
    table = Table(codes, labels.astype(np.uint8), facts.n_codes, facts.offsets, facts.ordered,
                  facts.n_classes)  # fmt: skip
    return facts, table if targets is None else replace(table, targets=targets)


def lattice_of(task: str, clip: Fraction = Fraction(7, 10)) -> GradientLattice:
    return GradientLattice.of(n_score_columns(CLASSES[task]), clip, Fraction(0), Fraction(0))


def sums_of(facts, task, feature, base, moves=(), clip=Fraction(7, 10)) -> ResidualSums:
    scored = ScoreHistory(np.asarray(base, dtype=np.float64), tuple(moves))
    gradients = Gradients(scored, lattice_of(task, clip))
    return ResidualSums(gradients, public_bins(facts, MAX_BINS), facts.offsets, feature)


def moves_of(facts, n_columns, seed=1, scale=2.0) -> list[FeatureMove]:
    generator = np.random.default_rng(seed)

    def values(feature: int) -> np.ndarray:
        return generator.normal(size=(facts.n_codes[feature], n_columns), scale=scale)

    return [FeatureMove(feature, values(feature)) for feature in (2, 0, 1, 0)]


def bins_of(facts, feature) -> np.ndarray:
    """Bin of each code, worked out apart: equal runs of cells; a missing value has its own."""
    n_codes = int(facts.n_codes[feature])
    if not facts.ordered[feature]:
        return np.arange(n_codes)
    n_cells = n_codes - 1
    n_bins = min(MAX_BINS, n_cells)
    return np.array([code * n_bins // n_cells for code in range(n_cells)] + [n_bins])


def clipped(task, lattice, base, moves, table) -> np.ndarray:
    """Residuals by the book, in steps: cut to what is paid for, not rounded."""
    scores = np.tile(np.asarray(base, dtype=float), (table.n_records, 1))
    for move in moves:
        scores += move.values[table.codes[:, move.feature]]
    most = lattice.most / GRADIENT_STEPS
    if task != "three":
        y = table.labels if table.targets is None else table.targets / TARGET_STEPS
        return np.clip(y[:, None] - 1 / (1 + np.exp(-scores)), -most, most) * GRADIENT_STEPS
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    apart = np.eye(3)[table.labels] - p
    half = np.abs(apart).sum(axis=1, keepdims=True) / 2
    return apart * np.minimum(1.0, most / np.maximum(half, 1e-300)) * GRADIENT_STEPS


def test_counts_are_those_of_bins():
    facts, table = facts_and_table("two", 200)
    counts = BinCounts(public_bins(facts, MAX_BINS)).count(Chunk(table))
    parts = []
    for feature in range(3):
        of_code = bins_of(facts, feature)
        parts += [(of_code[table.codes[:, feature]] == b).sum() for b in range(of_code[-1] + 1)]
    assert counts.tolist() == parts


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("feature", range(3))
def test_sums_are_those_of_a_slow_twin(task, feature):
    facts, table = facts_and_table(task, 300, seed=feature)
    base = np.linspace(-0.5, 0.5, n_score_columns(CLASSES[task]))
    moves = moves_of(facts, base.size)
    query = sums_of(facts, task, feature, base, moves, Fraction(1, 2))
    exact = clipped(task, query.gradients.lattice, base, moves, table)
    found, of_code = query.count(Chunk(table)), bins_of(facts, feature)
    assert found.shape == (of_code[-1] + 1, base.size) and found.dtype == np.int64
    for b in range(of_code[-1] + 1):
        own = of_code[table.codes[:, feature]] == b
        # A residual is rounded toward zero, and the label's own is the sum of the others.
        assert np.all(np.abs(found[b] - exact[own].sum(axis=0)) <= 3 * own.sum() + 1e-6)
        assert np.array_equal(found[b], query.gradients.rows(Chunk(table))[own, : base.size].sum(0))


@pytest.mark.parametrize("task", TASKS)
def test_sums_do_not_depend_on_chunks_or_on_what_they_kept(task):
    facts, table = facts_and_table(task, 120)
    base = np.zeros(n_score_columns(CLASSES[task]))
    moves, chunk = moves_of(facts, base.size), Chunk(table)
    parts = [Chunk(rows_of(table, a, b), a) for a, b in ((0, 0), (0, 50), (50, 51), (51, 120))]
    for n_moves in range(len(moves) + 1):
        query = sums_of(facts, task, n_moves % 3, base, moves[:n_moves])
        whole = query.count(chunk)
        assert np.array_equal(whole, sum(query.count(part) for part in parts))
        assert np.array_equal(whole, query.count(Chunk(table))), "kept nothing"
        assert query.history == tuple(moves[:n_moves])


def largest_share(query, said: Sensitivity, table: Table) -> float:
    """Largest change by the last of so many records, over what is said of it."""
    shares = [0.0]
    for n in range(table.n_records):
        more, fewer = (query.count(Chunk(rows_of(table, 0, m))) for m in (n + 1, n))
        moved = (more - fewer).astype(object).ravel()
        shares += [float(sum(map(abs, moved)) / said.l1), float(sum(moved**2) / said.l2_squared)]
    return max(shares)


def assert_tight(query, table: Table, slack: str = "0.99") -> None:
    """What is said holds, and nothing smaller would."""
    said = query.sensitivity
    assert largest_share(query, said, table) <= 1
    less = Fraction(slack)
    for smaller in (Sensitivity(said.l1 * less, said.l2_squared * 10**9),
                    Sensitivity(said.l1 * 10**9, said.l2_squared * less)):  # fmt: skip
        assert largest_share(query, smaller, table) > 1


def test_one_record_moves_counts_by_what_is_paid_for():
    facts, table = facts_and_table("two", 12)
    query = BinCounts(public_bins(facts, MAX_BINS))
    assert query.sensitivity == counts_sensitivity(3)
    assert_tight(query, table)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("clip", [Fraction(6, 100), Fraction(7, 10), Fraction(1)])
def test_one_record_moves_sums_by_what_is_paid_for(task, clip):
    facts, table = facts_and_table(task, 24)
    base = [900.0, 0.0, 0.0][: n_score_columns(CLASSES[task])]
    for feature in range(3):
        query = sums_of(facts, task, feature, base, clip=clip)
        lattice = query.gradients.lattice
        sizes = lattice.n_columns, lattice.most, lattice.square
        assert query.sensitivity == residual_sensitivity(*sizes)
        assert_tight(query, table)


@given(
    task=st.sampled_from(TASKS),
    clip=st.fractions(Fraction(1, 10**4), 1),
    base=st.lists(extreme, min_size=3, max_size=3),
    steps=st.lists(extreme, min_size=2, max_size=2),
    feature=st.integers(0, 2),
    place=st.integers(0, 7),
)
def test_whatever_was_released_one_record_moves_one_bin_within_its_claim(
    task, clip, base, steps, feature, place
):
    facts, table = facts_and_table(task, 8, seed=place)
    base = base[: n_score_columns(CLASSES[task])]
    moves = [FeatureMove(f, np.full((facts.n_codes[f], len(base)), step)) for f, step in
             zip((0, 2), steps, strict=True)]  # fmt: skip
    with np.errstate(all="ignore"):
        query = sums_of(facts, task, feature, base, moves, clip)
        whole = query.count(Chunk(table)).astype(object)
        rest = without(table, place)
        moved = whole - query.count(Chunk(rest))
    assert sum(map(abs, moved.ravel())) <= query.sensitivity.l1
    assert sum(moved.ravel() ** 2) <= query.sensitivity.l2_squared
    own = bins_of(facts, feature)[table.codes[place, feature]]
    assert not np.delete(moved, own, axis=0).any()


def without(table: Table, place: int) -> Table:
    """A neighbour: one record is not there."""
    kept = np.arange(table.n_records) != place
    targets = None if table.targets is None else table.targets[kept]
    codes = np.ascontiguousarray(table.codes[kept])
    return replace(table, codes=codes, labels=table.labels[kept], targets=targets)


def test_a_smaller_claim_is_found_out():
    facts, table = facts_and_table("three", 24)
    query = sums_of(facts, "three", 0, [900.0, 0.0, 0.0])
    said = query.sensitivity
    of_one_column = SimpleNamespace(
        count=query.count, sensitivity=residual_sensitivity(1, query.gradients.lattice.most, 1)
    )
    assert of_one_column.sensitivity.l1 < said.l1
    with pytest.raises(AssertionError):
        assert_tight(of_one_column, table)
