"""Whatever of scikit-learn may stand before or around a private estimator is classified."""

from __future__ import annotations

import inspect
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import SparseCoder
from sklearn.ensemble import BaggingRegressor, StackingClassifier, VotingClassifier, VotingRegressor
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils.discovery import all_estimators

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivacyLeakWarning,
    PrivateForestRegressor,
    check_pipeline,
    verify_report,
)
from dpforest.estimators.pipeline_rows import _STATELESS, ALONE, AROUND, LABELS, NOT_KNOWN, RECORDS

# What these two switch on is public then.
assert all(isinstance(m, ModuleType) for m in (enable_halving_search_cv, enable_iterative_imputer))
KINDS = dict(all_estimators())
#: Parameters that hold estimators.
INNER = {
    *("estimator", "estimators", "final_estimator", "base_estimator", "regressor", "classifier"),
    *("steps", "transformer", "transformers", "transformer_list", "remainder"),
}

FEATURES = {"a": (-4, 4), "b": (-4, 4)}
CLASSES = Domain(features=FEATURES, classes=[0, 1], approximate_rows=60)
TARGET = Domain(features=FEATURES, target=(-4, 4), approximate_rows=60)
generator = np.random.default_rng(0)
X = generator.normal(size=(60, 2))
y = (X[:, 0] > 0).astype(int)


def parameters(kind: type) -> set[str]:
    return set(inspect.signature(kind.__init__).parameters)


# -- the table ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of what scikit-learn is about to drop
@pytest.mark.parametrize("name", KINDS)
def test_every_estimator_of_scikit_learn_is_classified(name):
    """A new release of scikit-learn fails here until what it brings has a row."""
    kind = KINDS[name]
    outer = bool(INNER & parameters(kind)) or hasattr(kind, "fit_resample")
    if outer:
        assert name in AROUND, f"{name} holds estimators: give it a row in AROUND"
    elif hasattr(kind, "transform"):
        assert name in ALONE, f"{name} may stand before another: give it a row in ALONE"
    else:
        assert name not in AROUND and name not in ALONE
        assert check_pipeline(kind()) in ((f"{name}: {RECORDS}",), (f"{name}: {LABELS}",))


def test_no_row_is_for_nothing():
    assert set(AROUND) | set(ALONE) <= set(KINDS)
    assert not set(AROUND) & set(ALONE)


@pytest.mark.parametrize("name", AROUND)
def test_every_estimator_inside_is_looked_at(name):
    """Each parameter that holds an estimator is walked, but for what a frozen one holds."""
    held = set(AROUND[name].holds)
    inner = INNER & parameters(KINDS[name])
    assert held == inner or (name == "FrozenEstimator" and not held) or held - inner <= {
        "base_estimator", "estimator"
    }  # fmt: skip


MADE = {
    "FunctionTransformer": lambda kind: kind(np.abs),
    "SparseCoder": lambda kind: SparseCoder(np.eye(4)),
    "PatchExtractor": lambda kind: kind(patch_size=(2, 2)),
    "FeatureHasher": lambda kind: kind(n_features=4, input_type="string"),
    "HashingVectorizer": lambda kind: kind(n_features=4),
}
TEXTS = (["red", "blue green"], ["white", "black red"])


@pytest.mark.parametrize("name", _STATELESS.split())
def test_what_is_called_stateless_is(name):
    """Fitted to one table or to another, it does the same to a third."""
    made = MADE.get(name, lambda kind: kind())
    tables: list[Any] = [generator.random((6, 4)), 5 + 9 * generator.random((9, 4))]
    third: Any = generator.random((3, 4))
    if name in ("FeatureHasher", "HashingVectorizer"):
        words = [[text.split() for text in texts] for texts in TEXTS]
        tables = words if name == "FeatureHasher" else list(TEXTS)
        third = tables[0]
    if name == "PatchExtractor":
        tables, third = [t.reshape(-1, 3, 4) for t in (tables[0], tables[1])], np.ones((1, 3, 4))
    seeds = {"random_state": 0} if "random_state" in parameters(KINDS[name]) else {}
    fitted = [made(KINDS[name]).set_params(**seeds).fit(table).transform(third) for table in tables]
    one, other = (t.toarray() if hasattr(t, "toarray") else np.asarray(t) for t in fitted)
    assert np.array_equal(one, other) and one.size
    assert check_pipeline(made(KINDS[name])) == ()


