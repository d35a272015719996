"""Runs that end with an error: what counts as an output, what ends an audit, and in which words."""

import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from dpforest import Domain, MultinomialForestClassifier, ParameterError
from dpforest.audit import SMALL_DOMAIN, Batched, DatasetPair, Function, audit
from dpforest.audit.outcomes import are_errors, of_one_width
from dpforest.exceptions import GrantError, InvalidRecordError

PAIR = DatasetPair([0, 0], [0, 0, 1], name="one more")
MADE_UP = DatasetPair([0, 0], [0, 0, 1], name="one more", made_up=True)


def failing(keep=0.0, seed=0, kind=ValueError, width=2):
    """Noise alone, but that a run fails where there is a 1, but for a share of them."""
    rng = np.random.default_rng(seed)

    def run(records):
        if 1 in list(records) and rng.random() >= keep:
            raise kind("quotes the record 4711")
        return rng.integers(0, 3, size=width)

    return run


class OfTwoClasses(ClassifierMixin, BaseEstimator):
    """Says the same of every table, but refuses those of a single class, as many estimators do."""

    def __init__(self, epsilon=1):
        self.epsilon = epsilon

    def fit(self, X, y):
        if len(set(np.asarray(y).tolist())) < 2:
            raise ValueError("needs records of two classes")
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("width", [1, 2, 70])
def test_an_error_on_one_table_alone_is_what_an_attacker_sees(width):
    one_less = DatasetPair(PAIR.second, PAIR.first)
    found = audit(failing(width=width), one_less, claimed_epsilon=1, runs=400)
    assert found.verdict == "violates" and found.lower_bound > 3
    assert found.event.description.endswith("such as an error")
    assert {found.event.hits_first, found.event.hits_second} == {0, 200}
    assert "200 of 400 testing runs ended with an error, which counts as an output" in found.reason


def test_an_estimator_that_refuses_one_table_alone_is_found():
    X, y = np.zeros((3, 2)), np.array([0, 0, 1])
    pair = DatasetPair((X[:2], y[:2]), (X, y), name="a class seen once", made_up=True)
    assert audit(OfTwoClasses(), pair, runs=100).verdict == "violates"
    # Among others, pairs on which every run fails tell nothing.
    lone = DatasetPair((X[:1], y[:1]), (X[:2], y[:2]), name="a class alone", made_up=True)
    found = audit(OfTwoClasses(), [lone, pair], runs=100)
    assert found.pair == "a class seen once"
    assert "Left out, since every run ended with an error: 'a class alone'." in found.reason
    with pytest.raises(ParameterError, match=r"OfTwoClasses.*every run on 'a class alone'"):
        audit(OfTwoClasses(), [lone, lone], runs=100)


def test_errors_that_are_as_likely_on_both_tables_accuse_nobody():
    rng = np.random.default_rng(1)

    def run(records):
        if rng.random() < 0.3:
            raise ValueError("by chance")
        return rng.integers(0, 3)

    found = audit(run, PAIR, claimed_epsilon=0.5, runs=4000, confidence=1 - 1e-9)
    assert found.verdict == "consistent" and "ended with an error" in found.reason


def test_a_bound_of_errors_stays_below_the_truth():
    # Errors in 3 of 4 runs on one table, in 1 of 4 on the other: epsilon is ln 3.
    rng = np.random.default_rng(2)

    def run(records):
        if rng.random() < (0.75 if 1 in list(records) else 0.25):
            raise ValueError("said yes")
        return 0.0

    found = audit(run, PAIR, claimed_epsilon=0.5, runs=20_000, confidence=1 - 1e-9)
    assert 0.8 < found.lower_bound <= np.log(3)


def test_types_and_words_of_errors_are_not_told_apart():
    def run(records):
        raise (KeyError if 1 in list(records) else ValueError)(f"{len(records)} records")

    with pytest.raises(ParameterError, match=r"every run on 'one more' ends with an error \("):
        audit(run, PAIR, claimed_epsilon=1, runs=20)


