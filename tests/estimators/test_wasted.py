"""Fits that what stands around them would make worthless are refused before they cost anything."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, RegressorChain
from sklearn.pipeline import make_pipeline

from dpforest import (
    BudgetAccountant,
    Domain,
    PrivateForestClassifier,
    PrivateForestRegressor,
    check_pipeline,
)
from dpforest.estimators.pipeline_columns import unfit_selection
from dpforest.estimators.pipeline_rows import AROUND
from dpforest.exceptions import ParameterError

N = 400
FEATURES = {"a": (0.0, 1.0), "b": (0.0, 9.0)}
TEXTS = Domain(features=FEATURES, classes=["no", "yes"], approximate_rows=N)
CODES = Domain(features=FEATURES, classes=[0, 1], approximate_rows=N)
MEANS = Domain(features=FEATURES, target=(0, 1), approximate_rows=N)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


@pytest.fixture
def accountant():
    return BudgetAccountant(epsilon=100)


def forest(accountant, domain=TEXTS):
    kind = PrivateForestRegressor if domain is MEANS else PrivateForestClassifier
    return kind(epsilon=1, domain=domain, accountant=accountant, random_state=1)


def table():
    X = np.random.default_rng(0).uniform(size=(N, 2)) * [1, 9]
    return X, np.where(X[:, 0] > 0.5, "yes", "no")


def frame(library, names):
    made = pytest.importorskip(library)
    X, _ = table()
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 1]}
    return getattr(made, "DataFrame", getattr(made, "table", None))({k: columns[k] for k in names})


def refused(accountant, match, fit, *given):
    with pytest.raises(ParameterError, match=match):
        fit(*given)
    assert accountant.ledger == () and accountant.composition().children == ()


#: What hands other columns on, with the rows that say so.
COLUMNS = {
    "RFE": lambda one: RFE(one, n_features_to_select=1),
    "RFECV": lambda one: RFECV(one, cv=2),
    "SequentialFeatureSelector": lambda one: SequentialFeatureSelector(
        one, n_features_to_select=1, cv=2
    ),
    "ClassifierChain": ClassifierChain,
    "RegressorChain": RegressorChain,
}
ENCODERS = {
    "VotingClassifier": lambda one: VotingClassifier([("a", one)]),
    "StackingClassifier": lambda one: StackingClassifier([("a", one)], one, cv=2),
    "BaggingClassifier": lambda one: BaggingClassifier(one, n_estimators=1),
    "OneVsRestClassifier": OneVsRestClassifier,
    "OneVsOneClassifier": OneVsOneClassifier,
    "OutputCodeClassifier": lambda one: OutputCodeClassifier(one, random_state=0),
}


def test_every_row_that_says_so_is_tried():
    assert {name for name, row in AROUND.items() if row.columns == "others"} == COLUMNS.keys()
    assert {name for name, row in AROUND.items() if row.encodes} == ENCODERS.keys()
    assert [name for name, row in AROUND.items() if row.columns == "by place"] == [
        "SelectFromModel"
    ]
    # Whatever is said to learn by encoding labels hands codes on.
    said = {name for name, row in AROUND.items() if "label encoding" in row.learnt_by(None)}
    assert said == ENCODERS.keys()


@pytest.mark.parametrize("name", COLUMNS)
def test_what_fits_to_other_columns_is_refused(name, accountant):
    X, y = table()
    domain = MEANS if name == "RegressorChain" else TEXTS
    y = X[:, 0] if domain is MEANS else y
    targets = np.column_stack([y, y]) if "Chain" in name else y
    outer = COLUMNS[name](forest(accountant, domain))
    if name == "SequentialFeatureSelector":  # it looks for others to blame
        with pytest.raises(
            ValueError, match=f"domain=a declared one: .*declares other columns than {name}"
        ):
            outer.fit(X, targets)
        assert accountant.ledger == ()
        return
    # One of recursion is around one with folds.
    said = "RFE" if name == "RFECV" else name
    refused(
        accountant,
        f"^domain=a declared one: .*declares other columns than {said}",
        outer.fit,
        X,
        targets,
    )


@pytest.mark.parametrize("name", COLUMNS | ENCODERS)
def test_what_would_be_refused_is_said_before(name):
    """The words are those of a declared domain alone; codes that are labels may be handed on."""
    domain = MEANS if name == "RegressorChain" else TEXTS
    outer, said = (COLUMNS | ENCODERS)[name], ("fits to other columns than are declared, which is")
    if name in ENCODERS:
        said = "hands codes on for the declared labels, which is refused"
        assert said not in check_pipeline(outer(forest(None, CODES)))[0]
    assert said in check_pipeline(make_pipeline(outer(forest(None, domain))))[0]
    assert "refused" not in check_pipeline(outer(forest(None, None)))[0]


def test_without_a_domain_columns_may_be_any():
    X, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = RFE(PrivateForestClassifier(epsilon=1), n_features_to_select=1).fit(X, y)
    assert found.support_.sum() == 1


class Declares(ClassifierMixin, BaseEstimator):
    """Somebody's classifier that declares the columns it is given."""

    def fit(self, X, y):
        features = {f"x{k}": (0, 9) for k in range(X.shape[1])}
        domain = Domain(features=features, classes=["no", "yes"], approximate_rows=N)
        self.forest_ = PrivateForestClassifier(epsilon=1, domain=domain, random_state=1).fit(X, y)
        self.classes_ = self.forest_.classes_
        return self

    @property
    def feature_importances_(self):
        return self.forest_.feature_importances_


