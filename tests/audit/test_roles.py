"""Every role that a plan can contain is replayed, paid for before it is counted, and priced right.

A group is a strategy and a task; its cases are small fits in every currency, unit and way of
reading, which together have every role that a public grid of plans has. What holds of a case is
tested on real fits; that it could fail is shown by planting a leak for each role.
"""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.role_cases import (
    RoleCase,
    narrow_table_of,
    rare_table_of,
    role_cases,
    table_of,
)
from support.roles import (
    PUBLISHED,
    READINGS,
    TASKS,
    Place,
    private_places,
    published_places,
    variant_of,
)
from support.watching import Counted, Given, Granted, Site, Watched, unpaid_counts, watch

import dpforest
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    GeometricNoise,
    ObjectivePerturbation,
    ZeroSumGeometricNoise,
)
from dpforest.audit import estimator_parts
from dpforest.audit.recording import compare
from dpforest.estimators.fit_plan import RANGE_ROLE
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.streamed import Envelope
from dpforest.trees.scored.confidence import CONFIDENCE_ROLE
from dpforest.trees.strategies import Strategy

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")

PACKAGE = Path(dpforest.__file__).parent
#: Records beyond which a domain has none: the ends of every feature, every class or both bounds.
CORNERS = [(a, b, c) for a in (0.0, 3.0) for b in (0.0, 10.0) for c in (0.0, 1.0, 2.0)]
#: What part of the price a role's numbers move by on some neighbour that is tried, at least. All
#: of it where nothing stands here: every release of counts. Scores and residuals move by all of it
#: only at places that such small fits do not come to; tests of their own kernels do.
REACHED: dict[str, float] = {
    # Clipped residuals and largest curvatures do not meet in one record, even less in their L1, and
    # a centre that lies as far out as may be is rare.
    "node sums, add_geometric_noise": 0.8,
    "residual leaf sums, add_geometric_noise": 0.8,
    "node sums, add_zero_sum_geometric_noise": 0.8,
    "residual leaf sums, add_zero_sum_geometric_noise": 0.8,
    "node sums": 0.9,
    "residual leaf sums": 0.9,
    # Of more classes, what is rounded toward zero: a step or two.
    "residual sums of a feature": 0.99,
    # After a first tree by class counts little is left to explain.
    "residual split selection, select_permute_and_flip": 0.3,
    "residual split selection": 0.5,
    # A class that no record of the node has, where the shares were released with noise.
    "class split selection": 0.5,
    "feature selection": 0.5,
    "value selection": 0.35,
    "split selection": 0.5,
    "leaf label": 0.4,
    "rules, stage": 0.3,
    "weights of rules and forest": 0.3,
    "calibration, select_exponential": 0.4,
    "linear start: Gram matrix": 0.85,
    "linear start: gradient": 0.4,
    "tree selection, select_permute_and_flip": 0.2,
    "tree selection": 0.4,
    "leaf sums": 0.4,
    "leaf corrections": 0.4,
    # An answer less a claim is near 1 only where what is sure is wrong, and there claims hardly
    # fall when scores are shorter. By a third they fall only of many classes, where little is sure.
    "right answers less claimed ones, add_geometric_noise": 0.6,
    "right answers less claimed ones": 0.8,
}


# -- fits ----------------------------------------------------------------------------------------


class Here:
    """A cluster that does every task at once, in this thread: a client of `distributed`'s form."""

    def nthreads(self):
        return {"here": 1}

    def submit(self, task, *arguments, pure):
        return Done(task(*map(result_of, arguments)))

    def compute(self, delayed):
        return [Done(part.compute(scheduler="synchronous")) for part in delayed]

    def gather(self, futures):
        return [future.result() for future in futures]

    def who_has(self, futures):
        return {future.key: ("here",) for future in futures}

    def cancel(self, futures):
        pass


class Done(SimpleNamespace):
    """What a task made."""

    def __init__(self, made):
        super().__init__(made=made, key=id(self))

    def result(self):
        return self.made


def result_of(argument):
    if isinstance(argument, list):
        return [result_of(part) for part in argument]
    return argument.made if isinstance(argument, Done) else argument


