"""The forests of DMRF's experiments as its sections "Baselines" and "Performance test" set them.

All have 100 trees and k = 5. ``(SE)`` splits the records into structure and estimation points of
equal numbers, ``(b)`` lets each record enter a tree with probability 1 − 1/e for both purposes.
"""

from __future__ import annotations

from typing import Any

from papers.forests import Denil14Regressor, MRFRegressor
from papers.sets import PaperSet

#: The paper's names of parameters, and ours. MRF's B1 and B2 are halved in MRF 2020, not here.
_PARAMETERS = {"q": "inclusion", "M": "n_estimators", "k": "leaf_size", "λ": "poisson_mean",
               "m": "search_points"}  # fmt: skip


def forest(method: str, data: PaperSet, seed: int, **changes: float) -> Any:
    """An unfitted forest.

    Parameters
    ----------
    method : str
        A column of the tables; with ``, weighted`` (regression: children's errors by their shares
        of the records, not eq. 5 as printed), ``, leaves of k`` or ``, drawn once`` (a node that
        none of the drawn features can split is a leaf) behind it, a reading of ours.
    data : PaperSet
    seed : int
    **changes : float
        Parameters by the paper's names: B1, B2, p, q, p1, p2, λ, m, M, k.
    """
    name, _, reading = method.partition(", ")
    if name == "BreimanRF":
        return _breiman(data, seed, reading)
    model = _base(name.partition("(")[0], bool(data.classes))
    model.random_state = seed
    model.leaf_size = 5
    model.categorical_features = list(data.categorical)
    model.enforce_leaf_size = reading == "leaves of k"
    model.redraw = reading != "drawn once"
    if name != "DMRF":
        model.records = "partition" if name.endswith("(SE)") else "bernoulli"
    if not data.classes:
        model.criterion = "weighted_mse" if reading == "weighted" else "mse"
    for parameter, value in changes.items():
        doubled = name.startswith("MRF") and parameter in ("B1", "B2")
        setattr(model, _PARAMETERS.get(parameter, parameter), 2 * value if doubled else value)
    return model


def _base(name: str, classification: bool) -> Any:
    from dpforest import consistent

    if classification:
        return getattr(consistent, f"{name}Classifier")(100)
    own = {"MRF": MRFRegressor, "Denil14": Denil14Regressor}
    return own.get(name, getattr(consistent, f"{name}Regressor", None))(100)


def _breiman(data: PaperSet, seed: int, reading: str) -> Any:
    """scikit-learn's; a node of fewer than k records is not split, or leaves have k."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if data.classes else RandomForestRegressor
    stop = {"min_samples_leaf": 5} if reading == "leaves of k" else {"min_samples_split": 5}
    return kind(100, max_features="sqrt", random_state=seed, **stop)
