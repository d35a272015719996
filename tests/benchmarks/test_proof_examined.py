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
