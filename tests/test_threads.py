"""Fits on systems that give no threads, or fewer than were asked for."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dpforest import BudgetAccountant, Domain, MultinomialForestClassifier, PrivateForestClassifier
from dpforest.records import base
from dpforest.streams import BatchStream
from dpforest.threads import thread_pool

X = np.random.default_rng(0).random((400, 3))
Y = np.where(X[:, 0] > 0.5, "high", "low")
DOMAIN = Domain(
    features={name: (0, 1) for name in "abc"}, classes=["low", "high"], approximate_rows=400
)
FORESTS = {
    "in memory": lambda: PrivateForestClassifier(epsilon=1, strategy="refitted", delta=1e-6),
    "trees": lambda: MultinomialForestClassifier(epsilon=1, n_estimators=4),
}


def limited(monkeypatch, most: int) -> None:
    """Let the system give no more than so many threads."""
    given, start = [], threading.Thread.start

    def started(thread):
        if len(given) >= most:
            raise RuntimeError("can't start new thread")
        given.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)


def fitted(forest, X, y=None):
    accountant = BudgetAccountant(epsilon=3, delta=1e-5)
    forest.set_params(domain=DOMAIN, n_jobs=3, random_state=0, accountant=accountant).fit(X, y)
    return forest.fingerprint_


@pytest.mark.parametrize("most", [0, 1, 2])
@pytest.mark.parametrize("kind", FORESTS)
def test_a_fit_does_without_threads_and_releases_the_same(monkeypatch, kind, most):
    monkeypatch.setattr(base, "RECORDS_A_THREAD", 50)
    usual = fitted(FORESTS[kind](), X, Y)
    limited(monkeypatch, most)
    assert fitted(FORESTS[kind](), X, Y) == usual


@pytest.mark.parametrize("most", [0, 2])
def test_a_stream_is_counted_without_threads(monkeypatch, most):
    def batches():
        return BatchStream([(X[:100], Y[:100]), (X[100:250], Y[100:250]), (X[250:], Y[250:])])

    usual = fitted(FORESTS["in memory"](), batches())
    limited(monkeypatch, most)
    assert fitted(FORESTS["in memory"](), batches()) == usual


def test_all_threads_of_a_pool_are_started():
    before = {*threading.enumerate()}  # some of them, of other tests, may end meanwhile
    with thread_pool(5) as pool:
        started = {*threading.enumerate()} - before
        assert pool is not None and len(started) == 5
        assert list(pool.map(abs, range(-3, 0))) == [3, 2, 1]
    assert not any(thread.is_alive() for thread in started)
