"""Displays: tables that people read, without secrets, and tab completion of our own names."""

from __future__ import annotations

import html
import importlib
import pkgutil
import re

import pytest
from pydantic import BaseModel

import dpforest
from dpforest import Domain, PrivacyReport, PrivateForestClassifier
from dpforest.display import WIDTH, Grid, Page
from dpforest.estimators.explanation import MOST_SHOWN, PartialDependence
from dpforest.own_names import OwnNames

#: Values of records that the domain does not declare: no release holds them.
SECRET_NUMBER, SECRET_TEXT = 86.4213, "Zanzibar"
N = 3 * 247
DOMAIN = Domain(
    name="clinic",
    features={
        "age": {"lower": 0, "upper": 120, "source": "common sense", "declared_by": "A. Curator"},
        "town": {"categories": ["north", "south"], "missing": True},
    },
    classes=["no", "yes"],
    approximate_rows=5000,
    note="for a test",
)


@pytest.fixture(scope="module")
def forest():
    X = [[SECRET_NUMBER, SECRET_TEXT], [20.0, "north"], [None, None]] * (N // 3)
    return PrivateForestClassifier(
        epsilon=2, delta=1e-6, domain=DOMAIN, strategy="one_shot"
    ).fit(X, ["yes", "no", "maybe"] * (N // 3))  # fmt: skip


def displays(forest):
    shown = (forest.domain_, forest.plan(), forest.guarantee_, forest.explain(),
             forest.privacy_report())  # fmt: skip
    for one in shown:
        yield type(one).__name__, str(one), one._repr_html_()


def test_nothing_of_a_record_is_in_a_display_that_may_be_released(forest):
    trees = [("tree", forest.export_text(0), "")]
    for name, *texts in [*displays(forest), *trees]:
        for text in map(html.unescape, texts):
            assert SECRET_TEXT not in text and "86.42" not in text and "maybe" not in text, name
            # Numbers of records, of those kept and of those dropped.
            numbers = {float(found) for found in re.findall(r"(?<![\w.])\d+(?![\w.])", text)}
            assert not numbers & {N, N * 2 / 3, N / 3}, name


def test_every_display_is_a_table(forest):
    for name, text, page in displays(forest):
        assert "<table" in page or name == "PrivacyReport", name
        assert text and page
    text = str(DOMAIN)
    assert text.splitlines()[0] == "Domain clinic: 2 features, about 5,000 records"
    row = next(line for line in text.splitlines() if line.startswith("age"))
    assert row.split() == ["age", "number", "0", "to", "120", "A.", "Curator", "common", "sense"]
    assert "for a test" in text and "north, south" in text and "a value" in text
    assert "add or remove one record" in forest.guarantee_._repr_html_()
    assert str(forest.guarantee_) in html.unescape(forest.guarantee_._repr_html_())


def test_a_curve_is_a_short_table(forest):
    curve = forest.explain().of("town")
    lines = str(curve).splitlines()
    assert lines[0].split() == ["town", "no", "yes"] and len(lines) == 2 + len(curve.cells)
    assert lines[2].split() == ["north", *(f"{own[0]:.4g}" for own in curve.predictions.values())]
    assert "<table" in curve._repr_html_()


@pytest.mark.parametrize("n_missing", [0, 1])
def test_of_a_long_curve_some_cells_are_shown_from_end_to_end(n_missing):
    n, labels = 256, [f"k{label}" for label in range(9)]
    curve = PartialDependence(
        feature="age\x1b[2J",
        cells=(*map("cell {}".format, range(n)), *["missing"] * n_missing),
        places=(*map(float, range(n)), *[None] * n_missing),
        predictions={label: (0.125,) * (n + n_missing) for label in labels},
    )
    lines = str(curve).splitlines()
    assert len(lines) == 2 + MOST_SHOWN + n_missing + 2 and "\x1b" not in str(curve)
    assert lines[2].startswith("cell 0 ") and lines[1 + MOST_SHOWN].startswith("cell 255 ")
    assert lines[-3].startswith("missing") == bool(n_missing)
    shown = MOST_SHOWN + n_missing
    assert lines[-1].startswith(f"{shown} of {n + n_missing} cells, 6 of 9 classes; all are in")


def test_of_many_categories_the_first_are_shown():
    names = tuple(map("ward {}".format, range(50)))
    curve = PartialDependence(
        feature="ward", cells=names, places=(None,) * 50, predictions={"mean": (1.5,) * 50}
    )
    assert [line.split()[1] for line in str(curve).splitlines()[2:-2]] == [
        str(place) for place in range(MOST_SHOWN)
    ]


def test_marks_of_a_draft_are_not_shown():
    draft = Domain.draft([[3.25], [7.75]] * 4, [0, 1] * 4)
    sources = {"x0": "codebook", "classes": "codebook"}
    with pytest.warns(UserWarning, match="still the draft's"):
        left = draft.confirmed("A", sources=sources)
    assert left.bounds_as_drafted and not left.without_marks().bounds_as_drafted
    for shown in (str, repr, Domain._repr_html_):
        assert shown(left) == shown(left.without_marks())


def test_wide_domains_are_cut():
    wide = Domain(features={f"x{i}": (0, 1) for i in range(500)}, classes=[0, 1])
    assert "and 440 more features" in str(wide) and "classes" in str(wide)
    assert len(str(wide).splitlines()) < 80


def test_a_void_guarantee_shows_no_figures():
    X = [[0.0], [1.0]] * 30
    with pytest.warns(UserWarning):
        void = PrivateForestClassifier(epsilon=2, strategy="one_shot").fit(X, [0, 1] * 30)
    assert "<table" not in void.guarantee_._repr_html_() and "VOID" in void.guarantee_._repr_html_()


# -- tables --------------------------------------------------------------------------------------


def test_a_grid_fits_a_terminal_and_escapes():
    grid = Grid(("name", "number", "text"), (("a\x1b[2J", "1", "<b> " * 60), ("b", "20", "")))
    lines = str(grid).splitlines()
    assert max(map(len, lines)) <= WIDTH and "\x1b" not in str(grid)
    assert lines[2].split()[1] == "1" and lines[-1].split() == ["b", "20"]
    assert "<b>" not in grid.to_html() and "&lt;b&gt;" in grid.to_html()
    assert str(Grid(("a", "b"), ())).splitlines() == ["a  b", "-  -"]
    assert Grid(("a",), ()).to_html().count("<td") == 0
    assert str(Page(("", "one\ntwo", grid))).startswith("one\ntwo\n\nname")


# -- names ---------------------------------------------------------------------------------------


def kinds(base=OwnNames):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_completion_offers_none_of_pydantics_names(forest):
    foreign = {name for name in vars(BaseModel) if not name.startswith("__")}
    assert {"model_dump", "copy", "json", "parse_obj"} <= foreign
    report = forest.privacy_report()
    for shown in (DOMAIN, forest.plan(), forest.guarantee_, forest.explain(), report, Domain,
                  PrivacyReport, DOMAIN.features[0]):  # fmt: skip
        assert not foreign & set(dir(shown)), shown
    assert {"features", "check", "diff", "draft", "to_json"} <= set(dir(DOMAIN))
    assert {"draft", "from_json"} <= set(dir(Domain))
    assert {"guarantee", "to_html", "model_fingerprint"} <= set(dir(report))
    assert DOMAIN.model_dump()["name"] == "clinic"  # left out, and still there


def test_every_model_that_people_meet_has_its_own_names():
    for module in pkgutil.walk_packages(dpforest.__path__, "dpforest."):
        if module.name.endswith((".answers", ".record", ".schema")):
            importlib.import_module(module.name)
    ours = [kind for kind in kinds(BaseModel) if kind.__module__.startswith("dpforest.")]
    others = {kind.__name__ for kind in ours if not issubclass(kind, OwnNames)}
    assert len(ours) > 20 and others <= {"_Base"}
