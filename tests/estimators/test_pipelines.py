"""The last step of a pipeline: what was learnt before it voids the guarantee, and is found."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    Domain,
    MultinomialForestClassifier,
    ParameterError,
    PrivacyLeakWarning,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RepeatedFitWarning,
    WeakSignalWarning,
    check_pipeline,
    verify_report,
)
from dpforest.exceptions import ParameterTypeError

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")

DOMAIN = Domain(features={"a": (-4, 4), "b": (-4, 4)}, classes=["no", "yes"], approximate_rows=60)
generator = np.random.default_rng(0)
X = generator.normal(size=(60, 2))
y = np.where(X[:, 0] > 0, "yes", "no")


def forest(**parameters) -> MultinomialForestClassifier:
    small = {"epsilon": 1, "domain": DOMAIN, "n_estimators": 1, "max_depth": 1}
    return MultinomialForestClassifier(**(small | parameters))


class Marked(TransformerMixin, BaseEstimator):
    """A step that says itself that it learns nothing."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Foreign:
    """A step that knows nothing of scikit-learn's tags."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X

    def get_params(self, deep=True):
        return {}


def columns(*steps, remainder="drop"):
    return ColumnTransformer(
        [(str(i), step, [i]) for i, step in enumerate(steps)], remainder=remainder
    )


STATELESS = {
    "a function": FunctionTransformer(np.abs),
    "a normaliser": Normalizer(),
    "a step that says so": Marked(),
    "passing on": "passthrough",
    "nothing": None,
    "frozen": FrozenEstimator(StandardScaler().fit(X)),
    "functions by column": columns(FunctionTransformer(), "passthrough"),
    "a union of functions": FeatureUnion([("f", FunctionTransformer(lambda Z: Z[:, :1])),
                                          ("g", FunctionTransformer(lambda Z: Z[:, 1:]))]),
    "a pipeline of functions": make_pipeline(Normalizer(), FunctionTransformer()),
}  # fmt: skip
LEARNING = {
    "a scaler": StandardScaler(),
    "components": PCA(2),
    "scalers by column": columns(StandardScaler(), MinMaxScaler()),
    "the rest of the columns": ColumnTransformer(
        [("keep", "passthrough", [0])], remainder=StandardScaler()
    ),
    "a union with a scaler": FeatureUnion(
        [("f", FunctionTransformer(lambda Z: Z[:, :1])), ("s", PCA(1))]
    ),
    "a pipeline with a scaler": make_pipeline(Normalizer(), StandardScaler()),
    "somebody else's": Foreign(),
}


@contextmanager
def warned(*kinds: type[Warning]) -> Iterator[list[str]]:
    """All of these warnings are given, and no others; their texts."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    assert {warning.category for warning in caught} - {WeakSignalWarning} == set(kinds)
    texts += [str(warning.message) for warning in caught]


def assert_holds(model) -> None:
    assert model.guarantee_.status == "holds" and model.guarantee_.reasons == ()


def assert_void(model, step: str) -> None:
    assert model.guarantee_.status == "void" and model.guarantee_.epsilon == np.inf
    reasons = [
        r for r in model.guarantee_.reasons if "before or around it learns without paying" in r
    ]
    assert len(reasons) == 1 and step in reasons[0]


@pytest.mark.parametrize("step", STATELESS.values(), ids=STATELESS)
def test_steps_that_learn_nothing_leave_the_guarantee(step):
    pipeline = Pipeline([("before", step), ("forest", forest())])
    assert check_pipeline(pipeline) == ()
    assert_holds(pipeline.fit(X, y)[-1])


