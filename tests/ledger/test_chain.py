"""Chains: each entry follows from the one before it, in time, hash, number and state."""

from __future__ import annotations

import dataclasses
import json

import pytest

from dpforest.exceptions import LedgerDamaged, LedgerUnreachable
from dpforest.ledger import chain as module
from dpforest.ledger.bodies import VERSION, Kind, NoteBody
from dpforest.ledger.chain import checked_chain, end_of, head_of, row_of
from dpforest.ledger.state import digest_of_text
from dpforest.report.digests import canonical_bytes


@pytest.fixture(scope="module")
def whole(helpers):
    return helpers.chain_of_every_kind()


@pytest.fixture
def rows(whole):
    return [row_of(entry) for entry in whole.entries]


def head(whole):
    return head_of(whole.entries[-1], whole.state)


def check(whole, rows, helpers, **others):
    given = {"head": head(whole), "ledger": helpers.LEDGER, "data_set": "claims"} | others
    return checked_chain(rows, **given)


def test_a_chain_is_read_back(whole, rows, helpers):
    chain = check(whole, rows, helpers)
    assert list(chain.entries) == whole.entries and chain.state == whole.state


def test_each_entry_holds_the_hash_of_the_one_before(whole):
    assert whole.entries[0].previous == ""
    for before, after in zip(whole.entries, whole.entries[1:], strict=False):
        assert after.previous == before.hash and after.number == before.number + 1


