"""Explanations: made of released values, and what was planted is found."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.estimators.explanation import MOST_SHOWN, Explanation, PartialDependence
from dpforest.estimators.fit_plan import table_facts
from dpforest.exceptions import ParameterError
from dpforest.trees import partial
from dpforest.trees.partial import (
    _made_up,
    partial_scores,
    sampled_scores,
)
from dpforest.trees.shown import shown_codes
from dpforest.trees.splits import mask_sends_left, range_sends_left

KINDS = [
    ("rules", 0),
    ("one_shot", 0),
    ("refitted", 1e-6),
    ("boosted", 1e-6),
    ("boosted", 0),
    ("additive", 1e-6),
    ("additive", 0),
    ("multinomial", 0),
]
FEATURES = {"age": (0, 100), "kind": ["a", "b", "c"], "noise": (0.0, 1.0)}


def records(n: int) -> tuple[list[list[object]], np.ndarray]:
    generator = np.random.default_rng(4)
    age, kind = generator.integers(0, 101, n), generator.integers(0, 3, n)
    X = [
        [int(a), "abc"[k], float(u)] for a, k, u in zip(age, kind, generator.random(n), strict=True)
    ]
    # Softened, so that no log-odds run away.
    return X, generator.random(n) < 0.15 + 0.5 * (age > 50) + 0.2 * (kind != 1)


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
def test_what_was_planted_is_found(strategy, delta):
    X, y = records(4000)
    domain = Domain(features=FEATURES, classes=[False, True], approximate_rows=4000)
    parameters = {"epsilon": 8, "delta": delta, "domain": domain, "random_state": 1}
    if strategy == "multinomial":
        forest = MultinomialForestClassifier(**parameters)
    else:
        forest = PrivateForestClassifier(strategy=strategy, **parameters)
    explanation = forest.fit(X, y).explain()
    assert set(explanation.importances) == set(FEATURES)
    assert explanation.importances["age"] > explanation.importances["noise"]
    assert list(explanation.importances.values()) == sorted(explanation.importances.values())[::-1]
    age = explanation.of("age")
    likely = np.array(age.predictions["True"])
    assert len(age.cells) == likely.size == 256
    # Where records lie: most cells are below an age of 10.
    starts = np.array([float(cell.split(" to ")[0]) for cell in age.cells])
    young, old = likely[(starts > 10) & (starts < 40)], likely[starts > 60]
    assert old.mean() > young.mean() + 0.1
    kind = explanation.of("kind")
    by_kind = dict(zip(kind.cells, kind.predictions["True"], strict=True))
    assert by_kind["b"] < min(by_kind["a"], by_kind["c"])
    both = np.array(list(age.predictions.values())).sum(axis=0)
    assert np.allclose(both, 1.0)
    assert explanation == forest.explain()
    lines = str(explanation).splitlines()[1:]  # the whole of it would fill the screen
    shown, after = lines[: len(FEATURES)], lines[len(FEATURES) :]
    assert [line.split()[1] for line in shown] == list(explanation.importances)
    known = any(error is not None for error in (explanation.importance_errors or {}).values())
    assert after == ([] if known else [explanation.note])
    with pytest.raises(ParameterError, match="not in the domain. Give a declared name: 'age', "):
        explanation.of("income")


def test_an_unknown_feature_is_told_the_first_names_and_their_number():
    curves = tuple(
        PartialDependence(feature=f"f{k}", cells=(), places=(), predictions={}) for k in range(30)
    )
    with pytest.raises(ParameterError, match=r"name: 'f0', 'f1', .*'f6', … \(30 in all\)"):
        Explanation(importances={}, dependence=curves).of("f")


def test_a_regressor_is_explained_by_means():
    X, y = records(4000)
    domain = Domain(features=FEATURES, target=(0, 10), approximate_rows=4000)
    forest = PrivateForestRegressor(
        epsilon=20, domain=domain, strategy="boosted", random_state=1
    ).fit(X, 10.0 * y)
    means = np.array(forest.explain().of("age").predictions["mean"])
    assert means[-64:].mean() > means[:64].mean() + 2.0
    assert means.min() >= 0 and means.max() <= 10


def test_the_weights_of_a_tree_are_those_of_its_leaves():
    """A tree by hand: feature 0 at the root, feature 1 below it on the right."""
    features = np.array([[0, -1, 1]], dtype=np.int32)
    low, high = np.zeros((1, 3), dtype=np.int64), np.array([[1, 9, 0]])
    masses = np.array([[4.0, 0.0, 1.0, 3.0]])
    values = np.array([[[1.0], [9.0], [2.0], [6.0]]])
    goes = range_sends_left(low, high, np.arange(3))
    of_zero = partial_scores(0, 3, features, goes, masses, values)
    assert of_zero[:, 0].tolist() == [1.0, 1.0, 0.25 * 2 + 0.75 * 6]
    goes = range_sends_left(low, high, np.arange(2))
    of_one = partial_scores(1, 2, features, goes, masses, values)
    assert of_one[:, 0].tolist() == [0.5 * 1 + 0.5 * 2, 0.5 * 1 + 0.5 * 6]


def mean_below(place, features, feature, code, sent, masses, values):
    """Slow twin: the mean leaf value and the size below a node of one tree, at a code."""
    inner = features.size
    if place >= inner:
        return values[place - inner], masses[place - inner]
    below = (
        mean_below(child, features, feature, code, sent, masses, values)
        for child in (2 * place + 1, 2 * place + 2)
    )
    (left, size), (right, other) = below
    if features[place] == feature:
        return left if sent[place, code] else right, size + other
    part = size / (size + other) if size + other > 0 else 0.5
    return part * left + (1 - part) * right, size + other


@pytest.mark.parametrize(("depth", "n_features"), [(1, 6), (3, 6), (5, 6), (5, 1)])
@pytest.mark.parametrize("of_masks", [False, True])
@pytest.mark.parametrize("at_once", [2**22, 1])
def test_means_of_trees_are_those_of_a_slow_twin(depth, n_features, of_masks, at_once, monkeypatch):
    """Also where codes come and go, a feature is nowhere, and noise left a tree nothing."""
    monkeypatch.setattr(partial, "_MOST_SENT", at_once)
    generator = np.random.default_rng(depth)
    n_trees, n_nodes, n_codes = 9, 2**depth - 1, 70
    features = generator.integers(-1, n_features, (n_trees, n_nodes)).astype(np.int32)
    masses = np.maximum(generator.normal(1, 1, (n_trees, n_nodes + 1)), 0)
    masses[2] = 0
    values = generator.normal(size=(n_trees, n_nodes + 1, 3))
    low = generator.integers(0, n_codes, (n_trees, n_nodes))
    high = np.minimum(low + generator.integers(0, n_codes, low.shape), n_codes - 1)
    goes = range_sends_left(low, high, np.arange(n_codes))
    if of_masks:
        mask = generator.integers(0, 2**63, (n_trees, n_nodes, 2), dtype=np.uint64)
        goes = mask_sends_left(mask, np.arange(n_codes))
    every = np.arange(n_nodes)
    for feature in range(n_features + 1):
        found = partial_scores(feature, n_codes, features, goes, masses, values)
        for code in range(n_codes):
            trees = (
                mean_below(0, features[t], feature, code, goes(t, every), masses[t], values[t])[0]
                for t in range(n_trees)
            )
            np.testing.assert_allclose(found[code], sum(trees), rtol=0, atol=1e-12)


def test_made_up_records_are_scored_as_they_would_be_one_code_at_a_time():
    """Several codes are scored at once; means are those of each by itself."""
    n_codes = np.array([150, 7, 300])

    def score(codes):
        wide = codes.astype(np.float64)
        return np.column_stack([wide[:, 0] * wide[:, 1], np.sqrt(wide[:, 2]) + wide[:, 0]])

    for feature in range(3):
        found = sampled_scores(score, feature, n_codes, n_records=32)
        at_a_time = sampled_scores(score, feature, n_codes, n_records=32, n_scores=2**20)
        np.testing.assert_allclose(found, at_a_time, rtol=1e-12)
        records = _made_up(tuple(n_codes.tolist()), 32)
        assert (records.max(axis=0) < n_codes).all() and np.ptp(records, axis=0).all()
        for code in range(n_codes[feature]):
            own = records.copy()
            own[:, feature] = code
            np.testing.assert_allclose(found[code], score(own).mean(axis=0), rtol=1e-12)


def test_lattices_are_explained_at_the_middles_of_equal_parts():
    """And a missing value by itself; fewer points one by one."""
    assert shown_codes(5, False).tolist() == [0, 1, 2, 3, 4]
    assert shown_codes(6, True).tolist() == [0, 1, 2, 3, 4, 5]
    found = shown_codes(256 * 9 + 1, True)
    assert found.tolist() == [*range(4, 256 * 9, 9), 256 * 9]


def test_what_no_rule_looks_at_is_scored_once():
    """Of 30 features few are in a rule; the others' curves are flat, and cost one look."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(300, 30))
    domain = Domain(
        features={f"f{k}": (0, 1) for k in range(30)}, classes=[0, 1], approximate_rows=300
    )
    forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy="rules", random_state=1)
    model = forest.fit(X, (X[:, 0] > 0.5).astype(int)).model_
    facts = table_facts(forest._encoder_, None)
    used = {f for node in model.nodes if node is not None for f in node.direction.features}
    scored = []

    def score(codes):
        scored.append(codes)
        return model.log_odds(codes)

    for feature in range(30):
        in_full = sampled_scores(score, feature, facts.n_codes)
        np.testing.assert_array_equal(model.partial_scores(feature, facts), in_full)
        assert np.ptp(in_full, axis=0).max() == 0 or feature in used
    assert 0 < len(used) < 30 and sum(map(len, scored)) == 256 * facts.n_codes.sum()
    scored.clear()
    sampled_scores(score, 29, facts.n_codes, looked_at=False)
    assert sum(map(len, scored)) == 256