@pytest.mark.parametrize("name", sorted(set(ALONE) - set(_STATELESS.split())))
def test_transformers_that_learn_are_named_with_what(name):
    kind = KINDS[name]
    (said,) = check_pipeline(Pipeline([("step", kind()), ("forest", forest())]))
    assert said in (f"'step' ({name}): {RECORDS}", f"'step' ({name}): {LABELS}")


LISTS = [["north", "south"], ["a", "b", "c"]]
ORDINAL = {"categories": LISTS, "handle_unknown": "use_encoded_value", "unknown_value": -1}
ONE_HOT = {"categories": LISTS, "handle_unknown": "ignore", "sparse_output": False}
ENCODERS = [
    OrdinalEncoder(**ORDINAL),
    OneHotEncoder(**ONE_HOT),
    OneHotEncoder(**{**ONE_HOT, "handle_unknown": "infrequent_if_exist"}),
]
#: Records of listed categories, of others and of none.
SOME = [["north", "c"], ["south", None], ["west", "a"], [np.nan, "z"], ["1", "b"]]


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_an_encoder_of_listed_texts_learns_nothing(encoder):
    """Whatever records it was fitted to, each record alone becomes the same, without a word."""
    table = np.array(SOME, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = encoder.fit_transform(table)
        for k in range(len(table)):
            alone, others = table[k : k + 1], np.delete(table, k, axis=0)
            assert np.array_equal(clone(encoder).fit_transform(alone), whole[k : k + 1])
            made = clone(encoder).fit(alone).transform(others)
            assert np.array_equal(made, np.delete(whole, k, axis=0))
    assert check_pipeline(make_pipeline(encoder, forest())) == ()


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (OrdinalEncoder(categories=LISTS), "a category not listed: write handle_unknown='use_enc"),
        (OneHotEncoder(categories=LISTS), "a category not listed: write handle_unknown='ignore'"),
        (OneHotEncoder(**{**ONE_HOT, "handle_unknown": "warn"}), "an error or a warning tells"),
        (OneHotEncoder(**ONE_HOT, drop="first"), "without drop"),
        (OneHotEncoder(**ONE_HOT, drop="if_binary"), "without drop"),
        (OneHotEncoder(**ONE_HOT, min_frequency=2), "how often categories occur"),
        (OneHotEncoder(**ONE_HOT, max_categories=2), "how often categories occur"),
        (OrdinalEncoder(**ORDINAL, min_frequency=0.1), "how often categories occur"),
        (OrdinalEncoder(**ORDINAL, max_categories=2), "how often categories occur"),
        (OrdinalEncoder(**{**ORDINAL, "categories": "auto"}), RECORDS),
        (OrdinalEncoder(**{**ORDINAL, "categories": [["a", "2"], ["b"]]}), RECORDS),
        (OrdinalEncoder(**{**ORDINAL, "categories": [[1, 2], [3, 4]]}), RECORDS),
        (OneHotEncoder(**{**ONE_HOT, "categories": [["a", None], ["b"]]}), RECORDS),
        (OneHotEncoder(**{**ONE_HOT, "categories": [["a", np.nan], ["b"]]}), RECORDS),
        (OneHotEncoder(**{**ONE_HOT, "categories": 7}), NOT_KNOWN),
    ],
)
def test_any_other_encoder_learns_or_tells(encoder, said):
    (found,) = check_pipeline(make_pipeline(encoder, forest()))
    assert said in found


