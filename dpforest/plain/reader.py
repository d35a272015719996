"""A reader of plain models, in plain Python: it may be copied out and needs nothing else.

docs/plain_model.md is the format. ``dpforest.read_plain`` checks a file before it is read with
this; whoever copies the reader has to know where a file comes from. It also runs alone:

    python plain_reader.py model.json < records.json

takes a JSON list of records and prints a JSON list of predictions.
"""

from __future__ import annotations

import json
import math
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

FORMAT = "dpforest-plain"
VERSION = 2

#: What surrounds a text and is no part of it.
SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_DIGITS = "[0-9](?:_?[0-9])*"
_NUMBER = re.compile(
    rf"[+-]?(?:(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?"
    r"|inf(?:inity)?|nan)",
    re.ASCII | re.IGNORECASE,
)
_WORDS = {"false": 0.0, "true": 1.0}
_REAL = r"(?:[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?|inf|nan)"
_COMPLEX = re.compile(rf"-?{_REAL}j|\(-?{_REAL}[+-]{_REAL}j\)")
_TIME = re.compile(
    "-?[0-9]{3,}-[0-9]{2}-[0-9]{2}"
    r"(?:[ T][0-9]{2}(?::[0-9]{2}){0,2}(?:\.[0-9]+)?"
    "(?: ?(?:[A-Za-z][A-Za-z0-9_/+-]*|[+-][0-9]{2}(?::?[0-9]{2}){0,2}))?)?"
    r"|-?[0-9]+ days?,? [+-]?[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
)
#: Meaning of a date or a complex number: a text that no category has.
_NOTHING = ""
#: Beyond this an exponential is as good as 0 or infinity.
_LARGEST_STEPS = 700.0


class _Unknown:
    """Type of values that are neither missing nor a number or category."""


UNKNOWN = _Unknown()
#: A number, the position of a category, or one of the two that are neither.
Read = float | int | _Unknown | None


class PlainModel:
    """A model in plain form.

    Parameters
    ----------
    content : dict
        What a plain file holds, parsed.

    Attributes
    ----------
    classes : list or None
        Labels in the order of probabilities; None for a regression.
    feature_names : list of str
        What a record holds, in this order.

    Raises
    ------
    ValueError
        If it is not a plain model of version 2.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        stated = (
            (content.get("format"), content.get("version")) if isinstance(content, dict) else ()
        )
        if stated != (FORMAT, VERSION):
            raise ValueError(f"not a {FORMAT} model of version {VERSION}")
        self._score, self._link = content["score"], content["link"]
        self._digits = {
            ord(zero) + digit: str(digit) for zero in content["digits"] for digit in range(10)
        }
        self._features = content["features"]
        self._known = [self._categories(feature) for feature in self._features]
        self.feature_names: list[str] = [feature["name"] for feature in self._features]
        self.classes: list[Any] | None = self._link.get("classes")

    def predict_proba(self, records: Iterable[Sequence[Any]]) -> list[list[float]]:
        """Probabilities of ``classes`` for each record, a list of None, bool, numbers and text.

        Raises
        ------
        ValueError
            These are no such records, or the model is of a regression.
        """
        if self.classes is None:
            raise ValueError("the model predicts means, not probabilities: use predict")
        return [self._linked(self._scores_of(record)) for record in _listed(records)]

    def predict(self, records: Iterable[Sequence[Any]]) -> list[Any]:
        """The most probable label of each record, or the expected target."""
        if self.classes is None:
            lists = _listed(records)
            return [_mean(self._link["range"], self._scores_of(record)) for record in lists]
        classes = self.classes
        return [classes[row.index(max(row))] for row in self.predict_proba(records)]

    # -- what a value means ----------------------------------------------------------------

    def meaning(self, value: Any) -> str | float | None:
        """None for what is missing; a number; or text that reads as none."""
        if value is None or isinstance(value, str):
            return None if value is None else self._meaning_of_text(value)
        if not isinstance(value, (bool, int, float)):
            raise ValueError("a record holds null, true, false, numbers and text")
        try:
            number = float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
        return None if math.isnan(number) else number

    def _meaning_of_text(self, text: str) -> str | float | None:
        text = text.rstrip("\0").strip(SPACE)
        plain = text.translate(self._digits)
        if _NUMBER.fullmatch(plain):
            number = float(plain.replace("_", ""))
            return None if math.isnan(number) else number
        if _COMPLEX.fullmatch(text):
            return _meaning_of_complex(complex(text))
        if _TIME.fullmatch(text):
            return _NOTHING
        return _WORDS.get(text.lower(), text) if text else None

    def _categories(self, feature: dict[str, Any]) -> dict[Any, int]:
        categories = feature.get("categories", [])
        return {self.meaning(category): place for place, category in enumerate(categories)}

    def _read(self, record: Sequence[Any]) -> list[Read]:
        """The values of a record as numbers and positions of categories."""
        if len(record) != len(self._features):
            raise ValueError(
                f"a record has {len(self._features)} values, in the order of feature_names"
            )
        places = range(len(self._features))
        return [self._read_value(place, self.meaning(record[place])) for place in places]

    def _read_value(self, place: int, meaning: str | float | None) -> Read:
        feature, known = self._features[place], self._known[place]
        if meaning is None:
            return None
        if feature["kind"] == "numeric":
            return UNKNOWN if isinstance(meaning, str) else meaning
        if meaning in known:
            return known[meaning]
        if feature["numbers"] != "positions" or isinstance(meaning, str):
            return UNKNOWN
        within = 0 <= meaning < len(known) and meaning == math.floor(meaning)
        return int(meaning) if within else UNKNOWN

    # -- scores ----------------------------------------------------------------------------

    def _scores_of(self, record: Sequence[Any]) -> list[float]:
        return self._scores(self._score, self._read(record))

    def _scores(self, part: dict[str, Any], read: list[Read]) -> list[float]:
        if part["kind"] == "rules":
            return self._rules(part, read)
        if part["kind"] == "trees":
            return self._trees(part, read)
        total = part["base"]
        for weight, member in zip(part["weights"], part["parts"], strict=True):
            scores = self._scores(member, read)
            total = [own + weight * score for own, score in zip(total, scores, strict=True)]
        return list(total)

    def _trees(self, part: dict[str, Any], read: list[Read]) -> list[float]:
        total = part["base"]
        for table in part["start"] or []:
            total = _added(total, self._entry(table, read))
        for nodes in part["trees"]:
            node = nodes[0]
            while "values" not in node:
                node = nodes[node[_side(node, read[node["feature"]])]]
            total = _added(total, node["values"])
        scores = [0.0] * self._n_columns
        for column, score in zip(part["columns"], total, strict=True):
            scores[column] = score
        return scores

    @property
    def _n_columns(self) -> int:
        return 2 if self.classes is None else len(self.classes)

    def _entry(self, table: dict[str, Any], read: list[Read]) -> Any:
        """Find in a table the scores that a feature's value adds."""
        place = table["feature"]
        value = read[place]
        if value is None:
            return table["missing"]
        if isinstance(value, _Unknown):
            return table["unknown"]
        if self._features[place]["kind"] == "numeric":
            value = bisect_left(self._features[place]["edges"], value)
        return table["places"][value]

    def _rules(self, part: dict[str, Any], read: list[Read]) -> list[float]:
        nodes, steepness = part["nodes"], part["steepness"]
        soft, hard = [0.0] * len(nodes), [0.0] * len(nodes)
        soft[0] = hard[0] = 1.0
        total = [0.0] * self._n_columns
        weight = part["hard_weight"]
        for place, node in enumerate(nodes):  # children come after their parents
            if "probabilities" in node:
                share = hard[place]
                if steepness is not None:
                    share = (soft[place] + weight * share) / (1.0 + weight)
                total = [t + share * p for t, p in zip(total, node["probabilities"], strict=True)]
                continue
            value = sum(self._entry(table, read) for table in node["sum"])
            passed = float(value > node["threshold"])
            steps = (value - node["threshold"] - 0.5) / node["width"]
            right = _sigmoid((steepness or 0.0) * steps)
            for shares, beyond in ((soft, right), (hard, passed)):
                shares[node["left"]] = shares[place] * (1.0 - beyond)
                shares[node["right"]] = shares[place] * beyond
        return [math.log(share) for share in total]

    def _linked(self, scores: list[float]) -> list[float]:
        """Probabilities from scores."""
        if self._link["kind"] == "softmax":
            largest = max(scores)
            scores = [math.exp(score - largest) for score in scores]
        total = sum(scores)
        return [score / total for score in scores]


