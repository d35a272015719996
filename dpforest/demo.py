"""The main job on real data: ``python -m dpforest demo``."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dpforest.exceptions import FewRecordsWarning, MissingExtraError, WeakSignalWarning, printable
from dpforest.standard_streams import is_terminal, print_result
from dpforest.writing import check_new, check_writable, write_text

#: Files of the report: the page, data for programs, and words.
REPORTS = ("privacy_report.html", "privacy_report.json", "privacy_report.md")


def run_demo(
    epsilon: float = 1.0,
    delta: float = 0.0,
    strategy: str = "auto",
    output_dir: str | Path = ".",
    split_seed: int = 0,
    force: bool = False,
    stream: TextIO | None = None,
) -> dict[str, Any]:
    """Plan, train and report a private forest on adult, beside what needs no budget.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 0.0
        Total budget of the private forest under add/remove of one record.
    strategy : str, default="auto"
        Of the private forest.
    output_dir : str or Path, default="."
        Where ``privacy_report.html`` (with jinja2), ``.json`` and ``.md`` are written.
    split_seed : int, default=0
        Seed of the train/test split only; the forest's noise is never seeded here.
    force : bool, default=False
        Write over files that are there.
    stream : text stream, optional
        Where the lines go, else to stdout; the last one is one JSON object. At a terminal a bar
        goes to stderr.

    Raises
    ------
    ParameterError
        Something is where a file is to be, or the folder or stdout cannot be written.

    Returns
    -------
    dict
        ``accuracy``, ``auc``, ``majority_accuracy``, ``baseline_accuracy``, ``baseline_auc``,
        ``strategy``, ``epsilon_spent``, ``delta``, ``seconds_fit``, ``report``.
    """
    from dpforest import PrivateForestClassifier
    from dpforest.datasets import load_adult

    for name in REPORTS:
        check_new(Path(output_dir) / name, force, "--output-dir")
    data = load_adult()
    train, test = _split(data.target, split_seed)
    parameters = {"epsilon": epsilon, "delta": delta, "strategy": strategy, "domain": data.domain}
    # A bar is for somebody who watches, as everywhere in commands.
    forest = PrivateForestClassifier(**parameters, verbose=int(is_terminal(sys.stderr)))
    _say(f"plan, before any record is touched: {forest.plan()}\n", stream)
    check_writable(Path(output_dir), "--output-dir")
    seconds = _fit(forest, PrivateForestClassifier(**parameters), data, train)
    _say(
        f"adult: fitted on {len(train)} records in {seconds:.2f} s, tested on {len(test)} others",
        stream,
    )
    figures = {
        "majority class": _majority(data.target[train], data.target[test]),
        "this forest": _figures(forest, data.data[test], data.target[test]),
        "a forest without privacy": _baseline(data, train, test),
    }
    for name, (accuracy, auc) in figures.items():
        _say(f"  {name:24}  accuracy {accuracy:.4f}, AUC {auc:.4f}", stream)
    path = _write_report(forest, Path(output_dir), force, stream)
    report = printable(str(path))
    _say(f"{forest.guarantee_}\nspent {forest.spent_}; report: {report}", stream)
    result = _result(forest, list(figures.values()), seconds, path)
    _say(json.dumps(result), stream)
    return result


def _say(words: str, stream: TextIO | None) -> None:
    """Print to a stream; without one to stdout, whose refusal has words of its own."""
    if stream is None:
        print_result(words)
    else:
        print(words, file=stream, flush=True)


def _result(
    forest: Any, figures: list[tuple[float, float]], seconds: float, path: Path
) -> dict[str, Any]:
    majority, ours, baseline = figures
    return {
        "accuracy": round(ours[0], 4),
        "auc": round(ours[1], 4),
        "majority_accuracy": round(majority[0], 4),
        "baseline_accuracy": round(baseline[0], 4),
        "baseline_auc": round(baseline[1], 4),
        "strategy": forest.strategy_,
        "epsilon_spent": forest.spent_.epsilon,
        "delta": forest.spent_.delta,
        "seconds_fit": round(seconds, 3),
        "report": str(path),
    }


def _split(target: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(target)), test_size=0.25, stratify=target, random_state=seed
    )
    return train, test


def _fit(forest: Any, other: Any, data: Any, train: np.ndarray) -> float:
    """Fit, and say how long that took without compiling: another one is fitted to no records."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)  # the forecast has said so
        warnings.simplefilter("ignore", FewRecordsWarning)  # no records are meant
        other.fit(data.data[:0], data.target[:0]).predict_proba(data.data[:0])
        warnings.simplefilter("default", FewRecordsWarning)
        started = time.perf_counter()
        forest.fit(data.data[train], data.target[train])
    return time.perf_counter() - started


def _majority(known: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Accuracy of the commonest class, whose ranking is worth nothing."""
    labels, counts = np.unique(known, return_counts=True)
    return float(np.mean(target == labels[counts.argmax()])), 0.5


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


def _write_report(forest: Any, folder: Path, force: bool, stream: TextIO | None) -> Path:
    """Write the report in all its forms; return the page, or without jinja2 the JSON."""
    report = forest.privacy_report()
    page, data, words = (folder / name for name in REPORTS)

    def write(path: Path, text: str) -> None:
        write_text(path, text, force=force, option="--output-dir")

    write(words, report.to_markdown())
    write(data, report.to_json())
    try:
        write(page, report.to_html())
    except MissingExtraError as missing:
        _say(f"no page: {missing}", stream)
        return data
    return page
