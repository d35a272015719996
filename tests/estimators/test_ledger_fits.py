"""Fits charged to a ledger: what they are charged, in which order, and what a failure leaves."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    BudgetLedger,
    Domain,
    MultinomialForestClassifier,
    PrivacyReport,
    PrivateForestClassifier,
    PrivateForestRegressor,
    verify_report,
)
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.fits import DetachedAccountant
from dpforest.accounting.rationals import parse_amount
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators import charge
from dpforest.estimators import training as trainings
from dpforest.estimators.charge import FitCharge
from dpforest.estimators.fitting import Fit
from dpforest.estimators.training import Training
from dpforest.exceptions import (
    ApprovalMissing,
    InvalidRecordError,
    LedgerFrozen,
    LedgerUnreachable,
    LedgerWarning,
    ParameterError,
    ParameterTypeError,
    PrivacyLeakWarning,
    ScopeError,
)
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.records.streams.batches import BatchStream

pytestmark = pytest.mark.usefixtures("quick_learners")
ROOT = Path(__file__).resolve().parents[2]
N, UNITS = 120, Fraction(1, 2**128)
FEATURES = {"age": (0, 100), "colour": ["red", "green", "blue"], "size": (-1.0, 1.0)}


def facts(task: str = "classification", rows: int | None = N) -> Domain:
    what = {"classes": ["ill", "well"]} if task == "classification" else {"target": (0, 1)}
    return Domain(features=FEATURES, approximate_rows=rows, **what)


@pytest.fixture
def opened(tmp_path):
    """A ledger in a file, and a data set of a domain in it."""

    def open_(domain: Domain, **registered) -> BudgetLedger:
        ledger = BudgetLedger.open(f"sqlite:///{tmp_path}/book", actor="ana", create=True)
        cap = {"epsilon": 400, "delta": "1e-6"}
        if registered.get("currency") == "epsilon":
            del cap["delta"]
        ledger.register("claims", domain=domain, **{**cap, **registered})
        return ledger

    return open_


@pytest.fixture
def forest_of(opened, table):
    """A forest that is charged to a data set of its own domain, and its ledger."""

    def make(kind=PrivateForestClassifier, rows=N, registered=None, **parameters):
        domain = facts("regression" if kind is PrivateForestRegressor else "classification", rows)
        size = {"max_records_per_unit": parameters.get("max_records_per_unit", 1)}
        ledger = opened(domain, **size, **(registered or {}))
        given = {"epsilon": 1, "domain": domain, **parameters}
        return kind(accountant=ledger.accountant("claims", purpose="test"), **given), ledger

    return make


@pytest.fixture
def records(table):
    """Records of a task."""

    def make(forest, n=N):
        X, y = table(n)
        numbers = [row[0] / 100 for row in X]
        return X, numbers if isinstance(forest, PrivateForestRegressor) else y

    return make


def kinds(ledger: BudgetLedger) -> list[str]:
    return [str(entry.kind) for entry in ledger.log("claims")][1:]


def spent(ledger: BudgetLedger) -> Fraction:
    status = ledger.status("claims")
    return fraction_of(status.cap - ledger.chain("claims").state.cap) + fraction_of(
        ledger.chain("claims").state.total
    )


# -- what is charged -------------------------------------------------------------------------

MULTINOMIAL = MultinomialForestClassifier, {"n_estimators": 2, "max_depth": 2}


def each_of(*strategies):
    """Private forests of these strategies, and the multinomial forest."""
    named = [(PrivateForestClassifier, {"strategy": strategy}) for strategy in strategies]
    return pytest.mark.parametrize(("kind", "parameters"), [*named, MULTINOMIAL], ids=str)


CASES = [
    (PrivateForestClassifier, {"strategy": "rules"}),
    (PrivateForestClassifier, {"strategy": "one_shot"}),
    (PrivateForestClassifier, {"strategy": "auto"}),
    (PrivateForestClassifier, {"strategy": "one_shot", "delta": "1e-7"}),
    (PrivateForestClassifier, {"strategy": "refitted", "delta": "1e-7", "epsilon": 4}),
    (PrivateForestClassifier, {"strategy": "rules", "delta": "1e-7", "epsilon": 4}),
    (PrivateForestClassifier, {"strategy": "refitted", "delta": "1e-7", "epsilon": 4,
                               "max_records_per_unit": 3}),
    (PrivateForestClassifier, {"strategy": "one_shot", "max_records_per_unit": 3}),
    (PrivateForestRegressor, {"strategy": "refitted", "delta": "1e-7", "epsilon": 4}),
    (PrivateForestRegressor, {"strategy": "one_shot"}),
    (PrivateForestRegressor, {"strategy": "auto", "epsilon": 15}),
    (PrivateForestRegressor, {"strategy": "refitted", "delta": "1e-7", "epsilon": 15}),
    MULTINOMIAL,
    (MultinomialForestClassifier, {"n_estimators": 2, "max_depth": 2, "partition_rate": 1}),
    (MultinomialForestClassifier, {"n_estimators": 2, "max_depth": 2, "delta": "1e-7"}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
@pytest.mark.parametrize(("kind", "parameters"), CASES)
def test_a_fit_is_charged_what_its_releases_add_up_to(kind, parameters, forest_of, records):
    forest, ledger = forest_of(kind, **parameters)
    X, y = records(forest)
    plan = ledger.plan("claims", forest)
    assert kinds(ledger) == []
    report = forest.fit(X, y).privacy_report()
    place = report.basis.ledger
    assert kinds(ledger) == ["reserve", "start", "settle"]
    # Counted anew, from the entries of the books: the whole list of a fixed plan, scope by scope.
    added = Fraction(report.composition.composed.loss.rho)
    assert added <= parse_amount(place.charged) < added + UNITS
    assert parse_amount(place.charged) == fraction_of(to_units(plan.total)) == spent(ledger)
    assert parse_amount(place.in_all) == parse_amount(place.charged) and place.before == "0"
    assert place.entry == "settle" and place.number == 3
    assert report.guarantee.status == "holds" and report.guarantee.epsilon <= forest.epsilon
    held = verify_report(report, forest, ledger=ledger)
    assert "its place in the ledger, and what was spent there" in held.held


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
@pytest.mark.parametrize(("kind", "parameters"), CASES)
def test_a_seeded_fit_is_the_one_of_an_accountant_in_memory(kind, parameters, forest_of, records):
    forest, _ = forest_of(kind, random_state=7, **parameters)
    own = BudgetAccountant(100, "0.5")
    # No clone: its fit would count as one with the same seed.
    beside = kind(**{**forest.get_params(), "accountant": own}).fit(*records(forest))
    forest.fit(*records(forest))
    assert forest.fingerprint_ == beside.fingerprint_
    assert forest.guarantee_ == beside.guarantee_ and forest.spent_ == beside.spent_


WAITING = [
    (PrivateForestClassifier, {}),
    (PrivateForestClassifier, {"delta": "1e-7", "epsilon": 2}),
    (PrivateForestClassifier, {"delta": "1e-7", "epsilon": 2, "max_records_per_unit": 2}),
    (PrivateForestRegressor, {"max_records_per_unit": 2}),
]


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
@pytest.mark.parametrize(("kind", "parameters"), WAITING)
def test_a_plan_that_waits_is_charged_the_most_that_it_may_come_to(
    kind, parameters, forest_of, records
):
    forest, ledger = forest_of(kind, rows=None, **parameters)
    epsilon, delta = Fraction(parameters.get("epsilon", 1)), Fraction(parameters.get("delta", 0))
    pure = epsilon**2 / 2
    most = max(pure, rho_of_epsilon(epsilon, delta)) if delta else pure
    report = forest.fit(*records(forest)).privacy_report()
    assert parse_amount(report.basis.ledger.charged) == fraction_of(to_units(most)) == spent(ledger)
    assert report.composition.composed.loss.rho < most
    verify_report(report, forest, ledger=ledger)


@each_of("rules", "one_shot", "additive")
def test_a_pure_ledger_adds_epsilon_and_refuses_a_delta(kind, parameters, forest_of, records):
    registered = {"currency": "epsilon", "epsilon": 3}
    forest, ledger = forest_of(kind, registered=registered, **parameters)
    for n in (1, 2, 3):
        place = forest.fit(*records(forest)).privacy_report().basis.ledger
        assert place.currency == "epsilon" and n - 1 < parse_amount(place.in_all) <= n
    with pytest.raises(BudgetExceeded, match="claims"):
        forest.set_params(epsilon=2).fit(*records(forest))
    before = ledger.log("claims")
    for use in (forest.fit, lambda *_: ledger.plan("claims", forest)):
        forest.set_params(epsilon=0.001, delta="1e-9")
        with pytest.raises(ParameterError, match="delta='1/1000000000': must be 0"):
            use(*records(forest))
    assert ledger.log("claims") == before


def test_a_strategy_that_nobody_can_ask_for_writes_nothing(forest_of, poisoned):
    forest, ledger = forest_of(strategy="multinomial")
    for use in (forest.fit, lambda *_: ledger.plan("claims", forest)):
        with pytest.raises(ParameterError, match="Use MultinomialForestClassifier"):
            use(*poisoned())
    assert kinds(ledger) == []


def test_fits_of_several_objects_add_up_and_the_cap_refuses(forest_of, records, poisoned):
    forest, ledger = forest_of(registered={"epsilon": None, "rho": "1.2"}, strategy="rules")
    X, y = records(forest)
    places = [clone(forest).fit(X, y).privacy_report().basis.ledger for _ in range(2)]
    each = parse_amount(places[0].charged)
    assert [parse_amount(p.in_all) / each for p in places] == [1, 2]
    assert [parse_amount(p.before) / each for p in places] == [0, 1]
    forest.set_params(epsilon=6)
    entries = kinds(ledger)
    with pytest.raises(BudgetExceeded, match="data set 'claims'"):
        forest.fit(*poisoned())
    assert kinds(ledger) == entries and not hasattr(forest, "guarantee_")


# -- the order -------------------------------------------------------------------------------


class Watched:
    """A store that notes what is asked of it."""

    def __init__(self, store, log):
        self._kept, self._log = store, log

    def __getattr__(self, name):
        found = getattr(self._kept, name)
        if not callable(found) or name == "close":
            return found
        self._log.append(name)
        return found


@pytest.fixture
def watched(monkeypatch):
    """Everything that a fit asks a ledger for, and the reading of records, in order."""

    def watch(ledger) -> list[str]:
        log: list[str] = []
        monkeypatch.setattr(ledger, "_store", Watched(ledger._store, log))
        encode, ask = DomainEncoder.encode, trainings.train_on

        def reading(self, X, y=None):
            log.append("read")
            return encode(self, X, y)

        def training(*given):
            log.append("train")
            model = ask(*given)
            log.append("trained")
            return model

        monkeypatch.setattr(DomainEncoder, "encode", reading)
        monkeypatch.setattr(trainings, "train_on", training)
        return log

    return watch


@each_of("rules", "refitted", "additive")
def test_three_transactions_and_none_while_records_are_read(
    kind, parameters, forest_of, records, watched
):
    forest, ledger = forest_of(kind, delta="1e-7", epsilon=4, **parameters)
    log = watched(ledger)
    forest.fit(*records(forest))
    assert log == ["locked", "locked", "read", "train", "trained", "locked"]


def test_the_start_is_durable_before_a_record_is_read(forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")
    seen = []
    read = Fit._read

    def reading(self, *given):
        # From another connection, as another process would see it.
        with BudgetLedger.open(ledger.url, actor="olga") as other:
            seen.append(kinds(other))
        return read(self, *given)

    monkeypatch.setattr(Fit, "_read", reading)
    forest.fit(*table(N))
    assert seen == [["reserve", "start"]]


# -- failures --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ScopeError])
def test_a_fit_that_fails_before_its_start_is_voided(error, forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")

    def failing(*_):
        raise error("before")

    with monkeypatch.context() as patched, pytest.raises(error):
        patched.setattr(FitCharge, "open_scope", failing)
        forest.fit(*table(N))
    assert kinds(ledger) == ["reserve", "void"] and spent(ledger) == 0
    forest.fit(*table(N))
    assert spent(ledger) > 0


def test_a_start_that_does_not_come_through_is_voided(forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")
    write = ledger.write

    def refused(name, body, entry_id=None):
        if type(body).__name__ == "StartBody":
            raise LedgerUnreachable("no answer", "Wait", ledger.url, name)
        return write(name, body, entry_id)

    monkeypatch.setattr(ledger, "write", refused)
    read = []
    monkeypatch.setattr(Fit, "_read", lambda *_: read.append(1))
    with pytest.raises(LedgerUnreachable):
        forest.fit(*table(N))
    assert kinds(ledger) == ["reserve", "void"] and not read


@pytest.fixture
def unanswered(monkeypatch):
    """A ledger whose starts are written, while their answers are lost for good."""

    def lose(ledger):
        write = ledger.write

        def lost(name, body, entry_id=None):
            written = write(name, body, entry_id)
            if type(body).__name__ == "StartBody":
                raise LedgerUnreachable("no answer", "Wait", ledger.url, name, unanswered=True)
            return written

        monkeypatch.setattr(ledger, "write", lost)

    return lose


def test_a_start_that_may_stand_is_never_given_back(forest_of, poisoned, unanswered, monkeypatch):
    forest, ledger = forest_of(strategy="rules")
    unanswered(ledger)
    with pytest.raises(LedgerUnreachable, match="no answer") as raised:
        forest.fit(*poisoned())
    assert kinds(ledger) == ["reserve", "start"] and spent(ledger) > 0
    assert "Whether the start of the fit was written down is not known" in raised.value.__notes__[0]
    campaign = ledger.campaign("claims", [clone(forest)] * 3)
    with pytest.raises(LedgerUnreachable):
        forest.set_params(accountant=campaign).fit(*poisoned())
    assert campaign.left == 2

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(ledger, "write", interrupted)
        forest.fit(*poisoned())
    assert campaign.left == 1


def test_a_reserve_that_cannot_be_voided_is_named(forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")
    write = ledger.write

    def gone(name, body, entry_id=None):
        if type(body).__name__ == "VoidBody":
            raise LedgerUnreachable("no answer", "Wait", ledger.url, name)
        return write(name, body, entry_id)

    monkeypatch.setattr(ledger, "write", gone)
    monkeypatch.setattr(FitCharge, "open_scope", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as raised:
        forest.fit(*table(N))
    reserve = ledger.log("claims")[-1].id
    assert any(reserve in note and "owner" in note for note in raised.value.__notes__)
    assert kinds(ledger) == ["reserve"] and spent(ledger) > 0


def test_a_fit_that_fails_after_its_start_keeps_the_whole_reserve(forest_of, table):
    forest, ledger = forest_of(strategy="rules", invalid="raise")
    X, y = table(N)
    y[3] = "neither"
    with pytest.raises(InvalidRecordError):
        forest.fit(X, y)
    *_, last = ledger.log("claims")
    assert kinds(ledger) == ["reserve", "start", "settle"] and last.body.outcome == "failed"
    assert spent(ledger) == fraction_of(to_units(ledger.plan("claims", forest).total))
    with pytest.raises(NotFittedError, match="claims.*stays spent: rho = 0"):
        forest.privacy_report()


def test_a_model_that_outlives_a_failed_fit_is_named(forest_of, table):
    """A model that was paid for is not lost to bad records, nor is what these cost left out."""
    forest, ledger = forest_of(strategy="rules", invalid="raise")
    X, y = table(N)
    earlier = forest.fit(X, y).fingerprint_
    paid, report = spent(ledger), forest.privacy_report()
    y[3] = "neither"
    with pytest.raises(InvalidRecordError) as caught:
        forest.fit(X, y)
    assert caught.value.__notes__ == [charge._KEEPS_EARLIER] and spent(ledger) == 2 * paid
    assert forest.fingerprint_ == earlier
    verify_report(report, forest)


@pytest.mark.parametrize(("kind", "where"), [(Training, "train"), (Fit, "_finish")])
def test_an_interrupted_fit_keeps_it_too(kind, where, forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(*table(N))
    assert kinds(ledger) == ["reserve", "start", "settle"] and spent(ledger) > 0
    assert not hasattr(forest, "guarantee_")


@contextmanager
def unreachable(*_):
    raise LedgerUnreachable("the store does not answer", "Wait", "somewhere", "claims")
    yield


def test_a_store_that_is_gone_at_the_end_costs_no_model(forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")
    X, y = table(N)
    train = Training.train

    def training(self, *given):
        released = train(self, *given)
        gone.setattr(ledger._store, "locked", unreachable)
        return released

    with monkeypatch.context() as gone:
        gone.setattr(Training, "train", training)
        with pytest.warns(LedgerWarning, match="model is kept.*does not answer") as caught:
            forest.fit(X, y)
    assert caught[0].filename == __file__
    assert ledger.status("claims").lacking == {"unknown": 1}
    report = forest.privacy_report()
    place = report.basis.ledger
    assert (place.entry, place.number) == ("start", 2) and len(forest.predict(X)) == N
    assert any("could not be written" in notice.text for notice in report.notices)
    verify_report(report, forest, ledger=ledger)
    assert kinds(ledger) == ["reserve", "start"] and spent(ledger) > 0
    settle = f"ledger.settle('claims', '{place.reserve}', 0, guarantee='holds')"
    assert settle in str(caught[0].message)
    eval(settle, {"ledger": ledger})
    assert ledger.status("claims").lacking == {}
    verify_report(report, forest, ledger=ledger)
    assert kinds(ledger) == ["reserve", "start", "settle"]


def test_a_failed_fit_whose_end_is_not_heard_raises_its_own_error(forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")

    def failing(*_):
        monkeypatch.setattr(ledger._store, "locked", unreachable)
        raise MemoryError("its own")

    monkeypatch.setattr(Training, "train", failing)
    with pytest.raises(MemoryError, match="its own") as raised:
        forest.fit(*table(N))
    assert "does not answer" in raised.value.__notes__[0]
    monkeypatch.undo()
    assert kinds(ledger) == ["reserve", "start"]


# -- what is not the data set's ------------------------------------------------------------------

OTHERS = [
    {"features": {**FEATURES, "colour": ["red", "green", "blue", "grey"]}},
    {"features": {**FEATURES, "colour": ["red", "blue", "green"]}},
    {"features": {**FEATURES, "age": (0, 101)}},
    {"features": {**FEATURES, "new": (0, 1)}},
    {"classes": ["ill", "well", "unknown"]},
]


@pytest.mark.parametrize("change", OTHERS)
def test_another_domain_is_refused_before_anything(change, forest_of, poisoned, watched):
    forest, ledger = forest_of(strategy="rules")
    log = watched(ledger)
    other = Domain(**{"features": FEATURES, "classes": ["ill", "well"], **change})
    forest.set_params(domain=other)
    for use in (lambda: forest.fit(*poisoned()), lambda: ledger.plan("claims", forest)):
        with pytest.raises(ParameterError, match="domain=.*'claims' was registered with") as raised:
            use()
        assert raised.value.parameter == "domain"
    assert "locked" not in log and kinds(ledger) == []


def test_a_domain_is_the_same_whatever_people_say_of_it(forest_of, table):
    forest, ledger = forest_of(strategy="rules")
    dumped = facts(rows=7000).model_dump(mode="json")
    for entry in (*dumped["features"], dumped["classes"]):
        entry |= {"declared_by": "somebody", "source": "a book"}
    said = Domain.model_validate({**dumped, "note": "words"})
    assert said.fingerprint() != forest.domain.fingerprint()
    forest.set_params(domain=said).fit(*table(N))
    assert kinds(ledger)[-1] == "settle"


def test_no_domain_is_refused_and_not_read_off_the_records(forest_of, poisoned):
    forest, ledger = forest_of(strategy="rules")
    with warnings.catch_warnings(), pytest.raises(ParameterError, match="domain=None"):
        warnings.simplefilter("error")
        forest.set_params(domain=None).fit(*poisoned())
    assert kinds(ledger) == []


def test_another_unit_is_refused_before_anything(forest_of, poisoned, watched):
    forest, ledger = forest_of(strategy="rules", max_records_per_unit=3)
    log = watched(ledger)
    for size in (1, 2, 4):
        forest.set_params(max_records_per_unit=size)
        for use in (lambda: forest.fit(*poisoned()), lambda: ledger.plan("claims", forest)):
            with pytest.raises(ParameterError, match=f"max_records_per_unit={size}: .*Give .*=3"):
                use()
    # Nobody asked for a transaction that the rules would refuse.
    assert "locked" not in log and kinds(ledger) == []


def test_a_data_set_that_is_not_there_is_refused_when_it_is_named(forest_of):
    _, ledger = forest_of()
    with pytest.raises(ParameterError, match="'claim'.*'claims'"):
        ledger.accountant("claim")


# -- copies, threads, processes -------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [clone, copy.copy, copy.deepcopy])
def test_copies_are_charged_to_the_same_data_set(duplicate, forest_of, table):
    forest, ledger = forest_of(strategy="rules")
    twin = duplicate(forest)
    assert twin is not forest and twin.accountant is forest.accountant
    forest.fit(*table(N))
    twin.fit(*table(N))
    assert kinds(ledger) == ["reserve", "start", "settle"] * 2
    again = duplicate(forest)
    assert again.accountant is forest.accountant


@pytest.mark.filterwarnings("ignore::dpforest.RepeatedFitWarning")
def test_a_data_set_that_was_frozen_meanwhile_costs_no_model(forest_of, table, monkeypatch):
    forest, ledger = forest_of(strategy="rules")
    train = Training.train

    def training(self, *given):
        ledger.checkpoint("claims", frozen=True, reason="a backup was restored")
        return train(self, *given)

    with monkeypatch.context() as patched, pytest.warns(LedgerWarning, match="frozen"):
        patched.setattr(Training, "train", training)
        forest.fit(*table(N))
    assert forest.privacy_report().basis.ledger.entry == "start"
    assert kinds(ledger) == ["reserve", "start", "checkpoint"]
    with pytest.raises(LedgerFrozen):
        forest.fit(*table(N))
    assert kinds(ledger)[-1] == "checkpoint"


def test_an_unfitted_forest_and_its_accountant_are_not_pickled(forest_of):
    forest, ledger = forest_of()
    for live in (forest, forest.accountant, ledger):
        with pytest.raises(ParameterTypeError, match="pickled"):
            pickle.dumps(live)


def test_a_pickled_fit_names_its_ledger_and_spends_nothing_more(forest_of, table):
    forest, ledger = forest_of(strategy="rules")
    forest.fit(*table(N))
    twin = pickle.loads(pickle.dumps(forest))
    stored = PrivateForestClassifier.from_json(forest.to_json())
    for back in (twin, stored):
        assert isinstance(back.accountant, DetachedAccountant)
        assert f"data set 'claims' of ledger {ledger.id}" in repr(back.accountant)
        assert back.privacy_report() == forest.privacy_report()
        with pytest.raises(ParameterError, match=ledger.id):
            back.fit(*table(N))
        verify_report(back.privacy_report(), forest.to_json(), ledger=ledger)
    twin.set_params(accountant=ledger.accountant("claims")).fit(*table(N))
    assert kinds(ledger) == ["reserve", "start", "settle"] * 2


def test_nothing_more_is_granted_from_a_reserve(forest_of, table):
    kind, parameters = MULTINOMIAL
    forest, ledger = forest_of(kind, delta="1e-7", **parameters)
    tiny = {"event": GeometricNoise(Fraction(1, 10**13), Fraction(1)), "role": "more"}
    own = clone(forest).set_params(accountant=None).fit(*table(N))
    own.accountant_.request(**tiny)
    forest.fit(*table(N))
    with pytest.raises(BudgetExceeded, match="a fit that is done"):
        forest.accountant_.request(**tiny)
    with pytest.raises(ScopeError, match="closed"):
        forest._scope.request(**tiny)
    assert forest.accountant_.frozen().spent.exact == forest.accountant_.loss
    assert kinds(ledger) == ["reserve", "start", "settle"]


def test_a_cross_validation_in_threads_is_charged_fold_by_fold(forest_of, table):
    forest, ledger = forest_of(strategy="rules")
    X, y = table(N)
    with joblib.parallel_backend("threading", n_jobs=3):
        cross_val_score(forest, np.array(X, dtype=object), np.array(y), cv=4)
    assert sorted(kinds(ledger)) == sorted(["reserve", "start", "settle"] * 4)
    assert spent(ledger) == 4 * fraction_of(to_units(ledger.plan("claims", forest).total))


def test_threads_never_pass_the_cap(forest_of, table):
    forest, ledger = forest_of(registered={"epsilon": None, "rho": "1.3"}, strategy="rules")
    each = ledger.plan("claims", forest).total
    X, y = table(N)

    def fit(_):
        try:
            return clone(forest).fit(X, y).privacy_report()
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(fit, range(2 * int(Fraction("1.3") / each))))
    done = [report for report in reports if report is not None]
    assert len(done) == int(Fraction("1.3") / each) and len(done) < len(reports)
    assert spent(ledger) <= Fraction("1.3") < spent(ledger) + each
    for report in done:
        verify_report(report, ledger=ledger)


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from dpforest import BudgetLedger, Domain, PrivateForestClassifier
from conftest import small_table

ledger = BudgetLedger.open({url!r}, actor=sys.argv[1])
domain = Domain(
    features={features!r}, classes=["ill", "well"], approximate_rows=120
)
forest = PrivateForestClassifier(
    epsilon=1, domain=domain, strategy="one_shot", accountant=ledger.accountant("claims")
)
sys.stdout.write(forest.fit(*small_table(0, 120)).privacy_report().to_json())
"""


