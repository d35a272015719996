"""Outcome of a fit: the model, its strategy, and for numbers the range of targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.fit_plan import table_facts
from dpforest.exceptions import ModelFormatError
from dpforest.trees.base import ReleasedModel
from dpforest.trees.stored import whole_numbers
from dpforest.trees.strategies import STRATEGIES
from dpforest.trees.transcript import Transcript


@dataclass(frozen=True, slots=True)
class FitOutcome:
    """Everything that a finished fit hands out, but guarantee and report.

    Attributes
    ----------
    strategy : str
        What was learnt.
    model : ReleasedModel
    target_steps : tuple of int, or None
        Of a regression: between what steps of the declared bounds targets were brought.
    transcript : Transcript or None
        What was released on the way to the model; files leave it out.
    """

    strategy: str
    model: ReleasedModel
    target_steps: tuple[int, int] | None = None
    transcript: Transcript | None = None

    def to_data(self) -> dict[str, Any]:
        """Released values as JSON-ready data."""
        data = {"strategy": self.strategy, "model": self.model.to_data()}
        if self.target_steps is None:
            return data
        return {"target_steps": list(self.target_steps), **data}

    @classmethod
    def from_data(cls, data: dict[str, Any], encoder: DomainEncoder) -> FitOutcome:
        """Read what :meth:`to_data` wrote, checked so that prediction stays in bounds.

        Raises
        ------
        ModelFormatError
        """
        if data["strategy"] not in STRATEGIES:
            raise ModelFormatError("the stored model has an unknown strategy. Store it again.")
        model = STRATEGIES[data["strategy"]].read(data["model"], table_facts(encoder, None))
        steps = _steps(data["target_steps"]) if encoder.task == "regression" else None
        return cls(data["strategy"], model, steps)


def _steps(written: Any) -> tuple[int, int]:
    steps = whole_numbers(written, (2,), "range of the target", 0, TARGET_STEPS)
    low, high = steps.tolist()
    if not low < high:
        raise ModelFormatError(
            "the stored range of the target is not a valid range. Store it again."
        )
    return low, high
