"""The claim of recovery on random histories: nothing that a witness shows is left uncounted."""

from __future__ import annotations

import contextlib
import copy
import uuid
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.ledger import BudgetLedger, to_units

HERE = Path(__file__).parent


class MemoryStore:
    """A store of one process and thread, as quick as it gets; a copy of it is a backup."""

    url = "memory"
    lacks_entries = False

    def __init__(self):
        self.ledger_id = str(uuid.uuid4())
        self.chains, self.heads = {}, {}

    def data_sets(self):
        return tuple(sorted(self.heads))

    def head(self, data_set):
        return self.heads.get(data_set)

    def rows(self, data_set, start=0, end=None):
        return tuple(self.chains.get(data_set, [])[start:end])

    def find(self, entry_id):
        rows = (row for chain in self.chains.values() for row in chain)
        return next((row for row in rows if row.id == entry_id), None)

    @contextlib.contextmanager
    def locked(self, data_set):
        yield Locked(self, data_set)

    def close(self):
        pass


class Locked:
    """A data set of a store that nobody else has."""

    def __init__(self, store, data_set):
        self.store, self.data_set, self.find = store, data_set, store.find

    @property
    def head(self):
        return self.store.head(self.data_set)

    def rows(self, start=0, end=None):
        return self.store.rows(self.data_set, start, end)

    def append(self, row, head):
        self.store.chains.setdefault(self.data_set, []).append(row)
        self.store.heads[self.data_set] = head


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(HERE / "helpers.py")


@pytest.fixture(scope="module")
def recovery(load_helper):
    return load_helper(HERE / "test_recovery.py")


def spent(ledger):
    return ledger.status("claims").spent


amounts = st.lists(st.integers(1, 4), max_size=3)
calls = st.lists(st.sets(st.integers(0, 9), max_size=4), min_size=1, max_size=3)


@settings(max_examples=60)
@given(
    amounts, amounts.filter(bool), amounts, calls, st.integers(-1, 3), st.booleans(),
    st.sampled_from(["nowhere", "there", "here", "in both"]),
)  # fmt: skip
def test_what_counts_is_never_less_than_what_witnesses_show(
    helpers, recovery, first, lost, own, calls, exported, unsettled, begun
):
    def fit(ledger, amount, end="settle"):
        return recovery.fit(helpers, ledger, Fraction(amount, 64), end=end)

    book = helpers.registered(BudgetLedger(MemoryStore(), "olga"))
    reports = [fit(book, amount) for amount in first]
    snapshot = recovery.held(helpers, book, Fraction(1, 32)) if begun != "nowhere" else None
    old = BudgetLedger(copy.deepcopy(book._store), "olga")
    common = spent(book)
    totals, export = {}, None
    if begun in ("there", "in both"):
        reports.append(recovery.report_of(snapshot, book, snapshot.id, "start"))
        totals[reports[-1]] = spent(book)
    for place, amount in enumerate(lost):
        report = fit(book, amount, "start" if unsettled else "settle")
        reports.append(report)
        totals[report] = spent(book)
        if place == exported:
            export = book.export_json()
            totals[export] = spent(book)
    reports += [fit(old, amount, "start" if unsettled else "settle") for amount in own]
    own_spent = spent(old) - common
    if begun in ("here", "in both"):
        reports.append(recovery.report_of(snapshot, old, snapshot.id, "start"))
    # Two fits are made of what begins in both chains, as soon as somebody shows the lost one.
    twice = to_units(Fraction(1, 32)) if begun == "in both" else 0
    reports += [export] if export else []

    shown, needed = 0, 0
    for call in calls:
        witnesses = [reports[place] for place in call if place < len(reports)]
        found = old.recover("claims", witnesses)
        known = [totals[one] for one in witnesses if one in totals]
        shown = max([shown, *known])
        needed = shown + own_spent + twice if shown else common + own_spent
        if not found.frozen:
            assert spent(old) >= needed
    everything = [*reports, book.export_json()]
    found = old.recover("claims", everything)
    assert not found.frozen
    for one in old.status("claims").reserves:
        if begun == "there" and not one.started:  # beside its import, where it was not written back
            old.void("claims", one.id, reason="not begun here")
    assert spent(old) == spent(book) + own_spent + twice
    verdicts = {one.verdict for one in old.verify(everything).findings}
    assert verdicts <= {"agrees", "imported"}
    assert old.recover("claims", everything).words == "nothing is missing"
