"""A fit that fails or is interrupted leaves nothing that could be taken for a fitted forest."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    BudgetLedger,
    Domain,
    InvalidRecordError,
    MultinomialForestClassifier,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    StreamError,
    verify_report,
)
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.releases import PlanError
from dpforest.accounting.verify import verify_composition
from dpforest.domain import values
from dpforest.domain.reading import counting_records
from dpforest.estimators import charge, fitting, training
from dpforest.estimators.training import Training
from dpforest.exceptions import (
    FewRecordsWarning,
    GrantError,
    RepeatedFitWarning,
)
from dpforest.records.base import MemoryRecords
from dpforest.records.streams.passes import StreamedRecords
from dpforest.report import record
from dpforest.streams import BatchStream
from dpforest.trees.strategies import ASKED


@pytest.fixture
def fitted(make_forest, table):
    return make_forest(accountant=BudgetAccountant(9)).fit(*table())


def released(forest):
    return {name for name in vars(forest) if name.endswith("_")}


@pytest.mark.parametrize(
    ("module", "where"),
    [(record, "make_guarantee"), (fitting, "spent_budget"), (fitting, "library_versions")],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_refit_leaves_an_unfitted_forest(
    module, where, error, fitted, table, monkeypatch
):
    def interrupted(*_, **__):
        raise error

    monkeypatch.setattr(module, where, interrupted)
    with pytest.raises(error):
        fitted.fit(*table(seed=1))
    assert released(fitted) == set()
    assert set(vars(fitted)) == {*fitted.get_params(), "_failure", "_lineage"}
    for use in (lambda: fitted.predict(table()[0]), fitted.privacy_report, fitted.to_json):
        with pytest.raises(NotFittedError):
            use()
    # It was spent all the same, and the object can be fitted again.
    assert fitted.accountant.spent.exact.epsilon == 2
    monkeypatch.undo()
    assert fitted.fit(*table()).privacy_report().guarantee.status == "holds"


@pytest.mark.parametrize("kind", [PrivateForestClassifier, PrivateForestRegressor])
def test_a_failed_refit_of_a_private_forest_leaves_nothing_either(kind, domain, table, monkeypatch):
    X, _ = table()
    y = [row[1] == "blue" for row in X]
    facts = {"classes": [False, True]} if kind is PrivateForestClassifier else {"target": (0, 1)}
    declared = Domain(features=domain.features, approximate_rows=60, **facts)
    forest = kind(epsilon=9, domain=declared, accountant=BudgetAccountant(18)).fit(X, y)
    monkeypatch.setattr(fitting, "spent_budget", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        forest.fit(X, y)
    assert set(vars(forest)) == {*forest.get_params(), "_failure", "_lineage"}


def test_a_training_that_fails_leaves_an_unfitted_forest(fitted, table, monkeypatch):
    train = Training.train

    def fail_after(self, *arguments):
        train(self, *arguments)
        raise MemoryError

    monkeypatch.setattr(Training, "train", fail_after)
    with pytest.raises(MemoryError):
        fitted.fit(*table())
    assert released(fitted) == set()
    assert fitted.accountant.spent.exact.epsilon == 2  # its reserve is kept
    with pytest.raises(NotFittedError, match="stays spent: epsilon = 1, delta = 0"):
        fitted.privacy_report()


def test_a_first_fit_that_fails_leaves_nothing_either(make_forest, table, monkeypatch):
    monkeypatch.setattr(fitting, "spent_budget", lambda *_: 1 / 0)
    forest = make_forest()
    with pytest.raises(ZeroDivisionError):
        forest.fit(*table())
    assert released(forest) == set()


def test_what_is_refused_before_anything_is_released_leaves_the_old_fit(fitted, table):
    forest, guarantee = fitted.forest_, fitted.guarantee_
    X, y = table()
    with pytest.raises(ParameterError):
        fitted.set_params(max_depth=0).fit(X, y)
    fitted.set_params(max_depth=2, invalid="raise")
    with pytest.raises(InvalidRecordError):
        fitted.fit([[float("inf"), "red", 0.0]], ["ill"])
    assert fitted.forest_ is forest and fitted.guarantee_ is guarantee
    assert fitted.predict(X).shape == (60,)


# -- fits that a record ended ---------------------------------------------------------------------


class Refusing:
    """A cell that cannot be read, for whatever reason."""


@pytest.fixture(params=[ValueError, MemoryError, KeyError, "panic", KeyboardInterrupt])
def refused(request, monkeypatch):
    """Records of which one ends their reading, and the error that a caller then sees."""
    error = (
        type("PanicException", (BaseException,), {}) if request.param == "panic" else request.param
    )

    def refuse(cell):
        raise error("secret 4711")

    monkeypatch.setitem(values._READERS, id(Refusing), refuse)
    X = [[1.0, 2.0]] * 300 + [[Refusing(), 2.0]]
    return (
        X,
        [0, 1, 1] * 100 + [1],
        KeyboardInterrupt if error is KeyboardInterrupt else StreamError,
    )


PLANS = {
    "one-shot": {"strategy": "one_shot"},
    "rules": {"strategy": "rules"},
    "with a delta": {"strategy": "refitted", "delta": 1e-6},
    "bought": {"strategy": "one_shot", "domain": None},
    "bought with a delta": {"strategy": "boosted", "delta": 1e-6, "domain": None},
    "units": {"strategy": "one_shot", "max_records_per_unit": 3},
    "bought for units": {
        "strategy": "boosted", "delta": 1e-6, "domain": None, "max_records_per_unit": 3
    },
    "multinomial": {},
    "on a lattice": {"thresholds": "lattice"},
}  # fmt: skip


def planned(name, accountant, **more):
    facts = {"features": {"a": (0, 9), "b": (0, 9)}, "classes": [0, 1]}
    settings = {"domain": Domain(**facts, approximate_rows=300), **PLANS[name]}
    if settings["domain"] is None:
        settings["domain"] = Domain(**facts)
    kind = MultinomialForestClassifier if "strategy" not in settings else PrivateForestClassifier
    return kind(epsilon=9, accountant=accountant, **settings, **more)


@pytest.mark.parametrize("name", PLANS)
def test_a_fit_that_a_record_ended_is_charged_as_any_that_failed(name, refused):
    X, y, error = refused
    accountant = BudgetAccountant(100, 3e-6)
    forest = planned(name, accountant)
    for count in (1, 2):
        with pytest.raises(error) as caught:
            forest.fit(X, y)
        fits = accountant.composition().children
        assert len(fits) == count and fits[-1].failed and fits[-1].closed and not fits[-1].entries
        assert fits[-1].reserve_kept and fits[-1].charged == fits[-1].reserve
        assert verify_composition(accountant.composition()) == ()
        with pytest.raises(NotFittedError, match="while its records were read.*stays spent: "):
            forest.privacy_report()
        if error is StreamError:
            assert "4711" not in str(caught.value)
            assert caught.value.__context__ is caught.value.__cause__ is None
    assert accountant.spent.exact.rho > 0


def test_such_fits_are_not_without_limit(refused):
    X, y, error = refused
    forest = planned("rules", BudgetAccountant(20))
    for _ in range(2):
        with pytest.raises(error):
            forest.fit(X, y)
    with pytest.raises(BudgetExceeded):
        forest.fit(X, y)


class Changing:
    """A table that is read by a library, and is another one each time."""

    def __init__(self, *reads):
        self.reads = iter(reads)

    def __array__(self, dtype=None, copy=None):
        return np.array(next(self.reads))


def test_a_table_that_changes_after_the_door_is_no_error_of_parameters():
    good, longer = [[1.0, 2.0]] * 300, [[1.0, 2.0]] * 301
    for last, said in (((longer,), "inconsistent"), ((), "cannot be read as a table")):
        accountant = BudgetAccountant(100)
        changing = Changing(good, good, *last)
        with pytest.raises(StreamError, match=f"the table: .*{said}"):
            planned("one-shot", accountant).fit(changing, [0, 1] * 150)
        assert accountant.spent.exact.epsilon == 9


def test_such_a_fit_is_listed_and_leaves_an_earlier_model(refused):
    X, y, error = refused
    forest = planned("one-shot", None)
    with pytest.raises(error):
        forest.fit(X, y)
    good = X[:300], y[:300]
    with pytest.warns(RepeatedFitWarning, match="2 times"):
        forest.fit(*good)
    report = forest.privacy_report()
    assert report.basis.listing.n_fits == 2
    with (
        pytest.raises(error) as caught,
        pytest.warns(RepeatedFitWarning, match="3 times"),
    ):
        forest.fit(X, y)
    assert caught.value.__notes__ == [charge._KEEPS_EARLIER]
    verify_report(report, forest)


def test_a_warning_made_an_error_hides_not_what_ended_a_reading(refused):
    X, y, error = refused
    forest = planned("one-shot", None).fit(X[:300], y[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedFitWarning)
        with pytest.raises(error):
            forest.fit(X, y)
    with pytest.warns(RepeatedFitWarning, match="3 times"):
        forest.fit(X[:300], y[:300])


@pytest.mark.parametrize("name", PLANS)
def test_what_the_curator_asks_for_is_free_in_memory(name, table):
    accountant = BudgetAccountant(9, 1e-6)
    forest = planned(name, accountant, invalid="raise")
    good, labels = [[1.0, 2.0], [3.0, 4.0]] * 150, [0, 1] * 150
    with pytest.raises(InvalidRecordError):
        forest.fit([*good, [float("inf"), 2.0]], [*labels, 1])
    (fit,) = accountant.composition().children
    assert not (fit.failed or fit.reserve_kept) and accountant.spent.exact.epsilon == 0
    assert forest.fit(good, labels).guarantee_.status == "holds"


# -- trainings that ran out of memory -------------------------------------------------------------


@pytest.fixture
def no_memory(monkeypatch):
    """Counting asks for more than there is, and numpy says for how much."""

    def count(*_):
        return np.empty(4711 * 10**13)

    for where, names in ((MemoryRecords, ("sealed_total", "look")), (StreamedRecords, ("_sum",))):
        for name in names:
            monkeypatch.setattr(where, name, count)
    with pytest.raises(MemoryError, match="shape .4711"):
        count()


@pytest.mark.parametrize("name", PLANS)
def test_a_training_without_memory_tells_no_number_of_records(name, no_memory):
    X, y = [[1.0, 2.0], [3.0, 4.0]] * 150, [0, 1] * 150
    for given in ((X, y), (BatchStream([(X, y)]),)):
        accountant = BudgetAccountant(100, 3e-6)
        if len(given) == 1 and name in ("rules", "on a lattice"):
            continue  # they need all records at once
        with pytest.raises(StreamError, match=r"cannot be counted \(MemoryError\)") as caught:
            planned(name, accountant).fit(*given)
        assert "4711" not in str(caught.value)
        assert caught.value.__context__ is caught.value.__cause__ is None
        assert "stays spent" in str(caught.value) and accountant.spent.exact.rho > 0


@pytest.mark.parametrize("name", PLANS)
def test_a_training_that_ends_before_its_first_grant_says_that_nothing_is_spent(name, monkeypatch):
    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr(training, "settle_plan", no_memory)
    X, y = [[1.0, 2.0], [3.0, 4.0]] * 150, [0, 1] * 150
    accountant = BudgetAccountant(100, 3e-6)
    with pytest.raises(StreamError) as caught:
        planned(name, accountant).fit(X, y)
    assert "nothing was spent" in str(caught.value) and accountant.spent.exact == NO_LOSS


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("strategy", ["auto", *ASKED])
def test_an_invalid_record_is_refused_for_nothing_where_a_number_of_records_is_bought(
    strategy, delta
):
    """Its plan waits for that number, so that its reserve gives no rho back once it is granted."""
    domain = Domain(features={"a": (0, 9)}, classes=["n", "y"])
    accountant = BudgetAccountant(2, 1e-5)
    forest = PrivateForestClassifier(
        epsilon=1, delta=delta, domain=domain, accountant=accountant, strategy=strategy,
        invalid="raise",
    )  # fmt: skip
    with pytest.raises(InvalidRecordError):
        forest.fit([[1]] * 50 + [["x"]], ["n", "y"] * 25 + ["n"])
    assert accountant.spent.exact == NO_LOSS


def test_in_a_ledger_such_a_training_stays_charged(monkeypatch, tmp_path):
    monkeypatch.setattr(training, "train_on", lambda *_: np.empty(4711 * 10**13))
    forest = planned("one-shot", None)
    at = f"sqlite:///{tmp_path}/book"
    with BudgetLedger.open(at, actor="ana", create=True) as ledger:
        ledger.register("claims", domain=forest.domain, epsilon=20, currency="epsilon")
        forest.set_params(accountant=ledger.accountant("claims"))
        with pytest.raises(StreamError, match="set aside stays spent"):
            forest.fit([[1.0, 2.0], [3.0, 4.0]] * 150, [0, 1] * 150)
        assert ledger.accountant("claims").remaining.epsilon == pytest.approx(11)


#: As Dask's are, of the cluster itself.
Lost = type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, PlanError, FewRecordsWarning, GrantError, Lost]
)
def test_what_is_no_fault_of_records_ends_a_training_as_it_is(error):
    with pytest.raises(error), counting_records(lambda: True):
        raise error