def test_three_reports_of_three_scripts_show_the_sum(opened, tmp_path):
    ledger = opened(facts())
    here = str(Path(__file__).parent)
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).format(here=here, url=ledger.url, features=FEATURES))
    where = {"env": {**os.environ, "PYTHONPATH": str(ROOT)}, "check": True}
    texts = [
        subprocess.run([sys.executable, script, who], stdout=subprocess.PIPE, **where).stdout
        for who in ("ana", "bo", "cy")
    ]
    reports = [PrivacyReport.from_json(text.decode()) for text in texts]
    places = [report.basis.ledger for report in reports]
    each = parse_amount(places[0].charged)
    assert each > 0
    assert [parse_amount(place.before) for place in places] == [0, each, 2 * each]
    assert [parse_amount(place.in_all) for place in places] == [each, 2 * each, 3 * each]
    for report in reports:
        verify_report(report, ledger=ledger)
    assert [entry.actor for entry in ledger.log("claims")[1::3]] == ["ana", "bo", "cy"]


# -- streams and Dask ------------------------------------------------------------------------------


@each_of("one_shot", "refitted")
def test_a_stream_is_charged_as_records_in_memory(kind, parameters, forest_of, table, watched):
    forest, ledger = forest_of(kind, delta="1e-7", random_state=3, **parameters)
    X, y = table(N)
    in_memory = clone(forest).fit(X, y)
    halves = [(X[:50], y[:50]), (X[50:], y[50:])]
    stream = BatchStream(halves)
    log = watched(ledger)
    forest.fit(stream)
    assert [name for name in log if name == "locked"] == ["locked"] * 3
    assert log[:2] == ["locked", "locked"] and log[-1] == "locked"
    assert forest.fingerprint_ == in_memory.fingerprint_
    place = forest.privacy_report().basis.ledger
    assert parse_amount(place.in_all) == 2 * parse_amount(place.charged)
    verify_report(forest.privacy_report(), forest, ledger=ledger)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_forests_on_dask_are_charged_too(opened, table):
    pytest.importorskip("distributed")
    arrays = pytest.importorskip("dask.array")
    from distributed import Client

    from dpforest.dask import DaskPrivateForestClassifier

    domain = Domain(features={"age": (0, 100), "size": (-1.0, 1.0)}, classes=[0, 1],
                    approximate_rows=N)  # fmt: skip
    ledger = opened(domain)
    X = np.array([[row[0], row[2]] for row in table(N)[0]], dtype=float)
    y = (X[:, 0] > 60).astype(int)
    forest = DaskPrivateForestClassifier(
        epsilon=1, domain=domain, strategy="one_shot", accountant=ledger.accountant("claims")
    )
    plan = ledger.plan("claims", forest)
    with Client(processes=False, n_workers=1, dashboard_address=":0"):
        forest.fit(arrays.from_array(X, chunks=(40, 2)), arrays.from_array(y, chunks=40))
    assert kinds(ledger) == ["reserve", "start", "settle"]
    assert spent(ledger) == fraction_of(to_units(plan.total))
    verify_report(forest.privacy_report(), forest, ledger=ledger)


