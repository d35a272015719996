"""What a draft may have read otherwise than it was meant, and what it must not call so."""

from __future__ import annotations

import re

import pytest

from dpforest import Domain
from dpforest.domain.doubts import (
    hold_gaps,
    nearly_all_numbers,
    read_as_days,
    read_as_numbers,
    spelt_alike,
)

COMMAS = ["3,5", "4,25", "12,0", "7,75"]


@pytest.mark.parametrize(
    "texts",
    [
        COMMAS,
        [*COMMAS, "8", "-9,5", "10.5"],
        ["1.234,5", "22.345,0", "999.000"],
        ["1 234", "12 345", "1\u00a0234,5"],
        ["1'234", "12’345", "123'456'789"],
        ["12,345.6", "1,234.5", "1,234,567.8"],
        ["12 %", "7%", "99.5 %"],
        ["€ 12,50", "$ 3,99", "€7,00"],
        ["3,5 €", "12 €", "1 $"],
        [*(f"{k},5" for k in range(18)), "unknown", "n/a"],
    ],
)
def test_numbers_that_are_written_otherwise(texts):
    assert read_as_numbers(texts)


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["yes", "no"],
        ["3,5", "4,5"],  # a list to pick from
        ["A,1", "B,2", "C,3"],
        ["1-3", "4-6", "7-9"],
        ["10 to 20", "20 to 30", "30 to 40"],
        ["2024-01-02", "2024-01-03", "2024-01-04"],
        ["1.2.3", "1.2.4", "2.0.0"],
        ["030 123 45", "030 123 46", "040 99 11"],
        [*COMMAS, "north", "south", "east"],
        ["1,2,3", "4,5,6", "7,8,9"],
        [",5", "5,", ","],
    ],
)
def test_texts_that_are_texts(texts):
    assert not read_as_numbers(texts)


def draft_of(values, labels=("no", "yes")):
    rows = [[values[k % len(values)], k % 7] for k in range(40)]
    return Domain.draft(rows, [labels[k % 2] for k in range(40)])


def test_a_draft_names_them_and_a_declared_entry_is_beyond_doubt():
    domain = draft_of(COMMAS)
    assert list(domain.doubts) == ["x0"] and "decimal commas" in domain.doubts["x0"]
    assert "x0: read as texts" in str(domain) and "3,5" not in domain.doubts["x0"]
    declared = domain.confirmed("me", sources={"x0": "the form"})
    assert declared.doubts == {}
    assert draft_of(["north", "south"]).doubts == {}


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        ([*map(str, range(1, 20)), "?"], True),
        ([*(f"{k}.5" for k in range(30)), "n/a", "unknown", " 7 "], True),
        ([*map(str, range(1, 20))], False),
        ([*map(str, range(1, 9)), "X"], False),  # a list to pick from
        ([*map(str, range(1, 20)), "a", "b", "c"], False),
        ([*(f"A{k}" for k in range(30)), "7"], False),
        ([], False),
    ],
)
def test_a_sign_for_a_missing_value_among_numbers(texts, numbers):
    assert nearly_all_numbers(texts) == numbers
    if texts:
        doubts = draft_of(texts).doubts.get("x0", "")
        assert ("nearly all of them are numbers" in doubts) == numbers
        assert "'?'" not in doubts


@pytest.mark.parametrize(
    ("texts", "codes"),
    [
        (["01234", "04109", "80331"], True),
        (["007", "008", "042"], True),
        (["01", "1", "2", "12"], True),  # often with a zero, though of several lengths
        ([" 01", "02 ", None, "", "nan"], True),
        (["01", *map(str, range(1, 31))], False),  # a slip among numbers
        (["10", "20", "0"], False),
        (["0.5", "0.7"], False),
        (["01.5", "02.5"], False),
        (["-01", "-02"], False),
        ([1, 2, "01"], False),
    ],
)
def test_digits_with_leading_zeros_are_drafted_as_categories(texts, codes):
    domain = draft_of(texts)
    assert domain.features[0].kind == ("categorical" if codes else "numeric")
    assert ("some begin with a zero" in domain.doubts.get("x0", "")) == codes
    assert domain.check([[value, 1] for value in texts]).dropped == 0
    if codes:
        assert domain.with_categories("x0") == domain


