"""What `auto` picks, as docs/private_forest.md shows it, is what it picks."""

from __future__ import annotations

import re

import picks
import pytest

CELL = re.compile(r"^\| ([a-z, ]+) \| ([\d,]+) \| (.*) \|$", re.MULTILINE)
#: One of so many cells is asked for again: a plan takes a twentieth of a second. The number shares
#: no factor with that of the columns, so that all of them are met.
STEP = 9


def shown(text):
    """Cells of the page: task, records, epsilon, delta and what is picked."""
    between = text.split(picks.START)[1].split(picks.END)[0]
    for delta, part in zip((0.0, picks.DELTA), between.split("**δ = ")[1:], strict=True):
        for task, records, rest in CELL.findall(part):
            for epsilon, picked in zip(picks.EPSILONS, rest.split(" | "), strict=True):
                yield task, int(records.replace(",", "")), epsilon, delta, picked


def test_the_page_is_of_today():
    cells = list(shown(picks.PAGE.read_text(encoding="utf-8")))
    assert len(cells) == 2 * len(picks.TASKS) * len(picks.RECORDS) * len(picks.EPSILONS)
    again = cells[::STEP]
    assert {cell[2] for cell in again} == set(picks.EPSILONS)
    domains = {task: picks.domain_of(task) for task in picks.TASKS}
    for task, records, epsilon, delta, picked in again:
        assert picks.pick(task, domains[task], records, epsilon, delta) == picked


def test_a_page_is_renewed_between_its_marks(monkeypatch):
    monkeypatch.setattr(picks, "section", lambda: "new")
    text = f"before\n{picks.START}\nold\n{picks.END}\nafter\n"
    assert picks.renewed(text) == f"before\n{picks.START}\n\nnew\n\n{picks.END}\nafter\n"
    with pytest.raises(ValueError):
        picks.renewed("no marks")