def _meaning_of_complex(number: complex) -> str | float | None:
    """Its real part where there is no other; missing as docs/plain_model.md says; else nothing."""
    if math.isnan(number.real) or not math.isfinite(number.imag):
        return None
    return _NOTHING if number.imag else number.real


def _listed(records: Any) -> Iterator[list[Any]]:
    """Each record as a list; a table that is held by columns has names in their place."""
    named = isinstance(records, (str, bytes, Mapping)) or hasattr(type(records), "columns")
    if named or not isinstance(records, Iterable):
        raise ValueError(
            "records are a list with one list for each record: of a data frame, "
            "frame.values.tolist()"
        )
    for record in records:
        if isinstance(record, (str, bytes, Mapping)) or not isinstance(record, Iterable):
            raise ValueError(
                "a record is a list of values: of a dict, [record[name] for name in "
                "model.feature_names]; a single record stands in a list too, [record]"
            )
        yield list(record)


def _side(node: dict[str, Any], value: Read) -> str:
    """Find the child that a value goes to."""
    if value is None or isinstance(value, _Unknown):
        side: str = node["missing" if value is None else "unknown"]
        return side
    if "threshold" in node:
        left = node["threshold"] is None or value <= node["threshold"]
    else:
        left = value in node["categories"]
    return "left" if left else "right"


def _added(total: list[float], values: list[float]) -> list[float]:
    return [own + value for own, value in zip(total, values, strict=True)]


def _sigmoid(score: float) -> float:
    clipped = max(-_LARGEST_STEPS, min(_LARGEST_STEPS, score))
    return 1.0 / (1.0 + math.exp(-clipped))


def _mean(limits: list[float], scores: list[float]) -> float:
    low, high = limits
    share = _sigmoid(scores[1] - scores[0])
    return low * (1.0 - share) + high * share


def main() -> None:
    """Predict the records on standard input by the model that is named."""
    if len(sys.argv) != 2:
        sys.exit("usage: python plain_reader.py model.json < records.json")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            model = PlainModel(json.load(file))
        # Whole numbers of thousands of digits are doubles too.
        records = json.load(sys.stdin, parse_int=float)
        found = model.predict(records) if model.classes is None else model.predict_proba(records)
    except (OSError, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