def test_who_declares_each_table_anew_may_fit_to_any():
    found = RFE(Declares(), n_features_to_select=1).fit(*table())
    assert found.support_.tolist() == [True, False]


class Unreadable(list):
    """Members that nobody else may go through."""

    def __iter__(self):
        raise RuntimeError("not for you")


class Hides(ClassifierMixin, BaseEstimator):
    """Somebody's classifier with members that cannot be read."""

    def __init__(self, forest):
        self.forest = forest
        self.estimators = Unreadable([("a", forest)])

    def fit(self, X, y):
        self.forest.fit(X, y)
        return self


def test_a_class_that_cannot_be_read_ends_no_fit(accountant):
    assert Hides(forest(accountant)).fit(*table()).forest.n_features_in_ == 2


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("names", [("b", "a"), ("a", "b", "c"), ("c", "a", "b")])
def test_features_that_are_looked_up_by_place_have_their_places(library, names, accountant):
    outer = SelectFromModel(forest(accountant))
    refused(
        accountant, "X=a table with other columns, or in another order: SelectFromModel goes by",
        outer.fit, frame(library, names), table()[1],
    )  # fmt: skip


def test_the_declared_columns_in_their_order_are_selected_from(accountant):
    X, y = table()
    for given in (X, frame("pandas", ("a", "b"))):
        outer = SelectFromModel(forest(accountant), max_features=1, threshold=-np.inf)
        assert outer.fit(given, y).get_support().tolist() == [True, False]


@pytest.mark.parametrize("name", ENCODERS)
def test_codes_that_mean_no_class_are_refused(name, accountant):
    outer = ENCODERS[name](forest(accountant))
    refused(accountant, f"{name} passes codes 0, 1, … in place of your labels", outer.fit, *table())


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_folds_that_predict_probabilities_hand_codes_on(method, accountant):
    def folds(domain, y):
        return cross_val_predict(forest(accountant, domain), X, y, cv=2, method=method)

    X, y = table()
    refused(accountant, "cross_val_predict with such a method", folds, TEXTS, y)
    assert folds(CODES, (y == "yes").astype(int)).shape == (N, 2)
    assert set(cross_val_predict(forest(accountant), X, y, cv=2)) == {"no", "yes"}
    assert np.all(cross_val_score(forest(accountant), X, y, cv=2, scoring="roc_auc") > 0.6)


