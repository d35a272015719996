"""Values mean to both readers of plain models what they mean to dpforest."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.values import CategoryLookup, meaning_of
from dpforest.plain import reader
from dpforest.plain.reader import SPACE, UNKNOWN, PlainModel
from dpforest.plain.writing import _zeros

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "plain_model.md"
NUMBERS = [
    "0", "1", "01", "-1", "+1", "1.", ".5", "1.5", "-.5e-3", "1e5", "1E5", "1e+5", "1e05", "1e400",
    "-1e400", "1e-400", "1_0", "1_000.000_1", "1e1_0", "00_1", "inf", "-inf", "+Infinity", "INF",
    "iNfInItY", "4.9e-324", "2.5e-324", "1.7976931348623157e308", "1.7976931348623159e308",
    "9007199254740993", "0.1", "123456789012345678901234567890", "1" * 400, "0." + "1" * 800,
    "١", "١٢٫٣", "١_٢", "１２", "1٢", "𝟗", "-٣.٤e٢", "\N{MATHEMATICAL BOLD DIGIT ZERO}",
]  # fmt: skip
TEXTS = [
    "0x10", "0b1", "0o7", "1__0", "_1", "1_", "1_.0", "1._0", "1e_5", "1e5_", "1_e5", "e5", "1e",
    "1e+", ".", "+", "-", "+-1", "--1", "1-", "1 0", "1,5", "1.5.5", "1f", "1d", "1L", "1j", "−1",
    "infinit", "infinityy", "in", "nan(7)", "nan7", "snan", "null", "None", "NA", "NaT",
    "undefined",
    "ınf", "İnf", "naɴ", "fal\u017fe", "TRUE ", " True", "truee", "yes", "a", "A", "é", "e\u0301",
    "½", "²", "Ⅷ", "一", "a\0", "a\0b", "\0a", "1\0", "1\0\0", "1 \0", "1\0 ", "\0", " \0", "\0 ",
    "\ufeff1", "1\ufeff", "\u200b1", "\u180e1", "\x851", "1\x1c", "\xa01\xa0", "\u30001", "1\n",
    "", " ", "\t\n", "nan", "NaN", "-nan", "+NAN", " nan ", "true", "false", "FALSE", "tRuE",
    "𐀀", "1e999999999999", "1e-999999999999", "0e999999999999", "+_1", "1e1.5", "1/2", "1%", "#1",
    "(1+0j)", "(1-0j)", "0j", "-0j", "1j", "-1.5e+300j", "(nan+0j)", "(1+nanj)", "nanj", "infj",
    "(-inf+0j)", "(inf+nanj)", "(1e-05+0j)", "(1e5+0j)", "(1_0+0j)", "(1+0J)", "( 1+0j )", "(1)",
    "(+1+0j)", "1+0j", "(1+0j", "j", "(j)", "(١+0j)", "(1.+0j)", "(1e+400+0j)", "(1+1e+400j)",
    "2020-01-31", "-2020-01-31", "20200-01-31", "20-01-31", "2020-1-31", "2020-01", "2020-99-99",
    "2020-01-31T12", "2020-01-31 12:00", "2020-01-31T12:00:00Z", "2020-01-31 12:00:00.5+01:00",
    "2020-01-31 12:00:00 Europe/Paris", "2020-01-31 12:00:00 +0100", "2020-01-31 x",
    "2020-01-31T", "2020-01-31  12:00", "2020-01-31a", "2020-01-31 12:00:00:00:00", "12:00:00",
    "2020-01-31T12:00 ٣", "٢٠٢٠-01-31", "1 day, 0:00:00", "-1 days +23:59:59", "3 days", "a day",
    "10 days 00:00:00.000001", "1 days 000:00:00", "1 day 1:00", "(2020-01-31)",
]  # fmt: skip


@cache
def everything() -> list[str]:
    return [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


@cache
def characters() -> list[str]:
    """All white space, digits and letters that fold into others, and a sample of the rest."""
    return [
        c for c in everything()
        if c.isspace() or c.isdigit() or c.lower() != c or ord(c) < 0x3000 or ord(c) % 97 == 0
    ]  # fmt: skip


AROUND = ["*1", "1*", "in*", "*nf", "fal*e", "t*ue"]
PLAIN_VALUES = [
    None, True, False, 0, 1, -1, 3, 0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, math.inf, -math.inf,
    math.nan, 10**400, -(10**400), 2**53 + 1, 2**63, 2**64 + 1, 0.1,
]  # fmt: skip


def empty_model(**link: Any) -> dict[str, Any]:
    return {
        "format": "dpforest-plain", "version": 2, "digits": _zeros(),
        "features": [{"name": "x", "kind": "numeric", "numbers": "values"}],
        "score": {}, "link": link,
    }  # fmt: skip


MODEL = PlainModel(empty_model())


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def wrong_meanings(values: list[Any]) -> list[Any]:
    return [value for value in values if not same(MODEL.meaning(value), meaning_of(value))]


def test_values_mean_what_they_mean_to_dpforest():
    assert wrong_meanings([*NUMBERS, *TEXTS, *PLAIN_VALUES]) == []
    assert sum(isinstance(MODEL.meaning(text), float) for text in NUMBERS) == len(NUMBERS) - 1


def test_texts_with_any_character_mean_what_they_mean_to_dpforest():
    # White space, digits of every script, and letters that others fold into ours.
    for text in AROUND:
        assert wrong_meanings([text.replace("*", c) for c in characters()]) == []


PIECES = ["(", ")", "j", "+", "-", "0", "1.5", "nan", "inf", "e+2", "2020-01-31", "T", " ", "12"]
PIECES += [":30", ".5", "Z", "UTC", " days ", "1:00:00"]


@given(
    st.text(st.sampled_from("01_.+-eEinfatyNAN \0\t٣x"), max_size=9)
    | st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
)
def test_random_texts_mean_what_they_mean_to_dpforest(text):
    assert wrong_meanings([text]) == []


def test_the_white_space_of_the_page_is_the_reader_s_and_python_s():
    assert sorted(SPACE) == [c for c in everything() if c.isspace()]
    page = PAGE.read_text(encoding="utf-8")
    named = page.split("White space is ")[1].split(", and nothing else")[0]
    codes: list[int] = []
    for run in named.replace(" and ", ", ").replace("\n", " ").split(", "):
        ends = [int(end.strip()[2:], 16) for end in run.split(" to ")]
        codes.extend(range(ends[0], ends[-1] + 1))
    assert [chr(code) for code in codes] == sorted(SPACE)


def test_digits_are_those_of_python_in_runs_of_ten():
    listed = {chr(ord(zero) + k): k for zero in _zeros() for k in range(10)}
    decimals = {c: unicodedata.decimal(c, None) for c in everything()}
    assert listed == {c: value for c, value in decimals.items() if value is not None}


def test_the_page_s_examples_of_texts_hold():
    rows = [
        line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith('| `"') and line.count("|") == 6
    ]  # fmt: skip
    cells = [(row[1], row[2]) for row in rows] + [(row[4], row[5]) for row in rows]
    assert len(cells) == 16
    for examples, meaning in cells:
        for example in examples.strip().strip("`").split("`, `"):
            value = json.loads(example)
            named = {"missing": None, "infinity": math.inf, "itself": value, "nothing": ""}
            expected = named.get(meaning.strip())
            if expected is None and meaning.strip() != "missing":
                expected = float(meaning)
            assert same(MODEL.meaning(value), expected), example


# -- what a meaning is to a feature -------------------------------------------------------

CATEGORIES = [
    ["red", "green", "blue"], ["1", "2", "3"], ["a", "1.5"], ["True", "False"], ["no", "true"],
    ["inf", "x"], ["٣", "x"], ["1e400", "-inf"], ["0x10", "nan(7)"], ["a", "A", "á", "a\u0301"],
    ["01", "10"], ["-0", "x"],
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::dpforest.LookAlikesWarning")  # of one sign and of two
@pytest.mark.parametrize("categories", CATEGORIES, ids=" ".join)
def test_categories_are_met_by_the_same_values(categories):
    domain = Domain(features={"x": categories}, classes=["no", "yes"])
    feature = domain.features[0]
    positions = not feature.holds_numbers
    lookup = CategoryLookup(feature.categories, unknown=-1, missing=-2, positions=positions)
    content = empty_model()
    content["features"] = [{
        "name": "x", "kind": "categorical", "categories": list(feature.categories),
        "numbers": "positions" if positions else "values",
    }]  # fmt: skip
    model = PlainModel(content)
    tried = [*NUMBERS, *TEXTS, *PLAIN_VALUES, *categories, 2, 2.0, 1.5, "2", "1.9", 2.5]
    for value in tried:
        found = model._read([value])[0]
        code = -2 if found is None else -1 if found is UNKNOWN else found
        assert code == lookup.encode([value])[0], value


def test_numbers_are_read_as_the_encoder_reads_them():
    domain = Domain(features={"x": (-2, 5)}, classes=["no", "yes"])
    encoder = DomainEncoder(domain)
    middle = encoder.encode_features([[1.5]])[0].codes[0, 0]
    for value in [*NUMBERS, *TEXTS, *PLAIN_VALUES]:
        found = MODEL._read([value])[0]
        code = encoder.encode_to_predict([[value]])[0][0, 0]
        if found is None or found is UNKNOWN:
            assert code == middle
        else:
            assert code == encoder.encode_to_predict([[found]])[0][0, 0]


@pytest.mark.parametrize("value", [[1], {"a": 1}, (), b"1", 1j, np.int64(3)])
def test_what_is_no_json_value_is_refused(value):
    with pytest.raises(ValueError, match="null, true, false, numbers and text"):
        MODEL.meaning(value)


def test_a_record_of_another_width_is_refused():
    with pytest.raises(ValueError, match="a record has 1 values, in the order of feature_names"):
        MODEL._read([1, 2])


# -- the same in JavaScript ----------------------------------------------------------------

SCRIPT = """
import { readFileSync } from "node:fs";
import { PlainModel } from "READER";
const [content, values] = JSON.parse(readFileSync(0, "utf8"));
const model = new PlainModel(content);
const meant = values.map((value) => {
  const meaning = model.meaning(value);
  // A text, or the number as text, which JSON cannot always hold.
  return typeof meaning === "number" ? [Object.is(meaning, -0) ? "0" : String(meaning)] : meaning;
});
process.stdout.write(JSON.stringify(meant));
"""


@pytest.fixture(scope="module")
def readers(load_helper) -> Any:
    return load_helper(ROOT / "benchmarks" / "common" / "plain_readers.py")


@pytest.fixture(scope="module")
def in_javascript(readers, tmp_path_factory) -> Any:
    """Meanings of values by the reader in JavaScript."""
    if readers.node() is None:
        pytest.skip(f"there is no Node {readers.OLDEST_NODE} or later on this machine")
    script = tmp_path_factory.mktemp("node") / "meanings.mjs"
    script.write_text(SCRIPT.replace("READER", readers.READER.as_uri()), encoding="utf-8")

    def run(values: list[Any]) -> list[Any]:
        listed = readers.as_json([values])[1:-1]
        text = f"[{json.dumps(empty_model(classes=['no', 'yes']))}, {listed}]"
        found = subprocess.run(
            [readers.node(), str(script)], input=text, capture_output=True, encoding="utf-8"
        )
        assert found.returncode == 0, found.stderr
        meant = json.loads(found.stdout)
        return [float(m[0]) if isinstance(m, list) else m for m in meant]

    return run


def test_javascript_reads_the_same(in_javascript):
    values = [*NUMBERS, *TEXTS, *PLAIN_VALUES]
    values += [text.replace("*", c) for text in AROUND for c in characters()]
    found = in_javascript(values)
    wrong = [v for v, m in zip(values, found, strict=True) if not same(m, meaning_of(v))]
    assert wrong == []


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (pd.DataFrame({"a": [0.5], "w": ["x"]}), r"frame\.values\.tolist"),
        ({"a": 0.5, "w": "x"}, "one list for each record"),
        ("ab", "one list for each record"),
        (None, "one list for each record"),
        ([{"a": 0.5, "w": "x"}], r"record\[name\] for name in model\.feature_names"),
        ([0.5, "x"], r"a single record stands in a list too, \[record\]"),
        (["ab"], "a record is a list of values"),
    ],
)
def test_what_is_no_list_of_records_is_refused_with_what_to_write(records, said):
    with pytest.raises(ValueError, match=said):
        MODEL.predict(records)


def test_the_reader_alone_says_what_it_lacks(tmp_path):
    for words, said in ([], "usage: "), ([str(tmp_path / "none.json")], "none.json"):
        run = subprocess.run(
            [sys.executable, reader.__file__, *words], capture_output=True, text=True, input="[]"
        )
        assert run.returncode == 1 and said in run.stderr and "Traceback" not in run.stderr
