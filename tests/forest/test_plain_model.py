"""The plain form, read by the reader of docs/plain_model.md, predicts as the forest does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpforest import Domain, PrivateForestClassifier, PrivateForestRegressor
from dpforest.learners.one_shot import OneShotForest
from dpforest.learners.refitted.learner import RefittedForest
from dpforest.learners.refitted.settings import RefittedSettings, Size
from dpforest.learners.registry import LEARNERS, Entry
from dpforest.learners.rules.learner import RulesLearner
from dpforest.learners.rules.settings import RulesSettings

PAGE = Path(__file__).parents[2] / "docs" / "plain_model.md"
FEATURES = [
    {"name": "age", "kind": "numeric", "lower": 0, "upper": 100, "integer": True},
    {"name": "income", "kind": "numeric", "lower": 0, "upper": 1e5, "missing": True},
    {"name": "colour", "kind": "categorical", "categories": ["red", "green", "blue"]},
    {"name": "kind", "kind": "categorical", "categories": ["a", "b", "z"], "other": "z",
     "missing": True},
    {"name": "size", "kind": "numeric", "lower": -1, "upper": 1},
]  # fmt: skip
NEED_DELTA = ("refitted", "private_selection")
KINDS = [(name, "1e-6" if name in NEED_DELTA else 0) for name in LEARNERS]
KINDS += [("refitted with a start", "1e-6"), ("prior alone", 0)]
N = 500
nan, inf = float("nan"), float("inf")
ADVERSARIAL = [
    [nan, nan, None, None, nan],
    [None, None, "mauve", "mauve", None],
    [-inf, inf, "red", "z", inf],
    [1e308, -1e308, "", "", -1e308],
    ["12", "a lot", "blue", "b", "0.25"],
    [0, 0, "green", "a", 0.0],
    [100, 1e5, "green", "a", 1.0],
    [49.5, 50.0, "red", "b", -0.0],
]


@pytest.fixture(scope="module")
def reader() -> dict[str, Any]:
    """What the page's code defines."""
    code = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    assert "numpy" not in code and "dpforest " not in code
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


@pytest.fixture(autouse=True)
def small_learners(monkeypatch):
    real = Entry.make
    small = {
        "RulesLearner": RulesLearner(RulesSettings(n_sums=12, n_cuts=7)),
        "OneShotForest": OneShotForest(),
        "RefittedForest": RefittedForest(RefittedSettings(fixed_size=Size(3, 4, 12))),
    }
    monkeypatch.setattr(Entry, "make", lambda e: small.get(e.learner) or real(e))


def records(n: int = N) -> tuple[list[list[Any]], np.ndarray]:
    generator = np.random.default_rng(0)
    age, kind = generator.integers(0, 101, n), generator.integers(0, 3, n)
    income = np.where(generator.random(n) < 0.1, nan, generator.exponential(2e4, n))
    colour, size = generator.integers(0, 3, n), generator.uniform(-1, 1, n)
    score = (age > 50) + (colour == 1) + 0.5 * (kind == 0) + generator.normal(0, 0.3, n)
    X = [
        [int(a), float(i), ("red", "green", "blue")[c], "abz"[k], float(s)]
        for a, i, c, k, s in zip(age, income, colour, kind, size, strict=True)
    ]
    return X, score


def edges_of(forest: Any) -> list[list[Any]]:
    """Records on both sides of, and on, public edges."""
    plain = json.loads(forest.to_plain())
    found = []
    for value in plain["features"][1]["edges"][::40]:
        for near in (np.nextafter(value, -inf), value, np.nextafter(value, inf)):
            found.append([3, float(near), "red", "a", 0.1])
    return found


def fitted(make: Any, strategy: str, delta: Any, monkeypatch: Any, **extra: Any) -> Any:
    X, score = records()
    epsilon: Any = 60
    rows: Any = N
    if strategy == "refitted with a start":
        learner = RefittedForest(RefittedSettings(fixed_size=Size(3, 4, 6), start_signal=1e-9))
        monkeypatch.setattr(Entry, "make", lambda entry: learner)
        strategy = "refitted"
    elif strategy == "prior alone":
        strategy, epsilon = "one_shot" if "target" in extra else "rules", "0.001"
    domain = Domain(features=FEATURES, approximate_rows=rows, **extra)
    forest = make(epsilon=epsilon, delta=delta, strategy=strategy, domain=domain)
    labels = extra.get("classes")
    if labels is None:
        return forest.fit(X, score), X
    y = [labels[k] for k in np.digitize(score, [0.7, 1.5][: len(labels) - 1])]
    return forest.fit(X, y), X


pytestmark = pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("classes", [["well", "ill"], [3, 1, 2]])
def test_the_reader_gives_the_same_probabilities(
    strategy, delta, classes, reader, monkeypatch, tmp_path
):
    forest, X = fitted(PrivateForestClassifier, strategy, delta, monkeypatch, classes=classes)
    text = forest.to_plain(tmp_path / "plain.json")
    assert (tmp_path / "plain.json").read_text(encoding="utf-8") == text
    tests = [*X[:60], *ADVERSARIAL, *edges_of(forest)]
    expected = forest.predict_proba(tests)
    for record, row in zip(tests, expected, strict=True):
        found = dict(reader["predict"](text, record))
        assert list(found) == classes
        ours = [found[label] for label in forest.classes_.tolist()]
        assert np.allclose(ours, row, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
def test_the_reader_gives_the_same_means(strategy, delta, reader, monkeypatch):
    forest, X = fitted(PrivateForestRegressor, strategy, delta, monkeypatch, target=(-1.0, 4.0))
    text = forest.to_plain()
    tests = [*X[:60], *ADVERSARIAL, *edges_of(forest)]
    found = [reader["predict"](text, record) for record in tests]
    assert np.allclose(found, forest.predict(tests), rtol=0, atol=1e-9)
    if strategy != "prior alone":
        assert np.ptp(found) > 0


def test_the_start_and_the_soft_cuts_are_there(monkeypatch):
    forest, _ = fitted(
        PrivateForestRegressor, "refitted with a start", "1e-6", monkeypatch, target=(-1.0, 4.0)
    )
    assert json.loads(forest.to_plain())["score"]["codes"] is not None


def test_rules_are_graded_alone_and_not_beside_a_forest(monkeypatch):
    for strategy, graded in (("rules", True), ("combined", False)):
        forest, _ = fitted(
            PrivateForestClassifier, strategy, 0, monkeypatch, classes=["well", "ill"]
        )
        score = json.loads(forest.to_plain())["score"]
        rules = score if graded else score["parts"][0]
        assert (rules["steepness"] is not None) == graded and any(rules["nodes"])


def test_the_reader_refuses_another_version(reader, monkeypatch):
    forest, _ = fitted(PrivateForestClassifier, "rules", 0, monkeypatch, classes=["well", "ill"])
    content = json.loads(forest.to_plain())
    with pytest.raises(ValueError, match="version 1"):
        reader["predict"](json.dumps({**content, "version": 2}), ADVERSARIAL[0])


def test_only_a_fitted_forest_has_a_plain_form():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        PrivateForestRegressor(epsilon=1).to_plain()


def test_it_holds_no_seed_no_budget_and_no_counts(monkeypatch):
    forest, _ = fitted(PrivateForestClassifier, "one_shot", 0, monkeypatch, classes=["well", "ill"])
    content = json.loads(forest.to_plain())
    assert set(content) == {"format", "version", "features", "score", "link", "classes"}
    assert set(content["score"]) == {"kind", "base", "codes", "trees"}
