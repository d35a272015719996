"""A forest as JSON: reads back to the same predictions, and nothing else is read at all."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import BudgetAccountant, Domain, MultinomialForestClassifier, RepeatedFitWarning
from dpforest.accounting import PrivacyLoss, conversion
from dpforest.accounting.allocation import (
    ExplicitAllocation,
    PerLevelAllocation,
    UniformAllocation,
)
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.ledger import LossRecord
from dpforest.datasets import load_mammographic_masses, load_vertebral
from dpforest.exceptions import ModelFormatError, ParameterTypeError, PrivacyLeakWarning
from dpforest.report.guarantee import Guarantee

KINDS = [
    {},
    {"delta": 1e-6},
    {"delta": 1e-6, "selection": "permute_and_flip", "choice": "joint"},
    {"leaves": "label", "partition_rate": 1, "allocation": "theorem2"},
    {"leaves": "count_label", "criterion": "entropy_decrease", "allocation": "per_level"},
    {"random_state": 3, "allocation": ExplicitAllocation("0.01", "0.01", "0.01")},
    {"thresholds": "lattice"},
]


@pytest.mark.parametrize("parameters", KINDS)
def test_round_trip(parameters, make_forest, table, tmp_path):
    X, y = table()
    forest = make_forest(**parameters).fit(X, y)
    text = forest.to_json(tmp_path / "forest.json")
    stored = json.loads(text, parse_constant=pytest.fail)  # no NaN or Infinity: strict JSON
    assert stored["format"] == "dpforest-model" and stored["version"] == 3
    for source in (text, tmp_path / "forest.json", str(tmp_path / "forest.json")):
        read = MultinomialForestClassifier.from_json(source)
        assert np.array_equal(read.predict_proba(X), forest.predict_proba(X))
        assert np.array_equal(read.predict(X), forest.predict(X))
    assert read.to_json() == text
    assert read.spent_ == forest.spent_ and read.guarantee_ == forest.guarantee_
    assert read.privacy_report() == forest.privacy_report()
    assert isinstance(read.accountant_, FrozenLedger)
    assert read.accountant_ == forest.accountant_.frozen()
    assert read.domain_ == forest.domain_ and read.n_features_in_ == 3
    assert read.random_state is None and read.accountant is None
    assert read._lineage == forest._lineage


@pytest.mark.parametrize("load", [load_mammographic_masses, load_vertebral])
def test_round_trip_of_real_tables(load):
    data = load()
    forest = MultinomialForestClassifier(epsilon=1, domain=data.domain, n_estimators=3, max_depth=3)
    forest.fit(data.data, data.target)
    read = MultinomialForestClassifier.from_json(forest.to_json())
    assert np.array_equal(read.predict_proba(data.data), forest.predict_proba(data.data))
    assert read.classes_.tolist() == data.target_names.tolist()


def test_names_survive(make_forest):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"age": [1, 2], "colour": ["red", "blue"], "size": [0.0, 0.5]})
    forest = make_forest().fit(X, ["ill", "well"])
    read = MultinomialForestClassifier.from_json(forest.to_json())
    assert read.feature_names_in_.tolist() == ["age", "colour", "size"]
    reordered = X[["size", "colour", "age"]]
    assert np.array_equal(read.predict_proba(reordered), forest.predict_proba(X))


def test_the_seed_and_the_accountant_are_not_written(make_forest, table):
    accountant = BudgetAccountant(5, name="the household survey")
    forest = make_forest(random_state=987654321, accountant=accountant).fit(*table())
    assert "987654321" not in forest.to_json()
    read = MultinomialForestClassifier.from_json(forest.to_json())
    assert read.guarantee_.status == "demonstration"
    assert read.accountant_.name == "the household survey"


def test_a_stored_forest_can_be_fitted_again(make_forest, table):
    forest = make_forest(epsilon=Fraction(1, 3), n_estimators=1).fit(*table())
    read = MultinomialForestClassifier.from_json(forest.to_json())
    with pytest.warns(RepeatedFitWarning, match="fitted 2 times"):
        assert read.fit(*table()).spent_.exact.epsilon == Fraction(1, 3)


# -- what is no model ------------------------------------------------------------------------


@pytest.fixture
def stored(make_forest, table):
    """A stored forest of labels as a dictionary to be damaged."""
    return json.loads(make_forest().fit(*table()).to_json())


@pytest.fixture
def stored_labels(make_forest, table):
    return json.loads(make_forest(leaves="label").fit(*table()).to_json())


def read(content):
    return MultinomialForestClassifier.from_json(json.dumps(content))


def test_the_undamaged_file_is_read(stored, stored_labels):
    for content in (stored, stored_labels):
        assert json.loads(read(content).to_json()) == content


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "dpforest-domain", "not a dpforest-model but a domain. Give what"),
        ("format", "dpforest-report", "not a dpforest-model but a report. Give what"),
        ("format", "dpforest-plain", "but a model as plain JSON for other programs. Give"),
        ("format", "dpforest-ledger", "not a dpforest-model but an export of a ledger. Give"),
        ("format", ["x"], r"not a dpforest-model\. Give what to_json\(\) of a fitted forest"),
        ("version", 4, "format version 4 is not 3"),
        ("version", None, "format version None"),
        ("estimator", "Ridge", "is a 'Ridge', not a MultinomialForestClassifier"),
        ("estimator", None, "is a None"),
    ],
)
def test_files_of_another_kind(key, value, message, stored):
    stored[key] = value
    with pytest.raises(ModelFormatError, match=message):
        read(stored)


@pytest.mark.parametrize("text", ["{", '{"format": ', "{}", '{"a": 1}', "{" * 50])
def test_text_that_is_no_model(text):
    with pytest.raises(ModelFormatError):
        MultinomialForestClassifier.from_json(text)


def test_files_that_are_no_model(tmp_path):
    for content in (b"[]", b"null", b"PK\x03\x04\xff\xfe", b"", b'"text"', b"[" * 100_000):
        path = tmp_path / "model.json"
        path.write_bytes(content)
        with pytest.raises(ModelFormatError):
            MultinomialForestClassifier.from_json(path)
    with pytest.raises(ModelFormatError, match="there is none"):
        MultinomialForestClassifier.from_json(tmp_path / "absent.json")


def test_every_part_is_needed(stored):
    for key in list(stored):
        with pytest.raises(ModelFormatError):
            read({k: v for k, v in stored.items() if k != key})
    released = stored["released"]
    for key in released:
        with pytest.raises(ModelFormatError):
            read(stored | {"released": {k: v for k, v in released.items() if k != key}})
    for key in released["model"]:
        forest = {k: v for k, v in released["model"].items() if k != key}
        with pytest.raises(ModelFormatError):
            read(stored | {"released": released | {"model": forest}})


# Splits that a kernel would follow out of the table, and numbers it would turn into others.
BAD_SPLITS = [
    ("feature", 3),
    ("feature", -2),
    ("feature", 2**31),
    ("feature", 2**70),
    ("feature", 0.5),
    ("feature", None),
    ("feature", "0"),
    ("low", -1),
    ("low", 2**32),
    ("low", -(2**40)),
    ("low", 10**4),
    ("high", 256),
    ("high", 2**32),
    ("high", -1),
    ("high", 2**63),
]


@pytest.mark.parametrize(("key", "value"), BAD_SPLITS)
def test_splits_out_of_bounds(key, value, stored):
    forest = stored["released"]["model"]
    forest["feature"][1][2], forest["low"][1][2], forest["high"][1][2] = 0, 0, 0
    read(stored)
    forest[key][1][2] = value
    with pytest.raises(ModelFormatError):
        read(stored)


@pytest.mark.parametrize(("key", "value"), [("low", -1), ("low", 256), ("high", -1), ("high", 256)])
def test_codes_out_of_bounds_where_no_split_is(key, value, stored):
    """As of boosted trees: nothing looks at them, and nothing writes them."""
    forest = stored["released"]["model"]
    forest["feature"][1][2], forest["low"][1][2], forest["high"][1][2] = -1, 0, 0
    read(stored)
    forest[key][1][2] = value
    with pytest.raises(ModelFormatError):
        read(stored)


@pytest.mark.parametrize("key", ["feature", "low", "high", "labels", "counts"])
@pytest.mark.parametrize("damage", ["tree", "node", "flat", "empty", "none"])
def test_shapes_that_do_not_fit(key, damage, stored, stored_labels):
    content = stored_labels if key == "labels" else stored
    array = content["released"]["model"][key]
    content["released"]["model"][key] = {
        "tree": array[:-1],
        "node": [tree[:-1] for tree in array],
        "flat": array[0],
        "empty": [],
        "none": None,
    }[damage]
    with pytest.raises(ModelFormatError):
        read(content)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_classes", 3),
        ("n_classes", 1),
        ("n_classes", "many"),
        ("noise_variance", -1.0),
        ("noise_variance", float("nan")),
        ("noise_variance", float("inf")),
        ("noise_variance", "loud"),
    ],
)
def test_leaves_that_do_not_fit(key, value, stored):
    stored["released"]["model"][key] = value
    with pytest.raises(ModelFormatError):
        read(stored)


@pytest.mark.parametrize("value", [2, -1, 0.5, 2**40])
def test_labels_out_of_bounds(value, stored_labels):
    stored_labels["released"]["model"]["labels"][0][1] = value
    with pytest.raises(ModelFormatError):
        read(stored_labels)


def test_labels_and_counts_together(stored, stored_labels):
    stored["released"]["model"]["labels"] = stored_labels["released"]["model"]["labels"]
    with pytest.raises(ModelFormatError):
        read(stored)


def test_a_domain_that_is_not_the_models(stored):
    narrow = Domain(features={"age": (0, 1)}, classes=["a", "b"])
    stored["domain"] = json.loads(narrow.to_json())
    with pytest.raises(ModelFormatError):
        read(stored)


# -- a file that claims what does not follow ---------------------------------------------------


@pytest.fixture
def drafted(make_forest, table):
    with pytest.warns(PrivacyLeakWarning):
        return json.loads(make_forest(domain=None).fit(*table()).to_json())


def halved(content):
    for bound in content["guarantee"]["bounds"]:
        bound["epsilon"] /= 2


def pretend(content):
    content["guarantee"] |= {"status": "holds", "reasons": []}


def edit_ledger(content):
    tree = content["ledger"]["scopes"]["children"][0]["children"][0]["children"][0]
    tree["composed"] = tree["charged"] = LossRecord.of(PrivacyLoss()).model_dump()


CLAIMS = {
    "a smaller epsilon": (halved, "guarantee does not follow"),
    "1 for 1.0, as jq writes it": (
        lambda c: c["ledger"]["remaining_record"]["exact"].update(delta_float=0),
        "was the file formatted anew by a program such as jq",
    ),
    "another unit": (lambda c: c["guarantee"].update(unit="nobody"), "guarantee does not follow"),
    "no bounds": (lambda c: c["guarantee"].update(bounds=[]), "damaged"),
    "one bound": (lambda c: c["guarantee"]["bounds"].pop(), "guarantee does not follow"),
    "a smaller sum": (edit_ledger, "contradicts itself: tree 0: its total"),
    "less spent": (
        lambda c: c["spent"]["exact"].update(epsilon="1/9", epsilon_float=0.2),
        "what it says was spent",
    ),
    "another ledger": (
        lambda c: c["ledger"]["spent_record"].update(c["ledger"]["remaining_record"]),
        "the ledger's total",
    ),
    "another fit": (lambda c: c.update(scope="fit: another"), "does not hold the finished fit"),
    "another estimator": (lambda c: c["fit"].update(estimator="Ridge"), "of another estimator"),
    "other noise": (lambda c: c["fit"].update(randomness="dice"), "no seed is noted"),
    "a larger delta": (
        lambda c: c["fit"].update(delta="1/2"),
        "delta is not the one of its parameters",
    ),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_that_does_not_follow_is_refused(claim, make_forest, table):
    damage, message = CLAIMS[claim]
    delta = 1e-6 if claim == "a larger delta" else 0
    content = json.loads(make_forest(delta=delta).fit(*table()).to_json())
    read(content)
    damage(content)
    with pytest.raises(ModelFormatError, match=message):
        read(content)


def test_void_and_demonstrations_stay_what_they_are(drafted, make_forest, table):
    assert read(drafted).guarantee_.status == "void"
    seeded = json.loads(make_forest(random_state=1).fit(*table()).to_json())
    assert read(seeded).guarantee_.status == "demonstration"
    for content in (drafted, seeded):
        pretend(content)
        with pytest.raises(ModelFormatError, match="guarantee does not follow"):
            read(content)
    drafted["fit"]["leaks"] = []
    with pytest.raises(ModelFormatError, match="drafted from data, and no leak is noted"):
        read(drafted)
    seeded["fit"]["seeded"] = False
    with pytest.raises(ModelFormatError, match="no seed is noted"):
        read(seeded)


def test_a_void_guarantee_without_bounds_is_told_without_them():
    assert "VOID" in Guarantee(status="void", reasons=("bounds were read",)).sentence
    for status in ("holds", "demonstration"):
        with pytest.raises(ValueError, match="a claim needs its bounds"):
            Guarantee(status=status)


def test_a_machine_that_converts_otherwise_claims_what_it_can_show(make_forest, table, monkeypatch):
    # As from one machine with dp_accounting to one without it, and back.
    pytest.importorskip("dp_accounting")
    forest = make_forest(delta=1e-6).fit(*table())
    tight = forest.to_json()
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "_library_bound", lambda *_: None)
        conversion._epsilon_of_rho.cache_clear()
        loose = MultinomialForestClassifier.from_json(tight)
        assert loose.guarantee_.epsilon > forest.guarantee_.epsilon
        assert loose.privacy_report().guarantee == loose.guarantee_
        assert loose.spent_.exact == forest.spent_.exact
        text = loose.to_json()
    conversion._epsilon_of_rho.cache_clear()
    assert MultinomialForestClassifier.from_json(text).guarantee_ == forest.guarantee_


# -- parameters --------------------------------------------------------------------------------

ALLOCATIONS = [
    "uniform",
    UniformAllocation("0.4", "0.25"),
    PerLevelAllocation([1, "1/3"], feature_share="1/7"),
    PerLevelAllocation(),
    ExplicitAllocation("0.01", "1/300", Fraction(1, 7)),
]


@pytest.mark.parametrize("allocation", ALLOCATIONS, ids=str)
def test_parameters_are_read_back_as_they_were_fitted(allocation, make_forest, table):
    X, y = table()
    given = {
        "allocation": allocation,
        "epsilon": Fraction(4, 5),
        "n_estimators": np.int64(2),
        "thresholds": "cells",
        "partition_rate": Decimal("0.5"),
    }
    forest = make_forest(**given).fit(X, y)
    forest.set_params(
        epsilon=0.001, n_estimators=99, thresholds="lattice", allocation="theorem2", verbose=2,
        partition_rate=None, accountant=BudgetAccountant(3),
    )  # fmt: skip
    report = forest.privacy_report()
    read = MultinomialForestClassifier.from_json(forest.to_json())
    assert read.epsilon == "4/5" and read.n_estimators == 2 and read.verbose == 0
    assert read.thresholds == "cells" and read.partition_rate == "0.5"
    assert read.allocation == allocation and type(read.allocation) is type(allocation)
    assert read.accountant is None  # what it was fitted under
    assert np.array_equal(read.predict_proba(X), forest.predict_proba(X))
    assert read.privacy_report() == report and report.parameters["verbose"] == "0"
    with pytest.warns(RepeatedFitWarning):
        assert read.fit(X, y).spent_.exact == forest.spent_.exact


class Mine(UniformAllocation):
    """Somebody else's allocation."""

    name = "mine"


def test_an_allocation_of_somebody_elses_keeps_its_name(make_forest, table):
    text = make_forest(allocation=Mine()).fit(*table()).to_json()
    assert MultinomialForestClassifier.from_json(text).allocation == "mine"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def template():
    domain = Domain(features={"age": (0, 100)}, classes=["a", "b"])
    forest = MultinomialForestClassifier(epsilon=1, domain=domain, n_estimators=1, max_depth=1)
    return forest.fit([[1]], ["a"]).to_json()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@given(data=st.data())
def test_damage_anywhere_is_refused_or_harmless(data, template):
    content = json.loads(template)
    place = content
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(JSON)
    try:
        model = read(content)
    except ModelFormatError:
        return
    probabilities = model.predict_proba([[5], [50]])
    assert probabilities.shape == (2, 2) and np.isfinite(probabilities).all()


def test_errors_of_other_kinds_are_not_hidden():
    with pytest.raises(ParameterTypeError, match="must be a dpforest.Domain or None"):
        MultinomialForestClassifier(epsilon=1, domain=3).fit([[1]], [1])
