"""One unit of budget and one record, followed through a refitted forest, file by file.

docs/design.md names the files, at most nine each. One seeded fit is watched here: each function
of the package that is called, with its arguments and locals, and each kernel with its arguments.

* A unit of budget is a release of the plan: what holds the `Release`, a `Step` or `Round` with it,
  its `Event` or its `Grant`.
* A record is its place in an array or a list that has one for each record, or in a `Table`
  or `Chunk`. No other array of the fit is 997 long.

The plan as a whole and the caller's own X and y are handed on unopened; those files have lists of
their own.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dpforest
from dpforest import Domain, PrivateForestClassifier
from dpforest.accounting.events import DiscreteGaussianNoise, Event
from dpforest.accounting.grants import Grant
from dpforest.accounting.releases import Plan, Release, Round, Step
from dpforest.bridge.bridge import Bridge
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.records.base import Chunk
from dpforest.records.table import Table
from dpforest.trees.refitted.plan import Role

PACKAGE = Path(dpforest.__file__).parent
DESIGN = (PACKAGE.parent / "docs" / "design.md").read_text(encoding="utf-8")
#: A prime number, which no other axis of the fit has.
N_RECORDS = 997
MOST = 9
#: Holds events of noise once they are granted, beside what was released.
KEEPS = "trees/transcript.py"
ROLES = (
    Role.PRIOR, Role.QUANTILES, Role.GRAM, Role.GRADIENT, Role.SELECTION, Role.SUMS,
    Role.CORRECTIONS, Role.CONFIDENCE,
)  # fmt: skip
#: Files that list a role for several learners, beside the learner's own plan.
SHARED = {
    Role.PRIOR: {"trees/prior.py"},
    Role.QUANTILES: {"trees/random/bins.py"},
    Role.CONFIDENCE: {"trees/scored/confidence.py"},
}
#: The stages of a fit, beside the number of a question: before the first, and between two.
DOOR, BETWEEN = -1, -2


@dataclass
class Walks:
    """Files that were seen to hold something, by what it was, and by stage for records."""

    X: Any
    y: Any
    budget: dict[Any, set[str]] = field(default_factory=lambda: defaultdict(set))
    records: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    plans: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    #: Roles of each question, in order.
    asked: list[tuple[str, ...]] = field(default_factory=list)
    stage: int = DOOR

    def frame(self, frame: FrameType, event: str, _: Any) -> None:
        """Look at a function's arguments as it is called, and at its locals when it returns."""
        path = Path(frame.f_code.co_filename)
        if event not in ("call", "return") or not path.is_relative_to(PACKAGE):
            return
        asks = frame.f_code is Bridge.ask.__code__
        if asks and event == "call":
            self.stage = len(self.asked)
            self.asked.append(frame.f_locals["roles"])
        self.look(path, frame.f_locals.values())
        if asks and event == "return":
            self.stage = BETWEEN

    def look(self, path: Path, values: Any) -> None:
        """Note what a function of a file holds; one level into what holds other things."""
        name = path.relative_to(PACKAGE).as_posix()
        for value in each_of(values):
            for unit in units_of(value):
                self.budget[unit].add(name)
            if isinstance(value, Plan):
                self.plans.add(name)
            if value is self.X or value is self.y:
                self.tables.add(name)
            elif holds_records(value):
                self.records[self.stage].add(name)

    def of_role(self, role: str) -> set[str]:
        """Files that held a release, or the event of one: plans that are tried have others."""
        kinds = {unit[1] for unit in self.budget if unit[0] == role}
        return {name for unit, names in self.budget.items() if unit[0] == role or unit in kinds
                for name in names}  # fmt: skip

    def questions(self, role: str) -> list[int]:
        """Numbers of the questions that a role paid for."""
        return [number for number, roles in enumerate(self.asked) if role in roles]


def each_of(values: Any) -> Iterator[Any]:
    """Values, and what is in lists, tuples and dictionaries among them."""
    for value in list(values):
        yield value
        if isinstance(value, dict):
            yield from list(value.values())
        elif isinstance(value, list | tuple) and len(value) < N_RECORDS:
            yield from value


def kind_of(event: Event) -> tuple[str, Any]:
    """An event's type and sensitivity, which tell the roles of a refitted forest apart."""
    if isinstance(event, DiscreteGaussianNoise):
        return "noise", event.l2_sensitivity_squared
    return "selection", event.score_range  # type: ignore[attr-defined]


def units_of(value: Any) -> list[Any]:
    """Releases that a value is of, as (role, kind); an event alone as its kind."""
    try:
        return _units_of(value)
    except AttributeError:  # it is being made
        return []


def _units_of(value: Any) -> list[Any]:
    if isinstance(value, Release):
        return [(value.role, kind_of(value.event))]
    if isinstance(value, Grant):
        return [(value.role, kind_of(value.event))]
    if isinstance(value, Step | Round):
        return [(release.role, kind_of(release.event)) for release in value.releases]
    return [kind_of(value)] if isinstance(value, Event) else []


