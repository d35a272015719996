"""The process-wide ledger of fits: repeated ones are counted and warned about."""

from __future__ import annotations

import os
import pickle
import threading
import uuid
import warnings
from fractions import Fraction as F

import pytest

from dpforest.accounting import PrivacyLoss
from dpforest.accounting.fits import (
    OWN_BUDGET,
    earlier_fits,
    recall_fits,
    register_fit,
)
from dpforest.exceptions import RepeatedFitWarning


@pytest.fixture
def lineage():
    return uuid.uuid4().hex


def test_the_first_fit_is_listed_in_silence(lineage, listed_fits):
    listing = register_fit(lineage, "Forest", PrivacyLoss.pure(F(1, 10)))
    assert (listing.n_fits, listing.epsilon, listing.epsilon_float) == (1, "1/10", 0.1)
    assert listing in listed_fits()


def test_later_fits_add_up_and_warn(lineage):
    register_fit(lineage, "Forest", PrivacyLoss.pure(F(1, 10)))
    with pytest.warns(RepeatedFitWarning, match="fitted 2 times .* epsilon = 0.2") as caught:
        listing = register_fit(lineage, "Forest", PrivacyLoss.pure(F(1, 10)), stacklevel=2)
    assert caught[0].filename == __file__
    assert "accountant=BudgetAccountant(epsilon=...)" in str(caught[0].message)
    assert listing.epsilon == "1/5"


def test_without_a_pure_epsilon_rho_is_told(lineage):
    register_fit(lineage, "Forest", PrivacyLoss.concentrated(F(1, 8)))
    with pytest.warns(RepeatedFitWarning, match="together spent rho = 0.25 so far"):
        listing = register_fit(lineage, "Forest", PrivacyLoss.concentrated(F(1, 8)))
    assert (listing.epsilon, listing.rho) == ("inf", "1/4")


def test_lineages_are_apart(lineage):
    register_fit(lineage, "Forest", PrivacyLoss.pure(F(1)))
    assert register_fit(lineage + "x", "Forest", PrivacyLoss.pure(F(1))).n_fits == 1


def test_a_fit_under_a_shared_accountant_is_listed_in_silence(lineage):
    for _ in range(2):
        listing = register_fit(lineage, "Forest", PrivacyLoss.pure(F(1)), charged_to="ceiling")
    with pytest.warns(RepeatedFitWarning, match="fitted 3 times .* epsilon = 3"):
        listing = register_fit(lineage, "Forest", PrivacyLoss.pure(F(1)))
    assert listing.charged == {"ceiling": 2, OWN_BUDGET: 1} and listing.n_fits == 3


def test_histories_that_met_before_are_joined_without_counting_twice(lineage, monkeypatch):
    for _ in range(2):
        register_fit(lineage, "Forest", PrivacyLoss.pure(F(1, 3)), charged_to="ceiling")
    carried = earlier_fits(lineage)
    elsewhere = lineage + " in another process"
    recall_fits(elsewhere, "Forest", carried)
    # A child after a fork counts under another name.
    monkeypatch.setattr(os, "getpid", lambda: -1)
    register_fit(elsewhere, "Forest", PrivacyLoss.pure(F(1, 3)), charged_to="ceiling")
    brought_back = earlier_fits(elsewhere)
    monkeypatch.undo()
    register_fit(lineage, "Forest", PrivacyLoss.concentrated(F(1, 9)), charged_to="other")
    for _ in range(2):
        recall_fits(lineage, "Forest", brought_back)
        recall_fits(lineage, "Forest", carried)
    listing = register_fit(lineage, "Forest", PrivacyLoss(), charged_to="ceiling")
    assert listing.n_fits == 5 and listing.charged == {"ceiling": 4, "other": 1}
    assert (listing.epsilon, listing.rho) == ("inf", str(3 * F(1, 18) + F(1, 9)))


def test_of_one_history_that_is_met_again_the_longer_one_counts(lineage):
    carried = []
    for _ in range(3):
        register_fit(lineage, "Forest", PrivacyLoss.pure(F(1, 3)), charged_to="ceiling")
        carried.append(earlier_fits(lineage))
    elsewhere = lineage + " elsewhere"
    for earlier, n_fits in ((carried[0], 1), (carried[2], 3), (carried[1], 3)):
        recall_fits(elsewhere, "Forest", earlier)
        (found,) = earlier_fits(elsewhere)
        assert (found.n_fits, found.loss) == (n_fits, PrivacyLoss.pure(F(1, 3)) * n_fits)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_of_the_same_number_counts_under_its_own_name(lineage, monkeypatch):
    # As in a PID namespace of its own, or where an ended ancestor's number is given out again.
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here)
    register_fit(lineage, "Forest", PrivacyLoss.pure(F(1)), charged_to="ceiling")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            register_fit(lineage, "Forest", PrivacyLoss.pure(F(1)), charged_to="ceiling")
            os.write(writing, pickle.dumps(earlier_fits(lineage)))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        os.close(writing)
        brought_back = pickle.load(pipe)
    register_fit(lineage, "Forest", PrivacyLoss.pure(F(1)), charged_to="ceiling")
    recall_fits(lineage, "Forest", brought_back)
    listing = register_fit(lineage, "Forest", PrivacyLoss(), charged_to="ceiling")
    # One before the fork, one in the child, two after it here.
    assert listing.n_fits == 4


def test_nothing_is_known_of_who_was_never_fitted(lineage, listed_fits):
    n_known = len(listed_fits())
    assert earlier_fits(lineage) == ()
    recall_fits(lineage, "Forest", ())
    assert len(listed_fits()) == n_known


def test_threads_lose_no_fit(lineage):
    def fit():
        for _ in range(50):
            register_fit(lineage, "Forest", PrivacyLoss.pure(F(1, 10)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedFitWarning)
        threads = [threading.Thread(target=fit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        listing = register_fit(lineage, "Forest", PrivacyLoss())
    assert (listing.n_fits, listing.epsilon) == (401, "40")
