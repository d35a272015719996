"""Domains: short forms, rules, confirmation, fingerprints."""

from __future__ import annotations

import inspect
import pickle
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.domain import CategoricalFeature, Classes, Domain, NumericFeature, NumericTarget
from dpforest.exceptions import DomainError


def small_domain(**changes):
    facts = {
        "features": [
            NumericFeature(name="age", lower=17, upper=90, integer=True),
            CategoricalFeature(name="sex", categories=("Female", "Male"), missing=True),
        ],
        "classes": ["no", "yes"],
    }
    return Domain(**{**facts, **changes})


def test_short_forms_equal_long_forms():
    short = Domain(
        features={
            "age": {"lower": 17, "upper": 90, "integer": True},
            "sex": {"categories": ["Female", "Male"], "missing": True},
        },
        classes=("no", "yes"),
    )
    assert short == small_domain()
    domain = Domain(features={"a": (0, 1), "b": [1, 2.0, False, "x"]}, target=(0, 5))
    assert domain.features[0] == NumericFeature(name="a", lower=0, upper=1)
    assert domain.features[1].categories == ("1", "2", "False", "x")
    assert domain.target == NumericTarget(lower=0, upper=5)
    assert domain.n_features == 2
    assert domain.feature_names == ("a", "b")


@pytest.mark.parametrize("kind", [np.int64, np.float32, Fraction])
def test_bounds_may_be_any_real_numbers(kind):
    domain = Domain(features={"age": (kind(0), kind(110))})
    assert domain == Domain(features={"age": (0, 110)})
    with pytest.raises(DomainError, match="bounds are two numbers"):
        Domain(features={"age": (kind(0), kind(1), kind(2))})


def test_a_bound_that_is_no_double_is_refused_in_our_words():
    with pytest.raises(DomainError, match="'age.upper'"):
        Domain(features={"age": (0, 10**400)})


@pytest.mark.parametrize("numbers", [(0,), (0, 1, 2), (18, 65, 110, 5)])
def test_a_tuple_of_numbers_is_two_bounds_and_no_categories(numbers):
    with pytest.raises(DomainError, match="'age': bounds are two numbers"):
        Domain(features={"age": numbers})
    assert Domain(features={"age": list(numbers)}).features[0].categories == tuple(
        map(str, numbers)
    )
    assert Domain(features={"a": ("x",)}).features[0].categories == ("x",)


def test_a_domain_is_printed_without_its_defaults():
    domain = Domain(features={"a": (0, 1)}, target=(0, 5))
    text = (
        "Domain(features=(NumericFeature(name='a', lower=0.0, upper=1.0),), "
        "target=NumericTarget(lower=0.0, upper=5.0))"
    )
    assert repr(domain) == text
    drafted = Domain(features=[{**domain.features[0].model_dump(), "status": "drafted"}])
    assert "status='drafted'" in repr(drafted)


def test_labels_keep_their_type():
    domain = small_domain(classes=np.array([3, 1]))
    assert domain.classes.labels == (3, 1)
    assert type(domain.classes.labels[0]) is int
    for labels in ((True, False), (0.5, 1.5), (0, 1), ("0", "1"), (0.0, 1.0)):
        kept = Domain.from_json(small_domain(classes=labels).to_json()).classes.labels
        assert kept == labels
        assert [type(a) for a in kept] == [type(a) for a in labels]


