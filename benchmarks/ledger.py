"""The ledger under kills, crashes and contention, and what it costs beside a fit.

One JSON line a part is appended to ``--results``, with a print of the sources; what is there for
these sources is skipped. Then ``docs/ledger_results.md`` is written from all lines of these
sources.
PostgreSQL is a temporary server on loopback; where none is installed its parts are left out.

    python benchmarks/ledger.py [--kills 10000] [--server-kills 1000] [--crashes 10] [--seed 0]
    python benchmarks/ledger.py --report
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import clusters
from common.ledger_contention import contention
from common.ledger_kills import Broken, Rounds, places, server_crash
from common.ledger_report import Line, write_page
from common.ledger_times import times
from common.pages import place_of
from common.results import Store
from common.sources import REPOSITORY, Sources

from dpforest.ledger import BudgetLedger

HERE = Path(__file__).parent
#: The stores: what is entered, and by which rules, decides nothing of what outlives a kill.
SOURCES = Sources(
    files=(
        *("dpforest/ledger/*_store.py", "dpforest/ledger/queue.py"),
        *("dpforest/ledger/migrations/*.sql", "benchmarks/common/ledger_kills.py"),
        *("benchmarks/common/ledger_contention.py", "benchmarks/common/ledger_times.py"),
    )
)
#: Kills a line of results.
CHUNK = 100
PROCESSES, EACH = 8, 200
FITS_A_CRASH = 40
#: What the page is made of.
KILLS, SERVER_KILLS, CRASHES, SEED = 10_000, 1_000, 10, 0


class Places:
    """New places for ledgers: files of temporary folders, databases of temporary servers.

    On a disk or, for kills, in memory where there is room: what a killed process had handed to the
    system is there in either.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._folders: dict[bool, tempfile.TemporaryDirectory] = {}
        self._clusters: dict[bool, clusters.Cluster] = {}

    def new(self, store: str, in_memory: bool = False) -> str:
        """Url of a place where there is no ledger yet."""
        number = next(self._numbers)
        if store == "sqlite":
            if in_memory not in self._folders:
                self._folders[in_memory] = tempfile.TemporaryDirectory(
                    prefix="dpforest-ledger-", dir=clusters.memory(in_memory)
                )
            return f"sqlite:///{self._folders[in_memory].name}/{number}.ledger"
        import psycopg

        server = self.cluster(in_memory)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE ledger_{number}")
        return server.url(f"ledger_{number}")

    def cluster(self, in_memory: bool = False) -> clusters.Cluster:
        """A server, started when it is first asked for."""
        if in_memory not in self._clusters:
            self._clusters[in_memory] = clusters.Cluster(in_memory)
        return self._clusters[in_memory]

    def remove(self) -> None:
        """End the servers, and delete all files."""
        for server in self._clusters.values():
            server.remove()
        for folder in self._folders.values():
            folder.cleanup()


def kills(where: Places, store: str, number: int, seed: int) -> Line:
    """One chunk of kills."""
    began, at = time.monotonic(), collections.Counter()
    rounds = Rounds(lambda: where.new(store, True), 10_000 * seed + number)
    line = {"kind": "kills", "store": store, "number": number, "seed": seed, "faults": 0}
    killed, anywhere = 0, 0
    try:
        for turn, place in zip(itertools.count(), places(10_000 * seed + number)):
            if killed >= CHUNK:
                break
            here, elsewhere = rounds.kill(place, twice=turn % 5 == 0)
            killed, anywhere = killed + here + elsewhere, anywhere + elsewhere
            at[_text(place)] += here
    except Broken as error:
        line |= {"faults": 1, "fault": str(error)}
    rounds.close()
    seconds = time.monotonic() - began
    return line | {
        "places": {k: n for k, n in at.items() if n},
        "any_time": anywhere,
        "seconds": seconds,
    }


def _text(place: tuple[str, int] | None) -> str:
    return "any" if place is None else f"{place[0]}, {place[1]}"


