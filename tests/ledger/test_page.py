"""The page for officers says what the ledger says, needs nothing else, and lends no text power."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dpforest.accounting.figures import figure_down, figure_up
from dpforest.exceptions import LedgerDamaged, LedgerWarning, MissingExtraError
from dpforest.ledger import chain, fraction_of
from dpforest.ledger.bodies import SettleBody
from dpforest.ledger.commands import _line
from dpforest.report import page as report_page

pytest.importorskip("jinja2")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(HERE / "helpers.py")


@pytest.fixture(scope="module")
def report_tests(load_helper):
    """The reader of pages that the report's page is held by."""
    return load_helper(HERE.parent / "estimators" / "report" / "test_report_page.py")


@pytest.fixture(scope="module")
def filled(helpers, load_helper, tmp_path_factory):
    """A ledger with everything that may be shown."""
    ledger = load_helper(HERE / "filled.py").filled_ledger(
        helpers, tmp_path_factory.mktemp("page") / "page.ledger"
    )
    yield ledger
    ledger.close()


@pytest.fixture(scope="module")
def page(filled, report_tests):
    return report_tests.Page(filled.page())


def test_it_says_what_is_spent_and_what_remains(filled, page):
    said = page.words()
    for name in filled.data_sets:
        status = filled.status(name)
        sign = {"rho": "ρ", "epsilon": "ε"}[status.facts.currency]
        spent, cap = figure_up(fraction_of(status.spent)), figure_down(fraction_of(status.cap))
        left = figure_down(fraction_of(status.remaining))
        assert f"{sign} = {spent} of {sign} = {cap} is spent, and {sign} = {left} remains." in said
        assert name != "pure" or (spent, left) == ("0.333334", "1.66666")
        assert status.hash in said and status.facts.domain in said
        assert f"number {status.number}, " in said
    assert filled.id in said


def test_every_release_is_in_its_table(filled, page):
    for name in filled.data_sets:
        for entry in filled.log(name):
            if entry.kind in ("reserve", "import"):
                row = next(r for r in page.rows if r[:2] == [str(entry.number), entry.time[:10]]
                           and r[2] == entry.actor)  # fmt: skip
                assert row is not None
    rows = {row[3]: row for row in page.rows if len(row) >= 7}
    assert rows["churn"][4:] == ["0.125", "done", "oscar, otto"]
    sweep = "1 of 4 done, 1 of 4 failed, 1 of 4 started (its own guarantee is unknown: 1 of 4)"
    assert rows["a sweep"][4:] == ["0.25", sweep, "–"]
    assert rows["a mistake"][4:] == ["given back", "given back by olga; nothing was released", "–"]
    assert rows["for later"][4:6] == ["0.0625", "reserved"]
    off = "counts for ever (its own guarantee is unknown)"
    assert rows["written off: before the ledger"][4:6] == ["0.015625", off]
    assert rows["not said"][4:6] == ["2025, 2026", "0.25"]  # a table with blocks


def test_requests_people_blocks_and_rules_are_shown(filled, page):
    rows = page.rows
    assert ["7", "ana", "asks for more", "0.5", "1 of 2: oscar"] in [r[:1] + r[2:6] for r in rows]
    waiting = {one.id for name in filled.data_sets for one in filled.status(name).requests}
    assert waiting and waiting <= {row[-1] for row in rows}
    assert ["ana", "analyst", "0.125", "0.5"] in rows
    assert ["olga", "owner", "0.3125", "–"] in rows
    assert ["2025", "0.5", "0.25", "0.25"] in rows
    assert ["owners", "olga, oscar, otto"] in rows
    assert ["approvals that a reserve needs", "2"] in rows
    assert ["privacy unit", "a person"] in rows


def test_who_spent_it_adds_up(helpers, report_tests, tmp_path):
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "sum.ledger"))
    ledger.reserve("claims", helpers.charge("1/8"))
    ledger.charge_elsewhere("claims", 2**125, "elsewhere")
    lost = {"witness": "ab" * 32, "reserve": "0" * 8 + "-0000-4000-8000-" + "0" * 12}
    ledger.charge_elsewhere("claims", 2**124, "entry 9 of the lost chain", **lost)
    rows = report_tests.Page(ledger.page()).rows
    assert ["imported, charged again or written off", "–", "0.1875", "–"] in rows
    assert ["olga", "owner", "0.125", "–"] in rows
    assert fraction_of(ledger.status("claims").spent) == 0.3125
    assert "charged again for a lost fit: entry 9 of the lost chain" in [
        r[3] for r in rows if r[3:]
    ]
    ledger.close()


