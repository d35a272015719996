"""load_model: a stored model of any class."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from dpforest.estimators.storage import read_stored, restored
from dpforest.exceptions import ModelFormatError

#: Home of each class that stores models; loaded for the one that is asked for.
_HOMES = {
    "PrivateForestClassifier": "dpforest.estimators.classifier",
    "PrivateForestRegressor": "dpforest.estimators.regressor",
    "MultinomialForestClassifier": "dpforest.estimators.multinomial",
    "DaskPrivateForestClassifier": "dpforest.dask.estimators",
    "DaskPrivateForestRegressor": "dpforest.dask.estimators",
    "DaskMultinomialForestClassifier": "dpforest.dask.estimators",
}


def load_model(path: str | Path) -> Any:
    """Read a model that ``to_json`` wrote, whatever its class.

    Parameters
    ----------
    path : str or Path
        A file, or the text itself.

    Returns
    -------
    estimator
        Of the class that was stored; it predicts identically, and has its guarantee and report.

    Raises
    ------
    ModelFormatError
        Not such a file, damaged, of an unknown version or of an unknown class.
    """
    content = read_stored(path)
    name = content.get("estimator")
    if not isinstance(name, str) or name not in _HOMES:
        raise ModelFormatError(
            f"the stored model is a {name!r}, which this dpforest does not know. Use the dpforest "
            "that wrote it."
        )
    return restored(getattr(import_module(_HOMES[name]), name), content)
