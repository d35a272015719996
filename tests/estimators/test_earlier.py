"""Models that an earlier version stored are read, and predict what they did there.

The files of ``earlier/`` were written by the version before the one that stores the strategy of
every estimator; each holds a few points with what its writer predicted there.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dpforest
from dpforest import Domain, MultinomialForestClassifier, PrivateForestClassifier
from dpforest.exceptions import ModelFormatError

FILES = sorted((Path(__file__).parent / "earlier").glob("*.json"))


def predicted(model, points):
    return getattr(model, "predict_proba", model.predict)(points)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_model_of_version_2_is_read_and_stored_as_of_today(file):
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["text"]["version"] == 2
    kind = getattr(dpforest, kept["estimator"])
    model = kind.from_json(json.dumps(kept["text"]))
    assert np.allclose(predicted(model, kept["points"]), kept["predictions"], rtol=0, atol=1e-12)
    stored = json.loads(model.to_json())
    assert stored["version"] == 3
    assert stored["released"].keys() >= {"strategy", "model"}
    again = kind.from_json(json.dumps(stored))
    assert np.array_equal(predicted(again, kept["points"]), predicted(model, kept["points"]))
    assert again.fingerprint_ == model.fingerprint_
    assert again.privacy_report() == model.privacy_report()
    assert model.explain().importances and json.loads(model.to_plain())["link"]


def test_there_is_a_file_of_every_kind():
    written = {json.loads(file.read_text(encoding="utf-8"))["estimator"] for file in FILES}
    assert written == {
        "MultinomialForestClassifier",
        "PrivateForestClassifier",
        "PrivateForestRegressor",
    }


@pytest.mark.parametrize("damage", ["labels", "feature"])
def test_trees_of_an_earlier_file_are_checked_as_those_of_today(damage):
    (file,) = (f for f in FILES if f.stem == "multinomial_forest_of_labels")
    text = json.loads(file.read_text(encoding="utf-8"))["text"]
    text["released"][damage][0][0] = 2**20
    with pytest.raises(ModelFormatError):
        MultinomialForestClassifier.from_json(json.dumps(text))


def test_a_model_of_another_strategy_is_none_of_this_forest():
    (file,) = (f for f in FILES if f.stem == "multinomial_forest_of_counts")
    (other,) = (f for f in FILES if f.stem == "rules_of_classes")
    text, rules = (json.loads(f.read_text(encoding="utf-8"))["text"] for f in (file, other))
    forest = MultinomialForestClassifier.from_json(json.dumps(text))
    stored = json.loads(forest.to_json())
    assert MultinomialForestClassifier.from_json(json.dumps(stored)).strategy_ == "multinomial"
    with pytest.raises(ModelFormatError, match="another strategy"):
        MultinomialForestClassifier.from_json(json.dumps(stored | {"released": rules["released"]}))


def test_a_model_of_another_strategy_than_was_paid_for_is_refused():
    feature = {"kind": "numeric", "name": "a", "lower": 0, "upper": 9, "integer": True}
    # Declared, since a bought number of records may come out as next to none.
    domain = Domain(features=[feature], classes=[0, 1], approximate_rows=400)
    X = np.arange(400)[:, None] % 10
    stored = {
        strategy: json.loads(
            PrivateForestClassifier(epsilon=0.2, domain=domain, strategy=strategy)
            .fit(X, (X[:, 0] > 4).astype(int))
            .to_json()
        )
        for strategy in ("auto", "one_shot")
    }
    other, asked = stored["one_shot"], stored["one_shot"]["parameters"] | {"strategy": "rules"}
    with pytest.raises(ModelFormatError, match="another strategy than its parameters ask for"):
        PrivateForestClassifier.from_json(json.dumps(other | {"parameters": asked}))
    auto = stored["auto"]
    assert auto["released"]["strategy"] == "rules"
    with pytest.raises(ModelFormatError, match="its ledger paid for"):
        PrivateForestClassifier.from_json(json.dumps(auto | {"released": other["released"]}))