# -- approvals, blocks and campaigns ---------------------------------------------------------


def test_a_fit_needs_the_approval_of_its_very_plan(forest_of, table, poisoned):
    owners = {"owners": {"olga": "", "oscar": ""}, "approvals": 1}
    forest, ledger = forest_of(registered=owners, strategy="rules")
    with pytest.raises(ApprovalMissing, match="approval"):
        forest.fit(*poisoned())
    asked = ledger.request("claims", ledger.charge("claims", forest, purpose="churn"))
    accountant = ledger.accountant("claims", purpose="churn", request=asked.id)
    forest.set_params(accountant=accountant)
    with pytest.raises(
        ApprovalMissing,
        match="has 0 of 1 approval. Wait until 1 more owner approves of it",
    ):
        forest.fit(*poisoned())
    with BudgetLedger.open(ledger.url, actor="olga") as olga:
        olga.approve("claims", asked.id)
    for change in ({"epsilon": 0.9}, {"strategy": "one_shot"}, {"invalid": "raise"}):
        with pytest.raises(ApprovalMissing, match="another plan"):
            clone(forest).set_params(**change).fit(*poisoned())
    assert spent(ledger) == 0
    # Neither threads nor a bar changes what is released.
    forest.set_params(n_jobs=2).fit(*table(N))
    assert kinds(ledger) == ["request", "approve", "reserve", "start", "settle"]
    with pytest.raises(ParameterError, match="used up"):
        forest.fit(*poisoned())