def test_a_calibration_of_one_model_hands_codes_on(accountant):
    X, y = table()
    refused(
        accountant, "passes codes 0, 1, … in place of your labels",
        CalibratedClassifierCV(forest(accountant), cv=2, ensemble=False).fit, X, y,
    )  # fmt: skip
    fitted = CalibratedClassifierCV(forest(accountant), cv=2).fit(X, y)
    assert fitted.score(X, y) > 0.7


def reordered(accountant, **parameters):
    parts = [("b", "passthrough", ["b"]), ("a", "passthrough", ["a"])]
    return make_pipeline(ColumnTransformer(parts, **parameters), forest(accountant))


def test_columns_that_lose_their_names_and_order_are_refused(accountant):
    """Each would be read as another: a within the bounds of b."""
    pandas, y = pytest.importorskip("pandas"), table()[1]
    X = pandas.DataFrame(table()[0], columns=["a", "b"])
    searched = GridSearchCV(reordered(accountant), {}, cv=2, error_score="raise")
    for outer in (reordered(accountant), make_pipeline(reordered(accountant)), searched):
        refused(
            accountant, "X=a table without names: .* 'columntransformer' hands columns on in anoth",
            outer.fit, X, y,
        )  # fmt: skip
    named = reordered(accountant, verbose_feature_names_out=False).set_output(transform="pandas")
    assert named.fit(X, y).score(X, y) > 0.7


def test_columns_in_their_order_need_no_names(accountant):
    pandas, y = pytest.importorskip("pandas"), table()[1]
    X = pandas.DataFrame(table()[0], columns=["a", "b"])
    kept = ColumnTransformer([("a", "passthrough", ["a"]), ("b", "passthrough", ["b"])])
    assert make_pipeline(kept, forest(accountant)).fit(X, y).score(X, y) > 0.7


def selected(accountant, declared=CODES, after=CODES, step=None, **given):
    """A private selection in a pipeline, and what is fitted after it."""
    step = SelectFromModel(forest(accountant, declared), **given) if step is None else step
    return make_pipeline(step, forest(accountant, after))


ONE = Domain(features={"b": (0, 9)}, classes=[0, 1], approximate_rows=N)
OTHER = Domain(features={"c": (0, 9)}, classes=[0, 1], approximate_rows=N)
THREE = Domain(features=FEATURES | {"c": (0, 9)}, classes=[0, 1], approximate_rows=N)
ALL = {"threshold": -np.inf}
SELECTIONS = {
    "all that it leaves out of": (CODES, {}, "leaves columns out, and .* declares 2 features"),
    "more than there are": (THREE, ALL, "leaves 2 columns at most, and .* declares 3 features"),
    "more than are left": (CODES, {"max_features": 1}, "leaves 1 columns at most"),
    "fewer": (ONE, ALL, "leaves 2 columns, and .* declares 1 features"),
}


@pytest.mark.parametrize("after, given, match", SELECTIONS.values(), ids=SELECTIONS)
def test_a_selection_that_leaves_what_is_refused_is_refused(after, given, match, accountant):
    X, y = table()[0], (table()[1] == "yes").astype(int)
    outer = selected(accountant, after=after, **given)
    said = "".join(check_pipeline(outer))
    assert "leaves" in said and "which is refused" in said
    inner = make_pipeline(SelectFromModel(forest(accountant, CODES), **given))
    nested = selected(accountant, after=after, step=inner)
    thresholds = make_pipeline(inner, FixedThresholdClassifier(forest(accountant, after)))
    for one in (outer, nested, thresholds, GridSearchCV(outer, {}, cv=2, error_score="raise")):
        refused(accountant, f"^domain=a declared one: is of a selection .*{match}", one.fit, X, y)


