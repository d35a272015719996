"""``dpforest fit``: price first, files whole, nothing that was paid for is lost."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpforest import BudgetLedger, PrivateForestClassifier, PrivateForestRegressor
from dpforest.bridge.bridge import Bridge
from dpforest.command_line import fits, tables
from dpforest.command_line.tables import Files
from dpforest.estimators.base import PrivateEstimator
from dpforest.estimators.fitting import Fit
from dpforest.estimators.training import Training
from dpforest.exceptions import ParameterError
from dpforest.ledger.accountant import Reserve

BASE = "fit stays.csv --target back --domain domain.json --epsilon 1 --strategy one_shot"
FIT = f"{BASE} --seed 5 --yes"


def changed(line, options):
    """The same line with other values of options: each is written once."""
    words = line.split()
    for option in [word for word in options.split() if word in words and word.startswith("--")]:
        place = words.index(option)
        del words[place : place + 2]
    return f"{' '.join(words)} {options}"


@pytest.fixture
def no_records(monkeypatch):
    """Nothing may read a record, or fit."""

    def refuse(*words, **more):
        raise AssertionError("a record was read")

    monkeypatch.setattr(Files, "batches_of", refuse)
    monkeypatch.setattr(Files, "batches", refuse)
    monkeypatch.setattr(PrivateEstimator, "fit", refuse)


def test_what_a_fit_writes(stored, ask):
    names = {path.name for path in (stored / "forest").iterdir()}
    assert names == {"model.json", "report.json", "report.html"}
    forest = PrivateForestClassifier.from_json(stored / "forest" / "model.json")
    assert forest.guarantee_.status == "demonstration"  # a seed is no protection
    page = (stored / "forest" / "report.html").read_text()
    assert "seed" in page and page.startswith("<!DOCTYPE html>")


def test_streamed_and_in_memory_are_one_forest(good, here, stored):
    good(f"{FIT} --streamed --output streamed")
    one, other = (
        PrivateForestClassifier.from_json(folder / "model.json")
        for folder in (stored / "forest", here / "streamed")
    )
    assert one.fingerprint_ == other.fingerprint_
    held = [json.loads(f.to_json())["released"] for f in (one, other)]
    assert held[0] == held[1]


@pytest.mark.usefixtures("here")
def test_two_fits_without_a_seed_differ(good):
    prints = [
        json.loads(good(f"{BASE} --yes --json --output {name}"))["result"]["fingerprint"]
        for name in ("one", "other")
    ]
    assert prints[0] != prints[1]


def test_price_is_shown_before_it_is_charged(ask, monkeypatch, here, capsys):
    seen = []

    def fit(self, *records):
        seen.append(capsys.readouterr())
        raise ParameterError("fit", 1, "ends here", "Go")

    monkeypatch.setattr(PrivateEstimator, "fit", fit)
    assert ask(f"{FIT} --output new")[0] == 2
    ((out, err),) = seen
    assert out == "" and "price: epsilon = 1, delta = 0" in err and "no guarantee" in err


@pytest.mark.usefixtures("no_records")
def test_a_dry_run_reads_charges_and_writes_nothing(ask, here):
    code, out, err = ask(f"{BASE} --dry-run --output new")
    assert code == 0 and "price: epsilon = 1" in out and "dry run" in err
    assert not (here / "new").exists()


@pytest.mark.usefixtures("no_records")
def test_without_a_terminal_nobody_is_asked(ask, here):
    code, out, err = ask(f"{BASE} --output new")
    assert code == 2 and not out and "price:" in err and "--yes" in err
    assert not (here / "new").exists()


@pytest.mark.usefixtures("no_records")
def test_no_is_no(ask, here, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: "n\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = ask(f"{BASE} --output new")
    assert code == 1 and not out and "nothing was charged" in err and not (here / "new").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("--output forest", "is there already"),
        ("--target none --output new", "no column 'none'"),
        ("--target age --output new", "is a feature"),
        ("--predict none.csv --output new", "none.csv"),
        ("--predict stays.csv --id none --output new", "no column 'none'"),
        ("--epsilon 0 --output new", "epsilon"),
        ("--task regression --output new", "--task"),
        ("--strategy rules --streamed --output new", "strategy"),
        ("--data-set stays --output new", "--ledger"),
        ("--ledger sqlite:///none.ledger --output new", "--data-set"),
        ("--domain none.json --output new", "none.json"),
        ("--format parquet --output new", "stays.csv"),
    ],
)
@pytest.mark.usefixtures("no_records")
def test_refusals_come_before_records_and_charges(ask, here, change, words):
    code, out, err = ask(changed(FIT, change))
    assert code == 2 and not out and words in err
    assert not (here / "new").exists()


@pytest.mark.usefixtures("no_records")
def test_a_folder_that_cannot_be_written_is_found_first(ask, here):
    (here / "taken").write_text("a file")
    code, _, err = ask(f"{FIT} --output taken/below")
    assert code == 2 and "cannot be written" in err


@pytest.mark.parametrize("name", fits.NAMES)
@pytest.mark.usefixtures("no_records")
def test_files_of_another_fit_are_refused_whatever_is_asked(ask, here, name):
    (here / "new").mkdir()
    (here / "new" / name).write_text("old")
    code, _, err = ask(f"{FIT} --no-html --output new")
    assert code == 2 and f"new/{name}" in err and "is there already" in err


def test_what_is_there_stays_if_the_model_goes_elsewhere(ask, here, monkeypatch):
    (here / "new").mkdir()
    for name in fits.NAMES:
        (here / "new" / name).write_text("old")
    sync, tried = os.fsync, []

    def full_at_first(number):
        tried.append(number)
        if len(tried) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", full_at_first)
    code, _, err = ask(f"{FIT} --force --predict stays.csv --output new")
    assert code == 7 and "the model is not in that folder" in err
    assert {path.read_text() for path in (here / "new").iterdir()} == {"old"}
    assert len(list(here.glob("dpforest-model-*.json"))) == 1


def test_force_writes_over(good, here):
    (here / "new").mkdir()
    for name in fits.NAMES:  # the page of another fit must not stay beside this model
        (here / "new" / name).write_text("old")
    (here / "new" / "notes.txt").write_text("mine")
    good(f"{FIT} --force --no-html --output new")
    names = {path.name for path in (here / "new").iterdir()}
    assert names == {"model.json", "report.json", "notes.txt"}
    PrivateForestClassifier.from_json(here / "new" / "model.json")


def test_predictions_afterwards(good, here):
    good(f"{FIT} --no-html --predict stays.csv --id stay --output new")
    lines = (here / "new" / "predictions.csv").read_text().splitlines()
    assert lines[0] == "stay,prediction" and len(lines) == 401 and lines[1].startswith("0000,")
    assert (here / "new" / "predictions.csv").stat().st_mode & 0o77 == 0


def test_why_predictions_failed_is_not_told_by_a_fit(ask, here, monkeypatch):
    (here / "odd.csv").write_text((here / "stays.csv").read_text() + "broken,line\n")
    line = f"{FIT.replace('stays.csv', 'odd.csv')} --no-html --predict odd.csv --json --output"
    code, out, err = ask(f"{line} one")
    problems = json.loads(out)["result"]["problems"]
    assert code == 7 and problems == ["predictions: not written; run dpforest predict"]
    assert "line" not in err and "odd.csv" not in err

    def fault(*words):
        raise ValueError

    monkeypatch.setattr(fits, "write_predictions", fault)
    code, out, _ = ask(f"{line} other")
    assert code == 7 and json.loads(out)["result"]["problems"] == problems


@pytest.mark.parametrize("way", ["--streamed", "--in-memory"])
def test_bars_are_shown_at_a_terminal_and_count_no_records(ask, here, monkeypatch, way):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    line = f"{FIT} --no-html --predict stays.csv {way} --output"
    _, out, err = ask(f"{line} one")
    unit = "passes" if way == "--streamed" else "parts"
    # Of the numbers that count something, and not of what comes a second, which may be any.
    counted = {number for pair in re.findall(r"(\d+)/(\d+)", err) for number in pair}
    assert unit in err and "1/1" in err and "400" not in counted and "%|" not in out
    _, _, err = ask(f"{line} other --quiet")
    assert "%|" not in err and unit not in err.replace("in passes", "")


def test_a_draft_is_taken_only_if_asked_and_is_void(ask, good, here):
    good("domain draft stays.csv --target back --drop stay --output draft.json")
    line = FIT.replace("domain.json", "draft.json") + " --no-html --output new"
    assert ask(line)[0] == 2
    code, out, err = ask(f"{line} --allow-draft --json")
    assert code == 0 and json.loads(out)["result"]["guarantee_status"] == "void"
    assert "dpforest: warning: the domain was drafted" in err
    # Such a report holds, since it says so; whoever gates by the exit code asks for more.
    verify = "report verify new/report.json --model new/model.json"
    code, out, _ = ask(verify)
    assert code == 0
    assert out.startswith("The report holds, and what it says is: VOID, no privacy guarantee: ")
    assert json.loads(ask(f"{verify} --json")[1])["result"]["guarantee_status"] == "void"
    assert ask(f"{verify} --require-guarantee")[0] == 1


def test_a_seeded_fit_lacks_a_guarantee_and_another_has_one(ask, good):
    good(f"{FIT} --no-html --output seeded")
    good(f"{BASE} --yes --no-html --output own")
    for name, status, code in (("seeded", "demonstration", 1), ("own", "holds", 0)):
        line = f"report verify {name}/report.json --require-guarantee --json"
        found, out, _ = ask(line)
        assert found == code and json.loads(out)["result"]["guarantee_status"] == status


def modes(*paths):
    return {path.name: path.stat().st_mode & 0o777 for path in paths}


def test_files_that_hold_a_drafts_bounds_are_private(good, here):
    before = os.umask(0o022)
    try:
        for name, line, more in (
            ("open", FIT, ""),
            ("closed", FIT.replace("domain.json", "draft.json"), "--allow-draft"),
        ):
            good("domain draft stays.csv --target back --drop stay --output draft.json --force")
            good(f"{line} {more} --output {name}")
            good(f"export {name}/model.json --output {name}/plain.json")
            good(f"report show {name}/report.json --output {name}/report.md")
    finally:
        os.umask(before)
    names = {"model.json", "report.json", "report.html", "plain.json", "report.md"}
    assert modes(*(here / "closed").iterdir()) == dict.fromkeys(names, 0o600)
    assert modes(*(here / "open").iterdir()) == dict.fromkeys(names, 0o644)


def test_numbers_are_a_regression(good, here):
    rows = "\n".join(f"{k % 50},{(k % 50) / 5}" for k in range(300))
    (here / "t.csv").write_text(f"a,y\n{rows}\n")
    (here / "d.json").write_text(
        '{"format": "dpforest-domain", "version": 1, "approximate_rows": 300, "features": '
        '[{"name": "a", "kind": "numeric", "lower": 0, "upper": 50}], '
        '"target": {"lower": 0, "upper": 10}}'
    )
    line = "fit t.csv --target y --domain d.json --epsilon 2 --seed 1 --yes --no-html --output new"
    good(line, "--strategy", "one_shot")
    PrivateForestRegressor.from_json(here / "new" / "model.json")
    assert good("predict new/model.json t.csv").splitlines()[0] == "prediction"


# -- what was paid for ----------------------------------------------------------------------------

SPENT = "What the fit cost stays spent: epsilon = 1, delta = 0"
SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


@pytest.fixture(params=SIGNALS)
def stop(request, monkeypatch):
    """Send the process a signal; its code."""
    if not hasattr(signal, request.param):
        pytest.skip("the system has no such signal")
    number = getattr(signal, request.param)

    def unheard(*words):
        raise AssertionError("nobody took the signal")

    # Unheard it would end the tests; and what a shell starts in the background ignores Ctrl-C.
    before = signal.signal(number, unheard)
    request.addfinalizer(lambda: signal.signal(number, before))

    def send():
        os.kill(os.getpid(), number)

    return send, SIGNALS[request.param]


def before_the_file(monkeypatch, send):
    fit = PrivateForestClassifier.fit

    def stopped(self, *records):
        fit(self, *records)
        send()

    monkeypatch.setattr(PrivateForestClassifier, "fit", stopped)


def while_it_is_kept(monkeypatch, send):
    to_json = PrivateForestClassifier.to_json

    def stopped(self, *words):
        send()
        return to_json(self, *words)

    monkeypatch.setattr(PrivateForestClassifier, "to_json", stopped)


@pytest.mark.parametrize("when", [before_the_file, while_it_is_kept])
def test_a_signal_after_the_fit_waits_for_the_model(ask, monkeypatch, here, stop, when):
    send, expected = stop
    when(monkeypatch, send)
    code, out, err = ask(f"{FIT} --output new")
    assert code == expected and not out and "paid for and kept: new/model.json" in err
    monkeypatch.undo()
    monkeypatch.chdir(here)
    PrivateForestClassifier.from_json(here / "new" / "model.json")


@pytest.mark.parametrize(("kind", "place"), [(Training, "_learn"), (Fit, "_run_facts")])
def test_a_signal_before_there_is_a_model_tells_the_cost(ask, monkeypatch, stop, book, kind, place):
    send, expected = stop
    work = getattr(kind, place)

    def stopped(self, *words):
        if place == "_learn":
            work(self, *words)
        send()
        return work(self, *words)

    monkeypatch.setattr(kind, place, stopped)
    for more, cost in (("", "stays spent: epsilon = 1, "), (BOOK, "stays spent: epsilon = 1.")):
        code, out, err = ask(f"{FIT} {more} --output new{len(more)}")
        assert code == expected and not out and err.splitlines()[-1] == "dpforest fit: interrupted"
        assert cost in err and "nothing was charged" not in err
    assert book()[-1] == "settle"


def test_a_signal_while_the_ledger_settles_tells_the_cost(ask, monkeypatch, book):
    settle = Reserve.settle

    def stopped(self, *words, **more):
        settle(self, *words, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(Reserve, "settle", stopped)
    code, _, err = ask(f"{FIT} {BOOK} --output new")
    assert code == 130 and "stays spent: epsilon = 1." in err and "nothing was charged" not in err
    assert book() == ["open", "reserve", "start", "settle"]


def test_a_start_that_may_stand_is_told(ask, monkeypatch, book):
    start = Reserve.start

    def stopped(self, *words):
        start(self, *words)
        raise KeyboardInterrupt

    monkeypatch.setattr(Reserve, "start", stopped)
    code, _, err = ask(f"{FIT} {BOOK} --output new")
    assert code == 130 and "stays spent" in err and "nothing was charged" not in err


def test_a_model_that_cannot_be_put_into_words_tells_its_cost(ask, monkeypatch):
    def full(self, *words):
        raise MemoryError

    monkeypatch.setattr(PrivateForestClassifier, "to_json", full)
    code, out, err = ask(f"{FIT} --output new")
    assert code == 70 and not out and SPENT in err


def test_a_signal_does_not_take_a_models_last_resort(ask, monkeypatch, stop):
    send, _ = stop
    before_the_file(monkeypatch, send)

    def full(path, *words, **more):
        raise ParameterError("--output", str(path), "cannot be written (disk full)", "Go")

    monkeypatch.setattr(fits, "write_text", full)
    monkeypatch.setattr(fits, "rescue", lambda text, stem: None)
    code, out, err = ask(f"{FIT} --output new")
    assert code == 7 and SPENT in err
    PrivateForestClassifier.from_json(out)


def test_a_report_that_cannot_be_written_loses_nothing(ask, monkeypatch, here):
    write = fits.write_text

    def full(path, text, **more):
        if Path(path).name != "model.json":
            raise ParameterError("--output", str(path), "cannot be written (disk full)", "Go")
        write(path, text, **more)

    monkeypatch.setattr(fits, "write_text", full)
    code, out, err = ask(f"{FIT} --output new")
    assert code == 7 and "model: new/model.json" in out and "disk full" in err
    assert "report: " in err and "page: " in err
    shown = ask("report show new/model.json")
    assert shown[0] == 0 and "Privacy report" in shown[1]


def test_a_model_that_cannot_be_written_goes_elsewhere(ask, monkeypatch, here):
    write = fits.write_text

    def full(path, text, **more):
        if Path(path).name == "model.json":
            raise ParameterError("--output", str(path), "cannot be written (disk full)", "Go")
        write(path, text, **more)

    monkeypatch.setattr(fits, "write_text", full)
    code, out, _ = ask(f"{FIT} --output new --json")
    kept = {one["what"]: one["path"] for one in json.loads(out)["result"]["written"]}
    assert code == 7 and Path(kept["model"]).parent == here
    PrivateForestClassifier.from_json(Path(kept["model"]))
    monkeypatch.setattr(fits, "rescue", lambda text, stem: None)
    code, out, err = ask(f"{FIT} --output newer")
    assert code == 7 and "follows on stdout" in err and SPENT in err
    PrivateForestClassifier.from_json(out)


def test_a_model_that_appeared_meanwhile_is_not_written_over(ask, monkeypatch, here):
    fit = PrivateForestClassifier.fit

    def slow(self, *records):
        fit(self, *records)
        (here / "new" / "model.json").write_text("somebody else's")

    monkeypatch.setattr(PrivateForestClassifier, "fit", slow)
    assert ask(f"{FIT} --output new")[0] == 7
    assert (here / "new" / "model.json").read_text() == "somebody else's"
    assert len(list(here.glob("dpforest-model-*.json"))) == 1


def test_an_interrupt_after_the_fit_keeps_the_model(ask, monkeypatch, here):
    fit = PrivateForestClassifier.fit

    def interrupted(self, *records):
        fit(self, *records)
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivateForestClassifier, "fit", interrupted)
    code, out, err = ask(f"{FIT} --output new")
    assert code == 130 and not out and "paid for and kept: new/model.json" in err
    PrivateForestClassifier.from_json(here / "new" / "model.json")


def test_an_interrupt_says_what_stays_spent(ask, monkeypatch):
    asked, ask_bridge = [], Bridge.ask

    def interrupted(self, *words, **more):
        asked.append(1)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return ask_bridge(self, *words, **more)

    monkeypatch.setattr(Bridge, "ask", interrupted)
    code, out, err = ask(f"{FIT} --output new")
    assert code == 130 and not out and err.splitlines()[-1] == "dpforest fit: interrupted"
    assert "stays spent: epsilon = " in err and "nothing was charged" not in err


def test_an_interrupt_before_the_fit_has_cost_nothing(ask, monkeypatch):
    def interrupted(*words, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivateForestClassifier, "fit", interrupted)
    code, _, err = ask(f"{FIT} --output new")
    assert code == 130 and "nothing was charged" in err


# -- a ledger -------------------------------------------------------------------------------------

BOOK = "--ledger sqlite:///book.ledger --as olga --data-set stays"


@pytest.fixture
def book(good):
    good("ledger init stays --domain domain.json --currency epsilon --epsilon 3 --owner olga "
         "--owner oscar --ledger sqlite:///book.ledger --as olga")  # fmt: skip

    def kinds():
        with BudgetLedger.open("sqlite:///book.ledger", actor="olga") as ledger:
            return [entry.kind.value for entry in ledger.log("stays")]

    return kinds


def test_a_fit_is_charged_to_its_data_set(good, ask, book):
    code, out, err = ask(f"{FIT} {BOOK} --purpose returns --output new --json")
    result = json.loads(out)["result"]
    assert code == 0 and result["price"]["currency"] == "epsilon" and result["price"]["fits"]
    assert "epsilon = 3 remains" in err and "returns" not in out
    assert book() == ["open", "reserve", "start", "settle"]
    assert "its place in the ledger" in good(
        "report verify new/report.json --model new/model.json --ledger sqlite:///book.ledger"
    )


@pytest.mark.parametrize("way", ["--streamed", "--in-memory"])
def test_a_ledger_is_charged_before_records_are_read(ask, book, monkeypatch, way):
    def full(self, *words):
        assert book() == ["open", "reserve", "start"]
        raise MemoryError

    monkeypatch.setattr(Files, "batches_of", full)
    code, out, err = ask(f"{FIT} {BOOK} {way} --output new")
    assert (
        code == 2
        and "it cannot be read (MemoryError)" in err
        and "stays spent: epsilon = 1." in err
        and not out
    )
    assert "nothing was charged" not in err and book() == ["open", "reserve", "start", "settle"]


@pytest.mark.parametrize("way", ["--streamed", "--in-memory"])
def test_what_reading_files_says_is_not_passed_on_and_stays_spent(ask, here, monkeypatch, way):
    def read(self, *words):
        raise ValueError("secret 4711")

    monkeypatch.setattr(Files, "batches_of", read)
    code, out, err = ask(f"{FIT} {way} --output new")
    assert code == 2 and "it cannot be read (ValueError)" in err and "4711" not in out + err
    assert "stays spent: epsilon = 1, " in err and "nothing was charged" not in err


def test_a_dry_run_and_a_plan_charge_nothing(ask, book, no_records):
    assert ask(f"{BASE} {BOOK} --dry-run --output new")[0] == 0
    code, out, _ = ask(changed(f"{BASE} {BOOK} --dry-run --output new", "--epsilon 40"))
    assert code == 3 and "it would not be granted" in out
    assert ask(f"plan --domain domain.json --epsilon 1 {BOOK}")[0] == 0
    assert book() == ["open"]


def test_what_the_budget_does_not_allow_is_refused_before_records(ask, book, no_records, here):
    code, out, err = ask(changed(f"{FIT} {BOOK} --output new", "--epsilon 40"))
    assert code == 3 and not out and "is left" in err and not (here / "new").exists()
    assert book() == ["open"]


def test_a_reserve_pays_for_its_plan(good, book):
    plan = f"plan --domain domain.json --epsilon 1 --strategy one_shot {BOOK} --charge charge.json"
    good(plan)
    url = "--ledger sqlite:///book.ledger --as olga"
    # A seed is part of no plan, and neither is a bar.
    reserve = good(f"ledger reserve stays charge.json {url}")
    good(f"{FIT} {BOOK} --reserve {reserve} --output new")
    assert book() == ["open", "reserve", "start", "settle"]


def test_a_missing_approval_and_a_frozen_data_set_have_their_codes(ask, book, no_records):
    with BudgetLedger.open("sqlite:///book.ledger", actor="olga") as ledger:
        ledger.policy("stays", approvals=1)
    assert ask(f"{FIT} {BOOK} --output new")[0] == 4
    assert ask(f"{BASE} {BOOK} --dry-run")[0] == 4
    with BudgetLedger.open("sqlite:///book.ledger", actor="olga") as ledger:
        ledger.checkpoint("stays", frozen=True, reason="a restore")
    code, _, err = ask(f"{FIT} {BOOK} --output new")
    assert code == 5 and "a restore" in err
    assert ask(f"{FIT} {BOOK} --output new".replace("book", "none"))[0] == 6


def test_size_decides_by_declared_rows_alone(good, monkeypatch):
    monkeypatch.setattr(tables, "MOST_CELLS", 100)
    out = good(f"{BASE} --dry-run --json")
    assert json.loads(out)["result"]["streamed"] is True
    out = good(f"{BASE} --dry-run --json --rows 3")
    assert json.loads(out)["result"]["streamed"] is False
