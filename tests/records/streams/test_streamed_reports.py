"""Reports of streamed fits: true ones are verified, whatever the plan picked for a stream."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import (
    Domain,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    ReportError,
    dask,
    verify_report,
)
from dpforest.estimators.fitting import Fit
from dpforest.streams import BatchStream

N = 600
FEATURES = {"age": (0, 100), "kind": ["a", "b"]}
CLASSES = Domain(features=FEATURES, classes=["ill", "well"], approximate_rows=N)
TARGETS = Domain(features=FEATURES, target=(0, 10), approximate_rows=N)


def parts(y):
    generator = np.random.default_rng(0)
    X = [[int(age), "ab"[kind]] for age, kind in generator.integers(0, 2, (N, 2))]
    return [(X[:400], y[:400]), (X[400:], y[400:])]


@pytest.mark.parametrize("rows", [N, None])
@pytest.mark.parametrize("parameters", [{}, {"delta": "1e-6"}, {"max_records_per_unit": 2}])
def test_reports_of_streamed_classifiers_are_verified(rows, parameters):
    domain = CLASSES.model_copy(update={"approximate_rows": rows})
    # In memory such a budget takes rules beside a forest, which a stream cannot.
    forest = PrivateForestClassifier(epsilon=16, domain=domain, **parameters)
    forest.fit(BatchStream(parts(["ill", "well"] * (N // 2))))
    assert forest.strategy_ in ("one_shot", "refitted")
    report = forest.privacy_report()
    verify_report(report, forest)
    verify_report(report.to_json(), forest.to_json())


def test_reports_of_streamed_regressors_are_verified():
    forest = PrivateForestRegressor(epsilon=16, domain=TARGETS)
    forest.fit(BatchStream(parts(list(np.linspace(0, 10, N)))))
    verify_report(forest.privacy_report(), forest)


def test_that_a_fit_was_streamed_is_held_by_its_plan():
    forest = PrivateForestClassifier(epsilon=16, domain=CLASSES)
    forest.fit(BatchStream(parts(["ill", "well"] * (N // 2))))
    report = forest.privacy_report()
    assert report.basis.streamed
    text = report.to_json().replace('"streamed": true', '"streamed": false')
    assert text != report.to_json()
    with pytest.raises(ReportError):
        verify_report(text)


@pytest.mark.parametrize("kind", ["DaskPrivateForestClassifier", "DaskMultinomialForestClassifier"])
def test_reports_of_forests_on_dask_are_verified(kind):
    forest = getattr(dask, kind)(epsilon=16, domain=CLASSES)
    # As a Dask table is fitted, but with records that need no cluster.
    Fit(forest).run(BatchStream(parts(["ill", "well"] * (N // 2))), None)
    report = forest.privacy_report()
    for model in (forest, forest.to_json()):
        assert "plan and settings" in verify_report(report, model).held


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_the_plan_of_a_stream_is_what_its_fit_does(delta):
    forest = PrivateForestClassifier(epsilon=8, delta=delta, domain=CLASSES)
    on_dask = dask.DaskPrivateForestClassifier(epsilon=8, delta=delta, domain=CLASSES)
    planned = forest.plan(streamed=True)
    assert on_dask.plan() == planned == on_dask.plan(streamed=True)
    assert (forest.plan().strategy != planned.strategy) == (not delta)
    forest.fit(BatchStream(parts(["ill", "well"] * (N // 2))))
    assert forest.strategy_ == planned.strategy
    assert forest.privacy_report().plan == planned.details


def test_a_plan_for_a_stream_refuses_what_its_fit_would():
    for forest in (
        PrivateForestClassifier(epsilon=1, domain=CLASSES, strategy="rules"),
        dask.DaskPrivateForestClassifier(epsilon=1, domain=CLASSES, strategy="rules"),
    ):
        with pytest.raises(ParameterError, match="looks at all records at once"):
            forest.plan(streamed=True)
