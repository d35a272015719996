"""Bad input of every method: an error of ours that names the parameter, and nothing is charged."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetExceeded, BudgetLedger, Domain, PrivateForestClassifier
from dpforest.exceptions import DPForestError, ParameterError
from dpforest.ledger.campaign import priced_forests
from dpforest.ledger.core import LedgerCore
from dpforest.ledger.pricing import charge_of

PRICED = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=4000)

NOBODY = "00000000-0000-4000-8000-000000000001"
NAMES = ["", " x", "x\n", "x" * 101, None, 7, b"x", "\ud800", ["x"]]
IDS = ["", "x", "00000000-0000-4000-8000-00000000000G", None, 7, [NOBODY]]
TEXTS = ["x\ny", "x" * 1001, None, 7, "\ud800"]
NUMBERS = [0, -1, "nan", "inf", float("inf"), float("nan"), True, "x", None, 1j, np.ones(2)]


def cases():
    """Method, parameter, bad values, and the other arguments."""
    facts = {"data_set": "visits", "epsilon": 1, "delta": "1e-6"}
    yield "register", "data_set", NAMES, facts
    yield "register", "domain", [None, "x", {"age": (1, 2)}], facts
    yield "register", "epsilon", NUMBERS, facts
    yield "register", "delta", [*NUMBERS, 1, 2], facts
    yield "register", "epsilon", NUMBERS, {**facts, "currency": "epsilon", "delta": 0}
    yield "register", "delta", ["1e-6", True, "x"], {**facts, "currency": "epsilon"}
    yield "register", "rho", [0, -1, "inf", "x", True], {**facts, "epsilon": None}
    yield "register", "rho", [1], {**facts, "currency": "epsilon", "delta": 0}
    yield "register", "currency", ["delta", "", None, 1], facts
    yield "register", "unit", TEXTS, facts
    yield "register", "max_records_per_unit", [0, -1, 1.5, True, None, 10**10], facts
    yield "register", "max_blocks_per_unit", [0, -1, 1.5, True, "2", 10**10], facts
    yield "register", "approvals", [-1, 1, 1.5, True, "1", None, 10**10], facts
    owners = [{}, [], "olga", 7, {"olga": "x"}, {"": ""}, [""], {"o": None}, {7: ""}, [7]]
    yield "register", "owners", owners, facts
    yield "reserve", "data_set", [*NAMES, "visits"], {}
    yield "reserve", "charge", [None, {}, "x", 1], {}
    yield "reserve", "request", ["x", NOBODY, 7, None], {}
    yield "start", "data_set", [*NAMES, "visits"], {}
    yield "start", "reserve", [*IDS, NOBODY], {}
    yield "start", "part", [-1, 1, 10**10, 1.5, "0", None, True], {}
    yield "settle", "reserve", [*IDS, NOBODY], {}
    yield "settle", "part", [-1, 1, 1.5, "0", None, True], {}
    yield "settle", "outcome", ["", "well", None, 1], {}
    yield "void", "reserve", [*IDS, NOBODY], {}
    yield "void", "token", ["x", "ab" * 31, "ab" * 32, 7, None], {}
    yield "void", "reason", [*TEXTS, ""], {}
    yield "request", "charge", [None, {}, "x"], {}
    yield "approve", "request", [*IDS, NOBODY], {}
    yield "approve", "charge", ["x", "ab" * 32, 7, ""], {}
    yield "revoke", "request", [*IDS, NOBODY], {}
    yield "revoke", "reason", TEXTS, {}
    for name in ("settle", "charge_elsewhere"):
        yield name, "guarantee", ["", "unknown", "VOID", 7, True, ["void"]], {}
    yield "policy", "cap", [-1, 2, "0.01", "x", True, "inf"], {}
    yield "policy", "block_caps", [{"2026": 1}, {"": 1}, 7, {"2026": None}, {"2026": "x"}], {}
    yield "policy", "quotas", [{"": 1}, {"ana": -1}, {"ana": "x"}, 7, {7: 1}], {}
    yield "policy", "approvals", [-1, 2, 1.5, True, "1", 10**10], {}
    yield "policy", "add_owners", [{"": ""}, {"pia": "x"}, {"pia": None}, 7], {}
    yield "policy", "remove_owners", [["ana"], ["olga", "oscar"], [7], [""], "olga", 7], {}
    yield "policy", "reason", TEXTS, {}
    yield "add_block", "name", NAMES, {}
    yield "add_block", "cap", [0, -1, "x", True, None, "inf"], {}
    yield "add_block", "by", ["", "time", None, 1, "arrival"], {}
    yield "charge_elsewhere", "units", [0, -1, 1.5, "x", None, True, 10**99], {}
    yield "charge_elsewhere", "source", [*TEXTS, ""], {}
    yield "charge_elsewhere", "witness", ["x", "AB" * 32, 7, None], {}
    yield "charge_elsewhere", "blocks", [["2026"], [7], "2026", 7], {}
    yield "charge_elsewhere", "write_off", ["x", 2, None], {}
    yield "charge_elsewhere", "reserve", ["x", 7, None, [NOBODY]], {}
    for name in ("charge_elsewhere", "checkpoint"):
        yield name, "after", ["x", "ab" * 32, 7], {}
    yield "checkpoint", "heard", [["x"], [7], "ab" * 32, 7, None], {}
    for units in ("needed", "witnessed"):
        yield "checkpoint", units, [-1, 1.5, "x", None, True, 10**99], {}
    yield "checkpoint", "frozen", ["x", None, 2, False], {}
    yield "checkpoint", "reason", [*TEXTS, ""], {}
    yield "note", "text", [*TEXTS, ""], {}
    for name in WRITES:
        if name != "register":
            yield name, "entry_id", [i for i in IDS if i is not None], {}
    for name in ("status", "log", "chain"):
        yield name, "data_set", [*NAMES, "visits"], {}
    for name in ("find", "as_written"):
        yield name, "entry_id", IDS, {}
    yield "as_written", "entry_id", [NOBODY], {}
    yield "as_written", "data_set", [*NAMES, "visits"], {}
    yield "room", "data_set", [*NAMES, "visits"], {}
    yield "room", "blocks", [["2026"], [7], "2026", 7], {}


#: Arguments that are right, and methods that write an entry.
WRITES = {
    "register": lambda h, ids: {"data_set": "visits", "domain": h.DOMAIN},
    "reserve": lambda h, ids: {"charge": h.charge("0.1")},
    "start": lambda h, ids: {"reserve": ids["held"]},
    "settle": lambda h, ids: {"reserve": ids["begun"]},
    "void": lambda h, ids: {"reserve": ids["held"], "reason": "gone"},
    "request": lambda h, ids: {"charge": h.charge("0.1")},
    "approve": lambda h, ids: {"request": ids["request"]},
    "revoke": lambda h, ids: {"request": ids["own"]},
    "policy": lambda h, ids: {},
    "add_block": lambda h, ids: {"name": "2026", "cap": "0.5", "by": "unit"},
    "charge_elsewhere": lambda h, ids: {"units": 1, "source": "x"},
    "checkpoint": lambda h, ids: {"frozen": True, "reason": "x"},
    "note": lambda h, ids: {"text": "x"},
}
READS = {
    "status": lambda h, ids: {},
    "log": lambda h, ids: {},
    "chain": lambda h, ids: {},
    "room": lambda h, ids: {},
    "find": lambda h, ids: {"entry_id": NOBODY},
    "as_written": lambda h, ids: {"entry_id": ids["held"]},
}
#: What takes no argument, or is no entry.
OTHERS = {
    "open", "create", "close", "id", "url", "actor", "data_sets", "backup", "write",
    "check_written",
}  # fmt: skip


@pytest.fixture
def ids(file_ledger, helpers):
    """A reserve that is held, one that has begun, and two requests."""
    held = file_ledger.reserve("claims", helpers.charge("0.1"))
    begun = file_ledger.reserve("claims", helpers.charge("0.1"))
    file_ledger.start("claims", begun.id)
    own = file_ledger.request("claims", helpers.charge("0.1"))
    with helpers.ledger_at(file_ledger.url, actor="ana") as other:
        request = other.request("claims", helpers.charge("0.1"))
    return {"held": held.id, "begun": begun.id, "own": own.id, "request": request.id}


def test_every_method_is_gone_through():
    public = {name for name, _ in inspect.getmembers(LedgerCore) if not name.startswith("_")}
    assert public == WRITES.keys() | READS.keys() | OTHERS
    tried = {(method, parameter) for method, parameter, _, _ in cases()}
    for method in (*WRITES, *READS):
        given = set(inspect.signature(getattr(LedgerCore, method)).parameters)
        given -= {"self", "start", "end"}
        if method != "register":
            tried |= {(method, "data_set"), (method, "entry_id")}
        lacking = given - {"entry_id"} - {p for m, p in tried if m == method}
        assert not lacking, f"{method}: {lacking}"


CASES = list(cases())


@pytest.mark.parametrize(
    ("method", "parameter", "values", "others"),
    CASES,
    ids=[f"{n}-{method}-{parameter}" for n, (method, parameter, _, _) in enumerate(CASES)],
)
def test_bad_input(method, parameter, values, others, file_ledger, helpers, ids):
    right = {"data_set": "claims"} if method != "find" else {}
    right |= (WRITES | READS)[method](helpers, ids) | others
    before = file_ledger._store.rows("claims")
    for value in values:
        with pytest.raises(DPForestError) as caught:
            getattr(file_ledger, method)(**(right | {parameter: value}))
        error = caught.value
        assert isinstance(error, (ParameterError, ValueError))
        said = f"{getattr(error, 'parameter', '')} {error}"
        assert named(parameter, said), f"{value!r}: {error}"
        assert getattr(error, "repair", "x")
        assert file_ledger._store.rows("claims") == before
        assert file_ledger.data_sets == ("claims",)
    file_ledger.chain("claims")


#: Words that name a parameter beside its own name.
ALSO = {"rho": ("epsilon",), "charge": ("units",), "cap": ("what is spent",)}


def named(parameter, said):
    return any(word in said for word in (parameter, *ALSO.get(parameter, ())))


@pytest.mark.parametrize("method", [*WRITES, *READS])
def test_the_same_with_right_input(method, file_ledger, helpers, ids):
    right = {"data_set": "claims"} if method != "find" else {}
    right |= (WRITES | READS)[method](helpers, ids)
    if method == "register":
        right |= {"epsilon": 1, "delta": "1e-6"}
    getattr(file_ledger, method)(**right)


@pytest.mark.parametrize("actor", [name for name in NAMES])
def test_an_actor_without_a_name(actor, tmp_path):
    with pytest.raises(ParameterError) as caught:
        LedgerCore.open(f"sqlite:///{tmp_path}/x", actor=actor, create=True)
    assert caught.value.parameter == "actor" and not list(tmp_path.iterdir())


def test_a_signer_that_is_none(tmp_path):
    with pytest.raises(ParameterError) as caught:
        LedgerCore.open(f"sqlite:///{tmp_path}/x", actor="ana", create=True, signer="ab" * 32)
    assert caught.value.parameter == "signer" and not list(tmp_path.iterdir())


def test_a_cap_in_numbers_of_every_kind(file_ledger, helpers):
    file_ledger.policy("claims", cap=np.float64(0.75))
    file_ledger.policy("claims", cap=Fraction(2, 3), quotas={"ana": "1/3"})
    assert file_ledger.status("claims").cap == 2**129 // 3


#: What is said with a fit, and what may not be.
SAID = {
    "purpose": TEXTS,
    "blocks": [[""], [7], "2026", 7, None, ["x\ny"], ["x" * 101]],
    "request": [i for i in IDS if i != ""],
}
OF_FITS = {
    "accountant": ("purpose", "blocks", "request"),
    "plan": ("blocks",),
    "charge": ("purpose", "blocks"),
    "campaign": ("purpose", "blocks", "request"),
}


@pytest.mark.parametrize(
    ("method", "parameter"), [(m, p) for m, parameters in OF_FITS.items() for p in parameters]
)
def test_words_of_a_fit(method, parameter, file_ledger, helpers):
    forest = PrivateForestClassifier(epsilon="0.1", delta="1e-6", domain=PRICED)
    file_ledger.register("visits", domain=PRICED, epsilon=1, delta="1e-6")
    forests = () if method == "accountant" else (forest,)
    for value in SAID[parameter]:
        with pytest.raises(DPForestError) as caught:
            getattr(file_ledger, method)("visits", *forests, **{parameter: value})
        assert caught.value.parameter == parameter and caught.value.repair
    assert len(file_ledger.log("visits")) == 1


def test_too_many_fits_of_a_campaign(file_ledger):
    forest = PrivateForestClassifier(epsilon="0.1", delta="1e-6", domain=PRICED)
    file_ledger.register("visits", domain=PRICED, epsilon=1, delta="1e-6")
    with pytest.raises(ParameterError, match="1000 fits of one reserve"):
        charge_of([*priced_forests(file_ledger.accountant("visits"), forest)] * 1001, "rho")


#: Files and lists that cannot be, each in what it is given to; all of them end in errors of ours.
UNUSABLE = {
    "witnesses that are none": lambda book, charge, there: book.verify(5),
    "a witness of a recovery": lambda book, charge, there: book.recover("claims", 5),
    "no list of data sets": lambda book, charge, there: book.verify([], 5),
    "a page of no list": lambda book, charge, there: book.page(data_sets="claims"),
    "a page nowhere": lambda book, charge, there: book.page(there / "none" / "x.html"),
    "an export nowhere": lambda book, charge, there: book.export_json(there / "none" / "x"),
    "an export to no path": lambda book, charge, there: book.export_json(5),
    "a plan nowhere": lambda book, charge, there: charge.to_json(there / "none" / "x"),
    "a backup to no path": lambda book, charge, there: book.backup(5),
    "a backup with a null": lambda book, charge, there: book.backup("a\0b"),
    "a log from no number": lambda book, charge, there: book.log("claims", "a"),
    "a log from beyond": lambda book, charge, there: book.log("claims", 10**30),
    "a log to beyond": lambda book, charge, there: book.log("claims", 0, 10**30),
    "a class and no forest": lambda book, charge, there: book.plan(
        "claims", PrivateForestClassifier
    ),
    "a place of half a character": lambda book, charge, there: BudgetLedger.open(
        "sqlite:///a\ud800", actor="a", create=True
    ),
    "a place of too long a name": lambda book, charge, there: BudgetLedger.open(
        "sqlite:///" + "x" * 5000, actor="a", create=True
    ),
    "an export of a name that is none": lambda book, charge, there: book.import_json(
        '{"format": "dpforest-ledger", "version": 1, "ledger": "\\u001b[31m", "data_sets": {}}'
    ),
    "an export of nothing as a witness": lambda book, charge, there: book.verify(
        [f'{{"format": "dpforest-ledger", "version": 1, "ledger": "{book.id}", "data_sets": {{}}}}']
    ),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_what_cannot_be_read_or_written_is_an_error_of_ours(helpers, tmp_path, what):
    with helpers.registered(helpers.ledger_at(tmp_path / "claims.ledger")) as book:
        with pytest.raises(DPForestError):
            UNUSABLE[what](book, helpers.charge("1/10"), tmp_path)
        assert len(book.log("claims")) == 1


def listed(helpers, *lines):
    """Lines of a plan file, each an event and how often it is there."""
    from dpforest.accounting.certificate_record import EventRecord
    from dpforest.ledger.plan_files import Repeated

    return tuple(Repeated(releases=(EventRecord.of(e),), times=n) for e, n in lines)


def test_no_line_of_a_plan_file_hides_another(helpers, tmp_path):
    """What costs without end is listed no times, or beside what no float can hold."""
    from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise

    dear, one = (GeometricNoise(Fraction(5), Fraction(1)), 1000), Fraction(1)
    endless = GeometricNoise(math.inf, one)
    for currency, none in (("epsilon", DiscreteGaussianNoise(one, one)), ("rho", endless)):
        path = tmp_path / f"{currency}.ledger"
        with helpers.registered(helpers.ledger_at(path), currency=currency) as book:
            huge = (GeometricNoise(Fraction(10**900), one), 10**9), (endless, 1)
            for lines in ((dear, (none, 0)), huge):
                charge = helpers.charge("1/10", currency, releases=listed(helpers, *lines))
                with pytest.raises(ParameterError, match="add up to more"):
                    book.reserve("claims", charge)


@pytest.mark.parametrize("change", [{"epsilon": "inf"}, {"delta": "inf"}, {"delta": "-1"}])
def test_a_certificate_without_end_is_an_error_of_ours(helpers, tmp_path, change):
    charge = helpers.charge("1/10", alone=True, **({"epsilon": "1"} | change))
    with (
        helpers.ledger_at(tmp_path / "claims.ledger") as book,
        pytest.raises(BudgetExceeded if "epsilon" in change else ParameterError),
    ):
        helpers.registered(book, epsilon=2, delta="1e-6")
        book.request("claims", charge)


def test_a_delta_without_end_is_an_error_of_ours(helpers, tmp_path):
    with (
        helpers.registered(helpers.ledger_at(tmp_path / "a.ledger"), currency="epsilon") as book,
        pytest.raises(ParameterError, match="^delta="),
    ):
        book.request("claims", helpers.charge("1/10", "epsilon", delta="inf"))


def test_what_is_listed_no_times_costs_nothing(helpers, tmp_path):
    from dpforest.accounting.events import GeometricNoise

    none = listed(helpers, (GeometricNoise(math.inf, Fraction(1)), 0))
    with helpers.registered(helpers.ledger_at(tmp_path / "claims.ledger")) as book:
        assert book.reserve("claims", helpers.charge("1/10", releases=none))
