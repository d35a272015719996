"""Fit and predict of the multinomial forest beside scikit-learn's and diffprivlib's, in one run.

Adult, 36,631 training rows, on the same codes, one thread, after compilation: 100 trees of depth
8, every feature scored at every node. Medians over interleaved repeats; ratios are what to quote.
The first line times encoding of a data frame, which is a line of its own.

Run with ``python benchmarks/forest.py [--repeats 5] [--first-fit]``; ``--first-fit`` times instead
what a fresh machine pays for compilation, with an empty cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import numpy as np
from common.timing import median_seconds

ROWS = 36_631
TREES = 100
DEPTH = 8


def coded_adult() -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """Adult as a matrix of codes, class codes, a domain of those codes, and the raw data."""
    from dpforest import CategoricalFeature, Domain, NumericFeature
    from dpforest.datasets import load_adult
    from dpforest.domain.encoder import DomainEncoder

    data = load_adult()
    encoder = DomainEncoder(data.domain)
    table = encoder.encode(data.data, data.target)
    codes = np.ascontiguousarray(table.matrix.codes[:ROWS])
    features = []
    for name, n_codes, ordered in zip(
        data.domain.feature_names, encoder.n_codes, encoder.ordered, strict=True
    ):
        if ordered:
            features.append(NumericFeature(name=name, lower=0, upper=n_codes - 1, integer=True))
        else:
            # The codes themselves are the categories; the last one stands for the rest.
            texts = [str(code) for code in range(n_codes)]
            features.append(CategoricalFeature(name=name, categories=texts, other=texts[-1]))
    domain = Domain(features=features, classes=[0, 1])
    return codes, np.ascontiguousarray(table.labels[:ROWS]), domain, data


def fitted_models(codes: np.ndarray, labels: np.ndarray, domain: Any) -> dict[str, Any]:
    """Unfitted models by name."""
    from sklearn.ensemble import RandomForestClassifier

    from dpforest import MultinomialForestClassifier

    models: dict[str, Any] = {
        "dpforest": MultinomialForestClassifier(
            epsilon=1, domain=domain, n_estimators=TREES, max_depth=DEPTH
        ),
        "scikit-learn": RandomForestClassifier(TREES, max_depth=DEPTH, n_jobs=1),
    }
    try:
        from diffprivlib.models import RandomForestClassifier as PrivateForest
    except ImportError:
        print("diffprivlib: not here (it needs scikit-learn < 1.9)")
        return models
    bounds = (codes.min(axis=0), codes.max(axis=0))
    models["diffprivlib"] = PrivateForest(
        TREES, epsilon=1, max_depth=DEPTH, bounds=bounds, classes=[0, 1]
    )
    return models


def compare(repeats: int) -> None:
    """Print fit and predict seconds and their ratios to scikit-learn."""
    warnings.simplefilter("ignore")
    codes, labels, domain, data = coded_adult()
    models = fitted_models(codes, labels, domain)
    for model in models.values():
        model.fit(codes, labels).predict_proba(codes[:100])
    fits = {n: (lambda m=m: m.fit(codes, labels)) for n, m in models.items()}
    predictions = {n: (lambda m=m: m.predict_proba(codes)) for n, m in models.items()}
    show_encoding(data, repeats)
    fit_on_encoded(codes, labels, domain, fits)
    for title, actions in (("fit", fits), ("predict_proba", predictions)):
        seconds = median_seconds(actions, repeats)
        for name, value in seconds.items():
            ratio = value / seconds["scikit-learn"]
            print(f"{title:14s} {name:22s} {value:8.3f} s   {ratio:6.3f} x scikit-learn")


def fit_on_encoded(codes: Any, labels: Any, domain: Any, fits: dict[str, Any]) -> None:
    """Add a fit that starts from the encoded table, as the comparison with trees asks for."""
    from dpforest import BudgetAccountant, MultinomialForestClassifier
    from dpforest.domain.encoder import DomainEncoder

    encoder = DomainEncoder(domain)
    table = encoder.encode(codes, labels)

    class Encoded(MultinomialForestClassifier):
        """The same fit with encoding taken out of it."""

        def _encode(self, run: Any, X: Any, y: Any) -> Any:
            return table

    def fit() -> Any:
        accountant = BudgetAccountant(epsilon=1)
        model = Encoded(
            epsilon=1, domain=domain, n_estimators=TREES, max_depth=DEPTH, accountant=accountant
        )
        return model.fit(codes[:0], labels[:0])

    fits["dpforest, encoded"] = fit


def show_encoding(data: Any, repeats: int) -> None:
    """Print the time to encode adult as a data frame."""
    from dpforest.datasets import load_adult
    from dpforest.domain.encoder import DomainEncoder

    frame = load_adult(as_frame=True)
    encoder = DomainEncoder(data.domain)
    X, y = frame.data.iloc[:ROWS], frame.target.iloc[:ROWS]
    seconds = median_seconds({"encode": lambda: encoder.encode(X, y)}, repeats)["encode"]
    print(f"{'encode':14s} {'data frame':22s} {seconds:8.3f} s")


FIRST_FIT = """
import time, warnings
from collections import Counter
from numba.core import event
import dpforest
from dpforest.datasets import load_adult
warnings.simplefilter("ignore")
d = load_adult()
X, y, domain = d.data[:36631], d.target[:36631], d.domain
def fit():
    started = time.process_time()
    {model}.fit(X, y).predict_proba(X[:100])
    return time.process_time() - started
with event.install_recorder("numba:compile") as recorder:
    first = fit()
made = Counter((str(e.data["dispatcher"]), str(e.data["args"]))
               for _, e in recorder.buffer if e.is_start)
again = sum(times - 1 for times in made.values())
later = sorted(fit() for _ in range(3))[1]
print(f"first {{first:.2f}} s, later {{later:.2f}} s, {{len(made)}} compiled, {{again}} twice")
"""
FIRST_FITS = {
    "multinomial": "dpforest.MultinomialForestClassifier(epsilon=1, domain=domain)",
    "one-shot": "dpforest.PrivateForestClassifier("
    "epsilon=1, delta=1e-6, domain=domain, strategy='one_shot')",
    "refitted": "dpforest.PrivateForestClassifier("
    "epsilon=1, delta=1e-6, domain=domain, strategy='refitted')",
}


def first_fit() -> None:
    """Processor seconds of a first fit with an empty cache of compiled code, then a warm one."""
    for name, model in FIRST_FITS.items():
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            for title in ("empty cache", "warm cache"):
                run = subprocess.run(
                    [sys.executable, "-c", FIRST_FIT.format(model=model)],
                    env=environment, capture_output=True, text=True,
                )  # fmt: skip
                print(f"{name:12s} {title:12s}", run.stdout.strip() or run.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first-fit", action="store_true")
    arguments = parser.parse_args()
    first_fit() if arguments.first_fit else compare(arguments.repeats)