def test_a_fit_behind_an_encoder_of_listed_texts_keeps_its_guarantee():
    domain = Domain(features={"a": (-1, 1), "b": (-1, 2)}, classes=[0, 1], approximate_rows=60)
    for encoder, status in ((ENCODERS[0], ""), (OrdinalEncoder(), "void")):
        inner = WatchedClassifier(epsilon=1000, domain=domain, n_estimators=1, max_depth=1)
        MADE_FITS.clear()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            table = np.array([["north", "c"], ["south", "a"]] * 30, dtype=object)
            make_pipeline(encoder, inner).fit(table, [0, 1] * 30)
        assert (MADE_FITS[0][0] == "void") == (status == "void")
        leaks = [one for one in told if issubclass(one.category, PrivacyLeakWarning)]
        assert bool(leaks) == (status == "void")


# -- what is not known ----------------------------------------------------------------------------


class Theirs(TransformerMixin, BaseEstimator):
    """A step of somebody else's that says nothing of itself."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class Declared(Theirs):
    """The same, declared as stateless by scikit-learn's tag."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Around(BaseEstimator):
    """Somebody else's estimator around another."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        self.estimator_ = self.estimator.fit(X, y)
        return self


class TheirVoting(VotingRegressor):
    """An ensemble of somebody else's, of a kind that learns nothing itself."""


def test_steps_of_others_are_not_known_unless_they_declare_that_they_need_no_fitting():
    assert check_pipeline(make_pipeline(Theirs(), forest())) == (f"'theirs' (Theirs): {NOT_KNOWN}",)
    assert check_pipeline(make_pipeline(Declared(), forest())) == ()
    assert check_pipeline(TheirVoting([("a", forest())]))[0].startswith(f"TheirVoting: {NOT_KNOWN}")
    nested = make_pipeline(make_pipeline(Normalizer(), Theirs()), forest())
    assert check_pipeline(nested) == (f"'pipeline' > 'theirs' (Theirs): {NOT_KNOWN}",)


def test_a_new_class_of_scikit_learn_is_not_known():
    """Even if its tag says that it needs no fitting: nobody has looked yet."""
    new = type("NewStep", (Declared,), {"__module__": "sklearn.preprocessing._new"})
    assert check_pipeline(new()) == (f"NewStep: {NOT_KNOWN}",)
    around = type("NewSearch", (Around,), {"__module__": "sklearn.model_selection._new"})
    assert check_pipeline(around(StandardScaler())) == (
        f"NewSearch: {NOT_KNOWN}", f"its estimator (StandardScaler): {RECORDS}",
    )  # fmt: skip


# -- around a private estimator --------------------------------------------------------------------

#: Statuses, reasons and cautions of the fits that a test's estimator made.
Made = list[tuple[str, str, str]]
MADE_FITS: Made = []


class Watched:
    """A private estimator that notes what each of its fits, and of its clones', could claim."""

    def fit(self, X, y=None):
        super().fit(X, y)
        report = self.privacy_report()
        cautions = " ".join(n.text for n in report.notices if n.severity == "caution")
        MADE_FITS.append((report.guarantee.status, report.sentence, cautions))
        return self


Watched.__module__ = "dpforest.watched"  # else its fit is not known: it might learn


class WatchedClassifier(Watched, MultinomialForestClassifier):
    pass


class WatchedRegressor(Watched, PrivateForestRegressor):
    pass


def forest() -> WatchedClassifier:
    return WatchedClassifier(epsilon=1000, domain=CLASSES, n_estimators=1, max_depth=1)


def regressor() -> WatchedRegressor:
    return WatchedRegressor(epsilon=1000, domain=TARGET)


def one(**given):
    return lambda kind, inner: kind(inner, **given)


def members(kind, inner):
    return kind([("one", inner)])


