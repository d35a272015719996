"""Nothing that a fit leaves behind replays its noise; what was seeded says so wherever it goes.

Every random word that the operating system gives during a fit is written down, and every form
in which the fitted object can leave (itself, copies, pickles, JSON, repr, report) is searched for
any of them: as a number, in an array, in bytes, and in digits.
"""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.mechanisms import entropy
from dpforest.mechanisms.entropy import RandomSource, SystemSource
from dpforest.mechanisms.row_words import RowWords
from dpforest.records.base import Chunk, MappedQuery, MappedRecords, MemoryRecords
from dpforest.records.mappings import Tossed
from dpforest.records.streams.passes import StreamedRecords
from dpforest.streams import BatchStream
from dpforest.trees.rules.queries import LeafRecords

pytestmark = [
    pytest.mark.usefixtures("quick_learners"),
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning"),
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.RepeatedFitWarning"),
]

DELTA = "1e-6"
GENERATORS = (
    RandomSource, RowWords, np.random.Generator, np.random.BitGenerator, np.random.RandomState,
)  # fmt: skip
HOLDERS = (
    MappedRecords, MappedQuery, Tossed, MemoryRecords, StreamedRecords, Chunk, LeafRecords,
)  # fmt: skip
FEATURES = {"age": (0, 100), "colour": ["red", "green", "blue"], "size": (-1.0, 1.0)}
STRATEGIES = [
    {"strategy": "rules"},
    {"strategy": "one_shot"},
    {"strategy": "one_shot", "delta": DELTA},
    {"strategy": "refitted", "delta": DELTA},
    {"strategy": "refitted"},
    {"strategy": "boosted", "delta": DELTA},
    {"strategy": "boosted"},
    {"strategy": "additive", "delta": DELTA},
    {"strategy": "additive"},
]
MULTINOMIAL = [
    {},
    {"leaves": "label", "partition_rate": 1, "allocation": "theorem2"},
    {"thresholds": "lattice"},
    {"delta": DELTA, "choice": "joint"},
]
#: Estimator, its parameters, and whether records come as a stream.
KINDS = [
    *((MultinomialForestClassifier, {"n_estimators": 2, "max_depth": 2, **more}, False)
      for more in MULTINOMIAL),
    *((kind, more, False) for kind in (PrivateForestClassifier, PrivateForestRegressor)
      for more in STRATEGIES),
    (MultinomialForestClassifier, {"n_estimators": 2, "max_depth": 2, "partition_rate": 1}, True),
    (PrivateForestClassifier, {"strategy": "one_shot"}, True),
    (PrivateForestRegressor, {"strategy": "one_shot"}, True),
]  # fmt: skip


def name_of(kind: Any) -> str:
    return f"{kind[0].__name__}-{kind[1]}{'-stream' if kind[2] else ''}"


def fitted(kind: Any, rows: float | None = 3000, **more: Any) -> Any:
    """One fit of a kind on 80 records."""
    estimator, parameters, streamed = kind
    generator = np.random.default_rng(0)
    regression = estimator is PrivateForestRegressor
    facts = {"target": (0.0, 100.0)} if regression else {"classes": ["ill", "well"]}
    domain = Domain(features=FEATURES, approximate_rows=rows, **facts)
    age = generator.integers(0, 101, 80)
    colours, sizes = generator.choice(["red", "green", "blue"], 80), generator.uniform(-1, 1, 80)
    X = [list(row) for row in zip(age.tolist(), colours.tolist(), sizes.tolist(), strict=True)]
    y = age.astype(float) if regression else np.where(age > 50, "ill", "well")
    model = estimator(epsilon=1, domain=domain, **parameters, **more)
    if not streamed:
        return model.fit(X, y)
    return model.fit(BatchStream([(X[:30], y[:30]), (X[30:], y[30:])], memory_limit=0))


def forms_of(model: Any) -> dict[str, Any]:
    """All that can leave: objects, bytes and texts."""
    report = model.privacy_report()
    return {
        "live": model,
        "clone": clone(model),
        "copy": copy.copy(model),
        "deep copy": copy.deepcopy(model),
        "unpickled": pickle.loads(pickle.dumps(model)),
        "read back": type(model).from_json(model.to_json()),
        "report": report,
        "pickle": pickle.dumps(model),
        "JSON": model.to_json(),
        "repr": repr(model),
        "report as text": report.to_json() + report.to_markdown(),
        "ledger": model.accountant_.to_json(),
    }