@pytest.mark.parametrize("step", LEARNING.values(), ids=LEARNING)
def test_steps_that_learn_void_it_and_warn(step):
    pipeline = Pipeline([("before", step), ("forest", forest())])
    said = check_pipeline(pipeline)
    assert said and all(re.match(r"'before'( > .*)? \(\w+\): .*learn", text) for text in said)
    assert said == tuple(re.sub("^'step'", "'before'", text) for text in check_pipeline(
        Pipeline([("step", step), ("forest", forest())])
    ))  # fmt: skip
    with pytest.warns(PrivacyLeakWarning, match="'before'.*is void") as caught:
        pipeline.fit(X, y)
    assert all(text in str(caught[0].message) for text in said)
    assert_void(pipeline[-1], "'before'")
    report = pipeline[-1].privacy_report()
    verify_report(report.to_json(), pipeline[-1])
    assert report.sentence.startswith("VOID") and report.notices[0].severity == "void"


def test_a_pipeline_of_one_step_and_no_pipeline():
    assert check_pipeline(make_pipeline(forest())) == () == check_pipeline(forest())
    assert_holds(make_pipeline(forest()).fit(X, y)[-1])
    assert_holds(forest().fit(X, y))


def test_the_next_fit_outside_of_it_holds_again():
    inner = forest(accountant=BudgetAccountant(2))
    with pytest.warns(PrivacyLeakWarning):
        make_pipeline(StandardScaler(), inner).fit(X, y)
    assert_void(inner, "standardscaler")
    assert_holds(inner.fit(X, y))


@pytest.mark.parametrize("estimator", [
    PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="one_shot"),
    PrivateForestRegressor(
        epsilon=1, domain=Domain(features=DOMAIN.features, target=(0, 1), approximate_rows=60)
    ),
])  # fmt: skip
def test_the_other_forests(estimator):
    target = (y == "yes").astype(float) if isinstance(estimator, PrivateForestRegressor) else y
    with pytest.warns(PrivacyLeakWarning, match="standardscaler"):
        model = make_pipeline(StandardScaler(), estimator).fit(X, target)
    assert_void(model[-1], "standardscaler")