def test_identifiers_with_leading_zeros_are_doubted_as_numbers():
    rows = [[f"{k:05d}", k % 7] for k in range(400)]
    domain = Domain.draft(rows)
    assert domain.features[0].kind == "numeric" and "of an identifier" in domain.doubts["x0"]


def test_many_codes_with_leading_zeros_are_doubted_as_a_list_that_may_be_cut():
    rows = [[f"{k * k % 9973:05d}", k % 7] for k in range(400)]
    domain = Domain.draft(rows)
    assert len(domain.features[0].categories) == 255
    assert "complete codes from their book" in domain.doubts["x0"]


@pytest.mark.parametrize(
    ("texts", "alike"),
    [
        (["Ja", "ja"], True), (["ja", "ja ", "nein"], True), (["a  b", "A b"], True),
        (["ja", "nein"], False), (["ab", "a b"], False), ([], False),
    ],
)  # fmt: skip
def test_texts_that_differ_in_case_or_blanks_alone(texts, alike):
    assert spelt_alike(texts) == alike
    if alike and len({text.strip() for text in texts[:2]}) == 2:
        assert "spell them alike" in draft_of(["a", "b"], texts).doubts["classes"]


@pytest.mark.parametrize("sign", ["?", "n/a", "NA", " - ", ".", "#N/A"])
def test_signs_for_a_missing_value_among_categories(sign):
    assert hold_gaps(["low", "high", sign])
    doubts = draft_of(["low", "high", sign]).doubts
    assert "allow missing values" in doubts["x0"]
    assert sign.strip() not in doubts["x0"].split() or sign.strip() in ".-"
    # Words that may be an answer, and texts that hold a sign, are no signs.
    assert not hold_gaps(["none", "unknown", "missing", "a-b", "St. John", "n"])
    assert draft_of(["none", "unknown", "some"]).doubts == {}


def test_lost_characters_are_named_wherever_they_are():
    assert "UTF-8" in draft_of(["K\ufffdln", "Bonn"]).doubts["x0"]
    assert "UTF-8" in draft_of(["a", "b"], ("ja", "m\ufffdglich")).doubts["classes"]
    both = draft_of([*COMMAS, "\ufffd 3,5"])
    assert "decimal commas" not in both.doubts["x0"] and "UTF-8" in both.doubts["x0"]
    one = draft_of([*(f"{k},5" for k in range(18)), "\ufffd"]).doubts["x0"]
    assert "decimal commas" in one and "UTF-8" in one


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["17.05.2024", "18.05.2024", "1.6.2024"], True),
        ([*(f"05/{day:02}/2024" for day in range(1, 20)), "unknown"], True),
        (["2024/01/02", "2024/1/3", "2024/01/04 10:00"], True),
        (["17.05.2024", "18.05.2024"], False),  # a list to pick from
        (["1.2.3", "1.2.4", "2.0.0"], False),
        (["17.05.2024", "18.05.2024", "1.6.2024", "north", "south"], False),
    ],
)
def test_texts_that_are_dates(texts, days):
    assert read_as_days(texts) == days
    doubt = draft_of(texts).doubts.get("x0", "")
    assert ("look like dates" in doubt) == days


