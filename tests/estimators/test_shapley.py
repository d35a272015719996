"""Shapley values: equal to all coalitions counted out, and of public backgrounds alone."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PublicBackground,
)
from dpforest.estimators.background import drawn_uniformly
from dpforest.exceptions import ParameterError
from dpforest.records.streams.batches import BatchStream
from dpforest.trees.shapley import enumerated_values, shapley_values

KINDS = [
    ("rules", 0), ("one_shot", 0), ("refitted", 1e-6), ("boosted", 1e-6),
    ("additive", 0), ("multinomial", 0),
]  # fmt: skip
FEATURES = {
    "age": (0, 20), "kind": ["a", "b", "c"], "share": (0.0, 1.0),
    "few": {"lower": 0, "upper": 3, "missing": True},
}  # fmt: skip


def records(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    X = np.empty((n, 4), dtype=object)
    X[:, 0], X[:, 1] = generator.integers(0, 21, n), generator.choice(list("abc"), n)
    X[:, 2], X[:, 3] = generator.random(n), generator.choice([0, 1, 2, 3, None], n)
    low = X[:, 0].astype(int) // (21 // n_classes + 1)
    return X, np.where(generator.random(n) < 0.3, generator.integers(0, n_classes, n), low)


def fitted(strategy: str, delta: float, n_classes: int):
    X, y = records(500, max(n_classes, 2))
    facts = {"features": FEATURES, "approximate_rows": 500}
    if n_classes:
        # Declared in another order than they are sorted in.
        domain = Domain(**facts, classes=list(range(n_classes))[::-1])
        kind = PrivateForestClassifier
    else:
        domain, kind = Domain(**facts, target=(0, 1)), PrivateForestRegressor
    given = {"epsilon": 2, "delta": delta, "domain": domain, "random_state": 1}
    if strategy == "multinomial":
        forest = MultinomialForestClassifier(**given, n_estimators=5, max_depth=5)
    else:
        forest = kind(**given, strategy=strategy)
    return forest.fit(X, y.astype(int)), X


EACH = [
    (*kind, n_classes) for kind in KINDS for n_classes in (0, 2, 3)
    if n_classes or kind[0] != "multinomial"
]  # fmt: skip


@pytest.mark.parametrize(("strategy", "delta", "n_classes"), EACH)
def test_they_are_those_of_all_coalitions_and_add_up(strategy, delta, n_classes):
    forest, X = fitted(strategy, delta, n_classes)
    found = forest.shapley_values(X[:4])
    assert forest.shapley_values(X[:0]).values.shape == (0, *found.values.shape[1:])
    codes = forest._coded(X[:4])
    others = forest._coded(drawn_uniformly(forest.domain_))[:9]
    own = shapley_values(forest.model_, codes, others)
    brute = enumerated_values(forest.model_, codes, others)
    assert np.abs(brute).max() > 1e-3
    if n_classes == 3:
        np.testing.assert_allclose(own, brute, rtol=0, atol=1e-12)
        assert found.values.shape == (4, 4, 3) and found.output_names == ["0", "1", "2"]
    else:
        np.testing.assert_allclose(
            own[..., 1] - own[..., 0], brute[..., 1] - brute[..., 0], rtol=0, atol=1e-12
        )
        assert found.values.shape == (4, 4)
    scores = found.base_values + found.values.sum(axis=1)
    if n_classes == 0:
        assert 1 / (1 + np.exp(-scores)) == pytest.approx(forest.predict(X[:4]), abs=1e-9)
    elif forest.model_.link == "softmax" and n_classes == 2:
        likely = 1 / (1 + np.exp(-scores))
        assert likely == pytest.approx(forest.predict_proba(X[:4])[:, 1], abs=1e-9)
    elif forest.model_.link == "softmax":
        likely = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        assert likely == pytest.approx(forest.predict_proba(X[:4]), abs=1e-9)


def test_a_background_is_declared_public_or_refused():
    forest, X = fitted("one_shot", 0, 2)
    for private in (X, X.tolist(), "the table"):
        with pytest.raises(ParameterError, match="declared public") as caught:
            forest.shapley_values(X[:1], background=private)
        assert caught.value.parameter == "background"
        assert str(caught.value.value) == f"<{type(private).__name__}>"  # it may be a private table
        assert str(private)[:12] not in str(caught.value)
    with pytest.raises(ParameterError, match="source"):
        PublicBackground(X, source=" ")
    public = PublicBackground(X[:20], source="made up in a test")
    found = forest.shapley_values(X[:2], background=public)
    assert found.background == "made up in a test" and "a test" in repr(public)
    assert str(X[0, 2]) not in repr(public)
    alike = forest.shapley_values(X[:1], PublicBackground(X[:1], source="the record itself"))
    assert np.allclose(alike.values, 0.0)


def test_the_drawn_background_lies_in_the_domain():
    forest, _ = fitted("one_shot", 0, 2)
    drawn = drawn_uniformly(forest.domain_)
    assert drawn.shape == (100, 4) and set(drawn[:, 1]) == set("abc")
    assert 8 < drawn[:, 0].astype(float).mean() < 12
    assert (drawn == drawn_uniformly(forest.domain_)).all()


def test_rules_of_many_features_are_refused():
    generator = np.random.default_rng(0)
    features = {f"f{i}": (0, 3) for i in range(11)}
    domain = Domain(features=features, classes=[0, 1], approximate_rows=60)
    X = generator.integers(0, 4, (60, 11))
    forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy="rules", random_state=1)
    with pytest.raises(ParameterError, match="up to 10 features"):
        forest.fit(X, X[:, 0] > 1).shapley_values(X[:1])


def test_the_plots_of_shap_take_them():
    forest, X = fitted("additive", 0, 2)
    found = forest.shapley_values(X[:3]).arguments()
    assert set(found) == {"values", "base_values", "data", "feature_names"}
    assert found["base_values"].shape == (3,) and found["data"].shape == (3, 4)
    shap = pytest.importorskip("shap")
    assert shap.Explanation(**found).values.shape == (3, 4)


def test_values_stand_beside_the_records_own_columns_and_no_others():
    """A plot put one feature's values beside those of another column."""
    pandas = pytest.importorskip("pandas")
    forest, X = fitted("one_shot", 0, 2)
    own = forest.shapley_values(X[:3])
    frame = pandas.DataFrame(X[:3], columns=list(FEATURES)).assign(name="somebody")
    frame = frame[["few", "name", "kind", "share", "age"]]
    for given in (frame, frame.to_dict("records"), [row for _, row in frame.iterrows()]):
        found = forest.shapley_values(given)
        assert found.data.shape == (3, 4) and (found.data[:, :3] == X[:3, :3]).all()
        assert np.array_equal(found.values, own.values)
    numbers = pandas.DataFrame({"b": [0.5, 1.5], "a": [1, 2]})
    domain = Domain(features={"a": (0, 3), "b": (0, 3)}, classes=[0, 1], approximate_rows=9)
    forest = PrivateForestClassifier(epsilon=9, domain=domain, strategy="one_shot", random_state=1)
    found = forest.fit(numbers, [0, 1]).shapley_values(numbers)
    assert found.data.dtype == float and found.data.tolist() == [[1, 0.5], [2, 1.5]]


