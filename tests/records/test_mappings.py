"""Targets rescaled into released bounds, and classes tossed from targets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.row_words import RowWords
from dpforest.records.base import Chunk
from dpforest.records.mappings import Rescaled, Tossed
from dpforest.records.table import Table

steps = st.integers(0, TARGET_STEPS)
ALPHA = 1e-9


def table_of(targets) -> Table:
    n = len(targets)
    codes, labels = np.zeros((n, 1), np.uint8), np.zeros(n, np.uint8)
    columns = np.array([2]), np.array([0, 2]), np.array([True])
    return Table(codes, labels, *columns, 2, targets=np.array(targets, dtype=np.int32))


# -- rescaling -------------------------------------------------------------------------------


@given(st.lists(steps, min_size=1, max_size=20), st.lists(steps, min_size=2, max_size=2))
def test_rescaled_targets_are_those_of_the_twin(targets, ends):
    low, high = sorted(ends)
    if low == high:
        return
    table = Rescaled(low, high).table(Chunk(table_of(targets)))
    twin = [(min(max(t, low), high) - low) * TARGET_STEPS // (high - low) for t in targets]
    assert table.targets.tolist() == twin and table.targets.dtype == np.int32
    assert min(twin) >= 0 and max(twin) <= TARGET_STEPS
    # Back in the declared range no more than a step is lost.
    for target, place in zip(targets, twin, strict=True):
        back = low + Fraction(place * (high - low), TARGET_STEPS)
        assert 0 <= min(max(target, low), high) - back < 1


def test_the_whole_range_changes_nothing():
    targets = [0, 1, 77, TARGET_STEPS - 1, TARGET_STEPS]
    assert Rescaled(0, TARGET_STEPS).table(Chunk(table_of(targets))).targets.tolist() == targets


# -- coins -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0, 1, 2**15, TARGET_STEPS - 1, TARGET_STEPS])
def test_a_coin_is_exact_over_all_words(target):
    words = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    table = table_of([target] * words.size).tossed(words)
    assert table.targets is None and table.unit == 1
    assert int(table.labels.sum()) == target


def chi_square(targets, labels, scale=1.0):
    """Of classes against their chances, by eight groups of targets."""
    total = 0.0
    for group in np.unique(targets):
        own = labels[targets == group]
        chance = min(group / TARGET_STEPS * scale, 1.0)
        total += (own.sum() - own.size * chance) ** 2 / (own.size * chance * (1 - chance))
    return total


def test_tossed_classes_follow_their_chances():
    targets = np.repeat(np.arange(1, 9) * TARGET_STEPS // 12, 20_000)
    rows = SeededSource(5).rows()
    table = Tossed(rows).table(Chunk(table_of(targets)))
    limit = chi2.isf(ALPHA, df=8)
    assert chi_square(targets, table.labels) < limit
    assert chi_square(targets, table.labels, 1.3) > limit
    assert chi_square(targets, table.labels, 0.7) > limit


def test_a_coin_is_the_records_own_however_the_table_is_cut():
    targets = np.random.default_rng(1).integers(0, TARGET_STEPS, 100)
    rows = RowWords.keyed(np.arange(4, dtype=np.uint64))
    whole = Tossed(rows).table(Chunk(table_of(targets))).labels
    part = Tossed(rows).table(Chunk(table_of(targets[30:60]), 30)).labels
    assert whole[30:60].tolist() == part.tolist()