@pytest.mark.parametrize("after, given", [
    (ONE, {}), (ONE, ALL | {"max_features": 1}), (CODES, ALL), (ONE, {"max_features": len}),
])  # fmt: skip
def test_a_selection_that_may_leave_what_is_declared_is_paid_for(after, given, accountant):
    """Which columns are left is not known before, so the second fit may still be refused."""
    X, y = table()[0], (table()[1] == "yes").astype(int)
    outer = selected(accountant, after=after, **given)
    is_open = given != ALL
    said = check_pipeline(outer)
    assert ("is known once it was paid for" in "".join(said)) is is_open
    if given:
        return
    assert outer.fit(X, y).score(X, y) > 0.4
    assert len(accountant.composition().children) == 2


@pytest.mark.parametrize("after, match", [(OTHER, "none but its own columns"), (ONE, None)])
def test_a_selection_with_names_leaves_features_of_its_own(after, match, accountant):
    X, y = frame("pandas", ("a", "b")), (table()[1] == "yes").astype(int)
    step = SelectFromModel(forest(accountant, CODES), **ALL).set_output(transform="pandas")
    outer = selected(accountant, after=after, step=step)
    if match is None:
        assert outer.fit(X, y).score(X, y) > 0.4
    else:
        refused(accountant, match, outer.fit, X, y)


def test_names_that_no_column_has_are_features_by_their_places(accountant):
    X, y = frame("pandas", ("a", "b")), (table()[1] == "yes").astype(int)
    step = SelectFromModel(forest(accountant, CODES), max_features=1, **ALL)
    outer = selected(accountant, after=OTHER, step=step.set_output(transform="pandas"))
    assert outer.fit(X, y).score(X, y) > 0.4


@pytest.mark.parametrize("threshold", [1e-300, "median", "0.01*mean"])
def test_a_threshold_that_may_leave_all_is_paid_for(threshold, accountant):
    outer = selected(accountant, threshold=threshold)
    assert unfit_selection(outer) == ""
    assert "is known once it was paid for" in "".join(check_pipeline(outer))


class Declaring(PrivateForestClassifier):
    """Declares what is left."""

    def fit(self, X, y):
        features = {name: (0, 9) for name in X.columns}
        self.domain = Domain(features=features, classes=[0, 1], approximate_rows=N)
        return super().fit(X, y)


def test_a_class_whose_fit_declares_what_is_left_is_not_refused(accountant):
    X, y = frame("pandas", ("a", "b")), (table()[1] == "yes").astype(int)
    step = SelectFromModel(forest(accountant, CODES), max_features=1, **ALL)
    step.set_output(transform="pandas")
    declaring = Declaring(epsilon=1, domain=CODES, accountant=accountant, random_state=1)
    outer = make_pipeline(step, declaring)
    assert outer.fit(X, y).score(X, y) > 0.4
    assert not any("'selectfrommodel'" in said for said in check_pipeline(outer))


def test_what_nobody_declares_is_not_refused():
    forests = [PrivateForestClassifier(epsilon=1) for _ in range(2)]
    assert unfit_selection(make_pipeline(SelectFromModel(forests[0]), forests[1])) == ""
    assert unfit_selection(forests[0]) == unfit_selection(make_pipeline(*forests)) == ""


def test_one_that_was_made_before_costs_nothing(accountant):
    X, y = table()[0], (table()[1] == "yes").astype(int)
    chosen = forest(None, CODES).fit(X, y)
    step = SelectFromModel(chosen, prefit=True, max_features=1, **ALL)
    assert selected(accountant, after=ONE, step=step).fit(X, y).score(X, y) > 0.4


class Unwilling(SelectFromModel):
    """A selection whose parameters cannot be read."""

    def __init__(self, estimator=None):
        self.estimator = estimator

    threshold = "mean"
    prefit = False
    importance_getter = "auto"
    norm_order = 1

    @property
    def max_features(self):
        return Comparing()


class Comparing(int):
    """A number that compares by its own rules."""

    def __int__(self):
        raise RuntimeError("not for you")


def test_parameters_that_raise_say_nothing():
    outer = make_pipeline(Unwilling(forest(None, CODES)), forest(None, CODES))
    assert unfit_selection(outer) == ""
