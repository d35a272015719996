"""The list of planted faults (tools/mutants): complete, applicable, and told of in docs/mutants.md.

That a test sees each of them is what ``make mutants`` finds out.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
import sys
from collections import Counter
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest

import dpforest.mechanisms
from dpforest.accounting.allocation import _OBJECTS as ALLOCATIONS
from dpforest.accounting.events import EVENTS
from dpforest.accounting.scopes import Scope
from dpforest.records.streams.base import Source
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.strategies import STRATEGIES

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools" / "mutants"
sys.path.insert(0, str(TOOL))

import mutant_runs  # noqa: E402
from mutant_list import ListError, Mutant, check_applies, read_mutants  # noqa: E402
from mutant_page import head, heading, page  # noqa: E402
from mutant_runs import (  # noqa: E402
    BROKEN,
    KILLED,
    SURVIVED,
    TIMED_OUT,
    UNDECIDED,
    Ended,
    Result,
    code_digest,
    judged,
)

MUTANTS = read_mutants()
#: Faults that once lived through all tests. They stay.
ONCE_ALIVE = {
    "calibration of a regression with sensitivity 1",
    "class shares of rules without noise",
    "Gram matrix of the linear start without noise",
    "probabilities of the two sides swapped in the price",
    "range of targets from raw counts",
    "rounding margin of noise dropped",
    "sums of a round read before they are paid for",
}
#: Modules in which nothing is planted, with the reason; all others of these layers have a fault.
LAYERS = [
    *("accounting", "audit", "bridge", "dask", "domain", "estimators", "ledger", "mechanisms"),
    *("plain", "records", "report", "trees", "verify"),
]
WITHOUT = {
    "what a private model does with released values": """
        trees/boosted/steps trees/boosted/shares
        trees/additive/model
        trees/multinomial/heaps trees/multinomial/model
        trees/rules/shares trees/rules/kernels/shares
        trees/one_shot/model
        trees/importances trees/refitted/model
        estimators/explanation plain/writing
        plain/shown plain/rule_words plain/drawing
        estimators/outcome estimators/noise estimators/claims estimators/claimed_gain
        estimators/shapley
        trees/population trees/renoised trees/answering
        trees/shapley trees/splits""",
    "public facts, settings and sizes": """
        trees/passes trees/scored/clips
        trees/curves/base trees/curves/in_turn/sizes trees/curves/at_once/sizes
        domain/complaints domain/files domain/short_form domain/parts domain/shapes
        domain/matrix estimators/names estimators/forecast report/versions trees/base""",
    "words for people, about domains and for the curator alone": """
        domain/findings domain/near domain/comparing domain/showing domain/facts
        estimators/compiling""",
    "structures drawn from public words, and the place of a record in them": """
        trees/random/kernels/leaf_sets trees/random/kernels/slots
        records/kernels/prefetch
        trees/random/kernels/block_math trees/multinomial/segments""",
    "formats of what was released": """
        accounting/frozen trees/stored report/registry_form""",
    "pages and tables of a report, worked out again by report_check": """
        estimators/progress report/report report/page
        report/schema report/text report/branches report/card""",
    "parts of a ledger that decide nothing: protocols, words, and what only calls the others": """
        ledger/administration ledger/ceilings ledger/ledger ledger/migrating
        ledger/status ledger/steps ledger/store""",
    "protocols of what stands beside a query": """
        bridge/protocols""",
    "names of what methods ask for, which a test compares with what type checkers see": """
        estimators/engine""",
    "lists of what is audited, each of which has to be complete by a test": """
        audit/catalogue audit/estimators""",
}


@cache
def functions_of(file: str) -> list[tuple[int, int, str]]:
    """First and last line and dotted name of every function and class of a file."""
    found = []

    def walk(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            name = f"{above}.{child.name}".lstrip(".") if named else above
            if named:
                found.append((child.lineno, child.end_lineno, name))
            walk(child, name)

    walk(ast.parse((ROOT / file).read_text(encoding="utf-8")), "")
    return found


def place_of(mutant: Mutant) -> str:
    """Module and innermost function or class in which a mutant's texts begin to differ.

    Nowhere, if its text is not there; that fails a test of its own, which names it.
    """
    path = ROOT / mutant.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if mutant.old not in text:
        return ""
    same = next((i for i, (a, b) in enumerate(zip(mutant.old, mutant.new, strict=False)) if a != b),
                min(len(mutant.old), len(mutant.new)))  # fmt: skip
    line = text.count("\n", 0, text.index(mutant.old) + same) + 1
    inside = [
        (first, name) for first, last, name in functions_of(mutant.file) if first <= line <= last
    ]
    module = mutant.file.removesuffix(".py").replace("/", ".")
    return ".".join([module, *([max(inside)[1]] if inside else [])])


@cache
def places() -> Counter[str]:
    """How many faults lie in each place; read once, where a test asks."""
    return Counter(map(place_of, MUTANTS))


def planted_in(thing: type | object) -> int:
    """How many faults lie in a class or function."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    return sum(n for place, n in places().items() if place == name or place.startswith(name + "."))


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def of_the_package(kinds: set[type]) -> list[type]:
    own = [kind for kind in kinds if kind.__module__.startswith("dpforest.")]
    return sorted(own, key=lambda kind: kind.__qualname__)


