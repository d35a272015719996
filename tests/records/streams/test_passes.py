"""Bars over passes: as many as were foretold, and nothing that counts records."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.records.streams.passes import StreamedRecords
from dpforest.streams import BatchStream

FEATURES = {"a": (0, 9), "b": (0, 9)}
CLASSES = Domain(features=FEATURES, classes=[0, 1], approximate_rows=2000)
NUMBERS = Domain(features=FEATURES, target=(0, 9), approximate_rows=2000)
MANY = Domain(features=FEATURES, classes=[0, 1], approximate_rows=200_000)
KINDS = {
    "published": (
        MultinomialForestClassifier.as_published, CLASSES, {"n_estimators": 3, "max_depth": 2},
    ),
    "multinomial": (MultinomialForestClassifier, CLASSES, {"n_estimators": 5, "max_depth": 4}),
    "one shot": (PrivateForestClassifier, CLASSES, {"strategy": "one_shot"}),
    "one shot, quantiles": (PrivateForestClassifier, MANY, {"strategy": "one_shot"}),
    "refitted": (PrivateForestClassifier, CLASSES, {"strategy": "refitted", "delta": 1e-6}),
    "refitted, linear": (PrivateForestClassifier, MANY, {"strategy": "refitted", "delta": 1e-6}),
    "boosted": (PrivateForestClassifier, CLASSES, {"strategy": "boosted", "delta": 1e-6}),
    "boosted, pure": (PrivateForestClassifier, CLASSES, {"strategy": "boosted"}),
    "boosted, quantiles": (PrivateForestClassifier, MANY, {"strategy": "boosted", "delta": 1e-6}),
    "additive": (PrivateForestClassifier, CLASSES, {"strategy": "additive", "delta": 1e-6}),
    "additive, pure": (PrivateForestClassifier, CLASSES, {"strategy": "additive"}),
    "additive, means": (PrivateForestRegressor, NUMBERS, {"strategy": "additive"}),
    "means": (PrivateForestRegressor, NUMBERS, {"strategy": "one_shot"}),
    "refitted, pure": (PrivateForestClassifier, CLASSES, {"strategy": "refitted"}),
    "refitted, means": (PrivateForestRegressor, NUMBERS, {"strategy": "refitted", "delta": 1e-6}),
}  # fmt: skip


def stream_of(n: int, batch: int) -> BatchStream:
    generator = np.random.default_rng(0)
    X = generator.integers(0, 10, (n, 2)).astype(float)
    y = (X[:, 0] > 4).astype(int)
    parts = [(X[a : a + batch], y[a : a + batch]) for a in range(0, n, batch)]
    return BatchStream(lambda: iter(parts), memory_limit=0)


def shown(capsys) -> str:
    return capsys.readouterr().err.replace("\r", "\n")


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_passes_as_were_foretold(kind, capsys, monkeypatch):
    made, passes, summed = KINDS[kind], [], StreamedRecords._sum

    def counted(self, counting):
        passes.append(counting)
        return summed(self, counting)

    monkeypatch.setattr(StreamedRecords, "_sum", counted)
    make, domain, more = made
    make(epsilon=2, domain=domain, random_state=0, verbose=1, **more).fit(stream_of(90, 30))
    last = shown(capsys).strip().splitlines()[-1]
    # What is bought before the plan is settled (the range of targets) is no part of the bar.
    before = 1 if domain is NUMBERS else 0
    done = len(passes) - before
    assert last.endswith(f"| {done}/{done} passes")


def test_the_bar_does_not_depend_on_records_or_batches(capsys):
    seen = set()
    for n, batch in ((90, 30), (91, 7), (0, 1)):
        make, domain, more = KINDS["multinomial"]
        make(epsilon=2, domain=domain, verbose=1, **more).fit(stream_of(n, batch))
        seen.add(tuple(re.findall(r"\d+/\d+ \w+", shown(capsys))))
    assert len(seen) == 1


def test_nothing_is_shown_unasked(capsys):
    make, domain, more = KINDS["one shot"]
    make(epsilon=2, domain=domain, **more).fit(stream_of(90, 30))
    assert shown(capsys) == ""
