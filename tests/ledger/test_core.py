"""One transaction an entry, in both stores: threads, retries, clocks, copies, years."""

from __future__ import annotations

import copy
import pickle
import threading
import uuid
import warnings
from fractions import Fraction

import pytest

import dpforest
from dpforest import BudgetLedger
from dpforest.exceptions import (
    BudgetExceeded,
    LedgerUnreachable,
    LedgerWarning,
    ParameterError,
    ParameterTypeError,
)
from dpforest.ledger import Kind, chain, fraction_of, to_units

TENTH = Fraction(1, 10)
SIXTEENTH = Fraction(1, 16)


def spent(ledger):
    return fraction_of(ledger.status("claims").spent)


def test_the_life_of_a_fit(ledger, helpers):
    reserved = ledger.reserve("claims", helpers.charge(SIXTEENTH, purpose="churn"))
    assert spent(ledger) == SIXTEENTH
    ledger.start("claims", reserved.id)
    ledger.settle("claims", reserved.id, outcome="done")
    voided = ledger.reserve("claims", helpers.charge(SIXTEENTH))
    ledger.void("claims", voided.id, token=voided.token)
    assert spent(ledger) == SIXTEENTH
    kinds = [entry.kind for entry in ledger.log("claims")]
    assert kinds == ["open", "reserve", "start", "settle", "reserve", "void"]
    assert ledger.chain("claims").state.reserves == {}
    assert reserved.token not in repr(reserved)


def test_a_status_without_a_name_names_the_data_sets(ledger, helpers):
    helpers.registered(ledger, name="visits")
    with pytest.raises(ParameterError, match="data_set=None: must be named.* 'claims', 'visits'"):
        ledger.status()


def test_an_entry_follows_the_one_that_it_was_made_for(ledger, helpers):
    last = ledger.status("claims").hash
    first = ledger.checkpoint("claims", frozen=True, reason="wait", after=last)
    for write in (
        lambda: ledger.checkpoint("claims", frozen=False, reason="on", after=last),
        lambda: ledger.charge_elsewhere("claims", 7, "a report", after=last),
    ):
        with pytest.raises(ParameterError, match="after='.*': is not the hash of the last entry"):
            write()
    assert ledger.status("claims").hash == first.hash
    # An entry that stands already is returned, whatever came after it.
    ledger.note("claims", "wait")
    body = first.body
    assert ledger.write("claims", body, first.id, last).entry == first


@pytest.mark.parametrize("after", ["reserve", "start", "settle"])
def test_a_reserve_is_charged_whatever_becomes_of_its_process(after, url, ledger, helpers):
    """Another process sees it spent; nothing of this one's memory is needed."""
    reserved = ledger.reserve("claims", helpers.charge(Fraction(3, 4)))
    if after != "reserve":
        ledger.start("claims", reserved.id)
    if after == "settle":
        ledger.settle("claims", reserved.id, outcome="failed")
    ledger.close()
    with BudgetLedger.open(url, actor="ana") as other:
        assert spent(other) == Fraction(3, 4)
        with pytest.raises(BudgetExceeded):
            other.reserve("claims", helpers.charge(Fraction(1, 2)))
        assert len(other.log("claims")) == {"reserve": 2, "start": 3, "settle": 4}[after]


def test_threads_never_pass_the_cap(ledger, helpers):
    refused, granted, failed = [], [], []

    def spend():
        for _ in range(6):
            try:
                granted.append(ledger.reserve("claims", helpers.charge(TENTH)).id)
            except BudgetExceeded:
                refused.append(1)
            except Exception as error:  # so that a thread's error is seen
                failed.append(error)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(granted) == 9 and len(refused) == 15
    assert len(set(granted)) == 9
    checked = ledger.chain("claims")
    assert checked.state.total <= checked.state.cap
    assert sum(entry.kind is Kind.RESERVE for entry in checked.entries) == 9


def test_two_ledgers_of_one_place_see_each_other(url, ledger, helpers):
    with BudgetLedger.open(url, actor="ana") as other:
        assert other.id == ledger.id and other.data_sets == ("claims",)
        for turn in (ledger, other) * 4:
            turn.reserve("claims", helpers.charge(TENTH))
        assert other.status("claims") == ledger.status("claims")
        assert {entry.actor for entry in other.log("claims")} == {"olga", "ana"}


