"""Rows added to a finished page of the audit: those that are missing, and nothing else changes."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import audit
import pytest

TABLE = "| part | claim |\n| --- | --- |\n| old | 1 |\n| cut off | 1 |"
PAGE = f"# Results\n\nWords.\n\n{TABLE}\n\n## False accusations\n\n| part | audits |\n| new | 5 |\n"


@pytest.fixture
def options(monkeypatch):
    parts = [SimpleNamespace(name=name) for name in ("old", "new", "cut", "new, too")]
    monkeypatch.setattr(audit, "mechanism_parts", lambda: parts[:1])
    monkeypatch.setattr(audit, "estimator_parts", lambda: parts[1:])

    def bounds(rows, listed, options):
        return audit.table("| part | claim |", [f"| {part.name} | 7 |" for part, _ in listed])

    monkeypatch.setattr(audit, "bounds", bounds)
    return argparse.Namespace(parts="", runs=9, seconds=3, rows=None)


def test_missing_parts_are_added_to_the_first_table_alone(options):
    page = audit.with_missing_parts(PAGE, options)
    added = "\n| new | 7 |\n| cut | 7 |\n| new, too | 7 |\n\n"
    assert options.error == audit.FAMILY / 800
    says = "Rows at the end of the table were added later, with `--seconds 3`, at an error of"
    assert page.startswith(PAGE[: PAGE.index("\n\n## False")] + added + says)
    assert page.endswith(PAGE[PAGE.index("## False") :])
    assert audit.with_missing_parts(page, options) == page, "nothing is missing any more"


def test_only_parts_that_were_asked_for_are_added(options):
    options.parts = "too"
    page = audit.with_missing_parts(PAGE, options)
    assert "| new, too | 7 |" in page and "| new | 7 |" not in page and "| cut | 7 |" not in page
    options.parts = ""
    whole = audit.with_missing_parts(page, options)
    assert whole.count("were added later") == 1 and whole.count("| new, too | 7 |") == 1