def test_a_campaign_needs_the_approval_of_this_very_campaign(forest_of, table):
    owners = {"owners": {"olga": "", "oscar": ""}, "approvals": 1}
    forest, ledger = forest_of(registered=owners, strategy="rules")
    both = [forest, clone(forest).set_params(epsilon=0.5)]
    asked = ledger.request("claims", ledger.charge("claims", both, purpose="search"))
    with BudgetLedger.open(ledger.url, actor="oscar") as oscar:
        oscar.approve("claims", asked.id)
    for others in (both[:1] * 2, [*both, forest], both[::-1]):
        with pytest.raises(ApprovalMissing, match="another plan"):
            ledger.campaign("claims", others, purpose="search", request=asked.id)
    campaign = ledger.campaign("claims", both, purpose="search", request=asked.id)
    both[1].set_params(accountant=campaign).fit(*table(N))
    assert kinds(ledger) == ["request", "approve", "reserve", "start", "settle"]


def test_a_fit_is_charged_to_the_blocks_that_it_names(forest_of, table, poisoned):
    forest, ledger = forest_of(registered={"max_blocks_per_unit": 1}, strategy="rules")
    for name in ("2024", "2025"):
        ledger.add_block("claims", name, cap=1)
    with pytest.raises(ParameterError, match="blocks"):
        forest.fit(*poisoned())
    for name in ("2024", "2025"):
        accountant = ledger.accountant("claims", blocks=[name])
        report = forest.set_params(accountant=accountant).fit(*table(N)).privacy_report()
        # A unit is in one of them.
        place = report.basis.ledger
        assert place.blocks == (name,) and place.in_all == place.charged
        verify_report(report, forest, ledger=ledger)


