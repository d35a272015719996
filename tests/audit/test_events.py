"""Learning events: what kinds are found, and that testing runs have no say in it."""

import numpy as np
import pytest

from dpforest.audit.events import choose_event


def learnt(first, second, testing=None, delta=0.0, alpha=0.01):
    as_columns = [np.asarray(o).reshape(len(o), -1) for o in (first, second)]
    n_test = len(first) if testing is None else len(testing[0])
    return choose_event(tuple(as_columns), testing, n_test, delta, alpha)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("swapped", [False, True])
def test_shifts_in_both_directions_and_on_both_sides(sign, swapped):
    rng = np.random.default_rng(0)
    samples = [rng.laplace(0, 1, 8000), rng.laplace(sign, 1, 8000)]
    assert learnt(*(samples[::-1] if swapped else samples)).promised > 0.75


def test_an_event_of_two_columns_together():
    # Each column alone has one law on both datasets.
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (8000, 1))
    same, other = np.hstack([bits, bits]), np.hstack([bits, 1 - bits])
    event = learnt(same, other)
    assert event.promised > 3
    assert "(0, 0)" in event.description or "(0, 1)" in event.description


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("swapped", [False, True])
def test_nan_counts_as_an_output_and_lies_beyond_no_level(sign, swapped):
    """What was promised of levels held NaN, and what was tested did not: leaks of e^3.9 passed."""
    rng = np.random.default_rng(3)

    def drawn():
        samples = [rng.normal(0.5 * sign, 1, 8000), rng.normal(0, 1, 8000)]
        for sample, share in zip(samples, (0.5, 0.01), strict=True):
            sample[rng.random(8000) < share] = np.nan
        return [sample.reshape(-1, 1) for sample in (samples[::-1] if swapped else samples)]

    learning, testing = drawn(), drawn()
    event = learnt(*learning, testing)
    hits = [int(half.sum()) for half in np.split(event.happened, 2)]
    more, less = hits[::-1] if swapped else hits
    assert event.promised > 3
    assert more > 3500 and less < 200


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_zeros_of_two_signs_are_two_outputs(kind):
    """Whoever is handed them tells them apart, though they are equal as numbers."""
    rng = np.random.default_rng(4)
    signs = [np.where(rng.random(8000) < share, 1, -1) for share in (0.9, 0.1)]
    event = learnt(*((0.0 * sign).astype(kind) for sign in signs))
    assert 1.9 < event.promised < 2.2


def test_many_columns_add_up():
    rng = np.random.default_rng(2)
    first, second = rng.random((8000, 30)) < 0.6, rng.random((8000, 30)) < 0.4
    event = learnt(first.astype(int), second.astype(int))
    assert event.promised > 2
    assert event.description.startswith("sum of the columns' log ratios")


def test_a_rare_output_that_only_one_dataset_has():
    rng = np.random.default_rng(3)
    first = np.where(rng.random(8000) < 0.02, 7, 0)
    event = learnt(first, np.zeros(8000, dtype=int))
    assert event.likelier_on_first and event.promised > 1.5
    assert "such as (7)" in event.description


def test_testing_runs_do_not_change_the_event():
    rng = np.random.default_rng(4)
    learning = tuple(rng.normal(m, 1, (2000, 3)).round(1) for m in (0, 1))
    calm, wild = (tuple(rng.normal(0, s, (500, 3)) for _ in range(2)) for s in (1, 1000))
    events = [choose_event(learning, testing, 500, 0.0, 0.01) for testing in (None, calm, wild)]
    assert len({event.description for event in events}) == 1
    assert len({event.promised for event in events}) == 1
    # Each testing run is judged by itself: alone, or among others.
    alone = choose_event(learning, tuple(part[:1] for part in calm), 500, 0.0, 0.01)
    assert alone.happened.tolist() == events[1].happened[[0, 500]].tolist()


def test_nothing_promises_nothing():
    assert learnt(np.zeros(1000), np.zeros(1000)).promised == 0.0


def test_outputs_that_are_not_finite_are_outputs():
    first, second = np.zeros(2000), np.where(np.arange(2000) % 2, np.inf, np.nan)
    assert learnt(first, second).promised > 3