def test_changes_of_the_rules_are_shown(helpers, report_tests, tmp_path):
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "rules.ledger"), rho="0.04")
    assert "Changes of the rules" not in ledger.page()
    ledger.policy("claims", approvals=1, quotas={"ana": "0.03"}, reason="two look")
    ledger.policy("claims", approvals=0)
    ledger.checkpoint("claims", frozen=True, reason="an entry is missing")
    ledger.checkpoint("claims", frozen=False, reason="it was found")
    rows = [row[:1] + row[2:] for row in report_tests.Page(ledger.page()).rows]
    assert ["1", "olga", "quota of 'ana' 0.03; approvals that a fit needs: 1", "two look"] in rows
    assert ["2", "olga", "approvals that a fit needs: 0", "not said"] in rows
    assert ["3", "olga", "frozen", "an entry is missing"] in rows
    assert ["4", "olga", "goes on", "it was found"] in rows
    assert "ρ = 0 of ρ = 0.04 is spent, and ρ = 0.0399999 remains" in ledger.page()
    ledger.close()


def test_fits_without_a_guarantee_are_shown(helpers, report_tests, tmp_path):
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "void.ledger"))

    def fitted(guarantee, parts=1):
        charge = helpers.charge("1/64", purpose=guarantee or "well", parts=parts)
        reserve = ledger.reserve("claims", charge).id
        ledger.start("claims", reserve)
        body = SettleBody(reserve=reserve, part=0, outcome="done", guarantee=guarantee)
        ledger.write("claims", body)

    fitted("")
    page = report_tests.Page(ledger.page())
    assert any(row[:1] == ["guarantee"] and row[1].endswith("makes them") for row in page.rows)
    fitted("void", parts=2)
    fitted("demonstration")
    page = report_tests.Page(ledger.page())
    states = {row[3]: row[5] for row in page.rows if len(row) == 7 and row[0] != "entry"}
    assert states == {
        "well": "done",
        "void": "1 of 2 done (its own guarantee is void: 1 of 2)",
        "demonstration": "done (a demonstration only)",
    }
    but = "but for 2 fits without a guarantee of its own (1 void, 1 demonstration)"
    assert any(row[:1] == ["guarantee"] and row[1].endswith(but) for row in page.rows)
    ledger.close()


def test_it_needs_nothing_else_and_can_be_read_by_anybody(filled, page, report_tests):
    text = filled.page()
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">') and len(text) < 60_000
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "form"}
    for tag, attributes in page.tags:
        assert not report_tests.REACHING & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert attributes.get("href", "#").startswith("#")
    assert (
        "url(" not in text
        and "@import" not in text
        and "http" not in text.replace("http-equiv", "")
    )
    policy = next(a for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy["content"]
    assert page.headings[0] == 1 and page.headings.count(1) == 1
    steps = zip(page.headings, page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for t, a in page.tags if t == "a"} <= set(ids)
    heads = [a.get("scope") for t, a in page.tags if t == "th"]
    assert set(heads) == {"col", "row"}
    pictures = [a.get("aria-label") for t, a in page.tags if t == "svg"]
    assert pictures and all(pictures)


def test_it_shows_dates_and_no_times(filled, page):
    times = {entry.time for name in filled.data_sets for entry in filled.log(name)}
    assert times and all(time[:10] in page.text for time in times)
    assert not re.search(r"\d\d:\d\d", page.text)


def test_a_borrowed_date_is_told(helpers, report_tests, tmp_path, monkeypatch):
    """One machine ran years ahead; those after it bear its date, and page and log say so."""
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "clocks.ledger"))
    with monkeypatch.context() as clock:
        clock.setattr(chain, "now", lambda: "2099-12-31T23:59:59.000000Z")
        ledger.reserve("claims", helpers.charge("1/8", purpose="ahead"))
    with pytest.warns(LedgerWarning, match="Set this clock"):
        ledger.reserve("claims", helpers.charge("1/8", purpose="behind"))
    dates = {row[3]: row[1] for row in report_tests.Page(ledger.page()).rows if len(row) >= 7}
    assert dates["ahead"] == "2099-12-31" and dates["behind"] == "2099-12-31 (clock behind)"
    lines = [_line(entry) for entry in ledger.log("claims", 1)]
    assert ["(clock behind)" in line for line in lines] == [False, True]
    ledger.close()