@pytest.mark.parametrize(
    ("build", "entry", "rule"),
    [
        (lambda: NumericFeature(name="a", lower=1, upper=1), "a", "must be below"),
        (lambda: NumericFeature(name="a", lower=0, upper=float("inf")), "a", "finite"),
        (lambda: NumericFeature(name="a", lower=float("nan"), upper=1), "a", "finite"),
        (lambda: NumericFeature(name="a", lower=-1.7e308, upper=1.7e308), "a", "upper - lower"),
        (lambda: NumericFeature(name="a", lower=0.5, upper=2, integer=True), "a", "whole numbers"),
        (lambda: NumericFeature(name="a", lower=0, upper=1e17, integer=True), "a", r"2\*\*53"),
        (lambda: NumericFeature(name="a", lower=0, upper=1, colour=1), "a.colour", "no such field"),
        (lambda: NumericFeature(lower=0, upper=1), "name", "is needed"),
        (lambda: CategoricalFeature(name="c", categories=()), "c.categories", "needs 1 or more"),
        (lambda: CategoricalFeature(name="c", categories="ab"), "c.categories", "must be a list"),
        (lambda: CategoricalFeature(name="c", categories=("a", "a")), "c", "differ"),
        (lambda: CategoricalFeature(name="c", categories=(1, "1")), "c", "differ"),
        (lambda: CategoricalFeature(name="c", categories=("a",), other="b"), "c", "other must"),
        (lambda: Classes(labels=("a",)), "classes", "at least two classes"),
        (lambda: Classes(labels=()), "classes", "at least two classes"),
        (
            lambda: Classes(labels=(1, "1")),
            "classes",
            "labels must differ, and those at positions 0",
        ),
        (lambda: Classes(labels=(2, True, 1)), "classes", "positions 1 and 2 mean the same"),
        (lambda: Classes(labels=(2**53, 2**53 + 1)), "classes", "compared as a double"),
        (lambda: Classes(labels=(0, 10**5000)), "classes", "infinite"),
        (lambda: Classes(labels=("a", "")), "classes", "position 1 reads as missing"),
        (lambda: Classes(labels=range(65_537)), "classes", "at most 65536 classes"),
        (
            lambda: CategoricalFeature(name="c", categories=("x", "01", "1")),
            "c",
            "positions 1 and 2",
        ),
        (lambda: CategoricalFeature(name="c", categories=(" a", "a")), "c", "white space"),
        (lambda: CategoricalFeature(name="c", categories=("true", "1")), "c", "differ"),
        (lambda: CategoricalFeature(name="c", categories=("a", "NaN")), "c", "reads as missing"),
        (lambda: Classes(labels=(1.0, float("nan"))), "classes", "NaN"),
        (lambda: Domain(features=[]), "features", "needs 1 or more"),
        (lambda: Domain(features={"a": 3}), "a", "must be a"),
        (lambda: Domain(features={"a": (3, 1)}), "a", "must be below"),
        (lambda: small_domain(classes=["only"]), "classes", "at least two classes"),
        (lambda: small_domain(approximate_rows=0), "approximate_rows", "must be 1 or more"),
        (
            lambda: small_domain(approximate_rows=10**309),
            "approximate_rows",
            "must be 1000000000000000 or less",
        ),
        (lambda: small_domain(target=(2, 1)), "target", "must be below"),
        (
            lambda: Domain(features=[NumericFeature(name="a", lower=0, upper=1)] * 2),
            "a",
            "two features",
        ),
        (
            lambda: Domain(features={"b": NumericFeature(name="a", lower=0, upper=1)}),
            "b",
            "names differ|name differ",
        ),
    ],
)
def test_contradictions_are_refused(build, entry, rule):
    with pytest.raises(DomainError, match=rule) as caught:
        build()
    assert caught.value.entry == entry
    assert caught.value.__cause__ is None
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_facts_by_place_are_told_their_names():
    for build in (
        lambda: Domain({"a": (0, 1)}, ["x", "y"]),
        lambda: NumericFeature("age", 17, 90),
        lambda: Classes(["no", "yes"]),
    ):
        with pytest.raises(DomainError, match="facts are given by name"):
            build()
    with pytest.raises(DomainError, match=r"Write Domain\(features=\.\.\., classes=\.\.\.,"):
        Domain({"a": (0, 1)}, ["x", "y"])
    with pytest.raises(DomainError, match=r"Write NumericFeature\(name=\.\.\., lower="):
        NumericFeature("age", 17, 90)
    with pytest.raises(DomainError, match=r"Write Classes\(labels=\.\.\.\)"):
        Classes(["no", "yes"])