@pytest.fixture
def announced(forest_of):
    """Three fits of two plans as a campaign."""
    forest, ledger = forest_of(strategy="rules")
    other = clone(forest).set_params(epsilon=0.5)
    campaign = ledger.campaign("claims", [forest, other, forest], purpose="search")
    return campaign, forest, other, ledger


def test_a_campaign_is_one_reserve_and_each_fit_claims_its_own_part(announced, table):
    campaign, forest, other, ledger = announced
    whole = spent(ledger)
    assert whole == sum(map(to_units, ledger.plan("claims", [forest, other, forest]).prices)) * (
        UNITS
    )
    reports = []
    for one in (other, forest, forest):
        one = clone(one).set_params(accountant=campaign).fit(*table(N))
        reports.append(one.privacy_report())
        verify_report(reports[-1], one, ledger=ledger)
    places = [report.basis.ledger for report in reports]
    assert [place.part for place in places] == [1, 0, 2] and {p.parts for p in places} == {3}
    assert {place.reserve for place in places} == {places[0].reserve}
    assert {parse_amount(place.in_all) for place in places} == {whole} == {spent(ledger)}
    assert kinds(ledger) == ["reserve", *["start", "settle"] * 3] and campaign.left == 0
    with pytest.raises(ParameterError, match="campaign of 3 fits"):
        clone(forest).set_params(accountant=campaign).fit(*table(N))


