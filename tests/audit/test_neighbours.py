"""Neighbouring datasets: the relation, and the built-in pairs."""

import numpy as np
import pytest

from dpforest import Domain, MultinomialForestClassifier, ParameterError
from dpforest.audit import (
    SMALL_DOMAIN,
    WORST_CASES,
    DatasetPair,
    audit,
    worst_case,
    worst_cases,
)
from dpforest.audit.neighbours import as_pairs, records_of
from dpforest.domain.encoder import DomainEncoder
from dpforest.exceptions import ParameterTypeError


def test_order_plays_no_part():
    DatasetPair([3, 1, 2], [2, 3, 1, 1])
    DatasetPair(([[1, 2], [3, 4]], ["a", "b"]), ([[3, 4]], ["b"]))


def test_missing_values_are_equal_to_each_other():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    DatasetPair((X, [0, 1]), (X[:1], [0]))


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ([1, 2], [1, 2], "0 record\\(s\\) are in the first alone and 0 in the second"),
        ([1, 2], [1, 2, 3, 4], "0 record\\(s\\) are in the first alone and 2 in the second"),
        ([1, 2], [1, 3], "1 record\\(s\\) are in the first alone and 1 in the second"),
        (([[1]], [0]), ([[1]], [1]), "not neighbours under add_remove"),
    ],
)
def test_others_are_refused(first, second, text):
    with pytest.raises(ParameterError, match=text) as raised:
        DatasetPair(first, second)
    assert raised.value.repair == "Give two datasets that differ in exactly one record"


def test_replacing_is_another_relation():
    DatasetPair([1, 2], [1, 3], relation="replace_one")
    with pytest.raises(ParameterError, match="not neighbours under replace_one"):
        DatasetPair([1, 2], [1, 2, 3], relation="replace_one")
    with pytest.raises(ParameterError, match="must be 'add_remove' or 'replace_one'"):
        DatasetPair([1], [1, 2], relation="unbounded")


def test_kinds_of_datasets():
    assert records_of(np.array([[1, 2], [3, 4]])) == [(1, 2), (3, 4)]
    with pytest.raises(ParameterError, match="a table and its labels differ in length"):
        records_of(([[1], [2]], [0]))
    with pytest.raises(ParameterTypeError, match="must be an array of records or a tuple"):
        records_of(np.zeros((2, 2, 2)))
    with pytest.raises(ParameterTypeError, match="must be a DatasetPair, a list of them"):
        as_pairs([[1], [1, 2], [3]])
    assert as_pairs(([1], [1, 2]))[0].name == "the caller's pair"


MIXED = Domain(
    features={"age": (0, 90), "job": ["a", "b", "c"]}, classes=["no", "yes"], note="mixed"
)


@pytest.mark.parametrize("domain", [SMALL_DOMAIN, MIXED], ids=["numeric", "mixed"])
@pytest.mark.parametrize("name", WORST_CASES)
def test_built_in_pairs_are_neighbours_in_their_domain(domain, name):
    pair = worst_case(domain, name)
    sizes = [len(DomainEncoder(domain, invalid="raise").encode(*d).labels) for d in
             (pair.first, pair.second)]  # fmt: skip
    assert sizes[1] == sizes[0] + 1


def test_built_in_pairs_do_what_their_names_say():
    (X, y), _ = (p := worst_case(SMALL_DOMAIN, "a node at the stopping size", 7)).first, p
    assert np.sum(X[:, 0] == 3) == 6
    (X, y), (X2, y2) = (p := worst_case(SMALL_DOMAIN, "a class seen once")).first, p.second
    assert np.sum(y == 1) == 0 and np.sum(y2 == 1) == 1
    (X, y), (X2, y2) = (p := worst_case(SMALL_DOMAIN, "a record that creates a new candidate")
                        ).first, p.second  # fmt: skip
    assert set(X2[:, 0]) - set(X[:, 0]) == {2.0}
    (X, y), _ = (p := worst_case(SMALL_DOMAIN, "ties between classes")).first, p
    assert np.sum(y == 0) == np.sum(y == 1)
    (X, y), _ = (p := worst_case(SMALL_DOMAIN, "duplicates")).first, p
    assert len(np.unique(X, axis=0)) == 1 and len(X) == 40


def test_regression_domains_have_pairs_too_and_others_are_refused():
    features = {"a": (0.0, 1.0)}
    pairs = worst_cases(Domain(features=features, target=(0, 10)))
    assert len(pairs) == len(WORST_CASES)
    with pytest.raises(ParameterError, match="worst cases need labels"):
        worst_cases(Domain(features=features))
    with pytest.raises(ParameterError, match="must be one of"):
        worst_case(SMALL_DOMAIN, "the usual")


def test_a_unit_may_own_several_records():
    unit = DatasetPair([1, 2], [1, 2, 3, 3, 4], records_per_unit=3)
    assert unit.reversed().second == [1, 2] and unit.reversed().records_per_unit == 3
    DatasetPair([1, 2], [1, 2, 3], records_per_unit=3)
    DatasetPair([1, 2, 2], [1, 3, 4], relation="replace_one", records_per_unit=2)
    refused = [
        ([1, 2], [1, 2, 3, 3, 4], "add_remove", 2),
        ([1, 2], [1, 2], "add_remove", 2),
        ([1, 2], [1, 3], "add_remove", 2),
        ([1, 2, 2], [1, 3], "replace_one", 2),
        ([1, 2, 2], [5, 3, 4], "replace_one", 2),
    ]
    for first, second, relation, size in refused:
        with pytest.raises(ParameterError, match="not neighbours under"):
            DatasetPair(first, second, relation=relation, records_per_unit=size)
    with pytest.raises(ParameterError, match="max_records_per_unit"):
        DatasetPair([1], [1, 2], records_per_unit=0)


def test_worst_cases_of_units_differ_in_a_whole_unit():
    for pair in worst_cases(SMALL_DOMAIN, records_per_unit=3):
        assert len(pair.second[1]) - len(pair.first[1]) == 3
        assert pair.name.endswith(", 3 times")


def test_an_estimator_is_not_held_to_larger_units_than_it_claims():
    forest = MultinomialForestClassifier(epsilon=1, domain=SMALL_DOMAIN, max_records_per_unit=2)
    pairs = worst_cases(SMALL_DOMAIN, records_per_unit=3)
    with pytest.raises(ParameterError, match="units of 3 records, but the claim is for 2"):
        audit(forest, pairs, runs=40)
