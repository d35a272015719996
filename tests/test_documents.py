"""Documents name only what is there: files, functions, tests, commands, audits, links."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

from dpforest import Domain
from dpforest.exceptions import DomainError

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MECHANISMS = sorted((DOCS / "mechanisms").glob("*.md"))
PAGES = [*MECHANISMS, *(DOCS / f"{name}.md" for name in (
    "audit", "audit_results", "proof_examined", "pitfalls", "weaknesses", "accounting",
    "private_forest", "multinomial", "report",
))]  # fmt: skip
DOCUMENTS = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
#: Pages where a path may be named by its end alone.
OTHERS = [page for page in DOCUMENTS if page not in PAGES]
#: What a command writes, and a table of the benchmarks, which code knows by its folder alone.
NOT_HERE = {"demo-output/privacy_report.html", "internet_ads_subset"}
SECTIONS = ("Claim", "Relation", "Sensitivity", "Proof", "Code", "Tests", "Audit")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def words_of_code(*folders: str) -> frozenset[str]:
    """Every identifier in these folders."""
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    return frozenset(w for file in files for w in re.findall(r"\w+", text_of(file)))


@cache
def paths() -> tuple[str, ...]:
    """Every file that a page may name, after a slash."""
    folders = ("benchmarks", "constraints", "docs", "dpforest", "examples", "tests", "tools")
    files = [*ROOT.glob("*"), *(file for name in folders for file in (ROOT / name).rglob("*"))]
    return tuple(f"/{name_of(file)}" for file in files if file.is_file())


def commands(page: Path) -> list[list[str]]:
    """What a page lets its reader run in a shell, word by word without the comments."""
    text = text_of(page).replace("\\\n", " ")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for kind, block in blocks if kind != "python" for line in block.splitlines()]
    lines += re.findall(r"`([^`]+)`", text)
    return [line.partition("#")[0].split() for line in lines if re.match("(python|make) ", line)]


def unknown_in(command: list[str]) -> list[str]:
    """Words of a command that nothing here knows: targets, scripts, their tables and options."""
    program, first, *rest = command
    if program == "make":
        return [] if re.search(rf"^{first}:", text_of(ROOT / "Makefile"), re.MULTILINE) else [first]
    if first == "-m":
        return [] if f'"{rest[1]}"' in text_of(ROOT / rest[0] / "__main__.py") else rest
    script = ROOT / first
    if not script.exists():
        return [first]
    sources = script.glob("*.py") if script.is_dir() else [script]
    known = {word for source in sources for word in re.findall(r'"([\w-]+)"', text_of(source))}
    tables = {table.stem for table in (script / "tables").glob("*.py")}
    words = [word for word in rest if word.startswith("--")] + rest[:1] * script.is_dir()
    return [word for word in words if word not in known | tables]


def anchors(page: Path) -> set[str]:
    """What a link may point at within a page: its headings, as they are shown in the web."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def missing(page: Path, where: str) -> list[str]:
    """Paths in backticks that are no files; a bare name may be one beside the path before it."""
    absent, folder = [], ROOT / "dpforest"
    for name in re.findall(r"`([\w./]+\.py)`", where):
        places = [ROOT / name, ROOT / "dpforest" / name, folder / name]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            absent.append(f"{page.name}: {name}")
        else:
            folder = found.parent
    return absent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_are_named_are_there(page):
    assert missing(page, text_of(page)) == []


@pytest.mark.parametrize("page", OTHERS, ids=name_of)
def test_files_that_are_named_by_their_ends_are_there(page):
    endings = "csv|html|json|jsonl|md|png|py|svg|toml|txt"
    named = set(re.findall(rf"`([\w./-]+\.(?:{endings}))`", text_of(page)))
    ends = "\n".join(paths()) + "\n"
    assert [name for name in sorted(named - NOT_HERE) if f"/{name}\n" not in ends] == []


def cited_for_nothing(text: str) -> list[str]:
    """Tests that a source names and that are not there: files, folders, and functions in files."""
    absent = []
    for path, function in re.findall(r"\b(tests/[\w/]*\w(?:\.py)?)(?:::(\w+))?", text):
        place = ROOT / path
        found = place.is_file() if path.endswith(".py") else place.is_dir()
        if not found or function and f"def {function}(" not in text_of(place):
            absent.append(path)
    ends = [f"/{name}" for name in re.findall(r"\btest_\w+\.py\b", text)]
    return absent + [end for end in ends if not any(path.endswith(end) for path in paths())]


