"""The additive model: stored and read back, damaged files refused, explained by brute force."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dpforest.exceptions import ModelFormatError
from dpforest.trees.additive.model import AdditiveModel
from dpforest.trees.curves.in_turn.queries import FeatureMove
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.queries import ScoreHistory
from dpforest.trees.scored.score_steps import in_score_steps

CODES = [5, -3, 4]
CLASSES = [2, 4]


def made(facts, seed: int = 0) -> AdditiveModel:
    """A model with any numbers; sizes are whole."""
    generator = np.random.default_rng(seed)
    n_codes, n_columns = int(facts.offsets[-1]), n_score_columns(facts.n_classes)
    values = in_score_steps(generator.normal(size=(n_codes, n_columns)))
    sizes = generator.integers(1, 9, n_codes).astype(float)
    base = generator.normal(size=n_columns)
    return AdditiveModel(facts.n_classes, facts.offsets, base, values, sizes)


def all_records(facts) -> np.ndarray:
    return np.array(list(product(*map(range, facts.n_codes))), dtype=np.uint8)


def by_hand(model, code) -> np.ndarray:
    """Scores of one record, by the book."""
    own = [float(v) for v in model.base]
    for feature, c in enumerate(code):
        for k in range(len(own)):
            own[k] += model.code_values[model.offsets[feature] + c, k]
    return np.array(own if len(own) > 1 else [0.0, *own])


@pytest.mark.parametrize("n_classes", CLASSES)
def test_scores_are_a_base_and_what_each_code_is_worth(facts_of, n_classes):
    facts = facts_of(CODES, n_classes)
    model, codes = made(facts), all_records(facts)
    expected = np.array([by_hand(model, code) for code in codes])
    assert model.log_odds(codes) == pytest.approx(expected, abs=1e-12)
    assert model.log_odds(codes[:0]).shape == (0, n_classes)
    # Records may lie in any order in memory.
    assert np.array_equal(model.log_odds(np.asfortranarray(codes)), model.log_odds(codes))


@pytest.mark.parametrize("n_classes", CLASSES)
def test_released_steps_in_any_order_make_the_model_s_scores(facts_of, table_of, n_classes):
    from dpforest.records.base import Chunk

    facts = facts_of(CODES, n_classes)
    model, table = made(facts), table_of(facts, 60)
    history = ScoreHistory(model.base)
    for feature in (1, 2, 0):
        own = model.code_values[facts.offsets[feature] : facts.offsets[feature + 1]]
        half = in_score_steps(own / 3)
        history = history.then(FeatureMove(feature, half)).then(FeatureMove(feature, own - half))
    scores = history.scores(Chunk(table))
    found = model.log_odds(table.codes)
    assert scores == pytest.approx(found if n_classes > 2 else found[:, 1:], abs=1e-12)


@pytest.mark.parametrize("n_classes", CLASSES)
def test_a_model_is_stored_and_read_back(facts_of, n_classes):
    facts = facts_of(CODES, n_classes)
    model, codes = made(facts), all_records(facts)
    data = json.loads(json.dumps(model.to_data(), allow_nan=False))
    again = AdditiveModel.from_data(data, facts)
    assert np.array_equal(model.log_odds(codes), again.log_odds(codes))
    assert np.array_equal(model.feature_importances(), again.feature_importances())
    assert again.to_data() == model.to_data()


DAMAGE = {
    "a value less": lambda data: data["code_values"].pop(),
    "a column more": lambda data: [row.append(0) for row in data["code_values"]],
    "a value that is no whole number": lambda data: data["code_values"][0].__setitem__(0, 0.5),
    "a value beyond all": lambda data: data["code_values"][0].__setitem__(0, 2**60),
    "a size less": lambda data: data["sizes"].pop(),
    "a negative size": lambda data: data["sizes"].__setitem__(0, -1.0),
    "a size that is none": lambda data: data["sizes"].__setitem__(0, float("nan")),
    "a base that is none": lambda data: data["base"].__setitem__(0, float("inf")),
    "a base more": lambda data: data["base"].append(0.0),
    "other codes": lambda data: data["offsets"].__setitem__(1, 4),
    "other classes": lambda data: data.__setitem__("n_classes", 3),
    "another kind": lambda data: data.__setitem__("kind", "boosted"),
    "no base": lambda data: data.pop("base"),
    "no offsets": lambda data: data.pop("offsets"),
    "text": lambda data: data.__setitem__("sizes", "many"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_models_are_refused(facts_of, damage):
    facts = facts_of(CODES, 2)
    data = made(facts).to_data()
    AdditiveModel.from_data(data, facts)
    damage(data)
    with pytest.raises(ModelFormatError):
        AdditiveModel.from_data(data, facts)


def test_models_of_another_domain_are_refused(facts_of):
    data = made(facts_of(CODES, 2)).to_data()
    for facts in (facts_of([5, -3], 2), facts_of([5, -3, 5], 2), facts_of(CODES, 3)):
        with pytest.raises(ModelFormatError):
            AdditiveModel.from_data(data, facts)


@pytest.mark.parametrize("n_classes", CLASSES)
def test_importances_are_shares_of_the_spread_over_records(facts_of, n_classes):
    facts = facts_of(CODES, n_classes)
    model = made(facts)
    spread = []
    for feature in range(facts.n_features):
        span = slice(facts.offsets[feature], facts.offsets[feature + 1])
        every = np.repeat(model.code_values[span], model.sizes[span].astype(int), axis=0)
        spread.append(every.var(axis=0).sum() * len(every))
    expected = np.array(spread) / sum(spread)
    assert model.feature_importances() == pytest.approx(expected)


def test_a_level_that_all_records_share_carries_nothing(facts_of):
    facts = facts_of(CODES, 2)
    model = made(facts)
    raised = model.code_values.copy()
    raised[facts.offsets[1] : facts.offsets[2]] += 3.0
    raised[: facts.offsets[1]] = 1.0
    model = replace(model, code_values=raised)
    found = model.feature_importances()
    assert found[0] == 0 and found.sum() == pytest.approx(1.0)
    flat = replace(model, code_values=np.zeros_like(raised))
    assert not flat.feature_importances().any()


@pytest.mark.parametrize("n_classes", CLASSES)
def test_partial_scores_are_means_over_what_else_a_record_may_be(facts_of, n_classes):
    facts = facts_of(CODES, n_classes)
    model, codes = made(facts), all_records(facts)
    scores = model.log_odds(codes)
    for feature in range(facts.n_features):
        weights = np.ones(len(codes))
        for other in set(range(facts.n_features)) - {feature}:
            weights *= model.sizes[facts.offsets[other] + codes[:, other]]
        found = model.partial_scores(feature, facts)
        assert found.shape == (facts.n_codes[feature], n_classes)
        for code, row in enumerate(found):
            own = codes[:, feature] == code
            mean = np.average(scores[own], axis=0, weights=weights[own])
            assert row == pytest.approx(mean, abs=1e-12)
