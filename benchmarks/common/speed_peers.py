"""Other packages beside which fits and predictions are timed; each is left out where absent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from common.speed_cases import Coded, Fit

Actions = dict[str, Callable[[], Any]]


def sklearn_forest(fit: Fit, table: Coded, X: np.ndarray, threads: int) -> Callable[[], Any]:
    """scikit-learn's forest of the size of a fit."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(fit.n_trees, max_depth=fit.depth, n_jobs=threads)
    return lambda: forest.fit(X, table.labels)


def boosting(table: Coded, X: np.ndarray) -> Actions:
    """Histogram boosting at its defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier()
    return {"HistGradientBoosting": lambda: model.fit(X, table.labels)}


def diffprivlib(fit: Fit, table: Coded, X: np.ndarray, threads: int) -> Actions:
    """diffprivlib's forest of the size of a fit."""
    try:
        from diffprivlib.models import RandomForestClassifier
    except ImportError:
        return {}
    forest = RandomForestClassifier(
        fit.n_trees, epsilon=1, max_depth=fit.depth, bounds=(X.min(axis=0), X.max(axis=0)),
        n_jobs=threads, classes=list(range(table.n_classes)),
    )  # fmt: skip
    return {"diffprivlib": lambda: forest.fit(X, table.labels)}


def dp_ebm(table: Coded, X: np.ndarray) -> Actions:
    """DP-EBM at its defaults, told the bounds of codes; two classes."""
    try:
        from interpret.privacy import DPExplainableBoostingClassifier
    except ImportError:
        return {}
    if table.n_classes > 2:
        return {}
    bounds = {f: (float(X[:, f].min()), float(X[:, f].max()) + 1.0) for f in range(X.shape[1])}
    model = DPExplainableBoostingClassifier(
        epsilon=1.0, delta=1e-6, privacy_bounds=bounds, n_jobs=1,
        feature_types=["continuous"] * X.shape[1],
    )  # fmt: skip
    return {"DP-EBM": lambda: model.fit(X, table.labels)}


def compiled_trees(forest: Any, X: np.ndarray) -> Actions:
    """Prediction of a scikit-learn forest compiled by tl2cgen with gcc, on one thread."""
    try:
        import tl2cgen
        import treelite
    except ImportError:
        return {}
    model = treelite.sklearn.import_model(forest)
    folder = tempfile.TemporaryDirectory()
    library = Path(folder.name) / "forest.so"
    tl2cgen.export_lib(model, toolchain="gcc", libpath=library, params={"parallel_comp": 4})
    predictor = tl2cgen.Predictor(library, nthread=1)

    def predict() -> Any:
        assert folder  # the library lies in it
        return predictor.predict(tl2cgen.DMatrix(X))

    return {"treelite": predict}
