"""Copies of an estimator never copy budget: clone, deepcopy, pickle, cross-validation, threads."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

from dpforest import BudgetAccountant, BudgetExceeded, RepeatedFitWarning
from dpforest.accounting.diffprivlib_adapter import DiffprivlibCeiling
from dpforest.accounting.fits import DetachedAccountant
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.estimators.charge import FitCharge
from dpforest.estimators.door import Door
from dpforest.exceptions import ModelFormatError, ParameterError, ParameterTypeError, ScopeError


@pytest.fixture
def ceiling():
    """A diffprivlib accountant of epsilon 4, which is what two fits at 1 cost there."""
    diffprivlib = pytest.importorskip("diffprivlib", exc_type=ImportError)
    return diffprivlib.BudgetAccountant(epsilon=4, delta=0)


# -- clone and deepcopy ----------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [clone, copy.copy, copy.deepcopy])
def test_copies_share_the_accountant(duplicate, make_forest, table):
    accountant = BudgetAccountant(5)
    forest = make_forest(accountant=accountant, n_estimators=3)
    twin = duplicate(forest)
    assert twin is not forest and twin.accountant is accountant
    assert twin.get_params() == forest.get_params()
    forest.fit(*table())
    assert not hasattr(twin, "forest_")
    duplicate(forest).fit(*table())
    twin.fit(*table())
    assert accountant.spent.exact.epsilon == 3


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_of_a_fitted_forest_predict_and_report_alike(duplicate, make_forest, table):
    X, y = table()
    accountant = BudgetAccountant(5)
    forest = make_forest(accountant=accountant).fit(X, y)
    twin = duplicate(forest)
    assert twin.accountant_ is accountant and twin.accountant is accountant
    assert np.array_equal(twin.predict_proba(X), forest.predict_proba(X))
    assert twin.privacy_report() == forest.privacy_report()
    assert accountant.spent.exact.epsilon == 1
    twin.fit(X, y)
    assert accountant.spent.exact.epsilon == 2


def test_a_deep_copy_owns_its_arrays(make_forest, table):
    forest = make_forest().fit(*table())
    twin = copy.deepcopy(forest)
    assert not np.shares_memory(twin.forest_.counts, forest.forest_.counts)
    assert clone(forest).get_params() == forest.get_params()


def test_copies_inside_other_estimators_share_it_too(make_forest):
    accountant = BudgetAccountant(5)
    pipeline = Pipeline([("forest", make_forest(accountant=accountant))])
    for twin in (clone(pipeline), copy.deepcopy(pipeline)):
        assert twin.named_steps["forest"].accountant is accountant


def test_copies_share_the_ceiling_of_another_library(ceiling, make_forest):
    for held in (ceiling, DiffprivlibCeiling(ceiling)):
        forest = make_forest(accountant=held)
        for twin in (clone(forest), copy.copy(forest), copy.deepcopy(forest)):
            assert twin.accountant is held


# -- tools that fit many times ---------------------------------------------------------------


def test_cross_validation_charges_every_fit(make_forest, table):
    accountant = BudgetAccountant("1/2")
    forest = make_forest(epsilon="0.1", accountant=accountant)
    scores = cross_val_score(forest, *table(), cv=5, error_score="raise")
    assert scores.shape == (5,)
    assert accountant.spent.exact.epsilon == Fraction(1, 2)
    assert accountant.remaining.exact.epsilon == 0
    assert len(accountant.composition().children) == 5
    with pytest.raises(BudgetExceeded):
        forest.fit(*table())


def test_cross_validation_stops_when_the_budget_is_used_up(make_forest, table):
    accountant = BudgetAccountant("0.35")
    forest = make_forest(epsilon=0.1, accountant=accountant)
    with pytest.raises(BudgetExceeded) as refusal:
        cross_val_score(forest, *table(), cv=5, error_score="raise")
    assert refusal.value.remaining.exact.epsilon == Fraction(5, 100)
    assert accountant.spent.exact.epsilon == Fraction(3, 10)


def test_grid_search_charges_every_fit(make_forest, table):
    accountant = BudgetAccountant(1)
    forest = make_forest(accountant=accountant)
    grid = {"epsilon": ["1/100", 0.03], "max_depth": [1, 2]}
    search = GridSearchCV(forest, grid, cv=3, error_score="raise").fit(*table())
    # 3 folds of 2 depths at each epsilon, and one more fit of the best.
    best = Fraction(str(search.best_params_["epsilon"]))
    assert accountant.spent.exact.epsilon == 6 * Fraction(4, 100) + best
    assert len(accountant.composition().children) == 13
    assert search.best_estimator_.accountant_ is accountant


def test_without_an_accountant_fits_are_listed_and_warned_of(make_forest, table):
    forest = make_forest(epsilon=0.25)
    with pytest.warns(RepeatedFitWarning, match="fitted 2 times") as caught:
        cross_val_score(forest, *table(), cv=3, error_score="raise")
    (text,) = [str(warning.message) for warning in caught]  # once for the search
    assert "together spent epsilon = 0.5 so far" in text and "accountant=" in text
    assert "Said once for this search" in text
    with pytest.warns(RepeatedFitWarning, match="fitted 4 times"):
        clone(forest).fit(*table())
    with pytest.warns(RepeatedFitWarning, match="fitted 5 times"):
        copy.deepcopy(forest).fit(*table())
    with pytest.warns(RepeatedFitWarning, match="fitted 6 times.* = 1.5") as caught:
        forest.fit(*table())
    assert caught[0].filename == __file__  # the warning points at the caller
    report = forest.privacy_report()
    assert "6 fits" in report.other_fits and "epsilon = 1.5" in report.other_fits
    assert any("6 fits" in n.text and n.severity == "caution" for n in report.notices)
    assert forest.spent_.epsilon == 0.25  # of this fit alone


def test_a_forest_on_its_own_is_not_warned_of(make_forest, table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            forest = make_forest().fit(*table())
    assert "1 fit, this one" in forest.privacy_report().other_fits


def test_a_shared_accountant_is_not_warned_of_but_its_fits_are_listed(make_forest, table):
    forest = make_forest(accountant=BudgetAccountant(5, name="survey"))
    report = forest.fit(*table()).privacy_report()
    assert "1 fit, this one, charged to accountant 'survey'" in report.other_fits
    report = forest.fit(*table()).privacy_report()  # warnings are errors
    assert "2 fits" in report.other_fits and "2 charged to accountant 'survey'" in report.other_fits
    assert any("2 fits" in n.text and n.severity == "note" for n in report.notices)
    # One that is not charged there is told of with those that were.
    with pytest.warns(RepeatedFitWarning, match="fitted 3 times.* = 3"):
        report = forest.set_params(accountant=None).fit(*table()).privacy_report()
    assert "2 charged to accountant 'survey', 1 charged to a budget of its own" in report.other_fits
    assert any("3 fits" in n.text and n.severity == "caution" for n in report.notices)


def test_threads_that_clone_at_once_agree_on_the_lineage(make_forest, monkeypatch):
    import uuid

    # Every thread draws a name before any of them can set it.
    drawn, real = threading.Barrier(4), uuid.uuid4

    def draw_together():
        name = real()
        drawn.wait(timeout=60)
        return name

    monkeypatch.setattr(uuid, "uuid4", draw_together)
    forest = make_forest()
    with ThreadPoolExecutor(4) as pool:
        names = list(pool.map(lambda _: clone(forest)._lineage, range(4)))
    assert len(set(names)) == 1


# -- pickles ---------------------------------------------------------------------------------


def test_an_unfitted_estimator_with_a_live_accountant_is_not_pickled(make_forest, table):
    forest = make_forest(accountant=BudgetAccountant(5))
    with pytest.raises(ParameterTypeError, match="the copy could spend it twice"):
        pickle.dumps(forest)
    with pytest.raises(ParameterTypeError, match="the copy could spend it twice"):
        pickle.dumps(Pipeline([("forest", forest)]))
    with pytest.raises(ParameterTypeError, match="the copy could spend it twice"):
        pickle.dumps(clone(forest.fit(*table())))
    pickle.loads(pickle.dumps(make_forest())).fit(*table())


@pytest.mark.parametrize("shared", [True, False])
def test_a_fitted_forest_is_pickled_with_a_frozen_ledger(shared, make_forest, table):
    X, y = table()
    accountant = BudgetAccountant(5) if shared else None
    forest = make_forest(accountant=accountant).fit(X, y)
    text = pickle.dumps(forest)
    assert b"BudgetAccountant" not in text
    thawed = pickle.loads(text)
    assert isinstance(thawed.accountant_, FrozenLedger)
    assert (thawed.accountant is None) == (not shared)
    assert thawed.accountant_ == forest.accountant_.frozen()
    assert thawed.accountant_.spent.exact.epsilon == 1
    assert np.array_equal(thawed.predict_proba(X), forest.predict_proba(X))
    assert np.array_equal(thawed.predict(X), forest.predict(X))
    assert thawed.privacy_report() == forest.privacy_report()
    assert thawed.spent_ == forest.spent_ and thawed.guarantee_ == forest.guarantee_
    assert forest.accountant is accountant  # the original is as it was
    again = pickle.loads(pickle.dumps(thawed))
    assert again.accountant_ == thawed.accountant_


def pickled(forest):
    return pickle.loads(pickle.dumps(forest))


def stored(forest):
    return type(forest).from_json(forest.to_json())


PARTS = {
    "RunFacts.ceiling": lambda state: state["_facts"],
    "RunFacts.around": lambda state: state["_facts"],
    "NumericFeature.drafted": lambda state: state["domain_"].features[0],
    "ScopeRecord.failed": lambda state: state["_scope"].children[0],
    "LossRecord.rho": lambda state: state["accountant_"].scopes.children[0].charged,
}


@pytest.mark.parametrize("lacking", PARTS)
def test_a_pickle_of_another_version_is_refused_in_our_own_words(lacking, make_forest, table):
    """Pickle makes records as they were: what came to them since is missing, not None."""
    forest = make_forest().fit(*table())
    state = pickle.loads(pickle.dumps(forest.__getstate__()))
    vars(PARTS[lacking](state)).pop(lacking.split(".")[1])
    with pytest.raises(ModelFormatError) as refusal:
        forest.__setstate__(state)
    assert f"another version of dpforest: it lacks {lacking}. " in str(refusal.value)
    assert "store it with to_json" in str(refusal.value)


@pytest.mark.parametrize("read_back", [pickled, stored])
def test_a_forest_that_is_read_back_does_not_forget_its_ceiling(
    read_back, make_forest, table, poisoned
):
    accountant = BudgetAccountant(5, name="survey")
    original = make_forest(accountant=accountant).fit(*table())
    forest = read_back(original)
    for copied in (forest, clone(forest), copy.deepcopy(forest), pickled(forest), stored(forest)):
        assert isinstance(copied.accountant, DetachedAccountant)
        assert "survey" in repr(copied.accountant) and "set_params" in repr(copied.accountant)
        with pytest.raises(ParameterError, match="outside of that ceiling") as refusal:
            copied.fit(*poisoned())
        assert refusal.value.parameter == "accountant"
    assert forest.predict(table()[0]).shape == (60,)  # the old fit is as it was
    # Chosen on purpose: the old ceiling, another one, or none.
    forest.set_params(accountant=accountant).fit(*table())
    assert accountant.spent.exact.epsilon == 2
    with pytest.warns(RepeatedFitWarning, match="fitted 3 times"):
        forest.set_params(accountant=None).fit(*table())
    assert forest.accountant_.spent.exact.epsilon == 1
    assert accountant.spent.exact.epsilon == 2


@pytest.mark.parametrize("read_back", [pickled, stored])
def test_earlier_fits_are_known_where_a_forest_is_read_back(read_back, make_forest, table):
    forest = make_forest().fit(*table())
    with pytest.warns(RepeatedFitWarning, match="fitted 2 times"):
        report = read_back(forest).fit(*table()).privacy_report()
    assert "2 fits" in report.other_fits
    with pytest.warns(RepeatedFitWarning, match="fitted 3 times"):
        forest.fit(*table())


FIT_ELSEWHERE = """
import pickle, sys
forest = pickle.load(sys.stdin.buffer)
forest.fit([[1, "red", 0.0], [2, "blue", 1.0]], ["ill", "well"])
report = forest.privacy_report().other_fits
sys.stdout.buffer.write(pickle.dumps((report, forest, forest.to_json())))
"""


def test_fits_in_several_processes_are_joined(make_forest, table):
    forest = make_forest().fit(*table())
    start = [sys.executable, "-W", "ignore", "-c", FIT_ELSEWHERE]
    given = pickle.dumps(forest)
    answers = [
        subprocess.run(start, input=given, capture_output=True, check=True).stdout for _ in range(2)
    ]
    for report, thawed, text in map(pickle.loads, answers):
        assert "2 fits" in report
        assert type(thawed).from_json(text).predict([[1, "red", 0.0]]).shape == (1,)
    # One fit here, one in each of two processes, each known from a pickle and from a JSON text.
    with pytest.warns(RepeatedFitWarning, match="fitted 4 times"):
        assert "4 fits" in forest.fit(*table()).privacy_report().other_fits


# -- a ceiling of another library ------------------------------------------------------------


def test_diffprivlib_is_charged_once_at_the_price_of_replacing(ceiling, make_forest, table):
    forest = make_forest(epsilon="0.7", accountant=ceiling).fit(*table())
    assert ceiling.spent_budget == [(1.4, 0)]
    assert forest.spent_.exact.epsilon == Fraction(7, 10)
    assert forest.accountant_.total.epsilon == 0.7
    (entry,) = forest.privacy_report().external
    assert entry["library"] == "diffprivlib" and entry["epsilon"] == 1.4
    assert "diffprivlib" in forest.privacy_report().to_markdown()
    assert "charged to a diffprivlib accountant" in forest.privacy_report().other_fits


def test_diffprivlib_refuses_before_any_value_is_read(ceiling, make_forest, poisoned, table):
    forest = make_forest(accountant=ceiling)
    forest.fit(*table())
    cross_val_score(forest, *table(), cv=[([0, 1], [2])], error_score="raise")
    assert ceiling.spent_budget == [(2.0, 0), (2.0, 0)]
    with pytest.raises(BudgetExceeded, match="diffprivlib") as refusal:
        clone(forest).fit(*poisoned())
    assert refusal.value.requested.epsilon == 2
    assert len(ceiling.spent_budget) == 2


def test_bad_parameters_do_not_charge_diffprivlib(ceiling, make_forest, poisoned):
    with pytest.raises(ValueError, match="max_depth=0"):
        make_forest(accountant=ceiling, max_depth=0).fit(*poisoned())
    with pytest.raises(ValueError, match="X has 2 features"):
        make_forest(accountant=ceiling).fit(*poisoned(4, 2))
    assert ceiling.spent_budget == []


def test_what_charges_a_fit_charges_nothing_while_it_is_made(ceiling, make_forest, table):
    door = Door(make_forest(accountant=ceiling), *table(), done=False)
    charge = FitCharge(door.given, door, door.plan(), None)
    assert (ceiling.spent_budget, charge.external) == ([], ())
    charge.open_accountant()
    assert ceiling.spent_budget == [(2.0, 0)] and len(charge.external) == 1


def test_a_fitted_forest_is_pickled_without_the_other_library(ceiling, make_forest, table):
    forest = make_forest(accountant=ceiling).fit(*table())
    assert b"diffprivlib.accountant" not in pickle.dumps(forest)
    thawed = pickle.loads(pickle.dumps(forest))
    with pytest.raises(ParameterError, match="a diffprivlib accountant"):
        thawed.fit(*table())
    with pytest.raises(ParameterTypeError, match="the copy could spend it twice"):
        pickle.dumps(make_forest(accountant=ceiling))


# -- threads and processes -------------------------------------------------------------------


def test_threads_cannot_spend_more_than_there_is(make_forest, table):
    n_threads, total = 8, Fraction(1)
    accountant = BudgetAccountant(total)
    start = threading.Barrier(n_threads + 1)
    done = threading.Event()
    seen: list[Fraction] = []

    def fit(number: int) -> bool:
        forest = make_forest(epsilon=0.3, accountant=accountant, n_jobs=2)
        start.wait()
        try:
            forest.fit(*table(seed=number))
        except BudgetExceeded:
            return False
        return True

    def watch() -> None:
        start.wait()
        is_last = False
        while not is_last:  # once at least, however late this thread gets its turn
            is_last = done.is_set()
            seen.append(accountant.loss.epsilon)

    with ThreadPoolExecutor(n_threads + 1) as pool:
        watcher = pool.submit(watch)
        results = [pool.submit(fit, number) for number in range(n_threads)]
        granted = sum(result.result() for result in results)
        done.set()
        watcher.result()
    assert granted == 3
    assert accountant.spent.exact.epsilon == Fraction(9, 10)
    assert max(seen) <= total
    assert len(accountant.ledger) == 3 * 2 * (2 * 2 + 1)


def test_another_process_may_not_spend(make_forest, table, monkeypatch):
    accountant = BudgetAccountant(5)
    monkeypatch.setattr(accountant._books, "_process", -1)
    with pytest.raises(ScopeError, match="another process"):
        make_forest(accountant=accountant).fit(*table())