def test_tests_that_other_versions_leave_out_are_there():
    """Of a test that is not there pytest would say nothing, and run what it is called now."""
    left_out = re.findall(r"\b[\w/]*test_\w+\.py::\w+", text_of(ROOT / "Makefile"))
    assert len(left_out) > 8
    assert cited_for_nothing(" ".join(f"tests/{name}" for name in left_out)) == []


def fields_left_out(made: type) -> set[str]:
    """Public fields of its own that a data class does not document, if it documents any."""
    text = inspect.cleandoc(made.__doc__ or "")
    if not re.search(r"^(Attributes|Parameters)\n---", text, flags=re.MULTILINE):
        return set()
    listed = re.findall(r"^[\w, ]+(?= : |$)", text, flags=re.MULTILINE)
    known = {name for line in listed for name in re.findall(r"\w+", line)}
    bases = [base for base in made.__mro__[1:] if dataclasses.is_dataclass(base)]
    known |= {field.name for base in bases for field in dataclasses.fields(base)}
    own = {field.name for field in dataclasses.fields(made) if field.init}
    return {name for name in own - known if not name.startswith("_")}


def test_docstrings_of_data_classes_have_all_their_fields():
    names = {name_of(path)[:-3].replace("/", ".") for path in (ROOT / "dpforest").rglob("*.py")}
    # Two modules left, and refuse to be imported; a third runs the command.
    names -= {"dpforest.forest", "dpforest.learners", "dpforest.__main__"}
    found = {
        f"{name}.{made.__name__}": fields_left_out(made)
        for name in sorted(names)
        for made in vars(import_module(name.removesuffix(".__init__"))).values()
        if isinstance(made, type) and dataclasses.is_dataclass(made) and made.__module__ == name
    }
    assert len(found) > 100
    assert {name: left for name, left in found.items() if left} == {}


def test_tests_that_docstrings_cite_are_there():
    """Claims of sensitivity rest on them, and tests move."""
    sources = sorted((ROOT / "dpforest").rglob("*.py"))
    found = {name_of(source): cited_for_nothing(text_of(source)) for source in sources}
    assert {name: absent for name, absent in found.items() if absent} == {}
    assert sum("tests/" in text_of(source) for source in sources) > 25
    there = "tests/trees, tests/test_documents.py::test_tests_that_docstrings_cite_are_there."
    assert cited_for_nothing(there) == []
    for gone in ("tests/nowhere", "tests/test_no.py", "tests/trees and test_no.py",
                 "tests/test_documents.py::no"):  # fmt: skip
        assert cited_for_nothing(gone)


#: Modules with a text that names a page, word for word as earlier reports have it.
NAME_A_PAGE = {"dpforest/report/making.py"}


