"""Plain models read from files that anybody may have written: checked whole, then followed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from dpforest.exceptions import ModelFormatError
from dpforest.plain.reader import FORMAT, VERSION, PlainModel
from dpforest.strict_json import MODEL_LIMITS, read_object

#: Whole numbers up to here are exact in every language.
_LARGEST_WHOLE = 2**53
_LARGEST = sys.float_info.max
_REPAIR = "Write it again with to_plain()."


def read_plain(source: str | PathLike[str]) -> PlainModel:
    """Read a model that ``to_plain`` wrote.

    Parameters
    ----------
    source : str or path
        The file, or the text itself.

    Returns
    -------
    PlainModel
        With ``predict`` and ``predict_proba`` for lists of values; see docs/plain_model.md.

    Raises
    ------
    ModelFormatError
        Not such a file, of another version, or anything in it that the format does not allow.

    Notes
    -----
    **Claim**: whatever a text holds, this or nothing is raised, and what is returned predicts
    without an error. **Tests**: tests/estimators/test_plain_check.py.
    """
    content = read_object(source, _unreadable, MODEL_LIMITS)
    _check_version(content)
    try:
        _Checker().model(content)
    except _BrokenError as error:
        raise ModelFormatError(f"the plain model is damaged: {error}. {_REPAIR}") from None
    return PlainModel(content)


def _unreadable(rule: str) -> ModelFormatError:
    return ModelFormatError(f"{rule}. Give the path that to_plain() wrote to, or its text.")


def _check_version(content: dict[str, Any]) -> None:
    if content.get("format") != FORMAT:
        raise ModelFormatError(f"not a {FORMAT}. Give what to_plain() wrote.")
    version = content.get("version")
    if version == 1 and type(version) is int:
        raise ModelFormatError(
            "the plain model is of version 1, which does not say whether a number stands for the "
            f"category at its position, so it could be read wrongly. {_REPAIR}"
        )
    if version != VERSION or type(version) is not int:
        raise ModelFormatError(f"the plain model is not of version {VERSION}. {_REPAIR}")


class _BrokenError(Exception):
    """Breach of a rule of the format, and its place."""


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise _BrokenError(rule)


def _object(value: Any, name: str, keys: str, optional: str = "") -> None:
    """An object with exactly these keys."""
    _require(isinstance(value, dict), f"{name} must be an object")
    needed, known = set(keys.split()), set(f"{keys} {optional}".split())
    _require(needed <= value.keys() <= known, f"{name} must have the keys {keys}")


def _list(value: Any, name: str, length: int | None = None) -> None:
    _require(isinstance(value, list), f"{name} must be a list")
    if length is not None:
        _require(len(value) == length, f"{name} must have {length} entries")


def _number(value: Any, name: str, low: float = -_LARGEST, high: float = _LARGEST) -> None:
    fits = type(value) in (int, float) and low <= value <= high
    wide = (low, high) == (-_LARGEST, _LARGEST)
    _require(fits, f"{name} must be a number" + ("" if wide else f" from {low:g} to {high:g}"))


def _numbers(value: Any, name: str, length: int | None = None, low: float = -_LARGEST) -> None:
    _list(value, name, length)
    for entry in value:
        _number(entry, f"each entry of {name}", low)


def _whole(value: Any, name: str, low: int = -_LARGEST_WHOLE, high: int = _LARGEST_WHOLE) -> None:
    fits = type(value) is int and low <= value <= high
    _require(fits, f"{name} must be a whole number from {low} to {high}")


def _one_of(value: Any, name: str, *choices: str) -> None:
    listed = " or ".join(repr(choice) for choice in choices)
    _require(isinstance(value, str) and value in choices, f"{name} must be {listed}")


def _texts(value: Any, name: str) -> None:
    _list(value, name)
    _require(bool(value) and all(isinstance(v, str) for v in value), f"{name} must hold texts")


def _each(values: Iterable[Any], name: str, check: Callable[[Any], None]) -> None:
    """Check every entry, and say which one breaks a rule."""
    for place, value in enumerate(values):
        try:
            check(value)
        except _BrokenError as error:
            raise _BrokenError(f"in {name} {place}, {error}") from None


class _Checker:
    """Checks the parts of a model against one another."""

    def model(self, content: Any) -> None:
        """The whole of it."""
        _object(content, "the model", "format version digits features score link")
        self._check_digits(content["digits"])
        _list(content["features"], "features")
        _require(bool(content["features"]), "features must not be empty")
        _each(content["features"], "feature", self._check_feature)
        self._features = content["features"]
        names = {feature["name"] for feature in self._features}
        _require(len(names) == len(self._features), "the names of features must differ")
        self._check_link(content["link"])
        self._check_score(content["score"], "trees", "rules", "mix")
        self._check_meanings(PlainModel(content))

    def _check_digits(self, digits: Any) -> None:
        _require(isinstance(digits, str) and "0" in digits, "digits must be a text with a 0")
        places = sorted(map(ord, digits))
        apart = all(b - a >= 10 for a, b in zip(places, places[1:], strict=False))
        _require(apart, "the characters of digits must be ten apart at least")

    def _check_feature(self, feature: Any) -> None:
        _require(isinstance(feature, dict), "it must be an object")
        _one_of(feature.get("kind"), "kind", "numeric", "categorical")
        if feature["kind"] == "numeric":
            _object(feature, "it", "name kind numbers", "edges")
            _one_of(feature["numbers"], "numbers", "values")
            edges = feature.get("edges", [])
            _numbers(edges, "edges")
            rises = all(a < b for a, b in zip(edges, edges[1:], strict=False))
            _require(rises, "edges must rise")
        else:
            _object(feature, "it", "name kind numbers categories")
            _one_of(feature["numbers"], "numbers", "values", "positions")
            _texts(feature["categories"], "categories")
        _require(isinstance(feature["name"], str), "name must be text")

    def _check_meanings(self, model: PlainModel) -> None:
        """Check that every category can be met."""
        for feature in self._features:
            found = {model.meaning(category) for category in feature.get("categories", [])}
            whole = len(found) == len(feature.get("categories", [])) and None not in found
            _require(whole, f"the categories of {feature['name']!r} must differ in meaning")

    def _check_link(self, link: Any) -> None:
        _require(isinstance(link, dict), "link must be an object")
        _one_of(link.get("kind"), "the kind of link", "softmax", "shares", "mean")
        self._shares, self._n_columns = link["kind"] == "shares", 2
        if link["kind"] == "mean":
            _object(link, "link", "kind range")
            _numbers(link["range"], "range", 2)
            _require(link["range"][0] < link["range"][1], "range must rise")
            return
        _object(link, "link", "kind classes")
        _list(link["classes"], "classes")
        labels = {(type(label), label) for label in link["classes"] if _is_label(label)}
        _require(2 <= len(labels) == len(link["classes"]), "classes must be labels that differ")
        self._n_columns = len(labels)

    def _check_score(self, score: Any, *kinds: str) -> None:
        _require(isinstance(score, dict), "score must be an object")
        _one_of(score.get("kind"), "the kind of score", *kinds)
        # Shares are divided by their sum, which must not be 0.
        _require(score["kind"] == "trees" or not self._shares, "shares must be of trees")
        {"trees": self._check_trees, "rules": self._check_rules, "mix": self._check_mix}[
            score["kind"]
        ](score)

    def _check_mix(self, score: Any) -> None:
        _object(score, "a mix", "kind base weights parts")
        _numbers(score["base"], "base", self._n_columns)
        _list(score["parts"], "parts")
        _numbers(score["weights"], "weights", len(score["parts"]))
        _each(score["parts"], "part", lambda part: self._check_score(part, "trees", "rules"))

    def _check_trees(self, score: Any) -> None:
        _object(score, "trees", "kind columns base start trees")
        columns = score["columns"]
        _list(columns, "columns")
        for column in columns:
            _whole(column, "a column", 0, self._n_columns - 1)
        _require(0 < len(set(columns)) == len(columns), "columns must differ")
        self._width = len(columns)
        _numbers(score["base"], "base", self._width, 0.0 if self._shares else -_LARGEST)
        if score["start"] is not None:
            _list(score["start"], "start")
            _each(score["start"], "table", lambda table: self._check_table(table, self._values))
        _list(score["trees"], "trees")
        _require(bool(score["trees"]) or not self._shares, "shares need a tree")
        _each(score["trees"], "tree", lambda nodes: self._check_nodes(nodes, self._check_node))

    def _check_rules(self, score: Any) -> None:
        _object(score, "rules", "kind steepness hard_weight nodes")
        if score["steepness"] is not None:
            _number(score["steepness"], "steepness", 0.001, 1000.0)
        _number(score["hard_weight"], "hard_weight", 0.001, 1000.0)
        self._check_nodes(score["nodes"], self._check_rule)

    def _check_nodes(self, nodes: Any, check: Callable[[Any], None]) -> None:
        """A tree as a list: every node but the first has one parent, which stands before it."""
        _list(nodes, "nodes")
        _require(bool(nodes), "nodes must not be empty")
        _each(nodes, "node", check)
        parents: dict[int, int] = {}
        for place, node in enumerate(nodes):
            for child in (node["left"], node["right"]) if "left" in node else ():
                _require(place < child < len(nodes), "children must come after their parent")
                _require(child not in parents, "a node must have one parent")
                parents[child] = place
        _require(len(parents) == len(nodes) - 1, "a node must have a parent")

    def _check_node(self, node: Any) -> None:
        _require(isinstance(node, dict), "it must be an object")
        if "values" in node:
            _object(node, "a leaf", "values")
            self._values(node["values"], "values")
            return
        rule = "categories" if "categories" in node else "threshold"
        _object(node, "a split", f"feature {rule} missing unknown left right")
        feature = self._feature(node["feature"])
        self._check_split(node, feature)
        for side in ("missing", "unknown"):
            _one_of(node[side], side, "left", "right")
        self._check_children(node)

    def _check_split(self, node: Any, feature: Any) -> None:
        if "categories" in node:
            n_categories = len(feature.get("categories", []))
            _list(node["categories"], "categories")
            for place in node["categories"]:
                _whole(place, "the position of a category", 0, n_categories - 1)
            return
        _require(feature["kind"] == "numeric", "a categorical feature has no threshold")
        if node["threshold"] is not None:
            _number(node["threshold"], "threshold")

    def _check_children(self, node: Any) -> None:
        for child in ("left", "right"):
            _whole(node[child], child, 1)

    def _check_rule(self, node: Any) -> None:
        _require(isinstance(node, dict), "it must be an object")
        if "probabilities" in node:
            _object(node, "a leaf", "probabilities")
            _list(node["probabilities"], "probabilities", self._n_columns)
            for share in node["probabilities"]:
                _number(share, "a probability", sys.float_info.min, 1.0)
            return
        _object(node, "a rule", "sum threshold width left right")
        _list(node["sum"], "sum")
        _each(node["sum"], "table", lambda table: self._check_table(table, self._whole_value))
        _whole(node["threshold"], "threshold")
        _whole(node["width"], "width", 1)
        self._check_children(node)

    def _check_table(self, table: Any, check: Callable[[Any, str], None]) -> None:
        """Check a feature's scores: one entry for every cell or category, and two more."""
        _object(table, "a table", "feature places missing unknown")
        feature = self._feature(table["feature"])
        numeric = feature["kind"] == "numeric"
        _require(not numeric or "edges" in feature, "its feature must have edges")
        n_places = len(feature["edges"]) + 1 if numeric else len(feature["categories"])
        _list(table["places"], "places", n_places)
        for entry in (*table["places"], table["missing"], table["unknown"]):
            check(entry, "an entry of a table")

    def _feature(self, place: Any) -> Any:
        _whole(place, "feature", 0, len(self._features) - 1)
        return self._features[place]

    def _values(self, value: Any, name: str) -> None:
        _numbers(value, name, self._width, 0.0 if self._shares else -_LARGEST)
        _require(not self._shares or max(value) > 0, f"{name} must not all be 0")

    def _whole_value(self, value: Any, name: str) -> None:
        _whole(value, name)


def _is_label(label: Any) -> bool:
    if type(label) in (int, float):
        return -_LARGEST <= label <= _LARGEST
    return isinstance(label, (str, bool))
