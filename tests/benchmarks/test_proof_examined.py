"""The counter-examples to the published proof, and that the page shows what the script finds."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import proof_examined  # noqa: E402


def test_the_page_shows_what_the_script_finds():
    page = proof_examined.PAGE.read_text("utf-8")
    assert proof_examined.rewritten(page) == page


def test_observed_thresholds_have_no_finite_loss():
    *_, last = proof_examined.observed_thresholds()
    assert last.endswith("Found: inf.")


def test_public_candidates_keep_the_claim():
    """The same scores over the same three cuts move within the claim."""
    first = proof_examined.multinomial({0.5: 0.0, 1.5: 1.0, 2.0: 0.0}, 0.5)
    second = proof_examined.multinomial({0.5: 1.0, 1.5: 0.0, 2.0: 1.0}, 0.5)
    assert proof_examined.worst_loss(first, second) <= 1.0


def test_a_half_of_fixed_size_costs_more_than_either_side_and_coins_do_not():
    rows = list(proof_examined.fixed_halves())
    fixed, coins = (float(row.split("|")[3]) for row in rows[2:4])
    assert fixed > 1.4
    assert coins <= 1.0001


def test_the_loss_of_two_laws():
    assert proof_examined.worst_loss({1: 0.5, 2: 0.5}, {1: 0.25, 2: 0.75}) == pytest.approx(
        math.log(2)
    )
    assert proof_examined.worst_loss({1: 1.0}, {2: 1.0}) == math.inf


def test_zero_over_zero_is_without_bound_unless_it_is_given_a_value():
    rows = [row.split("|") for row in proof_examined.zero_over_zero() if row.startswith("| ")][2:]
    (stops, zero) = (float(row[-2]) for row in rows)
    assert stops == math.inf and 0 < zero <= 1.0
    assert "no split 1.0000" in rows[0][2] and "A 0.5000, B 0.5000" in rows[1][2]


def test_a_depth_that_counts_records_passes_the_whole_claim():
    *rows, _, last = proof_examined.depth_from_records()
    first, second = ([cell.strip() for cell in row.split("|")] for row in rows[2:])
    assert (int(second[1]) - int(first[1]), int(second[3]) - int(first[3])) == (1, 1)
    assert float(last.split("make: ")[1].split(";")[0]) > 1.0 and last.endswith("inf.")


def test_a_depth_that_stays_moves_no_draw():
    """One record more that leaves |D^E|/k as it is: the fault is in the division, nowhere else."""
    *_, last = proof_examined.depth_from_records((45, 46))
    assert "both trees make: 0.00;" in last and last.endswith("can be seen: 0.0.")
