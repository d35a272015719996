"""Groups of codes: what is counted, what one record changes, and the fit of all widths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.records.base import Chunk
from dpforest.trees.random.groups import FAN, FEW, PURE_FEW, GroupCounts, width_sizes, widths_of

SIZES = [1, 16, 31, 32, 33, 100, 256, 511, 512, 513, 9000]


def slow_widths(counts: list[int]) -> list[list[int]]:
    """Groups by a loop over codes, as long as there are more than 32."""
    widths = [counts]
    while len(widths[-1]) > 32:
        groups = [0] * ((len(widths[-1]) + 15) // 16)
        for place, count in enumerate(widths[-1]):
            groups[place // 16] += count
        widths.append(groups)
    return widths


@pytest.mark.parametrize("n_codes", SIZES)
def test_groups_are_sums_of_sixteen_neighbours(n_codes):
    counts = np.random.default_rng(n_codes).integers(0, 9, n_codes)
    found, wanted = widths_of(counts), slow_widths(counts.tolist())
    assert [width.tolist() for width in found] == wanted
    assert width_sizes(n_codes) == [len(width) for width in wanted]


def rows_of(n_codes: list[int]) -> np.ndarray:
    """Matrix of all counts of all features, of the counts of their codes."""
    total, rows = sum(n_codes), []
    for n, first in zip(n_codes, np.cumsum([0, *n_codes]), strict=False):
        codes = np.zeros((n, total))
        codes[np.arange(n), first + np.arange(n)] = 1
        while True:
            rows.append(codes)
            if codes.shape[0] <= 2 * FAN:
                break
            codes = np.add.reduceat(codes, np.arange(0, codes.shape[0], FAN), axis=0)
    return np.vstack(rows)


def least_squares(n_codes: list[int], released: np.ndarray) -> np.ndarray:
    """The fit by dense equations, under totals that are all the same."""
    rows, ends = rows_of(n_codes), np.cumsum([0, *n_codes])
    same = np.zeros((len(n_codes) - 1, sum(n_codes)))
    for number in range(same.shape[0]):
        same[number, ends[number] : ends[number + 1]] = 1
        same[number, ends[number + 1] : ends[number + 2]] = -1
    zeros = np.zeros((same.shape[0], same.shape[0]))
    system = np.block([[rows.T @ rows, same.T], [same, zeros]])
    given_side = np.append(rows.T @ released, np.zeros(same.shape[0]))
    return np.linalg.solve(system, given_side)[: sum(n_codes)]


@pytest.mark.parametrize("n_codes", [[256], [20, 256, 33], [600, 17], [40, 40, 40]])
def test_the_fit_is_that_of_least_squares(n_codes):
    query = GroupCounts(np.arange(len(n_codes)), np.array(n_codes))
    n_released = sum(sum(width_sizes(n)) for n in n_codes)
    released = np.random.default_rng(1).integers(-50, 300, n_released)
    found = np.concatenate(query.fitted(released))
    assert np.allclose(found, least_squares(n_codes, released), atol=1e-6)
    assert not np.allclose(found, least_squares(n_codes, np.roll(released, 1)), atol=1)


@given(st.lists(st.sampled_from(SIZES), min_size=1, max_size=3), st.integers(1, 50))
def test_counts_without_noise_come_back(n_codes, n_records):
    generator = np.random.default_rng(n_records)
    counts = [np.bincount(generator.integers(0, n, n_records), minlength=n) for n in n_codes]
    query = GroupCounts(np.arange(len(n_codes)), np.array(n_codes))
    whole = np.concatenate([width for own in counts for width in widths_of(own)])
    for own, fitted in zip(counts, query.fitted(whole), strict=True):
        assert np.allclose(own, fitted, atol=1e-6)


def test_one_record_adds_one_to_a_count_of_every_width(facts_of, table_of):
    facts = facts_of([300, -3, 20, 40], 2)
    table, n_codes = table_of(facts, 50, seed=2), np.array([300, 20, 40])
    query = GroupCounts(np.array([0, 2, 3]), n_codes)
    whole = query.count(Chunk(table))
    assert query.sensitivity.l1 == query.sensitivity.l2_squared == 2 + 1 + 2
    for n in range(50):
        one = type(table)(
            table.codes[n : n + 1], table.labels[n : n + 1], table.n_codes, table.offsets,
            table.ordered, 2,
        )  # fmt: skip
        moved = query.count(Chunk(one))
        assert moved.min() == 0 and moved.sum() == (moved**2).sum() == query.sensitivity.l1
        whole = whole - moved
    assert not whole.any()


def rank_error(n_codes: int, few: int, scale: float) -> float:
    """Mean absolute error of ranks, where counts of one width alone have a noise of 1."""
    generator, true = np.random.default_rng(3), np.full(n_codes, 10_000.0)
    ranks = np.arange(1, n_codes + 1) / n_codes
    query = GroupCounts(np.arange(1), np.array([n_codes]), few)
    widths, errors = np.concatenate(widths_of(true, few)), []
    for _ in range(300):
        noisy = np.rint(widths + generator.normal(0, 100 * scale, widths.size))
        sums = np.cumsum(query.fitted(noisy)[0])
        errors.append(np.abs(sums / sums[-1] - ranks).mean())
    return float(np.mean(errors))


@pytest.mark.parametrize("n_codes", [256, 257, 512])
def test_with_a_delta_ranks_are_known_about_twice_as_well_as_by_codes_alone(n_codes):
    """Both for the same rho: two widths have two times the variance."""
    assert rank_error(n_codes, FEW, 2**0.5) < 0.55 * rank_error(n_codes, n_codes, 1)


@pytest.mark.parametrize(("n_codes", "most"), [(129, 1.0), (256, 0.8), (512, 0.65)])
def test_in_pure_epsilon_groups_are_worth_twice_the_noise(n_codes, most):
    """Both for the same epsilon: two widths have twice the noise, not its root."""
    assert rank_error(n_codes, PURE_FEW, 2) < most * rank_error(n_codes, n_codes, 1)


def test_in_pure_epsilon_fewer_codes_are_left_as_they_are():
    """Groups of 64 would have more noise than they take away."""
    assert width_sizes(PURE_FEW, PURE_FEW) == [PURE_FEW]
    assert rank_error(64, FEW, 2) > rank_error(64, PURE_FEW, 1)
