"""Table of scikit-learn's transformers and meta-estimators: how each uses records.

A row says what a class learns without paying, which estimators it fits, and over what their fits
add up. A class of scikit-learn that may stand before or around another estimator and has no row is
reported as not known, and tests/estimators/test_pipeline_rows.py fails until it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpforest.estimators.sharing import package_of

RECORDS = "learns from the records"
LABELS = "learns from the records and labels"
#: For a class of which neither a row nor a tag says anything.
NOT_KNOWN = "is not known here, so it is taken to learn from the records"
#: For such a class if it fits the private estimator itself: nothing shows what it hands on.
NOT_KNOWN_AROUND = "{} is not known here: if it learns from records, this guarantee is void"

_CODES = "label encoding (codes for the labels that occur)"
_CHOICE = "a choice by scores on the records"
_ERRORS = "records that are weighted or repeated by the errors made on them"
_BY_LABEL = "label encoding (which labels occur, with a fit for each)"
_CALLED = "columns chosen by a function of the table"


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """Use of records by one class.

    Parameters
    ----------
    learns : str or callable
        What it learns itself, unpaid, in words; empty if nothing. A callable is asked for it
        with the estimator, whose parameters decide.
    holds : tuple of str
        Attributes with the estimators that it fits: one, or a list of names and estimators.
    adds : str
        Over what the fits of those add up; empty where each is fitted once.
    voids : bool
        Whether what it learns voids the guarantee of a fit inside it. If not it is told of as a
        caution: scores on records are what no guarantee speaks of.
    encodes : bool
        Whether a fit inside it gets codes in the place of labels.
    columns : {"", "others", "by place"}
        Whether a fit inside it gets other columns than the whole has, or what the fit tells of
        its features is looked up by the places that columns have outside.
    """

    learns: str | Callable[[Any], str] = ""
    holds: tuple[str, ...] = ()
    adds: str = ""
    voids: bool = True
    encodes: bool = False
    columns: Literal["", "others", "by place"] = ""

    def learnt_by(self, estimator: Any) -> str:
        """Say in words what an estimator of this class learns itself."""
        if not callable(self.learns):
            return self.learns
        try:
            return self.learns(estimator)
        except Exception:  # parameters that cannot be read, or are none
            return NOT_KNOWN


def _sampled(codes: str) -> Callable[[Any], str]:
    def learns(bagging: Any) -> str:
        if getattr(bagging, "bootstrap", True):
            return f"records that are repeated (bootstrap){codes}"
        return f"subsets of a size that follows from the number of records{codes}"

    return learns


def _links(chain: Any) -> str:
    """A chain hands true labels on where ``cv`` is None, else predictions for the records."""
    if getattr(chain, "cv", None) is None:
        return ""
    return "a second stage (from predictions of earlier links)"


def _columns(transformer: Any) -> str:
    called = any(callable(columns) for *_, columns in transformer.transformers)
    return _CALLED if called else ""


def _listed(told: tuple[str, ...], repair: str) -> Callable[[Any], str]:
    """Words on an encoder: nothing is learnt where its categories are texts that somebody wrote.

    Numbers stay out. How they are compared depends on the column's type, which one record may
    decide: scikit-learn turns the list into it.
    """

    def learns(encoder: Any) -> str:
        lists = encoder.categories
        if isinstance(lists, str) or not all(_is_text(one) for some in lists for one in some):
            return RECORDS
        counts = (getattr(encoder, name, None) for name in ("min_frequency", "max_categories"))
        if any(count is not None for count in counts):
            return f"{RECORDS} (how often categories occur)"
        if encoder.handle_unknown in told or getattr(encoder, "drop", None) is not None:
            return f"{RECORDS} (an error or a warning tells of a category not listed: {repair})"
        return ""

    return learns


def _is_text(category: Any) -> bool:
    """Say if a category is a text, and none of a number."""
    if not isinstance(category, str):
        return False
    try:
        float(category)
    except ValueError:
        return True
    return False


def _features(selector: Any) -> str:
    """Chosen by what the inner estimator released, unless a function looks at the table."""
    return _CALLED if callable(getattr(selector, "max_features", None)) else ""


def _default(target: Any) -> str:
    return f"{LABELS} (its default regressor)" if target.regressor is None else ""


_ONE = ("estimator",)
#: Where an estimator without a row may hold others.
_USUAL = ("estimator", "regressor", "classifier", "estimators", "steps")
_STACK = ("estimators", "final_estimator")
_SEARCH = PipelineRow(
    f"{_CHOICE} among its candidates", _ONE, "its candidates and folds", voids=False
)
_CHAIN = PipelineRow(_links, ("estimator", "base_estimator"), "the outputs", columns="others")
_SCORED_FEATURES = PipelineRow(
    f"{_CHOICE} among features", _ONE, "its rounds and folds", columns="others"
)

#: Meta-estimators and containers: what holds other estimators.
AROUND: dict[str, PipelineRow] = {
    "Pipeline": PipelineRow(holds=("steps",)),
    "FeatureUnion": PipelineRow(holds=("transformer_list",)),
    "ColumnTransformer": PipelineRow(_columns, ("transformers", "remainder")),
    "TransformedTargetRegressor": PipelineRow(_default, ("transformer", "regressor")),
    "FrozenEstimator": PipelineRow(),
    "FixedThresholdClassifier": PipelineRow(holds=_ONE),
    "TunedThresholdClassifierCV": PipelineRow(
        "a second stage (a threshold from predictions and labels)", _ONE, "its folds"
    ),
    "CalibratedClassifierCV": PipelineRow(
        "a second stage (calibration, from predictions and labels), on folds by label",
        _ONE,
        "its folds",
    ),
    "VotingClassifier": PipelineRow(_CODES, ("estimators",), "its members", encodes=True),
    "VotingRegressor": PipelineRow(holds=("estimators",), adds="its members"),
    "StackingClassifier": PipelineRow(
        f"{_CODES}, and a second stage (from predictions for the records, and labels)",
        _STACK,
        "its members and their folds",
        encodes=True,
    ),
    "StackingRegressor": PipelineRow(
        "a second stage (from predictions for the records, and targets)",
        _STACK,
        "its members and their folds",
    ),
    "BaggingClassifier": PipelineRow(
        _sampled(f", and {_CODES}"), _ONE, "its members", encodes=True
    ),
    "BaggingRegressor": PipelineRow(_sampled(""), _ONE, "its members"),
    "AdaBoostClassifier": PipelineRow(_ERRORS, _ONE, "its rounds"),
    "AdaBoostRegressor": PipelineRow(_ERRORS, _ONE, "its rounds"),
    "SelfTrainingClassifier": PipelineRow(
        "labels that it gives to records by earlier predictions", _ONE, "its rounds"
    ),
    "RANSACRegressor": PipelineRow("subsets of the records, by how they fit", _ONE, "its trials"),
    "OneVsRestClassifier": PipelineRow(_BY_LABEL, _ONE, "the labels", encodes=True),
    "OneVsOneClassifier": PipelineRow(
        f"{_BY_LABEL}, and subsets of the records by label", _ONE, "pairs of labels", encodes=True
    ),
    "OutputCodeClassifier": PipelineRow(_BY_LABEL, _ONE, "its codes", encodes=True),
    "MultiOutputClassifier": PipelineRow(holds=_ONE, adds="the outputs"),
    "MultiOutputRegressor": PipelineRow(holds=_ONE, adds="the outputs"),
    "ClassifierChain": _CHAIN,
    "RegressorChain": _CHAIN,
    "GridSearchCV": _SEARCH,
    "RandomizedSearchCV": _SEARCH,
    "HalvingGridSearchCV": _SEARCH,
    "HalvingRandomSearchCV": _SEARCH,
    "SelectFromModel": PipelineRow(_features, _ONE, columns="by place"),
    "RFE": PipelineRow(holds=_ONE, adds="its rounds", columns="others"),
    "RFECV": _SCORED_FEATURES,
    "SequentialFeatureSelector": _SCORED_FEATURES,
    "IterativeImputer": PipelineRow(RECORDS, _ONE, "features and rounds"),
}

#: Transformers: what may stand before another estimator.
_STATELESS = """
    AdditiveChi2Sampler Binarizer FeatureHasher FunctionTransformer HashingVectorizer Normalizer
    PatchExtractor PolynomialCountSketch PolynomialFeatures SkewedChi2Sampler SparseCoder
