"""Record and replay: that real fits show nothing unpaid, and that every kind of leak is seen."""

import json
import logging
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    Domain,
    DPForestError,
    MultinomialForestClassifier,
    PrivacyLeakWarning,
)
from dpforest.accounting import ExponentialSelection, GeometricNoise
from dpforest.audit import (
    SMALL_DOMAIN,
    WORST_CASES,
    DatasetPair,
    differences_on_replay,
    record,
    recording,
    worst_case,
)
from dpforest.audit.attributes import attributes_of
from dpforest.audit.catalogue import label_by_count
from dpforest.mechanisms import SeededSource, add_geometric_noise

ONE = Fraction(1)
LONE = worst_case(SMALL_DOMAIN, "a lone record in an empty leaf")


def forest(**parameters):
    settings = {"epsilon": 1, "domain": SMALL_DOMAIN, "n_estimators": 2, "max_depth": 2}
    settings |= {"random_state": 0, "verbose": 2, **parameters}
    shared = settings.pop("shared", None)

    def run(dataset):
        accountant = shared or BudgetAccountant(settings["epsilon"], settings.get("delta", 0))
        return MultinomialForestClassifier(accountant=accountant, **settings).fit(*dataset)

    return run


VARIANTS = {
    "default": {},
    "lattice": {"thresholds": "lattice"},
    "sides": {"partition_rate": 1},
    "joint": {"choice": "joint"},
    "permute-and-flip": {"selection": "permute_and_flip"},
    "labels": {"leaves": "count_label"},
    "as published": {"criterion": "gini_decrease", "partition_rate": 1, "leaves": "label",
                     "allocation": "theorem2"},
    "gaussian": {"delta": 1e-6},
}  # fmt: skip


# -- real fits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", WORST_CASES)
def test_a_fit_shows_nothing_that_was_not_paid_for(variant, case):
    # Structure, predictions, report, progress, warnings, logs, reads: all but releases agree.
    def run(dataset):
        model = forest(**VARIANTS[variant])(dataset)
        stored = json.loads(model.to_json())
        # Which object it is, drawn for each, not what it knows.
        del stored["lineage"], stored["earlier_fits"]
        return model, model.privacy_report(), stored, model.predict_proba([[0, 3]])

    assert differences_on_replay(run, worst_case(SMALL_DOMAIN, case)) == ()


def test_records_without_a_code_leave_no_trace():
    # NaN, an infinity and an unknown class follow fixed rules: dropped without a word.
    X, y = LONE.second
    for row, label in (([np.nan, 1], 0), ([np.inf, 1], 0), ([1, 1], 7)):
        odd = (np.vstack([X, [row]]), np.append(y, label))
        assert differences_on_replay(forest(), DatasetPair((X, y), odd)) == ()


def test_values_out_of_bounds_leave_no_trace():
    X, y = LONE.second
    far = (np.vstack([X, [[1e300, -1e300]]]), np.append(y, 1))
    assert differences_on_replay(forest(), DatasetPair((X, y), far)) == ()


def test_reads_follow_the_reserve_and_every_draw_has_its_own_grant():
    log = record(forest(), LONE.second)
    assert log.error is None
    assert log.reads == ["column 0", "column 1", "labels"]
    assert log.unpaid == []
    assert [release.mechanism for release in log.releases].count("add_geometric_noise") == 2
    places = [(release.paid[:-2], release.paid[-2]) for release in log.releases]
    assert len(places) == len(set(places)), "two draws on one grant"
    model = forest()(LONE.second)
    assert len(log.releases) == len(model.accountant_.ledger)


def test_refusals_come_before_any_read_and_tell_nothing():
    spent = BudgetAccountant(1)
    spent.request(GeometricNoise(ONE, ONE), role="spent before")
    for pair in (LONE, worst_case(SMALL_DOMAIN, "duplicates")):
        logs = [record(forest(shared=spent), data) for data in (pair.first, pair.second)]
        assert all(log.events == [] for log in logs)
        assert logs[0].error == logs[1].error
        assert logs[0].error.startswith(BudgetExceeded.__name__)
        assert differences_on_replay(forest(shared=spent), pair) == ()


def test_a_setting_that_raises_is_seen_to_tell():
    # invalid="raise" is for the curator's desk, and the replay shows why.
    X, y = LONE.second
    pair = DatasetPair((X, y), (np.vstack([X, [[np.nan, 0]]]), np.append(y, 0)))
    assert "error" in differences_on_replay(forest(invalid="raise"), pair)


def test_a_domain_read_from_the_data_is_seen():
    found = differences_on_replay(
        forest(domain=None), worst_case(SMALL_DOMAIN, "a record beyond all others")
    )
    assert any("edges" in name or "upper" in name for name in found)
    log = record(forest(domain=None), LONE.second)
    assert sorted(log.reads) == 2 * ["column 0"] + 2 * ["column 1"] + 2 * ["labels"]
    assert log.warnings[0].startswith(PrivacyLeakWarning.__name__)


# -- planted leaks ------------------------------------------------------------------------------

VALUES = DatasetPair([1, 2, 3], [1, 2, 3, 9], name="one more value")


def noisy_count(values, cells=1):
    grant = BudgetAccountant(10).request(GeometricNoise(ONE, ONE), role="count", cells=cells)
    return add_geometric_noise([len(values)], grant, SeededSource(0))


