"""The share of a forest's gain by R: which fits count, where they fall, and what a row says."""

from __future__ import annotations

import math

import pytest
from share_of_gain import FOREST, LIMITS, MAJORITY, PRIVATE, rows, shares

PURE, WITH_DELTA = PRIVATE


def line(model, accuracy, epsilon=None, dataset="one", seed=0):
    return {"dataset": dataset, "model": model, "seed": seed, "epsilon": epsilon,
            "accuracy": accuracy, "n_train": 1049}  # fmt: skip


REFERENCES = [line(MAJORITY, 0.6), line(FOREST, 0.8)]


def test_a_share_is_of_the_gain_on_the_same_split():
    found = list(shares([*REFERENCES, line(PURE, 0.75, 0.1), line(WITH_DELTA, 0.5, 2.0)]))
    assert [model for model, _, _ in found] == [PURE, WITH_DELTA]
    # R is that of 1,000 declared records in pure epsilon, with a delta too.
    assert [signal for _, signal, _ in found] == pytest.approx([100 / 2**0.5, 2000 / 2**0.5])
    assert [share for *_, share in found] == pytest.approx([0.75, -0.5])


def test_fits_without_a_reference_or_on_tables_that_teach_nothing_are_left_out():
    lone = line(PURE, 0.75, 0.1, seed=1)
    dull = [line(MAJORITY, 0.6, dataset="two"), line(FOREST, 0.62, dataset="two"),
            line(PURE, 0.61, 1.0, dataset="two")]  # fmt: skip
    assert not list(shares([*REFERENCES, lone, *dull, line("multinomial forest", 0.7, 1.0)]))


def test_a_row_has_quartiles_and_how_often_nothing_was_gained():
    found = [(PURE, 5.0, share) for share in (-0.1, 0.0, 0.5, 1.0)] + [(PURE, 4.9, 1.0)]
    made = list(rows([*found, (WITH_DELTA, 1e9, 0.9)]))
    assert len(made) == len(LIMITS) - 1 and math.isinf(LIMITS[-1])
    assert made[0] == "| 5 to 20 | -2 / 25 / 62, 50 % | nan / nan / nan, nan % | 4 |"
    assert made[-1].startswith("| from 5,000 | nan") and "90 / 90 / 90, 0 %" in made[-1]