@pytest.mark.parametrize("outer", [Normalizer(), StandardScaler()])
@pytest.mark.parametrize("inner", [Normalizer(), StandardScaler()])
def test_nested_pipelines(outer, inner):
    nested = make_pipeline(outer, Pipeline([("inner", inner), ("forest", forest())]))
    learning = [step for step in (outer, inner) if isinstance(step, StandardScaler)]
    assert len(check_pipeline(nested)) == len(learning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = nested.fit(X, y)[-1][-1]
    assert bool(caught) == bool(learning)
    assert model.guarantee_.status == ("void" if learning else "holds")
    text = " ".join(model.guarantee_.reasons)
    assert ("'standardscaler'" in text) == isinstance(outer, StandardScaler)
    assert ("'inner'" in text) == isinstance(inner, StandardScaler)


def test_a_forest_that_selects_features_for_later_steps():
    """Steps behind the one that is fitted have not learnt anything yet."""
    shared = BudgetAccountant(2)
    inner = PrivateForestClassifier(
        epsilon=1, domain=DOMAIN, strategy="one_shot", accountant=shared
    )
    later = make_pipeline(Normalizer(), SelectFromModel(inner), StandardScaler(), Foreign())
    assert_holds(later.fit(X, y)[1].estimator_)
    with pytest.warns(PrivacyLeakWarning, match="standardscaler"):
        earlier = make_pipeline(StandardScaler(), SelectFromModel(inner), Foreign()).fit(X, y)
    assert_void(earlier[1].estimator_, "standardscaler")


def test_a_threshold_for_a_fitted_forest_pays_a_second_time_unless_it_is_frozen():
    """As the five-minute start says."""
    shared = BudgetAccountant(3)
    fitted = forest(accountant=shared).fit(X, y)
    cut = {"threshold": 0.15, "pos_label": "yes"}
    kept = FixedThresholdClassifier(FrozenEstimator(fitted), **cut).fit(X, y)
    assert shared.spent.epsilon == 1.0 and check_pipeline(kept) == ()
    assert_holds(kept.estimator_.estimator)
    assert set(kept.predict(X)) <= {"no", "yes"}
    FixedThresholdClassifier(fitted, **cut).fit(X, y)
    assert shared.spent.epsilon == 2.0


def test_a_pipeline_with_a_cache(tmp_path):
    pipeline = Pipeline([("s", StandardScaler()), ("f", forest())], memory=str(tmp_path))
    with pytest.warns(PrivacyLeakWarning, match="'s'"):
        pipeline.fit(X, y)


def test_a_learned_target():
    domain = Domain(features=DOMAIN.features, target=(-4, 4), approximate_rows=60)
    budget = BudgetAccountant(2)
    inner = PrivateForestRegressor(epsilon=1, domain=domain, accountant=budget)
    learned = TransformedTargetRegressor(inner, transformer=StandardScaler())
    assert check_pipeline(learned) == (
        "the target's transformer (StandardScaler): learns from the records",
    )
    with pytest.warns(PrivacyLeakWarning, match="the target's transformer"):
        assert_void(learned.fit(X, X[:, 0]).regressor_, "the target's transformer")
    public = TransformedTargetRegressor(inner, func=np.sqrt, inverse_func=np.square)
    assert check_pipeline(public) == ()
    assert_holds(public.fit(X, np.abs(X[:, 0])).regressor_)


def test_cross_validation_pays_for_each_fold_and_is_told_of_both():
    pipeline = make_pipeline(StandardScaler(), forest())
    with warned(PrivacyLeakWarning, RepeatedFitWarning) as texts:
        cross_val_score(pipeline, X, y, cv=3)
    assert sum("standardscaler" in text for text in texts) == 1  # once for all folds
    assert any("fitted 2 times" in text for text in texts) and len(texts) == 2
    shared = BudgetAccountant(2)
    with pytest.raises(BudgetExceeded):
        cross_val_score(
            make_pipeline(Normalizer(), forest(accountant=shared)), X, y, cv=3, error_score="raise"
        )
    assert shared.spent.epsilon == 2.0


def test_a_grid_search_pays_for_each_fit_and_its_winner_is_void():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), forest()),
        {"multinomialforestclassifier__max_depth": [1, 2]}, cv=2,
    )  # fmt: skip
    assert check_pipeline(search) == (
        "GridSearchCV: a choice by scores on the records among its candidates; each fit costs its "
        "own epsilon, and they add up over its candidates and folds",
        "its estimator > 'standardscaler' (StandardScaler): learns from the records",
    )
    with warned(PrivacyLeakWarning, RepeatedFitWarning) as texts:
        search.fit(X, y)
    assert any("fitted 2 times" in text for text in texts)
    assert "5 fits" in search.best_estimator_[-1].privacy_report().other_fits
    assert_void(search.best_estimator_[-1], "standardscaler")


def test_a_search_as_the_last_step_is_behind_the_scaler():
    search = GridSearchCV(forest(), {"max_depth": [1]}, cv=2)
    pipeline = make_pipeline(StandardScaler(), search)
    first, second = check_pipeline(pipeline)
    assert first == "'standardscaler' (StandardScaler): learns from the records"
    assert second.startswith("'gridsearchcv' (GridSearchCV): a choice by scores")
    with warned(PrivacyLeakWarning, RepeatedFitWarning):
        pipeline.fit(X, y)
    assert_void(pipeline[-1].best_estimator_, "standardscaler")


@pytest.mark.parametrize("method", ["threading", "loky"])
def test_folds_in_other_threads_or_processes(method):
    joblib = pytest.importorskip("joblib")
    pipeline = make_pipeline(StandardScaler(), forest())
    with joblib.parallel_config(method, n_jobs=2), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sklearn.model_selection import cross_validate

        found = cross_validate(pipeline, X, y, cv=2, return_estimator=True)
    for fitted in found["estimator"]:
        assert_void(fitted[-1], "standardscaler")


def test_nothing_is_read_when_the_fit_is_refused():
    pipeline = make_pipeline(StandardScaler(), forest(epsilon=-1))
    with pytest.raises(ParameterError, match="epsilon"):
        pipeline.fit(X, y)


# -- weights ---------------------------------------------------------------------------------------

WEIGHTS = np.ones(60)
REASON = "sensitivity would be the largest weight"