@pytest.mark.parametrize("facts", [Domain, NumericFeature, CategoricalFeature, Classes])
def test_signatures_of_facts_have_names_alone(facts):
    facts.model_rebuild()
    kinds = {one.kind for one in inspect.signature(facts).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    assert [*inspect.signature(facts).parameters] == [*facts.model_fields]


def test_entries_are_frozen():
    with pytest.raises(ValueError, match="do not change"):
        small_domain().features[0].lower = 3


def test_confirmation():
    drafted = small_domain(
        features=[
            NumericFeature(name="age", lower=0, upper=1, status="drafted", source="data"),
            NumericFeature(name="b", lower=0, upper=1, declared_by="B"),
        ],
        classes=Classes(labels=("a", "b"), status="drafted"),
        target=NumericTarget(lower=0, upper=1, status="drafted"),
    )
    assert drafted.drafted_entries == ("age", "classes", "target")
    assert not drafted.is_declared
    confirmed = drafted.confirmed(declared_by="A")
    assert confirmed.drafted_entries == ("classes", "target")  # these name no source
    assert [f.declared_by for f in confirmed.features] == ["A", "B"]
    assert confirmed.features[0].source == "data"
    named = drafted.confirmed("A", sources={"classes": "codebook", "target": "codebook"})
    assert named.is_declared and named.classes.source == "codebook"
    assert not drafted.is_declared
    with pytest.raises(DomainError, match="must name somebody"):
        drafted.confirmed(declared_by=" ")


def test_fingerprint_follows_the_facts():
    domain = small_domain()
    assert domain.fingerprint() == small_domain().fingerprint()
    assert len(domain.fingerprint()) == 64
    assert domain.fingerprint() != small_domain(classes=["yes", "no"]).fingerprint()
    assert pickle.loads(pickle.dumps(domain)) == domain


@pytest.mark.parametrize("kind", [int, float, np.int64, np.uint8, Fraction])
@pytest.mark.parametrize("numbers", [(0, 110), (110, 0), (5, 6), (0, 255)])
def test_a_list_of_two_numbers_is_refused_since_bounds_may_be_meant(numbers, kind):
    with pytest.raises(DomainError, match="'age': a list of two numbers may be meant as bounds"):
        Domain(features={"age": [kind(number) for number in numbers]})
    both = {"categories": list(numbers)}
    assert len(Domain(features={"age": both}).features[0].categories) == 2


DATES = [
    (date(2020, 1, 1), date(2021, 1, 1)),
    (datetime(2020, 1, 1), datetime(2021, 1, 1)),
    (pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")),
    (np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
    (0, date(2021, 1, 1)),
]


@pytest.mark.parametrize("bounds", DATES)
def test_dates_as_bounds_are_refused_with_what_to_write(bounds):
    rule = "'admitted': bounds are two numbers, and dates mean nothing .* days since a public date"
    with pytest.raises(DomainError, match=rule):
        Domain(features={"admitted": bounds})


HOLDERS = [
    np.array, pd.Series, pd.Index, pd.Categorical, pl.Series, pa.array, set, frozenset, iter,
]  # fmt: skip


@pytest.mark.parametrize("holder", HOLDERS)
def test_categories_in_anything_but_a_list_are_refused_with_what_to_write(holder):
    rule = r"'ward': categories are a list: .* Write the public categories as \[...\], or list"
    with pytest.raises(DomainError, match=rule):
        Domain(features={"ward": holder(["a", "b"])})


@pytest.mark.parametrize("entry", ["ab", b"ab", 5, None, NumericFeature])
def test_what_is_no_feature_is_refused(entry):
    with pytest.raises(DomainError, match="a list of categories or a feature"):
        Domain(features={"ward": entry})


@pytest.mark.parametrize("codes", [[0, 1], [1, 0], [1, 2], [-1, 1], [False, True], ["0", "110"]])
def test_usual_codes_and_texts_are_two_categories(codes):
    assert len(Domain(features={"a": codes}).features[0].categories) == 2


@pytest.mark.parametrize(
    "pair", [(Decimal(0), Decimal(5)), ("0", "110"), (0, "5"), (None, 5), ("-1e3", "2.5"), ("1",)]
)
def test_a_tuple_that_may_be_bounds_is_no_categories(pair):
    with pytest.raises(DomainError, match="'age': bounds are two numbers"):
        Domain(features={"age": pair})
    assert len(Domain(features={"age": {"categories": ["0", "110"]}}).features[0].categories) == 2


@pytest.mark.parametrize(
    ("word", "meant"), [("min", "lower"), ("max", "upper"), ("levels", "categories")]
)
def test_fields_by_other_names_are_understood(word, meant):
    with pytest.raises(DomainError, match=f"there is no such field. Write '{meant}'"):
        Domain(features={"age": {"lower": 0, "upper": 1, word: 1}})


@pytest.mark.parametrize("kind", [set, frozenset])
def test_classes_have_an_order(kind):
    with pytest.raises(DomainError, match="'classes': a set has another order"):
        Domain(features={"age": (0, 1)}, classes=kind(["no", "yes"]))


def test_what_has_no_order_or_no_names_is_refused():
    with pytest.raises(DomainError, match="another order in every process"):
        CategoricalFeature(name="ward", categories={"a", "b"})
    with pytest.raises(DomainError, match="list of labels, or a mapping of fields"):
        Domain(features={"age": (0, 9)}, classes={0: "no", 1: "yes"})
