"""Owners who recover one data set at the same time forget nothing that either of them showed.

The other recovery runs, whole, right after any step of the first one: a reading of the chain, or an
entry.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpforest.ledger import BudgetLedger, to_units
from dpforest.ledger.opening import open_store

#: More steps than a recovery has, so that the other one also runs after all of them.
STEPS = range(1, 11)


@pytest.fixture(scope="module")
def recovery(load_helper):
    return load_helper(Path(__file__).parent / "test_recovery.py")


@pytest.fixture
def book(helpers, tmp_path):
    """The chain that is going to be lost."""
    made = helpers.registered(helpers.ledger_at(tmp_path / "lost.ledger"))
    yield made
    made.close()


@pytest.fixture
def restored(url):
    """Restore an export to the store, and open it for both owners."""
    opened = []

    def owners(export):
        store = open_store(url, create=True, identity=export_identity(export))
        opened.append(BudgetLedger(store, "olga"))
        opened[0].import_json(export)
        opened.append(BudgetLedger(open_store(url), "oscar"))
        return opened

    yield owners
    for one in opened:
        one.close()


def export_identity(export):
    from dpforest.ledger.exporting import read_export

    return read_export(export).ledger


def at_once(first, second, step, monkeypatch, *given, **word):
    """The first owner's recovery, with the second's inside, right after one of its steps."""
    count, results = [0], []

    def followed(method):
        def stepped(*arguments, **others):
            found = method(*arguments, **others)
            count[0] += 1
            if count[0] == step:
                results.append(second())
            return found

        return stepped

    with monkeypatch.context() as patch:
        for name in ("chain", "write"):
            patch.setattr(first, name, followed(getattr(first, name)))
        found = first.recover("claims", *given, **word)
    if not results:
        results.append(second())
    return found, results[0]


def imports(ledger):
    return [entry.body for entry in ledger.log("claims") if entry.kind == "import"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("exported", [False, True], ids=["a report", "an export"])
def test_what_the_other_owner_shows_meanwhile_is_asked_for(
    helpers, recovery, book, restored, monkeypatch, step, exported
):
    recovery.fit(helpers, book, "1/8")
    olga, oscar = restored(book.export_json())
    recovery.fit(helpers, olga, "1/512")  # so that no export is written back
    early = recovery.fit(helpers, book, "1/16")
    early = book.export_json() if exported else early
    recovery.fit(helpers, book, "1/4")  # nobody holds its report
    last = recovery.fit(helpers, book, "1/64")
    at_once(olga, lambda: oscar.recover("claims", [last]), step, monkeypatch, [early])
    lost = Fraction(1, 8) + Fraction(1, 16) + Fraction(1, 4) + Fraction(1, 64)
    waits = olga.recover("claims")
    assert waits.frozen and recovery.spent(olga) + Fraction(waits.missing, 2**128) >= lost
    assert len({body.reserve for body in imports(olga)}) == len(imports(olga)) == 2
    assert not olga.recover("claims", [book.export_json()]).frozen
    assert recovery.spent(olga) == recovery.spent(book) + Fraction(1, 512)


@pytest.mark.parametrize("step", STEPS)
def test_an_owners_word_is_not_of_what_is_shown_meanwhile(
    helpers, recovery, book, restored, monkeypatch, step
):
    recovery.fit(helpers, book, "1/8")
    olga, oscar = restored(book.export_json())
    early = recovery.fit(helpers, book, "1/16")
    recovery.fit(helpers, book, "1/4")  # nobody holds its report
    last = recovery.fit(helpers, book, "1/64")
    at_once(
        olga, lambda: oscar.recover("claims", [last]), step, monkeypatch, [early],
        write_off="1/512", reason=recovery.NONE_RAN,
    )  # fmt: skip
    assert olga.status("claims").frozen
    missing = olga.recover("claims").missing
    offs = [body.units for body in imports(olga) if body.write_off]
    assert offs in ([], [to_units(Fraction(1, 512))])
    assert missing + sum(offs) == to_units(Fraction(1, 4))


@pytest.mark.parametrize("step", STEPS)
def test_a_fit_in_blocks_that_is_shown_meanwhile_is_not_passed_over(
    helpers, recovery, tmp_path, restored, monkeypatch, step
):
    folder = tmp_path / "lost"
    folder.mkdir()
    book = recovery.in_blocks(helpers, folder)
    olga, oscar = restored(book.export_json())
    recovery.fit(helpers, olga, "1/512", blocks=("2024",))
    recovery.fit(helpers, book, "1/8", blocks=("2024",))
    early = book.export_json()
    recovery.fit(helpers, book, "1/8", blocks=("2025",))  # nobody holds its report
    last = recovery.fit(helpers, book, "1/64", blocks=("2025",))
    at_once(olga, lambda: oscar.recover("claims", [last]), step, monkeypatch, [early])
    assert olga.status("claims").frozen and olga.recover("claims", [early]).frozen
    assert len({body.reserve for body in imports(olga)}) == len(imports(olga)) == 2
    assert not olga.recover("claims", [book.export_json()]).frozen
    shown = {one.name: one.spent for one in olga.status("claims").blocks}
    assert shown["2025"] == to_units(Fraction(1, 8)) + to_units(Fraction(1, 64))
    book.close()


@pytest.mark.parametrize("step", STEPS)
def test_one_reserve_is_charged_once_by_both(helpers, recovery, book, restored, monkeypatch, step):
    """One owner holds the report of its start, and the other that of its end."""
    from dpforest.ledger.bodies import SettleBody, StartBody
    from dpforest.ledger.witness import ReserveSnapshot, place_of

    olga, oscar = restored(book.export_json())
    held = book.write("claims", recovery.reserve_body(helpers, "1/4"))
    reports = []
    for body in (
        StartBody(reserve=held.entry.id, part=0),
        SettleBody(reserve=held.entry.id, part=0, outcome="done"),
    ):
        said = book.write("claims", body)
        place = place_of(ReserveSnapshot.of(held.entry, held.state), said.entry, said.state)
        basis = {"ledger": place.model_dump(mode="json")}
        reports.append(recovery.sealed({"format": "dpforest-report", "basis": basis}))
    at_once(olga, lambda: oscar.recover("claims", reports[1:]), step, monkeypatch, reports[:1])
    assert [body.units for body in imports(olga)] == [to_units(Fraction(1, 4))]


def test_one_export_is_written_back_once(helpers, recovery, book, restored, monkeypatch):
    """The other owner writes it back after the first one has seen that it goes on here."""
    from dpforest.ledger import recovery as module

    olga, oscar = restored(book.export_json())
    recovery.fit(helpers, book, "1/4")
    export, extend, others = book.export_json(), module.extend, []

    def late(*given):
        if not others:
            others.append(None)
            others[0] = oscar.recover("claims", [export])
        return extend(*given)

    monkeypatch.setattr(module, "extend", late)
    found, other = olga.recover("claims", [export]), others[0]
    assert not found.frozen and not other.frozen and not imports(olga)
    assert {found.restored, other.restored} == {0, 3}
    assert recovery.spent(olga) == recovery.spent(book)