def test_a_column_of_which_every_record_has_its_own_value():
    def draft(n):
        rows = [[f"note {k}", k % 7] for k in range(n)]
        return Domain.draft(rows, ["no", "yes"] * (n // 2))

    assert "leave it out" in draft(400).doubts["x0"] and not draft(200).doubts
    # It goes by the draft alone, and tells no value.
    assert "note" not in draft(400).doubts["x0"]


def doubt_of_numbers(numbers):
    domain = Domain.draft([[number, k % 7] for k, number in enumerate(numbers)])
    assert domain.doubts == Domain.draft([[n, 0] for n in [*numbers][::-1]]).doubts
    return domain.doubts.get("x0", "")


@pytest.mark.parametrize(
    ("numbers", "identifies"),
    [
        (range(1, 41), True),
        (range(1000, 1400, 10), True),
        ([k for k in range(100) if k % 5], True),  # some are missing
        ([1_000_003 + 7919 * k * k for k in range(40)], True),
        ([*range(1, 40), 1], False),  # one comes twice
        ([*range(1, 40), None], False),
        (range(1, 15), False),  # too few to tell
        ([k * k for k in range(40)], False),
        ([k + 0.5 for k in range(40)], False),
        ([k % 2 for k in range(40)], False),
    ],
)
def test_whole_numbers_that_look_like_an_identifier(numbers, identifies):
    assert ("identifier" in doubt_of_numbers(numbers)) == identifies


def draft_called(name, numbers):
    pd = pytest.importorskip("pandas")
    rows = [{name: number, "dose": k % 7} for k, number in enumerate(numbers)]
    return Domain.draft(pd.DataFrame(rows)).doubts.get(name, "")


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "patient id", "PatientId", "rowID"])
def test_an_identifier_of_persons_with_several_records_is_known_by_its_name(name):
    several = [k // 3 for k in range(100)]
    for numbers in (several, [f"P{number}" for number in several]):
        doubt = draft_called(name, numbers)
        assert "max_records_per_unit" in doubt and "P1" not in doubt
    # Where each record has its own, or there are more than a draft keeps, one doubt says enough.
    for numbers in (range(100), [f"P{number}" for number in range(400)]):
        assert draft_called(name, numbers).count("identifier") == 1
    assert "identifier" not in draft_called(name, [k % 4 for k in range(100)])  # a list
    assert "identifier" not in draft_called(name, [k / 3 for k in range(100)])


@pytest.mark.parametrize("name", ["age", "valid", "paid", "acid", "RAPID", "aid", "idea", "Id1"])
def test_other_names_are_of_no_identifier(name):
    assert "identifier" not in draft_called(name, [k // 3 for k in range(100)])


@pytest.mark.parametrize(
    ("labels", "amounts"),
    [
        ([1000 + 7 * k for k in range(40)], True),
        ([str(1000 + 7 * k) for k in range(40)], True),
        ([k % 26 for k in range(40)], False),
        ([f"L{k}" for k in range(40)], False),
    ],
)
def test_many_whole_numbers_as_labels_may_be_meant_for_a_regression(labels, amounts):
    domain = Domain.draft([[k % 7, 0] for k in range(40)], labels)
    assert ("regression" in domain.doubts.get("classes", "")) == amounts
    assert "1007" not in domain.doubts.get("classes", "")


AGES = [18 + k % 60 for k in range(100)]


@pytest.mark.parametrize(
    ("numbers", "bounds"),
    [
        ([*AGES, 999], "upper may stand"),
        ([*AGES, 9999.0, 9999.0], "upper may stand"),
        ([1, 2, 3, 4, 9] * 9, "upper may stand"),
        ([*AGES, -1], "lower may stand"),
        ([*AGES, -9, 999], "lower and upper may stand"),
        ([*(k - 30 for k in AGES), -999], "lower may stand"),
        ([k + 0.5 for k in AGES] + [999], "upper may stand"),
        ([*AGES, 99], ""),  # as far as others are from one another
        ([*AGES, 998], ""),
        ([*range(-5, 20)] * 2, ""),
        ([0, 9] * 20, ""),
        (AGES, ""),
    ],
)
def test_a_number_far_from_all_others_may_stand_for_a_missing_one(numbers, bounds):
    said = doubt_of_numbers(numbers)
    assert bounds in said if bounds else "may stand" not in said
    assert "999" not in said


def test_marks_of_numbers_go_with_their_bounds_and_once_an_entry_is_declared():
    domain = Domain.draft([[k % 50, k, 999 if k == 3 else k % 50] for k in range(100)])
    assert set(domain.doubts) == {"x1", "x2"}
    assert Domain.from_json(domain.to_json()) == domain
    mended = domain.features[2].model_copy(update={"upper": 60.0})
    assert mended.drafted.far is None and mended.drafted.lower == 0
    assert domain.without_marks().doubts == {}
    with pytest.warns(UserWarning, match="still the draft's"):
        declared = domain.confirmed("me", sources=dict.fromkeys(domain.feature_names, "a book"))
    for done in (declared, domain.without_marks()):
        assert not {"far", "identifies"} & set(re.findall(r"\w+", done.to_json()))
    assert domain.fingerprint() == domain.without_marks().fingerprint()


def test_categories_that_look_the_same_are_a_doubt():
    texts = ["caf\xe9", "cafe\u0301", "tea"] * 5
    draft = Domain.draft([[text] for text in texts], [0, 1, 1] * 5)
    assert "look the same" in draft.doubts["x0"]
