"""Every block of docs/ledger.md runs: Python, shell, and SQL on a real PostgreSQL."""

from __future__ import annotations

import importlib.util
import os
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpforest import BudgetExceeded, BudgetLedger, PrivateForestClassifier
from dpforest.__main__ import main
from dpforest.datasets import load_adult
from dpforest.ledger.command_line import COMMANDS, EXIT_CODES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
ON_POSTGRESQL = "PostgreSQL with roles"
KINDS = {"python", "sh", "sql"}


def sections():
    """Title and text of each section of the page."""
    parts = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(text):
    """Kind and content of each block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def loaded(path):
    """A module of helpers."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Shell = loaded(ROOT / "tests" / "shell.py").Shell


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What the shell said, and what Python was left with, after all blocks but PostgreSQL's."""
    for package in ("cryptography", "jinja2", "dp_accounting"):  # its figures are of the last
        pytest.importorskip(package)
    if not Path("/bin/bash").exists():
        pytest.skip("the page's commands are for bash")
    folder = tmp_path_factory.mktemp("documented")
    shell, names = Shell(folder), {"__name__": "documented"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for title, text in sections().items():
            for kind, block in blocks(text) if title != ON_POSTGRESQL else []:
                if kind == "python":
                    exec(compile(block, f"docs/ledger.md, {title}", "exec"), names)
                else:
                    shell.run(block)
    finally:
        os.chdir(before)
        shell.close()
    return folder, shell.said, names


def test_every_block_is_of_a_kind_that_runs():
    found = [kind for text in sections().values() for kind, _ in blocks(text)]
    assert set(found) == KINDS and PAGE.count("```") == 2 * len(found)
    elsewhere = [text for title, text in sections().items() if title != ON_POSTGRESQL]
    assert all(kind != "sql" for text in elsewhere for kind, _ in blocks(text))


def test_the_page_does_what_it_says(ran):
    folder, said, names = ran
    assert {path.name for path in folder.iterdir()} >= {
        "claims.ledger", "moved.ledger", "old.ledger", "claims.html", "claims.json", "olga.key",
    }  # fmt: skip
    assert "refused with code 4" in said and "behind: code 5" in said
    assert "1 lost reserve counts again" in said
    assert "late.json: names entry" in said and "lost chain, which is accounted for" in said
    assert "it fits; nothing was charged" in said and "given back" in said
    assert names["report"].basis.ledger.data_set == "claims"
    assert names["campaign"].left == 1
    with BudgetLedger.open(f"sqlite:///{folder}/claims.ledger", actor="olga") as book:
        begun = {entry.body.reserve for entry in book.log("claims") if entry.kind == "start"}
    assert (folder / "reserve.txt").read_text().strip() in begun
    assert names["ten"].fits == 10 and names["ten"].cap == (Fraction("1.66"), Fraction(1, 10**5))
    assert (folder / "olga.key").stat().st_mode & 0o77 == 0


def test_a_fit_of_the_whole_cap_is_refused_with_the_epsilon_that_the_page_names(tmp_path):
    pytest.importorskip("dp_accounting")
    domain = load_adult().domain
    with BudgetLedger.open(f"sqlite:///{tmp_path}/whole.ledger", actor="o", create=True) as book:
        book.register("whole", domain=domain, epsilon=1, delta=1e-6)
        whole = PrivateForestClassifier(
            epsilon=1, delta=1e-6, domain=domain, accountant=book.accountant("whole")
        )
        with pytest.raises(BudgetExceeded) as refusal:
            whole.fit([], [])  # refused before it would be looked at
    named = re.findall(r"The refusal names an ε to try, here ([\d.]+);", PAGE)
    assert [f"try epsilon = {figure}:" in str(refusal.value) for figure in named] == [True]


def test_commands_and_codes_in_the_tables_are_those_of_the_program():
    table = sections()["Command line"]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert {word for row in rows for word in re.findall(r"`([a-z]+)`", row)} == COMMANDS.keys()
    codes = {int(code) for code in re.findall(r"^\| (\d) \|", table, flags=re.MULTILINE)}
    assert codes == {0, 2} | {code for _, code in EXIT_CODES}


def test_every_option_on_the_page_is_there(capsys):
    known = ""
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main(["ledger", command, "--help"])
        known += capsys.readouterr().out
    written = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - {"--help"}
    assert written and {option for option in written if option not in known} == set()


# -- PostgreSQL -----------------------------------------------------------------------------------


class Hospital:
    """The set-up of the page, on a server of the tests' own."""

    def __init__(self, cluster, folder):
        import psycopg

        self.psycopg, self.cluster = psycopg, cluster
        self.shell, self.names = Shell(folder), {}
        self.blocks = iter(blocks(sections()[ON_POSTGRESQL]))
        with psycopg.connect(cluster.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE hospital")
        exec("from dpforest import BudgetLedger, PrivateForestClassifier", self.names)

    def url(self, role):
        return self.cluster.url("hospital", role, "sesame")

    def rooted(self):
        return self.psycopg.connect(self.cluster.url("hospital"), autocommit=True)

    def next(self, kind, role=""):
        """Run the next block of the page, as a role where it is SQL."""
        found, text = next(self.blocks)
        assert found == kind
        for user in ("keeper", "service"):
            text = text.replace(f"postgresql://{user}@db.example/hospital", self.url(user))
        if kind == "sql":
            url = self.url(role) if role else self.cluster.url("hospital")
            with self.psycopg.connect(url, autocommit=True) as connection:
                return connection.execute(text)
        if kind == "sh":
            return self.shell.run(text)
        self.last = text
        return self.again()

    def again(self):
        """Run the last block of Python once more."""
        return exec(compile(self.last, "docs/ledger.md, PostgreSQL", "exec"), self.names)

    def refuses(self, role, statement):
        """Say if the database does not let a role do something."""
        with self.psycopg.connect(self.url(role), autocommit=True) as connection:
            try:
                connection.execute(statement)
            except self.psycopg.errors.InsufficientPrivilege:
                return True
        return False


@pytest.fixture(scope="module")
def hospital(cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hospital")
    made = Hospital(cluster, folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        made.next("sql")
        with made.rooted() as root:
            for role in ("keeper", "service", "ana"):
                root.execute(f"ALTER ROLE {role} PASSWORD 'sesame'")
            root.execute(
                "INSERT INTO records.claims SELECT 20 + i % 60, 10 + i % 50, "
                "CASE WHEN i % 60 > 30 THEN 'high' ELSE 'low' END FROM generate_series(1, 2000) i"
            )
        made.next("python")
        made.next("sh")
        made.next("sql", "keeper")
        made.next("sql", "ana")
        made.next("python")
        yield made
    finally:
        os.chdir(before)
        made.shell.close()
        with made.psycopg.connect(cluster.url(), autocommit=True) as root:
            root.execute("DROP DATABASE IF EXISTS hospital (FORCE)")
            root.execute("DROP ROLE IF EXISTS ana, service, keeper, analysts")


def test_the_blocks_on_postgresql_have_run(hospital):
    assert next(hospital.blocks, None) is None


def test_an_order_of_an_analyst_is_a_fit_in_the_ledger(hospital):
    from dpforest import BudgetLedger, verify_report

    with hospital.psycopg.connect(hospital.url("ana")) as connection:
        ((analyst, refusal, report, model),) = connection.execute(
            "SELECT analyst, refusal, report, model FROM desk.orders"
        ).fetchall()
    assert analyst == "ana" and refusal is None
    with BudgetLedger.open(hospital.url("keeper"), actor="keeper") as ledger:
        assert ledger.verify([report]).findings[0].verdict == "agrees"
        kinds = [(entry.kind.value, entry.actor) for entry in ledger.log("claims")]
        assert verify_report(report, model, ledger=ledger)
    assert kinds == [("open", "keeper"), *((k, "ana") for k in ("reserve", "start", "settle"))]


def test_an_order_beyond_the_cap_is_refused_in_words(hospital):
    refusal, report, model = hospital.names["answered"]("ana", 50, "too much")
    assert "data set 'claims': requested" in refusal and report is None and model is None


def test_an_order_that_ends_the_service_is_begun_once(hospital, monkeypatch):
    """Else each run of the service would spend its budget anew."""
    begun = []

    class Deadly:
        def __init__(self, **parameters):
            begun.append(parameters["epsilon"])
            raise SystemExit

    monkeypatch.setitem(hospital.names, "PrivateForestClassifier", Deadly)
    with hospital.psycopg.connect(hospital.url("ana"), autocommit=True) as ana:
        ana.execute("SELECT desk.order_fit(0.125, 'one'), desk.order_fit(0.25, 'two')")
        with pytest.raises(SystemExit):
            hospital.again()
        with pytest.raises(SystemExit):
            hospital.again()
        hospital.again()
        answers = ana.execute("SELECT refusal FROM desk.orders WHERE epsilon < 0.3").fetchall()
    assert begun == ["0.125", "0.25"]
    assert answers == [("begun, and not answered: order anew",)] * 2


NOT_FOR_ANALYSTS = [
    "SELECT * FROM records.claims",
    "SELECT * FROM dpforest_ledger.entries",
    "SELECT * FROM dpforest_ledger.heads",
    "INSERT INTO desk.orders (analyst, epsilon, purpose) VALUES ('oscar', 1, 'in his name')",
    "UPDATE desk.orders SET epsilon = 9",
    "DELETE FROM desk.orders",
    "CREATE TABLE public.copy (a integer)",
]
NOT_FOR_THE_SERVICE = [
    "UPDATE dpforest_ledger.entries SET text = ''",
    "DELETE FROM dpforest_ledger.entries",
    "TRUNCATE dpforest_ledger.entries",
    "DELETE FROM dpforest_ledger.heads",
    "UPDATE dpforest_ledger.ledger SET id = ''",
    "DROP TABLE dpforest_ledger.entries",
    "ALTER TABLE dpforest_ledger.entries DISABLE TRIGGER ALL",
    "INSERT INTO records.claims VALUES (20, 20, 'low')",
    "SELECT desk.order_fit(1, 'for nobody')",
    "UPDATE desk.orders SET analyst = 'oscar'",
]


@pytest.mark.parametrize("statement", NOT_FOR_ANALYSTS)
def test_analysts_read_neither_records_nor_ledger(hospital, statement):
    assert hospital.refuses("ana", statement)


@pytest.mark.parametrize("statement", NOT_FOR_THE_SERVICE)
def test_the_service_adds_entries_and_changes_none(hospital, statement):
    assert hospital.refuses("service", statement)


def test_the_one_function_notes_who_is_connected(hospital):
    with hospital.psycopg.connect(hospital.url("ana"), autocommit=True) as connection:
        (order,) = connection.execute("SELECT desk.order_fit(0.1, 'mine')").fetchone()
        found = connection.execute("SELECT analyst FROM desk.orders WHERE id = %s", (order,))
        assert found.fetchone() == ("ana",)
