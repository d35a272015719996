"""Few whole numbers in a draft: they may be codes, so the draft says so and offers both."""

from __future__ import annotations

import pytest

from dpforest.domain import Domain
from dpforest.exceptions import DomainError

ROWS = [[1 + i % 2, i % 3 if i % 5 else None, i, i / 2, "a"] for i in range(60)]


def draft():
    return Domain.draft(ROWS, [i % 2 for i in range(60)])


def test_columns_of_few_whole_numbers_are_named():
    domain = draft()
    assert domain.may_be_codes == {"x0": ("1", "2"), "x1": ("0", "1", "2")}
    assert domain.features[0].kind == "numeric"
    text = " ".join(str(domain).split())
    assert "may be codes of categories: x0 (1, 2); x1 (0, 1, 2)" in text
    assert "domain.with_categories('x0', 'x1')" in text
    assert "may be codes" not in repr(domain) and "'1'" not in repr(domain)


def test_both_ways_are_offered():
    domain = draft()
    other = domain.with_categories("x1")
    feature = other.features[1]
    assert feature.categories == ("0", "1", "2") and feature.missing
    assert feature.status == "drafted" and other.may_be_codes == {"x0": ("1", "2")}
    assert other.features[0] == domain.features[0]
    assert other.check(ROWS).dropped == 0
    assert "with_categories('x0')" in str(other)
    assert Domain.from_json(domain.to_json()) == domain
    for name in ("x2", "classes", "nothing"):
        with pytest.raises(DomainError, match="no drafted column of few whole numbers"):
            domain.with_categories(name)


@pytest.mark.parametrize("rows", [[[1]] * 60, [[i % 2] for i in range(7)], [[i % 13] for i in
                                  range(60)], [[i % 2 + 0.5] for i in range(60)]])  # fmt: skip
def test_other_columns_are_not(rows):
    assert Domain.draft(rows).may_be_codes == {}


def test_nothing_of_it_stays_once_the_entry_is_declared():
    domain = draft()
    sources = dict.fromkeys([*domain.feature_names, "classes"], "codebook")
    with pytest.warns(UserWarning, match="still the draft's"):
        declared = domain.confirmed("A", sources=sources)
    assert declared.may_be_codes == {} and "codes" not in declared.to_json()
    assert domain.without_marks().may_be_codes == {}
    assert "codes" not in domain.without_marks().to_json()
    assert domain.fingerprint() == domain.without_marks().fingerprint()
