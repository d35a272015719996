"""What docs/taking_along.md says of joblib, skops and MLflow, where they are installed."""

from __future__ import annotations

import importlib.util
import pickle
import struct
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from dpforest import (
    BudgetAccountant,
    Domain,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    verify_report,
)

ROOT = Path(__file__).resolve().parent.parent
pytestmark = [
    pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning"),
    pytest.mark.filterwarnings("ignore::dpforest.LargeDeltaWarning"),
]

NUMBERS = np.random.default_rng(3).uniform(0, 100, 300)
KINDS = np.random.default_rng(4).choice(["a", "b"], 300)
RECORDS = np.column_stack([NUMBERS.astype(object), KINDS])
LABELS = np.where(NUMBERS > 50, "yes", "no")


@pytest.fixture(scope="module")
def forest():
    domain = Domain(
        features={"number": (0, 100), "kind": {"categories": ["a", "b"], "missing": True}},
        classes=["no", "yes"],
        approximate_rows=300,
    )
    accountant = BudgetAccountant(epsilon=5)
    private = PrivateForestClassifier(epsilon=2, domain=domain, accountant=accountant)
    return private.fit(RECORDS, LABELS)


def same(model, other):
    assert model.fingerprint_ == other.fingerprint_
    assert np.array_equal(model.predict_proba(RECORDS), other.predict_proba(RECORDS))


def test_joblib_keeps_the_model_and_leaves_the_live_budget_behind(forest, tmp_path):
    joblib.dump(forest, tmp_path / "forest.joblib")
    again = joblib.load(tmp_path / "forest.joblib")
    same(again, forest)
    verify_report(forest.privacy_report(), again)
    with pytest.raises(ParameterError, match="accountant"):
        again.fit(RECORDS, LABELS)
    same(again, forest)


def test_no_file_holds_a_number_of_a_record(forest):
    assert not told(pickle.dumps(forest)) and not told(forest.to_json().encode())
    # Found where they are:
    for content in (pickle.dumps(NUMBERS), pickle.dumps(RECORDS), repr(RECORDS.tolist()).encode()):
        assert len(told(content)) == len(NUMBERS)


def told(content):
    """Numbers of the records that some bytes hold: as an array, as an object, or as a text."""
    ways = (
        lambda x: struct.pack("<d", x),
        lambda x: struct.pack(">d", x),
        lambda x: repr(x).encode(),
    )
    return [x for x in NUMBERS.tolist() if any(way(x) in content for way in ways)]


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # of pydantic, which the page tells of
def test_skops_reads_what_is_trusted_and_no_more(forest, tmp_path):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    io.dump(forest, tmp_path / "forest.skops")
    types = io.get_untrusted_types(file=tmp_path / "forest.skops")
    assert [name for name in types if not name.startswith("dpforest.")] == ["fractions.Fraction"]
    again = io.load(tmp_path / "forest.skops", trusted=types)
    same(again, forest)
    verify_report(again.privacy_report(), forest)
    with pytest.raises(Exception, match="Untrusted types"):
        io.load(tmp_path / "forest.skops")


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    found = pytest.importorskip("mlflow", reason="MLflow is not installed")
    pytest.importorskip("sqlalchemy", reason="MLflow keeps its books with sqlalchemy")
    monkeypatch.chdir(tmp_path)
    found.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    return found


def example():
    """The module of the example, as a script beside it imports it."""
    spec = importlib.util.spec_from_file_location("example", ROOT / "examples" / "mlflow_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")  # of MLflow and what it stands on
def test_mlflow_serves_a_regressor_with_a_missing_value(mlflow, tmp_path):
    import pandas as pd

    features = {"number": (0, 100), "kind": {"categories": ["a", "b"], "missing": True}}
    domain = Domain(features=features, target=(0, 100), approximate_rows=300)
    private = PrivateForestRegressor(epsilon=5, domain=domain).fit(RECORDS, NUMBERS)
    private.to_json(tmp_path / "model.json")
    mlflow.pyfunc.save_model(
        tmp_path / "served",
        python_model=str(ROOT / "examples" / "mlflow_model.py"),
        artifacts={"model": str(tmp_path / "model.json")},
        signature=example().signature(domain),
        pip_requirements=["dpforest"],
    )
    served = mlflow.pyfunc.load_model(str(tmp_path / "served"))
    records = pd.DataFrame({"number": NUMBERS, "kind": [None, *KINDS[1:]]})
    assert np.array_equal(served.predict(records)["prediction"], private.predict(records))
    with pytest.raises(mlflow.exceptions.MlflowException, match="number"):
        served.predict(records.drop(columns="number"))
    assert not list((tmp_path / "served").rglob("*.pkl"))


@pytest.mark.filterwarnings("ignore")
def test_autolog_leaves_a_forest_alone_and_scores_a_pipeline_on_its_records(mlflow, forest):
    pytest.importorskip("mlflow.sklearn")
    mlflow.sklearn.autolog(log_models=False)
    try:
        private = PrivateForestClassifier(epsilon=2, domain=forest.domain)
        private.fit(RECORDS, LABELS)
        assert mlflow.search_runs(output_format="list") == []
        make_pipeline(private).fit(RECORDS, LABELS)
        (run,) = mlflow.search_runs(output_format="list")
        assert "training_accuracy_score" in run.data.metrics and run.inputs.dataset_inputs
    finally:
        mlflow.sklearn.autolog(disable=True)