def mechanisms() -> list[object]:
    public = (getattr(dpforest.mechanisms, name) for name in dpforest.mechanisms.__all__)
    return [
        f for f in public if inspect.isfunction(f) and "grant" in inspect.signature(f).parameters
    ]


def scopes() -> list[type]:
    for name in ("caps", "lists", "units"):
        importlib.import_module(f"dpforest.accounting.{name}")
    return of_the_package({kind for kind in subclasses(Scope) if "kind" in vars(kind) or
                           "Scope" in kind.__name__} - {Scope})  # fmt: skip


def readers() -> list[type]:
    for name in ("records.streams.files", "records.streams.batches", "dask.collections"):
        importlib.import_module(f"dpforest.{name}")
    # Records that are predicted from a shell are in no training.
    concrete = {
        kind for kind in subclasses(Source)
        if not inspect.isabstract(kind) and not kind.__module__.startswith("dpforest.command_line")
    }  # fmt: skip
    tables = [("domain.table", "ArrayTable"), ("domain.table", "FrameTable"),
              ("records.base", "MemoryRecords"),
              ("records.streams.passes", "StreamedRecords"),
              ("dask.workers", "DaskRecords")]  # fmt: skip
    others = {getattr(importlib.import_module(f"dpforest.{m}"), name) for m, name in tables}
    return of_the_package(concrete | others)


# -- the list -----------------------------------------------------------------------------------


def test_every_entry_applies_to_the_code_as_it_is():
    check_applies(MUTANTS)
    assert len(MUTANTS) >= 100


def test_those_that_once_lived_are_there():
    assert {mutant.name for mutant in MUTANTS} >= ONCE_ALIVE


@pytest.mark.parametrize("layer", sorted({mutant.layer for mutant in MUTANTS}))
def test_entries_say_why_in_one_line_and_name_tests_that_are_there(layer):
    for mutant in (mutant for mutant in MUTANTS if mutant.layer == layer):
        assert "\n" not in mutant.why and "|" not in mutant.why, mutant.name
        for test in mutant.tests:
            file, _, rest = test.partition("::")
            text = (ROOT / file).read_text(encoding="utf-8")
            assert all(
                re.search(rf"(def|class) {part}\b", text) for part in rest.split("::") if part
            )


def test_no_two_entries_do_the_same():
    changes = Counter((mutant.file, mutant.old, mutant.new) for mutant in MUTANTS)
    assert not [change for change, times in changes.items() if times > 1]