class Words:
    """Random words that were handed out, to be looked for."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []
        self.keys: set[int] = set()

    def remember(self, words: np.ndarray) -> np.ndarray:
        self.parts.append(words.copy())
        return words

    def all(self) -> np.ndarray:
        # Small words could be met by chance; of random ones there are next to none.
        words = np.unique(np.concatenate(self.parts))
        return words[words > 2**40]

    def found_in(self, item: Any, words: np.ndarray) -> bool:
        """Whether any of them is in a number, an array, bytes or a text."""
        if isinstance(item, bool):
            return False
        if isinstance(item, (int, np.integer)):
            return int(item) in self.keys or self._any(np.array([int(item) % 2**64], "u8"), words)
        if isinstance(item, str):
            digits = [int(number) % 2**64 for number in re.findall(r"\d{13,20}", item)]
            return self._any(np.array(digits, dtype="u8"), words)
        if isinstance(item, np.ndarray) and item.dtype != object:
            item = np.ascontiguousarray(item).tobytes()
        if isinstance(item, (bytes, bytearray)) and len(item) >= 8:
            windows = [
                np.frombuffer(item, "<u8", offset=start, count=(len(item) - start) // 8)
                for start in range(8)
            ]
            return any(self._any(window, words) for window in windows)
        return False

    @staticmethod
    def _any(values: np.ndarray, words: np.ndarray) -> bool:
        if not values.size or not words.size:
            return False
        places = np.searchsorted(words, values).clip(max=words.size - 1)
        return bool((words[places] == values).any())


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    """Written down: words of the system, and the keys of what each record draws for itself."""
    kept, draw, keyed = Words(), entropy._system_words, RowWords.keyed.__func__

    def keyed_and_kept(cls: Any, drawn: np.ndarray) -> RowWords:
        rows = keyed(cls, drawn)
        kept.keys |= {part for part in rows.key if part > 2**20}
        return rows

    monkeypatch.setattr(entropy, "_system_words", lambda n: kept.remember(draw(n)))
    monkeypatch.setattr(RowWords, "keyed", classmethod(keyed_and_kept))
    return kept


def test_the_search_finds_a_word_wherever_it_hides(words, searching):
    word = int(SystemSource().words(1)[0]) | 2**63
    words.remember(np.array([word], dtype=np.uint64))
    known = words.all()
    hidden = [
        word,
        np.uint64(word),
        np.array([1, word], dtype=np.uint64),
        b"abc" + word.to_bytes(8, "little"),
        f"a text with {word} in it",
        np.array([word], dtype=np.uint64).view(np.float64),
    ]
    for secret in hidden:
        held = searching.reachable({"held": [secret]})
        assert any(words.found_in(item, known) for item in held), secret
        assert not words.found_in(pickle.dumps("nothing"), known)
    rows = SystemSource().rows()
    assert any(words.found_in(item, known) for item in searching.reachable(rows))
    assert any(isinstance(item, GENERATORS) for item in searching.reachable([rows]))


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_nothing_replays_the_noise_of_an_unseeded_fit(kind, words, searching):
    model = fitted(kind)
    known = words.all()
    assert known.size > 50
    for name, form in forms_of(model).items():
        for item in searching.reachable(form):
            assert not isinstance(item, (*GENERATORS, *HOLDERS)), (name, type(item))
            assert not words.found_in(item, known), (name, type(item))


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_nothing_is_left_alive_by_which_records_drew(kind, searching):
    def alive() -> set[int]:
        return set(map(id, searching.alive((*GENERATORS[:2], *HOLDERS))))

    before = alive()
    model = fitted(kind)
    assert alive() <= before
    assert model.guarantee_.status == "holds"


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_a_seeded_fit_carries_its_mark_everywhere(kind, searching):
    seed = 918273645
    model = fitted(kind, random_state=seed)
    again = {
        "live": model,
        "copy": copy.copy(model),
        "deep copy": copy.deepcopy(model),
        "unpickled": pickle.loads(pickle.dumps(model)),
        "read back": type(model).from_json(model.to_json()),
    }
    for name, form in again.items():
        assert form.privacy_report().guarantee.status == "demonstration", name
        assert "random_state" in form.privacy_report().to_markdown(), name
        assert str(seed) not in form.to_json() + form.privacy_report().to_json(), name
    # The caller's own parameter is the only place that holds it, and nothing shows it.
    assert model.random_state == seed and str(seed) not in repr(model) + model._repr_html_()
    assert str(seed) not in repr(vars(again["unpickled"]))
    holders = {key for key, value in vars(model).items() if any(
        isinstance(item, int) and item == seed for item in searching.reachable(value))}  # fmt: skip
    assert holders == {"random_state"}
    assert not any(isinstance(item, GENERATORS) for item in searching.reachable(model))
    assert fitted(kind).privacy_report().guarantee.status == "holds"


def test_a_generator_given_as_a_seed_is_marked_too():
    model = fitted(KINDS[0], random_state=np.random.default_rng(1))
    assert model.privacy_report().guarantee.status == "demonstration"
    twin = fitted(KINDS[0], random_state=np.random.default_rng(1), accountant=BudgetAccountant(1))
    assert np.array_equal(twin.forest_.counts, model.forest_.counts)
