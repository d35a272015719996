"""A forest written as ONNX predicts as the forest does, in doubles, in a runtime of others."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    read_plain,
)
from dpforest.exceptions import MissingExtraError, ParameterError
from dpforest.exports import onnx_model as writer
from dpforest.exports.parts import Feature
from dpforest.exports.spellings import spellings
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize
from dpforest.trees.rules.learner import RulesLearner
from dpforest.trees.rules.settings import RulesSettings
from dpforest.trees.strategies import ASKED, Strategy

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

CLOSE = 1e-12
FEATURES = [
    {"name": "age", "kind": "numeric", "lower": 0, "upper": 100, "integer": True},
    {"name": "income", "kind": "numeric", "lower": 0, "upper": 1e5, "missing": True},
    {"name": "t colour", "kind": "categorical", "categories": ["red", "green", "blue"]},
    {"name": "kind", "kind": "categorical", "categories": ["a", "b", "z"], "other": "z",
     "missing": True},
    {"name": "grade", "kind": "categorical", "categories": ["1", "2", "4"], "missing": True},
    {"name": "married", "kind": "categorical", "categories": ["True", "False"]},
]  # fmt: skip
NUMERIC = 2
SMALL = {
    "RulesLearner": RulesLearner(RulesSettings(n_sums=12, n_cuts=7)),
    "RefittedForest": RefittedForest(
        RefittedSettings(fixed_size=RefittedSize(3, 4, 12), start_signal=1e-9)
    ),
    "BoostedForest": BoostedForest(BoostedSettings(fixed_size=BoostedSize(3, 6))),
}
N = 400
#: Texts of categories as people and programs write them, known or not.
TEXTS = ["", "nan", "red", "green", "mauve", "a", "b", "z", "Z", "1", "1.0", "2", "4", "4.0",
         "True", "true", "False", "0", "3", "tr\u00e8s", "a\tb"]  # fmt: skip
NUMBERS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 50.0, np.nextafter(50.0, 0), 100.0, 1e308, -7.5]


def table() -> tuple[list[list[Any]], np.ndarray]:
    generator = np.random.default_rng(0)
    age, income = generator.integers(0, 101, N), generator.exponential(2e4, N)
    income[generator.random(N) < 0.1] = np.nan
    columns = [
        generator.choice(feature["categories"], N)
        for feature in FEATURES[NUMERIC:]  # type: ignore[call-overload]
    ]
    score = (age > 50) + (columns[0] == "green") + 0.5 * (columns[1] == "a")
    score = score + 0.4 * (columns[2] == "4") + generator.normal(0, 0.3, N)
    rows = zip(age.tolist(), income.tolist(), *(column.tolist() for column in columns), strict=True)
    return [list(row) for row in rows], score


def records() -> list[list[Any]]:
    """Records of the table, and odd ones: every text and every number once."""
    generator = np.random.default_rng(1)
    odd = [
        [*generator.choice(NUMBERS, NUMERIC).tolist(), *generator.choice(TEXTS, 4).tolist()]
        for _ in range(200)
    ]
    odd += [[number, number, *[text] * 4] for number in NUMBERS for text in TEXTS]
    return table()[0][:60] + odd


def domain(n_classes: int, **more: Any) -> Domain:
    return Domain(features=FEATURES, classes=[f"c{k}" for k in range(n_classes)], **more)


def fitted(strategy: str, n_classes: int, labels: list[Any] | None = None) -> Any:
    X, score = table()
    names = labels or [f"c{k}" for k in range(n_classes)]
    own = Domain(features=FEATURES, classes=names, approximate_rows=N)
    y = np.array(names, dtype=object)[np.searchsorted([0.9, 1.6][: n_classes - 1], score)]
    delta = "1e-6" if strategy == "refitted" else 0  # its starts are linear
    forest = PrivateForestClassifier(
        epsilon=20, delta=delta, domain=own, strategy=strategy, random_state=0
    )
    return trained(forest, X, y.tolist())


def trained(forest: Any, X: Any, y: Any) -> Any:
    real = Strategy.make
    small = mock.patch.object(Strategy, "make", lambda e: SMALL.get(e.learner) or real(e))
    with small:
        return forest.fit(X, y)


def ran(content: bytes, rows: list[list[Any]]) -> dict[str, Any]:
    """What a runtime makes of records, by output."""
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    assert names == [feature["name"] for feature in FEATURES]
    feed = {
        name: np.array([row[k] for row in rows], dtype=np.float64 if k < NUMERIC else object)[
            :, None
        ]
        for k, name in enumerate(names)
    }
    outputs = [one.name for one in session.get_outputs()]
    return dict(zip(outputs, session.run(None, feed), strict=True))


def check_classes(forest: Any) -> None:
    rows, text = records(), forest.to_plain()
    expected = np.array(read_plain(text).predict_proba(rows))
    found = ran(forest.to_onnx(), rows)
    assert found["probabilities"].dtype == np.float64
    assert np.abs(found["probabilities"] - expected).max() < CLOSE
    top = np.sort(expected, axis=1)
    told = top[:, -1] - top[:, -2] > CLOSE
    assert (found["label"] == np.array(forest.classes_)[expected.argmax(axis=1)])[told].all()
    assert np.ptp(expected, axis=0).max() > 0.05, "all records alike: nothing was compared"
    own = forest.predict_proba(table()[0][:60])
    assert np.abs(found["probabilities"][:60] - own).max() < CLOSE


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strategy", ASKED)
def test_classes_are_as_probable_as_the_forest_says(strategy, n_classes):
    check_classes(fitted(strategy, n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("thresholds", ["cells", "lattice"])
def test_the_multinomial_forest_is_written_too(thresholds, n_classes):
    X, score = table()
    forest = MultinomialForestClassifier(
        epsilon=20, n_estimators=4, max_depth=4, domain=domain(n_classes, approximate_rows=N),
        thresholds=thresholds, random_state=0,
    )  # fmt: skip
    labels = np.searchsorted([0.9, 1.6][: n_classes - 1], score)
    check_classes(forest.fit(X, [f"c{label}" for label in labels]))


@pytest.mark.parametrize("strategy", ASKED)
def test_means_are_the_forests(strategy):
    X, score = table()
    own = Domain(features=FEATURES, target={"lower": 0, "upper": 3}, approximate_rows=N)
    delta = "1e-6" if strategy == "refitted" else 0  # its starts are linear
    forest = PrivateForestRegressor(
        epsilon=20, delta=delta, domain=own, strategy=strategy, random_state=0
    )
    forest = trained(forest, X, np.clip(score, 0, 3))
    found = ran(forest.to_onnx(), records())["variable"]
    expected = np.array(read_plain(forest.to_plain()).predict(records()))
    assert found.shape == (len(records()), 1) and found.dtype == np.float64
    assert np.abs(found[:, 0] - expected).max() < 3 * CLOSE
    assert np.ptp(expected) > 0.1


@pytest.mark.parametrize(("labels", "dtype"), [
    ([0, 1], np.int64), ([-1, 5, 7], np.int64), ([False, True], np.bool_), ([0.5, 1.5], np.float64),
    (["no", "yes"], object),
])  # fmt: skip
def test_labels_keep_their_type(labels, dtype):
    forest = fitted("rules", len(labels), labels)
    found = ran(forest.to_onnx(), records())["label"]
    assert found.dtype == dtype and set(found.tolist()) <= set(labels)


@pytest.mark.parametrize("labels", [[2**53 + 1, 0.5], [2**63, -1], [5, 2**63], [2**64, 3]])
def test_numbers_that_no_tensor_holds_are_texts(labels):
    found = ran(fitted("rules", 2, labels).to_onnx(), records())["label"]
    assert found.dtype == object and set(found.tolist()) <= set(map(str, labels))


def test_records_may_be_one_or_none():
    content = fitted("one_shot", 2).to_onnx()
    rows = records()
    whole = ran(content, rows)["probabilities"]
    assert np.array_equal(ran(content, rows[:1])["probabilities"], whole[:1])
    assert ran(content, [])["probabilities"].shape == (0, 2)


def test_texts_are_read_as_the_plain_form_reads_them():
    """Every text that the file knows means in the plain form what it means in the file."""
    plain = json.loads(fitted("rules", 2).to_plain())
    reader = read_plain(json.dumps(plain))
    for feature in writer.read_document(json.dumps(plain)).features[NUMERIC:]:
        known = spellings(feature)
        assert set(feature.categories) <= set(known) and "" in known
        for text, place in known.items():
            row = [0.0, 0.0, *[text] * 4]
            same = [0.0, 0.0, *[None if place == len(feature.categories) else text] * 4]
            assert reader.predict_proba([row]) == reader.predict_proba([same])
    grades = spellings(writer.read_document(json.dumps(plain)).features[4])
    assert grades["1"] == grades["1.0"] == 0 and grades["4"] == 2 and "3" not in grades
    assert "-0.0" not in grades
    zero = spellings(Feature("code", ("1", "0", "a"), None, False))
    assert zero["0"] == zero["0.0"] == zero["-0.0"] == zero["-0"] == zero["false"] == 1


def test_outputs_may_be_named_and_never_like_a_feature(tmp_path):
    forest = fitted("rules", 2)
    path = tmp_path / "forest.onnx"
    content = forest.to_onnx(path, outputs=["class", "chances"])
    assert path.read_bytes() == content
    assert set(ran(content, records())) == {"class", "chances"}
    for outputs in (["age", "chances"], ["one"], ["same", "same"], "ab", [1, 2], ["", "x"]):
        with pytest.raises(ParameterError) as caught:
            forest.to_onnx(outputs=outputs)
        assert caught.value.parameter == "outputs"


def test_a_text_that_runtimes_would_cut_is_refused():
    plain = json.loads(fitted("rules", 2).to_plain())
    plain["features"][2]["categories"][0] = "re\0d"
    with pytest.raises(ParameterError, match="U\\+0000"):
        writer.onnx_model(json.dumps(plain))


def test_the_file_says_that_it_holds_no_guarantee_and_nothing_of_this_machine():
    model = onnx.load_from_string(fitted("rules", 2).to_onnx())
    assert model.producer_name == "dpforest" and "no privacy guarantee" in model.doc_string
    assert not model.metadata_props


def test_without_onnx_the_extra_is_named():
    forest = fitted("rules", 2)
    with (
        mock.patch.dict("sys.modules", {"onnx": None, "onnx.helper": None}),
        pytest.raises(MissingExtraError, match=r"dpforest\[onnx\]"),
    ):
        forest.to_onnx()


def test_leaves_that_are_off_by_a_billionth_are_seen():
    """The comparison tells a file that differs from the forest by one number."""
    forest = fitted("one_shot", 2)
    plain = json.loads(forest.to_plain())
    tree = plain["score"]["trees"][0]
    for node in tree:
        if "values" in node:
            node["values"] = [value + 1e-9 for value in node["values"]]
    expected = np.array(read_plain(forest.to_plain()).predict_proba(records()))
    found = ran(writer.onnx_model(json.dumps(plain)), records())["probabilities"]
    assert np.abs(found - expected).max() > CLOSE
