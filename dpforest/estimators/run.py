"""What one fit gathers for its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpforest.accounting.units import check_records_per_unit
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.mechanisms.entropy import RandomSource
from dpforest.observation import releases_observed


@dataclass(slots=True)
class FitRun:
    """What one fit gathers for its report: public and released facts only."""

    epsilon: Fraction
    delta: Fraction
    domain: Domain
    encoder: DomainEncoder
    source: RandomSource
    settings: dict[str, Any]
    parameters: dict[str, str]
    charged_to: str
    leaks: list[str] = field(default_factory=list)
    #: Whether records are read pass by pass.
    streamed: bool = False
    #: What estimators around the fit do that no guarantee speaks of.
    around: tuple[str, ...] = ()
    #: As it was given: None for a budget of the fit's own.
    accountant: Any = None
    external: list[Any] = field(default_factory=list)
    #: Releases that observers had handled before, and earlier fits from the same seed.
    observed_before: int = field(default_factory=releases_observed)
    seed_reused: bool = False
    #: The plan that released values led to, where the one before waited for them.
    settled: Any = None

    @property
    def records_per_unit(self) -> int:
        """How many records a unit may own."""
        return check_records_per_unit(self.settings.get("max_records_per_unit", 1))
