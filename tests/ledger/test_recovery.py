"""A ledger that is behind or forked is found by what people hold, and brought up to date."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from dpforest.exceptions import (
    BudgetExceeded,
    LedgerDamaged,
    LedgerFrozen,
    LedgerUnreachable,
    ParameterError,
)
from dpforest.ledger import to_units
from dpforest.ledger.witness import ReserveSnapshot, place_of
from dpforest.report.digests import digest_of


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(Path(__file__).parent / "helpers.py")


@pytest.fixture
def book(helpers, tmp_path):
    """A ledger with one settled fit of rho 1/10; made again at another path by ``copied``."""
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "claims.ledger"))
    ledger.first = fit(helpers, ledger, "1/8")
    yield ledger
    ledger.close()


def fit(helpers, ledger, rho, end="settle", **others):
    """Reserve, start and settle; return a report's JSON as of its last entry."""
    reserved = ledger.write("claims", reserve_body(helpers, rho, **others))
    if end == "reserve":
        return reserved.entry.id
    snapshot = ReserveSnapshot.of(reserved.entry, reserved.state)
    return report_of(snapshot, ledger, reserved.entry.id, end)


def reserve_body(helpers, rho, **others):
    from dpforest.ledger.bodies import ReserveBody

    return ReserveBody(charge=helpers.charge(Fraction(rho), **others), token="cd" * 32)


def report_of(snapshot, ledger, reserve, end="settle"):
    """A report as far as a witness goes: where the fit stands, and a digest over all of it."""
    from dpforest.ledger.bodies import SettleBody, StartBody

    written = ledger.write("claims", StartBody(reserve=reserve, part=0))
    if end == "settle":
        written = ledger.write("claims", SettleBody(reserve=reserve, part=0, outcome="done"))
    place = place_of(snapshot, written.entry, written.state).model_dump(mode="json")
    return sealed({"format": "dpforest-report", "basis": {"ledger": place}})


def sealed(data):
    return json.dumps(data | {"digest": digest_of(data)})


def copied(helpers, ledger, tmp_path, name="backup.ledger"):
    """A backup of a ledger, opened as it would be after it was restored."""
    path = tmp_path / name
    ledger.backup(path)
    return helpers.ledger_at(path)


def spent(ledger):
    return Fraction(ledger.status("claims").spent, 2**128)


NONE_RAN = "no fit ran here since the backup was restored"


def went_on(ledger, witnesses):
    """Say if it goes on by these reports, and an owner's word where they cannot show the fork."""
    found = ledger.recover("claims", witnesses)
    if found.frozen and not found.missing:
        found = ledger.recover("claims", write_off=0, reason=NONE_RAN)
    return not found.frozen


def verdicts(ledger, *witnesses):
    return [one.verdict for one in ledger.verify(witnesses).findings]


# -- what is found --------------------------------------------------------------------------------


def test_a_whole_ledger_agrees_with_its_reports(helpers, book):
    second = fit(helpers, book, "1/4", end="start")
    assert verdicts(book, book.first, second, book.export_json()) == ["agrees"] * 3
    assert book.recover("claims", [book.first, second]).words == "nothing is missing"
    assert len(book.chain("claims").entries) == 6  # nothing was written


