"""Processes that write to a ledger and are killed, and what must hold of the ledger after each.

A victim reserves, starts and settles one fit, or voids it, and tells its parent through a pipe what
it is about to do and what the ledger has answered; what is in a pipe outlives its writer. It is
killed at a step of the ledger's own (`dpforest.ledger.steps`), between two of its calls, or at any
time. Then the parent looks at the ledger, and brings each fit to its end with the same UUIDs, as a
client does that was not answered.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpforest import Domain
from dpforest.accounting.rationals import exact_text
from dpforest.exceptions import LedgerUnreachable
from dpforest.ledger import BudgetLedger, Charge, Part, to_units
from dpforest.ledger.facts import domain_digest
from dpforest.ledger.steps import STEPS, watch

DOMAIN = Domain(features={"age": (17, 90)}, classes=["no", "yes"])
PLAN = "ab" * 32
ACTOR = "ana"
#: Fits on one data set, before another one is opened: chains are checked whole after each kill.
FITS = 10
#: Between the calls of a victim.
BETWEEN = ("reserved", "started", "granted", "settled")
#: Steps of one transaction, of which a fit makes three.
_EACH = STEPS[STEPS.index("queueing") : STEPS.index("closing")]
#: All places to be killed at: a step, and how often it was passed before.
PLACES = (
    ("connecting", 0), ("opened", 0), *((step, turn) for turn in range(3) for step in _EACH),
    *((step, 0) for step in BETWEEN), ("closing", 0), ("closed", 0),
)  # fmt: skip
CALLS = ("reserve", "start", "settle")


class Broken(AssertionError):
    """Something that must hold of a ledger does not."""


@dataclass
class Fit:
    """One fit that somebody wants, with the UUIDs that were chosen for it beforehand."""

    data_set: str
    amount: Fraction
    is_void: bool = False
    ids: dict[str, str] = field(
        default_factory=lambda: {call: str(uuid.uuid4()) for call in (*CALLS, "void")}
    )
    #: Calls that were made, and those that the ledger has answered.
    asked: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    granted: bool = False
    token: str = ""

    @property
    def calls(self) -> tuple[str, ...]:
        """What is called, in order."""
        return ("reserve", "void") if self.is_void else CALLS

    def take(self, line: str) -> None:
        """Note what a victim said."""
        what, _, rest = line.partition(" ")
        if what == "granted":
            self.granted = True
        elif what == "token":
            self.token = rest
        else:
            (self.told if what == "told" else self.asked).add(rest)


def charge_of(amount: Fraction) -> Charge:
    """Charge of one fit at so much epsilon."""
    return Charge(
        domain=domain_digest(DOMAIN),
        records_per_unit=1,
        parts=(Part(plan=PLAN, units=to_units(amount)),),
        units=to_units(amount),
        epsilon=exact_text(amount),
        rho=exact_text(amount**2 / 2),
        delta="0",
    )


def register(ledger: BudgetLedger, data_set: str) -> None:
    """A data set whose cap no run comes near; pure, so that no big library is loaded for it."""
    ledger.register(data_set, domain=DOMAIN, currency="epsilon", epsilon=10**12)


def go_through(
    ledger: BudgetLedger,
    fit: Fit,
    say: Callable[[str], Any],
    at: Callable[[str], Any] = lambda step: None,
) -> None:
    """Reserve, start and settle, or void; what was written before is not written again."""
    for call in fit.calls:
        say(f"asked {call}")
        entry_id = fit.ids[call]
        if call == "reserve":
            if ledger.find(entry_id) is None:
                made = ledger.reserve(fit.data_set, charge_of(fit.amount), entry_id=entry_id)
                fit.token = made.token
                say(f"token {made.token}")
        elif call == "start":
            ledger.start(fit.data_set, fit.ids["reserve"], entry_id=entry_id)
        elif call == "settle":
            ledger.settle(fit.data_set, fit.ids["reserve"], entry_id=entry_id)
        elif not fit.token:
            return  # died with its process: the reserve stays spent
        else:
            ledger.void(fit.data_set, fit.ids["reserve"], token=fit.token, entry_id=entry_id)
        say(f"told {call}")
        at({"reserve": "reserved", "start": "started", "void": "granted"}.get(call, "settled"))
        if call == "start":
            say("granted")
            at("granted")


def victim(url: str, fits: list[Fit], pipe: int, place: tuple[str, int] | None) -> None:
    """Body of a process that is to be killed at a place, or whenever its parent likes."""
    left = [place[1] if place else -1]

    def at(step: str) -> None:
        if place and step == place[0]:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

    watch(at)
    ledger = BudgetLedger.open(url, actor=ACTOR)
    for number, fit in enumerate(fits):
        go_through(ledger, fit, lambda text, n=number: os.write(pipe, f"{n} {text}\n".encode()), at)
    ledger.close()


def killed(
    url: str, fits: list[Fit], place: tuple[str, int] | None, after: float = 0.0
) -> tuple[bool, float]:
    """Let a victim run and be killed; say if it was, and for how many seconds it ran.

    Raises
    ------
    Broken
        If it ended with an error.
    """
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(reader)
            victim(url, fits, writer, place)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    if place is None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader) as said:
        for line in said:
            number, _, text = line.rstrip("\n").partition(" ")
            fits[int(number)].take(text)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise Broken(f"a victim ended with {status}")
    return status != 0, time.monotonic() - began


def check(ledger: BudgetLedger, data_set: str, fits: list[Fit]) -> None:
    """See that a data set holds what its clients were told, once, and nothing else.

    Raises
    ------
    Broken
        If something that was granted or answered is not there, something is there twice or that
        nobody asked for, or the sum is another one.
    """
    chain = ledger.chain(data_set)  # raises where it is not whole
    rows = ledger._store.rows(data_set)
    wanted = {fit.ids[call]: (fit, call) for fit in fits for call in fit.calls}
    stands: set[str] = set()
    spent = Fraction(0)
    for row in rows[1:]:
        if row.id in stands or row.id not in wanted:
            raise Broken(f"{row.kind} {row.id} stands twice, or nobody wanted it")
        stands.add(row.id)
        fit, call = wanted[row.id]
        if row.kind != call or call not in fit.asked:
            raise Broken(f"{row.kind} {row.id} was not asked for")
        units = _reserved_units(row.text) if call == "reserve" else 0
        spent += units - (to_units(fit.amount) if call == "void" else 0)
    for fit in fits:
        for call in fit.told:
            if fit.ids[call] not in stands:
                raise Broken(f"{call} {fit.ids[call]} was answered, and is lost")
        if fit.granted and not {fit.ids["reserve"], fit.ids["start"]} <= stands:
            raise Broken(f"what was granted to {fit.ids['reserve']} is lost")
    if not spent == chain.state.spent == ledger.status(data_set).spent:
        raise Broken(f"entries come to {spent}, and the state says {chain.state.spent}")


def _reserved_units(text: str) -> int:
    """Units of a reserve, read from its bytes without the package."""
    return int(json.loads(text)["body"]["charge"]["units"])


class Rounds:
    """Kills on one ledger, each followed by a look and by the end of what was begun.

    Parameters
    ----------
    make : callable
        A new, empty place for a ledger, as a url.
    seed : int
        Of places and times.
    data_sets : int
        After so many a new ledger is made.
    """

    def __init__(self, make: Callable[[], str], seed: int, data_sets: int = 20) -> None:
        self._make, self._random, self._most = make, random.Random(seed), data_sets
        self._number = self._opened = 0
        self._url, self._fits = "", []
        self._seconds = 0.05
        self._ledger: BudgetLedger

    def kill(self, place: tuple[str, int] | None, twice: bool = False) -> tuple[int, int]:
        """Kill once, at a place or at any time, and look.

        Returns
        -------
        tuple of int
            Processes that were killed at the place, and at any time; the others had ended before.
            ``twice`` lets a second one be killed before anybody has looked after the first.
        """
        self._make_room()
        counts = [0, 0]
        for each in (place, None)[: 1 + twice]:
            fit = Fit(self._name, self._amount(), is_void=self._random.random() < 0.2)
            self._fits.append(fit)
            after = self._random.uniform(0, self._seconds)
            hit, seconds = killed(self._url, [fit], each, after)
            if not hit and each is None:
                self._seconds = 0.9 * self._seconds + 0.1 * seconds
            elif each is not None:
                self._seconds = max(self._seconds, seconds)
            counts[each is None] += hit
        self.look()
        for fit in self._fits[-2:]:
            go_through(self._ledger, fit, fit.take)
        if len(self._fits) >= FITS:  # else the next look sees this too
            self.look()
        return counts[0], counts[1]

    def look(self) -> None:
        """See that the data set holds what it must."""
        with self._ledger._store.locked(self._name):
            pass  # a server may still be at work for somebody who is dead
        check(self._ledger, self._name, self._fits)

    @property
    def _name(self) -> str:
        return f"claims {self._number}"

    def _amount(self) -> Fraction:
        return Fraction(self._random.randint(1, 10**9), self._random.randint(1, 10**9))

    def _make_room(self) -> None:
        """A new data set where this one is long, a new ledger where this one has many."""
        if self._url and len(self._fits) < FITS:
            return
        if not self._url or self._opened >= self._most:
            self.close()
            self._url, self._opened = self._make(), 0
            self._ledger = BudgetLedger.open(self._url, actor=ACTOR, create=True)
        self._number, self._opened, self._fits = self._number + 1, self._opened + 1, []
        register(self._ledger, self._name)

    def close(self) -> None:
        """Let go of the ledger."""
        if self._url:
            self._ledger.close()


def places(seed: int) -> Iterator[tuple[str, int] | None]:
    """Where to kill: at each place in turn, and as often at any time."""
    rounds = random.Random(seed)
    while True:
        for place in rounds.sample(PLACES, len(PLACES)):
            yield place
            yield None


def server_crash(cluster: Any, url: str, data_set: str, fits: int, after: float) -> int:
    """Kill a server while a client writes, start it again; return the fits that were begun before.

    The client goes on as soon as it can, with the same UUIDs, until each of its fits has ended.
    """
    ledger = BudgetLedger.open(url, actor=ACTOR)
    register(ledger, data_set)
    wanted = [Fit(data_set, Fraction(1, 3)) for _ in range(fits)]
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        code = 1
        try:
            own = BudgetLedger.open(url, actor=ACTOR)
            for number, fit in enumerate(wanted):
                _persist(own, fit, lambda t, n=number: os.write(writer, f"{n} {t}\n".encode()))
            own.close()
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    time.sleep(after)
    cluster.kill()
    before = _said_by_now(reader)
    cluster.start()
    with os.fdopen(reader) as said:
        for line in (before + said.read()).splitlines():
            number, _, text = line.partition(" ")
            wanted[int(number)].take(text)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise Broken(f"the client ended with {status}")
    check(ledger, data_set, wanted)
    if any(fit.told != set(fit.calls) for fit in wanted):
        raise Broken("a fit was not brought to its end")
    ledger.close()
    return before.count("asked reserve")


def _persist(ledger: BudgetLedger, fit: Fit, say: Callable[[str], Any]) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            return go_through(ledger, fit, say)
        except LedgerUnreachable:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def _said_by_now(reader: int) -> str:
    """Text that a pipe holds; a client on a busy machine has said nothing yet."""
    os.set_blocking(reader, False)
    try:
        return os.read(reader, 2**20).decode()
    except BlockingIOError:
        return ""
    finally:
        os.set_blocking(reader, True)