"""
#: Random projections among them: their width or density may follow from the number of records.
_FROM_RECORDS = """
    BernoulliRBM Birch BisectingKMeans CountVectorizer DictVectorizer DictionaryLearning
    FactorAnalysis FastICA FeatureAgglomeration GaussianRandomProjection IncrementalPCA Isomap
    KBinsDiscretizer KMeans KNNImputer KNeighborsTransformer KernelCenterer KernelPCA
    LatentDirichletAllocation LocallyLinearEmbedding MaxAbsScaler MinMaxScaler
    MiniBatchDictionaryLearning MiniBatchKMeans MiniBatchNMF MiniBatchSparsePCA MissingIndicator NMF
    Nystroem OneHotEncoder OrdinalEncoder PCA PowerTransformer QuantileTransformer RBFSampler
    RadiusNeighborsTransformer RandomTreesEmbedding RobustScaler SimpleImputer SparsePCA
    SparseRandomProjection SplineTransformer StandardScaler TfidfTransformer TfidfVectorizer
    TruncatedSVD VarianceThreshold
"""
_FROM_LABELS = """
    CCA GenericUnivariateSelect IsotonicRegression LabelBinarizer LabelEncoder
    LinearDiscriminantAnalysis MultiLabelBinarizer NeighborhoodComponentsAnalysis PLSCanonical
    PLSRegression PLSSVD SelectFdr SelectFpr SelectFwe SelectKBest SelectPercentile TargetEncoder
