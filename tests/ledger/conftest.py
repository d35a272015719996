"""Stores to test: a file of SQLite, and a database of a real PostgreSQL server on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpforest.ledger.opening import open_store


@pytest.fixture
def database(cluster):
    """Url of a database without a ledger, and without what an earlier test left connected."""
    import psycopg

    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        connection.execute("SET client_min_messages = error")
        connection.execute("DROP SCHEMA IF EXISTS dpforest_ledger CASCADE")
    return cluster.url()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Place of a ledger that is not there yet, of each store in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/claims.ledger"
    return request.getfixturevalue("database")


@pytest.fixture
def store(url):
    """A new ledger of each store in turn."""
    made = open_store(url, create=True)
    yield made
    made.close()


@pytest.fixture(scope="session")
def helpers(load_helper):
    """Small data sets, charges and chains."""
    return load_helper(Path(__file__).with_name("helpers.py"))


@pytest.fixture
def ledger(url, helpers):
    """A ledger of owner olga in each store in turn, with data set claims of rho 1."""
    made = helpers.registered(helpers.ledger_at(url))
    yield made
    made.close()


@pytest.fixture
def file_ledger(tmp_path, helpers):
    """The same in a file of SQLite, for what no store decides."""
    made = helpers.registered(helpers.ledger_at(f"sqlite:///{tmp_path}/claims.ledger"))
    yield made
    made.close()