def test_a_plan_that_was_not_announced_is_refused(announced, poisoned):
    campaign, forest, _, ledger = announced
    changed = clone(forest).set_params(accountant=campaign, epsilon=0.9)
    with pytest.raises(
        ParameterError, match="of which 3 are left and none is of this plan.*`accounting`"
    ):
        changed.fit(*poisoned())
    assert kinds(ledger) == ["reserve"] and campaign.left == 3


def test_a_part_that_fails_before_its_start_is_left_for_another_fit(announced, table, monkeypatch):
    campaign, _, other, ledger = announced
    other = other.set_params(accountant=campaign)
    with monkeypatch.context() as failing, pytest.raises(ZeroDivisionError):
        failing.setattr(FitCharge, "open_scope", lambda *_: 1 / 0)
        other.fit(*table(N))
    assert kinds(ledger) == ["reserve"] and campaign.left == 3
    other.fit(*table(N))
    assert kinds(ledger) == ["reserve", "start", "settle"] and campaign.left == 2
    with pytest.raises(ParameterError, match="begun|began"):
        campaign.void("changed our minds")


def test_a_campaign_that_never_began_is_voided_whole(announced, poisoned):
    campaign, forest, _, ledger = announced
    campaign.void("changed our minds")
    assert kinds(ledger) == ["reserve", "void"] and spent(ledger) == 0
    with pytest.raises(ParameterError, match="campaign"):
        forest.set_params(accountant=campaign).fit(*poisoned())