@pytest.fixture(scope="module", autouse=True)
def small_learners(quick_kinds):
    """Learners of sizes at which a fit takes a few milliseconds; roles do not go by them."""
    make = Strategy.make
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Strategy,
            "make",
            lambda s: quick_kinds.get(s.package.rsplit(".", 1)[1]) or make(s),
        )
        patch.setattr("dpforest.records.base.RECORDS_A_THREAD", 1)
        if "dask" in readings():
            patch.setattr("dpforest.dask.collections.current_client", Here)
            patch.setattr("distributed.wait", lambda futures: None)
        yield


@cache
def readings() -> tuple[str, ...]:
    """Ways of reading that this installation has."""
    try:
        import dask.array  # noqa: F401
        import distributed  # noqa: F401
    except ImportError:
        return READINGS[:2]
    return READINGS


GROUPS: dict[tuple[str, str], list[RoleCase]] = {}
for _case in role_cases():
    GROUPS.setdefault((_case.strategy, _case.task), []).append(_case)


@dataclass
class Runs:
    """Runs of a group's cases on the first table."""

    cases: list[RoleCase]
    watched: dict[str, Watched] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cases = [case for case in self.cases if case.reading in readings()]
        for case in self.cases:
            run = watch(case.fit, table_of(case.task, 0))
            assert run.recording.error is None, (case.name, run.recording.error)
            self.watched[case.name] = run

    def __iter__(self):
        return ((case, self.watched[case.name]) for case in self.cases)

    def places(self) -> set[Place]:
        return set().union(*(case.places(run) for case, run in self))


#: Places of each group, once its cases have run.
SEEN: dict[tuple[str, str], set[Place]] = {}


@pytest.fixture(scope="module", params=GROUPS, ids=", ".join)
def runs(request, small_learners):
    made = Runs(GROUPS[request.param])
    SEEN[request.param] = made.places()
    return made


@pytest.fixture
def seen(small_learners):
    """Places of all groups."""
    for group, cases in GROUPS.items():
        if group not in SEEN:
            SEEN[group] = Runs(cases).places()
    return set().union(*SEEN.values())


# -- what a run shows, and when ------------------------------------------------------------------


def test_a_run_follows_from_what_was_released(runs):
    # Other records, as many parts: with the releases of the first run all else is the same.
    for case, run in runs:
        other = watch(case.fit, table_of(case.task, 1), run.recording)
        assert compare(run.recording, other.recording) == (), case.name


def test_every_grant_is_used_by_one_release(runs):
    for case, run in runs:
        assert len(run.given) == len(run.model.accountant_.ledger), case.name
        assert len({id(given.grant) for given, _ in run.given}) == len(run.given), case.name


def test_numbers_are_counted_after_their_grant(runs):
    for case, run in runs:
        assert any(isinstance(step, Counted) for step in run.steps)
        assert unpaid_counts(run.steps) == [], case.name


