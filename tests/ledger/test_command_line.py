"""``dpforest ledger``: every command on both stores, its JSON, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dpforest import BudgetLedger
from dpforest.ledger.command_line import COMMANDS
from dpforest.ledger.queue import SUPPORTED

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(HERE / "helpers.py")


@pytest.fixture
def here(tmp_path, monkeypatch, helpers):
    """A folder with a domain and plan files, and an environment that names a ledger in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPFOREST_LEDGER", "sqlite:///claims.ledger")
    monkeypatch.setenv("DPFOREST_ACTOR", "olga")
    helpers.DOMAIN.to_json("domain.json")
    helpers.charge("1/4", purpose="churn").to_json("churn.json")
    helpers.charge("1/4", purpose="another").to_json("other.json")
    helpers.charge("2").to_json("much.json")
    return tmp_path


@pytest.fixture
def first_words():
    """What every command of this file begins with."""
    return ["ledger"]


INIT = "init claims --domain domain.json --rho 1 --delta 1e-6 --owner olga --owner oscar"


def test_a_life_of_a_data_set_on_both_stores(good, url, monkeypatch, here):
    if url.startswith("postgresql"):
        monkeypatch.setenv("DPFOREST_LEDGER", url)
    assert "rho 1 of 1 is left" in good(INIT, "--approvals", "1", "--unit", "a person")
    assert "it fits; nothing was charged" in good("plan claims churn.json")
    request = good("request claims churn.json --as ana")
    assert request in good("status") and "0 of 1 approval" in good("status claims")
    good(f"approve claims {request}")
    good(f"revoke claims {request}")
    approved = good(f"approve claims {request} --as oscar")
    assert approved == "approved as entry 4: 'churn', rho 0.25, by 'ana'; 1 of 1 approval"
    reserve = good(f"reserve claims churn.json --request {request} --as ana")
    assert "rho 0.75 of 1 is left" in good("status claims") and reserve in good("status claims")
    given = good(f"void claims {reserve} --reason mistaken")
    assert given == "given back as entry 6: rho 0.25, reserved by 'ana'"
    assert "rho 1 of 1 is left" in good("status claims")
    kinds = [line.split()[2] for line in good("log claims").splitlines()]
    assert kinds == ["open", "request", "approve", "revoke", "approve", "reserve", "void"]
    assert reserve in good("log claims").splitlines()[5]  # the reserve's own ID, not its request's
    assert len(good("log claims --last 2").splitlines()) == 2
    good("verify")
    good("export export.json")
    good("page page.html")
    assert (here / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    monkeypatch.setenv("DPFOREST_LEDGER", "sqlite:///copy.ledger")
    assert good("import export.json") == "7 entries were added"
    good("backup backup.ledger")
    monkeypatch.setenv("DPFOREST_LEDGER", "sqlite:///backup.ledger")
    assert "nothing is missing" in good("recover claims --witness export.json")
    assert "agrees with the ledger at entry 6" in good("verify claims --witness export.json")


def test_a_fit_that_was_killed_is_settled_from_a_shell(ask, good, helpers):
    """It counted as one without a guarantee for ever, for whoever has no Python."""
    good(INIT)
    reserve = good("reserve claims churn.json")
    with helpers.ledger_at(Path("claims.ledger")) as ledger:
        ledger.start("claims", reserve)
    assert "1 unknown" in good("status claims")
    with pytest.raises(SystemExit, match="^2$"):  # how it ended must be said
        ask(f"settle claims {reserve}")
    code, _, err = ask(f"settle claims {reserve} --outcome failed --as ana")
    assert code == 2 and "must be an owner" in err
    said = good(f"settle claims {reserve} --outcome failed")
    assert said == "settled as entry 3: failed; all of it stays spent"
    status = good("status claims")
    assert "unknown" not in status and "rho 0.75 of 1 is left" in status
    code, _, err = ask(f"settle claims {reserve} --outcome failed")
    assert code == 2 and "given back, settled or never made" in err


def test_every_command_prints_one_json_object(good, here, monkeypatch, helpers):
    data = {}

    def get(line, *more):
        out = good(line, *more, "--json")
        data[line.split()[0]] = json.loads(out)
        return data[line.split()[0]]

    assert set(get(INIT)) == {"ledger", "url", "entry", "id", "hash", "status"}
    status = get("status")["data_sets"][0]
    assert status["cap"] == str(2**128) and status["figures"]["remaining"] == "1"
    assert get("plan claims churn.json")["granted"] is True
    assert get("plan claims much.json")["granted"] is False
    request = get("request claims churn.json --as ana")["request"]
    get(f"approve claims {request}")
    get(f"revoke claims {request}")
    held = get("reserve claims churn.json")
    assert get(f"void claims {held['reserve']} --token {held['token']}")["entry"] == 5
    begun = good("reserve claims other.json")
    with helpers.ledger_at(here / "claims.ledger") as ledger:
        ledger.start("claims", begun)
    done = get(f"settle claims {begun} --outcome done --guarantee holds")
    assert done["entry"] == 8
    assert [entry["number"] for entry in get("log claims")["entries"]] == [*range(9)]
    assert get("verify")["entries"] == {"claims": 9}
    assert get("export export.json")["entries"] == {"claims": 9}
    assert get("recover claims --witness export.json")["restored"] == 0
    get("backup backup.ledger")
    get("page page.html claims")
    monkeypatch.setenv("DPFOREST_LEDGER", "sqlite:///copy.ledger")
    assert get("import export.json")["entries"] == {"claims": 9}
    assert data.keys() == COMMANDS.keys()


def test_what_is_asked_for_goes_to_standard_output_alone(ask, good):
    good(INIT)
    code, out, err = ask("reserve claims churn.json")
    assert code == 0 and re.fullmatch(r"[0-9a-f-]{36}", out) and "--token" in err
    code, out, err = ask("reserve claims much.json")
    assert code == 3 and out == "" and "requested" in err


# -- exit codes -----------------------------------------------------------------------------------


def test_a_request_tells_owners_what_to_type(ask, good):
    good(INIT, "--approvals", "1")
    code, request, err = ask("request claims churn.json --as ana")
    assert code == 0 and f"dpforest ledger approve claims {request}" in err


def test_names_and_purposes_pass_for_nothing_else(ask, good, helpers):
    """What people wrote is in quotes, beside what the ledger says and in what is to be typed."""
    good(INIT, "--approvals", "1")
    with helpers.ledger_at(Path("claims.ledger"), actor="olga signed") as forged:
        forged.note("claims", "approved")
        charge = helpers.charge("1/4", purpose="x): rho 0, 1 of 1 approval")
        asked = forged.request("claims", charge)
        helpers.registered(forged, "a; reboot", owners=["olga"])
    assert "note       'olga signed' " in good("log claims").splitlines()[1]
    assert "('x): rho 0, 1 of 1 approval'): rho 0.25, 0 of 1 approval" in good("status claims")
    assert ": 'x): rho 0, 1 of 1 approval', rho 0.25, by 'olga signed'" in good(
        f"approve claims {asked.id} --as oscar"
    )
    plan = ask("request", "a; reboot", "churn.json")
    assert "dpforest ledger approve 'a; reboot' " in plan[2]
    assert 'accountant("a; reboot"' not in ask("reserve", "a; reboot", "churn.json")[2]


def test_one_is_no_plural(good):
    good(INIT)
    assert good("verify").startswith("data set 'claims': 1 entry is whole")
    assert good("export one.json") == "one.json: 1 entry was written"


def test_a_report_of_another_ledger_is_bad_input(ask, good, load_helper, helpers):
    good(INIT)
    recovery = load_helper(HERE / "test_recovery.py")
    other = helpers.registered(helpers.ledger_at(Path("other.ledger").absolute()))
    Path("report.json").write_text(recovery.fit(helpers, other, "1/4"), "utf-8")
    other.close()
    code, _, err = ask("verify --witness report.json")
    assert code == 2 and "is of another ledger" in err and "write an amount off" not in err


def test_3_for_a_refused_budget(ask, good):
    good(INIT)
    for _ in range(4):
        good("reserve claims churn.json")
    code, _, err = ask("reserve claims churn.json")
    assert code == 3 and err.startswith("dpforest ledger reserve: data set 'claims': requested")
    assert "rho 0 of 1 is left" in good("status")


def test_4_for_a_missing_approval(ask, good):
    good(INIT, "--approvals", "1")
    assert ask("reserve claims churn.json")[0] == 4
    request = good("request claims churn.json --as ana")
    assert ask(f"reserve claims churn.json --as ana --request {request}")[0] == 4
    good(f"approve claims {request}")
    code, _, err = ask(f"reserve claims other.json --as ana --request {request}")
    assert code == 4 and "is of another plan: purpose" in err
    good(f"reserve claims churn.json --as ana --request {request}")
    assert ask(f"reserve claims churn.json --as ana --request {request}")[0] in (2, 4)


def test_5_for_a_damaged_a_frozen_and_a_ledger_that_is_behind(ask, good, here):
    good(INIT)
    good("backup old.ledger")
    good("reserve claims churn.json")
    good("export export.json")
    code, _, err = ask("verify --ledger sqlite:///old.ledger --witness export.json")
    assert code == 5 and "the ledger ends at entry 0" in err
    with sqlite3.connect("claims.ledger") as connection:
        connection.execute("UPDATE heads SET number = 7")
    connection.close()
    for command in ("status", "verify", "reserve claims churn.json", "export e.json", "page p"):
        assert ask(command)[0] == 5, command
    assert not (here / "e.json").exists() and not (here / "p").exists()


def test_5_while_it_waits_to_be_recovered(ask, good, load_helper, helpers, here):
    recovery = load_helper(HERE / "test_recovery.py")
    ledger = helpers.registered(helpers.ledger_at(Path("claims.ledger")))
    good("backup old.ledger")
    recovery.fit(helpers, ledger, "1/4")
    Path("report.json").write_text(recovery.fit(helpers, ledger, "1/8"), "utf-8")
    ledger.close()
    shutil.move("old.ledger", "claims.ledger")
    code, out, err = ask("recover claims --witness report.json")
    assert code == 5 and out == "" and "rho 0.25 is missing" in err
    assert ask("reserve claims churn.json")[0] == 5
    assert ask("recover claims --write-off 1/8 --reason lost")[0] == 2
    assert "0.25 was written off" in good("recover claims --write-off 0.25 --reason lost")
    good("reserve claims churn.json")


@pytest.fixture
def lost_log(load_helper, helpers, here):
    """Copies the file of a ledger alone, of which each data set lacks a fit; a report has one."""
    if not SUPPORTED:
        pytest.skip("needs locks that only Linux has")
    recovery = load_helper(HERE / "test_recovery.py")

    def made(others: list[str]) -> None:
        ledger = helpers.registered(helpers.ledger_at(Path("whole.ledger")))
        helpers.registered(ledger, "visits", owners=others)
        recovery.fit(helpers, ledger, "1/4")
        ledger.close()
        with helpers.ledger_at(Path("whole.ledger")) as ledger:
            Path("report.json").write_text(recovery.fit(helpers, ledger, "1/8"), "utf-8")
            shutil.copy("whole.ledger", "claims.ledger")

    return made


def test_a_file_that_lost_its_log_is_recovered_and_all_of_it_waits(ask, good, lost_log):
    lost_log(["olga", "oscar"])
    code, _, err = ask("recover claims --witness report.json")
    assert code == 5 and "its -wal is missing" in err and "recover DATA_SET --incomplete" in err
    code, _, err = ask("recover claims --incomplete --witness report.json")
    assert code == 5 and "no report shows which fits ran here" in err
    assert "its -wal is lost, so its last entries may be missing" in good("log claims")
    assert "its -wal is lost, so its last entries may be missing" in good("status visits")
    assert ask("reserve visits churn.json")[0] == ask("reserve claims churn.json")[0] == 5
    said = good("recover claims --witness report.json --write-off 0", "--reason", "none ran since")
    assert "it goes on" in said and "rho 0.625 of 1 is left" in good("status claims")
    assert ask("reserve visits churn.json")[0] == 5
    good("recover visits --write-off 0", "--reason", "none ran since")
    good("reserve visits churn.json")


@pytest.mark.parametrize("by", ["an interrupt", "a kill"])
def test_a_recovery_that_ends_between_two_freezes_is_begun_again(
    good, ask, lost_log, monkeypatch, by
):
    lost_log(["olga", "oscar"])
    again = "recover claims --incomplete --write-off 0 --reason none"
    write, frozen = BudgetLedger.write, []

    def ended(ledger, name, *given):
        if frozen:
            for ending in ("", "-wal"):  # what a kill leaves
                shutil.copy(f"claims.ledger{ending}", f"killed.ledger{ending}")
            raise KeyboardInterrupt
        frozen.append(name)
        return write(ledger, name, *given)

    with monkeypatch.context() as patch:
        patch.setattr(BudgetLedger, "write", ended)
        with suppress(KeyboardInterrupt, SystemExit):
            ask(again)
    if by == "a kill":
        for ending in ("", "-wal"):
            shutil.move(f"killed.ledger{ending}", f"claims.ledger{ending}")
    assert frozen == ["claims"]
    assert "its -wal is missing" in ask("status")[2]
    good(*again.rsplit(" ", 1))
    assert "its -wal is lost" in good("status visits")
    assert ask("reserve visits churn.json")[0] == 5
    good("status claims")


def test_whoever_may_not_freeze_all_of_a_file_freezes_nothing(ask, lost_log):
    lost_log(["oscar"])
    for _ in range(2):
        code, _, err = ask("recover claims --incomplete --write-off 0 --reason none")
        assert code == 2 and "must be an owner of data set 'visits'" in err
    assert "its -wal is missing" in ask("status")[2]


def test_a_whole_file_is_recovered_as_ever(good, here):
    good(INIT)
    assert "nothing is missing" in good("recover claims --incomplete")


def test_6_for_an_unreachable_store(ask, here):
    code, _, err = ask("status")
    assert code == 6 and "there is no ledger at this place" in err
    assert "Create it once: `dpforest ledger init`" in err
    assert ask("status --ledger sqlite:///absent/claims.ledger")[0] == 6
    pytest.importorskip("psycopg")
    assert ask("status --ledger postgresql://nobody@127.0.0.1:1/none")[0] == 6


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("status absent", "data_set='absent': is no data set of this ledger"),
        ("status --ledger file.ledger", "url='file.ledger': must begin with sqlite:/// or post"),
        ("status --ledger host=here,password=secret", "url='…': must begin with sqlite:///"),
        ("status --ledger mysql://me:secret@here", "url='mysql://…': must begin with"),
        ("init claims --rho 1 --delta 1e-6", "--domain: must be given"),
        (INIT, "is registered already"),
        ("init b --domain domain.json --epsilon 2", "--delta 1e-6, or --currency epsilon"),
        ("init b --domain domain.json --delta 1e-6", "--epsilon: must be given, or --rho"),
        ("init b --domain domain.json", "--epsilon: must be given, or --rho"),
        (INIT.replace("claims", "b") + " --epsilon 1", "and not both"),
        (INIT.replace("claims", "b").replace("1e-6", "much"), "delta='much'"),
        (INIT.replace("claims", "b").replace("domain.json", "none.json"), "there is none"),
        (INIT.replace("claims", "b") + " --approvals 2", "less than the number of owners"),
        ("log claims --last 0", "must be 1 or more"),
        ("plan claims domain.json", "plan='domain.json': cannot be read as a plan file: it is no"),
        ("plan claims absent.json", "there is none"),
        ("approve claims 00000000-0000-0000-0000-000000000000", "is no open request"),
        ("void claims 00000000-0000-0000-0000-000000000000", "is no reserve"),
        ("approve claims 7", "Give the id that ledger.request(...) returned"),
        ("revoke claims 7", "Give the id that ledger.request(...) returned"),
        (
            "void claims 00000000-0000-0000-0000-000000000000 --token 1c",
            "token=None: is not 64 hexadecimal digits",
        ),
        ("void claims 7", "Give the id that ledger.reserve(...) returned"),
        ("recover claims --witness domain.json", "neither a privacy report nor an export"),
        ("recover claims --write-off 1", "reason='': must be given"),
        ("import domain.json", "cannot be read as an export"),
        ("export absent/export.json", "cannot be written"),
        ("page absent/page.html", "cannot be written"),
        ("verify --key absent.key", "cannot be read"),
    ],
)
def test_2_for_bad_input_that_charges_nothing(ask, good, line, said):
    good(INIT)
    code, out, err = ask(line)
    assert code == 2 and out == "" and said in err
    assert good("log claims").count("\n") == 0


