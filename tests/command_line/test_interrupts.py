"""Signals raise where that loses nothing, wait where it would, and are put back as they were."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

import pytest

from dpforest.command_line.interrupts import Interrupted, interrupts_wait


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C as at a terminal: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def send(number=signal.SIGINT):
    os.kill(os.getpid(), number)


def test_a_signal_waits_for_the_end_of_the_block():
    reached = []
    with pytest.raises(Interrupted) as caught, interrupts_wait(lambda: True):
        send()
        reached.append("the end")
    assert reached == ["the end"] and caught.value.number == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_raises_while_nothing_is_due():
    reached = []
    with pytest.raises(Interrupted), interrupts_wait(lambda: False):
        send()
        reached.append("the end")
    assert reached == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_does_not_end_what_the_first_one_began():
    reached = []
    with pytest.raises(Interrupted) as caught, interrupts_wait(lambda: False) as asked:
        try:
            send()
        finally:
            send(signal.SIGTERM)
            reached.append("the end")
    assert reached == ["the end"] and caught.value.number == signal.SIGINT
    assert asked == [signal.SIGINT, signal.SIGTERM]


def test_a_signal_whose_error_was_lost_is_heard_the_next_time():
    with pytest.raises(Interrupted), interrupts_wait(lambda: False):
        with suppress(KeyboardInterrupt):
            send()
        send()
        raise AssertionError("the second one did not arrive")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP")
def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts_wait(lambda: False) as asked:
            send(signal.SIGHUP)
        assert asked == [] and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_have_no_signals():
    asked = []

    def work():
        with interrupts_wait(lambda: True) as found:
            asked.append(found)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [[]]
