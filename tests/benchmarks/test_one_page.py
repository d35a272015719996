"""Benchmarks of one page and one file of lines: a shortened run lacks what the page has."""

from __future__ import annotations

import argparse
from unittest import mock

import private_safe_bayesian
import pytest
import unknown_code
from common import one_page
from common.pages import place_of
from common.results import Store
from common.sources import Sources

from dpforest import Domain

DOMAIN = Domain(
    features=[{"name": "x", "kind": "categorical", "categories": ["a", "b"]}],
    classes=["no", "yes"],
)
KEYS = ("dataset", "model", "codes", "seed", "epsilon")


def test_the_page_of_undeclared_codes_asks_for_every_fit():
    every = unknown_code.missing([], 1.0)
    assert set(unknown_code.forests(1.0, DOMAIN, 0)) == {key[1] for key in every}
    assert len(every) == 7 * 6 * 2 * 10
    lines = [dict(zip(KEYS, key, strict=True)) for key in every]
    assert unknown_code.missing(lines, 1.0) == set()
    for key in KEYS:
        shorter = [line for line in lines if line[key] != lines[0][key]]
        lost = unknown_code.missing(shorter, 1.0)
        assert lost and {dict(zip(KEYS, one, strict=True))[key] for one in lost} == {lines[0][key]}


def test_the_page_of_undeclared_codes_is_of_one_epsilon():
    """Lines of the page's epsilon do not make a page of another one whole."""
    lines = [dict(zip(KEYS, key, strict=True)) for key in unknown_code.missing([], 1.0)]
    both = lines + [line | {"epsilon": 2.0} for line in lines]
    assert unknown_code.missing(both, 1.0) == set()
    assert len(unknown_code.missing(both, 2.0)) == len(lines)


def test_the_page_of_the_private_safe_bayesian_forest_asks_for_every_fit():
    every = private_safe_bayesian.missing([])
    assert len(every) == 12 * 5 * 10
    lines = [dict(zip(("dataset", "epsilon", "seed"), key, strict=True)) for key in every]
    assert private_safe_bayesian.missing(lines) == set()
    assert private_safe_bayesian.missing(lines[1:]) == {
        (lines[0]["dataset"], lines[0]["epsilon"], lines[0]["seed"])
    }


@pytest.mark.parametrize(("seeds", "whole"), [(2, True), (1, False)])
def test_a_part_is_written_beside_the_page(seeds, whole, tmp_path):
    """The run is asked for what it is asked for, and the page stays where results are missing."""
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("as committed")

    def run(asked, file):
        for seed in range(asked.seeds):
            file.append({"seed": seed})

    def placed(wanted, missing):
        return place_of(wanted, missing, tmp_path / "parts", tmp_path / "docs")

    parser = one_page.parser_of("Words.\n\nMore.", tmp_path / "lines.jsonl", 2)
    asked = parser.parse_args([] if whole else ["--seeds", "1"])
    assert isinstance(asked, argparse.Namespace) and asked.seeds == seeds
    file = Store(asked.results, Sources(("common.scores:scores",)))
    with mock.patch.object(one_page, "place_of", placed):
        one_page.remake(
            page, asked, file, run,
            lambda lines: {0, 1} - {line["seed"] for line in lines},
            lambda lines: f"{len(lines)} lines",
        )  # fmt: skip
    assert page.read_text() == ("2 lines" if whole else "as committed")
    assert (tmp_path / "parts" / "page.md").exists() != whole
