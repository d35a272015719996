"""Models of a strategy that nobody can ask for any more are read, and their reports verified."""

from __future__ import annotations

import gzip
import json
import pickle
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frozen_cases import points_of, table_of
from sklearn.base import clone

import dpforest
from dpforest import (
    BudgetAccountant,
    ParameterError,
    PrivacyReport,
    __version__,
    read_plain,
    verify_report,
)
from dpforest import dask as on_dask
from dpforest.accounting.conversion import LIBRARY, conversion_method
from dpforest.estimators.fitting import Fit
from dpforest.plain.reader import PlainModel

FOLDER = Path(__file__).with_name("once_asked")
INDEX: dict[str, dict[str, Any]] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
each = pytest.mark.parametrize("name", INDEX)


def text(name: str, kind: str) -> str:
    return gzip.decompress((FOLDER / f"{name}.{kind}.json.gz").read_bytes()).decode()


def model_of(name: str) -> Any:
    kind = INDEX[name]["estimator"]
    return getattr(on_dask if kind.startswith("Dask") else dpforest, kind).from_json(
        text(name, "model")
    )


def check_predictions(model: Any, name: str) -> None:
    points = points_of(INDEX[name]["table"])
    if isinstance(model, PlainModel):
        points = points.tolist()
    predict = model.predict if INDEX[name]["task"] == "target" else model.predict_proba
    np.testing.assert_allclose(predict(points), INDEX[name]["predictions"], rtol=1e-8, atol=1e-12)


def test_every_task_and_way_is_among_them():
    assert {one["estimator"] for one in INDEX.values()} == {
        "PrivateForestClassifier",
        "PrivateForestRegressor",
        "DaskPrivateForestClassifier",
    }
    plans = [PrivacyReport.from_json(text(name, "report")).plan for name in INDEX]
    assert {plan["strategy"] for plan in plans} == {"multinomial"}
    assert {plan["trees"] for plan in plans} == {"3", "5", "10"}
    kinds = {path.name.split(".")[1] for path in FOLDER.glob("*.gz")}
    assert kinds == {"model", "report", "plain"}
    assert len(list(FOLDER.glob("*.gz"))) == 3 * len(INDEX)


@each
def test_a_model_is_read_and_kept(name):
    model = model_of(name)
    spent, (epsilon, delta, rho) = model.spent_.exact, INDEX[name]["spent"]
    assert [str(spent.delta), str(spent.rho)] == [delta, rho]
    # Where rho cannot be converted as it was, claims by caps are larger.
    if str(spent.epsilon) != epsilon:
        assert conversion_method() != LIBRARY and spent.epsilon > Fraction(epsilon)
    assert model.strategy_ == model.strategy == "multinomial"
    again = dpforest.load_model(model.to_json()), pickle.loads(pickle.dumps(model))
    for kept in (model, *again):
        assert type(kept) is type(model)
        check_predictions(kept, name)
        assert kept.fingerprint_ == model.fingerprint_


@each
def test_it_is_explained_and_exported(name):
    model, points = model_of(name), points_of(INDEX[name]["table"])
    np.testing.assert_allclose(model.feature_importances_, INDEX[name]["importances"], rtol=1e-9)
    explanation = model.explain()
    assert sum(explanation.importances.values()) == pytest.approx(1)
    assert model.shapley_values(points[:2]).values.shape[0] == 2
    gain = INDEX[name]["gain"]
    assert gain is None or model.expected_gain() == pytest.approx(gain)
    check_predictions(read_plain(text(name, "plain")), name)
    check_predictions(read_plain(model.to_plain()), name)
    assert "SELECT" in model.to_sql(keep=["number"])


@each
def test_its_onnx_file_is_written(name):
    pytest.importorskip("onnx")
    assert model_of(name).to_onnx()


@each
def test_its_report_is_verified(name):
    report = text(name, "report")
    written = PrivacyReport.from_json(report)
    if written.facts.delta != "0":
        pytest.importorskip("dp_accounting", reason="its rho was converted by that library")
    model = model_of(name)
    assert model.privacy_report().model_fingerprint == written.model_fingerprint
    for given in (model, text(name, "model")):
        for said in (report, model.privacy_report()):
            found = verify_report(said, given)
            assert "everything against the model and its fingerprint" in found.held
            # As long as the release is the one that wrote it, its plan is made again.
            planned = written.versions["dpforest"] == __version__
            assert ("plan and settings" in found.held) == planned


@each
def test_a_report_that_claims_another_plan_is_found(name):
    data = json.loads(text(name, "report"))
    assert data["plan"]["trees"] in ("3", "5", "10")
    data["plan"]["trees"] = "4"
    with pytest.raises(dpforest.ReportError):
        verify_report(json.dumps(data))


@each
def test_a_new_fit_is_refused_before_anything_is_spent(name):
    table = table_of(INDEX[name]["table"], INDEX[name]["task"])
    accountant = BudgetAccountant(9, 1e-3)
    for model in (model_of(name), clone(model_of(name))):
        model.set_params(accountant=accountant)
        # On Dask a fit needs a cluster; this is what it comes to.
        fit = Fit(model).run if "Dask" in INDEX[name]["estimator"] else model.fit
        for refused in (partial(fit, table.X, table.y), model.plan):
            with pytest.raises(ParameterError, match="is an estimator of its own"):
                refused()
    assert accountant.ledger == () and accountant.composition().children == ()
