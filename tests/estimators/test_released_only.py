"""A fitted forest holds released values and public facts: nothing else can be reached from it."""

from __future__ import annotations

import gc
import json
import pickle
import weakref
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest import BudgetAccountant, MultinomialForestClassifier, PrivateForestClassifier
from dpforest.accounting.grants import Grant
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.estimators import fitting
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import LatticeColumns, Table
from dpforest.trees.multinomial.cells import LevelCells
from dpforest.trees.multinomial.kernels.predict import sum_leaf_values
from dpforest.trees.multinomial.lattice import LevelLattice
from dpforest.trees.multinomial.segments import Segments
from dpforest.trees.strategies import ASKED

#: Types that hold records or raw counts, and permissions to draw.
SECRET_TYPES = (
    Table, LatticeColumns, EncodedMatrix, EncodedTable, Segments, LevelCells, LevelLattice,
    Grant,
)  # fmt: skip
# A number of records that nothing public has, and what is left of it by dropping.
N_ROWS, N_DROPPED = 1237, 36
SECRET_NUMBERS = {N_ROWS, N_ROWS - N_DROPPED, N_DROPPED}
KINDS = [
    {},
    {"delta": 1e-6},
    {"choice": "joint"},
    {"leaves": "label", "partition_rate": 1, "allocation": "theorem2"},
    {"n_jobs": 2},
    {"thresholds": "lattice"},
]


@pytest.fixture
def fitted(make_forest, table):
    """A forest on so many records, some of them dropped, and the records that were kept."""

    def fit(**parameters: Any):
        X, y = table(N_ROWS)
        for i in range(0, 2 * N_DROPPED, 2):
            X[i] = [float("nan"), *X[i][1:]]
        forest = make_forest(**{"accountant": BudgetAccountant(50, delta=1e-6), **parameters}).fit(
            X, y
        )
        kept = [(row, label) for row, label in zip(X, y, strict=True) if row[0] == row[0]]
        assert len(kept) == N_ROWS - N_DROPPED
        return forest, kept

    return fit


def forms_of(forest: MultinomialForestClassifier) -> dict[str, Any]:
    return {
        "live": forest,
        "pickled": pickle.loads(pickle.dumps(forest)),
        "stored": MultinomialForestClassifier.from_json(forest.to_json()),
        "report": forest.privacy_report(),
    }


def true_leaf_counts(forest, kept) -> np.ndarray:
    X, y = zip(*kept, strict=True)
    codes = forest._encoder_.encode_features(list(X))[0].codes
    trees = forest.forest_
    labels = np.array([forest.domain_.classes.texts.index(label) for label in y])
    counts = np.zeros((trees.n_trees, 2**trees.depth, 2), dtype=np.int64)
    numbers = np.arange(2.0**trees.depth)[None, :, None]  # a leaf's value is its number
    for tree in range(trees.n_trees):
        heap = (a[tree : tree + 1] for a in (trees.feature, trees.low, trees.high))
        leaves = np.empty((len(y), 1))
        sum_leaf_values(codes, *heap, trees.depth, numbers, leaves)
        np.add.at(counts[tree], (leaves[:, 0].astype(int), labels), 1)
    return counts


def test_the_search_finds_what_is_hidden(searching):
    class Slotted:
        __slots__ = ("held",)

    secret = np.zeros(7)

    def closure(default: Any = Slotted()) -> Any:  # noqa: B008
        return secret, default

    closure.__defaults__[0].held = {"deep": [N_ROWS]}
    found = list(searching.reachable({"function": closure}))
    assert any(item is secret for item in found)
    assert any(searching.numbers_in(item) & {N_ROWS} for item in found)


def test_a_number_is_kept_if_each_fit_holds_it(searching):
    fits = iter([{5, 7}, {7, 9}, {9}, {7}])
    assert searching.found_in_every_fit(lambda: next(fits)) == set()
    assert next(fits) == {7}  # the third fit had settled it
    assert searching.found_in_every_fit(lambda: {3, 7}) == {3, 7}


@pytest.mark.parametrize("parameters", KINDS)
def test_no_table_no_count_no_number_of_records(parameters, fitted, searching):
    def secrets_of_a_fit() -> set[int]:
        forest, kept = fitted(**parameters)
        counts, found = true_leaf_counts(forest, kept), set()
        for name, form in forms_of(forest).items():
            for item in searching.reachable(form):
                found |= searching.numbers_in(item) & SECRET_NUMBERS
                assert not isinstance(item, SECRET_TYPES), name
                if isinstance(item, np.ndarray) and item.shape[-2:] == counts.shape[-2:]:
                    assert not any(np.array_equal(item, c) for c in (*counts, counts)), name
        return found

    assert searching.found_in_every_fit(secrets_of_a_fit) == set()


