"""Chains that earlier releases wrote are read to the byte, and lead to the states they led to.

A release that changes what an entry or a state holds adds a chain here and never changes one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpforest.ledger.bodies import VERSION, Kind
from dpforest.ledger.chain import Head, Row, checked_chain, end_of

CHAINS = sorted(Path(__file__).parent.glob("chain_version_*.json"))


def test_every_version_has_its_chain():
    names = [f"chain_version_{version}.json" for version in range(1, VERSION + 1)]
    assert [path.name for path in CHAINS] == names


@pytest.mark.parametrize("path", CHAINS, ids=lambda path: path.stem)
def test_an_earlier_chain_is_whole(path):
    pytest.importorskip("cryptography", reason="the extra ledger-signatures is not installed")
    stored = json.loads(path.read_text(encoding="ascii"))
    rows = [row_from(number, one) for number, one in enumerate(stored["rows"])]
    head = Head("claims", len(rows) - 1, rows[-1].hash, stored["state"])
    chain = checked_chain(rows, head, stored["ledger"], stored["data_set"])
    assert {entry.kind for entry in chain.entries} == set(Kind)
    assert chain.state.text == stored["state"]
    assert end_of(head, rows[-1:], stored["ledger"]).state == chain.state


def row_from(number, one):
    data = json.loads(one["text"])
    return Row(
        data["data_set"], number, data["id"], data["kind"], one["text"], one["hash"],
        one["signature"], one["key"],
    )  # fmt: skip
