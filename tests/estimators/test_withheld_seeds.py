"""A seed that a fit drew from never leaves its process with what the fit released."""

from __future__ import annotations

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from dpforest import ParameterError, PrivateForestClassifier, verify_report
from dpforest.mechanisms.entropy import SeededSource, SystemSource, WithheldSeed

SEED = 987654321987654321
#: Everything that scikit-learn and this library take for a seed.
SEEDS = {
    "int": lambda: SEED,
    "Generator": lambda: np.random.default_rng(SEED),
    "RandomState": lambda: np.random.RandomState(7),
    "SeededSource": lambda: SeededSource(SEED),
}
pytestmark = pytest.mark.filterwarnings("ignore::dpforest.exceptions.RepeatedFitWarning")


def dumped_by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


TAKEN = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": dumped_by_joblib,
    "a pickle of a deep copy": lambda model: pickle.loads(pickle.dumps(copy.deepcopy(model))),
    "in a pipeline": lambda model: pickle.loads(pickle.dumps(make_pipeline(model)))[-1],
    "a pickle of a pickle": lambda m: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(m)))),
}


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_taken_along_has_a_mark_in_the_place_of_its_seed(seed, taken, make_forest, table):
    X, y = table()
    if (seed, "deep" in taken) == ("SeededSource", True):
        pytest.skip("a source hands out each word once, so it is never copied")
    given = SEEDS[seed]()
    forest = make_forest(random_state=given).fit(X, y)
    twin = TAKEN[taken](forest)
    assert forest.random_state is given  # the object itself is as it was
    assert twin.random_state == WithheldSeed(type(given).__name__)
    assert np.array_equal(twin.predict_proba(X), forest.predict_proba(X))
    verify_report(twin.privacy_report(), twin)
    assert twin.guarantee_.status == "demonstration"
    for other in (twin, clone(twin)):
        with pytest.raises(ParameterError, match="random_state.*stayed behind") as refused:
            other.fit(X, y)
        assert refused.value.parameter == "random_state"
    assert clone(twin).random_state == twin.random_state
    assert twin.set_params(random_state=None).fit(X, y).guarantee_.status == "holds"


def test_no_byte_of_a_pickle_holds_the_seed(make_forest, table):
    written = SEED.to_bytes(8, "little")  # as pickle writes it
    assert written in pickle.dumps(make_forest(random_state=SEED))
    forest = make_forest(random_state=SEED).fit(*table())
    assert written not in pickle.dumps(forest)
    # The increment of a generator never changes, and its state can be stepped back with it.
    generator = np.random.default_rng(SEED)
    step = generator.bit_generator.state["state"]["inc"].to_bytes(16, "little")
    assert step in pickle.dumps(make_forest(random_state=generator))
    assert step not in pickle.dumps(make_forest(random_state=generator).fit(*table()))


def test_what_draws_from_the_system_has_nothing_to_withhold(make_forest, table):
    X, y = table()
    for source in (None, SystemSource()):
        forest = make_forest(random_state=source).fit(X, y)
        assert WithheldSeed.of(source) is source
        assert "withheld" not in repr(forest) + forest._repr_html_()
    twin = pickle.loads(pickle.dumps(make_forest().fit(X, y)))
    assert twin.random_state is None and twin.fit(X, y).guarantee_.status == "holds"


def test_what_is_not_fitted_keeps_its_seed(make_forest, table):
    forest = make_forest(random_state=SEED)
    assert pickle.loads(pickle.dumps(forest)).random_state == SEED
    forest.fit(*table())
    for twin in (copy.copy(forest), copy.deepcopy(forest), clone(forest)):
        assert twin.random_state == SEED
    assert pickle.loads(pickle.dumps(clone(forest))).random_state == SEED
    again = clone(forest).fit(*table())
    assert np.array_equal(again.forest_.counts, forest.forest_.counts)


def test_seeded_searches_run_in_other_processes(make_forest, table):
    X, y = table()
    grid = {"max_depth": [1, 2]}

    def searched(jobs, forest):
        with joblib.parallel_config(backend="loky", n_jobs=jobs):
            search = GridSearchCV(forest, grid, cv=2, n_jobs=jobs, error_score="raise")
            return search.fit(X, y)

    forest = make_forest(random_state=5, epsilon=10)
    alone, apart = searched(1, forest), searched(2, forest)
    assert np.array_equal(
        alone.cv_results_["mean_test_score"], apart.cv_results_["mean_test_score"]
    )
    # A fitted forest is cloned by a search, so its seed serves there too; and a second time.
    again = searched(2, apart.best_estimator_)
    assert np.array_equal(
        alone.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"]
    )
    assert isinstance(pickle.loads(pickle.dumps(again.best_estimator_)).random_state, WithheldSeed)


def test_what_was_fitted_elsewhere_comes_back_and_predicts(make_forest, table):
    X, y = table()
    bag = BaggingClassifier(make_forest(random_state=5), n_estimators=2, n_jobs=2, random_state=0)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        bag.fit(X, y)
    assert all(isinstance(one.random_state, WithheldSeed) for one in bag.estimators_)
    assert bag.predict(X).shape == (len(y),)


def test_a_fitted_forest_prints_no_seed(make_forest, table):
    forest = make_forest(random_state=SEED)
    assert f"random_state={SEED}" in repr(forest)
    before = repr(make_forest())
    forest.fit(*table())
    for text in (repr(forest), str(forest), forest._repr_html_()):
        assert str(SEED) not in text and "a seed that was used (int): withheld" in text
    assert forest.random_state == forest.get_params()["random_state"] == SEED
    # Printing leaves the object, and the layout, as they were.
    unfitted = make_forest()
    known = set(vars(unfitted))
    assert repr(unfitted) == before and set(vars(unfitted)) == known
    wide = PrivateForestClassifier(epsilon=1, max_records_per_unit=2, delta=1e-6, n_jobs=2)
    assert len(repr(wide).splitlines()) == 2


def test_a_mark_is_no_seed():
    mark = WithheldSeed("int")
    assert WithheldSeed.of(mark) is mark
    with pytest.raises(ParameterError, match=r"set_params\(random_state=None\)"):
        mark.refuse()