def containers(X: np.ndarray):
    """Private records in everything that a table comes in."""
    numbers = X[:, [0, 2]].astype(float)
    columns = {f"c{place}": X[:, place].tolist() for place in range(4)}
    yield from (X[:20], X.view(), X.copy(), tuple(map(tuple, X)), iter(X), columns, numbers.data)
    yield from ({"records": X, "source": "public"}, (X, "public"), np.ma.asarray(numbers))
    yield BatchStream([(X, X[:, 1])])
    for module, make in (
        ("pandas", lambda pandas: pandas.DataFrame(X)),
        ("polars", lambda polars: polars.DataFrame(columns).lazy()),
        ("pyarrow", lambda pyarrow: pyarrow.table(columns)),
        ("scipy.sparse", lambda sparse: sparse.csr_array(numbers)),
    ):
        if find_spec(module.partition(".")[0]) is not None:
            yield make(import_module(module))


def test_no_container_is_a_public_background():
    forest, X = fitted("one_shot", 0, 2)
    given = list(containers(X))
    assert len(given) >= 11
    for private in given:
        with pytest.raises(ParameterError, match="declared public") as caught:
            forest.shapley_values(X[:1], private)
        assert str(caught.value.value) == f"<{type(private).__name__}>"


def test_the_source_of_a_background_cannot_turn_a_line():
    for source in ("UCI\u202eetavirp", "UCI\x1b[2J", "UCI\nprivate", "UCI\ud800"):
        with pytest.raises(ParameterError, match="printable") as caught:
            PublicBackground([[1]], source=source)
        assert str(caught.value).isprintable()