@pytest.mark.parametrize("parameters", KINDS)
def test_nothing_that_replays_the_noise(parameters, fitted, searching):
    forest, _ = fitted(**parameters)
    generators = (RandomSource, np.random.Generator, np.random.BitGenerator, np.random.RandomState)
    for name, form in forms_of(forest).items():
        for item in searching.reachable(form):
            assert not isinstance(item, generators), name


def test_a_seed_is_where_the_caller_put_it_and_nowhere_else(fitted, searching):
    seed = 918273645
    forest, _ = fitted(random_state=seed)
    holders = [
        name
        for name, value in vars(forest).items()
        if any(searching.numbers_in(item) & {seed} for item in searching.reachable(value))
    ]
    assert holders == ["random_state"]
    assert str(seed) not in forest.to_json()
    assert str(seed) not in forest.privacy_report().to_json()
    assert str(seed) not in forest.privacy_report().to_markdown()


def test_texts_hold_no_number_of_records(fitted, searching):
    def secrets_of_a_fit() -> set[int]:
        forest, _ = fitted()
        report = forest.privacy_report()
        texts = (forest.to_json(), report.to_json(), report.to_markdown(), repr(forest))
        long = SECRET_NUMBERS - {N_DROPPED}
        found = {secret for secret in long if any(str(secret) in text for text in texts)}
        return found | {N_DROPPED} & set(integers_of(json.loads(report.to_json())))

    assert searching.found_in_every_fit(secrets_of_a_fit) == set()


def integers_of(content: Any) -> Iterator[int]:
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        for item in content:
            yield from integers_of(item)
    elif isinstance(content, int):
        yield content


@pytest.mark.parametrize("parameters", KINDS)
def test_records_are_gone_after_the_fit(parameters, fitted, searching):
    before = set(map(id, searching.alive(SECRET_TYPES)))
    forest, _ = fitted(**parameters)
    assert [item for item in searching.alive(SECRET_TYPES) if id(item) not in before] == []
    assert forest.forest_ is not None


@pytest.mark.parametrize("kind", ["multinomial", *ASKED])
def test_records_go_as_a_fit_ends_and_wait_for_no_collection(kind, make_forest, table, monkeypatch):
    """A cycle of objects would keep them for as long as nobody collects garbage."""
    made: list[weakref.ref[Any]] = []

    class Watched(MemoryRecords):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(weakref.ref(self))

    monkeypatch.setattr(fitting, "MemoryRecords", Watched)
    forest = make_forest()
    if kind != "multinomial":
        domain = forest.domain.model_copy(update={"approximate_rows": 400})
        forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy=kind)
    gc.disable()
    try:
        forest.fit(*table(400))
        assert [one() is None for one in made] == [True]
    finally:
        gc.enable()


def test_prediction_reads_released_arrays_only(fitted):
    forest, kept = fitted()
    X = [row for row, _ in kept[:20]]
    expected = forest.predict_proba(X)
    bare = MultinomialForestClassifier(epsilon=1)
    for name in ("model_", "classes_", "_order_", "_encoder_", "guarantee_", "n_features_in_"):
        setattr(bare, name, getattr(forest, name))
    assert np.array_equal(bare.predict_proba(X), expected)
    spent = forest.accountant_.spent
    for _ in range(3):
        assert np.array_equal(forest.predict_proba(X), expected)  # drawn once, not at each call
    assert forest.accountant_.spent == spent


def test_noise_is_not_drawn_again_alike(make_forest, table):
    first, second = (make_forest(max_depth=4).fit(*table()) for _ in range(2))
    assert not np.array_equal(first.forest_.counts, second.forest_.counts)
    trees = make_forest(max_depth=4, epsilon="0.001").fit(*table()).forest_
    assert not np.array_equal(trees.counts[0], trees.counts[1])


def test_the_ledger_of_a_shared_accountant_is_released_too(fitted, searching):
    def secrets_of_a_fit() -> set[int]:
        frozen = fitted()[0].accountant_.frozen()
        assert frozen.spent.exact.epsilon == Fraction(1)
        numbers = (searching.numbers_in(item) for item in searching.reachable(frozen))
        return set().union(*numbers) & SECRET_NUMBERS

    assert searching.found_in_every_fit(secrets_of_a_fit) == set()
