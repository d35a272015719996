"""Ranges of the split scores, measured on neighbouring count tables.

The compiled scores of whole tables and of the same tables with one record more are compared
output by output, in lattice steps, which are integers: the measurement is exact.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.exceptions import ParameterError
from dpforest.trees.multinomial.criteria import CRITERIA, resolve_criterion
from dpforest.trees.multinomial.kernels import scoring, stages

ORDERED = np.array([True, False])
OFFSETS = np.array([0, 3, 6])
CHOICES = ["feature", "value of 0", "value of 1", "joint"]


def record_types(n_classes):
    """Every possible record as a histogram: shape (types, 6, K)."""
    types = []
    for a, b, label in itertools.product(range(3), range(3), range(n_classes)):
        hist = np.zeros((6, n_classes), np.int32)
        hist[a, label] = hist[3 + b, label] = 1
        types.append(hist)
    return np.array(types)


def small_tables(types, largest):
    """Histograms of every table of up to ``largest`` records, the empty one included."""
    tables = [np.zeros_like(types[0])]
    for size in range(1, largest + 1):
        for records in itertools.combinations_with_replacement(range(len(types)), size):
            tables.append(types[list(records)].sum(axis=0, dtype=np.int32))
    return np.array(tables)


def outputs(hists, criterion, choice):
    """Scores in lattice steps of the outputs of one choice, shape (n_tables, n_outputs)."""
    n_tables = hists.shape[0]
    box_low = np.zeros((n_tables, 2), np.int32)
    box_high = np.full((n_tables, 2), 2, np.int32)
    alive = np.ones((n_tables, 6), np.bool_)
    counted = hists, OFFSETS, ORDERED, box_low, box_high, alive, criterion.code
    if choice == "feature":
        result = np.empty((n_tables, 2))
        stages.best_scores(*counted, criterion.normalised, result)
    elif choice == "joint":
        result = np.empty((n_tables, 6))
        scoring.score_level(*counted, result)
        scoring.joint_scores(result, criterion.normalised)
    else:
        features = np.full(n_tables, int(choice[-1]))
        result = np.empty((n_tables, 3))
        starts = 3 * np.arange(n_tables)
        stages.chosen_scores(*counted, criterion.normalised, features, starts, result.reshape(-1))
    result = result[:, np.isfinite(result).all(axis=0)]
    assert result.shape[1]
    np.testing.assert_array_equal(result, np.floor(result))
    return result


def ranges(before, after):
    """Largest minus smallest change over outputs, for each pair of tables."""
    change = after - before
    return change.max(axis=-1) - change.min(axis=-1)


def steps(criterion):
    return criterion.score_range / criterion.unit


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(("n_classes", "largest"), [(2, 4), (3, 3)])
def test_range_of_one_added_record(name, choice, n_classes, largest):
    criterion = CRITERIA[name]
    types = record_types(n_classes)
    tables = small_tables(types, largest)
    before = outputs(tables, criterion, choice)
    worst = 0
    for record in types:
        worst = max(worst, ranges(before, outputs(tables + record, criterion, choice)).max())
    assert worst <= steps(criterion)
    # Few records reach the other ranges; gini_count comes near its own with many, further down.
    if name != "gini_count":
        assert worst == steps(criterion)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", CRITERIA)
def test_range_of_one_replaced_record_is_at_most_twice(name, choice):
    criterion = CRITERIA[name]
    types = record_types(2)
    tables = small_tables(types, 3)
    after = [outputs(tables + record, criterion, choice) for record in types]
    worst = max(ranges(a, b).max() for a, b in itertools.combinations(after, 2))
    assert worst <= 2 * steps(criterion)
    if name == "majority_count" and choice == "joint":
        assert worst == 2 * steps(criterion)


counts = st.integers(0, 3) | st.integers(0, 2000) | st.integers(0, 2**31 // 40)


@given(
    table=st.lists(counts, min_size=18, max_size=18),
    code=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    label=st.integers(0, 1),
    name=st.sampled_from(list(CRITERIA)),
    choice=st.sampled_from(CHOICES),
)
def test_range_on_larger_tables(table, code, label, name, choice):
    """Counts up to the billion for which the rounding slack is proved."""
    criterion = CRITERIA[name]
    before = marginals(np.array(table).reshape(3, 3, 2))
    after = before.copy()
    after[0, [code[0], 3 + code[1]], label] += 1
    got = ranges(outputs(before, criterion, choice), outputs(after, criterion, choice))
    assert got.max() <= steps(criterion)


def marginals(joint):
    """Histogram of one node from its table of (code of 0, code of 1, class)."""
    return np.concatenate([joint.sum(axis=1), joint.sum(axis=0)])[None].astype(np.int32)


def test_gini_count_comes_near_its_range():
    """A record that makes one candidate purer and spoils another by almost one."""
    criterion = CRITERIA["gini_count"]
    joint = np.zeros((3, 3, 2), np.int64)
    # Feature 0 tells the classes apart; in feature 1, value 0 holds class 0 alone so far.
    joint[0, 0, 0] = joint[1, 1, 1] = 10**5
    before = marginals(joint)
    joint[1, 0, 1] += 1
    got = ranges(outputs(before, criterion, "joint"), outputs(marginals(joint), criterion, "joint"))
    assert steps(criterion) * Fraction(99, 100) < got.max() <= steps(criterion)


def test_without_its_rounding_slack_the_gini_range_would_still_be_two():
    criterion = CRITERIA["gini_count"]
    assert criterion.score_range == 2 + Fraction(4, 2**20)
    assert criterion.score_range - 2 < Fraction(1, 10**5)


@pytest.mark.parametrize("m", [1, 3, 2**16 + 1, 10**7 + 19, 2**30 - 3])
def test_floored_purity_is_within_the_proved_window(m):
    """s - 1.51 < computed <= s + 0.51 for a child of up to 2**31 records."""
    criterion = CRITERIA["gini_count"]
    for first in {0, 1, m // 3, m // 2, m - 1, m}:
        hist = np.zeros((1, 6, 2), np.int32)
        hist[0, 0] = hist[0, 3] = first, m - first
        scores = outputs(hist, criterion, "value of 0")  # all records in the left child
        exact = Fraction(first**2 + (m - first) ** 2, m) * 2**20
        assert exact - Fraction("1.51") < int(scores[0, 0]) <= exact + Fraction("0.51")


def test_adding_does_nothing_to_the_other_child():
    """The proof's premise that one child's term moves, bit for bit."""
    generator = np.random.default_rng(1)
    joint = generator.integers(0, 10**6, (3, 3, 2))
    left, right = joint[:1], joint[1:]
    criterion = CRITERIA["gini_count"]
    terms = [
        outputs(marginals(np.concatenate(pair)), criterion, "value of 0")[0, 0]
        for pair in (
            (left, right),
            (left, np.zeros_like(right)),
            (np.zeros_like(left), right),
        )
    ]
    assert terms[0] == terms[1] + terms[2]


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_are_found_by_name(name):
    criterion = resolve_criterion(name)
    assert criterion.name == name
    assert resolve_criterion(criterion) is criterion
    assert [c.code for c in CRITERIA.values()].count(criterion.code) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        criterion.score_range = Fraction(1)


@pytest.mark.parametrize(
    "wrong",
    ["gini", "", None, 3, dataclasses.replace(CRITERIA["gini_count"], score_range=Fraction(1, 2))],
)
def test_other_criteria_are_refused(wrong):
    with pytest.raises(ParameterError, match="must be one of 'gini_decrease'") as caught:
        resolve_criterion(wrong)
    assert caught.value.parameter == "criterion"
    assert caught.value.repair == "Pick one of those names"
