"""Clusters that run beside others: each takes a port that is free, and none warns of that."""

from __future__ import annotations

import ast
import socket
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("distributed")

ROOT = Path(__file__).resolve().parents[2]
#: What starts a cluster; a client does where it is given no place of one.
STARTS = ("LocalCluster", "Client")
#: The port of a cluster's pages, which None asks for too.
TAKEN = 8787


def clusters() -> list[tuple[str, ast.Call]]:
    """Calls that start a cluster, with the file of each."""
    files = [path for name in ("tests", "examples", "benchmarks")
             for path in (ROOT / name).rglob("*.py")]  # fmt: skip
    calls = (
        (path.relative_to(ROOT).as_posix(), node)
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return [(file, call) for file, call in calls if call.func.id in STARTS and not call.args]


def test_every_cluster_takes_a_port_that_is_free():
    found = clusters()
    named = {
        file: [ast.unparse(one.value) for one in call.keywords if one.arg == "dashboard_address"]
        for file, call in found
    }
    assert len(found) > 5
    assert {file: ports for file, ports in named.items() if ports != ["':0'"]} == {}


def test_no_cluster_minds_that_the_usual_port_is_taken():
    """Warnings are errors here, and one is given where a port is taken that was asked for."""
    from distributed import Client, LocalCluster

    with socket.socket() as other:
        with suppress(OSError):  # somebody else has it already
            other.bind(("", TAKEN))
            other.listen()
        with (
            LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            assert client.submit(sum, [1, 2]).result() == 3
