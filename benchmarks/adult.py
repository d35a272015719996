"""Accuracy and AUC of the multinomial forest on adult, defaults, beside its neighbours.

The same stratified 75/25 splits for all; noise from the operating system. Writes a Markdown table.

Run with ``python benchmarks/adult.py [--seeds 5] [--epsilons 0.1 0.5 1 2 5]``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from dpforest import MultinomialForestClassifier
from dpforest.datasets import load_adult


def models(data: Any) -> dict[str, Callable[[float], Any]]:
    """Makers of unfitted models by name, each from an epsilon."""
    domain = data.domain
    made: dict[str, Callable[[float], Any]] = {
        "dpforest, default (pure)": lambda e: MultinomialForestClassifier(epsilon=e, domain=domain),
        "dpforest, delta = 1e-6": lambda e: MultinomialForestClassifier(
            epsilon=e, delta=1e-6, domain=domain
        ),
        "dpforest, as published": lambda e: MultinomialForestClassifier.as_published(
            epsilon=e, domain=domain, n_estimators=10, max_depth=4
        ),
    }
    try:
        from diffprivlib.models import RandomForestClassifier as PrivateForest
    except ImportError:
        return made
    lower, upper = _numeric_bounds(domain)
    # Class codes, since text labels come out wrong there without a word.
    made["diffprivlib, defaults"] = lambda e: PrivateForest(
        epsilon=e, bounds=(lower, upper), classes=[0, 1]
    )
    return made


def _numeric_bounds(domain: Any) -> tuple[np.ndarray, np.ndarray]:
    """Public bounds of every column as numbers; a category is its position, a missing value -1."""
    lower = [-1 if f.kind == "categorical" or f.missing else f.lower for f in domain.features]
    upper = [len(f.categories) - 1 if f.kind == "categorical" else f.upper for f in domain.features]
    return np.array(lower, float), np.array(upper, float)


def figures(model: Any, features: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Accuracy and AUC."""
    probability = model.predict_proba(features)
    predicted = np.asarray(model.classes_)[probability.argmax(axis=1)]
    auc = roc_auc_score(target == model.classes_[1], probability[:, 1])
    return float(accuracy_score(target, predicted)), float(auc)


def run(seeds: int, epsilons: list[float]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    data = load_adult()
    codes = (data.target == data.domain.classes.labels[1]).astype(int)
    filled = np.where(np.isnan(data.data), -1.0, data.data)
    splits = [
        train_test_split(
            np.arange(len(data.target)), test_size=0.25, stratify=data.target, random_state=seed
        )
        for seed in range(seeds)
    ]
    print("| model | " + " | ".join(f"epsilon {e:g}" for e in epsilons) + " |")
    print("|" + " --- |" * (len(epsilons) + 1))
    for name, make in models(data).items():
        theirs = name.startswith("diffprivlib")
        table = filled if theirs else data.data
        target = codes if theirs else data.target
        cells = []
        for epsilon in epsilons:
            scores = [
                figures(make(epsilon).fit(table[a], target[a]), table[b], target[b])
                for a, b in splits
            ]
            accuracy, auc = np.mean(scores, axis=0)
            cells.append(f"{100 * accuracy:.1f} / {auc:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    scores = [
        figures(
            RandomForestClassifier(100, random_state=0).fit(filled[a], data.target[a]),
            filled[b],
            data.target[b],
        )
        for a, b in splits
    ]
    accuracy, auc = np.mean(scores, axis=0)
    print(f"| not private: RandomForestClassifier(100) | {100 * accuracy:.1f} / {auc:.3f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.5, 1, 2, 5])
    arguments = parser.parse_args()
    run(arguments.seeds, arguments.epsilons)
