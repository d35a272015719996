"""The plain form, followed by both of its readers, predicts as the forest does."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    read_plain,
)
from dpforest.domain.cells import lattice_of
from dpforest.plain import reader as plain_reader
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.rules.learner import RulesLearner
from dpforest.trees.rules.settings import RulesSettings
from dpforest.trees.strategies import ASKED

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "plain_model.md"
SCHEMA = ROOT / "dpforest" / "plain" / "plain_model.schema.json"
CLOSE = 1e-12
FEATURES = [
    {"name": "age", "kind": "numeric", "lower": 0, "upper": 100, "integer": True},
    {"name": "income", "kind": "numeric", "lower": 0, "upper": 1e5, "missing": True},
    {"name": "colour", "kind": "categorical", "categories": ["red", "green", "blue"]},
    {"name": "kind", "kind": "categorical", "categories": ["a", "b", "z"], "other": "z",
     "missing": True},
    {"name": "size", "kind": "numeric", "lower": -1, "upper": 1},
    {"name": "grade", "kind": "categorical", "categories": ["1", "2", "4"], "missing": True},
    {"name": "married", "kind": "categorical", "categories": ["True", "False"]},
]  # fmt: skip
KINDS = [*ASKED, "refitted, pure", "refitted with a start", "prior alone"]
#: Forests whose splits are drawn: by how thresholds and leaves are.
DRAWN = {
    "cells": {},
    "lattice": {"thresholds": "lattice"},
    "labels": {"leaves": "label"},
    "with a delta": {"delta": "1e-6"},
}
SMALL = {
    "rules": RulesLearner(RulesSettings(n_sums=12, n_cuts=7)),
    "refitted": RefittedForest(
        RefittedSettings(fixed_size=RefittedSize(3, 4, 12)),
        PureRefittedSettings(fixed_size=RefittedSize(3, 4, 6)),
    ),
    "boosted": BoostedForest(BoostedSettings(fixed_size=BoostedSize(3, 6))),
    "additive": AdditiveForest(InTurnSettings(cycles=3, pure_cycles=2, max_bins=9)),
}
#: Linear, for targets too; by itself a regression begins with curves.
STARTED = RefittedForest(
    RefittedSettings(fixed_size=RefittedSize(3, 4, 6), start_signal=1e-9, curve_signal=float("inf"))
)
N = 500
nan, inf = float("nan"), float("inf")
#: Values that say the same in other ways, or that nothing was said about.
ODD: list[Any] = [
    None, nan, "", " ", "nan", "mauve", "a lot", inf, -inf, "inf", "-Infinity", "1e400", 10**400,
    1e308, -1e308, True, False, "TRUE", "false", 0, 1, 2, 3, 4, -1, 0.5, -0.0, "0", "1", " 2 ",
    "01", "1_0", "1.0", "٢", "0x1", "nan(7)", "RED", " red ", "red\0", "z", "Z", "4", 49.5, 50,
    "50.0", 1e5,
]  # fmt: skip


@pytest.fixture(scope="module")
def readers(load_helper) -> Any:
    return load_helper(ROOT / "benchmarks" / "common" / "plain_readers.py")


@pytest.fixture
def predictions(readers) -> Any:
    """Predictions by every reader that can run here, from a text and records."""
    own = [readers.by_python, *([readers.by_node] if readers.node() else [])]
    return lambda text, records: [np.array(reader(text, records)) for reader in own]


def table() -> tuple[list[list[Any]], np.ndarray]:
    generator = np.random.default_rng(0)
    age, kind = generator.integers(0, 101, N), generator.integers(0, 3, N)
    income = np.where(generator.random(N) < 0.1, nan, generator.exponential(2e4, N))
    colour, size = generator.integers(0, 3, N), generator.uniform(-1, 1, N)
    grade, married = generator.choice([1, 2, 4], N), generator.random(N) < 0.5
    score = (age > 50) + (colour == 1) + 0.5 * (kind == 0) + generator.normal(0, 0.3, N)
    score += 0.5 * married + 0.4 * (grade == 4)
    columns = (age, income, colour, kind, size, grade, married)
    X = [
        [int(a), float(i), ("red", "green", "blue")[c], "abz"[k], float(s), int(g), bool(m)]
        for a, i, c, k, s, g, m in zip(*columns, strict=True)
    ]
    return X, score


X, SCORE = table()


def forms() -> dict[str, list[list[Any]]]:
    """The same records as values, as text and as positions; with gaps; with odd values."""
    values = X[:50]
    generator = np.random.default_rng(1)
    positions = [
        [*row[:2], ["red", "green", "blue"].index(row[2]), "abz".index(row[3]), *row[4:]]
        for row in values
    ]

    def with_some(of: list[Any], share: float) -> list[list[Any]]:
        return [[of[generator.integers(len(of))] if generator.random() < share else v for v in row]
                for row in values]  # fmt: skip

    return {
        "values": values,
        "text": [["" if v != v else str(v) for v in row] for row in values],
        "positions": positions,
        "missing": with_some(ODD[:5], 0.3),
        "unknown": with_some(ODD, 0.3) + [[odd] * len(FEATURES) for odd in ODD],
        "edges": near_edges(),
    }


def near_edges() -> list[list[Any]]:
    """Records on both sides of, and on, public edges and lattice points."""
    found = []
    for place, cuts in ((0, [0.5, 49.5, 99.5]), (1, edges()), (4, [-0.5, 0.0, 0.25, 0.75])):
        for cut in cuts:
            for near in (np.nextafter(cut, -inf), cut, np.nextafter(cut, inf)):
                record = list(X[0])
                record[place] = float(near)
                found.append(record)
    return found


def edges() -> list[float]:
    from dpforest.domain.encoder import DomainEncoder

    cells = DomainEncoder(Domain(features=FEATURES, classes=["a", "b"])).cells[1]
    return [cells.threshold(code) for code in range(0, 250, 25)]


FORMS = forms()


def fitted(
    make: Any, kind: str, use_learners: Any, random_state: int | None = None, **extra: Any
) -> Any:
    strategy, epsilon = kind, 8
    if kind in ("refitted, pure", "refitted with a start"):
        strategy = "refitted"
    elif kind == "prior alone":
        strategy, epsilon = ("one_shot" if "target" in extra else "rules"), "0.001"
    use_learners(SMALL | ({"refitted": STARTED} if kind == "refitted with a start" else {}))
    delta = "1e-6" if kind in ("refitted", "refitted with a start") else 0
    domain = Domain(features=FEATURES, approximate_rows=N, **extra)
    forest = make(
        epsilon=epsilon, delta=delta, strategy=strategy, domain=domain, random_state=random_state
    )
    return forest.fit(X, labels_of(extra.get("classes")))


def labels_of(classes: list[Any] | None) -> Any:
    if classes is None:
        return SCORE
    return [classes[k] for k in np.digitize(SCORE, [1.0, 1.8][: len(classes) - 1])]


def all_records() -> list[list[Any]]:
    return [record for records in FORMS.values() for record in records]


pytestmark = pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")


# -- every strategy, every form, every reader ---------------------------------------------


def test_the_reader_in_javascript_runs_here(readers, use_learners, predictions):
    # Without Node all other tests compare the reader in Python alone.
    if readers.node() is None:
        pytest.skip(f"no Node {readers.OLDEST_NODE} or later: the reader in JavaScript is not run")
    forest = fitted(PrivateForestRegressor, "one_shot", use_learners, 0, target=(-1.0, 4.0))
    in_python, in_javascript = predictions(forest.to_plain(), X[:3])
    assert in_javascript.shape == (3,)
    # Of one model in ten the exponentials of the two differ in a last digit.
    np.testing.assert_array_max_ulp(in_javascript, in_python, maxulp=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [["well", "ill"], [3, 1, 2]])
def test_probabilities_are_those_of_the_forest(kind, classes, use_learners, predictions, tmp_path):
    forest = fitted(PrivateForestClassifier, kind, use_learners, 0, classes=classes)
    text = forest.to_plain(tmp_path / "plain.json")
    assert (tmp_path / "plain.json").read_text(encoding="utf-8") == text
    expected = np.concatenate([forest.predict_proba(records) for records in FORMS.values()])
    for found in predictions(text, all_records()):
        assert np.abs(found - expected).max() < CLOSE
    assert kind == "prior alone" or np.ptp(expected[:, 0]) > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_means_are_those_of_the_forest(kind, use_learners, predictions):
    forest = fitted(PrivateForestRegressor, kind, use_learners, 0, target=(-1.0, 4.0))
    expected = np.concatenate([forest.predict(records) for records in FORMS.values()])
    for found in predictions(forest.to_plain(), all_records()):
        assert np.abs(found - expected).max() < 5 * CLOSE
    assert kind == "prior alone" or np.ptp(expected) > 0.1


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("classes", [["well", "ill"], [3, 1, 2]])
def test_forests_whose_splits_are_drawn_are_read_too(kind, classes, predictions):
    domain = Domain(features=FEATURES, classes=classes)
    forest = MultinomialForestClassifier(
        epsilon=60, domain=domain, n_estimators=4, max_depth=5, random_state=0, **DRAWN[kind]
    ).fit(X, labels_of(classes))
    records = [*all_records(), *(around_thresholds(forest) if kind == "lattice" else [])]
    expected = forest.predict_proba(records)
    for found in predictions(forest.to_plain(), records):
        assert np.abs(found - expected).max() < CLOSE
    assert np.ptp(expected[:, 0]) > 0.1


def around_thresholds(forest: Any) -> list[list[Any]]:
    """Records whose values lie on the thresholds of a forest, and on the doubles beside them."""
    found = []
    for nodes in json.loads(forest.to_plain())["score"]["trees"]:
        for node in nodes:
            cut = node.get("threshold")
            for near in (
                () if cut is None else (cut, np.nextafter(cut, -inf), np.nextafter(cut, inf))
            ):
                record = list(X[1])
                record[node["feature"]] = float(near)
                found.append(record)
    assert len(found) > 30
    return found


def test_the_lattice_is_one(use_learners):
    # Else "lattice" would say the same as "cells".
    assert lattice_of(Domain(features=FEATURES, classes=["a", "b"]).features[1]).n_codes == 2**32


def test_labels_are_those_that_the_forest_predicts(use_learners, readers):
    forest = fitted(PrivateForestClassifier, "rules", use_learners, classes=[3, 1, 2])
    model = read_plain(forest.to_plain())
    assert model.classes == forest.classes_.tolist() == [1, 2, 3]
    assert model.predict(all_records()) == [
        label for records in FORMS.values() for label in forest.predict(records).tolist()
    ]


def test_a_matrix_of_positions_is_read_as_it_was_fitted(use_learners, predictions):
    use_learners(SMALL)
    domain = Domain(features=FEATURES[:5], classes=["well", "ill"], approximate_rows=N)
    place = {name: float(k) for k, name in enumerate(["red", "green", "blue"])}
    kinds = {name: float(k) for k, name in enumerate("abz")}
    matrix = np.array([[a, i, place[c], kinds[k], s] for a, i, c, k, s, *_ in X])
    forest = PrivateForestClassifier(epsilon=60, strategy="one_shot", domain=domain)
    forest.fit(matrix, labels_of(["well", "ill"]))
    expected = forest.predict_proba(matrix)
    named = [row[:5] for row in X]
    for records in (matrix.tolist(), named):
        for found in predictions(forest.to_plain(), records):
            assert np.abs(found - expected).max() < CLOSE


# -- what stands in the file ----------------------------------------------------------------


@pytest.fixture(scope="module")
def files() -> dict[str, Any]:
    """A small file of each kind of score, with a start; parsed."""
    with pytest.MonkeyPatch.context() as patch:
        from dpforest.trees.strategies import Strategy

        real = Strategy.make
        small = {"RulesLearner": SMALL["rules"], "RefittedForest": STARTED}
        patch.setattr(Strategy, "make", lambda s: small.get(s.learner) or real(s))
        found = {}
        for kind, make, extra in (
            ("rules", PrivateForestClassifier, {"classes": ["well", "ill"]}),
            ("refitted", PrivateForestRegressor, {"target": (0.0, 1.0)}),
        ):
            domain = Domain(features=FEATURES, approximate_rows=N, **extra)
            forest = make(epsilon=60, delta="1e-6", strategy=kind, domain=domain, random_state=0)
            labels = labels_of(extra.get("classes"))
            found[kind] = json.loads(forest.fit(X, labels).to_plain())
    labels = MultinomialForestClassifier(
        epsilon=9, domain=Domain(features=FEATURES, classes=["a", "b", "c"]), max_depth=3,
        n_estimators=2, leaves="label", thresholds="lattice", random_state=0,
    ).fit(X, labels_of(["a", "b", "c"]))  # fmt: skip
    found["labels"] = json.loads(labels.to_plain())
    return found


def small(content: Any) -> Any:
    """The same with two trees, since a validator is slow."""
    if content.get("kind") == "trees":
        return {**content, "trees": content["trees"][:2]}
    if content.get("kind") == "mix":
        return {**content, "parts": [small(part) for part in content["parts"]]}
    return {**content, "score": small(content["score"])} if "score" in content else content


def test_files_keep_to_the_schema(files):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for content in files.values():
        validator.validate(small(content))
        for key in content:
            with pytest.raises(jsonschema.ValidationError):
                validator.validate({k: v for k, v in small(content).items() if k != key})


def test_the_page_names_every_key_of_the_schema():
    page = PAGE.read_text(encoding="utf-8")
    text = SCHEMA.read_text(encoding="utf-8")
    keys = {key for found in re.findall(r'"required": \[(.*?)\]', text) for key in json.loads(
        f"[{found}]")}  # fmt: skip
    assert len(keys) > 20 and "edges" in page
    assert [key for key in sorted(keys) if f"`{key}`" not in page and f'"{key}"' not in page] == []


def test_the_page_s_example_is_a_model():
    page = PAGE.read_text(encoding="utf-8")
    text = page.split("```json\n")[1].split("```")[0].replace("…", "")
    model = read_plain(text)
    rows = model.predict_proba([[38.5, 0], [38.6, "Female"], [None, 1], ["x", "neither"]])
    scores = [np.log(high / low) for low, high in rows]
    assert np.allclose(scores, [-1.9, -1.1, -0.4, -1.1])


def test_features_say_what_numbers_mean(files):
    found = {feature["name"]: feature["numbers"] for feature in files["rules"]["features"]}
    assert found == {
        "age": "values", "income": "values", "colour": "positions", "kind": "positions",
        "size": "values", "grade": "values", "married": "positions",
    }  # fmt: skip


def test_edges_stand_where_a_table_needs_them(files):
    for name, expected in (("refitted", 3), ("labels", 0)):
        assert sum("edges" in feature for feature in files[name]["features"]) == expected
    looked_at = {
        table["feature"] for node in files["rules"]["score"]["nodes"]
        for table in node.get("sum", [])
    }  # fmt: skip
    numeric = {0, 1, 4} & looked_at
    assert {p for p, f in enumerate(files["rules"]["features"]) if "edges" in f} == numeric


def test_the_start_and_the_soft_cuts_are_there(files):
    assert len(files["refitted"]["score"]["start"]) == len(FEATURES)
    assert files["rules"]["score"]["steepness"] is not None


def test_it_holds_no_seed_no_budget_and_no_counts(files):
    for content in files.values():
        assert set(content) == {"format", "version", "digits", "features", "score", "link"}
    assert set(files["labels"]["score"]) == {"kind", "columns", "base", "start", "trees"}


def test_only_a_fitted_forest_has_a_plain_form():
    from sklearn.exceptions import NotFittedError

    for make in (PrivateForestRegressor, PrivateForestClassifier, MultinomialForestClassifier):
        with pytest.raises(NotFittedError):
            make(epsilon=1).to_plain()


def test_a_stored_forest_has_the_same_plain_form(use_learners):
    forest = fitted(PrivateForestClassifier, "rules", use_learners, classes=["well", "ill"])
    again = PrivateForestClassifier.from_json(forest.to_json())
    assert again.to_plain() == forest.to_plain()


# -- readers that stand alone ----------------------------------------------------------------


def test_the_reader_in_python_needs_the_standard_library_alone(files, tmp_path):
    source = Path(plain_reader.__file__).read_text(encoding="utf-8")
    names = [
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    ]  # fmt: skip
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    (tmp_path / "reader.py").write_text(source, encoding="utf-8")
    (tmp_path / "model.json").write_text(json.dumps(files["rules"]), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-I", "reader.py", "model.json"], cwd=tmp_path, capture_output=True,
        input=f'[[40, 1e4, 2, "a", 0.5, 4, true], [{"9" * 5000}{", null" * 6}]]', text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert np.allclose(np.sum(json.loads(run.stdout), axis=1), 1)


def test_the_reader_in_javascript_needs_no_package(readers):
    source = readers.READER.read_text(encoding="utf-8")
    imported = set(re.findall(r'import\("([^"]+)"\)', source))
    assert imported == {"node:fs", "node:url"} and "require(" not in source
    assert not re.findall(r"^import ", source, re.MULTILINE)


def test_readers_refuse_another_version(files, readers, tmp_path):
    for other in ({"version": 1}, {"version": 3}, {"format": "dpforest-model"}):
        content = {**files["rules"], **other}
        with pytest.raises(ValueError, match="not a dpforest-plain model of version 2"):
            plain_reader.PlainModel(content)
        if readers.node() is not None:
            with pytest.raises(AssertionError, match="not a dpforest-plain model of version 2"):
                readers.by_node(json.dumps(content), [])


def test_probabilities_of_means_are_refused(files):
    with pytest.raises(ValueError, match="use predict"):
        plain_reader.PlainModel(files["refitted"]).predict_proba([])
