"""The price of secret sides: each side's loss is weighed with the probability that it is drawn by.

Two sides of unequal cost and unequal probability, so that probabilities put the wrong way round
give another price, a smaller one.
"""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant, ExponentialSelection, GeometricNoise
from dpforest.accounting.lists import ESTIMATION, STRUCTURE
from dpforest.accounting.verify import verify_composition
from dpforest.bridge.bridge import Bridge
from dpforest.mechanisms.entropy import FixedWords, SeededSource
from dpforest.records.base import Chunk, MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial.criteria import GINI_COUNT_CRITERION
from dpforest.trees.multinomial.learner import grow_forest
from dpforest.trees.multinomial.plan import TreeEvents, forest_plan
from dpforest.trees.multinomial.queries import Side

LIKELY = F(3, 4)
#: Of what is run on the likelier side and on the other one.
DEAR, CHEAP = F(2), F(1, 2)


def mixed(probability, epsilon, other):
    """ln(p e^epsilon + (1 - p) e^other), the docs' formula."""
    p = float(probability)
    return math.log(p * math.exp(epsilon) + (1 - p) * math.exp(other))


def noise(epsilon):
    return GeometricNoise(F(epsilon), F(1))


def tree(probability, structure, leaves):
    """A tree of one level: two choices for half of the structure's epsilon each, and its leaves."""
    choice = ExponentialSelection(structure / 2, GINI_COUNT_CRITERION.score_range)
    events = TreeEvents((choice,), (choice,), noise(leaves))
    return forest_plan(1, events, GINI_COUNT_CRITERION, partition=probability)


def table_of(n):
    codes, labels = np.zeros((n, 1), np.uint8), np.zeros(n, np.uint8)
    return Table(
        codes, labels, np.array([2]), np.array([0, 2]), np.array([True]), 2
    )  # fmt: skip


#: The last word of the side that is drawn with this probability, and the first of the other one.
def words_at(probability):
    return np.array([int(probability * 2**64) - 1, int(probability * 2**64)], dtype=np.uint64)


def test_an_example_by_hand():
    # Three quarters of e^2 and one of e^0.5 are 5.9540, of which the logarithm is 1.7841; the
    # other way round it would be 1.1262.
    assert mixed(LIKELY, DEAR, CHEAP) == pytest.approx(1.78406, abs=1e-5)
    assert mixed(1 - LIKELY, DEAR, CHEAP) == pytest.approx(1.12616, abs=1e-5)


@pytest.mark.parametrize("dear_is_likely", [True, False])
@pytest.mark.parametrize("dear_first", [True, False])
def test_a_side_is_weighed_with_its_own_probability(dear_is_likely, dear_first):
    probability = LIKELY if dear_is_likely else 1 - LIKELY
    shares = {"dear": probability, "cheap": 1 - probability}
    if not dear_first:
        shares = dict(reversed(shares.items()))
    accountant = BudgetAccountant(10)
    sides = accountant.parallel_records("draw", shares)
    for name, epsilon in (("cheap", CHEAP), ("dear", DEAR)):
        sides.side(name).request(noise(epsilon), role="count")
    price = float(accountant.loss.epsilon)
    assert price == pytest.approx(mixed(probability, DEAR, CHEAP), abs=1e-12)
    (scope,) = accountant.composition().children
    assert {name: F(p) for name, p in scope.probabilities.items()} == shares
    assert verify_composition(accountant.composition()) == ()


def test_the_books_of_swapped_probabilities_do_not_pass():
    accountant = BudgetAccountant(10)
    sides = accountant.parallel_records("draw", {"dear": LIKELY, "cheap": 1 - LIKELY})
    for name, epsilon in (("cheap", CHEAP), ("dear", DEAR)):
        sides.side(name).request(noise(epsilon), role="count")
    books = accountant.composition()
    (scope,) = books.children
    swapped = {"dear": scope.probabilities["cheap"], "cheap": scope.probabilities["dear"]}
    scope = scope.model_copy(update={"probabilities": swapped})
    assert verify_composition(books.model_copy(update={"children": (scope,)}))


@pytest.mark.parametrize("probability", [LIKELY, 1 - LIKELY])
@pytest.mark.parametrize(("structure", "leaves"), [(DEAR, CHEAP), (CHEAP, DEAR)])
def test_a_trees_sides_are_priced_as_they_are_drawn(probability, structure, leaves):
    plan = tree(probability, structure, leaves)
    accountant = BudgetAccountant(10)
    with accountant.open_scope("forest") as scope:
        bridge = Bridge(plan.rounds, scope, MemoryRecords(table_of(2)), SeededSource(1))
        grow_forest(plan.shape, bridge)
    assert accountant.loss == plan.loss
    price = float(accountant.loss.epsilon)
    assert price == pytest.approx(mixed(probability, structure, leaves), abs=1e-12)
    (((sides,),),) = (
        [one.children for one in scope.children] for scope in accountant.composition().children
    )
    assert F(sides.probabilities[STRUCTURE]) == probability
    assert F(sides.probabilities[ESTIMATION]) == 1 - probability
    # And so does every record draw: the structure below, the leaves from there on.
    words = words_at(probability)
    first, second = Side(FixedWords(words).rows(), plan.shape.partition).both(2)
    assert (first.tolist(), second.tolist()) == ([0], [1])
    for structure_side, expected in ((True, [0]), (False, [1])):
        side = Side(FixedWords(words).rows(), plan.shape.partition)
        assert side.members(Chunk(table_of(2)), structure_side).tolist() == expected
