"""What the pages on privacy name is there: files, functions, tests, parts of the audit, links."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MECHANISMS = sorted((DOCS / "mechanisms").glob("*.md"))
PAGES = [*MECHANISMS, *(DOCS / f"{name}.md" for name in (
    "audit", "audit_results", "proof_examined", "pitfalls", "weaknesses", "accounting",
    "private_forest", "multinomial", "report",
))]  # fmt: skip
SECTIONS = ("Claim", "Relation", "Sensitivity", "Proof", "Code", "Tests", "Audit")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def words_of_code() -> frozenset[str]:
    """Every identifier in the package and the tests."""
    files = [*(ROOT / "dpforest").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    return frozenset(w for file in files for w in re.findall(r"\w+", text_of(file)))


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_functions_and_tests_that_are_named_are_there(page):
    # Names with an underscore in backticks; without one they may be words.
    names = re.findall(r"`(\w*[a-z]\w*_\w+)(?:\(\))?`", text_of(page))
    assert sorted(set(names) - words_of_code()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text_of(page))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


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
    from dpforest.learners.registry import NOT_STREAMED

    (line,) = [part for part in text_of(DOCS / "scale.md").split("\n* ") if "`strategy`" in part]
    assert set(re.findall(r'`"(\w+)"`', line)) >= NOT_STREAMED


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
def test_every_release_of_every_strategy_is_in_the_table_of_pages():
    import numpy as np

    from dpforest import (
        Domain,
        MultinomialForestClassifier,
        PrivateForestClassifier,
        PrivateForestRegressor,
    )
    from dpforest.learners.registry import LEARNERS

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
        for strategy in LEARNERS
        for delta in (0, 1e-6)
        for rows in (None, 20, 4000, 10**7)
        if delta or strategy not in ("refitted", "private_selection")
    ]  # fmt: skip
    for forest in forests:
        # On a table without records a fit asks for all that it asks for otherwise.
        fitted = forest.fit(nobody, np.empty(0))
        asked |= {re.sub(r"stage \d", "stage 1", entry.role) for entry in fitted.accountant_.ledger}
    listed = set(re.findall(r"`([^`]+)`", text_of(DOCS / "mechanisms" / "README.md")))
    assert asked <= listed and len(asked) >= 15, asked - listed