def test_it_is_drawn():
    pytest.importorskip("matplotlib")
    X, y = records(500)
    domain = Domain(features=FEATURES, classes=[False, True], approximate_rows=500)
    forest = PrivateForestClassifier(epsilon=9, domain=domain, random_state=1).fit(X, y)
    figure = forest.explain().plot()
    assert len(figure.axes) == 4
    assert len(forest.explain().plot(["kind"]).axes) == 2
    assert len(forest.explain().plot("kind").axes) == 2


def test_it_becomes_frames():
    pytest.importorskip("pandas")
    X, y = records(500)
    domain = Domain(features=FEATURES, classes=[False, True], approximate_rows=500)
    forest = PrivateForestClassifier(epsilon=9, delta=1e-6, domain=domain, random_state=1).fit(X, y)
    found = forest.explain()
    frame = found.to_frame()
    assert frame["importance"].to_dict() == found.importances
    errors = {n: None if np.isnan(e) else e for n, e in frame["standard_error"].items()}
    assert errors == found.importance_errors
    assert set(frame.index[frame["like_noise"]]) == set(found.like_noise)
    curve = found.dependence[0]
    cells = curve.to_frame()
    assert tuple(cells.index) == curve.cells
    for label, values in curve.predictions.items():
        assert tuple(cells[label]) == values
    assert cells["place"].isna().tolist() == [place is None for place in curve.places]