def crash(where: Places, number: int, seed: int) -> Line:
    """One crash of a server."""
    line = {"kind": "crashes", "store": "postgresql", "number": number, "seed": seed, "faults": 0}
    url = where.new("postgresql")
    BudgetLedger.open(url, actor="ana", create=True).close()
    try:
        begun = server_crash(where.cluster(), url, "claims", FITS_A_CRASH, 0.1 + 0.15 * number)
    except Broken as error:
        return line | {"faults": 1, "fault": str(error), "fits": FITS_A_CRASH, "begun": 0}
    return line | {"fits": FITS_A_CRASH, "begun": begun}


def crowd(where: Places, store: str, queue: bool) -> Line:
    """One run of many processes at a time."""
    found = contention(where.new(store), PROCESSES, EACH, queue)
    line = {"kind": "contention", "store": store, "number": int(queue), "queue": queue}
    return line | {"processes": PROCESSES, "each": EACH} | found


def timed(where: Places, store: str, before: int) -> Line:
    """One run of fits after others."""
    return {"kind": "times", "store": store, "number": before} | times(
        where.new(store), before, 200
    )


def wanted(arguments: argparse.Namespace, has_server: bool | None = None) -> Iterator[tuple]:
    """All parts of a run: what to call, and its arguments; cheap ones first."""
    stores = ["sqlite"] + ["postgresql"] * (_has_server() if has_server is None else has_server)
    for store in stores:
        for before in (0, 1000):
            yield timed, store, before
    for store in stores:
        yield crowd, store, True
    yield crowd, "sqlite", False
    most = {"sqlite": arguments.kills, "postgresql": arguments.server_kills}
    if "postgresql" in stores:
        for number in range(arguments.crashes):
            yield crash, number, arguments.seed
    for store in reversed(stores):
        for number in range(-(-most[store] // CHUNK)):
            yield kills, store, number, arguments.seed


def _has_server() -> bool:
    with contextlib.suppress(ImportError):
        import psycopg  # noqa: F401

        if clusters.programs() is not None:
            return True
    print("no PostgreSQL server or no psycopg: its parts are left out", file=sys.stderr)
    return False


def key_of(line: Line) -> tuple:
    """What a part is known by."""
    return line["kind"], line["store"], line["number"], line.get("seed", 0)


def _key(call, *arguments) -> tuple:
    kind = {"timed": "times", "crowd": "contention", "crash": "crashes", "kills": "kills"}
    if call is crash:
        return "crashes", "postgresql", *arguments
    return kind[call.__name__], arguments[0], int(arguments[1]), *(arguments[2:] or (0,))


def run(arguments: argparse.Namespace, results: Store) -> None:
    """Run what is not yet done."""
    done = {key_of(line) for line in results.lines()}
    where = Places()
    try:
        for call, *parts in wanted(arguments):
            if _key(call, *parts) not in done:
                line = call(where, *parts)
                results.append(line)
                print({k: v for k, v in line.items() if k != "places"}, flush=True)
    finally:
        where.remove()


def missing(lines: list[Line]) -> set[tuple]:
    """Parts that the page has, those of both stores, and these lines do not."""
    every = argparse.Namespace(kills=KILLS, server_kills=SERVER_KILLS, crashes=CRASHES, seed=SEED)
    return {_key(*part) for part in wanted(every, True)} - {key_of(line) for line in lines}


def main() -> None:
    """Read the command line, run, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=KILLS, help="of processes, on SQLite")
    parser.add_argument(
        "--server-kills", type=int, default=SERVER_KILLS, help="of them, on PostgreSQL"
    )
    parser.add_argument("--crashes", type=int, default=CRASHES, help="of PostgreSQL's server")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--report", action="store_true", help="write the page alone")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "ledger.jsonl")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "docs" / "ledger_results.md")
    arguments = parser.parse_args()
    results = Store(arguments.results, SOURCES)
    if not arguments.report:
        run(arguments, results)
    lines = results.reported()
    write_page(place_of(arguments.output, missing(lines)), lines, SOURCES.print())


if __name__ == "__main__":
    main()
