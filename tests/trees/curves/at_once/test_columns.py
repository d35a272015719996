"""Columns of curves at once: what a code is in them adds up to at most 1, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.columns import STEPS, CurveColumns

#: Codes, whether they are ordered, and whether the last one is a missing value.
FEATURES = st.lists(
    st.one_of(
        st.tuples(st.integers(1, 400), st.just(False), st.booleans()),
        st.tuples(st.integers(1, 400), st.just(True), st.just(False)),
        st.tuples(st.integers(2, 400), st.just(True), st.just(True)),
        st.tuples(st.sampled_from([2**16, 2**16 - 1]), st.just(True), st.booleans()),
    ),
    min_size=1,
    max_size=6,
)


def facts_of(features: list[tuple[int, bool, bool]]) -> TableFacts:
    sizes, ordered, missing = (np.array(part) for part in zip(*features, strict=True))
    return TableFacts(sizes.astype(np.int64), ordered, missing, (None,) * len(features), 2, None)


def blocks(columns: CurveColumns) -> Iterator[tuple[int, int]]:
    """First column of each block, and the one after its last."""
    ends = np.cumsum(columns.widths).tolist()
    return zip([0, *ends[:-1]], ends, strict=True)


def sizes_of(columns: CurveColumns, codes: slice) -> np.ndarray:
    """Sums of the sizes of some codes in steps: whole numbers, so they are exact."""
    steps = columns.values[codes] * STEPS
    assert (steps == np.rint(steps)).all()
    return np.abs(steps.astype(np.int64)).sum(axis=1)


@given(FEATURES, st.integers(2, 12))
def test_sizes_of_a_code_add_up_to_at_most_1_and_lie_in_its_features_block(features, n_knots):
    facts = facts_of(features)
    columns = CurveColumns.of(facts, n_knots)
    assert columns.columns.shape == columns.values.shape == (int(facts.offsets[-1]), 2)
    assert len(columns.widths) == facts.n_features + 1 and columns.widths[-1] == 1
    assert columns.n_columns == sum(columns.widths) and min(columns.widths) >= 1
    for feature, (first, end) in enumerate(list(blocks(columns))[:-1]):
        codes = slice(int(facts.offsets[feature]), int(facts.offsets[feature + 1]))
        sizes = sizes_of(columns, codes)
        assert sizes.max() <= STEPS
        assert columns.columns[codes].min() >= first and columns.columns[codes].max() < end
        if not facts.ordered[feature] or columns.widths[feature] > 3:
            assert sizes.min() == STEPS, "nothing is lost"


@given(st.integers(2, 3000), st.integers(2, 12), st.booleans())
def test_a_curve_is_straight_between_knots_the_same_way_apart(n_codes, n_knots, missing):
    columns = CurveColumns.of(facts_of([(n_codes + missing, True, missing)]), n_knots)
    n_knots = min(n_knots, n_codes)
    assert columns.widths == ((1 if n_knots == 2 else n_knots) + missing, 1)
    weights = np.random.default_rng(n_codes).normal(size=columns.n_columns)
    found, places = columns.of_codes(weights), np.linspace(0.0, 1.0, n_codes)
    if n_knots == 2:
        line = weights[0] * (2.0 * places - 1.0)
    else:
        line = np.interp(places, np.linspace(0.0, 1.0, n_knots), weights[:n_knots])
    assert found[:n_codes] == pytest.approx(line, abs=8.0 / STEPS)
    assert not missing or found[-1] == weights[-2]


def test_two_categories_are_two_sides_and_more_have_a_column_each():
    columns = CurveColumns.of(facts_of([(1, False, False), (2, False, False), (4, False, True)]), 5)
    assert columns.widths == (1, 1, 4, 1)
    weights = np.array([7.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0])
    assert columns.of_codes(weights).tolist() == [7.0, -2.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_a_single_cell_is_worth_nothing_and_a_missing_value_is_a_column():
    columns = CurveColumns.of(facts_of([(1, True, False), (2, True, True)]), 5)
    assert columns.widths == (1, 2, 1)
    assert columns.of_codes(np.array([9.0, 8.0, 7.0, 6.0])).tolist() == [0.0, 0.0, 7.0]


def test_codes_of_a_domain_have_columns_but_for_what_nobody_declared():
    """Noise alone would tell of it: no record need have it."""
    domain = Domain(
        features={
            "hue": {"categories": ["red", "green"]},
            "one": {"categories": ["always"]},
            "age": {"lower": 0, "upper": 30, "integer": True, "missing": True},
            "kind": {"categories": ["a", "b"], "other": "b"},
        },
        target=(0, 1),
    )
    facts = table_facts(DomainEncoder(domain, task="regression"), 100.0)
    assert facts.unknown == (2, 1, -1, -1)
    columns = CurveColumns.of(facts, 4)
    assert columns.widths == (1, 1, 5, 1, 1)
    sizes = sizes_of(columns, slice(None))
    unknown = [facts.offsets[0] + 2, facts.offsets[1] + 1]
    assert (sizes[unknown] == 0).all() and set(np.delete(sizes, unknown).tolist()) == {STEPS}
    weights = np.array([2.0, 3.0, *[0.0] * 5, 4.0, 100.0])
    worth = np.split(columns.of_codes(weights), facts.offsets[1:-1])
    assert worth[0].tolist() == [-2.0, 2.0, 0.0] and worth[1].tolist() == [3.0, 0.0]


def test_three_of_four_codes_are_categories_wherever_the_unknown_one_is():
    for unknown in range(4):
        facts = replace(facts_of([(4, False, False)]), unknown=(unknown,))
        columns = CurveColumns.of(facts, 4)
        worth = columns.of_codes(np.array([5.0, 6.0, 7.0, 100.0]))
        assert columns.widths == (3, 1) and worth[unknown] == 0
        assert np.delete(worth, unknown).tolist() == [5.0, 6.0, 7.0]


def test_columns_follow_from_public_facts_alone():
    facts = facts_of([(40, True, True), (5, False, False)])
    one, other = CurveColumns.of(facts, 7), CurveColumns.of(facts, 7)
    assert one.widths == other.widths
    assert np.array_equal(one.values, other.values) and np.array_equal(one.columns, other.columns)