def test_a_number_counted_too_early_is_seen(runs):
    # The same run, as if one grant had been made at its release: after what it was counted from.
    for case, run in runs:
        for given, _ in run.given[:: max(1, len(run.given) // 4)]:
            if given.grant.level == 0:
                continue  # the root of a tree may have been counted for another one
            step = next(s for s in run.steps if getattr(s, "grant", None) is given.grant)
            assert isinstance(step, Granted)
            late = [s for s in run.steps if s is not step]
            late.insert(next(i for i, s in enumerate(late) if s is given), step)
            assert given.grant.role in unpaid_counts(late), case.name


def kind_of(case: RoleCase, given: Given, site: Site) -> tuple[str, ...]:
    role = given.grant.role
    if case.strategy == PUBLISHED:
        role = variant_of(role, case._estimator()(epsilon=1, **case.parameters))
    return case.reading, site.learner, role, given.mechanism


def test_a_leak_of_any_role_is_seen(runs):
    # Its mechanisms hand out what they were given: raw counts, the best candidate.
    planted: dict[tuple[str, ...], RoleCase] = {}
    for case, run in runs:
        for given, site in run.given:
            planted.setdefault(kind_of(case, given, site), case)
    for kind, case in planted.items():
        # Of two tables the same candidate may be best, and what leaks may not be what is chosen.
        assert any(leak_is_seen(kind, case, seed) for seed in range(60)), (kind, case.name)


def leak_is_seen(kind: tuple[str, ...], case: RoleCase, seed: int) -> bool:
    def leaks(given, site):
        return kind_of(case, given, site) == kind

    def run(dataset):
        return case.fit(dataset, seed)

    table = rare_table_of if kind[1:3] == ("rules", "prior") else table_of
    table = narrow_table_of if kind[2] == RANGE_ROLE else table
    first = watch(run, table(case.task, 0), plant=leaks)
    other = watch(run, table(case.task, 1), first.recording, leaks)
    return bool(compare(first.recording, other.recording))


# -- how far one record moves what is released ----------------------------------------------------


def test_a_record_moves_numbers_by_no_more_than_is_paid_for(runs):
    reached: dict[str, float] = {}
    for number, (case, run) in enumerate(runs):
        if case.reading != "memory":
            continue  # their numbers are those of memory: the next test
        for dataset, records in neighbours(case, number, run):
            other = watch(case.fit, dataset, run.recording)
            for (one, _), (two, _) in zip(run.given, other.given, strict=True):
                assert one.grant.role == two.grant.role
                if "families" in one.arguments and case.strategy != "rules" and number % 4:
                    continue  # the rules' own cases have the same families, and all are tried
                share = moved(one, two) / records
                assert share <= 1.0, (case.name, one.grant.role, share)
                role = re.sub("stage .*", "stage", one.grant.role) + f", {one.mechanism}"
                reached[role] = max(reached.get(role, 0.0), share)
    if runs.cases[0].strategy == "auto":
        return  # it is one of the others, whose own cases are more
    for role, share in reached.items():
        least = [part for name, part in REACHED.items() if role.startswith(name)]
        assert share >= (least[0] if least else 1.0), (role, share)


def neighbours(case: RoleCase, number: int, run: Watched):
    """Datasets with a whole unit more, and with one replaced; and how many records' price."""
    X, y = table_of(case.task, 0)
    outputs = (0.0, 1.0) if case.task == "target" else range(int(y.max()) + 1)
    far = [(corner, output) for corner in CORNERS for output in outputs]
    at = [far[(7 * number + 5 * i) % len(far)] for i in range(case.unit)]
    rows, labels = np.array([row for row, _ in at]), np.array([label for _, label in at])
    yield (np.vstack([X, rows]), np.append(y, labels)), case.unit
    yield (np.vstack([X[: -case.unit], rows]), np.append(y[: -case.unit], labels)), 2 * case.unit
    if case.unit == 1 and any(given.grant.role == CONFIDENCE_ROLE for given, _ in run.given):
        # Where much is claimed it is mostly right: far from it are other labels at one place.
        for corner, label in product(CORNERS[::3], outputs):
            yield (np.vstack([X, corner]), np.append(y, label)), 1


def moved(one: Given, two: Given) -> float:
    """Change of what a mechanism was given, over what one record may change it by."""
    event, a, b = one.grant.event, one.arguments, two.arguments
    assert event == two.grant.event
    if isinstance(event, ZeroSumGeometricNoise):
        change = b["counts"] - a["counts"]
        assert (change[:, : int(event.columns)].sum(axis=1) == 0).all()
        return float(np.abs(change).sum() / event.l1_sensitivity)
    if isinstance(event, GeometricNoise):
        return float(np.abs(b["counts"] - a["counts"]).sum() / event.l1_sensitivity)
    if isinstance(event, DiscreteGaussianNoise):
        squared = (np.asarray(b["counts"] - a["counts"], dtype=np.float64) ** 2).sum()
        return float(squared / float(event.l2_sensitivity_squared)) ** 0.5
    if isinstance(event, ObjectivePerturbation):
        return max(moved_gradients(a["losses"], b["losses"], a["calibration"].widths, event))
    changes = changes_of_scores(one, two)
    ranges = [float(np.ptp(change) * (unit / event.score_range)) for unit, change in changes]
    return max(ranges, default=0.0)


def moved_gradients(losses: Any, others: Any, widths: tuple[int, ...], event: Any):
    """Changes of the gradient's blocks in L1, and of the curvature, without the last bits."""
    starts = np.cumsum((0, *widths[:-1]))
    for place in (-40.0, -1.0, 0.0, 1.0, 40.0):
        weights = np.append(np.zeros(sum(widths) - 1), place)
        change = gradient_of(others, weights) - gradient_of(losses, weights)
        blocks = np.add.reduceat(np.abs(change), starts)
        yield round(float(blocks.max()) / float(event.clip), 9)
        sums = [one.slopes(one.scores(weights))[1].sum() for one in (losses, others)]
        yield round(abs(float(sums[1] - sums[0])) / float(event.curvature), 9)


def gradient_of(losses: Any, weights: np.ndarray) -> np.ndarray:
    """Of the losses alone."""
    hi, lo = np.zeros(weights.size), np.zeros(weights.size)
    losses.add_gradient(weights, hi, lo)
    return hi + lo


def changes_of_scores(one: Given, two: Given):
    """How the score of every candidate changes, row by row, and what a step of it is worth."""
    a, b = one.arguments, two.arguments
    if "families" in a:
        assert a["unit"] == b["unit"]
        for unit, *pair in zip(a["unit"], a["families"], b["families"], strict=True):
            # So flat that the same words propose the same candidates of both.
            families = [make(Envelope(1e-6)) for make in pair]
            if np.array_equal(*(family._sizes for family in families)):
                continue  # the record is in another cell
            own, other = map(scores_of_family, families)
            both = own.keys() & other.keys()
            yield unit, np.array([other[outcome] - own[outcome] for outcome in both] or [0])
        return
    unit = a["criterion"].unit if "criterion" in a else a["unit"]
    rows, others = (list(rows_of_scores(given)) for given in (one, two))
    for (places, row), (other_places, other) in zip(rows, others, strict=True):
        at = np.union1d(places, other_places)
        before = row[np.searchsorted(places, at, side="right") - 1]
        after = other[np.searchsorted(other_places, at, side="right") - 1]
        offered = np.isfinite(before)
        assert np.array_equal(offered, np.isfinite(after)), "candidates are public"
        yield unit, after[offered] - before[offered] if offered.any() else np.zeros(1)


def rows_of_scores(given: Given):
    """Places of the candidates and their scores; runs of equal scores by their first place."""
    arguments = given.arguments
    offer = arguments.get("offer")
    source = arguments if offer is None else vars_of(offer)
    scores = np.asarray(source["scores"], dtype=np.float64)
    for start, end in zip(source["starts"], source["ends"], strict=True):
        firsts = np.arange(end - start) if offer is None else offer.firsts[start:end]
        kept = slice(None) if offer is None else offer.lengths[start:end] > 0
        if np.size(firsts[kept]):
            yield firsts[kept], scores[start:end][kept]


def vars_of(offer: Any) -> dict[str, Any]:
    return {name: getattr(offer, name) for name in ("scores", "starts", "ends")}


def scores_of_family(family: Any) -> dict[Any, int]:
    """Scores of candidates that a family proposes, as it says them to the mechanism."""
    source = SeededSource(0)
    proposals = [family.propose(source) for _ in range(50)]
    return {proposal.outcome: family._top - proposal.gap for proposal in proposals}


def test_every_way_of_reading_counts_the_same(runs):
    # By the same words: so what holds of the numbers in memory holds of streams and of Dask.
    whole = {as_in_memory(case).name: run for case, run in runs if case.reading == "memory"}
    for case, run in runs:
        if case.reading == "memory" or case.strategy == "auto":
            continue
        memory = whole[as_in_memory(case).name]
        if case.strategy in ("additive", "refitted", "boosted") and asks_for_a_minimum(memory):
            continue  # curves at once need all records, so passes make them in turn
        ours, theirs = numbers_of(run), numbers_of(memory)
        assert ours.keys() == theirs.keys(), case.name
        for key, raw in ours.items():
            both = zip(raw, theirs[key], strict=True)
            assert all(np.array_equal(a, b) for a, b in both), (case.name, key)


def asks_for_a_minimum(run: Watched) -> bool:
    return any(isinstance(given.grant.event, ObjectivePerturbation) for given, _ in run.given)


def as_in_memory(case: RoleCase) -> RoleCase:
    return replace(case, reading="memory")


def numbers_of(run: Watched) -> dict[tuple[Any, ...], list[np.ndarray]]:
    """What mechanisms were given, by scope, role and level."""
    found: dict[tuple[Any, ...], list[np.ndarray]] = {}
    for given, _ in run.given:
        grant, arguments = given.grant, given.arguments
        raw = arguments["counts"] if "counts" in arguments else arguments["scores"]
        found.setdefault((*grant.path[1:], grant.role, grant.level), []).append(np.asarray(raw))
    return found


# -- completeness --------------------------------------------------------------------------------


@cache
def possible() -> frozenset[Place]:
    return frozenset(private_places() | published_places())


def test_every_role_of_every_plan_has_a_case_where_it_can_be(seen):
    # Cases are made for the budgets that its conversions give; of others' some roles have none.
    pytest.importorskip("dp_accounting")
    wanted = {place for place in possible() if place.reading in readings()}
    missing = sorted(wanted - seen)
    assert not missing, f"{len(missing)} without a case, such as {missing[:3]}"
    unknown = sorted(seen - wanted)
    assert not unknown, f"{len(unknown)} that the grid of plans lacks, such as {unknown[:3]}"


def test_every_role_is_in_a_part_that_is_audited(small_learners):
    audited = set()
    for part in estimator_parts():
        run = watch(lambda data, part=part: part.subject.fitted(data, 0), part.pairs[5].second)
        target = "Regressor" in part.name
        for given, site in run.given:
            audited.add((site.learner, given.grant.role, given.grant.event.mechanism, target))
    for place in possible():
        role = place.role
        # Which choice a published forest's role goes by is audited in one-split trees.
        name = role.role.split(",")[0] if role.strategy == PUBLISHED else role.role
        key = role.learner, name, role.mechanism, place.task == TASKS[2]
        if place.reading != "memory":  # parts are in memory: another learner that asks the same
            assert key[1:] in {one[1:] for one in audited}, f"{key} is in no part"
        else:
            assert key in audited, f"{key} is in no part of estimator_parts()"


def test_grants_are_asked_for_by_lists_of_plans_alone():
    # So the grid of plans, whose every role has a case, has all that any fit asks for.
    calls = {module: called_methods(module) for module in modules()}
    asking = {module for module, names in calls.items() if names & {"request", "request_all"}}
    assert asking == set()
    assert "grant_steps" in calls["bridge/bridge.py"]


def test_every_role_that_is_named_in_the_sources_is_in_some_plan():
    named = {role: module for module in modules() for role in roles_named_in(module)}
    assert len(named) > 20
    met = {place.role.role for place in possible()}
    assert {role: module for role, module in named.items() if role not in met} == {}


def modules():
    """Modules that may ask for grants: a ledger's requests are people's."""
    names = (path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py")))
    return [name for name in names if not name.startswith(("accounting/", "audit/", "ledger/"))]


def called_methods(module: str) -> set[str]:
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {own.attr if isinstance(own, ast.Attribute) else ast.unparse(own) for own in called}


def roles_named_in(module: str) -> list[str]:
    """Roles of a module by their names: those of its class of roles, and single ones."""
    text = (PACKAGE / module).read_text(encoding="utf-8")
    if "Role" not in text and "_ROLE" not in text:
        return []
    name = "dpforest." + module.removesuffix(".py").replace("/", ".")
    loaded = vars(importlib.import_module(name.removesuffix(".__init__")))
    listed = vars(loaded["Role"]) if "Role" in loaded else {}
    roles = [role for name, role in listed.items() if name.isupper()]
    return roles + [role for name, role in loaded.items() if name.endswith("_ROLE")]
