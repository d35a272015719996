"""What a tree's sides are priced with is what its records are drawn with."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpforest.accounting import BudgetAccountant
from dpforest.accounting.rationals import mixture_epsilon
from dpforest.audit.catalogue import one_split_plan
from dpforest.mechanisms.entropy import SeededSource
from dpforest.trees.multinomial.growth import draw_sides
from dpforest.trees.multinomial.tree_plan import ESTIMATION, STRUCTURE, charge_tree


@pytest.mark.parametrize("partition", [Fraction(1, 10), Fraction(1, 4), Fraction(9, 10)])
def test_each_side_is_priced_with_the_probability_that_it_is_drawn_with(partition):
    plan = one_split_plan(partition=partition, leaf_epsilon=Fraction(3))
    with BudgetAccountant._unlimited().open_scope("tree") as scope:
        charge_tree(plan, scope)
        (sides,) = scope.record().children
    assert sides.probabilities == {STRUCTURE: str(partition), ESTIMATION: str(1 - partition)}
    paid = {child.label: child.charged.loss.epsilon for child in sides.children}
    assert paid == {STRUCTURE: 1, ESTIMATION: 3}
    shares = [partition, 1 - partition]
    assert sides.composed.loss.epsilon == mixture_epsilon(shares, [Fraction(1), Fraction(3)])
    structure, estimation = draw_sides(40_000, plan, SeededSource(1))
    assert structure.size + estimation.size == 40_000
    # Six standard deviations.
    assert structure.size / 40_000 == pytest.approx(float(partition), abs=6 * 0.5 / 200)
