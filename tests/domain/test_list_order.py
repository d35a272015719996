"""What lists of categories say of their order."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.list_order import ListOrder, list_order
from dpforest.estimators.fit_plan import table_facts

LISTS = {
    ("low", "medium", "high"): ListOrder.TOLD,
    ("high", "medium", "low"): ListOrder.TOLD,
    ("Monday", "Tuesday", "Wednesday"): ListOrder.NOTHING,  # sorted by chance
    ("Monday", "Tuesday", "Wednesday", "Thursday"): ListOrder.TOLD,
    ("C", "B", "A"): ListOrder.TOLD,  # turned round, so that it is no sorted list
    ("A", "B", "C"): ListOrder.PERHAPS,
    ("a", "B", "c", "D"): ListOrder.PERHAPS,
    ("A", "C", "G", "T"): ListOrder.NOTHING,
    ("a", "b", "cc"): ListOrder.NOTHING,
    ("bad", "Good", "medium"): ListOrder.NOTHING,
    ("B", "a", "c"): ListOrder.NOTHING,  # as bytes are sorted
    ("A11", "A12", "A13"): ListOrder.PERHAPS,
    ("A13", "A11", "A12"): ListOrder.TOLD,
    ("1", "2", "10"): ListOrder.PERHAPS,  # as numbers
    ("1", "10", "2"): ListOrder.PERHAPS,  # as texts
    ("-1", "0", "1"): ListOrder.PERHAPS,
    ("3", "2", "1"): ListOrder.TOLD,
    ("1", "2", "more"): ListOrder.NOTHING,
    ("no", "yes"): ListOrder.NOTHING,
    ("yes", "no"): ListOrder.NOTHING,
    ("b",): ListOrder.NOTHING,
}


@pytest.mark.parametrize(("categories", "expected"), LISTS.items(), ids=str)
def test_a_list_says_so_much(categories, expected):
    assert list_order(categories) is expected


def test_the_category_of_all_others_says_nothing():
    colours = ("blue", "red", "yellow", "else")
    assert list_order(colours) is ListOrder.TOLD
    assert list_order(colours, other="else") is ListOrder.NOTHING
    assert list_order(("small", "large", "else"), other="else") is ListOrder.NOTHING


def test_the_category_of_all_others_has_the_place_where_it_is_written():
    sizes = {"categories": ["small", "medium", "large", "else"], "other": "else", "missing": True}
    domain = Domain(features={"size": sizes}, classes=["no", "yes"])
    assert table_facts(DomainEncoder(domain), None).listed_codes(0) == 4


def test_facts_say_it_of_each_feature():
    features = {"age": (0, 90), "size": ["small", "medium", "large"], "code": ["1", "2", "3"]}
    domain = Domain(features=features, classes=["no", "yes"])
    facts = table_facts(DomainEncoder(domain), None)
    assert facts.listed == (ListOrder.NOTHING, ListOrder.TOLD, ListOrder.PERHAPS)
    assert facts.list_orders.tolist() == [0, 2, 1] and facts.list_orders.dtype == np.uint8