"""
ALONE: dict[str, PipelineRow] = {
    name: PipelineRow(learns)
    for names, learns in ((_STATELESS, ""), (_FROM_RECORDS, RECORDS), (_FROM_LABELS, LABELS))
    for name in names.split()
}
ALONE["OneHotEncoder"] = PipelineRow(
    _listed(("error", "warn"), "write handle_unknown='ignore', without drop")
)
ALONE["OrdinalEncoder"] = PipelineRow(
    _listed(("error",), "write handle_unknown='use_encoded_value', unknown_value=-1")
)


def row_of(estimator: Any) -> PipelineRow:
    """Find an estimator's row: its class's, or its nearest base's, or one made of its tags."""
    kind = type(estimator)
    around = around_row(kind)
    if around is None and _is_sklearns(kind) and kind.__name__ in ALONE:
        return ALONE[kind.__name__]
    if around is None:
        said = _said_by_tags(estimator)
        return PipelineRow(said, () if _is_sklearns(kind) and said != NOT_KNOWN else _USUAL)
    if _is_sklearns(kind) or around.learnt_by(estimator):
        return around
    # It is not known what somebody else's subclass adds.
    return replace(around, learns=_said_by_tags(estimator))


def around_row(kind: type) -> PipelineRow | None:
    """The row of a class that holds other estimators, or of its nearest base that has one."""
    names = (base.__name__ for base in kind.__mro__ if _is_sklearns(base))
    return next((AROUND[name] for name in names if name in AROUND), None)


def is_search(kind: type) -> bool:
    """True of a search of scikit-learn's own, which tries candidates of one estimator."""
    return _is_sklearns(kind) and AROUND.get(kind.__name__) is _SEARCH


def _is_sklearns(kind: type) -> bool:
    return package_of(kind) == "sklearn"


def _said_by_tags(estimator: Any) -> str:
    """Make a row for an estimator that has none, from what it says of itself.

    A class of somebody else's counts as learning unless it declares by scikit-learn's tag
    ``requires_fit`` that it needs no fitting. One of scikit-learn's without a row is not asked if
    it transforms: a new one is not known until somebody has read it.
    """
    from sklearn.utils import get_tags

    try:
        tags = get_tags(estimator)
    except Exception:  # whatever a class that is not scikit-learn's makes of the question
        return NOT_KNOWN
    if not _is_sklearns(type(estimator)):
        return NOT_KNOWN if tags.requires_fit else ""
    if hasattr(estimator, "transform") or set(_USUAL) & set(estimator.get_params(deep=False)):
        return NOT_KNOWN
    return LABELS if tags.estimator_type in ("classifier", "regressor") else RECORDS
