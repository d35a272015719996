"""A private forest as MLflow serves it: copy this file beside the script that logs the model.

MLflow stores this file as text and runs it where the model is served. It reads ``model.json``, and
nothing is unpickled. See docs/taking_along.md.
"""

from __future__ import annotations

from typing import Any

import mlflow.pyfunc
import pandas as pd
from mlflow.models import ModelSignature, set_model
from mlflow.types import ColSpec, DataType, Schema


def signature(domain: Any) -> ModelSignature:
    """The columns that a model takes and gives, from the declared domain alone.

    Parameters
    ----------
    domain : dpforest.Domain

    Returns
    -------
    mlflow.models.ModelSignature
    """
    kinds = {"numeric": DataType.double, "categorical": DataType.string}
    taken = [
        ColSpec(kinds[feature.kind], feature.name, required=not feature.missing)
        for feature in domain.features
    ]
    given = ["prediction"] if domain.classes is None else map(str, domain.classes.labels)
    return ModelSignature(
        inputs=Schema(taken), outputs=Schema([ColSpec(DataType.double, name) for name in given])
    )


class PrivateForest(mlflow.pyfunc.PythonModel):
    """Probabilities of the classes, or the expected target, one row a record."""

    def load_context(self, context: Any) -> None:
        """Read the stored model; its guarantee and its books are checked on the way."""
        from dpforest import load_model

        self.forest = load_model(context.artifacts["model"])

    def predict(self, context: Any, model_input: pd.DataFrame) -> pd.DataFrame:
        """Predict for records with the declared columns, by their names."""
        if not hasattr(self.forest, "predict_proba"):
            return pd.DataFrame({"prediction": self.forest.predict(model_input)})
        columns = [str(label) for label in self.forest.classes_]
        return pd.DataFrame(self.forest.predict_proba(model_input), columns=columns)


set_model(PrivateForest())