@pytest.mark.parametrize("estimator", [
    forest(),
    PrivateForestClassifier(epsilon=1, domain=DOMAIN),
    PrivateForestRegressor(epsilon=1, domain=Domain(features=DOMAIN.features, target=(0, 1))),
])  # fmt: skip
def test_weights_are_refused_with_the_reason(estimator):
    accountant = BudgetAccountant(1)
    estimator.set_params(accountant=accountant)
    with pytest.raises(ParameterError, match=REASON) as caught:
        estimator.fit(X, y, sample_weight=WEIGHTS)
    assert isinstance(caught.value, TypeError) and "1." not in str(caught.value)
    assert accountant.spent.epsilon == 0
    with pytest.raises(ParameterError, match="check_input=.*is not a parameter of fit"):
        estimator.fit(X, y, check_input=False)


def test_no_weights_are_taken_as_such():
    assert_holds(forest().fit(X, y, sample_weight=None))


def test_scikit_learns_tools_know_that_weights_are_not_supported():
    assert not has_fit_parameter(forest(), "sample_weight")
    pipeline = make_pipeline(Normalizer(), forest())
    with pytest.raises(ParameterError, match=REASON):
        pipeline.fit(X, y, multinomialforestclassifier__sample_weight=WEIGHTS)
    with pytest.raises(ParameterError, match=REASON):
        cross_val_score(
            forest(), X, y, params={"sample_weight": WEIGHTS}, cv=2, error_score="raise"
        )
    with (
        pytest.warns(UserWarning, match="does not appear to accept sample_weight"),
        pytest.warns(PrivacyLeakWarning, match="CalibratedClassifierCV: a second stage"),
    ):
        CalibratedClassifierCV(forest(accountant=BudgetAccountant(9)), cv=2).fit(X, y, WEIGHTS)
    with pytest.raises(TypeError, match="does not support sample weight|largest weight"):
        VotingClassifier([("a", forest())]).fit(X, y, sample_weight=WEIGHTS)


# -- objects in the call stack that are no estimators, or odd ones ---------------------------------


class Mine(MultinomialForestClassifier):
    """A subclass of somebody's own."""


class Refusing(type):
    """Of class bodies whose names cannot be looked up."""

    @classmethod
    def __prepare__(mcs, name, bases, **given):
        class Names(dict):
            def get(self, key, default=None):
                raise RuntimeError("outside of context")

        return Names()


class Proxy:
    """Stands for another object, which is not there: werkzeug's LocalProxy does so."""

    @property
    def __class__(self):
        raise RuntimeError("outside of context")

    def fit(self, inner):
        return inner.fit(X, y)


class Nowhere:
    def fit(self, inner):
        return inner.fit(X, y)


Nowhere.__module__ = None


class NowhereEstimator(BaseEstimator, Nowhere):
    """An estimator of no module."""


NowhereEstimator.__module__ = None


class Brittle(Pipeline):
    """A pipeline whose steps cannot be read."""

    def __init__(self):
        pass

    @property
    def steps(self):
        raise RuntimeError("outside of context")

    def fit(self, inner):
        return inner.fit(X, y)


class Scaling(BaseEstimator):
    """Learns before it hands on, and nothing shows it."""

    def __init__(self, estimator=None):
        self.estimator = estimator

    def fit(self, X, y):
        self.estimator.fit(StandardScaler().fit_transform(X), y)
        return self


def notices_of(model) -> list[str]:
    return [notice.text for notice in model.privacy_report().notices if "around" in notice.text]


def test_a_subclass_of_ours_is_nothing_around_itself():
    model = Mine(epsilon=1, domain=DOMAIN, n_estimators=1, max_depth=1).fit(X, y)
    assert_holds(model)
    assert notices_of(model) == [] == list(model._facts.around)
    assert check_pipeline(Mine(epsilon=1)) == ()


class Centring(MultinomialForestClassifier):
    """Learns before it hands on to ours."""

    def fit(self, X, y, **fit_parameters):
        return super().fit(X - X.mean(axis=0), y, **fit_parameters)


