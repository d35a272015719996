"""The main job on real data: ``python -m dpforest demo``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import numpy as np


def run_demo(
    epsilon: float = 1.0,
    output_dir: str | Path = ".",
    split_seed: int = 0,
    stream: TextIO = sys.stdout,
) -> dict[str, Any]:
    """Train on adult with a total epsilon, beside a non-private forest, and write the report.

    Parameters
    ----------
    epsilon : float, default=1.0
        Total budget of the private forest, pure differential privacy under add/remove.
    output_dir : str or Path, default="."
        Where ``privacy_report.json`` and ``privacy_report.md`` are written.
    split_seed : int, default=0
        Seed of the train/test split only; the forest's noise is never seeded here.
    stream : text stream
        Where the lines go; the last one is one JSON object.

    Returns
    -------
    dict
        ``accuracy``, ``auc``, ``baseline_accuracy``, ``baseline_auc``, ``epsilon_spent``,
        ``delta``, ``seconds_fit``, ``report``.
    """
    from dpforest import MultinomialForestClassifier
    from dpforest.datasets import load_adult

    data = load_adult()
    train, test = _split(data.target, split_seed)
    print(f"adult: {len(train)} rows to train on, {len(test)} to test (public data)", file=stream)
    forest = MultinomialForestClassifier(epsilon=epsilon, domain=data.domain)
    _warm_up(data)
    started = time.perf_counter()
    forest.fit(data.data[train], data.target[train])
    seconds = time.perf_counter() - started
    accuracy, auc = _figures(forest, data.data[test], data.target[test])
    baseline_accuracy, baseline_auc = _baseline(data, train, test)
    paths = _write_report(forest, Path(output_dir))
    print(str(forest.guarantee_), file=stream)
    print(
        f"accuracy {accuracy:.4f}, AUC {auc:.4f}; non-private forest "
        f"{baseline_accuracy:.4f}, {baseline_auc:.4f}",
        file=stream,
    )
    result = {
        "accuracy": round(accuracy, 4),
        "auc": round(auc, 4),
        "baseline_accuracy": round(baseline_accuracy, 4),
        "baseline_auc": round(baseline_auc, 4),
        "epsilon_spent": forest.spent_.epsilon,
        "delta": forest.spent_.delta,
        "seconds_fit": round(seconds, 3),
        "report": str(paths),
    }
    print(json.dumps(result), file=stream)
    return result


def _split(target: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(target)), test_size=0.25, stratify=target, random_state=seed
    )
    return train, test


def _warm_up(data: Any) -> None:
    """Compile the kernels on a table without rows, so that the printed time is of the fit."""
    from dpforest import MultinomialForestClassifier

    forest = MultinomialForestClassifier(epsilon=1.0, domain=data.domain)
    forest.fit(data.data[:0], data.target[:0]).predict_proba(data.data[:0])


def _figures(model: Any, features: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    from sklearn.metrics import accuracy_score, roc_auc_score

    probability = model.predict_proba(features)
    predicted = model.classes_[probability.argmax(axis=1)]
    return (
        float(accuracy_score(target, predicted)),
        float(roc_auc_score(target == model.classes_[1], probability[:, 1])),
    )


def _baseline(data: Any, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=100, random_state=0)
    # A missing value is a value of its own here too.
    filled = np.where(np.isnan(data.data), -1.0, data.data)
    forest.fit(filled[train], data.target[train])
    return _figures(forest, filled[test], data.target[test])


def _write_report(forest: Any, folder: Path) -> Path:
    report = forest.privacy_report()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "privacy_report.json"
    path.write_text(report.to_json(), encoding="utf-8")
    (folder / "privacy_report.md").write_text(report.to_markdown(), encoding="utf-8")
    return path