def test_a_text_that_is_not_there_once_no_longer_applies():
    mutant = Mutant("a", "dpforest/py.typed", "old", "new", "why", ("tests/test_mutants.py",))
    assert mutant.applied("an old text") == "an new text"
    for text in ("", "old old"):
        with pytest.raises(ListError, match="a no longer applies: its old text occurs"):
            mutant.applied(text)
    with pytest.raises(ListError, match="occurs 0 times in dpforest/py.typed"):
        check_applies([mutant])


@pytest.mark.parametrize("text", [
    "[[mutant]]\nname='a'",
    "[[mutant]]\nname='a'\nfile='f'\nold='x'\nnew='x'\nwhy='w'\ntests=['t']",
    "[[mutant]]\nname='a'\nfile='f'\nold='x'\nnew='y'\nwhy='w'\ntests=[]",
    "[[mutant]]\nname='a'\nfile='f'\nold='x'\nnew='y'\nwhy='w'\ntests=['t']\n" * 2,
])  # fmt: skip
def test_a_list_that_says_too_little_or_a_name_twice_is_refused(text, tmp_path):
    (tmp_path / "layer.toml").write_text(text)
    with pytest.raises(ListError):
        read_mutants(tmp_path)


# -- what it covers -----------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", mechanisms(), ids=lambda f: f.__name__)
def test_every_mechanism_has_a_fault(mechanism):
    assert planted_in(inspect.unwrap(mechanism))


@pytest.mark.parametrize("kind", scopes(), ids=lambda kind: kind.__qualname__)
def test_every_kind_of_scope_has_a_fault(kind):
    # Plain ``Scope`` only opens the others.
    assert planted_in(kind) or kind.__name__ == "Scope"


@pytest.mark.parametrize("kind", readers(), ids=lambda kind: kind.__qualname__)
def test_every_reader_has_a_fault(kind):
    assert planted_in(kind)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_learner_has_faults_in_its_plan_and_in_its_training(name):
    folder = STRATEGIES[name].package
    found = {place for place in places() if place.startswith(folder + ".")}
    assert any(".plan." in place for place in found)
    assert any(re.search(r"\.(learner|calibration|linear_start|queries)\.", p) for p in found)


@pytest.mark.parametrize("kind", [*EVENTS.values(), *ALLOCATIONS.values()],
                         ids=lambda kind: kind.__name__)  # fmt: skip
def test_every_event_and_every_allocation_has_a_fault(kind):
    assert planted_in(kind)


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_has_a_fault_in_its_range(name):
    ranges = [
        m
        for m in MUTANTS
        if m.file.endswith("trees/multinomial/criteria.py") and f'"{name}"' in m.old
    ]
    assert ranges


@pytest.mark.parametrize("layer", LAYERS)
def test_every_module_has_a_fault_or_a_reason_to_have_none(layer):
    files = {mutant.file for mutant in MUTANTS}
    spared = {f"dpforest/{name}.py" for names in WITHOUT.values() for name in names.split()}
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "dpforest" / layer).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert modules - files - spared == set(), "plant a fault in it, or say why none"
    assert modules & files & spared == set(), "there is one by now"
    assert all((ROOT / name).is_file() for name in spared)


# -- what an end means, and the page ------------------------------------------------------------


def failure(exception: str) -> dict:
    return {"test": "tests/a.py::test_b[c]", "exception": exception, "message": "m", "when": "call"}


@pytest.mark.parametrize(("ended", "outcome"), [
    (Ended(1, (failure("builtins.AssertionError"),), ""), KILLED),
    (Ended(1, (failure("dpforest.exceptions.GrantError"),), ""), KILLED),
    (Ended(1, (failure("builtins.NameError"),), ""), BROKEN),
    (Ended(1, (failure("numba.core.errors.TypingError"),), ""), BROKEN),
    (Ended(0, (), ""), SURVIVED),
    (Ended(None, (), ""), TIMED_OUT),
    *((Ended(code, (), ""), BROKEN) for code in (1, 2, 3, 4, 5)),
])  # fmt: skip
def test_only_a_test_that_fails_kills(ended, outcome):
    assert judged(ended)[0] == outcome