@pytest.mark.parametrize("command", ["export", "page", "backup", "import"])
def test_a_dash_is_no_file(ask, good, command, here, capsys):
    good(INIT)
    with pytest.raises(SystemExit) as left:
        ask(f"{command} -")
    assert left.value.code == 2
    assert "must be the name of a file" in capsys.readouterr().err
    assert not (here / "-").exists()


def test_a_plan_for_another_domain_is_refused(ask, good, helpers):
    good(INIT)
    domain = helpers.DOMAIN.model_copy(update={"features": helpers.DOMAIN.features[:1]})
    helpers.charge("1/4", domain=domain).to_json("strange.json")
    for command in ("plan", "request", "reserve"):
        code, _, err = ask(f"{command} claims strange.json")
        assert code == 2 and "is not the domain that the data set was registered with" in err


def test_no_ledger_is_guessed(ask, monkeypatch):
    monkeypatch.delenv("DPFOREST_LEDGER")
    code, _, err = ask("status")
    assert code == 2 and "--ledger: must name a ledger" in err


def test_a_password_is_never_shown(ask, database, monkeypatch):
    password = urlsplit(database).password
    assert password
    monkeypatch.setenv("DPFOREST_LEDGER", database)
    said = [ask("init"), ask("status --json"), ask("status absent"), ask("backup x")]
    wrong = (database.replace("127.0.0.1:", "127.0.0.1:1"), f"{database}?no=such", f"{database}_")
    said += [ask("status", "--ledger", url) for url in wrong]
    assert [code for code, _, _ in said] == [0, 0, 2, 2, 6, 2, 6]
    assert password not in str(said)