#: How each is made around a private estimator.
OUTER = {
    "VotingClassifier": members, "VotingRegressor": members,
    "StackingClassifier": members, "StackingRegressor": members,
    "BaggingClassifier": one(n_estimators=2), "BaggingRegressor": one(n_estimators=2),
    "AdaBoostRegressor": one(n_estimators=2),
    "CalibratedClassifierCV": one(cv=2), "TunedThresholdClassifierCV": one(cv=2),
    "GridSearchCV": one(param_grid={"delta": [0]}, cv=2),
    "RandomizedSearchCV": one(param_distributions={"delta": [0]}, cv=2, n_iter=1),
    "HalvingGridSearchCV": one(param_grid={"delta": [0]}, cv=2),
    "HalvingRandomSearchCV": one(param_distributions={"delta": [0]}, cv=2),
    "OutputCodeClassifier": one(random_state=0), "RANSACRegressor": one(min_samples=10),
}  # fmt: skip
#: What cannot hold a private estimator at fit: it is refused, and why; or it fits nothing.
NOT_FITTED = {
    "AdaBoostClassifier": "needs weights of records, which are refused",
    "RFE": "hands on fewer columns than are declared",
    "RFECV": "hands on fewer columns than are declared",
    "SequentialFeatureSelector": "hands on fewer columns than are declared",
    "IterativeImputer": "hands on fewer columns than are declared",
    "ClassifierChain": "hands on more columns than are declared",
    "RegressorChain": "hands on more columns than are declared",
    "FeatureUnion": "fits transformers", "ColumnTransformer": "fits transformers",
    "FrozenEstimator": "fits nothing",
    "Pipeline": "by its steps, see test_pipelines.py",
}  # fmt: skip
#: What check_pipeline has to say of each, besides what it holds; "" where nothing is unpaid.
SAID = {
    "VotingClassifier": "label encoding", "VotingRegressor": "",
    "StackingClassifier": "second stage", "StackingRegressor": "second stage",
    "CalibratedClassifierCV": "second stage", "TunedThresholdClassifierCV": "second stage",
    "BaggingClassifier": "records that are repeated",
    "BaggingRegressor": "records that are repeated",
    "AdaBoostClassifier": "weighted or repeated by the errors",
    "AdaBoostRegressor": "weighted or repeated by the errors",
    "SelfTrainingClassifier": "labels that it gives", "RANSACRegressor": "subsets of the records",
    "OneVsRestClassifier": "label encoding",
    "OneVsOneClassifier": "subsets of the records by label",
    "OutputCodeClassifier": "label encoding",
    "MultiOutputClassifier": "", "MultiOutputRegressor": "",
    "ClassifierChain": "", "RegressorChain": "",
    "GridSearchCV": "choice by scores", "RandomizedSearchCV": "choice by scores",
    "HalvingGridSearchCV": "choice by scores", "HalvingRandomSearchCV": "choice by scores",
    "RFE": "", "RFECV": "choice by scores", "SequentialFeatureSelector": "choice by scores",
    "SelectFromModel": "", "FixedThresholdClassifier": "", "FrozenEstimator": "",
    "IterativeImputer": RECORDS, "TransformedTargetRegressor": "",
    "Pipeline": "", "FeatureUnion": "", "ColumnTransformer": "",
}  # fmt: skip
CONTAINERS = {"Pipeline", "FeatureUnion", "ColumnTransformer"}
#: What fits each estimator that it holds once, or never.
ONCE = CONTAINERS | {
    *("SelectFromModel", "FixedThresholdClassifier", "FrozenEstimator"),
    "TransformedTargetRegressor",
}


def outer(name: str) -> Any:
    regresses = "Regressor" in name or name in ("RegressorChain", "IterativeImputer")
    inner = regressor() if regresses else forest()
    return OUTER.get(name, one())(KINDS[name], inner)