NASTY = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "&lt;b&gt;",
         "</title><h1>ok", "' onmouseover='x"]  # fmt: skip


@pytest.mark.parametrize("text", NASTY)
def test_names_and_purposes_have_no_power(helpers, report_tests, tmp_path, text):
    ledger = helpers.ledger_at(tmp_path / "nasty.ledger", actor=text)
    helpers.registered(ledger, text, owners=[text, "olga"], unit=text, max_blocks_per_unit=1)
    ledger.add_block(text, text, cap="1/2")
    ledger.policy(text, quotas={text: "1/2"})
    ledger.request(text, helpers.charge("1/8", purpose=text, blocks=(text,)))
    reserve = ledger.reserve(text, helpers.charge("1/8", purpose=text, blocks=(text,)))
    ledger.void(text, reserve.id, reason=text)
    ledger.charge_elsewhere(text, 1, text)
    ledger.checkpoint(text, frozen=True, reason=text)
    shown = ledger.page()
    page = report_tests.Page(shown)
    assert text in page.text and shown.count("<h1") == 1 and "49" not in page.words().split()
    assert not {tag for tag, _ in page.tags} & {"script", "img", "b"}
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]
    ledger.close()


def test_frozen_and_overspent_are_told(helpers, report_tests, tmp_path):
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "bad.ledger"))
    page = report_tests.Page(ledger.page())
    assert "claims: Open" in page.text and "Nothing was spent." in page.text
    ledger.reserve("claims", helpers.charge("1"))
    assert "claims: Spent: nothing remains" in report_tests.Page(ledger.page()).text
    ledger.charge_elsewhere("claims", 2**120, "a fit elsewhere")
    over = report_tests.Page(ledger.page())
    assert "claims: Overspent" in over.text and "no longer covers everything" in over.text
    assert ["guarantee", "passed by what was spent elsewhere"] in over.rows
    ledger.checkpoint("claims", frozen=True, reason="an entry is missing")
    frozen = report_tests.Page(ledger.page())
    assert "claims: Frozen: nothing may be spent. an entry is missing" in frozen.text
    assert ("div", {"class": "verdict void", "role": "note"}) in frozen.tags
    ledger.close()


def test_a_certificate_uses_the_cap_up(helpers, report_tests, tmp_path):
    ledger = helpers.ledger_at(tmp_path / "alone.ledger")
    helpers.registered(ledger, epsilon=2, delta="1e-6")
    ledger.reserve(
        "claims", helpers.charge("1", parts=2, alone=True, epsilon="2", delta="1/1000000")
    )
    page = report_tests.Page(ledger.page())
    assert "the whole cap" in page.text and "claims: Spent: nothing remains" in page.text
    # What it is charged is the cap, and not the rho of its list.
    assert ["spent", "the whole cap"] in page.rows
    assert ["olga", "owner", "the whole cap", "–"] in page.rows
    cap = figure_down(fraction_of(ledger.status("claims").cap))
    assert f"The whole cap, ρ = {cap}, is spent" in page.text
    ledger.charge_elsewhere("claims", 1, "elsewhere")
    assert "More than the whole cap, ρ" in report_tests.Page(ledger.page()).text
    ledger.close()


def test_a_ledger_without_data_sets_has_a_page(helpers, report_tests, tmp_path):
    ledger = helpers.ledger_at(tmp_path / "empty.ledger")
    assert "No data set is registered." in report_tests.Page(ledger.page()).text
    ledger.close()


def test_one_data_set_may_be_shown_alone(filled, report_tests, tmp_path):
    text = filled.page(tmp_path / "one.html", ["pure"])
    assert (tmp_path / "one.html").read_text("utf-8") == text
    assert report_tests.Page(text).text.count("Head of the chain") == 1 and "claims" not in text


def test_a_damaged_ledger_has_no_page(helpers, tmp_path):
    import sqlite3

    ledger = helpers.registered(helpers.ledger_at(tmp_path / "bad.ledger"))
    ledger.close()
    with sqlite3.connect(tmp_path / "bad.ledger") as connection:
        connection.execute("UPDATE heads SET number = number + 1")
    connection.close()
    with pytest.raises(LedgerDamaged):
        ledger.page()


def test_without_the_engine(filled, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    report_page.environment.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'dpforest\[report\]'"):
            filled.page()
    finally:
        report_page.environment.cache_clear()
