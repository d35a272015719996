"""A fit of a stream shows released values alone: reads, errors and results follow from them."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from dpforest import (
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.audit import SMALL_DOMAIN, DatasetPair, differences_on_replay, record
from dpforest.audit.catalogue import SMALL_TARGET_DOMAIN
from dpforest.audit.recording import Read
from dpforest.streams import BatchStream

ROWS = {"approximate_rows": 200}
CLASSES = SMALL_DOMAIN.model_copy(update=ROWS)
TARGETS = SMALL_TARGET_DOMAIN.model_copy(update={"approximate_rows": 2000})
KINDS = {
    "multinomial": (MultinomialForestClassifier, CLASSES, {"n_estimators": 2, "max_depth": 2}),
    "published": (
        MultinomialForestClassifier.as_published, CLASSES, {"n_estimators": 2, "max_depth": 2},
    ),
    "one_shot": (PrivateForestClassifier, CLASSES, {"strategy": "one_shot"}),
    "one_shot, delta": (PrivateForestClassifier, CLASSES, {"strategy": "one_shot", "delta": 0.01}),
    "means": (PrivateForestRegressor, TARGETS, {"strategy": "one_shot"}),
    "boosted means": (PrivateForestRegressor, TARGETS, {"strategy": "boosted"}),
}  # fmt: skip
MEMORY = [0, 2**30]


def run_of(kind, memory_limit, batch=8):
    make, domain, more = KINDS[kind]

    def run(dataset):
        X, y = (np.asarray(part) for part in dataset)
        parts = [(X[a : a + batch], y[a : a + batch]) for a in range(0, len(y), batch)]
        stream = BatchStream(parts, memory_limit=memory_limit)
        model = make(epsilon=1, domain=domain, random_state=0, verbose=1, **more).fit(stream)
        return model, model.privacy_report()

    return run


def pair_of(kind, extra=(3.0, 0.0), label=1, n=20):
    """Neighbours in three batches each."""
    generator = np.random.default_rng(1)
    X = generator.integers(0, 4, (n, 2)).astype(float)
    y = (X[:, 0] > 1).astype(float if KINDS[kind][1] is TARGETS else int)
    return DatasetPair((X, y), (np.vstack([X, [extra]]), np.append(y, label)))


@pytest.mark.parametrize("memory_limit", MEMORY)
@pytest.mark.parametrize("kind", KINDS)
def test_a_streamed_fit_shows_nothing_that_was_not_paid_for(kind, memory_limit):
    for extra, label in (((3.0, 0.0), 1), ((1e300, -1e300), 0), ((np.nan, 1.0), 1)):
        pair = pair_of(kind, extra, label)
        assert differences_on_replay(run_of(kind, memory_limit), pair) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_passes_read_all_batches_in_one_order(kind):
    # Every pass reads batch after batch, column after column; a pass comes after the draws that
    # it goes by. Kept records are read once.
    pair = pair_of(kind)
    for limit in MEMORY:
        log = record(run_of(kind, limit), pair.first)
        assert log.error is None
        batch = ["column 0", "column 1", "labels"]
        assert log.reads and len(log.reads) % 9 == 0
        assert log.reads == batch * (len(log.reads) // 3)
        assert (len(log.reads) == 9) == (limit > 0)
        runs = groupby(isinstance(event, Read) for event in log.events)
        assert all(len(list(run)) % 9 == 0 for is_read, run in runs if is_read)


@pytest.mark.parametrize("memory_limit", MEMORY)
@pytest.mark.parametrize("kind", ["one_shot", "means"])
def test_a_batch_that_cannot_be_read_says_the_same_for_neighbours(kind, memory_limit):
    pair = pair_of(kind)

    def damaged(dataset):
        X, y = dataset
        whole = [(X[:8], y[:8]), (X[8:, :1], y[8:])]
        make, domain, more = KINDS[kind]
        stream = BatchStream(whole, memory_limit=memory_limit)
        return make(epsilon=1, domain=domain, random_state=0, **more).fit(stream)

    log = record(damaged, pair.first)
    assert log.error.startswith("StreamError") and "batch 1" in log.error
    assert differences_on_replay(damaged, pair) == ()


def test_a_number_of_batches_that_follows_the_records_is_seen_as_reads_alone():
    # How many parts a table has is the curator's to see, like time: results do not differ.
    pair = pair_of("one_shot", n=24)
    found = differences_on_replay(run_of("one_shot", 0), pair)
    assert found and all(name.startswith(("event", "number of events")) for name in found)