class CentresFirst:
    def fit(self, X, y):
        return super().fit(X - X.mean(axis=0), y)


class MixedIn(CentresFirst, MultinomialForestClassifier):
    """The same, by a class that stands before ours."""


class Below(Centring):
    """Of a class with a ``fit`` of its own."""


class OfNoModule(Centring):
    def fit(self, X, y):
        return super().fit(X, y)


OfNoModule.__module__ = None


@pytest.mark.parametrize("kind", [Centring, MixedIn, Below, OfNoModule])
def test_a_subclass_whose_own_fit_comes_first_says_on_what_the_guarantee_depends(kind):
    model = kind(epsilon=1, domain=DOMAIN, n_estimators=1, max_depth=1).fit(X, y)
    assert model.guarantee_.status == "holds"
    assert notices_of(model) == [
        f"around this fit, and not part of its guarantee: {kind.__name__} is not known here: if it "
        "learns from records, this guarantee is void"
    ]
    assert verify_report(model.privacy_report(), model).guarantee_status == "holds"


@pytest.mark.parametrize("kind", [Centring, MixedIn, Below, OfNoModule])
def test_check_pipeline_names_a_subclass_with_a_fit_of_its_own(kind):
    taken = "is not known here, so it is taken to learn from the records"
    assert check_pipeline(kind(epsilon=1)) == (f"{kind.__name__}: {taken}",)
    inside = check_pipeline(make_pipeline(Normalizer(), kind(epsilon=1)))
    assert inside == (f"'{kind.__name__.lower()}' ({kind.__name__}): {taken}",)


@pytest.mark.parametrize("outer", [Proxy, Nowhere])
def test_an_object_that_is_no_estimator_is_not_asked(outer):
    model = outer().fit(forest())
    assert_holds(model)
    assert notices_of(model) == []


@pytest.mark.parametrize("outer", [NowhereEstimator, Brittle])
def test_an_estimator_that_cannot_be_read_is_a_caution(outer):
    model = outer().fit(forest())
    assert_holds(model)
    assert any(f"{outer.__name__} is not known here" in text for text in notices_of(model))


def test_a_class_body_of_that_name_is_no_fit():
    inner = forest()

    class fit(metaclass=Refusing):  # noqa: N801
        inner.fit(X, y)

    assert_holds(inner)


def test_an_unknown_estimator_around_says_on_what_the_guarantee_depends():
    model = forest()
    Scaling(model).fit(X, y)
    assert model.guarantee_.status == "holds"
    assert notices_of(model) == [
        "around this fit, and not part of its guarantee: Scaling is not known here: if it learns "
        "from records, this guarantee is void"
    ]


def test_check_pipeline_of_objects_that_raise():
    class Raising(BaseEstimator):
        @property
        def fit(self):
            raise RuntimeError("outside of context")

    class Held(BaseEstimator):
        @property
        def estimator(self):
            raise RuntimeError("outside of context")

        def fit(self, X, y):
            return self

    taken = "is not known here, so it is taken to learn from the records"
    assert check_pipeline(Raising()) == (f"Raising: {taken}",)
    assert check_pipeline(Held()) == (f"Held: {taken}",)
    assert check_pipeline(Pipeline([("proxy", Proxy()), ("forest", forest())]))[0].startswith(
        "'proxy'"
    )
    calibrated = CalibratedClassifierCV(forest(), cv=np.arange(3))
    assert "second stage" in check_pipeline(calibrated)[0]


def columns_in(*names, **parameters):
    """A pipeline whose first step hands named columns on, in this order."""
    parts = [(name, "passthrough", [name]) for name in names]
    step = ColumnTransformer(parts, **parameters)
    return Pipeline([("columns", step), ("forest", forest())])


