"""Seeded fits release what they released before, bit for bit.

Where a release is meant to change, ``python tests/frozen digests`` writes the file anew, and the
law of what is released is compared by ``benchmarks/laws.py``.
"""

from __future__ import annotations

import pytest
from frozen_cases import CASES, STRATEGIES, TASKS, Case
from frozen_dask import cluster
from frozen_digests import digests_of, stored_digests

STORED = stored_digests()
IN_PROCESS = [case for case in CASES if case.reading != "dask"]
ON_DASK = [case for case in CASES if case.reading == "dask"]


def skip_without(case: Case) -> None:
    for package in case.needs:
        reason = f"without {package} another forest is made, or none"
        pytest.importorskip(package, reason=reason)


@pytest.mark.parametrize("case", IN_PROCESS, ids=lambda case: case.name)
def test_a_fit_releases_what_it_did(case):
    skip_without(case)
    assert digests_of(case) == STORED[case.name]


@pytest.fixture(scope="module")
def client():
    for case in ON_DASK:
        skip_without(case)
    with cluster() as running:
        yield running


# The cluster's own: closing sockets and event loops.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning:distributed")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("case", ON_DASK, ids=lambda case: case.name)
def test_a_fit_on_dask_releases_what_it_did(case, client):
    assert digests_of(case) == STORED[case.name]


def test_the_file_is_of_these_cases():
    assert list(STORED) == [case.name for case in CASES]


def test_no_two_cases_are_the_same():
    """Another case has other words, so equal digests would be of no words at all."""
    models = [found["predictions"] for found in STORED.values()]
    assert len(set(models)) > 0.9 * len(models)


def test_every_strategy_is_met_in_every_task():
    names = {case.name.rsplit(" ", 1)[0] for case in CASES}
    assert names >= {f"{strategy} {task}" for strategy in STRATEGIES for task in TASKS}
