"""Parts that all tests share: repeatable hypothesis, grants, small learners, a test of fit."""

from __future__ import annotations

import gc
import importlib.util
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import pytest
from scipy import stats

from dpforest.__main__ import main
from dpforest.accounting import BudgetAccountant, Event, Grant
from dpforest.accounting import fits as known_fits
from dpforest.trees.strategies import STRATEGIES, Strategy

# The same examples on every run; HYPOTHESIS_PROFILE=search looks for new ones. How long they take
# is the machine's matter: of earlier versions one second for ten is an error.
hypothesis.settings.register_profile(
    "repeat", derandomize=True, deadline=None, database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)  # fmt: skip
hypothesis.settings.register_profile("search", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

#: The error rate of a test of fit on words that are fixed.
ALPHA = 1e-9


@pytest.fixture(scope="session")
def hypothesis_is_ready():
    """Hypothesis has made its generator, which it would not find in a frozen heap."""

    @hypothesis.given(hypothesis.strategies.none())
    def nothing(_):
        pass

    nothing()


@pytest.fixture(autouse=True, scope="module")
def earlier_modules_cost_nothing(hypothesis_is_ready):
    """Collections of garbage go by what a module made, not by those before it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def few_records_are_meant():
    """Tests declare many records and give few, so that plans are those of many."""
    with pytest.MonkeyPatch.context() as patch:
        # At 0 a sum that noise made very negative would still be told, once in a thousand fits.
        patch.setattr("dpforest.estimators.counted.FEWEST", float("-inf"))
        yield


@pytest.fixture
def listed_fits():
    """What this process knows of the fits of each object, as a function."""
    # By way of the module: a test may have put a list of its own there.
    return lambda: [lineage.listing() for lineage in known_fits._lineages.values()]


@pytest.fixture(autouse=True, scope="session")
def large_epsilons_are_meant():
    """Tests spend much, so that noise is small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpforest.estimators.planning.MOST_EPSILON", float("inf"))
        yield


@pytest.fixture(autouse=True)
def threads_for_few_records(monkeypatch):
    """Tables of tests are small; what is asked for in threads is to run in threads."""
    monkeypatch.setattr("dpforest.records.base.RECORDS_A_THREAD", 1)


@pytest.fixture(scope="session")
def load_helper() -> Callable[[Path], ModuleType]:
    """Load a module of helpers: test modules cannot import one under pytest's importlib mode."""

    def load(path: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def cluster(load_helper):
    """A PostgreSQL server of this session's own, in a folder that is deleted after it."""
    pytest.importorskip("psycopg", reason="psycopg, of the extra postgresql, is not installed")
    clusters = load_helper(
        Path(__file__).resolve().parents[1] / "benchmarks" / "common" / "clusters.py"
    )
    if clusters.programs() is None:
        pytest.skip("no PostgreSQL server is installed (on Debian: the package postgresql)")
    server = clusters.Cluster(in_memory=True)
    yield server
    server.remove()


@pytest.fixture
def grant() -> Callable[..., Grant]:
    """A grant for an event, from an accountant of the test's own."""
    accountant = BudgetAccountant(epsilon=1000, delta=Fraction(1, 10**6))

    def make(event: Event, cells: int = 1) -> Grant:
        return accountant.request(event, role="test", cells=cells)

    return make


@pytest.fixture
def use_learners(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Any]], None]:
    """Let private forests make these learners, by name, where they would have made those kinds."""
    make = Strategy.make

    def use(learners: Mapping[str, Any]) -> None:
        def make_given(strategy: Strategy) -> Any:
            name = next(name for name, other in STRATEGIES.items() if other == strategy)
            return learners[name] if name in learners else make(strategy)

        monkeypatch.setattr(Strategy, "make", make_given)

    return use


@pytest.fixture
def fits() -> Callable[..., bool]:
    """Whether counts could come from probabilities; rare outcomes are pooled."""

    def decide(counts, probabilities) -> bool:
        counts = np.asarray(counts, dtype=float)
        expected = np.asarray(probabilities, dtype=float) * counts.sum()
        if counts[expected == 0].any():
            return False
        rare = expected < 20
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        keep = expected > 0
        return bool(stats.chisquare(counts[keep], expected[keep], sum_check=False).pvalue > ALPHA)

    return decide


@pytest.fixture
def first_words() -> list[str]:
    """Words that every command of a test begins with; a test file may give its own."""
    return []


@pytest.fixture
def ask(
    here: Path, first_words: list[str], capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Run one command in the folder ``here``; return its exit code, its stdout and its stderr."""

    def run(line: str, *more: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([*first_words, *line.split(), *more])
        said = capsys.readouterr()
        return code, said.out.rstrip("\n"), said.err

    return run


@pytest.fixture
def good(ask: Callable[..., Any]) -> Callable[..., str]:
    """Run one command that goes well; return its stdout."""

    def run(line: str, *more: str) -> str:
        code, out, err = ask(line, *more)
        assert code == 0, err
        return out

    return run