@pytest.mark.parametrize("pipeline", [
    columns_in("a", "b"), columns_in("a", remainder="passthrough"), columns_in("b", "c"),
    columns_in("b", "a").set_output(transform="pandas"),
    Pipeline([("columns", ColumnTransformer([("b", "passthrough", [1, 0])])), ("f", forest())]),
    Pipeline([
        ("columns", ColumnTransformer([("b", "drop", ["b"]), ("a", "passthrough", "a")])),
        ("f", forest()),
    ]),
    # Another number of columns, which the fit refuses; and a step after it, which may sort them.
    columns_in("b"), columns_in("b", "a", "b"),
    columns_in("b", "a", "b", remainder="passthrough"),
    Pipeline([*columns_in("b", "a").steps[:1], ("then", Normalizer()), ("f", forest())]),
    Pipeline([("columns", ColumnTransformer([("b", "passthrough", slice(2))])), ("f", forest())]),
    make_pipeline(columns_in("b", "a")[0], forest(domain=None)),
    make_pipeline(make_pipeline(columns_in("b", "a")[0], Normalizer()), forest()),
    make_pipeline(make_pipeline(columns_in("a", "b")[0]), forest()),
    make_pipeline(make_pipeline("passthrough"), forest()),
])  # fmt: skip
def test_columns_in_the_declared_order_or_with_names_are_not_spoken_of(pipeline):
    assert not any("another order" in said for said in check_pipeline(pipeline))


@pytest.mark.parametrize("pipeline", [
    columns_in("b", "a"), columns_in("b", remainder="passthrough"),
    GridSearchCV(columns_in("b", "a"), {}),
    Pipeline([
        ("columns", ColumnTransformer([("both", "passthrough", np.array(["b", "a"]))])),
        ("none", "passthrough"), ("f", forest()),
    ]),
    Pipeline([
        ("columns", ColumnTransformer([("both", "passthrough", ("b", "a"))])),
        ("votes", VotingClassifier([("forest", forest())])),
    ]),
    # A pipeline in the step's place, and in the forest's; one that does nothing behind it.
    Pipeline([
        *columns_in("b", "a").steps[:1], ("none", make_pipeline("passthrough")), ("f", forest()),
    ]),
    Pipeline([("columns", make_pipeline("passthrough", columns_in("b", "a")[0])), ("f", forest())]),
    Pipeline([*columns_in("b", "a").steps[:1], ("then", make_pipeline("passthrough", forest()))]),
])  # fmt: skip
def test_columns_in_another_order_without_names_are_told(pipeline):
    """The fit reads them by position: b as a."""
    said = [text for text in check_pipeline(pipeline) if "another order" in text]
    assert len(said) == 1 and "'columns' hands columns on" in said[0]
    assert "verbose_feature_names_out=False" in said[0]


def test_the_advice_on_reordered_columns_helps():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    pipeline = columns_in("b", "a", verbose_feature_names_out=False)
    pipeline.set_output(transform="pandas")
    assert not check_pipeline(pipeline)
    assert pipeline.fit(frame, y)[-1].feature_names_in_.tolist() == ["a", "b"]
    with config_context(transform_output="pandas"):
        assert not check_pipeline(columns_in("b", "a"))


@pytest.mark.parametrize("thing", [X, "passthrough", None, 7])
def test_what_is_no_estimator_is_refused(thing):
    """An empty answer would say that all is well with it."""
    with pytest.raises(ParameterTypeError, match="is no estimator"):
        check_pipeline(thing)


@pytest.mark.parametrize("step", [
    ColumnTransformer([None]), ColumnTransformer([("x", "passthrough")]), ColumnTransformer(None),
])  # fmt: skip
def test_transformers_that_are_none_are_not_read(step):
    check_pipeline(Pipeline([("columns", step), ("forest", forest())]))


def test_steps_that_are_none_are_not_read():
    for steps in ([columns_in("b", "a")[0], forest()], [("a", Normalizer(), 1), ("f", forest())]):
        check_pipeline(Pipeline(steps))


def test_columns_of_an_index_are_read():
    index = pytest.importorskip("pandas").Index(["b", "a"])
    step = ColumnTransformer([("both", "passthrough", index)])
    assert "another order" in check_pipeline(make_pipeline(step, forest()))[0]
