"""Plain files of anybody: refused with our own error, or followed without one."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dpforest import read_plain
from dpforest.exceptions import ModelFormatError

FEATURES = [
    {"name": "age", "kind": "numeric", "numbers": "values", "edges": [1.5, 2.5]},
    {"name": "sex", "kind": "categorical", "numbers": "positions", "categories": ["f", "m"]},
    {"name": "pay", "kind": "numeric", "numbers": "values"},
]
SPLIT = {"missing": "left", "unknown": "right", "left": 1, "right": 2}
TABLE = {"feature": 0, "places": [0, 1, 2], "missing": 2, "unknown": 1}
TREES = {
    "kind": "trees", "columns": [1], "base": [0.5],
    "start": [
        {"feature": 1, "places": [[0.1], [0.2]], "missing": [0.3], "unknown": [0]},
        {"feature": 0, "places": [[0.1], [0.2], [0.3]], "missing": [0.0], "unknown": [0.0]},
    ],
    "trees": [
        [{"feature": 2, "threshold": 1.5, **SPLIT}, {"values": [1]}, {"values": [2.5]}],
        [{"feature": 1, "categories": [0], **SPLIT}, {"values": [1.0]},
         {"feature": 0, "threshold": None, **SPLIT, "left": 3, "right": 4}, {"values": [0.0]},
         {"values": [-1.0]}],
        [{"values": [0.25]}],
    ],
}  # fmt: skip
RULES = {
    "kind": "rules", "steepness": 20.0, "hard_weight": 2.0,
    "nodes": [
        {"sum": [TABLE], "threshold": 1, "width": 3, "left": 1, "right": 2},
        {"probabilities": [0.25, 0.75]}, {"probabilities": [1.0, 1e-5]},
    ],
}  # fmt: skip
MIX = {"kind": "mix", "base": [0.1, 0.2], "weights": [0.5, 1], "parts": [RULES, TREES]}
SHARES = {
    "kind": "trees", "columns": [0, 1], "base": [0.0, 0.0], "start": None,
    "trees": [[{"feature": 2, "threshold": 0.5, **SPLIT}, {"values": [0.5, 0]},
               {"values": [0, 0.5]}]],
}  # fmt: skip
TWO = {"kind": "softmax", "classes": ["ill", "well"]}


def model(score: Any, link: Any) -> dict[str, Any]:
    content = {
        "format": "dpforest-plain", "version": 2, "digits": "0\u0660", "features": FEATURES,
        "score": score, "link": link,
    }  # fmt: skip
    return copy.deepcopy(content)


MODELS = {
    "trees": model(TREES, {"kind": "mean", "range": [-1.0, 4]}),
    "rules": model(RULES, TWO),
    "mix": model({**MIX, "parts": [{**RULES, "steepness": None}, TREES]}, TWO),
    "shares": model(SHARES, {"kind": "shares", "classes": [1, True]}),
}
RECORDS = [[1, "f", 3], [None, None, None], ["?", "?", "?"], [1e308, 1, -1e308], ["inf", 7, "-inf"]]
WRONG = [
    None, True, -1, 0, 1, 2, 10**300, 10**399, 1e308, -1e308, 0.5, "", "x", "left", "00",
    "\u0660\u0661", "trees", [], [[]], [0], [1.5, 2.5], ["f", "f"], ["nan", " "], {},
    {"values": []}, {"kind": "trees"}, {"kind": "mix", "base": [0, 0], "weights": [], "parts": []},
    TREES, RULES, TWO,
]  # fmt: skip


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything within."""
    inner = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def holder(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        content = content[key]
    return content


def outcome(content: Any) -> str:
    """What reading and predicting end in; anything but our own refusal is an error here."""
    try:
        found = read_plain(json.dumps(content))
    except ModelFormatError as error:
        assert "to_plain()" in str(error)
        return "refused"
    records = [record[: len(found.feature_names)] for record in RECORDS]
    assert len(found.predict(records)) == len(records)
    if found.classes is not None:
        assert all(len(row) == len(found.classes) for row in found.predict_proba(records))
    return "read"


@pytest.mark.parametrize("name", MODELS)
def test_models_are_read_as_they_are(name):
    assert outcome(MODELS[name]) == "read"


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_put_in_a_place_is_refused_or_followed(name):
    found = {"refused": 0, "read": 0}
    for path in places(MODELS[name]):
        for wrong in WRONG:
            content = copy.deepcopy(MODELS[name])
            holder(content, path)[path[-1]] = wrong
            found[outcome(content)] += 1
    assert found["refused"] > 5 * found["read"] > 0


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_left_out_or_added_is_refused(name):
    for path in places(MODELS[name]):
        content = copy.deepcopy(MODELS[name])
        inner = holder(content, path)
        del inner[path[-1]]
        if isinstance(inner, dict) and path[-1] != "edges":
            assert outcome(content) == "refused", path
        outcome(content)
        if isinstance(inner, dict):
            content = copy.deepcopy(MODELS[name])
            holder(content, path)["more"] = 1
            assert outcome(content) == "refused", path


def changed(name: str, *path: Any, to: Any) -> dict[str, Any]:
    content = copy.deepcopy(MODELS[name])
    holder(content, path)[path[-1]] = to
    return content


LEAF = {"values": [1.0]}
ROOT = {"feature": 2, "threshold": 1.5, **SPLIT}


@pytest.mark.parametrize(("content", "rule"), [
    (changed("trees", "version", to=1), "of version 1, which does not say whether a number"),
    (changed("trees", "version", to=3), "not of version 2"),
    (changed("trees", "version", to=True), "not of version 2"),
    (changed("trees", "version", to=2.0), "not of version 2"),
    (changed("trees", "format", to="dpforest-model"), "not a dpforest-plain"),
    (changed("trees", "digits", to="0\u0665"), None),
    (changed("trees", "digits", to="01"), "ten apart"),
    (changed("trees", "digits", to="\u0660"), "with a 0"),
    (changed("trees", "features", 0, "edges", to=[2.5, 1.5]), "in feature 0, edges must rise"),
    (changed("trees", "features", 0, "edges", to=[1.5, 1.5]), "edges must rise"),
    (changed("trees", "features", 0, "edges", to=[1.5]), "places must have 2 entries"),
    (changed("trees", "features", 0, "name", to="sex"), "names of features must differ"),
    (changed("trees", "features", 0, "numbers", to="positions"), "numbers must be 'values'"),
    (changed("trees", "features", 1, "categories", to=["1", "true"]), "must differ in meaning"),
    (changed("trees", "features", 1, "categories", to=["\u0661", "1"]), "must differ in meaning"),
    (changed("trees", "features", 1, "categories", to=["f", "NaN"]), "must differ in meaning"),
    (changed("trees", "features", 1, "categories", to=["f", 1]), "categories must hold texts"),
    (changed("trees", "link", "range", to=[4, -1.0]), "range must rise"),
    (changed("rules", "link", "classes", to=["a", "a"]), "labels that differ"),
    (changed("rules", "link", "classes", to=["a", None]), "labels that differ"),
    (changed("rules", "link", "classes", to=["a", 10**399]), "labels that differ"),
    (changed("trees", "score", "columns", to=[2]), "a column must be a whole number from 0 to 1"),
    (changed("shares", "score", "columns", to=[1, 1]), "columns must differ"),
    (changed("trees", "score", "trees", 0, to=[ROOT, LEAF]), "children must come after"),
    (changed("trees", "score", "trees", 0, to=[{**ROOT, "left": 2}, LEAF, LEAF]), "one parent"),
    (changed("trees", "score", "trees", 0, to=[ROOT, LEAF, LEAF, LEAF]), "must have a parent"),
    (changed("trees", "score", "trees", 0, 0, "left", to=0), "in tree 0, in node 0, left must be"),
    (changed("trees", "score", "trees", 1, 2, "right", to=2), "children must come after"),
    (changed("trees", "score", "trees", 0, 0, "feature", to=1), "has no threshold"),
    (changed("trees", "score", "trees", 1, 0, "categories", to=[2]), "whole number from 0 to 1"),
    (changed("trees", "score", "trees", 1, 0, "feature", to=2), "whole number from 0 to -1"),
    (changed("trees", "score", "trees", 0, 1, "values", to=[1, 2]), "values must have 1 entries"),
    (changed("trees", "score", "trees", 0, 1, "values", to=[10**399]), "must be a number"),
    (changed("trees", "score", "start", 1, "feature", to=2), "its feature must have edges"),
    (changed("rules", "score", "nodes", 1, "probabilities", to=[0, 1]), "a probability must be"),
    (changed("rules", "score", "nodes", 0, "width", to=0), "width must be a whole number"),
    (changed("rules", "score", "nodes", 0, "threshold", to=1.0), "threshold must be a whole"),
    (changed("rules", "score", "steepness", to=1e300), "steepness must be a number from"),
    (changed("mix", "score", "parts", 0, to=MIX), "the kind of score must be"),
    (changed("mix", "score", "weights", to=[1]), "weights must have 2 entries"),
    (changed("shares", "score", "trees", 0, 1, "values", to=[0, 0]), "must not all be 0"),
    (changed("shares", "score", "trees", to=[]), "shares need a tree"),
    (changed("shares", "score", to=RULES), "shares must be of trees"),
    (changed("shares", "score", "base", to=[-1, 0]), "each entry of base"),
])  # fmt: skip
def test_what_breaks_the_format_is_named(content, rule):
    if rule is None:
        assert outcome(content) == "read"
        return
    with pytest.raises(ModelFormatError, match=rule):
        read_plain(json.dumps(content))


def test_texts_that_are_no_model_are_refused(tmp_path):
    good = json.dumps(MODELS["trees"])
    for text, rule in [
        ("{", "it is not JSON"),
        ("{}", "not a dpforest-plain"),
        (str(tmp_path / "absent.json"), "there is none"),
        (good.replace('"digits"', '"version": 2, "digits"'), "the key 'version' occurs twice"),
        ('{"a":' * 100_000, "nested deeper than 100 levels"),
        (good.replace("0.25", "1e999"), "a number is too large"),
        (good.replace("0.25", "NaN"), "NaN is not a JSON number"),
        (good.replace("0.25", "9" * 5000), "more than 400 digits"),
        (good.replace('"sex"', '"\\ud800"'), "half of a character"),
    ]:
        with pytest.raises(ModelFormatError, match=rule):
            read_plain(text)
    with pytest.raises(ModelFormatError, match="neither a path nor JSON text"):
        read_plain(7)


def test_a_deep_tree_is_followed_without_recursion():
    depth = 50_000
    chain = [{**ROOT, "left": 2 * k + 1, "right": 2 * k + 2} for k in range(depth)]
    nodes = [node for split in chain for node in (split, LEAF)]
    content = changed("trees", "score", "trees", to=[[*nodes, LEAF]])
    found = read_plain(json.dumps(content))
    assert found.predict([[1, 0, 9]]) == read_plain(
        json.dumps(changed("trees", "score", "trees", to=[[LEAF]]))
    ).predict([[1, 0, 9]])


def test_a_model_of_many_trees_is_read(tmp_path):
    """A hundred deep trees of three classes have 80 megabytes; reports and domains are shorter."""
    text = json.dumps(MODELS["rules"])
    long = text.replace("{", "{" + " " * 2**26, 1)
    (tmp_path / "model.json").write_text(long, encoding="utf-8")
    for source in (long, tmp_path / "model.json"):
        assert read_plain(source).classes == ["ill", "well"]


def test_a_path_is_read(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(MODELS["rules"]), encoding="utf-8")
    for source in (path, str(path)):
        assert read_plain(source).classes == ["ill", "well"]