@pytest.mark.parametrize("pair", [PAIR, MADE_UP])
def test_a_subject_that_gives_no_output_says_so_at_once_and_quotes_no_record(pair):
    calls = []

    def run(records):
        calls.append(records)
        raise TypeError("quotes the record 4711")

    with pytest.raises(ParameterError) as told:
        audit(run, pair, claimed_epsilon=1, runs=20_000)
    assert len(calls) < 50
    assert "subject='run': every run on 'one more' ends with an error (TypeError)" in str(
        told.value
    )
    assert "Run it once on both datasets" in str(told.value) and "4711" not in str(told.value)
    assert isinstance(told.value.__cause__, TypeError) == pair.made_up
    assert pair.made_up or told.value.__context__ is None


@pytest.mark.parametrize("until", [300, 500, 700, 900, 999])
def test_a_budget_that_runs_out_between_runs_accuses_nobody(until):
    # Counts with noise, of a true claim; whoever comes late gets none, on whichever table.
    rng, left = np.random.default_rng(4), [until]

    def run(records):
        left[0] -= 1
        if left[0] < 0:
            raise ValueError("the budget that all runs share is spent")
        return len(records) + rng.laplace()

    with pytest.raises(ParameterError, match=r"'one more' .*error \(ValueError\)"):
        audit(run, PAIR, claimed_epsilon=1, runs=500)


