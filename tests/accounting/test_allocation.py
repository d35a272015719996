"""Allocations: shares add to the total by the rule that the scopes apply."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.accounting.allocation import (
    Allocation,
    ExplicitAllocation,
    PerLevelAllocation,
    Theorem2Allocation,
    UniformAllocation,
    resolve_allocation,
)
from dpforest.exceptions import ParameterError, ParameterTypeError

TOTALS = st.fractions(min_value=F(1, 1000), max_value=100)
DIVIDING = (Theorem2Allocation(), UniformAllocation(), PerLevelAllocation(feature_share="0.3"))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(TOTALS, st.integers(1, 50), st.integers(1, 12), st.booleans(), st.booleans())
def test_trees_use_exactly_the_total(total, n_trees, depth, partitioned, joint):
    for allocation in DIVIDING[0 if partitioned else 1 :]:
        shares = allocation.shares(total, n_trees, depth, partitioned=partitioned, joint=joint)
        tree = max(shares.selection, shares.leaf) if partitioned else shares.selection + shares.leaf
        assert tree * n_trees == total
        assert len(shares.feature) == len(shares.value) == depth
        assert all(share > 0 for share in shares.feature)
        assert all((share == 0) == joint for share in shares.value)


def test_theorem2_gives_the_papers_shares():
    shares = Theorem2Allocation("0.25").shares(F(1), 10, 4, partitioned=True, joint=False)
    assert shares.feature == (F(1, 160),) * 4
    assert shares.value == (F(3, 160),) * 4
    assert shares.leaf == F(1, 10)


def test_theorem2_needs_a_partition():
    with pytest.raises(ParameterError, match="structure and estimation points being disjoint"):
        Theorem2Allocation().shares(F(1), 10, 4, partitioned=False, joint=False)


def test_levels_follow_their_weights():
    shares = PerLevelAllocation([1, 3], selection_share="0.4").shares(
        F(1), 1, 2, partitioned=False, joint=True
    )
    assert shares.feature == (F(1, 10), F(3, 10))
    assert shares.leaf == F(6, 10)
    with pytest.raises(ParameterError, match="one weight for each of 3 levels"):
        PerLevelAllocation([1, 3]).shares(F(1), 1, 3, partitioned=False, joint=True)


def test_explicit_shares_are_as_given():
    explicit = ExplicitAllocation(B1=0.1, B2=0.2, B3=1)
    shares = explicit.shares(F(1), 7, 2, partitioned=False, joint=False)
    assert shares.feature == (F(1, 10),) * 2
    assert shares.value == (F(1, 5),) * 2
    assert shares.leaf == 1
    assert explicit.shares(F(1), 7, 2, partitioned=True, joint=True).feature == (F(3, 10),) * 2


def test_explicit_shares_are_epsilons_and_say_so():
    assert ExplicitAllocation(1, 1, 1).in_epsilon
    words = ExplicitAllocation(1, 2, 3).describe()
    assert words == "epsilon of each draw as given: B1 = 1, B2 = 2, B3 = 3"
    assert not hasattr(UniformAllocation(), "in_epsilon")


@pytest.mark.parametrize("name", ["theorem2", "uniform", "per_level"])
def test_names(name):
    allocation = resolve_allocation(name)
    assert allocation.name == name
    assert isinstance(allocation, Allocation)
    assert allocation.describe()


def test_objects_pass_through():
    explicit = ExplicitAllocation(1, 1, 1)
    assert resolve_allocation(explicit) is explicit
    assert "B3 = 1" in explicit.describe()


def test_bad_allocations():
    with pytest.raises(ParameterError, match="allocation='best': must be one of 'theorem2'"):
        resolve_allocation("best")
    with pytest.raises(ParameterError, match="allocation='explicit': needs B1, B2 and B3"):
        resolve_allocation("explicit")
    for other in (None, 3, UniformAllocation):
        with pytest.raises(ParameterTypeError, match="must be a name or have name, shares"):
            resolve_allocation(other)
    with pytest.raises(ParameterError, match="feature_share=1: must lie strictly between"):
        UniformAllocation(feature_share=1)
    with pytest.raises(ParameterError, match="must all be positive"):
        PerLevelAllocation([1, 0])
    with pytest.raises(ParameterTypeError, match="must be a sequence of numbers"):
        PerLevelAllocation("12")
    with pytest.raises(ParameterError, match="B2='0': must be positive"):
        ExplicitAllocation(1, 0, 1)
