"""Locks in forked processes: whoever held one in the parent holds nothing in the child."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier
from dpforest.accounting import diffprivlib_adapter, fits
from dpforest.exceptions import ScopeError
from dpforest.processes import ProcessLock

pytestmark = [
    pytest.mark.skipif(
        "fork" not in multiprocessing.get_all_start_methods(), reason="no fork here"
    ),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]
X = np.random.default_rng(0).random((300, 2))
Y = np.where(X[:, 0] > 0.5, "high", "low")
DOMAIN = Domain(features={"a": (0, 1), "b": (0, 1)}, classes=["low", "high"], approximate_rows=300)


@contextmanager
def held_by_another_thread(lock):
    """A lock that another thread of this process holds meanwhile."""
    is_held, is_over = threading.Event(), threading.Event()

    def hold():
        with lock:
            is_held.set()
            is_over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(60)
    yield
    is_over.set()
    thread.join()


def in_a_child(task):
    """What a task answers in a forked process; None where it waits for ever."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(task()))
    child.start()
    child.join(60)
    if child.is_alive():
        child.kill()
        child.join()
    return None if answers.empty() else answers.get()


def fit_of_its_own():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="rules").fit(X, Y)
    return forest.guarantee_.status


def refused_fit():
    accountant = BudgetAccountant(epsilon=1)
    forest = PrivateForestClassifier(
        epsilon=1, domain=DOMAIN, strategy="rules", accountant=accountant
    )
    try:
        forest.fit(X, Y)
    except ScopeError as error:
        return str(error), accountant.spent.epsilon
    return "fitted", None


def taken(lock):
    with lock.here:
        return "taken"


def reads_and_is_refused(accountant):
    try:
        accountant.open_scope("of a child")
    except ScopeError as error:
        return str(error), accountant.spent.epsilon, len(accountant.ledger)
    return "opened", None, None


@pytest.mark.parametrize("module", [fits, diffprivlib_adapter], ids=lambda m: m.__name__)
def test_a_child_has_locks_of_its_own(module):
    lock = next(value for value in vars(module).values() if isinstance(value, ProcessLock))
    with held_by_another_thread(lock.here):
        assert in_a_child(lambda: taken(lock)) == "taken"


def test_a_child_reads_an_accountant_that_a_thread_of_the_parent_was_asking():
    accountant = BudgetAccountant(epsilon=1)
    with held_by_another_thread(accountant._books.lock):
        told, *read = in_a_child(lambda: reads_and_is_refused(accountant))
    assert "another process" in told and read == [0, 0]


def test_a_fit_of_a_child_ends_though_the_parent_was_listing_one_of_its_own():
    fit_of_its_own()  # compiled
    with held_by_another_thread(fits._lock.here):
        assert in_a_child(fit_of_its_own) == "holds"


@pytest.mark.parametrize("loaded", [True, False], ids=["after a fit", "before any"])
def test_a_fit_is_refused_where_the_parent_was_compiling(loaded, monkeypatch):
    fit_of_its_own()
    if not loaded:  # somebody else's code is compiled
        monkeypatch.delitem(sys.modules, "dpforest.kernels.compiling")
    with held_by_another_thread(global_compiler_lock):
        told, spent = in_a_child(refused_fit)
    assert "nothing was charged" in told and "spawn" in told and spent == 0
    monkeypatch.undo()
    # Here, and in a child that is forked at another time, all is well.
    assert refused_fit()[0] == "fitted" == in_a_child(refused_fit)[0]


def test_a_thread_takes_its_lock_several_times():
    lock = ProcessLock()
    with lock.here, lock.here:
        assert taken(lock) == "taken"
