"""The report in Markdown: long lists of releases in few lines, and words for infinite figures."""

from __future__ import annotations

import re

import pytest

from dpforest import BudgetAccountant, BudgetExceeded, Domain, PrivateForestClassifier

TABLE = ([[20 + i % 60, i % 7] for i in range(40)], ["ill" if i % 3 else "well" for i in range(40)])
DOMAIN = Domain(
    features={"age": (0, 100), "size": (0, 10)}, classes=["ill", "well"], approximate_rows=3000
)


def private(strategy, **parameters):
    return PrivateForestClassifier(epsilon=0.9, domain=DOMAIN, strategy=strategy, **parameters)


@pytest.mark.filterwarnings("ignore::dpforest.LargeDeltaWarning")
def test_releases_that_are_alike_are_one_line_with_their_number():
    forest = private("refitted", delta=0.001).fit(*TABLE)
    report = forest.privacy_report()
    entries = report.composition.ledger
    _, text = report.to_markdown().split("## Composition\n")
    entry = re.compile(r"(noise|mechanism)(, \d+ cells)?: epsilon")
    lines = [line for line in text.split("\n## ")[0].splitlines() if entry.search(line)]
    counted = [int(line.split("- ")[1].split(" × ")[0]) if " × " in line else 1 for line in lines]
    assert len(lines) == len(set(lines)) < 10 < sum(counted) == len(entries)
    assert "Where epsilon is inf, noise is Gaussian" in text


def test_nothing_is_said_of_infinite_figures_where_there_are_none():
    assert "inf" not in private("rules").fit(*TABLE).privacy_report().to_markdown().split()


@pytest.mark.filterwarnings("ignore::dpforest.LargeDeltaWarning")
def test_a_report_is_compared_in_words_where_releases_are_of_no_level():
    first = private("one_shot", delta=0.001).fit(*TABLE).privacy_report()
    second = private("refitted", delta=0.001).fit(*TABLE).privacy_report()
    assert "None" not in str(first.diff(second)) and "of no level" in str(first.diff(second))


@pytest.mark.filterwarnings("ignore::dpforest.LargeDeltaWarning")
def test_a_delta_under_a_ceiling_without_one_is_named():
    forest = private("refitted", delta=0.001, accountant=BudgetAccountant(2))
    with pytest.raises(BudgetExceeded, match="which has a delta where this accountant has none"):
        forest.fit(*TABLE)
