"""Mixes of what is secret and what is released: mypy refuses each line that says so, and no other.

Read by mypy alone, through tests/test_typing.py; it is never run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.bridge.bridge import Bridge
from dpforest.records.base import Chunk, Records, Released, Secret
from dpforest.records.counts import ClassCounts
from dpforest.trees.base import TableFacts
from dpforest.trees.random.bins import ordered_counts, released_bins


def released_counts(bridge: Bridge, facts: TableFacts) -> NDArray[np.int64]:
    query = ordered_counts(facts, True)
    counts = bridge.ask(query, "quantiles").noised("quantiles")
    released_bins(facts, query, counts, 32)
    return counts + 1


def mixed(bridge: Bridge, facts: TableFacts, records: Records, chunk: Chunk) -> None:
    sealed, query = bridge.ask(ClassCounts(), "prior"), ordered_counts(facts, True)
    sealed[0]  # refused: index
    sealed + 1  # refused: operator
    len(sealed)  # refused: arg-type
    list(sealed)  # refused: call-overload
    float(sealed)  # refused: arg-type
    np.sum(sealed)  # refused: call-overload
    sealed.astype(np.float64)  # refused: attr-defined
    released_bins(facts, query, sealed, 32)  # refused: arg-type
    secret: Secret[NDArray[np.int64]] = records.sealed_total(ClassCounts())
    secret[0]  # refused: index
    secret + 1  # refused: operator
    np.sum(secret)  # refused: call-overload
    released_bins(facts, query, secret, 32)  # refused: arg-type
    raw = ClassCounts().count(chunk)
    released_bins(facts, query, raw, 32)  # refused: arg-type
    total: Released = ClassCounts().count(chunk)  # refused: assignment
    print(total)
    released_bins(facts, query, np.zeros(3, dtype=np.int64), 32)  # refused: arg-type
    bridge.ask(chunk, "prior")  # refused: call-overload
    bridge.ask(sealed, "prior")  # refused: call-overload
