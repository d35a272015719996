"""Some kills of processes and a crash of a server; `benchmarks/ledger.py` runs ten thousand."""

from __future__ import annotations

import importlib
import itertools
import sys
import tempfile
from pathlib import Path

import pytest

from dpforest.ledger import BudgetLedger

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
clusters = importlib.import_module("common.clusters")
kills = importlib.import_module("common.ledger_kills")
crowd = importlib.import_module("common.ledger_contention")
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
#: Of processes killed at any time, beside one at each place.
ANY_TIME = {"sqlite": 80, "postgresql": 20}


@pytest.fixture
def where(url):
    """New places for ledgers, of each store in turn; files in memory where there is room."""
    numbers = itertools.count()
    with tempfile.TemporaryDirectory(dir=clusters.memory(True)) as folder:

        def new():
            return f"sqlite:///{folder}/{next(numbers)}" if url.startswith("sqlite") else url

        yield url.partition(":")[0], new


def test_nothing_granted_is_lost_and_nothing_charged_twice(where):
    store, new = where
    rounds = kills.Rounds(new, seed=1, data_sets=100)
    targets = [*kills.PLACES, *[None] * ANY_TIME[store]]
    if store == "postgresql":
        targets = targets[::2]
    killed = [rounds.kill(place, twice=n % 10 == 0) for n, place in enumerate(targets)]
    wanted = 0.2 * targets.count(None)
    # On a busy machine many end before their time comes, so some more are begun.
    while sum(anywhere for _, anywhere in killed) <= wanted and len(killed) < 6 * len(targets):
        killed.append(rounds.kill(None))
    rounds.close()
    labelled = sum(here for here, _ in killed)
    assert labelled >= 0.7 * sum(place is not None for place in targets)  # a void makes fewer steps
    assert sum(anywhere for _, anywhere in killed) > wanted


def test_a_server_that_crashes_loses_nothing(cluster, database):
    """Later, where a busy machine has begun no fit by then."""
    BudgetLedger.open(database, actor="ana", create=True).close()
    begun = (
        kills.server_crash(cluster, database, f"claims {after}", fits=20, after=after)
        for after in (0.2, 1, 5, 25)
    )
    assert any(begun)


def places_of(url, request):
    """New places for ledgers of one store."""
    if url.startswith("sqlite"):
        yield from (f"{url}-{number}" for number in range(6))
        return
    psycopg, cluster = pytest.importorskip("psycopg"), request.getfixturevalue("cluster")
    for name in (f"crowd_{number}" for number in range(6)):
        with psycopg.connect(cluster.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        yield cluster.url(name)


def test_processes_that_compete_never_pass_the_cap_and_all_get_their_turn(url, request):
    """In one of six runs at least: a busy machine keeps some processes from asking.

    With twelve times more work than cores 6 of 33 runs on PostgreSQL were at the limit. Without the
    queue of a file nobody's turn was even: in 37 of 37 runs some process had none by then.
    """
    evenly = []
    for place in places_of(url, request):
        found = crowd.contention(place, processes=8, each=10)
        assert (found["granted"], found["refused"]) == (60, 20)
        evenly.append(found["least"] >= 2 and found["longest"] < 30)  # of five, when half was done
        if evenly[-1]:
            break
    assert any(evenly)


# -- what the looks after kills would notice ---------------------------------------------


@pytest.fixture
def done(tmp_path):
    """A ledger with a fit that went through, and one that was killed after its start."""
    ledger = BudgetLedger.open(f"sqlite:///{tmp_path}/a.ledger", actor=kills.ACTOR, create=True)
    kills.register(ledger, "claims")
    fits = [kills.Fit("claims", kills.Fraction(1, n)) for n in (2, 3)]
    for fit in fits:
        kills.go_through(ledger, fit, fit.take)
    kills.check(ledger, "claims", fits)
    yield ledger, fits
    ledger.close()


@pytest.mark.parametrize("call", ["reserve", "start", "settle"])
def test_a_lost_answer_is_noticed(done, call):
    ledger, fits = done
    lost = kills.Fit("claims", kills.Fraction(1))
    lost.take(f"asked {call}"), lost.take(f"told {call}")
    with pytest.raises(kills.Broken, match="was answered, and is lost"):
        kills.check(ledger, "claims", [*fits, lost])


def test_a_lost_grant_is_noticed(done):
    ledger, fits = done
    lost = kills.Fit("claims", kills.Fraction(1))
    lost.take("granted")
    with pytest.raises(kills.Broken, match="granted"):
        kills.check(ledger, "claims", [*fits, lost])


def test_what_nobody_wanted_is_noticed(done):
    ledger, fits = done
    with pytest.raises(kills.Broken, match="nobody wanted"):
        kills.check(ledger, "claims", fits[1:])
    fits[0].asked.discard("settle")
    with pytest.raises(kills.Broken, match="not asked for"):
        kills.check(ledger, "claims", fits)


def test_a_wrong_sum_is_noticed(done):
    ledger, fits = done
    fits[0].is_void = True
    fits[0].ids["void"] = fits[0].ids.pop("start")
    with pytest.raises((kills.Broken, KeyError)):
        kills.check(ledger, "claims", fits)
