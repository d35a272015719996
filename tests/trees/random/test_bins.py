"""Bins: public ones, private quantiles, what one record changes, when they are bought."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.trees.base import LearnerBudget
from dpforest.trees.random.bins import (
    public_bins,
    quantile_sensitivity,
    quantiles_are_affordable,
    release_quantiles,
)

DELTA = Fraction(1, 10**6)


def bins_of(bins, facts, f):
    return bins.of_code[facts.offsets[f] : facts.offsets[f + 1]]


def test_public_bins_merge_neighbours_and_leave_categories_alone(facts_of):
    facts = facts_of([101, -7, 4], 2)
    bins = public_bins(facts, 10)
    assert np.array_equal(bins_of(bins, facts, 0), [*np.repeat(np.arange(10), 10), 10])
    assert np.array_equal(bins_of(bins, facts, 1), np.arange(7))
    assert np.array_equal(bins_of(bins, facts, 2), np.arange(4))
    assert bins.starts.tolist() == [0, 11, 18, 22]
    assert bins.place[100] == 0.5


@pytest.mark.parametrize("event", [DiscreteGaussianNoise, GeometricNoise])
def test_quantiles_follow_the_records(facts_of, table_of, grant, event):
    facts = facts_of([257, -4, 101], 2)
    table = table_of(facts, 20_000, seed=1)
    sensitivity = quantile_sensitivity(facts)
    assert sensitivity == 2
    paid = grant(event(Fraction(9), sensitivity))
    bins = release_quantiles(MemoryRecords(table), facts, paid, SeededSource(5), 32)
    first = bins_of(bins, facts, 0)
    assert np.all(np.diff(first) >= 0) and first[-1] == first[-2] + 1 and first[-1] <= 32
    widths = np.bincount(first[:-1])
    # Shares u**1.5 crowd at small codes, so bins are narrower there.
    assert widths[:5].max() < widths[-5:].min()
    assert np.all(np.diff(bins.place[:256]) >= 0)
    assert np.array_equal(bins_of(bins, facts, 1), np.arange(4))


@pytest.mark.parametrize("n_records", [0, 1])
def test_quantiles_of_no_records_are_bins_all_the_same(facts_of, table_of, grant, n_records):
    facts = facts_of([257, -4, 2], 2)
    paid = grant(DiscreteGaussianNoise(Fraction(10**4), Fraction(2)))
    bins = release_quantiles(
        MemoryRecords(table_of(facts, n_records)), facts, paid, SeededSource(5), 32
    )
    assert bins.starts.size == 4 and 2 <= bins.starts[1] <= 33
    assert np.all((bins.place >= 0) & (bins.place <= 1))


def test_one_record_moves_every_histogram_by_one(facts_of, table_of, grant, monkeypatch):
    facts = facts_of([20, -3, 11], 2)
    seen = []
    monkeypatch.setattr(
        "dpforest.trees.random.bins._add_noise", lambda counts, *_: seen.append(counts) or counts
    )
    table = table_of(facts, 50, seed=2)
    for n in (50, 49):
        shorter = type(table)(
            table.codes[:n], table.labels[:n], table.n_codes, table.offsets, table.ordered, 2
        )
        release_quantiles(MemoryRecords(shorter), facts, None, SeededSource(5), 32)
    moved = seen[0] - seen[1]
    assert np.abs(moved).sum() == (moved**2).sum() == quantile_sensitivity(facts)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
def test_they_are_bought_from_the_row_on_that_the_rule_says(delta, facts_of):
    budget, share, n_ordered = LearnerBudget(Fraction(1), delta), Fraction(1, 10), 2
    if delta:
        noise = math.sqrt(n_ordered / (2 * share * budget.rho))
    else:
        noise = math.sqrt(2) * n_ordered / share
    rows = float(3 * 16 * noise)
    for factor, bought in ((0.999, False), (1.001, True)):
        facts = facts_of([40, -3, 12], 2, factor * rows)
        assert quantiles_are_affordable(facts, budget, share) == bought


def test_they_are_bought_where_the_noise_is_small_by_public_facts(facts_of):
    share = Fraction(1, 10)
    gaussian, pure = LearnerBudget(Fraction(1), DELTA), LearnerBudget(Fraction(1), Fraction(0))
    many, few = facts_of([9, 9, -3], 2, 10_000.0), facts_of([9, 9, -3], 2, 300.0)
    assert quantiles_are_affordable(many, gaussian, share)
    assert quantiles_are_affordable(many, pure, share)
    assert not quantiles_are_affordable(few, gaussian, share)
    assert not quantiles_are_affordable(few, pure, share)
    assert not quantiles_are_affordable(facts_of([9, 9], 2, None), gaussian, share)
    assert not quantiles_are_affordable(facts_of([-9, -9], 2, 1e6), gaussian, share)
