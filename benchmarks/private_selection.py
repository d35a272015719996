"""A paid choice among strategies against the public rule that picks one for nothing.

``auto`` (the public rule) against `private_choice` among its default two candidates, on the same
stratified 75/25 splits with noise from the operating system. The number of training rows is
declared to both, rounded to hundreds. A difference is the selection's less the rule's, with the
standard error of the paired mean.

Run with ``python benchmarks/private_selection.py [--seeds 5] [--epsilons 0.5 2] [--deltas 0 1e-6]
[--sets wdbc nursery ...]``.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from common.tables import Table, data_folder, load_table
from private_choice.learner import fit
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from dpforest import Domain, PrivateForestClassifier

#: A few of each size; none of them was used to find the shares of a private selection.
SETS = ("mammographic_masses", "wdbc", "car", "mushroom", "nursery", "magic", "adult")


def compare(table: Table, epsilon: float, delta: float, seeds: int) -> None:
    """Print a line."""
    found, picked, chosen = [], Counter[str](), Counter[str]()
    for seed in range(seeds):
        rule, choice = (
            scored(table, fitted, epsilon, delta, seed) for fitted in (by_rule, by_choice)
        )
        found.append([rule[1:], choice[1:]])
        picked[rule[0].strategy_] += 1
        chosen[choice[0].strategy] += 1
    scores = np.array(found)
    means, apart = scores.mean(axis=0), scores[:, 1] - scores[:, 0]
    error = apart.std(axis=0, ddof=1) / seeds**0.5
    cells = [
        table.name, f"{epsilon:g}", f"{delta:g}", f"{means[0, 0]:.1f}", f"{means[1, 0]:.1f}",
        f"{apart[:, 0].mean():+.1f} ± {error[0]:.1f}",
        f"{apart[:, 1].mean():+.3f} ± {error[1]:.3f}", counted(picked), counted(chosen),
    ]  # fmt: skip
    print("| " + " | ".join(cells) + " |", flush=True)


def by_rule(X: Any, y: Any, domain: Domain, epsilon: float, delta: float) -> Any:
    """What the public rule picks."""
    return PrivateForestClassifier(epsilon=epsilon, delta=delta, domain=domain).fit(X, y)


def by_choice(X: Any, y: Any, domain: Domain, epsilon: float, delta: float) -> Any:
    """What is chosen for a price."""
    return fit(X, y, domain, epsilon, delta)


def scored(
    table: Table, fitted: Callable[..., Any], epsilon: float, delta: float, seed: int
) -> tuple[Any, float, float]:
    """A model with its accuracy in per cent and its log loss on the rows that were left out."""
    rows = np.arange(table.y.size)
    train, test = train_test_split(rows, test_size=0.25, stratify=table.y, random_state=seed)
    declared = max(round(train.size, -2), 100)
    domain = table.domain.model_copy(update={"approximate_rows": declared})
    model = fitted(table.X[train], table.y[train], domain, epsilon, delta)
    probability, truth = model.predict_proba(table.X[test]), table.y[test]
    right = (model.classes_[probability.argmax(axis=1)] == truth).mean()
    return model, 100 * right, log_loss(truth, probability, labels=model.classes_)


def counted(names: Counter[str]) -> str:
    """Names with how often."""
    return ", ".join(f"{name} {n}" for name, n in names.most_common())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 2.0])
    parser.add_argument("--deltas", type=float, nargs="+", default=[0.0, 1e-6])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = ("set", "ε", "δ", "rule", "selection", "accuracy", "log loss", "rule took", "selected")
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    for name in given.sets:
        table = load_table(data_folder(), name)
        for epsilon in given.epsilons:
            for delta in given.deltas:
                compare(table, epsilon, delta, given.seeds)