def honest(values):
    return noisy_count(values)


def leaks_by_result(values):
    return noisy_count(values), len(values)


def leaks_by_private_attribute(values):
    class Model:
        pass

    model = Model()
    model.count, model._raw = noisy_count(values), np.array(values)
    return model


def leaks_by_warning(values):
    if len(values) > 3:
        warnings.warn("more than three records", stacklevel=1)
    return noisy_count(values)


def leaks_by_log(values):
    logging.getLogger("a.library").debug("fitted %d records", len(values))
    return noisy_count(values)


def leaks_by_progress(values):
    for _ in values:
        print(".", end="", file=sys.stderr)
    return noisy_count(values)


def leaks_by_error(values):
    if max(values) > 5:
        raise ValueError("a value above five")
    return noisy_count(values)


def leaks_by_stopping_early(values):
    released = [noisy_count(values)]
    while len(released) < len(values):
        released.append(noisy_count(values))
    return released


def leaks_by_support(values):
    from dpforest.mechanisms import select_exponential

    event = ExponentialSelection(ONE, ONE)
    grant = BudgetAccountant(10).request(event, role="value", cells=1)
    scores = np.where(np.isin(np.arange(10), values), 1.0, -np.inf)
    return select_exponential(scores, [0], [10], event.epsilon, grant, SeededSource(0))


def leaks_by_shape(values):
    event = ExponentialSelection(ONE, ONE)
    grant = BudgetAccountant(10).request(event, role="labels", cells=10)
    counts = np.ones((len(values), 2), dtype=int)
    return label_by_count(counts, grant, SeededSource(0)).sum() * 0


def leaks_by_price(values):
    return noisy_count(values, cells=len(values))


def leaks_by_unpaid_draw(values):
    from dpforest.mechanisms.lattice import draw_below

    return draw_below(np.array([len(values)]), SeededSource(0)) * 0


LEAKS = {
    leaks_by_result: "result[1]",
    leaks_by_private_attribute: "result._raw",
    leaks_by_warning: "warnings",
    leaks_by_log: "logs",
    leaks_by_progress: "printed",
    leaks_by_error: "error",
    leaks_by_stopping_early: "number of events after 3",
    leaks_by_support: "event 0: release by select_exponential",
    leaks_by_shape: "event 0: release by select_exponential",
    leaks_by_price: "event 0: release by add_geometric_noise",
    leaks_by_unpaid_draw: "event 0: release by draw_below",
}


def test_an_honest_release_shows_nothing():
    assert record(honest, VALUES.first).error is None
    assert differences_on_replay(honest, VALUES) == ()
    assert differences_on_replay(honest, VALUES.reversed()) == ()


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_every_way_out_is_watched(leak):
    found = differences_on_replay(leak, VALUES)
    assert LEAKS[leak] in found
    assert not any("9" in name.replace("[9]", "") for name in found), "names, never values"


def test_spending_a_grant_twice_is_refused_on_a_replay_too():
    def twice(values):
        grant = BudgetAccountant(10).request(GeometricNoise(ONE, ONE), role="count")
        source = SeededSource(0)
        return [add_geometric_noise([len(values)], grant, source) for _ in range(2)]

    first = record(twice, VALUES.first)
    assert first.error.startswith("GrantError") and "was used before" in first.error
    assert record(twice, VALUES.second, first).error == first.error


def test_runs_that_cannot_be_replayed_are_refused():
    generator = np.random.default_rng(0)
    with pytest.raises(DPForestError, match="two runs on one dataset differ"):
        differences_on_replay(lambda values: generator.random(), VALUES)


def test_nobody_looks_on_after_the_block():
    with recording() as log:
        pass
    honest(VALUES.first)
    assert log.events == []
    with pytest.raises(ZeroDivisionError), recording():
        1 / 0  # noqa: B018
    honest(VALUES.first)
    with recording() as log:
        honest(VALUES.first)
    assert len(log.releases) == 1
    assert log.releases[0].paid == ("count", None, 1)


def test_attributes_are_taken_apart_to_the_last():
    class Slotted:
        __slots__ = ("a", "b")

    inner = Slotted()
    inner.a = {"k": (1, np.array([1.5]))}
    found = attributes_of([inner, {2, 1}, None, np.array(["x", None], dtype=object)])
    assert found["[0].a['k'][0]"] == ("int", "1")
    assert found["[0].a['k'][1]"][0] == "array"
    assert {"[1][0]", "[1][1]", "[2]", "[3][0]", "[3][1]"} <= found.keys()
    loop = []
    loop.append(loop)
    assert attributes_of(loop)["[0]"] == "an object above"
    assert attributes_of(1) != attributes_of(True)
    assert attributes_of(float("nan")) == attributes_of(float("nan"))


def test_a_frame_is_read_once_a_column():
    pandas = pytest.importorskip("pandas")
    domain = Domain(features={"a": (0, 3), "b": (0, 3)}, classes=[0, 1])
    X, y = LONE.second
    frame = pandas.DataFrame(X, columns=["a", "b"])
    log = record(forest(domain=domain), (frame, y))
    assert log.reads == ["column 0", "column 1", "labels"]
