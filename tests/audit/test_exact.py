"""True worst cases of small domains, held to their claims; the laws held to other formulas."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dpforest.audit import exact_checks
from dpforest.audit.exact import SmallTables, check_joint_selection, check_one_split_tree
from dpforest.audit.exact_parts import check_discrete_gaussian, check_sides
from dpforest.audit.laws import (
    exponential_law,
    geometric_law,
    permute_and_flip_law,
    product_law,
    worst_loss,
)
from dpforest.trees.multinomial.criteria import CRITERIA, GINI_COUNT_CRITERION


@pytest.fixture(scope="module")
def checks():
    """Every check by name: made here, since each process that lists tests reads this file."""
    return {check.name: check for check in exact_checks()}


def test_no_worst_case_exceeds_its_claim(checks):
    assert len(checks) == 25
    for name, check in checks.items():
        print(f"{name}: {check.worst:.6f} of {check.claim:g}, {check.ratio:.4f}, {check.where}")
        assert 0 < check.worst <= check.claim, name
        assert check.pairs >= 5, name


@pytest.mark.parametrize(
    "name",
    [
        "count_label, one leaf",
        "count_label_permute_and_flip, one leaf",
        "geometric noise",
        "geometric noise that adds up to nothing",
        "discrete Gaussian noise, rho",
        "secret sides, a noisy count each",
        "residual sums of 2 classes, L2 squared",
        "residual sums of 3 classes, L2 squared",
        "selection, majority_count, up to 40 records a cell",
    ],
)
def test_tight_claims_are_reached_within_one_per_cent(name, checks):
    assert checks[name].ratio >= 0.99


def test_gini_by_counts_reaches_976_thousandths_at_40_records_a_cell(checks):
    check = checks["selection, gini_count, up to 40 records a cell"]
    assert check.ratio == pytest.approx(0.976, abs=0.001)


def test_normalised_scores_reach_most_of_their_claim(checks):
    assert checks["selection, gini_decrease, 8 values, up to 5 records"].ratio > 0.85


def test_half_the_range_would_be_found():
    # The same check with a criterion that claims half of what its scores do.
    tables = SmallTables.enumerate((8,), 5)
    from dataclasses import replace

    for name in ("gini_decrease", "majority_count"):
        wrong = replace(CRITERIA[name], score_range=CRITERIA[name].score_range / 2)
        assert check_joint_selection(wrong, tables, "wrong").ratio > 1.5


def test_sides_priced_below_their_mixture_would_be_found(checks):
    # ln(e^2 / 4 + 3 e^0.5 / 4), not the mean of 2 and 0.5, and not the larger one.
    check = checks["secret sides, a noisy count each"]
    assert check.claim == pytest.approx(math.log(math.exp(2) / 4 + 3 * math.exp(0.5) / 4))
    assert check.worst > (2 + 3 * 0.5) / 4 + 0.2
    assert check_sides(Fraction(1, 2), (Fraction(1), Fraction(1))).ratio > 0.99


def test_gaussian_noise_for_a_third_of_the_deviation_would_be_found():
    assert check_discrete_gaussian(4, 100).worst > 2 * check_discrete_gaussian(9).claim


def test_all_tables_and_all_neighbours_are_there():
    tables = SmallTables.enumerate((2, 2), 3)
    # Multisets of up to 3 of 8 kinds of records; each of up to 2 has 8 neighbours above.
    assert len(tables.cells) == sum(math.comb(7 + n, n) for n in range(4))
    assert tables.below.size == 8 * sum(math.comb(7 + n, n) for n in range(3))
    change = tables.cells[tables.above].astype(int) - tables.cells[tables.below]
    assert (change >= 0).all() and (change.sum(axis=(1, 2)) == 2).all()  # one cell a feature


def test_a_tree_law_is_a_law():
    from dpforest.audit.exact import _TreeLaws

    tables = SmallTables.enumerate((2, 3), 2)
    laws = _TreeLaws(GINI_COUNT_CRITERION, tables, 1, 1)
    logs = np.concatenate(list(laws.log_laws()), axis=1)
    assert np.exp(logs).sum(axis=1) == pytest.approx(1.0)
    exact = laws.law(7)
    assert abs(sum(exact) - 1) < Decimal("1e-45")
    assert np.exp(logs[7]) == pytest.approx([float(p) for p in exact], rel=1e-12)
    assert check_one_split_tree(GINI_COUNT_CRITERION, tables).pairs == tables.below.size


def flipped(scores, c):
    """Permute-and-flip by its definition: every order, every accepted candidate."""
    top, law = max(scores), [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        rest = 1.0
        for j in order:
            accept = math.exp(c * (scores[j] - top))
            law[j] += rest * accept
            rest *= 1 - accept
    return [p / math.factorial(len(scores)) for p in law]


def test_laws_against_other_formulas():
    scores = [0.0, 3.0, 5.0, 5.0]
    assert [float(p) for p in permute_and_flip_law(scores, 0.3)] == pytest.approx(
        flipped(scores, 0.3)
    )
    weights = np.exp(0.3 * np.array(scores))
    assert [float(p) for p in exponential_law(scores, 0.3)] == pytest.approx(
        weights / weights.sum()
    )
    assert float(sum(geometric_law(2, 0.5, range(-200, 200)))) == pytest.approx(1.0)
    assert exponential_law([0.0, -math.inf], 1.0)[1] == 0


def test_losses():
    half, quarter = Decimal("0.5"), Decimal("0.25")
    assert float(worst_loss([half, half], [quarter, 3 * quarter])) == pytest.approx(math.log(2))
    assert worst_loss([half, half, Decimal(0)], [quarter, half, quarter]) == Decimal("Infinity")
    assert worst_loss([half, Decimal(0)], [half, Decimal(0)]) == 0
    assert product_law([half, half], [quarter]) == [quarter / 2, quarter / 2]
