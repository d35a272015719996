"""A private forest says and keeps what was released, and nothing else that records could move."""

from __future__ import annotations

import gc
import io
import math
import pickle
import re
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
import pytest

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier, PrivateForestRegressor
from dpforest.accounting.grants import Grant
from dpforest.dask import DaskPrivateForestRegressor
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.estimators.fitting import Fit
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import Chunk
from dpforest.records.streams.base import Source
from dpforest.records.streams.passes import Marks, StreamedRecords
from dpforest.records.table import Table
from dpforest.streams import BatchStream
from dpforest.trees.strategies import ASKED, NOT_STREAMED

DELTA = "1e-6"
KINDS = [
    {"strategy": "rules"},
    {"strategy": "refitted", "delta": DELTA},
    {"strategy": "boosted", "delta": DELTA},
    {"strategy": "boosted"},
    {"strategy": "additive", "delta": DELTA},
    {"strategy": "additive"},
    {"strategy": "one_shot"},
    {"strategy": "one_shot", "delta": DELTA},
]
pytestmark = pytest.mark.usefixtures("quick_learners")

#: Numbers of records that nothing public has: given, dropped, kept.
N_ROWS, N_DROPPED = 1237, 136
SECRET_NUMBERS = {N_ROWS, N_DROPPED, N_ROWS - N_DROPPED}
SECRET_TYPES = (
    Table, EncodedMatrix, EncodedTable, Grant, RandomSource, np.random.Generator,
)  # fmt: skip


@pytest.fixture
def make_forest(domain):
    declared = domain.model_copy(update={"approximate_rows": 60})

    def make(**parameters: Any) -> PrivateForestClassifier:
        return PrivateForestClassifier(**{"epsilon": 8, "domain": declared, **parameters})

    return make


@pytest.fixture
def tables(table):
    """Neighbours and tables at the far ends, all allowed under the small domain."""
    X, y = table(40)
    return {
        "whole": (X, y),
        "one less": (X[:-1], y[:-1]),
        "one changed": (X[:-1] + [[3, "purple", math.inf]], y[:-1] + ["secretly"]),
        "one class": (X, ["ill"] * len(y)),
        "one value": ([X[0]] * 30, y[:30]),
        "one record": (X[:1], y[:1]),
        "all dropped": ([[math.nan, None, math.inf]] * 9, y[:9]),
        "empty": (np.empty((0, 3), dtype=object), np.empty(0, dtype=object)),
    }


