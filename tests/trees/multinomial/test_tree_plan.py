"""What a tree's sides are priced with is what its records are drawn with."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.lists import ESTIMATION, STRUCTURE
from dpforest.accounting.rationals import mixture_epsilon
from dpforest.audit.catalogue import SMALL_DOMAIN, one_split_plan
from dpforest.bridge.bridge import Bridge
from dpforest.domain.encoder import DomainEncoder
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial.learner import grow_forest
from dpforest.trees.multinomial.queries import Side


@pytest.mark.parametrize("partition", [Fraction(1, 10), Fraction(1, 4), Fraction(9, 10)])
def test_each_side_is_priced_with_the_probability_that_it_is_drawn_with(partition):
    plan = one_split_plan(partition=partition, leaf_epsilon=Fraction(3))
    table = Table.of(DomainEncoder(SMALL_DOMAIN).encode(np.zeros((9, 2)), np.zeros(9)))
    with BudgetAccountant._unlimited().open_scope("forest") as scope:
        bridge = Bridge(plan.rounds, scope, MemoryRecords(table), SeededSource(2))
        grow_forest(plan.shape, bridge)
        (tree,) = scope.record().children
    (sides,) = tree.children
    assert sides.probabilities == {STRUCTURE: str(partition), ESTIMATION: str(1 - partition)}
    paid = {child.label: child.charged.loss.epsilon for child in sides.children}
    assert paid == {STRUCTURE: 1, ESTIMATION: 3}
    shares = [partition, 1 - partition]
    assert sides.composed.loss.epsilon == mixture_epsilon(shares, [Fraction(1), Fraction(3)])
    assert plan.loss.epsilon == sides.composed.loss.epsilon
    structure, estimation = Side(SeededSource(1).rows(), plan.shape.partition).both(40_000)
    assert structure.size + estimation.size == 40_000
    # Six standard deviations.
    assert structure.size / 40_000 == pytest.approx(float(partition), abs=6 * 0.5 / 200)
