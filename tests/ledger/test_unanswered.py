"""A commit that was not answered is looked up by its UUID, and never charged again."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest

from dpforest.exceptions import LedgerUnreachable
from dpforest.ledger import fraction_of

TENTH = Fraction(1, 16)


class Unreliable:
    """A store that loses answers: after some of its commits it says that it does not know."""

    def __init__(self, store, answers) -> None:
        self._store, self._answers = store, iter(answers)

    def __getattr__(self, name):
        return getattr(self._store, name)

    @contextlib.contextmanager
    def locked(self, data_set):
        answer = next(self._answers, "answered")
        if answer == "gone":
            raise LedgerUnreachable("it cannot be reached", "Try again", unanswered=False)
        silence = LedgerUnreachable("no answer came", "Look it up", unanswered=True)
        with self._store.locked(data_set) as locked:
            yield locked
            if answer == "rolled back":
                raise silence
        if answer == "lost":
            raise silence


@pytest.fixture
def unreliable(ledger):
    def lose(*answers):
        ledger._store = Unreliable(ledger._store, answers)
        return ledger

    return lose


@pytest.mark.parametrize("answers", [["lost"], ["lost", "answered"]])
def test_an_entry_that_stands_is_not_written_again(answers, unreliable, helpers):
    ledger = unreliable(*answers)
    reserved = ledger.reserve("claims", helpers.charge(TENTH))
    assert [entry.id for entry in ledger.log("claims")][1:] == [reserved.id]
    assert fraction_of(ledger.status("claims").spent) == TENTH
    assert reserved.state == ledger.chain("claims").state
    ledger.void("claims", reserved.id, token=reserved.token)


def test_an_entry_that_does_not_stand_is_written(unreliable, helpers):
    ledger = unreliable("rolled back")
    reserved = ledger.reserve("claims", helpers.charge(TENTH))
    assert [entry.id for entry in ledger.log("claims")][1:] == [reserved.id]
    assert fraction_of(ledger.status("claims").spent) == TENTH


def test_nothing_is_charged_where_nothing_was_written(unreliable, helpers):
    ledger = unreliable("rolled back", "gone")
    with pytest.raises(LedgerUnreachable):
        ledger.reserve("claims", helpers.charge(TENTH))
    assert fraction_of(ledger.status("claims").spent) == 0


def test_twice_without_an_answer_is_told_and_charged_at_most_once(unreliable, helpers):
    ledger = unreliable("lost", "lost")
    with pytest.raises(LedgerUnreachable) as caught:
        ledger.reserve("claims", helpers.charge(TENTH))
    assert caught.value.unanswered
    assert fraction_of(ledger.status("claims").spent) == TENTH


def test_a_store_that_is_gone_is_not_asked_twice(unreliable, helpers):
    ledger = unreliable("gone")
    with pytest.raises(LedgerUnreachable) as caught:
        ledger.reserve("claims", helpers.charge(TENTH))
    assert not caught.value.unanswered and fraction_of(ledger.status("claims").spent) == 0


def test_others_may_write_between_a_lost_answer_and_the_look(ledger, helpers):
    """What is returned then is the entry and the state after it, not the end of the chain."""
    store = ledger._store

    class Busy(Unreliable):
        @contextlib.contextmanager
        def locked(self, data_set):
            with contextlib.suppress(StopIteration):
                next(self._answers)
                with self._store.locked(data_set) as locked:
                    yield locked
                ledger._store = self._store
                ledger.note("claims", "of somebody else")
                raise LedgerUnreachable("no answer came", "Look it up", unanswered=True)
            with self._store.locked(data_set) as locked:
                yield locked

    ledger._store = Busy(store, ["lost"])
    reserved = ledger.reserve("claims", helpers.charge(TENTH))
    assert reserved.entry.number == 1 and reserved.state.number == 1
    assert [entry.kind for entry in ledger.log("claims")] == ["open", "reserve", "note"]