def texts_shown(tree):
    """Texts of a module, its docstrings aside."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        shown = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if shown and id(node) not in docstrings:
            yield node.value


def test_messages_point_to_pages_in_one_way():
    """An installed package has no pages beside it, so a bare path would lead nowhere."""
    trees = {
        name_of(path): ast.parse(text_of(path))
        for path in sorted((ROOT / "dpforest").rglob("*.py"))
    }
    bare = {name for name, tree in trees.items()
            if any(re.search(r"docs/\w+\.md", text) for text in texts_shown(tree))}  # fmt: skip
    assert bare == NAME_A_PAGE
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    calls = [call for call in calls if getattr(call.func, "id", "") == "page_of_docs"]
    pages = [call.args[0].value for call in calls]
    assert len(pages) > 5 and all((ROOT / "docs" / page).is_file() for page in pages)
    with pytest.raises(DomainError, match=r"see docs/domain\.md of dpforest's source\.$"):
        Domain(features={"age": None})


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_functions_and_tests_that_are_named_are_there(page):
    # Names with an underscore in backticks; without one they may be words.
    names = re.findall(r"`(\w*[a-z]\w*_\w+)(?:\(\))?`", text_of(page))
    known = words_of_code("dpforest", "tests", *(() if page in PAGES else ("benchmarks",)))
    stems = set() if page in PAGES else {Path(path).stem for path in paths()}
    assert sorted(set(names) - known - stems - NOT_HERE) == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_modules_that_are_named_are_there(page):
    for name in re.findall(r"`(dpforest(?:\.\w+)+)", text_of(page)):
        assert resolve_name(name) is not None


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_commands_that_are_named_are_there(page):
    unknown = {" ".join(command): unknown_in(command) for command in commands(page)}
    assert {command: words for command, words in unknown.items() if words} == {}


def test_commands_are_found_and_known():
    assert sum(len(commands(page)) for page in DOCUMENTS) > 25
    wrong = ("make coffee", "python benchmarks/absent.py", "python benchmarks/scale.py --absent",
             "python benchmarks/papers absent", "python -m dpforest absent")  # fmt: skip
    assert all(unknown_in(command.split()) for command in wrong)


@pytest.mark.parametrize("page", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", text_of(page))
    local = [(page.parent / path if path else page, part)
             for path, part in links if "://" not in path]  # fmt: skip
    assert [str(target) for target, _ in local if not target.exists()] == []
    assert [part for target, part in local if part and part not in anchors(target)] == []


@pytest.mark.parametrize("page", MECHANISMS, ids=lambda page: page.stem)
def test_every_mechanism_has_its_sections(page):
    if page.stem == "README":
        linked = set(re.findall(r"\((\w+)\.md\)", text_of(page)))
        assert linked >= {other.stem for other in MECHANISMS} - {"README"}
        return
    assert re.findall(r"^\*\*(\w+)\.\*\*", text_of(page), re.MULTILINE) == list(SECTIONS)
    named = re.search(r"^\*\*Tests\.\*\*.*", text_of(page), re.MULTILINE)
    assert named is not None and "`tests/" in named.group()


@pytest.mark.parametrize("page", MECHANISMS, ids=lambda page: page.stem)
def test_audits_that_are_named_are_in_the_results(page):
    from dpforest.audit import estimator_parts, mechanism_parts

    line = re.search(r"^\*\*Audit\.\*\*.*", text_of(page), re.MULTILINE)
    quoted = re.findall(r'"([^"]+)"', line.group()) if line else []
    known = "\n".join(part.name for part in (*mechanism_parts(), *estimator_parts()))
    faults = text_of(ROOT / "tests" / "faults" / "faults.py")
    assert [name for name in quoted if name not in known and name not in faults] == []


def test_every_public_mechanism_is_on_a_page():
    import dpforest.mechanisms

    pages = "".join(map(text_of, MECHANISMS))
    drawn = [name for name in dpforest.mechanisms.__all__ if name[0].islower()]
    assert [name for name in drawn if name not in pages and name != "make_source"] == []


def test_strategies_that_streams_refuse_are_listed():
    from dpforest.trees.strategies import NOT_STREAMED

    (line,) = [part for part in text_of(DOCS / "scale.md").split("\n* ") if "`strategy`" in part]
    assert set(re.findall(r'`"(\w+)"`', line)) >= NOT_STREAMED


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
@pytest.mark.filterwarnings("ignore::dpforest.LargeDeltaWarning")
def test_every_release_of_every_strategy_is_in_the_table_of_pages():
    import numpy as np

    from dpforest import (
        Domain,
        MultinomialForestClassifier,
        PrivateForestClassifier,
        PrivateForestRegressor,
    )
    from dpforest.trees.strategies import ASKED

    features = {"a": (0, 9), "b": (0, 9)}
    asked, nobody = set(), np.empty((0, 2))
    kinds = {
        PrivateForestClassifier: Domain(features=features, classes=[0, 1]),
        PrivateForestRegressor: Domain(features=features, target=(0, 1)),
    }
    forests = [
        MultinomialForestClassifier(
            epsilon=1, domain=kinds[PrivateForestClassifier], max_depth=1, **choice
        )
        for choice in ({}, {"choice": "joint"}, {"leaves": "count_label"})
    ]
    forests += [
        kind(epsilon=1, delta=delta, strategy=strategy,
             domain=domain.model_copy(update={"approximate_rows": rows}))
        for kind, domain in kinds.items()
        for strategy in ASKED
        for delta in (0, 1e-6)
        for rows in (None, 20, 4000, 10**5)
    ]  # fmt: skip
    for forest in forests:
        # On a table without records a fit asks for all that it asks for otherwise.
        fitted = forest.fit(nobody, np.empty(0))
        roles = {
            re.sub("before stage [34]", "before stage 2", e.role) for e in fitted.accountant_.ledger
        }
        asked |= {re.sub(r"rules, stage \d", "rules, stage 1", role) for role in roles}
    listed = set(re.findall(r"`([^`]+)`", text_of(DOCS / "mechanisms" / "README.md")))
    assert asked <= listed and len(asked) >= 15, asked - listed