CUTS = {
    "the first left out": lambda rows: rows[1:],
    "one left out": lambda rows: rows[:5] + rows[6:],
    "the last left out": lambda rows: rows[:-1],
    "one twice": lambda rows: [*rows[:5], rows[4], *rows[5:]],
    "two swapped": lambda rows: [*rows[:5], rows[6], rows[5], *rows[7:]],
    "none": lambda rows: [],
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_row_out_of_its_place_is_found(cut, whole, rows, helpers):
    with pytest.raises(LedgerDamaged):
        check(whole, cut(rows), helpers)


def test_a_chain_of_another_ledger_or_data_set_is_found(whole, rows, helpers):
    with pytest.raises(LedgerDamaged, match="another ledger"):
        check(whole, rows, helpers, ledger="11111111-0000-4000-8000-000000000000")
    with pytest.raises(LedgerDamaged):
        check(whole, rows, helpers, data_set="others")
    with pytest.raises(LedgerDamaged, match="another ledger"):
        end_of(head(whole), rows[-1:], "11111111-0000-4000-8000-000000000000")


def rehashed(entry, **changes):
    """An entry with other fields, and the hash that they have."""
    changed = entry.model_copy(update=changes)
    return changed.model_copy(update={"hash": changed.hashed()})


def test_a_whole_chain_made_anew_still_follows_the_rules_or_is_found(whole, rows, helpers):
    """Who edits an amount and makes all later hashes anew must edit all later states as well."""
    entry = whole.entries[-1]
    body = entry.body.model_copy(update={"token": "00" * 32})
    forged = rehashed(entry, body=body)
    with pytest.raises(LedgerDamaged, match="another state"):
        check(whole, [*rows[:-1], row_of(forged)], helpers, head=None)


def test_an_entry_exchanged_for_one_with_a_hash_of_its_own_is_found(whole, rows, helpers):
    """A note leaves the same state whatever it says, so only the next entry's link tells."""
    note = whole.entries[1]
    assert note.kind is Kind.NOTE
    forged = rehashed(note, body=NoteBody(text="it was never said"))
    with pytest.raises(LedgerDamaged, match="does not follow"):
        check(whole, [rows[0], row_of(forged), *rows[2:]], helpers)


def test_an_entry_that_breaks_a_rule_is_found_even_with_all_hashes_right(whole, rows, helpers):
    entry = whole.entries[-1]
    body = NoteBody(text="")
    forged = rehashed(entry, kind=Kind.NOTE, body=body)
    with pytest.raises(LedgerDamaged, match="breaks a rule"):
        check(whole, [*rows[:-1], row_of(forged)], helpers, head=None)


def test_a_head_of_another_entry_is_found(whole, rows, helpers):
    good = head(whole)
    assert end_of(good, rows[-1:], helpers.LEDGER).state == whole.state
    older = head_of(whole.entries[-2], whole.state)
    for bad, last in [
        (dataclasses.replace(good, number=good.number - 1), rows[-1:]),
        (dataclasses.replace(good, hash="00" * 32), rows[-1:]),
        (dataclasses.replace(good, state=good.state + " "), rows[-1:]),
        (older, rows[-2:-1]),
        (good, []),
        (good, rows[-2:]),
    ]:
        with pytest.raises(LedgerDamaged):
            end_of(bad, last, helpers.LEDGER)


def of_a_newer_release(rows, end):
    """The first row, the last one and the head, as a release of the next version may write them."""

    def rewritten(row, **changes):
        text = canonical_bytes(json.loads(row.text) | changes).decode()
        return dataclasses.replace(row, text=text, hash=digest_of_text(text))

    facts = {"version": VERSION + 1, "renewal": "never"}
    body, state = json.loads(rows[0].text)["body"], json.loads(end.state)
    state = canonical_bytes(state | {"facts": state["facts"] | facts}).decode()
    last = rewritten(rows[-1], state=digest_of_text(state), why="a new field")
    first = rewritten(rows[0], body=body | facts)
    return first, last, dataclasses.replace(end, state=state, hash=last.hash)


def test_a_data_set_of_a_newer_release_is_not_called_damaged(whole, rows, helpers):
    first, last, end = of_a_newer_release(rows, head(whole))
    with pytest.raises(LedgerUnreachable, match="newer release wrote.*restore no backup"):
        check(whole, [first, *rows[1:]], helpers, head=None)
    with pytest.raises(LedgerUnreachable, match="newer release wrote.*restore no backup"):
        end_of(end, [last], helpers.LEDGER)


def test_a_version_that_was_edited_is_damage(whole, rows, helpers):
    first, last, end = of_a_newer_release(rows, head(whole))
    with pytest.raises(LedgerDamaged):
        check(whole, [dataclasses.replace(first, hash=rows[0].hash), *rows[1:]], helpers, head=None)
    for bad, row in [
        (dataclasses.replace(end, hash=rows[-1].hash), rows[-1]),
        (end, dataclasses.replace(last, text=rows[-1].text)),
        (dataclasses.replace(end, state=end.state + " "), last),
    ]:
        with pytest.raises(LedgerDamaged):
            end_of(bad, [row], helpers.LEDGER)


def test_time_never_runs_back(helpers, monkeypatch):
    clock = iter(["2026-05-01T00:00:00.000000Z", "2026-05-01T00:00:00.000002Z",
                  "2026-05-01T00:00:00.000001Z", "2026-05-01T00:00:00.000003Z"])  # fmt: skip
    monkeypatch.setattr(module, "now", lambda: next(clock))
    chain = helpers.PureChain()
    for text in "abc":
        chain.say(NoteBody(text=text))
    assert [entry.time[-3:] for entry in chain.entries] == ["00Z", "02Z", "02Z", "03Z"]
    assert [entry.clock_behind for entry in chain.entries] == [False, False, True, False]
    assert '"clock_behind":true' in chain.entries[2].text


def test_a_time_before_the_last_one_is_found(helpers, monkeypatch):
    monkeypatch.setattr(module, "now", lambda: "2026-05-01T00:00:00.000000Z")
    chain = helpers.PureChain()
    chain.say(NoteBody(text="a"))
    late = chain.entries[1]
    state = chain.state.model_copy(update={"time": "2026-04-01T00:00:00.000000Z"})
    early = rehashed(late, time=state.time, state=state.digest())
    with pytest.raises(LedgerDamaged, match="older"):
        checked_chain([row_of(chain.entries[0]), row_of(early)], None, helpers.LEDGER, "claims")


def test_a_clock_has_one_form():
    assert len(module.now()) == 27 and module.now().endswith("Z")
    assert module.now() <= module.now()
