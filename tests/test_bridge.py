"""The bridge from secret to released: paid before counted, once, and as it was planned."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction as F
from threading import Event

import numpy as np
import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.lists import ESTIMATION, STRUCTURE, Price, open_list
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.releases import Plan, PlanError, Release, Round, Step, loss_of, once
from dpforest.bridge.bridge import Bridge, Sealed, _covers, ask_together
from dpforest.exceptions import BudgetExceeded, ParameterError
from dpforest.mechanisms.entropy import RandomSource, SeededSource, SystemSource
from dpforest.mechanisms.objective import Calibration, ClippedLosses, release_minimum
from dpforest.mechanisms.streamed import StreamedBlocks
from dpforest.observation import Observer, set_observer
from dpforest.records.base import Chunk, MemoryRecords, Secret, Sensitivity, reveal
from dpforest.records.rows import Rows, Totals
from dpforest.records.sides import Side
from dpforest.records.table import Table
from dpforest.trees.one_shot.queries import MedianRank
from dpforest.trees.refitted.queries import TreeScore
from dpforest.trees.rules.queries import TreesOfHeightTwo

ONE = Sensitivity(F(1), F(1))
COUNT = GeometricNoise(F(1, 10), F(1))
GAUSS = DiscreteGaussianNoise(F(100), F(1))
PICK = ExponentialSelection(F(1, 20), F(1))
FLIP = PermuteAndFlipSelection(F(1, 20), F(1))
LEAST = ObjectivePerturbation(F(1), F(1, 5), F(1, 2), F(1, 4), F(2))


@dataclass(frozen=True)
class Asked:
    """A query whose sum is given."""

    counts: np.ndarray
    sensitivity: Sensitivity = ONE
    sides: tuple = ()

    def count(self, chunk):
        return self.counts


@dataclass(frozen=True)
class Seen:
    """A view that makes what it is given."""

    made: object
    sides: tuple = ()

    def look(self, table):
        return self.made


@dataclass(frozen=True)
class ByCount:
    """Scores of one row: the counts themselves."""

    score_range: F = F(1)
    unit: F = F(1)

    def rows(self, counted):
        scores = np.asarray(counted, dtype=np.float64).ravel()
        return Rows(scores, np.array([0]), np.array([scores.size]))


@dataclass(frozen=True)
class OnLattice(ByCount):
    """Each score is one of ten codes."""

    def rows(self, counted):
        offer = super().rows(counted)
        tens = np.full(offer.scores.size, 10)
        return Rows(offer.scores, offer.starts, offer.ends, np.cumsum(tens) - tens, tens)


@dataclass(frozen=True)
class Listed(ByCount):
    """A family a row of what was counted."""

    def makers(self, counted):
        return [StreamedBlocks.of(lambda k, row=row: row, 1) for row in np.atleast_2d(counted)]


#: Three records of one feature of two codes, each of them a side of one column.
LOSSES = ClippedLosses(
    np.array([[0], [1], [1]], dtype=np.uint8), np.array([1.0, 0.0, 1.0]), np.array([0]),
    np.zeros((2, 2), dtype=np.int64), np.array([[-1.0, 0.0], [1.0, 0.0]]), 0.0, 0.5,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Curves:
    """Losses as they were seen; tells when they are made."""

    query: object
    clip: F = F(1, 2)
    curvature: F = F(1, 4)
    calibration: Calibration = Calibration.of(LEAST, (1, 1))
    made: list = field(default_factory=list)

    def losses(self, counted):
        self.made.append(1)
        return counted


@dataclass
class FakeRecords:
    """Records that say when they are gone through."""

    log: list = field(default_factory=list)
    schema = None
    in_memory = True
    n_threads = 2

    def sealed_total(self, query):
        self.log.append("counted")
        return Secret(query.count(None))

    def look(self, view):
        self.log.append("counted")
        return Secret(view.look(None))


class Log(Observer):
    """Writes down grants, counts and releases in their order."""

    def __init__(self, log: list) -> None:
        self.log = log

    def granted(self, grants, owner=""):
        self.log.append(f"granted {owner}: {', '.join(grant.role for grant in grants)}")

    def count(self, what):
        self.log.append(f"count of {what}")

    def release(self, name, grant, public, draw):
        self.log.append(f"released {grant.role}")
        return draw()


@pytest.fixture
def log():
    found: list[str] = []
    before = set_observer(Log(found))
    yield found
    set_observer(before)


def bridge_of(*rounds: Round, log=None, source: RandomSource | None = None, **more) -> Bridge:
    scope = BudgetAccountant(50, F(1, 10**6)).open_scope("fit")
    listed = open_list(scope, "learner", rounds, Price.of(Plan(rounds, None)))
    records = FakeRecords(log if log is not None else [])
    return Bridge(rounds, listed, records, source or SeededSource(7), **more)


def counts(*shape: int) -> Asked:
    return Asked(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))


PRIOR = once("refitted", Release("prior", GAUSS))
EACH = Round("refitted", (Step((Release("pick", PICK), Release("sums", COUNT, cells=4))),), 2)


# -- paid before counted ---------------------------------------------------------------------------


def test_it_is_paid_for_then_counted_then_released(log):
    bridge = bridge_of(PRIOR, EACH, log=log)
    bridge.ask(counts(3), "prior").noised("prior")
    sums = bridge.ask(counts(2, 4, 2), "pick", "sums")
    picked = sums.chosen("pick", ByCount())
    sums.at(int(picked[0] % 2)).noised("sums")
    assert log == [
        "granted refitted: prior",
        "count of Asked",
        "counted",
        "released prior",
        "granted refitted: pick, sums",
        "count of Asked",
        "counted",
        "released pick",
        "released sums",
    ]


def test_what_cannot_be_paid_is_not_counted(log):
    scope = BudgetAccountant(F(1, 100)).open_scope("fit")
    rounds = (once("rules", Release("n", COUNT)),)
    with pytest.raises(BudgetExceeded):
        Bridge(rounds, scope, FakeRecords(log), SeededSource(0)).ask(counts(3), "n")
    assert log == []


@pytest.mark.parametrize(
    "roles", [(), ("sums",), ("prior", "pick"), ("prior", "prior"), ("pick", "sums")]
)
def test_other_roles_than_planned_are_neither_paid_nor_counted(log, roles):
    bridge = bridge_of(PRIOR, EACH, log=log)
    with pytest.raises(PlanError, match="was planned"):
        bridge.ask(counts(3), *roles)
    assert log == []
    bridge.ask(counts(3), "prior")
    with pytest.raises(PlanError):
        bridge.ask(counts(3), "sums", "pick")  # in the order of the list


def test_every_step_is_asked_for_in_its_turn_and_no_other():
    bridge = bridge_of(PRIOR, EACH)
    bridge.ask(counts(3), "prior")
    for _ in range(2):
        with pytest.raises(PlanError, match="not asked for"):
            bridge.finish()
        bridge.ask(counts(4, 2), "pick", "sums")
    bridge.finish()
    with pytest.raises(PlanError, match="nothing more"):
        bridge.ask(counts(3), "prior")


def test_a_step_is_said_to_be_done_after_it_was_counted(log):
    bridge = bridge_of(PRIOR, EACH, log=log, step_done=lambda: log.append("done"))
    bridge.ask(counts(3), "prior")
    assert log[-2:] == ["counted", "done"]


def test_a_plan_error_is_a_fault_of_the_learner():
    assert issubclass(PlanError, AssertionError)


# -- one grant, one release ------------------------------------------------------------------------


def test_a_role_is_released_once():
    bridge = bridge_of(PRIOR, EACH)
    prior = bridge.ask(counts(3), "prior")
    prior.noised("prior")
    with pytest.raises(PlanError, match="released"):
        prior.noised("prior")
    sums = bridge.ask(counts(2, 4, 2), "pick", "sums")
    first, second = sums.at(0), sums.at(1)
    first.noised("sums")
    with pytest.raises(PlanError, match="released"):  # the grant is that of all alternatives
        second.noised("sums")
    sums.chosen("pick", ByCount())
    with pytest.raises(PlanError):
        first.chosen("pick", ByCount())


def test_a_role_of_another_question_releases_nothing():
    bridge = bridge_of(PRIOR, EACH)
    bridge.ask(counts(3), "prior")
    with pytest.raises(PlanError, match="not asked for with this question"):
        bridge.ask(counts(2, 4, 2), "pick", "sums").at(0).noised("prior")


def test_alternatives_are_not_released_together():
    bridge = bridge_of(EACH)
    sums = bridge.ask(counts(2, 4, 2), "pick", "sums")
    with pytest.raises(PlanError, match="alternatives"):
        sums.noised("sums")
    assert sums.at(1).noised("sums").shape == (4, 2)


def test_what_is_no_count_is_not_noised():
    rounds = once("a", Release("n", COUNT)), once("a", Release("n", COUNT))
    bridge = bridge_of(*rounds)
    for question in (Seen(object()), Asked(np.ones(3))):
        with pytest.raises(PlanError, match="counts of a query"):
            bridge.ask(question, "n").noised("n")


def test_counts_of_a_view_are_noised_where_it_says_how_far_a_record_moves_them():
    @dataclass(frozen=True)
    class Counted(Seen):
        sensitivity: Sensitivity = ONE

    raw = np.zeros(3, dtype=np.int64)
    for view in (Seen(raw), Counted(raw, sensitivity=Sensitivity(F(2), F(2)))):
        with pytest.raises(PlanError, match="for less"):
            bridge_of(once("a", Release("n", COUNT))).ask(view, "n").noised("n")
    sealed = bridge_of(once("a", Release("n", COUNT))).ask(Counted(raw), "n")
    assert sealed.noised("n").shape == (3,)


# -- the event covers what one record moves --------------------------------------------------------

HALF = F(1, 2)


@pytest.mark.parametrize(
    ("event", "moved", "covers"),
    [
        (GeometricNoise(F(1), F(2)), Sensitivity(F(2), F(4)), True),
        (GeometricNoise(F(1), F(2)), Sensitivity(F(1), F(4)), True),
        (GeometricNoise(F(1), F(2)), Sensitivity(F(5, 2), F(4)), False),
        # Noise that adds up to nothing is for what does so over just as many columns.
        (ZeroSumGeometricNoise(F(1), F(2), 3), Sensitivity(F(2), F(4), 3), True),
        (ZeroSumGeometricNoise(F(1), F(2), 3), Sensitivity(F(5, 2), F(4), 3), False),
        (ZeroSumGeometricNoise(F(1), F(2), 3), Sensitivity(F(2), F(4)), False),
        (ZeroSumGeometricNoise(F(1), F(2), 3), Sensitivity(F(2), F(4), 4), False),
        (ZeroSumGeometricNoise(F(1), F(2), 3), Sensitivity(F(2), F(4), 2), False),
        (GeometricNoise(F(1), F(2)), Sensitivity(F(2), F(4), 3), True),
        (DiscreteGaussianNoise(F(1), F(4)), Sensitivity(F(9), F(4)), True),
        (DiscreteGaussianNoise(F(1), F(4)), Sensitivity(F(1), F(4) + F(1, 10**9)), False),
        (ExponentialSelection(F(1), HALF), HALF, True),
        (ExponentialSelection(F(1), HALF), F(1, 3), True),
        (ExponentialSelection(F(1), HALF), F(2, 3), False),
        (PermuteAndFlipSelection(F(1), HALF), HALF, True),
        (PermuteAndFlipSelection(F(1), HALF), F(2, 3), False),
        (LEAST, Curves(None), True),
        (LEAST, Curves(None, F(1, 4), F(1, 5)), True),
        (LEAST, Curves(None, HALF + F(1, 10**30)), False),
        (LEAST, Curves(None, F(1)), False),
        (LEAST, Curves(None, curvature=F(1, 4) + F(1, 10**30)), False),
        # Another kind of release, or nothing said.
        (ExponentialSelection(F(1), F(9)), ONE, False),
        (COUNT, F(1), False),
        (GAUSS, F(1, 100), False),
        (COUNT, None, False),
        (PICK, None, False),
        *((LEAST, moved, False) for moved in (ONE, F(1, 100), None)),
        *((event, Curves(None), False) for event in (COUNT, GAUSS, PICK, FLIP)),
        (LEAST, replace(Curves(None), clip=None), False),
        (LEAST, replace(Curves(None), curvature=None), False),
    ],
)
def test_an_event_covers_what_it_was_priced_for(event, moved, covers):
    assert _covers(event, moved) is covers


@pytest.mark.parametrize("event", [COUNT, GAUSS])
def test_noise_for_less_than_a_record_moves_is_refused_and_stays_unused(event):
    bridge = bridge_of(once("a", Release("n", event)))
    twice = Asked(np.zeros(3, dtype=np.int64), Sensitivity(F(2), F(2)))
    sealed = bridge.ask(twice, "n")
    for _ in range(2):
        with pytest.raises(PlanError, match="for less"):
            sealed.noised("n")


@pytest.mark.parametrize("event", [PICK, FLIP])
def test_a_choice_for_a_smaller_range_is_refused(event):
    sealed = bridge_of(once("a", Release("s", event))).ask(counts(5), "s")
    with pytest.raises(PlanError, match="for less"):
        sealed.chosen("s", ByCount(score_range=F(3, 2)))
    with pytest.raises(PlanError, match="for less"):
        sealed.drawn("s", Listed(score_range=F(3, 2)))
    with pytest.raises(PlanError, match="for less"):
        sealed.noised("s")
    assert 0 <= sealed.chosen("s", ByCount())[0] < 5


@dataclass(frozen=True, eq=False)
class AskedTotals(Asked):
    """Totals, to each of which a record adds so much."""

    most_each: int = 4


def test_totals_are_chosen_from_in_the_steps_of_the_query_that_was_asked():
    raw = np.arange(3, dtype=np.int64)
    asked, finer = AskedTotals(raw), AskedTotals(raw, most_each=1)
    assert Totals(asked).unit == F(1, 4) and Totals(asked).score_range == 1
    sealed = bridge_of(once("a", Release("s", PICK))).ask(asked, "s")
    with pytest.raises(PlanError, match="another query"):
        sealed.chosen("s", Totals(finer))
    assert 0 <= sealed.chosen("s", Totals(asked))[0] < 3


@pytest.mark.parametrize("score", [Totals, MedianRank, TreeScore, TreesOfHeightTwo])
def test_nobody_gives_a_score_another_range_or_another_unit(score):
    for own in ("score_range", "unit"):
        with pytest.raises(TypeError, match=own):
            score(**{own: F(1, 1000)})


# -- the three verbs hand on what the mechanisms draw ----------------------------------------------


def test_noise_is_the_one_that_was_paid_for():
    from dpforest.mechanisms.noise import add_discrete_gaussian_noise, add_geometric_noise
    from dpforest.mechanisms.zero_sum_noise import add_zero_sum_geometric_noise

    balanced = Sensitivity(F(4), F(6), 2)
    for event, add, asked in (
        (COUNT, add_geometric_noise, counts(4, 2)),
        (GAUSS, add_discrete_gaussian_noise, counts(4, 2)),
        (
            ZeroSumGeometricNoise(F(1, 10), F(4), 2),
            add_zero_sum_geometric_noise,
            replace(counts(4, 2), sensitivity=balanced),
        ),
    ):
        rounds = once("a", Release("n", event, cells=4))
        found = bridge_of(rounds, source=SeededSource(3)).ask(asked, "n").noised("n")
        grant = BudgetAccountant(50, F(1, 10**6)).request(event, role="n", cells=4)
        expected = add(asked.counts, grant, SeededSource(3).spawn("release", "n"))
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("kind", [ExponentialSelection, PermuteAndFlipSelection])
def test_the_choice_is_of_the_scores(kind):
    bridge = bridge_of(once("a", Release("s", kind(F(40), F(1)))))
    assert bridge.ask(counts(5), "s").chosen("s", ByCount()).tolist() == [4]


def test_a_run_of_codes_is_chosen_from_by_its_code():
    bridge = bridge_of(once("a", Release("s", ExponentialSelection(F(40), F(1)))))
    code = bridge.ask(counts(5), "s").chosen("s", OnLattice())
    assert 40 <= code[0] < 50


def test_families_are_drawn_from():
    bridge = bridge_of(once("a", Release("s", ExponentialSelection(F(40), F(1)), cells=2)))
    scores = np.array([[0, 9, 2], [7, 0, 1]], dtype=np.int64)
    assert bridge.ask(Seen(scores), "s").drawn("s", Listed()) == [(0, 1), (0, 0)]


# -- minima ----------------------------------------------------------------------------------------


def least(event=LEAST, log=None, **more):
    """What was seen, and the view of it."""
    seen = Seen(LOSSES)
    bridge = bridge_of(once("a", Release("minimum", event)), log=log, **more)
    return bridge.ask(seen, "minimum"), seen


def test_a_minimum_is_paid_for_before_records_are_seen_and_released_once(log):
    sealed, seen = least(log=log)
    assert log == ["granted a: minimum", "count of Seen", "counted"]
    curves = Curves(seen)
    assert sealed.minimised("minimum", curves).shape == (2,)
    assert log[3:] == ["released minimum"] and curves.made == [1]
    with pytest.raises(PlanError, match="was released"):
        sealed.minimised("minimum", curves)
    assert curves.made == [1]


def test_the_minimum_is_that_of_the_losses_with_the_roles_own_words():
    sealed, seen = least(source=SeededSource(3))
    found = sealed.minimised("minimum", Curves(seen))
    grant = BudgetAccountant(50).request(LEAST, role="minimum")
    words = SeededSource(3).spawn("release", "minimum")
    own = Calibration.of(LEAST, (1, 1))
    assert np.array_equal(found, release_minimum(LOSSES, own, grant, words))


def test_a_minimum_of_another_query_is_not_made():
    sealed, seen = least()
    for other in (Seen(LOSSES), None, Asked(np.zeros(2, dtype=np.int64))):
        curves = Curves(other)
        with pytest.raises(PlanError, match="of another query"):
            sealed.minimised("minimum", curves)
        assert not curves.made
    assert sealed.minimised("minimum", Curves(seen)).shape == (2,)


@pytest.mark.parametrize(
    "smaller", [{"clip": F(1, 4)}, {"curvature": F(24, 100)}, {"clip": F(1, 4), "curvature": F(1)}]
)
def test_a_minimum_for_less_than_one_record_adds_is_refused_and_not_made(smaller):
    sealed, seen = least(replace(LEAST, **smaller))
    curves = Curves(seen)
    for _ in range(2):
        with pytest.raises(PlanError, match="for less than one record moves"):
            sealed.minimised("minimum", curves)
    assert not curves.made


def test_losses_that_say_less_than_they_are_are_refused():
    quarter = replace(LEAST, clip=F(1, 4))
    sealed, seen = least(quarter)
    curves = Curves(seen, F(1, 4), calibration=Calibration.of(quarter, (1, 1)))
    with pytest.raises(ParameterError, match="must have the event's clip"):
        sealed.minimised("minimum", curves)


def test_a_minimum_by_another_calibration_is_refused():
    sealed, seen = least()
    twice = Calibration.of(replace(LEAST, epsilon=F(2)), (1, 1))
    with pytest.raises(ParameterError, match="that of the event that was paid for"):
        sealed.minimised("minimum", Curves(seen, calibration=twice))


@pytest.mark.parametrize("event", [COUNT, GAUSS, PICK, FLIP])
def test_grants_of_other_events_release_no_minimum(event):
    sealed, seen = least(event)
    curves = Curves(seen)
    with pytest.raises(PlanError, match="for less than one record moves"):
        sealed.minimised("minimum", curves)
    with pytest.raises(PlanError, match="not asked for"):
        sealed.minimised("other", curves)
    assert not curves.made


def test_the_grant_of_a_minimum_releases_nothing_else():
    view = Seen(np.arange(5))
    sealed = bridge_of(once("a", Release("minimum", LEAST))).ask(view, "minimum")
    for use in (
        lambda: sealed.noised("minimum"),
        lambda: sealed.noised("minimum", Half(view)),
        lambda: sealed.chosen("minimum", ByCount()),
        lambda: sealed.chosen("minimum", OnLattice()),
        lambda: sealed.drawn("minimum", Listed()),
    ):
        with pytest.raises(PlanError, match="for less than one record moves"):
            use()


def test_each_time_of_a_round_has_a_minimum_of_its_own():
    seen = Seen(LOSSES)
    bridge = bridge_of(Round("a", (Step((Release("minimum", LEAST),)),), 2))
    first, second = (bridge.ask(seen, "minimum") for _ in range(2))
    released = [sealed.minimised("minimum", Curves(seen)) for sealed in (first, second)]
    assert not np.array_equal(*released)
    bridge.finish()
    assert bridge._scope.loss.epsilon == 2


# -- secrets are opaque ----------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_can_be_computed_from_what_is_secret(sealed):
    secret = bridge_of(PRIOR).ask(counts(3), "prior") if sealed else Secret(np.arange(3))
    for use in (
        lambda: secret + 1,
        lambda: 1 * secret,
        lambda: np.add(secret, 1),
        lambda: np.sum([secret, secret]),
        lambda: np.asarray(secret, dtype=np.int64),
        lambda: float(secret),
        lambda: int(secret),
        lambda: secret[0],
        lambda: len(secret),
        lambda: iter(secret),
        lambda: list(secret),
        lambda: secret < 2,
        lambda: secret.__dict__,
        lambda: pickle.dumps(secret),
        lambda: copy.copy(secret),
        lambda: copy.deepcopy(secret),
    ):
        with pytest.raises((TypeError, AttributeError)):
            use()
    assert not any(digit in repr(secret) for digit in "012")


def test_a_secret_decides_nothing():
    for use in (lambda: bool(Secret(0)), lambda: Secret(0) == Secret(0), lambda: hash(Secret(0))):
        with pytest.raises(TypeError):
            use()
    held = object()
    assert reveal(Secret(held)) is held


# -- a stream for each role ------------------------------------------------------------------------


class Streams(RandomSource):
    """Words that say which streams were made, and which were used."""

    def __init__(self, path=(), used=None):
        self.path, self.used = path, {} if used is None else used

    def words(self, n):
        self.used[self.path] = self.used.get(self.path, 0) + n
        return SystemSource().words(n)

    def spawn(self, *key):
        return Streams((*self.path, key), self.used)

    def describe(self):
        return "named words"


def test_each_role_and_each_public_name_has_a_stream_of_its_own():
    source = Streams()
    each = Round("new", (Step((Release("pick", PICK), Release("sums", COUNT, cells=4))),), 2)
    bridge = bridge_of(once("new", Release("prior", COUNT)), each, source=source)
    bridge.ask(counts(3), "prior").noised("prior")
    bridge.public("structure", 1).words(5)
    bridge.row_words("coins")
    for _ in range(2):
        sums = bridge.ask(counts(4, 2), "pick", "sums")
        sums.noised("sums")
        sums.chosen("pick", ByCount())
    bridge.public("structure", 1).words(5)
    own = {(("release", role),): n for role, n in (("prior", 3), ("pick", 2), ("sums", 16))}
    assert source.used == {
        **own, (("public", "structure", 1),): 10, (("records", "coins"),): 4
    }  # fmt: skip


def test_a_role_a_public_name_and_words_by_record_may_have_one_name():
    source = Streams()
    bridge = bridge_of(once("new", Release("sums", COUNT)), source=source)
    bridge.ask(counts(3), "sums").noised("sums")
    bridge.public("sums").words(1)
    bridge.row_words("sums")
    assert set(source.used) == {((kind, "sums"),) for kind in ("release", "public", "records")}


# -- public facts ----------------------------------------------------------------------------------


def test_it_says_what_the_list_holds():
    bridge = bridge_of(PRIOR, EACH)
    assert bridge.has("prior") and bridge.has("sums") and not bridge.has("other")
    assert bridge.event("prior") is GAUSS and bridge.event("pick") is PICK
    with pytest.raises(PlanError, match="not on the list"):
        bridge.event("other")
    bridge.ask(counts(3), "prior")
    assert not bridge.has("prior") and bridge.event("prior") is GAUSS
    for left in (True, False):
        bridge.ask(counts(4, 2), "pick", "sums")
        assert bridge.has("sums") is left and bridge.event("sums") is COUNT
    assert (bridge.schema, bridge.in_memory, bridge.n_threads) == (None, True, 2)


class LabelView:
    """How many records have each of two labels, by a look at all of them."""

    def look(self, table):
        return np.bincount(table.labels, minlength=2).astype(np.int64)


class LabelQuery:
    """The same, by chunks."""

    sensitivity = ONE

    def count(self, chunk):
        return LabelView().look(chunk.table)


class Relabelled:
    """Every record gets label 1."""

    def table(self, chunk):
        return replace(chunk.table, labels=np.ones(chunk.table.n_records, dtype=np.int32))


def test_records_can_be_mapped():
    codes, labels = np.zeros((6, 1), dtype=np.uint8), np.zeros(6, dtype=np.int32)
    columns = np.array([1]), np.array([0, 1]), np.array([True])
    records = MemoryRecords(Table(codes, labels, *columns, 2))
    rounds = tuple(once("a", Release("s", ExponentialSelection(F(500), F(1)))) for _ in range(4))
    scope = BudgetAccountant(5000).open_scope("fit")
    bridge = Bridge(rounds, scope, records, SeededSource(0))
    mapped = bridge.mapped(Relabelled())
    for question in (LabelQuery(), LabelView()):
        for place, label in ((bridge, 0), (mapped, 1)):
            assert place.ask(question, "s").chosen("s", ByCount()).tolist() == [label]
    mapped.finish()
    bridge.finish()


# -- copies of a labelled round --------------------------------------------------------------------


def grown(partition: F | None = None, times: int = 2) -> Round:
    steps = (
        Step((Release("feature", PICK, 1, 0), Release("value", PICK, 1, 0))),
        Step(()),
        Step((Release("value", PICK, 4, 2),)),
        Step((Release("leaf", COUNT, 8, 3),)),
    )
    return Round("trees", steps, times, "tree", partition)


def grow(tree: Bridge) -> None:
    seen = Seen(np.arange(4), (tree.side,))
    first = tree.ask(seen, "feature", "value")
    first.chosen("feature", ByCount())
    first.chosen("value", ByCount())
    tree.ask(seen)
    tree.ask(seen, "value").chosen("value", ByCount())
    tree.ask(replace(counts(8, 2), sides=(tree.side,)), "leaf").noised("leaf")


def test_sides_are_drawn_by_the_copy_with_the_probability_that_was_priced():
    bridge = bridge_of(grown(F(1, 3)))
    sides = []
    for tree in bridge.copies():
        with tree:
            sides.append(tree.side)
            grow(tree)
    assert [side.structure for side in sides] == [F(1, 3)] * 2
    assert sides[0].rows != sides[1].rows  # each copy's own
    assert bridge.side.rows is None


@pytest.mark.parametrize("together", [False, True])
def test_a_question_by_other_sides_is_neither_paid_nor_counted(log, together):
    bridge = bridge_of(grown(F(1, 3)), log=log)
    with pytest.raises(PlanError, match="not asked for"), ExitStack() as opened:
        trees = [opened.enter_context(tree) for tree in bridge.copies()][: 1 + together]
        own = tuple(tree.side for tree in trees)
        others = (Side(), replace(own[0], structure=F(1, 2)), Side(SeededSource(1).rows(), F(1, 3)))
        for sides in ((), own[::-1] * 2, *((other,) * len(own) for other in others)):
            question = Asked(counts(2, 4, 2).counts, sides=sides)
            with pytest.raises(PlanError, match="own sides"):
                if together:
                    ask_together(trees, question, "feature", "value")
                else:
                    trees[0].ask(question, "feature", "value")
        assert log == []


@pytest.mark.parametrize("partition", [None, F(1, 3)])
def test_each_copy_pays_in_a_scope_of_its_own(log, partition):
    bridge = bridge_of(PRIOR, grown(partition), log=log)
    bridge.ask(counts(3), "prior")
    log.clear()
    for tree in bridge.copies():
        with tree:
            grow(tree)
    bridge.finish()
    assert log[:2] == ["granted trees: feature, value, value", "count of Seen"]
    assert [line for line in log if line.startswith("granted")] == [
        "granted trees: feature, value, value",
        "granted trees: leaf",
    ] * 2
    record = bridge._scope.record()
    assert [child.label for child in record.children] == ["tree 0", "tree 1"]
    assert all(child.closed and not child.failed for child in record.children)
    if partition is not None:
        sides = record.children[0].children[0].children
        granted = {side.label: [entry.role for entry in side.entries] for side in sides}
        assert granted == {STRUCTURE: ["feature", "value", "value"], ESTIMATION: ["leaf"]}
    assert bridge._scope.loss == loss_of((PRIOR, grown(partition)))


def test_a_round_with_a_partition_is_walked_in_an_adaptive_scope_too():
    accountant = BudgetAccountant(50, F(1, 10**6))
    steps = Step((Release("value", PICK),)), Step((Release("leaf", COUNT),))
    rounds = (Round("trees", steps, 2, "tree", F(1, 2)),)
    fit = accountant.open_scope("fit", 2 * loss_of(rounds, adaptive=True), adaptive=True)
    listed = open_list(fit, "learner", rounds, Price.of(Plan(rounds, None)))
    assert listed.charged == loss_of(rounds, adaptive=True) != loss_of(rounds)
    bridge = Bridge(rounds, listed, FakeRecords(), SeededSource(7))
    for tree in bridge.copies():
        with tree:
            for role in ("value", "leaf"):
                tree.ask(replace(counts(2), sides=(tree.side,)), role)
    bridge.finish()


@pytest.mark.parametrize("partition", [None, F(1, 3)])
def test_all_is_asked_for_as_learners_ask(log, partition):
    """In the same scopes and order; records are neither counted nor looked at."""
    rounds = PRIOR, grown(partition), once("more", Release("last", GAUSS))
    learnt, asked = bridge_of(*rounds), bridge_of(*rounds, log=log)
    learnt.ask(counts(3), "prior")
    for tree in learnt.copies():
        with tree:
            grow(tree)
    learnt.ask(counts(3), "last")
    learnt.finish()
    log.clear()
    asked.ask_for_all()
    asked.finish()
    assert asked._scope.record() == learnt._scope.record()
    assert log and all(line.startswith("granted") for line in log)


def test_copies_have_words_of_their_own():
    source = Streams()
    new = Round("new", grown().steps, 2, "tree")
    for tree in bridge_of(new, source=source).copies():
        with tree:
            tree.public("features").words(1)
            grow(tree)
    paths = [("release", role) for role in ("feature", "value", "leaf")]
    paths.append(("public", "features"))
    assert set(source.used) == {(("copy", "tree", n), path) for n in range(2) for path in paths}


def test_a_copy_is_asked_to_its_end_within_its_scope():
    bridge = bridge_of(grown())
    with pytest.raises(PlanError, match="copies"):
        bridge.ask(Seen(0), "feature", "value")
    first, second = bridge.copies()
    with pytest.raises(PlanError, match="by with"):
        first.ask(Seen(0), "feature", "value")
    with pytest.raises(PlanError, match="not asked for"), second:
        second.ask(Seen(0), "feature", "value")
    with pytest.raises(PlanError, match="no round with a label"):
        bridge.copies()


@pytest.mark.parametrize("n_grown", [0, 1])
def test_a_copy_that_was_not_asked_to_its_end_was_not_asked_for(n_grown):
    bridge = bridge_of(grown())
    for tree in bridge.copies()[:n_grown]:
        with tree:
            grow(tree)
    with pytest.raises(PlanError, match="not asked for"):
        bridge.finish()
    with pytest.raises(PlanError, match="not asked for"):
        bridge.mapped(Relabelled()).finish()


def test_a_copy_whose_failure_is_swallowed_was_not_asked_to_its_end():
    bridge = bridge_of(grown())
    for number, tree in enumerate(bridge.copies()):
        with suppress(KeyError), tree:
            grow(tree)
            if number:
                raise KeyError
    with pytest.raises(PlanError, match="not asked for"):
        bridge.finish()


@pytest.mark.parametrize("partition", [None, F(1, 3)])
def test_nothing_is_counted_before_something_is_paid(log, partition):
    leaf = Step((Release("leaf", COUNT, 8, 3),))
    bridge = bridge_of(Round("trees", (Step(()), Step(()), leaf), 1, "tree", partition), log=log)
    with bridge.copies()[0] as tree:
        for roles in ((), (), ("leaf",)):
            sealed = tree.ask(replace(counts(8, 2), sides=(tree.side,)), *roles)
        sealed.noised("leaf")
    bridge.finish()
    counted = ["count of Asked", "counted"] * 3
    assert log == ["granted trees: leaf", *counted, "released leaf"]
    assert bridge._scope.loss == bridge._scope.reserve


class Waiting:
    """A scope whose first request waits, and is refused."""

    def __init__(self):
        self.asked, self.may_go_on, self.roles = Event(), Event(), []

    def request_all(self, requests, owner):
        self.asked.set()
        assert self.may_go_on.wait(60)
        self.roles += [request.role for request in requests]
        if len(self.roles) == 1:
            raise KeyError
        return requests


def test_threads_ask_one_after_the_other():
    scope = Waiting()
    rounds = once("a", Release("first", COUNT)), once("a", Release("second", COUNT))
    bridge = Bridge(rounds, scope, FakeRecords(), SeededSource(0))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(bridge.ask, counts(3), "first")
        assert scope.asked.wait(60)
        second = pool.submit(bridge.ask, counts(3), "second")
        with suppress(TimeoutError):
            second.exception(0.1)
        scope.may_go_on.set()
    assert isinstance(first.exception(), KeyError)
    assert isinstance(second.exception(), PlanError)  # what could not be paid is still next
    assert scope.roles == ["first"]


def test_a_copy_is_entered_once():
    tree, _ = bridge_of(grown()).copies()
    with tree:
        with pytest.raises(PlanError, match="once"):
            tree.__enter__()
        grow(tree)
    with pytest.raises(PlanError, match="once"):
        tree.__enter__()


def test_a_copy_that_fails_keeps_what_it_had_set_aside():
    bridge = bridge_of(grown())
    tree, _ = bridge.copies()
    with pytest.raises(KeyError), tree:
        tree.ask(Seen(0), "feature", "value")
        raise KeyError
    child = bridge._scope.record().children[0]
    assert child.failed and child.closed


@pytest.mark.parametrize("shared", [False, True])
def test_copies_in_lockstep_pay_each_and_are_counted_once(log, shared):
    bridge = bridge_of(Round("trees", (Step((Release("leaf", COUNT, 2),)),), 3, "tree"), log=log)
    with ExitStack() as opened:
        trees = [opened.enter_context(tree) for tree in bridge.copies()]
        raw = np.array([5] if shared else [5, 6, 7]).repeat(4).reshape(-1, 2, 2) * 10**9
        sealed = ask_together(trees, Asked(raw.astype(np.int64)), "leaf")
        assert log == [*["granted trees: leaf"] * 3, "count of Asked", "counted"]
        found = [round(float(s.noised("leaf").mean()) / 10**9) for s in sealed]
    assert found == ([5, 5, 5] if shared else [5, 6, 7])
    assert bridge._scope.loss.epsilon == 3 * COUNT.loss.epsilon


def test_lockstep_refuses_what_was_not_planned_before_anything_is_counted(log):
    bridge = bridge_of(Round("trees", (Step((Release("leaf", COUNT, 2),)),), 2, "tree"), log=log)
    with pytest.raises(PlanError), ExitStack() as opened:
        trees = [opened.enter_context(tree) for tree in bridge.copies()]
        ask_together(trees, counts(2, 2, 2), "leaf label")
    assert log == [] and bridge._scope.loss == NO_LOSS


def test_a_bridge_goes_over_any_scope(log):
    scope = BudgetAccountant(5).open_scope("fit")
    rounds = (once("forest", Release("number of records", COUNT)),)
    bridge = Bridge(rounds, scope, FakeRecords(log), SystemSource())
    sealed = bridge.ask(counts(1), "number of records")
    assert isinstance(sealed, Sealed) and sealed.noised("number of records").shape == (1,)
    bridge.finish()
    assert scope.loss == COUNT.loss


@pytest.mark.parametrize("place", [[0, 0, 1], slice(None), 0.5, (slice(None), slice(None), 0)])
def test_one_alternative_is_taken_by_its_number(place):
    sums = bridge_of(EACH).ask(counts(2, 4, 2), "pick", "sums")
    with pytest.raises(TypeError):
        sums.at(place)
    assert sums.at(np.int64(1)).noised("sums").shape == (4, 2)


def test_cells_are_no_alternatives():
    sums = bridge_of(EACH).ask(counts(4, 2), "pick", "sums")
    with pytest.raises(PlanError, match="no alternatives"):
        sums.at(0)


def test_what_could_not_be_paid_is_still_next():
    with BudgetAccountant(1).open_scope("fit") as scope:
        dear = once("forest", Release("count", GeometricNoise(F(2), F(1))))
        bridge = Bridge((dear,), scope, FakeRecords(), SeededSource(7))
        with pytest.raises(BudgetExceeded):
            bridge.ask(counts(1), "count")
        with pytest.raises(PlanError, match="not asked for"):
            bridge.finish()


def test_those_who_ask_together_ask_of_the_same_records():
    leaves = Round("trees", (Step((Release("leaf", COUNT, 2),)),), 1, "tree")
    with ExitStack() as opened:
        trees = [opened.enter_context(bridge_of(leaves).copies()[0]) for _ in range(2)]
        with pytest.raises(PlanError, match="the same records"):
            ask_together(trees, counts(2, 2, 2), "leaf")
        for tree in trees:
            tree.ask(counts(2, 2), "leaf").noised("leaf")


@pytest.mark.parametrize(
    ("times", "label", "partition"),
    [(-1, "", None), (True, "tree", None), (1.0, "", None), (1, "", F(1, 2)), (1, "tree", F(1))],
)
def test_a_round_that_is_none_is_refused(times, label, partition):
    with pytest.raises(PlanError):
        Round("trees", (Step((Release("leaf", COUNT),)),), times, label, partition)


def test_records_and_what_is_made_of_them_are_in_no_log():
    columns = np.full((3, 1), 77, np.uint8), np.full(3, 7, np.uint8)
    table = Table(*columns, np.array([99]), np.array([0, 99]), np.array([True]), 9)
    offer = Rows(np.array([77.0]), np.array([0]), np.array([1]))
    for secret in (table, Chunk(table, 77), offer, Secret(table)):
        assert "7" not in repr(secret) and "7" not in f"{secret}"
    with pytest.raises(TypeError):
        Secret(table).__getstate__()


@dataclass(frozen=True)
class Half:
    """The first half of what was counted."""

    query: object
    sensitivity: Sensitivity = ONE

    def counts(self, counted):
        return counted[: counted.size // 2]


def test_a_part_is_noised_by_its_own_sensitivity():
    asked = Asked(np.array([5, 7, 9, 11], dtype=np.int64), Sensitivity(F(4), F(4)))
    sealed = bridge_of(once("learner", Release("sums", GAUSS))).ask(asked, "sums")
    part = Half(asked)
    with pytest.raises(PlanError, match="for less than one record moves"):
        sealed.noised("sums")
    with pytest.raises(PlanError, match="for less than one record moves"):
        sealed.noised("sums", replace(part, sensitivity=Sensitivity(F(1), F(101, 100))))
    with pytest.raises(PlanError, match="the part is of another query"):
        sealed.noised("sums", Half(Asked(np.zeros(4, dtype=np.int64))))
    assert sealed.noised("sums", part).shape == (2,)
    with pytest.raises(PlanError, match="was released"):
        sealed.noised("sums", part)


@dataclass(frozen=True)
class Watched(Half):
    """A part that tells when it is made."""

    made: list = field(default_factory=list)

    def counts(self, counted):
        self.made.append(1)
        return super().counts(counted)


@pytest.mark.parametrize("event", [GAUSS, COUNT, PICK])
@pytest.mark.parametrize(
    "moved",
    [
        Sensitivity(F(1001, 1000), F(1001, 1000)),
        Sensitivity(F(2), F(2)),
        None,
        F(1),
        F(1, 100),
    ],
)
def test_a_part_whose_event_understates_it_is_refused_before_it_is_made(event, moved):
    asked = Asked(np.array([5, 7, 9, 11], dtype=np.int64))
    sealed = bridge_of(once("learner", Release("sums", event))).ask(asked, "sums")
    part = Watched(asked, moved)
    with pytest.raises(PlanError, match="less than one record moves|does not say how far"):
        sealed.noised("sums", part)
    assert not part.made
    if event is not PICK:
        assert sealed.noised("sums", replace(part, sensitivity=ONE)).shape == (2,)


def test_a_part_that_names_no_query_or_was_not_paid_for_is_not_made():
    asked = Asked(np.array([5, 7, 9, 11], dtype=np.int64))
    sealed = bridge_of(once("learner", Release("sums", GAUSS))).ask(asked, "sums")
    for role, part, word in [
        ("sums", Watched(None), "of another query"),
        ("sums", Watched(replace(asked)), "of another query"),
        ("others", Watched(asked), "not asked for"),
    ]:
        with pytest.raises(PlanError, match=word):
            sealed.noised(role, part)
        assert not part.made
    sealed.noised("sums", Watched(asked))
    late = Watched(asked)
    for part in (late, None):
        with pytest.raises(PlanError, match="was released"):
            sealed.noised("sums", part)
    assert not late.made
