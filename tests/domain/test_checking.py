"""What the curator is told before a fit: records that would be dropped, and near misses."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import warnings

import numpy as np
import pytest

from dpforest.domain import Domain, DomainEncoder
from dpforest.domain.findings import FOR_THE_CURATOR
from dpforest.domain.near import NearMisses, near_number
from dpforest.exceptions import DomainError, ParameterError, ParameterTypeError

DOMAIN = Domain(
    features={
        "age": {"lower": 0, "upper": 90, "integer": True},
        "sex": ["Female", "Male"],
        "job": {"categories": ["clerk", "else"], "other": "else", "missing": True},
    },
    classes=[0, 1],
    target=(0, 2),
)
GOOD = [30, "Male", "clerk"]


def only(check, column, effect):
    (found,) = [one for one in check.of(column) if one.effect == effect]
    return found


def test_labels_that_name_their_rows_in_another_order_are_told():
    """A fit goes by places, as numpy does, and spends its budget on labels of other records."""
    pd = pytest.importorskip("pandas")
    domain = Domain(features={"age": (0, 110)}, classes=["no", "yes"])
    X, y = pd.DataFrame({"age": [1, 2, 3]}, index=[5, 7, 6]), pd.Series(["no", "yes", "no"])
    for names, told in (([5, 7, 6], False), ([5, 6, 7], True), ([0, 1, 2], False)):
        for labels in (y.set_axis(names), y.set_axis(names).to_frame()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a column of labels
                check = domain.check(X, labels)
            assert check.labels_in_other_order is told
            assert ("give y.loc[X.index]" in str(check)) is told
    for kind in (None, object):
        texts = [pd.Index(names, dtype=kind) for names in (["a", "b", "c"], ["c", "b", "a"])]
        assert domain.check(X.set_index(texts[0]), y.set_axis(texts[1])).labels_in_other_order
    for odd in (pd.period_range("2020", periods=3, freq="Y"), [None, "a", 3], [1, 1, 2]):
        assert not domain.check(X.set_axis(odd), y.set_axis(odd[::-1])).labels_in_other_order
    assert not domain.check(X, y.to_numpy()).labels_in_other_order


def test_labels_that_are_spelt_otherwise_are_told_and_not_dropped_in_silence():
    labels = ["no"] * 3 + ["Yes"] * 2 + [" 1", 1.0, True, "false"]
    check = DOMAIN.check([GOOD] * 9, labels)
    assert (check.records, check.dropped, check.kept) == (9, 5, 4)
    found = only(check, "y", "dropped")
    assert [(v.value, v.records, v.near) for v in found.values] == [("'no'", 3, "0"),
                                                                  ("'Yes'", 2, "1")]  # fmt: skip
    assert "'no' (3): '0'?" in str(check) and "drop 5 of the 9 records" in str(check)
    assert len(DomainEncoder(DOMAIN).encode([GOOD] * 9, labels).labels) == 4


def test_values_that_look_the_same_are_told_apart():
    """An é of one sign and one of two are not one category, and nobody sees why."""
    one, two = "caf\xe9", "cafe\u0301"
    for declared, found, told in ((one, two, r"'cafe\u0301' (1): 'caf\xe9'?"),
                                  (two, one, r"'caf\xe9' (1): 'cafe\u0301'?")):  # fmt: skip
        check = Domain(features={"a": [declared, "tea"]}, classes=[0, 1]).check([[found]], [0])
        (value,) = only(check, "a", "unknown").values
        assert value.near == declared and "look the same" in value.because
        assert told.replace(r"\xe9", "\xe9") in str(check)


NEAR = [
    (["0", "1"], "no", "0"), (["0", "1"], "YES", "1"), (["0", "1"], "t", "1"),
    (["no", "yes"], False, "no"), (["no", "yes"], "1.0", "yes"), (["no", "yes"], 0, "no"),
    (["No", "Yes"], "no ", "No"), (["a b", "c"], "A  B", "a b"), (["a b", "c"], "a_b", "a b"),
    (["Zürich", "Basel"], "zurich", "Zürich"), (["<=50K", ">50K"], ">50K.", None),
    (["1.5", "2"], "1,5", "1.5"), (["1000", "2"], "1 000", "1000"), (["1", "2"], "1 kg", "1"),
    (["0.1", "2"], np.float32(0.1), "0.1"), (["female", "male"], "femal", "female"),
    (["clerk", "else"], "?", ""), (["clerk", "else"], "N/A", ""), (["clerk", "else"], "boss", None),
    (["a", "b"], "c", None), (["true", "1x"], "on", "true"), (["1", "2"], "3", None),
    (["yes", "on"], "true", None), (["a", "b"], b"A", "a"), (["a", "b"], (1, 2), None),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "value", "meant"), NEAR)
def test_near_misses(declared, value, meant):
    found = NearMisses(declared).of(value)
    if value == ">50K.":  # two that differ in their signs alone have the first as a guess
        assert found is not None
    else:
        assert (found.meant if found else None) == meant


@pytest.mark.parametrize(
    ("value", "meant"),
    [("1,5", "1.5"), ("1 000", "1000"), ("1,000,000", "1000000"), ("12 kg", "12"), ("€3", "3"),
     ("?", ""), ("null", ""), ("many", None), ("<5", "5"), ("", None)],
)  # fmt: skip
def test_numbers_that_are_written_otherwise(value, meant):
    found = near_number(value)
    assert (found.meant if found else None) == meant


WRITTEN = [
    ("€ 1,844", "1844"), ("EUR 1,844.5", "1844.5"), ("1.234,56", "1234.56"),
    ("1,234.56", "1234.56"), ("1.234.567", "1234567"), ("1,23,456", "123456"),
    ("CHF 1'234.50", "1234.5"), ("0,123", "0.123"),
    ("1\u202f000,5", "1000.5"), ("(1,234.5)", "-1234.5"), ("-€5", "-5"), ("€ -5", "-5"),
    ("\u22125,2", "-5.2"), ("45%", "45"), ("$3", "3"), ("12.05.2020", None), ("1,234,56", None),
    ("12 34", None), ("(5", None), ("€", None), ("1,2,3", None), ("€" * 50 + "3", None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "meant"), WRITTEN)
def test_separators_and_currencies(value, meant):
    found = near_number(value)
    assert (found.meant if found else None) == meant


@pytest.mark.parametrize(
    ("value", "bounds", "meant"),
    [("1,844", (0, 3), "1.844"), ("1,844", (0, 9000), "1844"), ("1,844", (5, 9000), "1844"),
     ("€ 1.234", (0, 9000), None), ("€ 1.234", (0, 9), "1.234"), ("€ 1.234", (5, 9000), "1234"),
     ("45%", (0, 1), "0.45"), ("45%", (0, 100), "45")],
)  # fmt: skip
def test_bounds_tell_two_readings_apart_and_else_none_is_shown(value, bounds, meant):
    found = near_number(value, *bounds)
    assert (found.meant if found else None) == meant


def test_a_check_reads_amounts_by_the_bounds_of_their_column():
    domain = Domain(features={"height": (0, 3), "pay": (0, 9000)}, target=(0, 3))
    check = domain.check([["1,844", "€ 1,844"]], ["1,844"], task="regression")
    guesses = {name: value.near for name, value in check.near_misses}
    assert guesses == {"height": "1.844", "pay": "1844", "y": "1.844"}


def test_of_two_declared_numbers_that_a_text_may_be_none_is_shown():
    assert NearMisses(["1234", "1.234"]).of("1,234") is None
    assert NearMisses(["1234", "2"]).of("1,234").meant == "1234"
    assert NearMisses(["1.234", "2"]).of("1,234").meant == "1.234"
    assert NearMisses(["1.5", "2"]).of("15") is None


def test_each_effect_by_column_and_number():
    rows = [
        GOOD, [200, "X", None], [-3, 1, "boss"], [2.5, "female", "else"], ["1,5", "Male", "clerk"],
        [None, "Male", "clerk"], [float("inf"), None, "clerk"], [1, 2, "clerk"], "no row",
    ]  # fmt: skip
    check = DOMAIN.check(rows)
    assert check.dropped == 4 and check.records == 9
    assert only(check, "X", "dropped").records == 1
    by_rule = {(one.column, one.effect, one.rule.split(";")[0]): one.records
               for one in check.findings}  # fmt: skip
    assert by_rule == {
        ("X", "dropped", "a row is not a list with one value for each feature"): 1,
        ("age", "dropped", "a value is missing, and the domain does not allow that"): 1,
        ("age", "dropped", "a value is not a number"): 1,
        ("age", "dropped", "a value is infinite"): 1,
        ("sex", "dropped", "a value is missing, and the domain does not allow that"): 1,
        ("age", "clipped", "a number is below 0"): 1,
        ("age", "clipped", "a number is above 90"): 1,
        ("age", "rounded", "a number is not whole, where only whole numbers have a meaning"): 1,
        ("sex", "unknown", "a category is not declared"): 3,
        ("sex", "position", "a number is read as the position of a category, counted from 0"): 1,
        ("job", "missing", "a value is missing"): 1,
        ("job", "unknown", "a category is not declared"): 1,
    }
    assert only(check, "sex", "position").values[0].near == "Male"
    assert ("sex", only(check, "sex", "unknown").values[0]) in check.near_misses
    assert [one.effect for one in check.findings].count("dropped") == 5


def test_targets_are_read_where_no_classes_are_or_where_it_is_asked():
    rows, targets = [GOOD] * 5, [1, 3, "x", None, float("inf")]
    check = DOMAIN.check(rows, targets, task="regression")
    assert check.dropped == 3 and only(check, "y", "clipped").records == 1
    assert DOMAIN.check(rows, targets).dropped == 4
    free = Domain(features=DOMAIN.features, target=(0, 2))
    assert free.check(rows, targets) == check


def test_a_clean_table_says_so_and_an_empty_one_too():
    assert "use all of the 3 records, and takes every value as it is" in str(
        DOMAIN.check([GOOD] * 3, [0, 1, 1])
    )
    assert DOMAIN.check([], []).records == 0 and "has no record" in str(DOMAIN.check([], []))


def test_without_labels_it_says_that_they_were_not_checked():
    check = DOMAIN.check([GOOD] * 3)
    assert not check.labels_checked and DOMAIN.check([GOOD], [0]).labels_checked
    assert "labels were not checked: pass y." in str(check) and "use all" not in str(check)
    some = str(DOMAIN.check([GOOD, [None, *GOOD[1:]]]))
    assert "drop at least 1 of the 2 records (50 %)" in some and "were not checked" in some
    assert "not checked" not in str(DOMAIN.check([GOOD], [0])) + str(DOMAIN.check([]))


def test_displays_are_marked_and_escaped():
    check = DOMAIN.check([[1, "<b>\x1b[2J", "clerk"]], [0])
    for text in (str(check), check._repr_html_()):
        assert "curator" in text and "must not be released" in text.replace("not\nbe", "not be")
        assert "\x1b" not in text
    assert "<b>" not in check._repr_html_() and "&lt;b&gt;" in check._repr_html_()
    assert str(check).startswith(FOR_THE_CURATOR[:60])
    assert "curator" in Domain.check.__doc__ and "spends nothing" in Domain.check.__doc__
    plain = check.to_dict()
    assert json.loads(json.dumps(plain))["for_the_curator_alone"] is True


def test_it_is_frozen():
    check = DOMAIN.check([GOOD], ["no"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        check.dropped = 0
    assert pickle.loads(pickle.dumps(check)) == copy.deepcopy(check) == check


def test_columns_are_found_by_name_and_others_are_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([GOOD], columns=["age", "sex", "job"])[["job", "sex", "age"]]
    check = DOMAIN.check(table.assign(id=1), pandas.Series([1]))
    assert check.dropped == 0 and check.ignored_columns == ("id",) and "no fit reads: id" in str(
        check
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((np.zeros((2, 2)), None, None), ParameterError),
     (([GOOD], [0, 1], None), ParameterError),
     (([GOOD], [0], "both"), ParameterError),
     ((np.zeros(2, dtype=[("a", float)]), None, None), ParameterTypeError)],
)  # fmt: skip
def test_what_a_fit_refuses_is_refused(arguments, error):
    X, y, task = arguments
    with pytest.raises(error):
        DOMAIN.check(X, y, task=task)


def test_labels_need_a_declaration():
    with pytest.raises(DomainError, match="does not declare"):
        Domain(features=DOMAIN.features).check([GOOD], [0])
    with pytest.raises(DomainError, match="does not declare"):
        Domain(features=DOMAIN.features, classes=[0, 1]).check([GOOD], [0], task="regression")


def test_many_values_are_cut_and_counted():
    rows = [[1, f"value {i}", "clerk"] for i in range(700)] + [[1, "MALE", "clerk"]]
    found = only(DOMAIN.check(rows), "sex", "unknown")
    assert (found.records, len(found.values), found.more_values) == (701, 20, 681)
    assert found.values[0].near == "Male"  # a near miss comes first, however rare
    assert "and 696 others" in DOMAIN.check(rows)._repr_html_()


def test_a_number_beyond_the_bounds_that_often_stands_for_a_missing_one_is_told():
    domain = Domain(features={"age": (0, 90), "pay": (0, 9)}, target=(0, 5))
    check = domain.check([[9999, 99.0], [-1, "999"], [100, 11]], [9, -9, 6], task="regression")
    found = {(name, value.value): value.near for name, value in check.near_misses}
    assert {(name, value.strip("'")) for name, value in found} == {
        ("age", "9999"), ("age", "-1"), ("pay", "99"), ("pay", "999"), ("y", "9"), ("y", "-9"),
    }  # fmt: skip
    assert set(found.values()) == {""} and "9999 (1): missing?" in str(check)