def heard(forest, X, y) -> tuple:
    """Output and warnings of a fit."""
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        forest.fit(X, y)
    return out.getvalue(), err.getvalue(), [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_every_table_leaves_the_same_report_behind(parameters, tables, make_forest, undigested):
    reports, shapes, spoken = {}, {}, {}
    for name, (X, y) in tables.items():
        forest = make_forest(verbose=1, **parameters)
        spoken[name] = heard(forest, X, y)
        reports[name] = (
            undigested(forest).to_json(),
            undigested(forest).to_markdown(),
            forest.accountant_.to_json(),
        )
        shapes[name] = sorted(
            (key, type(value), getattr(value, "shape", None), getattr(value, "dtype", None))
            for key, value in vars(forest).items()
        )
        # A drawn rule holds what it asks for, no more.
        if parameters["strategy"] != "rules":
            shapes[name].append(shape_of(forest.model_.to_data()))
    for kept in (reports, shapes, spoken):
        assert all(value == kept["whole"] for value in kept.values())
    shown = re.findall(r"(\d+)/(\S+) parts", spoken["whole"][1])
    assert len({total for _, total in shown}) == 1 and shown[-1][0] == shown[-1][1]
    assert ":" not in spoken["whole"][1]


def shape_of(data: Any) -> Any:
    """Keys and lengths of nested data, without the values."""
    if isinstance(data, dict):
        return {key: shape_of(value) for key, value in data.items()}
    if isinstance(data, list):
        return np.shape(data)
    return type(data)


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_the_report_lists_what_was_released(parameters, tables, make_forest):
    forest = make_forest(**parameters).fit(*tables["whole"])
    plan = forest.plan()
    report = forest.privacy_report()
    text = report.to_markdown()
    assert f"| strategy | {parameters['strategy']} |" in text and "| signal R |" in text
    assert report.plan == plan.details and len(plan.parts) >= 1
    roles = {row.name: row for row in report.spending if row.group == "role"}
    assert roles and all(role in text for role in roles)
    total = {entry.role for entry in forest.accountant_.ledger}
    assert total == set(roles)


@pytest.mark.parametrize("parameters", KINDS, ids=str)
@pytest.mark.parametrize("rows", [None, 900])
def test_no_table_and_no_number_of_records_is_kept(
    parameters, rows, make_forest, table, domain, searching
):
    X, y = table(N_ROWS)
    for i in range(N_DROPPED):
        X[i] = [math.nan, *X[i][1:]]

    def secrets_of_a_fit() -> set[int]:
        forest = make_forest(
            accountant=BudgetAccountant(50, delta=1e-6),
            domain=domain.model_copy(update={"approximate_rows": rows}),
            epsilon="0.5",
            **parameters,
        ).fit(X, y)
        stored = PrivateForestClassifier.from_json(forest.to_json())
        return secrets_in([*forms_of(forest), stored], SECRET_TYPES, searching)

    assert searching.found_in_every_fit(secrets_of_a_fit) == set()


def forms_of(forest: Any) -> list[Any]:
    return [forest, pickle.loads(pickle.dumps(forest)), forest.privacy_report()]


def secrets_in(forms: list[Any], types: tuple[type, ...], searching: Any) -> set[int]:
    """Numbers of records that forms hold, of which none may be of these types."""
    found: set[int] = set()
    for item in (item for form in forms for item in searching.reachable(form)):
        if not isinstance(item, (str, bytes)):  # lengths of hexadecimal masks and of texts
            assert not issubclass(type(item), types)
            found |= searching.numbers_in(item) & SECRET_NUMBERS
    return found


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_records_are_gone_after_the_fit(parameters, make_forest, table, searching):
    before = set(map(id, searching.alive(SECRET_TYPES)))
    forest = make_forest(**parameters).fit(*table(50))
    left = [item for item in searching.alive(SECRET_TYPES) if id(item) not in before]
    assert left == [] and forest.model_ is not None


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_a_seed_is_where_the_caller_put_it_and_nowhere_else(
    parameters, make_forest, table, searching
):
    seed = 918273645
    forest = make_forest(random_state=seed, **parameters).fit(*table(50))
    holders = [
        name
        for name, value in vars(forest).items()
        if any(searching.numbers_in(item) & {seed} for item in searching.reachable(value))
    ]
    assert holders == ["random_state"]
    assert str(seed) not in forest.to_json() + forest.privacy_report().to_markdown()


def test_noise_is_not_drawn_again_alike(make_forest, table):
    """Two of 2,000 drawn rules were never alike; that three are is no matter of chance."""
    for parameters in KINDS:
        first, *others = (make_forest(**parameters).fit(*table(50)) for _ in range(3))
        assert any(first.model_.to_data() != other.model_.to_data() for other in others)


TARGETS = Domain(features={"age": (0, 100), "weight": (0.0, 1.0)}, target=(0, 10))
MEANS = [
    (kind, {"strategy": name, "delta": delta})
    for kind in ("memory", "stream", "dask")
    for name in ASKED
    for delta in (0, DELTA)
    if kind == "memory" or name not in NOT_STREAMED
]


def records_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.integers(0, 100, n), generator.random(n)])
    X[:N_DROPPED, 0] = np.nan  # not allowed: dropped
    return X, X[:, 1] * 10


def streams_of(X: Any, y: Any) -> BatchStream:
    return BatchStream([(X[:500], y[:500]), (X[500:], y[500:])], memory_limit=30_000)


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
@pytest.mark.parametrize(("kind", "parameters"), MEANS, ids=str)
@pytest.mark.parametrize("rows", [None, 1000])
def test_nothing_of_a_regressions_records_is_kept(parameters, rows, kind, searching):
    make = DaskPrivateForestRegressor if kind == "dask" else PrivateForestRegressor
    domain = TARGETS.model_copy(update={"approximate_rows": rows})
    X, y = records_of(N_ROWS)

    def secrets_of_a_fit() -> set[int]:
        paid = BudgetAccountant(50, 0.1)
        forest = make(epsilon="0.5", domain=domain, accountant=paid, **parameters)
        if kind == "memory":
            forest.fit(X, y)
        else:
            Fit(forest).run(streams_of(X, y), None)  # on Dask by the same counts, without a cluster
        return secrets_in(forms_of(forest), (*SECRET_TYPES, Chunk, Source), searching)

    assert searching.found_in_every_fit(secrets_of_a_fit) == set()
    gc.unfreeze()  # what earlier modules left alive is looked at too
    assert searching.alive((Table, Chunk, StreamedRecords, Marks)) == []