def holds_records(value: Any) -> bool:
    """Whether it has a place for each record."""
    if isinstance(value, np.ndarray):
        return N_RECORDS in value.shape
    if isinstance(value, Table):
        return value.n_records > 0
    if isinstance(value, list | tuple):
        return len(value) == N_RECORDS
    return isinstance(value, Chunk | EncodedMatrix | EncodedTable)


def watched_kernels(walks: Walks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the arguments of kernels, which no profiler sees; one that calls others is one.

    What is compiled calls others without the names of their modules, so that a name is looked up
    by those alone who import a kernel as they need it.
    """
    for module in [module for name, module in sys.modules.items() if name.startswith("dpforest.")]:
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, watched(walks, value))


def watched(walks: Walks, kernel: Any) -> Any:
    path = Path(kernel.py_func.__code__.co_filename)

    def call(*args: Any) -> Any:
        walks.look(path, args)
        return kernel(*args)

    return call


@pytest.fixture(scope="module")
def walks() -> Walks:
    """One fit of a refitted forest with a linear start and quantiles, watched."""
    words = np.random.default_rng(5)
    X = np.column_stack([words.uniform(0, 9, N_RECORDS), words.integers(0, 9, N_RECORDS)])
    y = (X[:, 0] > X[:, 1]).astype(np.int64)
    facts = Domain(features={"a": (0, 9), "b": (0, 9)}, classes=[0, 1], approximate_rows=N_RECORDS)
    chosen = {"epsilon": 60, "delta": 1e-6, "strategy": "refitted", "domain": facts}
    # What is imported, compiled and made once.
    PrivateForestClassifier(**chosen, random_state=2).fit(X[:50], y[:50])
    forest = PrivateForestClassifier(**chosen, random_state=3)
    seen = Walks(X, y)
    with pytest.MonkeyPatch.context() as monkeypatch:
        watched_kernels(seen, monkeypatch)
        before = sys.getprofile()
        sys.setprofile(seen.frame)
        try:
            forest.fit(X, y)
        finally:
            sys.setprofile(before)
    assert {entry.role for entry in forest.accountant_.ledger} == set(ROLES)
    return seen


def section(title: str) -> str:
    """Text of the design below a heading."""
    return re.search(rf"^## {title}\n(.*?)(?=^## )", DESIGN, re.DOTALL | re.MULTILINE).group(1)


def path_in(title: str) -> list[str]:
    """Files of a numbered list."""
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section(title), re.MULTILINE)


def named_after(title: str, word: str) -> set[str]:
    """Files of a paragraph that begins with a word."""
    paragraph = re.search(rf"^{word}.*?(?=\n\n)", section(title), re.DOTALL | re.MULTILINE)
    return set(re.findall(r"`([\w/]+\.py)`", paragraph.group()))


@pytest.mark.parametrize("role", ROLES)
def test_a_unit_of_budget_passes_the_files_of_the_design(walks, role):
    drawn = set(path_in("One unit of budget"))
    if role == Role.SELECTION:
        drawn = drawn - {"mechanisms/noise.py"} | {"mechanisms/selection.py"}
    assert walks.of_role(role) - SHARED.get(role, set()) - {KEEPS} == drawn
    assert len(drawn) <= MOST


def test_what_keeps_events_of_noise_is_in_the_design(walks):
    assert KEEPS in named_after("One unit of budget", "Events of noise")
    assert KEEPS in walks.of_role(Role.SUMS) and KEEPS not in walks.of_role(Role.SELECTION)


@pytest.mark.parametrize("role", SHARED)
def test_what_other_learners_list_too_is_in_the_design(walks, role):
    first = section("One unit of budget").split("\n2. ")[0]
    assert all(f"`{name}` for `{role}`" in " ".join(first.split()) for name in SHARED[role])
    assert walks.of_role(role) >= SHARED[role]


def test_the_plan_is_handed_on_by_the_files_of_the_design(walks):
    opened = set(path_in("One unit of budget"))
    assert walks.plans - opened == named_after("One unit of budget", "The plan as a whole")


def test_a_record_passes_the_files_of_the_design(walks):
    rounds = walks.questions(Role.SUMS)[1:]
    assert len(rounds) > 2
    drawn = path_in("One record")
    for number in rounds:
        assert walks.records[DOOR] | walks.records[number] == set(drawn)
    assert len(drawn) <= MOST


def test_what_else_counts_a_record_is_in_the_design(walks):
    met = set().union(*walks.records.values()) - set(path_in("One record"))
    assert met == named_after("One record", "Other questions")


def test_a_table_is_handed_on_by_the_files_of_the_design(walks):
    opened = set(path_in("One record"))
    assert walks.tables - opened == named_after("One record", "The table as it came")


def test_between_two_questions_nobody_holds_a_record(walks):
    assert walks.records[BETWEEN] == set()
    assert all(walks.records[number] for number in range(len(walks.asked)))


def test_roles_are_told_apart_by_their_events(walks):
    kinds = {unit for unit in walks.budget if unit[0] in ROLES}
    assert len({kind for _, kind in kinds}) == len(ROLES) == len(kinds)