@pytest.mark.parametrize("name", sorted(set(AROUND) - CONTAINERS))
def test_what_is_said_of_each_around_a_private_estimator(name):
    said = check_pipeline(outer(name))
    if name in ONCE:
        assert said == ()
        return
    (sentence,) = said
    assert sentence.startswith(f"{name}: ") and SAID[name] in sentence
    assert "each fit costs its own epsilon, and they add up over" in sentence
    if not SAID[name]:
        assert sentence.startswith(f"{name}: each fit")


def test_each_has_a_word():
    assert set(SAID) == set(AROUND)
    assert {name for name, row in AROUND.items() if not row.adds} == ONCE


@pytest.mark.parametrize("name", sorted(set(AROUND) - set(NOT_FITTED)))
def test_a_fit_sees_what_stands_around_it(name):
    MADE_FITS.clear()
    target = X[:, 0] if "Regressor" in name else y
    if name.startswith("MultiOutput"):
        target = np.column_stack([target, target])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outer(name).fit(X, target)
    assert MADE_FITS
    leaks = {str(w.message) for w in caught if w.category is PrivacyLeakWarning}
    for status, sentence, cautions in MADE_FITS:
        if AROUND[name].voids and SAID[name]:
            assert status == "void" and f"{name}: " in sentence and SAID[name] in sentence
            assert any(SAID[name] in leak for leak in leaks)
        else:
            assert status == "holds" and not leaks
            assert SAID[name] in cautions
        assert (f"{name}: each fit costs its own epsilon" in cautions) == (name not in ONCE)


def test_what_a_fit_saw_around_it_travels_and_is_verified():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ensemble = VotingRegressor([("one", PrivateForestRegressor(epsilon=1, domain=TARGET))])
        model = ensemble.fit(X, X[:, 0]).estimators_[0]
    report = model.privacy_report()
    assert report.basis.around and report.guarantee.status == "holds"
    assert "around this fit, and not part of its guarantee: VotingRegressor" in report.to_markdown()
    verify_report(report.to_json(), model.to_json())
    assert type(model).from_json(model.to_json()).privacy_report().basis.around


def test_nested_combinations():
    member = make_pipeline(StandardScaler(), forest())
    voting = VotingClassifier([("private", member), ("plain", LogisticRegression())])
    said = check_pipeline(make_pipeline(Normalizer(), voting))
    assert [text.split(":")[0] for text in said] == [
        "'votingclassifier' (VotingClassifier)",
        "'votingclassifier' > 'private' > 'standardscaler' (StandardScaler)",
        "'votingclassifier' > 'plain' (LogisticRegression)",
    ]
    stack = StackingClassifier([("a", forest())], final_estimator=make_pipeline(Theirs(), forest()))
    assert check_pipeline(stack)[1] == f"its final estimator > 'theirs' (Theirs): {NOT_KNOWN}"
    assert check_pipeline(LogisticRegression()) == (f"LogisticRegression: {LABELS}",)
    chosen = SelectFromModel(forest(), max_features=lambda table: len(table))
    assert "by a function of the table" in check_pipeline(chosen)[0]
    bagged = BaggingRegressor(regressor(), bootstrap=False)
    assert "a size that follows from the number of records" in check_pipeline(bagged)[0]


def test_columns_chosen_by_a_function_of_the_table():
    from sklearn.compose import ColumnTransformer, make_column_selector

    by_type = ColumnTransformer([("n", FunctionTransformer(), make_column_selector("n"))])
    assert check_pipeline(make_pipeline(by_type, forest())) == (
        "'columntransformer' (ColumnTransformer): columns chosen by a function of the table",
    )


def test_a_wrapper_of_somebody_elses_around_a_fit_is_a_caution():
    MADE_FITS.clear()
    Around(forest()).fit(X, y)
    ((status, _, cautions),) = MADE_FITS
    said = "Around is not known here: if it learns from records, this guarantee is void"
    assert status == "holds" and said in cautions and NOT_KNOWN not in cautions
