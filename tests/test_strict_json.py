"""The one reader of JSON: it reads what JSON says, and hostile text ends in the caller's error."""

from __future__ import annotations

import ast
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.strict_json import FILES, LIMITS, Limits, other_file, parse_object, read_object

PACKAGE = Path(__file__).resolve().parent.parent / "dpforest"
#: Names that no file has for its form: of a part of a page, of a digest, and of a part of a model.
NO_FILES = {"dpforest-audits", "dpforest-plan", "dpforest-rules"}


class RefusedError(Exception):
    """The caller's own error."""


def read(text: str, limits: Limits = LIMITS):
    return parse_object(text, RefusedError, limits)


def values():
    whole = st.integers(-(10**30), 10**30)
    finite = st.floats(allow_nan=False, allow_infinity=False)
    texts = st.text(st.characters(codec="utf-8"))
    return st.recursive(
        st.none() | st.booleans() | whole | finite | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=30,
    )


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), values()), st.booleans())
def test_whatever_json_writes_is_read_as_it_was(data, escaped):
    text = json.dumps(data, ensure_ascii=escaped)
    found = read(text)
    assert found == data and json.dumps(found) == json.dumps(data)


@given(st.text("{}[]\",:\\'0123456789eE+-.tfnulNaI\n\t ud8"))
def test_any_text_is_read_as_json_says_or_refused(text):
    try:
        found = read(text)
    except RefusedError:
        return
    assert found == json.loads(text)


def nested(depth: int, one: str = "[") -> str:
    close = {"[": "]", '{"a":': "}"}[one]
    return '{"a":' + one * (depth - 1) + "1" + close * (depth - 1) + "}"


HOSTILE = {
    "lists": (nested(100_000), "nested deeper than 100 levels"),
    "objects": (nested(100_000, '{"a":'), "nested deeper than 100 levels"),
    "one too many": (nested(101), "nested deeper than 100 levels"),
    "opened and never closed": ('{"a":' + "[" * 10**6, "nested deeper than 100 levels"),
    "after a closed one": ('{"a":' + "[]," * 200 + "[" * 200, "nested deeper than 100 levels"),
    "brackets behind a string": ('{"\\"}]":' + "[" * 200, "nested deeper than 100 levels"),
    "digits": ('{"a":' + "1" * 5000 + "}", "a number has more than 400 digits"),
    "digits below zero": ('{"a":-' + "1" * 401 + "}", "a number has more than 400 digits"),
    "exponent": ('{"a":1e999999999}', "a number is too large"),
    "exponent below zero": ('{"a":-1e400}', "a number is too large"),
    "nan": ('{"a":NaN}', "NaN is not a JSON number"),
    "infinity": ('{"a":Infinity}', "Infinity is not a JSON number"),
    "below infinity": ('{"a":-Infinity}', "-Infinity is not a JSON number"),
    "key twice": ('{"a":1,"b":{"c":1,"d":2,"c":1}}', "the key 'c' occurs twice"),
    "long key twice": ('{"%s":1,"%s":2}' % (("k" * 300,) * 2), "the key occurs twice"),  # noqa: UP031
    "half of a character": ('{"a":"\\ud800"}', "a string holds half of a character"),
    "half of a key": ('{"\udfff":1}', "a string holds half of a character"),
    "no object": ("[1]", "it is not a JSON object"),
    "nothing": ("", "it is not JSON"),
    "digits of another script": ('{"a":१}', "it is not JSON"),
    "underscore": ('{"a":1_0}', "it is not JSON"),
    "strings never closed": ('{"a":"' + '\\"' * 10**6, "it is not JSON"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_ends_in_our_error_fast(name):
    text, rule = HOSTILE[name]
    begin = time.process_time()
    with pytest.raises(RefusedError, match=rule):
        read(text)
    assert time.process_time() - begin < 2


def test_what_is_within_the_limits_is_read():
    assert read(nested(100))["a"]
    assert read('{"a":' + "1" * 400 + "}") == {"a": int("1" * 400)}
    brackets = '{"a":["' + "[{" * 500 + '","\\"' + "[" * 500 + '"]}'
    assert len(read(brackets)["a"]) == 2
    wide = '{"a":[' + ",".join(["[[]]"] * 500) + "]}"
    assert len(read(wide)["a"]) == 500
    assert read('{"a":"\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_sizes_are_limited_before_anything_is_read(tmp_path):
    small = Limits(size=20)
    path = tmp_path / "large.json"
    path.write_text('{"a":' + "1" * 30 + "}")
    with pytest.raises(RefusedError, match="longer than 20 characters"):
        read(path.read_text(), small)
    with pytest.raises(RefusedError, match="longer than 20 bytes"):
        read_object(path, RefusedError, small)
    if Path("/dev/zero").exists():  # no end, and no size
        with pytest.raises(RefusedError, match="longer than 20 bytes"):
            read_object("/dev/zero", RefusedError, small)


def test_a_file_or_a_text(tmp_path):
    path = tmp_path / "one.json"
    path.write_text('{"a": "ä"}', encoding="utf-8")
    for given_ in (path, str(path), ' \n{"a": "ä"}'):
        assert read_object(given_, RefusedError) == {"a": "ä"}
    path.write_bytes(b'{"a": "\xe4"}')
    with pytest.raises(RefusedError, match=r"one.json' cannot be read \(it is no text in UTF-8\)"):
        read_object(path, RefusedError)
    for given_, rule in (
        (tmp_path, "it is a folder"),
        (tmp_path / "none", "there is none"),
        ("a\0b", "ValueError"),
        ("x" * 10_000, "OSError"),
    ):
        with pytest.raises(RefusedError, match=rf"cannot be read \({rule}\)"):
            read_object(given_, RefusedError)
    for given_ in (7, None, b"{}", {"a": 1}):
        with pytest.raises(RefusedError, match="is neither a path nor JSON text"):
            read_object(given_, RefusedError)
    with pytest.raises(RefusedError, match="a bytes is not JSON text"):
        parse_object(b"{}", RefusedError)


# -- files of ours ------------------------------------------------------------------------------


def named_in(path):
    """Names of forms that a source has."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    return {text for text in texts if re.fullmatch(r"dpforest-[a-z-]*[a-z]", str(text))}


def test_every_form_of_our_files_has_words():
    sources = set(PACKAGE.rglob("*.py")) - {PACKAGE / "strict_json.py"}
    assert set().union(*map(named_in, sources)) == FILES.keys() | NO_FILES
    assert len({*FILES.values()}) == len(FILES)


@pytest.mark.parametrize("form", FILES)
def test_another_file_of_ours_is_told_from_what_is_none(form):
    other = "dpforest-model" if form == "dpforest-report" else "dpforest-report"
    assert other_file({"format": form}, other) == FILES[form]
    assert other_file({"format": form}, form) == ""


@pytest.mark.parametrize("found", [{}, {"format": ["x"]}, {"format": "theirs"}, {"format": None}])
def test_what_is_no_file_of_ours_has_no_words(found):
    assert other_file(found, "dpforest-model") == ""