@pytest.mark.parametrize(
    "in_trouble",
    [lambda call: 10 <= call % 1000 < 490, lambda call: call % 2 == 1, lambda call: call // 20 % 2],
    ids=["for a while", "at every second run", "at every second turn"],
)  # fmt: skip
@pytest.mark.parametrize("wrapped", [False, True])
def test_trouble_that_comes_and_goes_accuses_nobody(wrapped, in_trouble):
    """A program that starts no thread for a while, say: if it met one table's runs alone."""
    rng, calls = np.random.default_rng(5), []

    def run(records):
        calls.append(records)
        if in_trouble(len(calls) - 1):
            raise RuntimeError("can't start new thread")
        return rng.integers(0, 3)

    subject, pair = (OfRuns(run), TABLES) if wrapped else (run, PAIR)
    found = audit(subject, pair, claimed_epsilon=0.5, runs=1000, confidence=1 - 1e-6)
    assert found.verdict == "consistent" and "ended with an error" in found.reason


def test_each_table_has_its_turn_in_every_round():
    seen = []
    audit(lambda records: seen.append(len(records)) or 0.0, PAIR, claimed_epsilon=1, runs=4000)
    turns = [tuple(seen[start : start + 20]) for start in range(0, 8000, 20)]
    assert len(seen) == 8000 and set(turns) == {(2,) * 20, (3,) * 20}
    rounds = list(zip(turns[::2], turns[1::2], strict=True))
    assert all(one != other for one, other in rounds)
    assert 70 < sum(one[0] == 2 for one, _ in rounds) < 130
    del seen[:]
    Function(lambda records: seen.append(len(records)) or 0.0).sample_both(27, PAIR)
    assert sorted(seen[:40]) == [2] * 20 + [3] * 20 and sorted(seen[40:]) == [2] * 7 + [3] * 7


@pytest.mark.parametrize("kept", [1, 3])
def test_what_a_program_keeps_from_one_run_to_the_next_still_tells(kept):
    """One whose outputs come late, say, as of a buffer: runs that are not independent."""
    late = [0] * kept

    def run(records):
        late.append(len(records))
        return float(late.pop(0))

    assert audit(run, PAIR, claimed_epsilon=1, runs=4000).verdict == "violates"


class OfRuns(BaseEstimator):
    """An estimator that is fitted by a function, whose output it tells."""

    def __init__(self, run):
        self.run = run

    def fit(self, X, y=None):
        self.told_ = self.run(X)
        return self

    def predict(self, X):
        return np.array([self.told_])


TABLES = DatasetPair(
    *(([[value] for value in data], [0] * len(data)) for data in (PAIR.first, PAIR.second)),
    made_up=True,
)  # fmt: skip


def test_a_class_that_makes_its_runs_otherwise_is_asked_for_them():
    class Own(Function):
        def sample(self, dataset, runs, pair):
            return np.full(runs, float(len(dataset)))

    found = audit(Own(lambda dataset: 0.0), PAIR, claimed_epsilon=1, runs=200)
    assert found.verdict == "violates"
    one = Function(lambda dataset: 0.0)
    one.sample = lambda dataset, runs, pair: np.full(runs, float(len(dataset)))
    assert audit(one, PAIR, claimed_epsilon=1, runs=200).verdict == "violates"


def test_refusals_of_ours_and_trouble_of_the_machine_end_an_audit_as_they_are():
    for kind in (MemoryError, OSError, ImportError, GrantError, KeyboardInterrupt):
        with pytest.raises(kind, match="4711"):
            audit(failing(kind=kind), PAIR, claimed_epsilon=1, runs=20)
    domain = Domain(features={"age": (0, 9)}, classes=[0, 1])
    forest = MultinomialForestClassifier(
        epsilon=1, domain=domain, n_estimators=1, max_depth=1, invalid="raise"
    )
    first = np.array([[1.0]]), np.array([0])
    odd = np.array([[1.0], [np.inf]]), np.array([0, 0])
    # Seeing that error is not covered by epsilon, so it is no output that the claim is about.
    with pytest.raises(InvalidRecordError):
        audit(forest, DatasetPair(first, odd, made_up=True), runs=20)


@pytest.mark.parametrize("pair", [PAIR, MADE_UP])
def test_an_error_of_many_runs_at_once_is_named(pair):
    def many(records, runs):
        raise ValueError("quotes the record 4711")

    with pytest.raises(ParameterError, match=r"'in one call'.*\(ValueError\).*no single") as told:
        audit(Batched(many, "in one call"), pair, claimed_epsilon=1, runs=20)
    assert "4711" not in str(told.value)
    assert isinstance(told.value.__context__, ValueError) == pair.made_up


def test_outputs_of_two_lengths_are_refused_in_words():
    rng = np.random.default_rng(3)
    with pytest.raises(ParameterError, match="gives 1 numbers in some runs, 2 in others"):
        audit(lambda records: np.zeros(rng.integers(1, 3)), PAIR, claimed_epsilon=1, runs=40)


def test_an_error_is_no_other_number():
    (marks,) = of_one_width("nothing", [errors_of(3)])
    assert marks.shape == (3, 1) and are_errors(marks).all()
    assert not are_errors(np.full((2, 3), np.nan)).any()
    assert not are_errors(np.full((2, 3), 0.0) / np.full((2, 3), np.inf) - np.inf).any()
    assert not are_errors(np.zeros((2, 3), dtype=int)).any()
    partly = errors_of(2, width=2)
    partly[0, 1] = 0
    assert are_errors(partly).tolist() == [False, True]
    given, widened = of_one_width("some", [np.zeros((4, 5)), errors_of(2)])
    assert widened.shape == (2, 5) and are_errors(widened).all() and not are_errors(given).any()


def errors_of(runs, width=1):
    from dpforest.audit.outcomes import _errors

    return _errors(runs, width)


def test_outputs_of_whole_numbers_beside_errors_stay_what_they_are():
    found = audit(failing(keep=0.5), PAIR, claimed_epsilon=5, runs=2000)
    assert found.verdict != "violates" or found.lower_bound > 5
    assert json.loads(found.model_dump_json())["reason"] == found.reason


def test_a_forest_of_ours_has_no_errors_to_tell_of():
    forest = MultinomialForestClassifier(
        epsilon=1, domain=SMALL_DOMAIN, n_estimators=1, max_depth=1
    )
    assert "error" not in audit(forest, runs=40).reason
