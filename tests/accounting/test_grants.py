"""Grants: made by the accountant alone, good for one draw."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction as F

import pytest

from dpforest.accounting import BudgetAccountant, ExponentialSelection, GeometricNoise, Grant
from dpforest.exceptions import GrantError

EVENT = ExponentialSelection(F(1, 10), F(2))


@pytest.fixture
def grant():
    scope = BudgetAccountant(1).open_scope("fit").sequential("tree 0")
    return scope.request(EVENT, role="feature selection", cells=4, level=2)


def test_a_grant_says_what_was_paid_for(grant):
    assert grant.event is EVENT
    assert (grant.role, grant.cells, grant.level) == ("feature selection", 4, 2)
    assert grant.path == ("fit", "tree 0")
    assert repr(grant) == "<Grant 'feature selection' over 4 cells in 'fit / tree 0', unused>"


def test_it_is_consumed_once(grant):
    assert grant.consume(ExponentialSelection, 3) is EVENT
    assert grant.consumed
    with pytest.raises(GrantError, match="was used before. Every draw needs a request"):
        grant.consume(ExponentialSelection, 3)


def test_other_event_or_more_cells_are_refused_and_leave_it_usable(grant):
    with pytest.raises(GrantError, match="does not cover GeometricNoise"):
        grant.consume(GeometricNoise, 1)
    with pytest.raises(GrantError, match="grant for 4 cells .* does not cover 5"):
        grant.consume(ExponentialSelection, 5)
    assert grant.consume(ExponentialSelection, 4) is EVENT


def test_it_cannot_be_made_copied_or_pickled(grant):
    with pytest.raises(GrantError, match="cannot be made by hand"):
        Grant(object(), EVENT, "role", 1, ())
    for twice in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(GrantError, match="neither copied nor pickled"):
            twice(grant)
    with pytest.raises(AttributeError):
        grant.cells = 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_does_not_consume_it_again(grant):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        told = b"consumed"
        try:
            grant.consume(ExponentialSelection, 1)
        except GrantError as refused:
            told = str(refused).encode()
        finally:
            os.write(writing, told)
            os._exit(0)
    os.waitpid(child, 0)
    assert b"belongs to another process" in os.read(reading, 1000)
    os.close(reading), os.close(writing)
    assert grant.consume(ExponentialSelection, 4) is EVENT


def test_one_of_eight_threads_gets_it(grant):
    start, wins = threading.Barrier(8), []

    def consume():
        start.wait()
        try:
            grant.consume(ExponentialSelection, 1)
            wins.append(1)
        except GrantError:
            pass

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=consume) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(wins) == 1


def test_one_of_four_threads_gets_it_however_they_take_turns(grant):
    # Every line of it waits for the others, so that without a lock all would have looked first.
    def at_every_line(frame, event, _):
        if frame.f_code is not Grant.consume.__code__:
            return None
        if event == "line":
            time.sleep(0.03)
        return at_every_line

    start = threading.Barrier(4)

    def consume(_):
        start.wait()
        sys.settrace(at_every_line)
        try:
            return bool(grant.consume(ExponentialSelection, 1))
        except GrantError:
            return False
        finally:
            sys.settrace(None)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(consume, range(4))) == 1