SEEN = Ended(1, (failure("builtins.AssertionError"),), "")
LATE, PASSED = Ended(None, (), ""), Ended(0, (), "")


@pytest.mark.parametrize(("ends", "outcome"), [
    ([SEEN], KILLED),
    ([LATE, PASSED, SEEN], KILLED),
    ([LATE, PASSED, LATE], TIMED_OUT),
    ([LATE, PASSED, PASSED], SURVIVED),
    ([LATE, LATE], UNDECIDED),
])  # fmt: skip
def test_a_slow_machine_is_told_from_a_fault_that_takes_too_long(ends, outcome, monkeypatch):
    # The first and the third are runs with the fault, the second is one without.
    waiting = iter(ends)
    monkeypatch.setattr(mutant_runs, "run_tests", lambda *arguments: next(waiting))
    monkeypatch.setattr(mutant_runs, "changed_copy", lambda base, mutant: nullcontext(base))
    assert mutant_runs.run_mutant(MUTANTS[0], ROOT).outcome == outcome
    assert list(waiting) == []


def test_only_a_slow_machine_does_not_fail_a_sample():
    main = runpy.run_path(str(TOOL / "__main__.py"))
    for outcome in (KILLED, SURVIVED, BROKEN, TIMED_OUT, UNDECIDED):
        result = Result("a", code_digest(MUTANTS[0]), outcome, "", "", 1.0)
        assert main["fails"](result, False) == (outcome != KILLED)
        assert main["fails"](result, True) == (outcome not in (KILLED, UNDECIDED))
        # What tests did not decide is run again without being asked for.
        assert main["_is_current"](result, MUTANTS[0]) == (outcome in (KILLED, SURVIVED))


def test_the_page_lists_every_fault_with_its_reason_and_none_that_lived():
    text = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*) \| `(.*)` \| (.*) \| (.*) \| (.*) \|$", text, flags=re.MULTILINE)
    listed = [(m.name, m.file.removeprefix("dpforest/"), m.why) for m in MUTANTS]
    assert [row[:3] for row in rows] == listed, "write it anew: make mutants"
    # Neither what lived is on the page, nor what was not run.
    lived = [name for name, *_, by, _ in rows if not re.fullmatch(r"`[\w/.]+::[\w:]+`", by)]
    assert lived == [], "run them: make mutants"


def test_the_page_has_the_words_that_are_written_around_its_rows():
    text = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    above, *tables = re.split(r"^## ", text, flags=re.MULTILINE)
    assert above == head({mutant.name: KILLED for mutant in MUTANTS}) + "\n"
    layers = dict.fromkeys(mutant.layer for mutant in MUTANTS)
    assert [table.partition("\n")[0] for table in tables] == [*map(heading, layers)]
    assert heading("ledger_administration") == "Ledger administration"


def test_what_has_no_result_of_this_code_is_shown_as_not_run():
    text = page(MUTANTS[:2], {})
    assert text.count("| **not run** |") == 2 and "0 of 2 were seen, not these: " in text
    assert all(f"{mutant.name} (not run on this code)" in text for mutant in MUTANTS[:2])


def test_the_page_says_what_was_not_seen():
    ends = dict(zip(MUTANTS, (KILLED, SURVIVED, TIMED_OUT), strict=False))
    found = {m.name: Result(m.name, code_digest(m), end, "a.py::b", "", 1.0)
             for m, end in ends.items()}  # fmt: skip
    found[MUTANTS[3].name] = Result(MUTANTS[3].name, "of other code", KILLED, "a.py::b", "", 1.0)
    text = page(MUTANTS[:4], found)
    lived, late, other = (mutant.name for mutant in MUTANTS[1:4])
    left = f"{lived} (SURVIVED); {late} (timed out); {other} (not run on this code)"
    assert f"\n1 of 4 were seen, not these: {left}. The digest" in text
    assert all(f"`{code_digest(mutant)}` |" in text for mutant in MUTANTS[:3])
    assert code_digest(MUTANTS[3]) not in text
