"""Processes that reserve at one data set at the same time: who gets a turn when, and how much."""

from __future__ import annotations

import json
import os
import time
from fractions import Fraction
from typing import Any

from common.ledger_kills import ACTOR, DOMAIN, Broken, charge_of
from dpforest.exceptions import BudgetExceeded
from dpforest.ledger import BudgetLedger, queue

#: Of all reserves that are asked for, so many fit under the cap.
SHARE = Fraction(3, 4)


def contention(url: str, processes: int, each: int, with_queue: bool = True) -> dict[str, Any]:
    """Let processes reserve as fast as they can; return what was granted, and when.

    Parameters
    ----------
    url : str
        Of a new ledger.
    processes, each : int
        How many, and how many reserves each of them asks for.
    with_queue : bool
        Whether writers of a file queue, or take SQLite's own lock as it comes.

    Raises
    ------
    Broken
        If more was granted than the cap allows, or less.
    """
    amount = Fraction(1, 3)
    allowed = int(processes * each * SHARE)
    ledger = BudgetLedger.open(url, actor=ACTOR, create=True)
    ledger.register(
        "claims", domain=DOMAIN, currency="epsilon", epsilon=amount * allowed + amount / 2
    )
    ledger.close()
    go, start = os.pipe()
    ready, told = os.pipe()
    children = [_client(url, amount, each, with_queue, go, start, told) for _ in range(processes)]
    os.close(go), os.close(told)
    while os.read(ready, 1):  # until the last one has opened the ledger: none begins late
        pass
    os.close(ready)
    began = time.monotonic()
    os.close(start)  # lets all of them go
    answers = [_heard(child, reader, began) for child, reader in children]
    seconds = time.monotonic() - began
    ledger = BudgetLedger.open(url, actor=ACTOR)
    state = ledger.chain("claims").state
    ledger.close()
    granted = sum(was for answer in answers for _, was in answer)
    if (
        state.spent > state.cap
        or granted != allowed
        or state.spent != granted * charge_of(amount).units
    ):
        raise Broken(
            f"{granted} were granted, {allowed} fit, {state.spent} of {state.cap} is spent"
        )
    return {"granted": granted, "refused": processes * each - granted, "seconds": seconds} | _turns(
        answers
    )


def _client(
    url: str, amount: Fraction, each: int, with_queue: bool, go: int, start: int, told: int
) -> tuple[int, int]:
    """A process that waits for the start, and a pipe of what it was answered."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    code = 1
    try:
        os.close(start), os.close(reader)
        queue.SUPPORTED = queue.SUPPORTED and with_queue
        ledger = BudgetLedger.open(url, actor=ACTOR)
        os.write(told, b"."), os.close(told)
        os.read(go, 1)
        charge = charge_of(amount)
        for _ in range(each):
            try:
                ledger.reserve("claims", charge)
                was = True
            except BudgetExceeded:
                was = False
            os.write(writer, json.dumps([time.monotonic(), was]).encode() + b"\n")
        ledger.close()
        code = 0
    finally:
        os._exit(code)


def _heard(child: int, reader: int, began: float) -> list[tuple[float, bool]]:
    """Time and outcome of each answer of a process; pipes are large enough to be read in turn."""
    with os.fdopen(reader) as said:
        answers = [json.loads(line) for line in said]
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise Broken("a process ended with an error")
    return [(at - began, was) for at, was in answers]


def _turns(answers: list[list[tuple[float, bool]]]) -> dict[str, Any]:
    """How evenly turns came: first ones, the longest wait, and shares when half was done."""
    times = sorted(at for answer in answers for at, _ in answer)
    half = times[len(times) // 2]
    shares = [sum(at <= half for at, _ in answer) for answer in answers]
    waits = [
        max(b - a for (a, _), (b, _) in zip([(0.0, True), *answer], answer, strict=False))
        for answer in answers
    ]
    return {
        "first": max(answer[0][0] for answer in answers),
        "longest": max(waits),
        "least": min(shares),
        "most": max(shares),
    }