def test_a_campaign_may_stand_alone_by_its_certificate(opened, table):
    domain = facts()
    ledger = opened(domain)
    forest = PrivateForestClassifier(
        epsilon=1, delta="1e-7", domain=domain, strategy="refitted", random_state=1
    )
    certified = ledger.plan("claims", [forest] * 5).together
    for name, cap in (("narrow", certified), ("less", certified * (1 - UNITS))):
        ledger.register(name, domain=domain, epsilon=cap, delta="1e-6")
    plan = ledger.plan("narrow", [forest] * 5)
    assert 0 < plan.fits < 5 and plan.alone and plan.granted and plan.together == certified
    assert "stand by that, and use the data set up" in str(plan)
    assert not ledger.plan("less", [forest] * 5).granted
    with pytest.raises(BudgetExceeded):
        ledger.campaign("less", [forest] * 5)
    campaign = ledger.campaign("narrow", [forest] * 5)
    state = ledger.chain("narrow").state
    assert state.alone == campaign.reserve.snapshot.id and state.remaining == 0
    report = clone(forest).set_params(accountant=campaign).fit(*table(N)).privacy_report()
    assert report.basis.ledger.alone and report.basis.ledger.remaining == 0
    verify_report(report, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        forest.set_params(accountant=ledger.accountant("narrow")).fit(*table(N))


def test_a_campaign_of_plans_that_wait_is_refused(forest_of):
    forest, ledger = forest_of(rows=None)
    with pytest.raises(ParameterError, match="wait for a released value"):
        ledger.campaign("claims", [forest] * 2)
    assert kinds(ledger) == []


def test_only_forests_are_priced(forest_of):
    _, ledger = forest_of()
    for given in ([], [object()], "forest"):
        with pytest.raises(ParameterError, match="forests"):
            ledger.plan("claims", given)


# -- fits whose own guarantee does not hold -------------------------------------------------------


def settled(ledger: BudgetLedger) -> list[str]:
    """What each settlement says of the guarantee of its fit."""
    return [e.body.guarantee for e in ledger.log("claims") if str(e.kind) == "settle"]


def test_the_ledger_notes_a_fit_whose_own_guarantee_does_not_hold(forest_of, table):
    forest, ledger = forest_of()
    forest.fit(*table())
    seeded = clone(forest).set_params(random_state=3)
    seeded.fit(*table())
    assert seeded.guarantee_.status == "demonstration"
    assert settled(ledger) == ["", "demonstration"]
    assert "guarantee" not in ledger.log("claims")[3].text
    ledger.chain("claims")


def test_a_fit_that_leaks_is_noted_as_void(forest_of, table):
    forest, ledger = forest_of()
    forest.set_params(domain=draft_of(forest.domain))
    with pytest.warns(PrivacyLeakWarning):
        forest.fit(*table())
    assert forest.guarantee_.status == "void" and settled(ledger) == ["void"]


def draft_of(domain: Domain) -> Domain:
    """The same facts, of which one is said to have been read off the records."""
    entries = list(domain.features)
    entries[0] = entries[0].model_copy(update={"status": "drafted"})
    return domain.model_copy(update={"features": tuple(entries)})


def test_a_drafted_domain_is_not_registered(tmp_path, table):
    X, y = table()
    drafted = Domain.draft(X, y, task="classification")
    with BudgetLedger.open(f"sqlite:///{tmp_path}/new", actor="ana", create=True) as ledger:
        with pytest.raises(ParameterError, match="drafted from records"):
            ledger.register("claims", domain=drafted, epsilon=1, delta="1e-6")
        assert ledger.data_sets == ()