def test_names_are_drawn_as_they_stand(tmp_path):
    """No name is a formula, hides a label, or takes the place of another."""
    pytest.importorskip("matplotlib")
    feature, kinds = r"in $\frac{1}{0$", [r"$\bad$", "_m\u202e"]
    X = np.empty((200, 2), dtype=object)
    X[:, 0], X[:, 1] = np.arange(200) % 40, [kinds[place % 2] for place in range(200)]
    domain = Domain(features={feature: (0, 40), "$x$_{": kinds}, classes=["_well", "$_{"],
                    approximate_rows=200)  # fmt: skip
    forest = PrivateForestClassifier(epsilon=9, domain=domain, random_state=1)
    forest.fit(X, np.where(X[:, 0].astype(int) > 20, "_well", "$_{"))
    figure = forest.explain().plot()
    figure.savefig(tmp_path / "plot.png")  # where a formula that is none would fail
    ticks = {text.get_text() for axes in figure.axes for text in axes.get_xticklabels()}
    assert {r"in \$\frac{1}{0\$", r"\$\bad\$", r"_m\u202e"} <= ticks
    assert [len(axes.get_legend().get_texts()) for axes in figure.axes[1:]] == [1, 1]
    assert len(figure.axes[0].patches) == 2


def test_of_many_features_the_first_are_printed_and_the_others_add_up():
    shares = {f"f{k}": 0.8**k * 0.2 for k in range(MOST_SHOWN + 4)}
    explained = Explanation(importances=shares, dependence=(), note="why")
    left = sum(list(shares.values())[MOST_SHOWN:])
    *_, last, others, reason = str(explained).splitlines()
    assert last.endswith(f"f{MOST_SHOWN - 1}") and left > 0.005 and reason == "why"
    assert others == f"{left:6.1%}  4 others together: see importances"
    page = explained._repr_html_()
    assert f"{left:.1%}  4 others together" in page and f">f{MOST_SHOWN}<" not in page
    assert f">f{MOST_SHOWN - 1}<" in page and "why" in page
    for n in (MOST_SHOWN, MOST_SHOWN + 1):  # one is no others
        few = Explanation(importances=dict(list(shares.items())[:n]), dependence=())
        assert "others" not in str(few) + few._repr_html_() and f"f{n - 1}" in str(few)


def test_a_reason_is_given_where_no_importance_has_an_error():
    without = {"a": None, "b": None}
    explained = Explanation(
        importances={"a": 0.6, "b": 0.4}, dependence=(), importance_errors=without, note="why"
    )
    for words in (str(explained), explained._repr_html_()):
        assert "why" in words and "±" not in words
    known = explained.model_copy(update={"importance_errors": {"a": 0.1, "b": None}})
    for words in (str(known), known._repr_html_()):
        assert "why" not in words and "± 10.0%" in words
