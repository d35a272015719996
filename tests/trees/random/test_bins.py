"""Bins: public ones, private quantiles, what one record changes, when they are bought."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.accounting.releases import LearnerBudget, PlanError, Release, once
from dpforest.bridge.bridge import Bridge
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.trees.random.bins import (
    CELL_SHARE,
    FEW_CODES,
    QUANTILES_ROLE,
    asked_bins,
    bins_in_words,
    ordered_counts,
    public_bins,
    quantiles_are_affordable,
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


def bought(facts, table, event):
    """Bins of a plan that buys them by an event."""
    rounds = (once("one_shot", Release(QUANTILES_ROLE, event)),)
    with BudgetAccountant._unlimited().open_scope("fit") as scope:
        bridge = Bridge(rounds, scope, MemoryRecords(table), SeededSource(5))
        bins = asked_bins(bridge, facts, 32)
        bridge.finish()
    return bins


@pytest.mark.parametrize("event", [DiscreteGaussianNoise, GeometricNoise])
def test_quantiles_follow_the_records(facts_of, table_of, event):
    facts = facts_of([257, -4, 101], 2)
    table = table_of(facts, 20_000, seed=1)
    bins = bought(facts, table, event(Fraction(9), Fraction(4)))
    first = bins_of(bins, facts, 0)
    assert np.all(np.diff(first) >= 0) and first[-1] == first[-2] + 1 and first[-1] <= 32
    widths = np.bincount(first[:-1])
    # Shares u**1.5 crowd at small codes, so bins are narrower there.
    assert widths[:5].max() < widths[-5:].min()
    assert np.all(np.diff(bins.place[:256]) >= 0)
    assert np.array_equal(bins_of(bins, facts, 1), np.arange(4))


@pytest.mark.parametrize("n_records", [0, 1])
def test_quantiles_of_no_records_are_bins_all_the_same(facts_of, table_of, n_records):
    facts = facts_of([257, -4, 17], 2)
    event = DiscreteGaussianNoise(Fraction(10**4), Fraction(3))
    bins = bought(facts, table_of(facts, n_records), event)
    assert bins.starts.size == 4 and 2 <= bins.starts[1] <= 33
    assert np.all((bins.place >= 0) & (bins.place <= 1))


def test_features_of_few_codes_are_not_asked_for(facts_of):
    facts = facts_of([256, -300, 16, 17, -4, 2, 40], 2)
    for pure in (False, True):
        query = ordered_counts(facts, pure)
        assert query.features.tolist() == [0, 3, 6] and query.n_codes.tolist() == [256, 17, 40]
        assert query.sensitivity.l1 == (2 + 1 + 1 if pure else 2 + 1 + 2)
    # Of 64 bins none would be merged, whatever counts said, since a cell has its own part.
    assert CELL_SHARE / FEW_CODES >= 1 / 64


def test_words_of_a_plan_say_which_features_have_quantiles():
    assert bins_in_words(False) == "merged public cells"
    said = bins_in_words(True)
    assert "private quantiles" in said and f"more than {FEW_CODES} codes" in said


@pytest.mark.parametrize("event", [DiscreteGaussianNoise, GeometricNoise])
def test_histograms_paid_for_as_one_are_refused(facts_of, table_of, event):
    facts = facts_of([20, -3, 40], 2)
    with pytest.raises(PlanError, match="less than one record moves"):
        bought(facts, table_of(facts, 50), event(Fraction(9), Fraction(1)))


def test_bins_are_public_where_the_plan_buys_none(facts_of, table_of):
    facts = facts_of([101, -7, 4], 2)
    with BudgetAccountant._unlimited().open_scope("fit") as scope:
        bridge = Bridge((), scope, MemoryRecords(table_of(facts, 50)), SeededSource(5))
        bins, public = asked_bins(bridge, facts, 10), public_bins(facts, 10)
        assert scope.loss.epsilon == 0
    assert np.array_equal(bins.of_code, public.of_code)
    assert np.array_equal(bins.place, public.place)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
def test_they_are_bought_from_the_row_on_that_the_rule_says(delta, facts_of):
    budget, share = LearnerBudget(Fraction(1), delta), Fraction(1, 10)
    noise = math.sqrt(3 / (2 * share * budget.rho)) if delta else math.sqrt(2) * 2 / share
    rows = float((5 if delta else 10) * noise)
    for factor, bought in ((0.999, False), (1.001, True)):
        facts = facts_of([40, -3, 20, 12], 2, factor * rows)
        assert quantiles_are_affordable(facts, budget, share) == bought


def test_they_are_bought_where_the_noise_is_small_by_public_facts(facts_of):
    share = Fraction(1, 10)
    gaussian, pure = LearnerBudget(Fraction(1), DELTA), LearnerBudget(Fraction(1), Fraction(0))
    many, few = facts_of([90, 90, -3], 2, 10_000.0), facts_of([90, 90, -3], 2, 100.0)
    assert quantiles_are_affordable(many, gaussian, share)
    assert quantiles_are_affordable(many, pure, share)
    assert not quantiles_are_affordable(few, gaussian, share)
    assert not quantiles_are_affordable(few, pure, share)
    assert not quantiles_are_affordable(facts_of([90, 90], 2, None), gaussian, share)
    assert not quantiles_are_affordable(facts_of([-90, 16], 2, 1e6), gaussian, share)