def test_a_restored_backup_is_whole_and_a_report_shows_that_it_is_behind(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    later = fit(helpers, book, "1/4")
    assert old.verify([book.first]).entries == {"claims": 4}
    with pytest.raises(LedgerDamaged, match=r"names entry 6, and the ledger ends at entry 3"):
        old.verify([book.first, later])
    with pytest.raises(
        LedgerDamaged, match="ends at entry 3.*`dpforest ledger recover DATA_SET --w"
    ):
        old.verify([book.export_json()])


def test_a_backup_that_went_on_is_a_fork(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    later = fit(helpers, book, "1/4")
    fit(helpers, old, "1/32")
    with pytest.raises(LedgerDamaged, match="names another entry 6 than the ledger has"):
        old.verify([later])


def test_a_book_that_was_written_anew_is_another_ledger(helpers, book, tmp_path):
    anew = helpers.registered(helpers.ledger_at(tmp_path / "anew.ledger"))
    assert anew.verify().entries == {"claims": 1}
    with pytest.raises(ParameterError, match=f"is of another ledger .'{book.id}'.*written anew"):
        anew.verify([book.first])
    with pytest.raises(ParameterError, match="is of another ledger"):
        anew.recover("claims", [book.first])


def test_a_witness_of_a_data_set_that_is_not_asked_for_is_not_passed_over(helpers, book):
    helpers.registered(book, name="visits")
    export = book.export_json()
    for ask in (
        lambda one: book.verify([one], ["visits"]),
        lambda one: book.recover("visits", one),
    ):
        with pytest.raises(ParameterError, match="is of data set 'claims', which is not asked for"):
            ask(book.first)
        assert ask(export)  # an export speaks of all
    book.close()


# -- recovering -----------------------------------------------------------------------------------


def test_reports_of_all_that_was_lost_bring_the_ledger_up_to_date(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    lost = [fit(helpers, book, "1/4"), fit(helpers, book, "1/16", end="start")]
    found = old.recover("claims", lost)
    # No report shows that the first fit is in both chains, so it may count twice.
    assert found.frozen and len(found.charged_again) == 2
    assert (found.missing, found.unproven) == (0, to_units(Fraction(1, 8)))
    assert "no report shows which fits ran here since the restore" in found.words
    found = old.recover("claims", write_off=0, reason=NONE_RAN)
    assert not found.frozen and found.words == "it goes on: 0 lost reserves count again"
    assert spent(old) == spent(book)
    assert verdicts(old, book.first, *lost) == ["agrees", "imported", "imported"]
    assert old.recover("claims", lost).words == "nothing is missing"
    assert spent(old) == spent(book)
    fit(helpers, old, "1/64")  # it goes on


def test_it_stays_frozen_until_the_missing_is_given(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    second, third = fit(helpers, book, "1/4"), fit(helpers, book, "1/16")
    found = old.recover("claims", [third])
    assert found.frozen and found.missing == to_units(Fraction(1, 4))
    assert "rho 0.25 is missing" in found.words
    with pytest.raises(LedgerFrozen, match="names entry 9, and the ledger ends at entry 3"):
        fit(helpers, old, "1/100")
    with pytest.raises(LedgerFrozen, match=r"ledger.recover\(data_set, witnesses=\[…\]\)"):
        fit(helpers, old, "1/100")
    assert "--witness FILE" in found.words and "--write-off AMOUNT" in found.words
    # Nobody who gives nothing lets it go on.
    assert old.recover("claims").frozen and old.recover("claims", [book.first]).frozen
    assert old.recover("claims", [third]).missing == to_units(Fraction(1, 4))
    assert went_on(old, [second])
    assert spent(old) == spent(book) and not old.status("claims").frozen


def test_who_speaks_of_less_asks_for_no_less(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    _, second, third = (fit(helpers, book, rho) for rho in ("1/16", "1/16", "1/4"))
    assert old.recover("claims", [third]).missing == to_units(Fraction(1, 8))
    assert old.recover("claims", [second]).missing == to_units(Fraction(1, 16))


def test_what_nobody_holds_is_written_off(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")
    third = fit(helpers, book, "1/16")
    with pytest.raises(ParameterError, match="write_off='0.1': is below what is missing, rho 0.25"):
        old.recover("claims", [third], write_off="0.1", reason="its report was lost")
    assert old.status("claims").frozen
    with pytest.raises(ParameterError, match="reason='': must be given"):
        old.recover("claims", [third], write_off="5/16")
    found = old.recover("claims", write_off="5/16", reason="its report was lost")
    assert found.written_off == to_units(Fraction(5, 16)) and not found.frozen
    assert spent(old) == Fraction(1, 8) + Fraction(1, 16) + Fraction(5, 16)
    last = [entry.body for entry in old.log("claims") if entry.kind == "import"][-1]
    assert last.write_off and last.source == "its report was lost"


def test_a_write_off_that_was_cut_short_is_charged_once(helpers, book, tmp_path, monkeypatch):
    """Whoever was stopped between the write-off and the end says the same again."""
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")
    witness = fit(helpers, book, "1/8")
    word = {"write_off": "1/4", "reason": "its report was lost"}

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(old, "checkpoint", stopped)
    with pytest.raises(KeyboardInterrupt):
        old.recover("claims", [witness], **word)
    monkeypatch.undo()
    before = spent(old)
    assert old.status("claims").frozen
    found = old.recover("claims", [witness], **word)
    assert not found.frozen and found.written_off == to_units(Fraction(1, 4))
    assert spent(old) == before
    old.recover("claims", [witness], **word)  # another time it is another word
    assert spent(old) == before + Fraction(1, 4)


def test_an_export_is_written_back_to_the_byte(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    later = fit(helpers, book, "1/4")
    book.policy("claims", cap="1/2")
    found = old.recover("claims", [book.export_json()])
    assert found.restored == 4 and not found.charged_again
    assert old.log("claims", 0, 8) == book.log("claims")
    assert old.status("claims").cap == to_units(Fraction(1, 2))
    assert verdicts(old, later, book.first) == ["agrees"] * 2


def test_a_fork_counts_both_branches(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")
    lost = fit(helpers, book, "1/16")
    fit(helpers, old, "1/32")
    witnesses = [lost, book.export_json()]
    assert not old.recover("claims", witnesses).frozen
    assert spent(old) == spent(book) + Fraction(1, 32)
    assert old.recover("claims", witnesses).words == "nothing is missing"


def test_where_the_fork_began_is_not_guessed_from_reports(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    lost = [fit(helpers, book, "1/4"), fit(helpers, book, "1/16")]
    fit(helpers, old, "1/32")
    # Nothing shows that both branches have the first fit, so it may count twice.
    assert old.recover("claims", lost).missing == to_units(Fraction(1, 8))
    assert old.recover("claims", [book.first]).missing == to_units(Fraction(1, 8))
    assert not old.recover("claims", [book.export_json()]).frozen
    assert spent(old) == spent(book) + Fraction(1, 32)


def test_a_report_after_the_fork_says_nothing_of_the_lost_chain(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")  # nobody holds its report
    lost = fit(helpers, book, "1/16")
    own = fit(helpers, old, "1/4", end="start")
    for rho in ("1/8", "1/64"):
        fit(helpers, old, rho)
    found = old.recover("claims", [book.first, own, lost])
    assert found.frozen and found.missing >= to_units(Fraction(1, 4))


def test_a_later_witness_of_the_same_loss_is_charged_too(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    second, third = fit(helpers, book, "1/4"), fit(helpers, book, "1/16")
    assert went_on(old, [second])
    fit(helpers, old, "1/128")
    with pytest.raises(LedgerDamaged, match="another entry 9|names entry 9"):
        old.verify([third])
    assert not old.recover("claims", [second, third]).frozen
    assert spent(old) == spent(book) + Fraction(1, 128)


@pytest.mark.parametrize("end", ["start", "settle"])
def test_a_reserve_that_began_on_the_lost_chain_never_comes_back(helpers, book, tmp_path, end):
    reserve = book.reserve("claims", helpers.charge(Fraction(1, 4)))
    old = copied(helpers, book, tmp_path)
    state = book.chain("claims").state
    lost = report_of(ReserveSnapshot.of(reserve.entry, state), book, reserve.id, end)
    assert went_on(old, [lost])
    # The reserve stands beside its import until somebody gives it back: what began counts on.
    assert spent(old) == spent(book) + Fraction(1, 4)
    old.void("claims", reserve.id, reason="not begun here")
    assert spent(old) == spent(book) and verdicts(old, lost) == ["imported"]


def held(helpers, ledger, rho):
    """A reserve of which no fit has begun: its snapshot."""
    written = ledger.write("claims", reserve_body(helpers, rho))
    return ReserveSnapshot.of(written.entry, written.state)


@pytest.mark.parametrize("done", ["held", "voided", "begun"])
def test_an_export_shows_what_began_of_a_reserve_that_both_chains_hold(
    helpers, book, tmp_path, done
):
    snapshot = held(helpers, book, "1/4")
    old = copied(helpers, book, tmp_path)
    report_of(snapshot, book, snapshot.id, "start")
    if done == "voided":
        old.void("claims", snapshot.id, reason="not begun here")
    if done == "begun":  # again, so that two fits were made of it
        report_of(snapshot, old, snapshot.id)
    fit(helpers, old, "1/512")
    export = book.export_json()
    found = old.recover("claims", [export])
    (again,) = found.charged_again
    assert not found.frozen and (again.id, again.number) == (
        snapshot.id,
        book.chain("claims").state.number,
    )
    if done == "held":
        old.void("claims", snapshot.id, reason="not begun here")
    twice = Fraction(1, 4) if done == "begun" else 0
    assert spent(old) == spent(book) + Fraction(1, 512) + twice
    assert verdicts(old, export) == ["imported"]
    assert old.recover("claims", [export]).words == "nothing is missing"


def test_a_reserve_that_began_in_both_chains_is_not_passed_over_after_a_recovery(
    helpers, book, tmp_path
):
    snapshot = held(helpers, book, "1/4")
    other = copied(helpers, book, tmp_path, "other.ledger")
    assert went_on(book, [fit(helpers, other, "1/8")])
    old = copied(helpers, book, tmp_path)
    lost = report_of(snapshot, book, snapshot.id)
    report_of(snapshot, old, snapshot.id)
    found = old.recover("claims", [lost])
    assert found.frozen and found.missing == to_units(Fraction(1, 4))
    with pytest.raises(LedgerDamaged, match="names another entry"):
        old.verify([lost])


def test_a_reserve_that_began_here_does_not_stand_for_a_fit_that_nobody_shows(
    helpers, book, tmp_path
):
    snapshot = held(helpers, book, "1/4")
    old = copied(helpers, book, tmp_path)
    book.void("claims", snapshot.id, reason="not needed")
    export = book.export_json()
    fit(helpers, book, "1/4")  # nobody holds its report
    last = fit(helpers, book, "1/64")
    report_of(snapshot, old, snapshot.id)
    found = old.recover("claims", [export, last])
    assert found.frozen and found.unproven == to_units(Fraction(1, 4))
    assert not old.recover("claims", [book.export_json()]).frozen
    assert spent(old) == spent(book) + Fraction(1, 4)


def test_a_reserve_that_is_charged_again_hides_nothing_that_is_missing(helpers, book, tmp_path):
    reserve = book.reserve("claims", helpers.charge(Fraction(1, 4)))
    old = copied(helpers, book, tmp_path)
    began = report_of(
        ReserveSnapshot.of(reserve.entry, book.chain("claims").state), book, reserve.id, "settle"
    )
    fit(helpers, book, "1/4")  # nobody holds its report
    last = fit(helpers, book, "1/16")
    found = old.recover("claims", [began, last])
    assert found.frozen and found.missing == to_units(Fraction(1, 4))


def test_a_bare_word_to_go_on_accounts_for_nothing(helpers, book, tmp_path):
    reserve = book.reserve("claims", helpers.charge(Fraction(1, 16)))
    book.start("claims", reserve.id)
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")
    last = fit(helpers, book, "1/32")
    assert old.recover("claims", [last]).frozen
    old.checkpoint("claims", frozen=False, reason="the owner lets it go on")
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([book.export_json()])
    assert old.recover("claims", [last]).missing == to_units(Fraction(1, 4))


def test_a_witness_of_what_is_missing_fails_verify_though_its_own_fit_is_charged(
    helpers, book, tmp_path
):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")  # nobody holds its report
    last = fit(helpers, book, "1/16")
    assert old.recover("claims", [last]).missing == to_units(Fraction(1, 4))
    for _ in range(2):
        with pytest.raises(LedgerDamaged, match="names entry 9"):
            old.verify([last])
        if old.status("claims").frozen:
            old.checkpoint("claims", frozen=False, reason="the owner lets it go on")
    assert old.recover("claims", [last]).missing == to_units(Fraction(1, 4))
    old.recover("claims", write_off="1/4", reason="its report was lost")
    assert verdicts(old, last) == ["imported"]


@pytest.mark.parametrize("word", [{}, {"witnessed": 1}], ids=str)
def test_a_bare_word_does_not_settle_a_fork(helpers, book, tmp_path, word):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")  # nobody holds its report
    last = fit(helpers, book, "1/16")
    for rho in ("1/8", "1/8", "1/8"):
        fit(helpers, old, rho)
    found = old.recover("claims", [last])
    assert found.frozen and spent(old) > Fraction(7, 16) and found.missing
    old.checkpoint("claims", frozen=False, reason="the owner lets it go on", **word)
    with pytest.raises(LedgerDamaged, match="names another entry 9"):
        old.verify([last])


def test_another_freeze_drops_nothing_that_is_missing(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    second, third = fit(helpers, book, "1/16"), fit(helpers, book, "1/4")
    fit(helpers, book, "1/8")  # nobody holds its report
    last = fit(helpers, book, "1/32")
    assert old.recover("claims", [last]).frozen
    old.checkpoint("claims", frozen=True, reason="we are still looking")
    assert old.recover("claims", [second, third]).missing == to_units(Fraction(1, 8))
    with pytest.raises(ParameterError, match="is below what is missing"):
        old.recover("claims", write_off=0, reason=NONE_RAN)


def in_blocks(helpers, tmp_path):
    ledger = helpers.registered(
        helpers.ledger_at(tmp_path / "claims.ledger"), max_blocks_per_unit=1
    )
    for name in ("2024", "2025"):
        ledger.add_block("claims", name, cap="1/2")
    return ledger


def test_an_export_from_before_a_report_does_not_account_for_blocks(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, old, "1/64", blocks=("2024",))
    fit(helpers, ledger, "1/16", blocks=("2024",))
    early = ledger.export_json()
    fit(helpers, ledger, "1/8", blocks=("2025",))  # nobody holds its report
    last = fit(helpers, ledger, "1/8", blocks=("2025",))
    assert old.recover("claims", [last]).frozen
    assert old.recover("claims", [early]).frozen
    assert old.recover("claims", [early, last]).frozen
    assert not old.recover("claims", [ledger.export_json(), last]).frozen
    blocks = {one.name: one.spent for one in old.status("claims").blocks}
    assert blocks["2025"] >= to_units(Fraction(1, 4))


def test_blocks_that_were_recovered_stay_so(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, old, "1/64", blocks=("2024",))
    lost = fit(helpers, ledger, "1/8", blocks=("2025",))
    assert not old.recover("claims", [ledger.export_json()]).frozen
    number = old.status("claims").number
    for witnesses in ([lost], [ledger.export_json()], [ledger.export_json(), lost]):
        assert old.recover("claims", witnesses).words == "nothing is missing"
        assert set(verdicts(old, *witnesses)) == {"imported"}
    assert old.status("claims").number == number


def test_later_fits_in_blocks_do_not_stand_for_lost_ones(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    began = ledger.write("claims", reserve_body(helpers, "1/64", blocks=("2024",)))
    from dpforest.ledger.bodies import SettleBody, StartBody

    reserve = began.entry.id
    ledger.write("claims", StartBody(reserve=reserve, part=0))
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, ledger, "1/8", blocks=("2024",))  # nobody holds its report
    ended = ledger.write("claims", SettleBody(reserve=reserve, part=0, outcome="done"))
    place = place_of(ReserveSnapshot.of(began.entry, began.state), ended.entry, ended.state)
    place = place.model_dump(mode="json")
    report = sealed({"format": "dpforest-report", "basis": {"ledger": place}})
    assert old.recover("claims", [report]).frozen
    old.checkpoint("claims", frozen=False, reason="the owner lets it go on")
    fit(helpers, old, "1/4", blocks=("2025",))
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([report])


def test_a_fit_in_blocks_that_is_charged_again_vouches_for_no_other(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, ledger, "1/8", blocks=("2024",))  # nobody holds its report
    last = fit(helpers, ledger, "1/64", blocks=("2025",))
    assert old.recover("claims", [last]).frozen
    old.checkpoint("claims", frozen=False, reason="the owner lets it go on")
    fit(helpers, old, "1/4", blocks=("2025",))
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([last])
    assert not old.recover("claims", [ledger.export_json()]).frozen
    assert verdicts(old, last) == ["imported"]


def test_a_recovery_of_blocks_that_died_is_ended(helpers, tmp_path, monkeypatch):
    ledger = in_blocks(helpers, tmp_path)
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, old, "1/64", blocks=("2024",))
    fit(helpers, ledger, "1/8", blocks=("2025",))
    export = ledger.export_json()
    with monkeypatch.context() as patch:
        patch.setattr(type(old), "checkpoint", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            old.recover("claims", [export])
    assert old.status("claims").frozen and not old.recover("claims", [export]).frozen


def test_a_name_of_a_file_has_no_power(book, tmp_path):
    path = tmp_path / "a\x1b[2Jb.json"
    path.write_text(book.first)
    assert book.verify([path]).findings[0].source == "a?[2Jb.json"


def edited(report, **change):
    """A report whose amounts somebody wrote anew, with a digest to match."""
    data = json.loads(report)
    del data["digest"]
    data["basis"]["ledger"] |= change
    return sealed(data)


def test_an_edited_amount_refunds_no_reserve(helpers, book, tmp_path):
    reserve = book.reserve("claims", helpers.charge(Fraction(1, 4)))
    old = copied(helpers, book, tmp_path)
    lost = report_of(
        ReserveSnapshot.of(reserve.entry, book.chain("claims").state), book, reserve.id
    )
    less = edited(lost, charged="1/1000000", before="0", in_all="1/1000000")
    assert went_on(old, [less])
    again = [entry.body for entry in old.log("claims") if entry.kind == "import"]
    assert [body.units for body in again] == [to_units(Fraction(1, 4))]
    assert spent(old) >= spent(book)
    assert reserve.id in {one.id for one in old.status("claims").reserves}


def test_fits_made_since_the_restore_never_stand_for_lost_ones(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")  # nobody holds its report
    lost = fit(helpers, book, "1/16")
    fit(helpers, old, "1/4")  # its entries are before the one that the report names
    found = old.recover("claims", [lost])
    assert found.frozen and found.unproven >= to_units(Fraction(1, 4))
    assert old.recover("claims").frozen and old.recover("claims", [lost, book.first]).frozen
    assert not old.recover("claims", [book.export_json()]).frozen
    assert spent(old) == spent(book) + Fraction(1, 4)


def test_an_owner_says_what_ran_here_since_the_restore(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")
    lost = fit(helpers, book, "1/16")
    fit(helpers, old, "1/4")
    assert old.recover("claims", [lost]).frozen
    old.recover("claims", write_off="1/4", reason="one fit of rho 1/4 ran since the restore")
    assert spent(old) == spent(book) + Fraction(1, 4)
    assert verdicts(old, lost) == ["imported"]
    later = fit(helpers, book, "1/32")
    assert not old.recover("claims", [lost, later]).frozen
    assert spent(old) == spent(book) + Fraction(1, 4)


def test_a_fit_that_began_before_the_backup_shows_that_it_is_behind(helpers, book, tmp_path):
    """Its reserve is in the backup, so nothing of it is charged again; what came after is lost."""
    from dpforest.ledger.bodies import SettleBody, StartBody

    written = book.write("claims", reserve_body(helpers, "1/16"))
    snapshot, reserve = ReserveSnapshot.of(written.entry, written.state), written.entry.id
    book.write("claims", StartBody(reserve=reserve, part=0))
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")
    ended = book.write("claims", SettleBody(reserve=reserve, part=0, outcome="done"))
    place = place_of(snapshot, ended.entry, ended.state).model_dump(mode="json")
    report = sealed({"format": "dpforest-report", "basis": {"ledger": place}})
    with pytest.raises(LedgerDamaged, match="names entry 9, and the ledger ends at entry 5"):
        old.verify([report])
    assert old.recover("claims", [report]).missing == to_units(Fraction(1, 4))
    old.recover("claims", write_off="1/4", reason="its report was lost")
    assert spent(old) == spent(book) and verdicts(old, report) == ["imported"]


def test_a_ledger_is_behind_though_as_much_was_given_back_as_was_lost(helpers, book, tmp_path):
    from dpforest.ledger.bodies import SettleBody, StartBody

    spare = book.reserve("claims", helpers.charge(Fraction(1, 4)))
    began = book.write("claims", reserve_body(helpers, "1/16"))
    book.write("claims", StartBody(reserve=began.entry.id, part=0))
    old = copied(helpers, book, tmp_path)
    book.void("claims", spare.id, token=spare.token)
    fit(helpers, book, "1/4")  # nobody holds its report
    ended = book.write("claims", SettleBody(reserve=began.entry.id, part=0, outcome="done"))
    place = place_of(ReserveSnapshot.of(began.entry, began.state), ended.entry, ended.state)
    report = sealed(
        {"format": "dpforest-report", "basis": {"ledger": place.model_dump(mode="json")}}
    )
    assert spent(old) == spent(book)
    with pytest.raises(LedgerDamaged, match="and the ledger ends at entry"):
        old.verify([report])


def test_what_was_voided_here_and_began_there_is_charged(helpers, book, tmp_path):
    reserve = book.reserve("claims", helpers.charge(Fraction(1, 4)))
    old = copied(helpers, book, tmp_path)
    old.void("claims", reserve.id, reason="it seemed not begun")
    lost = report_of(
        ReserveSnapshot.of(reserve.entry, book.chain("claims").state), book, reserve.id, "settle"
    )
    old.recover("claims", [book.first, lost])
    assert spent(old) == spent(book)


def test_a_reserve_is_charged_once_however_many_speak_of_it(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    charge = helpers.charge(Fraction(1, 4), parts=2)
    from dpforest.ledger.bodies import ReserveBody, StartBody

    written = book.write("claims", ReserveBody(charge=charge, token="cd" * 32))
    snapshot = ReserveSnapshot.of(written.entry, written.state)
    reports = []
    for part in (0, 1):
        begun = book.write("claims", StartBody(reserve=written.entry.id, part=part))
        place = place_of(snapshot, begun.entry, begun.state).model_dump(mode="json")
        reports.append(sealed({"format": "dpforest-report", "basis": {"ledger": place}}))
    assert len(old.recover("claims", reports[:1]).charged_again) == 1
    assert not old.recover("claims", reports).charged_again
    with pytest.raises(LedgerDamaged, match="names another entry"):
        old.verify(reports)  # no owner has said yet what ran here since the restore
    old.recover("claims", write_off=0, reason=NONE_RAN)
    assert spent(old) == spent(book) and verdicts(old, *reports) == ["imported"] * 2


def test_a_table_with_blocks_needs_an_export_or_an_owners_word(helpers, tmp_path):
    ledger = helpers.registered(
        helpers.ledger_at(tmp_path / "claims.ledger"), max_blocks_per_unit=1
    )
    for name in ("2024", "2025"):
        ledger.add_block("claims", name, cap="1/2")
    fit(helpers, ledger, "1/8", blocks=("2024",))
    old = copied(helpers, ledger, tmp_path)
    lost = fit(helpers, ledger, "1/4", blocks=("2025",))
    fit(helpers, ledger, "1/128", blocks=("2024",))  # no total of a unit shows it
    found = old.recover("claims", [lost])
    assert found.frozen and "each block" in found.words and len(found.charged_again) == 1
    assert old.recover("claims").frozen
    assert not old.recover("claims", [ledger.export_json()]).frozen
    one, other = (at.status("claims").blocks for at in (ledger, old))
    assert [block.spent for block in one] == [block.spent for block in other]


def test_a_block_that_was_lost_is_charged_to_the_whole_table(helpers, tmp_path):
    ledger = helpers.registered(
        helpers.ledger_at(tmp_path / "claims.ledger"), max_blocks_per_unit=2
    )
    old = copied(helpers, ledger, tmp_path)
    ledger.add_block("claims", "2024", cap="1/2")
    lost = fit(helpers, ledger, "1/8", blocks=("2024",))
    assert not old.recover("claims", [lost]).frozen
    assert spent(old) == spent(ledger)


def test_only_owners_recover(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    lost = fit(helpers, book, "1/4")
    ana = helpers.ledger_at(tmp_path / "backup.ledger", actor="ana")
    for witness in (lost, book.export_json()):
        with pytest.raises(ParameterError, match="actor='ana': must be an owner"):
            ana.recover("claims", [witness])
    assert old.status("claims").number == 3
    assert ana.verify([book.first])  # and everybody verifies


def test_an_owner_writes_off_what_was_spent_elsewhere(book):
    found = book.recover("claims", write_off="0.25", reason="a fit before there was a ledger")
    assert found.written_off == to_units(Fraction(1, 4)) and not found.frozen
    assert spent(book) == Fraction(1, 8) + Fraction(1, 4)
    assert not any(entry.kind == "checkpoint" for entry in book.log("claims"))


def test_what_is_written_off_does_not_wait_for_fits(helpers, book, monkeypatch):
    """The chain grows after every reading, and a write-off comes through all the same."""
    read = book.chain

    def grown(name):
        found = read(name)
        if found.state.number < 100:
            book.note(name, "a fit of somebody else")
        return found

    monkeypatch.setattr(book, "chain", grown)
    book.recover("claims", write_off="1/4", reason="a fit before there was a ledger")
    assert spent(book) == Fraction(3, 8) and book.status("claims").number < 10


def test_what_was_spent_elsewhere_counts_beyond_the_cap(helpers, book, tmp_path):
    old = copied(helpers, book, tmp_path)
    lost = fit(helpers, book, "3/4")
    fit(helpers, old, "1/4")
    old.recover("claims", [lost, book.export_json()])
    assert spent(old) > 1
    with pytest.raises(BudgetExceeded):
        fit(helpers, old, "1/1000000")


@pytest.mark.parametrize("steps", range(1, 6))
def test_a_recovery_that_dies_leaves_nothing_open(helpers, book, tmp_path, steps, monkeypatch):
    """Frozen, or whole; and what is begun again ends where one run would have."""
    old = copied(helpers, book, tmp_path)
    lost = [fit(helpers, book, "1/4"), fit(helpers, book, "1/16")]
    left, write = [steps], type(old).write

    def dying(self, *args, **kwargs):
        if not left[0]:
            raise LedgerUnreachable("it died", "Try again")
        left[0] -= 1
        return write(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(type(old), "write", dying)
        if steps < 5:
            with pytest.raises(LedgerUnreachable):
                went_on(old, lost)
            assert old.status("claims").frozen
        else:
            assert went_on(old, lost)
    assert went_on(old, lost)
    assert spent(old) == spent(book)


def test_the_page_of_a_report_is_a_witness_as_its_json_is(book, helpers, tmp_path):
    """Officers keep pages, and a browser that saved one left its JSON as it was."""
    old = copied(helpers, book, tmp_path)
    late = fit(helpers, book, "1/4")
    page = '<!DOCTYPE html>\n<!-- saved --><script type="application/json" id="{}">{}</script>'
    (tmp_path / "late.html").write_text(page.format("dpforest-report", late))
    assert book.verify([tmp_path / "late.html"]).findings[0].verdict == "agrees"
    with pytest.raises(LedgerDamaged, match="late.html names entry 6, and the ledger ends"):
        old.verify([tmp_path / "late.html"])
    with pytest.raises(ParameterError, match="a page that carries no dpforest-report"):
        book.verify([page.format("another", late)])
    old.close()


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("{}", "neither a privacy report nor an export"),
        ("{", "not JSON"),
        ("absent.json", "there is none"),
        (sealed({"format": "dpforest-report", "basis": {}}), "charged to no ledger"),
        (sealed({"format": "dpforest-report", "basis": {"ledger": {}}}), "not what a report says"),
        (sealed({"format": "dpforest-report", "basis": {"ledger": 1}}), "not what a report says"),
    ],
)
def test_what_is_no_witness_is_refused(book, made, said):
    with pytest.raises(ParameterError, match=said):
        book.verify([made])
    with pytest.raises(ParameterError, match=said):
        book.recover("claims", [made])
    assert book.status("claims").number == 3


def test_a_report_that_somebody_changed_is_refused(book):
    changed = book.first.replace('"number": 3', '"number": 4')
    assert changed != book.first
    said = "its digest belongs to another text.*a program that formatted the file anew"
    with pytest.raises(ParameterError, match=said):
        book.verify([changed])


@pytest.mark.parametrize(
    "change",
    [{"number": "3"}, {"number": True}, {"number": 0}, {"hash": "x"}, {"charged": 0.5},
     {"ledger": "\x1b[2J"}, {"data_set": "a\nb"}, {"reserve": "r"}, {"blocks": ["\x1b[31m"]},
     {"charged": "inf"}, {"in_all": "-1"}, {"blocks": None}, {"key": "ab", "signature": "cd"}],
    ids=str,
)  # fmt: skip
def test_a_place_of_another_form_is_refused(book, change):
    data = json.loads(book.first)
    del data["digest"]
    data["basis"]["ledger"] |= change
    with pytest.raises(ParameterError, match="cannot be read"):
        book.verify([sealed(data)])


def test_a_signature_is_checked(helpers, tmp_path):
    pytest.importorskip("cryptography")
    from dpforest.ledger import Signer

    signer = Signer.new()
    path = tmp_path / "signed.ledger"
    ledger = helpers.ledger_at(path, signer=signer)
    helpers.registered(ledger, owners={"olga": signer.public_key})
    report = fit(helpers, ledger, "1/8")
    found = ledger.verify([report])
    assert found.signed == {"claims": 4} == found.entries
    data = json.loads(report)
    del data["digest"]
    signature = data["basis"]["ledger"]["signature"]
    data["basis"]["ledger"]["signature"] = signature[:-1] + ("0" if signature[-1] != "0" else "1")
    with pytest.raises(ParameterError, match="not signed with the key"):
        ledger.verify([sealed(data)])


def test_a_damaged_chain_is_not_recovered(helpers, book, tmp_path):
    import sqlite3

    later = fit(helpers, book, "1/4")
    book.close()
    path = tmp_path / "claims.ledger"
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_are_never_changed")
        connection.execute("UPDATE entries SET text = replace(text, 'olga', 'anna') WHERE number=2")
    connection.close()
    shutil.copy(path, tmp_path / "kept")
    for ask in (lambda: book.recover("claims", [later]), lambda: book.verify()):
        with pytest.raises(LedgerDamaged, match="entry 2 of data set 'claims' has not the hash"):
            ask()


def test_a_fit_that_begins_while_a_recovery_starts_stands_for_no_lost_one(
    helpers, book, tmp_path, monkeypatch
):
    """The data set is stopped first, and only then is added up what must count."""
    restored = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/16")
    export = book.export_json()
    fit(helpers, book, "1/16")
    last = fit(helpers, book, "1/16")
    fit(helpers, restored, "1/1000")  # so that this chain is no beginning of the other
    analyst = helpers.ledger_at(tmp_path / "backup.ledger", actor="ana")
    write, meanwhile = type(restored).write, []

    def late(ledger, *said, **others):
        if not meanwhile:
            meanwhile.append("it begins")
            fit(helpers, analyst, "1/16")
        return write(ledger, *said, **others)

    monkeypatch.setattr(type(restored), "write", late)
    assert restored.recover("claims", [export, last]).frozen
    missing = Fraction(restored.recover("claims", [export, last]).missing, 2**128)
    assert spent(restored) + missing >= Fraction(1, 8) + 4 * Fraction(1, 16) + Fraction(1, 1000)


@pytest.mark.parametrize("change", [{"charged": "0"}, {"in_all": "1/100"}])
def test_a_report_of_no_charge_is_no_witness(book, change):
    with pytest.raises(ParameterError, match="not what a report says"):
        book.recover("claims", [edited(book.first, **change)])
    assert not book.status("claims").frozen


def test_exports_of_several_lost_chains_bring_all_of_them_back(helpers, book, tmp_path):
    """Reports alone do not: what is common to their totals cannot be told."""
    again, now = copied(helpers, book, tmp_path), copied(helpers, book, tmp_path, "now.ledger")
    first = [fit(helpers, book, "1/16") for _ in range(3)][-1]
    second = [fit(helpers, again, "1/16") for _ in range(2)][-1]
    assert now.recover("claims", [first, second]).frozen
    assert not now.recover("claims", [book.export_json(), again.export_json()]).frozen
    assert spent(now) == Fraction(1, 8) + 5 * Fraction(1, 16)
    assert verdicts(now, first, second) == ["imported"] * 2


# -- what was imported, and what only looks so ----------------------------------------------------


def begun(helpers, ledger, rho, **others):
    """Reserve and start; return what makes the report of its end, whenever that comes."""
    from dpforest.ledger.bodies import SettleBody, StartBody

    held = ledger.write("claims", reserve_body(helpers, rho, **others))
    ledger.write("claims", StartBody(reserve=held.entry.id, part=0))

    def ended(at):
        said = at.write("claims", SettleBody(reserve=held.entry.id, part=0, outcome="done"))
        place = place_of(ReserveSnapshot.of(held.entry, held.state), said.entry, said.state)
        basis = {"ledger": place.model_dump(mode="json")}
        return sealed({"format": "dpforest-report", "basis": basis})

    return ended


def test_a_newer_lost_chain_of_a_smaller_total_is_not_imported(helpers, book, tmp_path):
    spare = book.reserve("claims", helpers.charge(Fraction(1, 4)))
    old = copied(helpers, book, tmp_path)
    lost = fit(helpers, book, "1/4")
    assert went_on(old, [lost]) and verdicts(old, lost) == ["imported"]
    ended = begun(helpers, old, "1/64")
    again = copied(helpers, old, tmp_path, "again.ledger")
    old.void("claims", spare.id, reason="nobody needs it")
    fit(helpers, old, "1/8")  # nobody holds its report
    newer = ended(old)
    with pytest.raises(LedgerDamaged, match="and the ledger ends at entry"):
        again.verify([newer])
    assert verdicts(again, lost) == ["imported"]
    # Without the spare reserve here too, the amount shows what is missing.
    again.void("claims", spare.id, reason="nobody needs it")
    found = again.recover("claims", [newer])
    assert found.frozen and found.missing == to_units(Fraction(1, 8))
    again.recover("claims", write_off="1/8", reason="its report was lost")
    assert verdicts(again, lost, newer) == ["imported"] * 2
    assert spent(again) == spent(old)


def test_a_later_fit_in_another_block_is_not_imported_by_its_total(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    ended = begun(helpers, ledger, "1/64", blocks=("2024",))
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, old, "1/512", blocks=("2024",))
    fit(helpers, ledger, "1/4", blocks=("2024",))
    early = ledger.export_json()
    assert not old.recover("claims", [early]).frozen
    fit(helpers, ledger, "1/8", blocks=("2025",))  # nobody holds its report
    later = ended(ledger)  # its total is that of block 2024, as before
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([later])
    assert verdicts(old, early) == ["imported"]
    assert old.recover("claims", [later]).frozen
    assert not old.recover("claims", [ledger.export_json()]).frozen
    assert set(verdicts(old, early, later, ledger.export_json())) == {"imported"}
    blocks = {one.name: one.spent for one in old.status("claims").blocks}
    assert blocks["2025"] == to_units(Fraction(1, 8))


def test_a_newer_lost_chain_of_blocks_is_not_imported(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, old, "1/512", blocks=("2024",))
    fit(helpers, ledger, "1/4", blocks=("2024",))
    assert not old.recover("claims", [ledger.export_json()]).frozen
    ended = begun(helpers, old, "1/64", blocks=("2025",))
    again = copied(helpers, old, tmp_path, "again.ledger")
    fit(helpers, old, "1/8", blocks=("2025",))  # nobody holds its report
    newer = ended(old)
    with pytest.raises(LedgerDamaged, match="and the ledger ends at entry"):
        again.verify([newer])
    assert again.recover("claims", [newer]).frozen
    again.recover("claims", write_off="1/8", reason="a fit in block 2025")
    assert verdicts(again, newer) == ["imported"]


def test_an_export_of_as_large_a_total_does_not_account_for_blocks(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, old, "1/512", blocks=("2024",))
    fit(helpers, ledger, "1/4", blocks=("2024",))
    early = ledger.export_json()
    fit(helpers, ledger, "1/8", blocks=("2025",))  # nobody holds its report
    last = fit(helpers, ledger, "1/64", blocks=("2025",))
    assert old.recover("claims", [last]).frozen
    for _ in range(2):
        assert old.recover("claims", [early]).frozen
    assert not old.recover("claims", [ledger.export_json()]).frozen


def test_a_recovery_vouches_for_no_fit_in_blocks_that_it_did_not_hear_of(helpers, tmp_path):
    ledger = in_blocks(helpers, tmp_path)
    old = copied(helpers, ledger, tmp_path)
    fit(helpers, old, "1/512", blocks=("2024",))
    fit(helpers, ledger, "1/4", blocks=("2024",))
    early = ledger.export_json()
    fit(helpers, ledger, "1/8", blocks=("2025",))  # nobody holds its report
    last = fit(helpers, ledger, "1/64", blocks=("2025",))
    assert old.recover("claims", [last]).frozen
    old.checkpoint("claims", frozen=False, reason="the owner lets it go on")
    assert not old.recover("claims", [early]).frozen
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([last])
    assert verdicts(old, early) == ["imported"]


def test_a_bare_word_and_own_fits_account_for_nothing(helpers, book, tmp_path):
    ended = begun(helpers, book, "1/64")
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/8")  # nobody holds its report
    last = ended(book)
    assert old.recover("claims", [last]).frozen
    old.checkpoint("claims", frozen=False, reason="the owner lets it go on")
    fit(helpers, old, "1/8")
    for frozen in (True, False):
        old.checkpoint("claims", frozen=frozen, reason="we were still looking")
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([last])


def test_a_fit_that_is_charged_again_is_not_imported_before_what_ran_here_is_known(
    helpers, book, tmp_path
):
    old = copied(helpers, book, tmp_path)
    fit(helpers, book, "1/4")  # nobody holds its report
    last = fit(helpers, book, "1/16")
    fit(helpers, old, "1/4")  # as much as is missing
    assert old.recover("claims", [last]).frozen
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([last])
    # Nor by a bare word.
    old.checkpoint("claims", frozen=False, reason="the owner lets it go on")
    with pytest.raises(LedgerDamaged, match="names"):
        old.verify([last])