def test_data_sets_have_chains_of_their_own(ledger, helpers):
    helpers.registered(ledger, "visits", currency="epsilon")
    ledger.reserve("visits", helpers.charge(TENTH, "epsilon"))
    ledger.reserve("claims", helpers.charge(TENTH))
    assert ledger.data_sets == ("claims", "visits")
    for name in ledger.data_sets:
        assert [entry.number for entry in ledger.chain(name).entries] == [0, 1]
    assert len(ledger.log("claims", 1)) == len(ledger.log("claims", 0, 1)) == 1


# -- one entry, once -------------------------------------------------------------------


def test_an_entry_of_one_id_is_written_once(ledger, helpers):
    name = str(uuid.uuid4())
    first = ledger.note("claims", "a", entry_id=name)
    ledger.note("claims", "b")
    assert ledger.note("claims", "a", entry_id=name) == first == ledger.find(name)
    assert len(ledger.log("claims")) == 3
    for again in (
        lambda: ledger.note("claims", "c", entry_id=name),
        lambda: ledger.reserve("claims", helpers.charge(TENTH), entry_id=name),
    ):
        with pytest.raises(ParameterError) as caught:
            again()
        assert caught.value.parameter == "entry_id"
    helpers.registered(ledger, "visits")
    with pytest.raises(ParameterError):
        ledger.note("visits", "a", entry_id=name)
    assert len(ledger.log("claims")) == 3 and spent(ledger) == 0


def test_registering_again_with_the_same_id_is_the_same(ledger, helpers):
    entry = ledger.log("claims")[0]
    facts = {"domain": helpers.DOMAIN, "rho": 1, "delta": "1e-6", "owners": ["olga", "oscar"]}
    assert ledger.register("claims", **facts, entry_id=entry.id) == entry
    with pytest.raises(ParameterError, match="registered already"):
        ledger.register("claims", **facts)


# -- clocks ----------------------------------------------------------------------------


def test_a_clock_that_runs_back_is_told_and_harms_nothing(file_ledger, helpers, monkeypatch):
    times = [entry.time for entry in file_ledger.log("claims")]
    monkeypatch.setattr(chain, "now", lambda: "1999-01-01T00:00:00.000000Z")
    with pytest.warns(LedgerWarning, match="clock"):
        entry = file_ledger.note("claims", "x")
    assert entry.time == times[-1] and entry.clock_behind
    monkeypatch.undo()
    assert not file_ledger.note("claims", "y").clock_behind
    file_ledger.chain("claims")


def test_a_warning_that_is_an_error_hides_no_entry(file_ledger, helpers, monkeypatch):
    monkeypatch.setattr(chain, "now", lambda: "1999-01-01T00:00:00.000000Z")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reserved = file_ledger.reserve("claims", helpers.charge("0.1"))
        file_ledger.void("claims", reserved.id, token=reserved.token)
    assert reserved.entry.clock_behind and file_ledger.status("claims").spent == 0


def test_no_budget_is_renewed_by_a_date(file_ledger, helpers, monkeypatch):
    file_ledger.reserve("claims", helpers.charge(1))
    monkeypatch.setattr(chain, "now", lambda: "2999-01-01T00:00:00.000000Z")
    with pytest.raises(BudgetExceeded):
        file_ledger.reserve("claims", helpers.charge(Fraction(1, 2**128)))


# -- copies ----------------------------------------------------------------------------


def test_a_ledger_is_never_copied(file_ledger, helpers):
    assert copy.copy(file_ledger) is copy.deepcopy(file_ledger) is file_ledger
    with pytest.raises(ParameterTypeError):
        pickle.dumps(file_ledger)


def test_a_closed_ledger_opens_itself_again(file_ledger):
    file_ledger.close()
    assert file_ledger.status("claims").spent == 0


def test_where_there_is_no_ledger(tmp_path):
    with pytest.raises(LedgerUnreachable):
        BudgetLedger.open(f"sqlite:///{tmp_path}/other.ledger", actor="ana")
    BudgetLedger.create(f"sqlite:///{tmp_path}/other.ledger", actor="ana").close()
    BudgetLedger.open(f"sqlite:///{tmp_path}/other.ledger", actor="ana").close()