def test_entries_are_signed_with_a_key(good, ask, here):
    pytest.importorskip("cryptography")
    from dpforest.ledger import Signer

    signer = Signer.new()
    signer.write("olga.key")
    good(f"init claims --domain domain.json --rho 1 --delta 1e-6 --owner olga={signer.public_key}"
         " --key olga.key")  # fmt: skip
    assert ask("reserve claims churn.json")[0] == 2
    good("reserve claims churn.json --key olga.key")
    assert json.loads(good("verify --json"))["signed"] == {"claims": 2}


def test_the_log_says_what_changed_and_how_fits_ended(good, helpers, here):
    from dpforest.ledger.bodies import SettleBody

    good(INIT)
    with helpers.ledger_at(Path("claims.ledger")) as ledger:
        ledger.policy("claims", approvals=1, quotas={"ana": "0.04"}, reason="two look")
        ledger.policy("claims", approvals=0)
        reserve = ledger.reserve("claims", helpers.charge("0.1")).id
        ledger.start("claims", reserve)
        body = SettleBody(reserve=reserve, part=0, outcome="done", guarantee="void")
        ledger.write("claims", body)
    lines = good("log claims").splitlines()
    assert lines[1].endswith("quota of 'ana' 0.04; approvals that a fit needs: 1: two look")
    assert lines[2].endswith("approvals that a fit needs: 0")
    assert lines[3].endswith(f"{reserve} 0.1")
    assert lines[5].endswith("done (its own guarantee is void)")


