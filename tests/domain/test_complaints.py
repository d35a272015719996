"""Complaints about public facts name the repair; files that are not there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpforest import (
    CategoricalFeature,
    Domain,
    MultinomialForestClassifier,
    NumericFeature,
    PrivateForestRegressor,
    verify_report,
)
from dpforest.exceptions import DomainError, DPForestError, ModelFormatError, ParameterError

AGE = {"age": (0, 120)}

TYPOS = [
    (lambda: Domain(feature=AGE), "'feature': there is no such field. Write 'features'."),
    (lambda: Domain(features=AGE, clases=["a", "b"]), "'clases': .* Write 'classes'."),
    (lambda: Domain(features=AGE, rows=5), "'rows': .* There are .*approximate_rows.*features"),
    (lambda: NumericFeature(name="age", lower=0, uper=1), "'age.uper': .* Write 'upper'."),
    (
        lambda: CategoricalFeature(name="sex", category=["m", "f"]),
        "'sex.category': .* Write 'categories'.",
    ),
    (lambda: Domain(features=[{"kind": "numeric", "name": "a", "uper": 1}]), "Write 'upper'."),
    (lambda: Domain(), "'features': is needed. Declare it"),
    (
        lambda: Domain(features=[{"kind": "categorical", "name": "a", "lower": 0}]),
        "'a.lower': a categorical feature has no such field. Remove it.",
    ),
    (
        lambda: Domain(features=[{"kind": "numeric", "name": "a", "categories": ["u"]}]),
        "'a.categories': a numeric feature has no such field. Remove it.",
    ),
    (lambda: NumericFeature(name="age", lower=0, upper=9, int=True), "'age.int': .* 'integer'"),
    (lambda: Domain(features=AGE, float=1), "'float': there is no such field"),
    (
        lambda: Domain(features=AGE, missing=True),
        "'missing': is a field of one feature, not of the domain. Write it there: "
        "{..., 'missing': ...}",
    ),
    (
        lambda: Domain(features=AGE, classes={"no": 0, "yes": 1}),
        r"'classes': must be a list of labels, or a mapping of fields.* Write classes=\[...\]",
    ),
    (lambda: Domain(features=AGE, upper=9), "'upper': is a field of one feature, not of the dom"),
    (lambda: Domain(features=AGE, classes={"labels": [0, 1], "str": 2}), "'classes.str': there is"),
    (lambda: Domain(features=AGE, classes={"labels": [0, 1], "name": 2}), "'classes.name': there"),
    (lambda: Domain(features=AGE, classes=["a", "\ud800"]), "'classes': labels: a text holds half"),
    (lambda: Domain(features=AGE, classes=[0, np.array([1, 2])]), "'classes.labels.1': must be"),
    (lambda: Domain(features=AGE, target=(0, None)), "'target.upper': must be a number"),
    (lambda: Domain(features=AGE, target=5), "'target': must be a pair .lower, upper., or a map"),
    (lambda: Domain(features=AGE, target=(0, 1, 2)), "'target': must be a pair"),
    (lambda: Domain(features=5), "'features': must be a mapping of names to"),
    (lambda: Domain(features=[5]), "'features.0': must be a feature"),
    (lambda: Domain(features=[{"name": "a"}]), "'features.0': needs a kind"),
    (lambda: Domain(features=AGE, approximate_rows="many"), "a text is not a number of records"),
    (lambda: Domain(features=AGE, target={"lower": 0}), "'target.upper': is needed"),
    (lambda: Domain(features=AGE, classes={"label": [0, 1]}), "'classes.label': .* 'labels'"),
    (
        lambda: Domain(features=AGE, classes=[0, [1]]),
        "'classes.labels.1': must be a text, a number or a boolean",
    ),
    (lambda: Domain(features=AGE, self=1), "'self': there is no such field"),
]


@pytest.mark.parametrize(("declare", "said"), TYPOS)
def test_a_typo_in_a_declaration_is_named_with_what_may_be_meant(declare, said):
    with pytest.raises(DomainError, match=said):
        declare()


NEITHER = "must be a .lower, upper. tuple, a list of categories or a feature, not "
BOTH_FORMS = r".*\(0, 110\) for numbers, \[False, True\] for booleans"
NO_CATEGORY = "'ward': a missing value is no category. .*'categories': .*'missing': True"
UNHELPED = [
    ({"ward": ["A", None]}, NO_CATEGORY),
    ({"ward": ["A", math.nan]}, NO_CATEGORY),
    ({"ward": {"categories": ["A", None]}}, NO_CATEGORY),
    ({0: (0, 1)}, "'features': the name 0 is no text. Write 'x0': .* by their positions"),
    ({b"a": (0, 1)}, "'features': the name b'a' is no text. Write names as texts"),
    ({"age": "numeric"}, f"'age': {NEITHER}'numeric'{BOTH_FORMS}"),
    ({"s": bool}, f"'s': {NEITHER}<class 'bool'>{BOTH_FORMS}"),
    ({"age": None}, f"'age': {NEITHER}None{BOTH_FORMS}"),
    ({"age": 3}, f"'age': {NEITHER}<int>{BOTH_FORMS}"),
    ({"s": range(3)}, r"'s': categories are a list, and a range is none. Write list\(range\(3\)\)"),
    ({"s": range(1, 4)}, r"Write list\(range\(1, 4\)\)"),
    ({"age": ("0", " 110")}, r"numbers, and a text is none. Write \(0, 110\), or"),
    ({"age": ("0", "inf")}, r"'age': bounds are two numbers. Write \(lower, upper\), or"),
    ({"age": (0, None)}, "two numbers, and the upper one is missing. Write .lower, upper."),
    ({"age": (None, 1)}, "two numbers, and the lower one is missing"),
    ({"age": (None, None)}, "two numbers, and both are missing"),
]


@pytest.mark.parametrize(("features", "said"), UNHELPED)
def test_what_newcomers_write_is_told_with_what_to_write(features, said):
    with pytest.raises(DomainError, match=said):
        Domain(features=features, classes=["n", "p"])


@pytest.mark.parametrize("absent", [None, math.nan, np.float64("nan")])
def test_a_class_is_not_missing(absent):
    for classes in (["a", "b", absent], {"labels": ["a", "b", absent]}):
        with pytest.raises(DomainError, match="^domain entry 'classes': a class cannot be missing"):
            Domain(features=AGE, classes=classes)


PLAIN = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["a", "0"])
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "kind", "lower", "labels", "a"]), inner)
    ),
    max_leaves=6,
)


FIELDS = ["features", "target", "classes", "approximate_rows", "status", "drafted", "source"]
FEATURE = {"name": "a", "kind": "numeric", "lower": 0, "upper": 1}


@given(st.sampled_from(FIELDS), ANYTHING)
@example("features", [{**FEATURE, "status": "x"}])
@example("features", [{**FEATURE, "drafted": 5}])
@example("features", [{**FEATURE, "name": ""}])
@example("features", [{**FEATURE, "name": "\ud800"}])
@example("features", [{**FEATURE, "source": b"\xff"}])
@example("features", {"a": [str(k) for k in range(65_002)]})
@example("approximate_rows", "1" * 5000)
@example("target", {"lower": "{0.__class__}", "upper": 1})
@example("features", [{"name": "a", "kind": "odd"}])
@example("features", [{"name": "a", "kind": "numeric", "lower": 0, "upper": 1, "missing": "?"}])
@example("features", [{"name": "a", "kind": "categorical", "categories": "ab"}])
@example("approximate_rows", math.nan)
def test_no_complaint_speaks_of_the_types_of_another_library(field, value):
    try:
        Domain(**{"features": AGE, field: value})
    except DomainError as refused:
        said = str(refused)
        words = ("Input", "valid", "should", "nable", "String", "Tuple", "parse", "instance")
        assert not [word for word in words if word in said], said


READERS = [
    (Domain.from_json, DomainError),
    (MultinomialForestClassifier.from_json, ModelFormatError),
    (PrivateForestRegressor.from_json, ModelFormatError),
    (verify_report, ParameterError),  # a file that cannot be read is no forged report
]


@pytest.mark.parametrize(("read", "error"), READERS)
def test_a_file_that_cannot_be_read_is_an_error_of_ours(read, error, tmp_path):
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    wrong = [
        (tmp_path / "none.json", "there is none"),
        (str(tmp_path / "none.json"), "there is none"),
        (tmp_path, "it is a folder"),
        (binary, "it is no text in UTF-8"),
        ("null\0character", "cannot be read"),
        (7, "a int is neither a path nor JSON text"),
    ]
    for source, said in wrong:
        with pytest.raises(error, match=said):
            read(source)


@pytest.mark.parametrize("text", ["age;sex\n41;secret", "41;secret" * 500])
def test_a_text_that_is_no_json_is_not_quoted(text):
    with pytest.raises(DPForestError) as refused:
        Domain.from_json(text)
    assert "secret" not in str(refused.value)