def test_a_backup_is_a_whole_ledger(file_ledger, helpers, tmp_path):
    file_ledger.reserve("claims", helpers.charge(TENTH))
    file_ledger.backup(tmp_path / "copy.ledger")
    with BudgetLedger.open(f"sqlite:///{tmp_path}/copy.ledger", actor="ana") as copied:
        assert copied.chain("claims") == file_ledger.chain("claims")


# -- rules of owners -------------------------------------------------------------------


def test_a_quota_that_limits_nobody_is_refused(ledger, helpers):
    said = r"quotas\['ana'\]=.* is above the cap of the data set, which is 0.75 in rho.*at most"
    with pytest.raises(ParameterError, match=said):
        ledger.policy("claims", quotas={"ben": "0.5", "ana": "0.8"}, cap="0.75")
    assert [entry.kind for entry in ledger.log("claims")] == ["open"]
    ledger.policy("claims", quotas={"ana": "0.75", "ben": None, "eve": 0}, cap="0.75")
    with pytest.raises(ParameterError, match="limits nobody"):
        ledger.policy("claims", quotas={"ana": "0.751"})


def test_a_quota_on_several_blocks_may_be_above_the_cap(ledger, helpers):
    helpers.registered(ledger, name="visits", max_blocks_per_unit=1)
    for month in ("1", "2"):
        ledger.add_block("visits", month, cap="0.9")
    ledger.policy("visits", quotas={"olga": "1.5"})
    charge = helpers.charge("0.8", blocks=("1",)), helpers.charge("0.8", blocks=("2",))
    ledger.reserve("visits", charge[0])
    with pytest.raises(BudgetExceeded, match="quota of 'olga'"):
        ledger.reserve("visits", charge[1])


# -- what people see -------------------------------------------------------------------


def test_status_says_where_a_data_set_stands(ledger, helpers):
    ledger.policy("claims", quotas={"ana": "0.5"}, reason="so be it")
    request = ledger.request("claims", helpers.charge(SIXTEENTH, purpose="churn"))
    reserved = ledger.reserve("claims", helpers.charge(SIXTEENTH, parts=2))
    ledger.start("claims", reserved.id, 1)
    status = ledger.status("claims")
    assert (status.ledger, status.url, status.data_set) == (ledger.id, ledger.url, "claims")
    last = ledger.log("claims")[-1]
    assert (status.number, status.hash, status.time) == (last.number, last.hash, last.time)
    assert fraction_of(status.remaining) == 1 - SIXTEENTH
    assert status.requests[0].id == request.id and status.requests[0].purpose == "churn"
    assert status.reserves[0].id == reserved.id and status.reserves[0].started == (1,)
    assert fraction_of(status.quotas["ana"]) == Fraction(1, 2)
    assert "rho 0.9375 of 1 is left" in str(status) and "one record" in str(status)
    assert type(status).model_validate_json(status.model_dump_json()) == status


def test_status_says_where_imports_passed_the_cap(file_ledger, helpers):
    file_ledger.charge_elsewhere("claims", to_units(1), "elsewhere")
    assert "more than the cap" not in str(file_ledger.status("claims"))
    file_ledger.charge_elsewhere("claims", 1, "elsewhere")
    assert "is spent, which is more than the cap" in str(file_ledger.status("claims"))


def test_status_of_blocks_and_of_a_frozen_data_set(file_ledger, helpers):
    helpers.registered(file_ledger, "visits", max_blocks_per_unit=2)
    file_ledger.add_block("visits", "2026", cap="0.5")
    file_ledger.reserve("visits", helpers.charge(SIXTEENTH, blocks=("2026",)))
    file_ledger.checkpoint("visits", frozen=True, reason="a backup was restored")
    status = file_ledger.status("visits")
    assert fraction_of(status.blocks[0].remaining) == Fraction(7, 16)
    assert status.frozen and "a backup was restored" in str(status) and "'2026'" in str(status)


def test_public_names():
    assert dpforest.BudgetLedger is BudgetLedger
    for name in dpforest.ledger.__all__:
        assert getattr(dpforest.ledger, name).__class__ is not None
    with pytest.raises(AttributeError):
        dpforest.ledger.no_such_name  # noqa: B018
    assert "BudgetLedger" in dir(dpforest.ledger)