def test_the_login_is_the_actor_where_nobody_says_otherwise(good, monkeypatch):
    monkeypatch.delenv("DPFOREST_ACTOR")
    monkeypatch.setattr("getpass.getuser", lambda: "lara")
    good("init claims --domain domain.json --rho 1 --delta 1e-6")
    assert json.loads(good("status --json"))["data_sets"][0]["owners"] == {"lara": ""}


def test_a_user_without_a_name_has_to_give_one(ask, monkeypatch):
    def nobody():
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.delenv("DPFOREST_ACTOR")
    monkeypatch.setattr("getpass.getuser", nobody)
    code, _, err = ask("init")
    assert code == 2 and "--as: must name who asks" in err


def test_the_whole_program_from_a_shell(here):
    command = [sys.executable, "-m", "dpforest", "ledger", "status", "--json"]
    # The package of these tests, from a folder that is not its own.
    env = os.environ | {"PYTHONPATH": str(HERE.parents[1])}
    run = subprocess.run(command, capture_output=True, text=True, env=env)
    assert run.returncode == 6 and run.stdout == "" and "Traceback" not in run.stderr


def test_a_plan_says_what_it_waits_for(good, here, helpers):
    good(INIT)
    with helpers.ledger_at(here / "claims.ledger") as ledger:
        assert "need" not in good("plan claims churn.json")
        ledger.policy("claims", approvals=1)
        assert good("plan claims churn.json").rstrip().endswith("; needs 1 approval")
        ledger.checkpoint("claims", frozen=True, reason="a restore")
        assert "waits, since the data set is frozen (a restore)" in good("plan claims churn.json")


def run_in_shell(words, redirected):
    """A ledger command of the shell whose streams are redirected."""
    line = f"{sys.executable} -m dpforest ledger {words} {redirected}"
    return subprocess.run(line, shell=True, capture_output=True, text=True)


def test_nobody_has_to_read_a_log_to_its_end(good, here):
    good(INIT)
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "dpforest", "ledger", "log", "claims"]
    run = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert run.returncode == 141 and run.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is full")
def test_a_reserve_whose_words_are_lost_says_that_it_stands(good, here):
    good(INIT)
    run = run_in_shell("reserve claims churn.json", "> /dev/full")
    assert run.returncode == 2 and "Traceback" not in run.stderr
    assert "what the command did otherwise stands" in run.stderr
    assert "rho 0.75 of 1 is left" in good("status claims")


@pytest.mark.parametrize("redirected", ["2>&-", "2> /dev/full"])
def test_a_refusal_that_nobody_hears_has_its_code(here, redirected):
    if "full" in redirected and not os.path.exists("/dev/full"):
        pytest.skip("a device that is full")
    run = run_in_shell("status", redirected)
    assert run.returncode == 6 and run.stdout == ""
