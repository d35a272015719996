"""Choices of the refitted forest: one fixed default for all tables, nothing learnt from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Size:
    """Depth of the trees, random trees to choose from in a round, and rounds."""

    depth: int
    n_candidates: int
    n_rounds: int


@dataclass(frozen=True, slots=True)
class RefittedSettings:
    """Shares of rho, sizes by a public rule, and the rule of a step.

    Attributes
    ----------
    prior_share, quantile_share, start_share : Fraction
        Of the whole; the last two only where the part is run.
    selection_share : Fraction
        Of what is left for the rounds.
    gram_share : Fraction
        Of the linear start's.
    n_gradients : int
    start_signal : float
        Smallest R / (columns K / 2) for a linear start.
    max_start_columns : int
        The Gram matrix has the square of that many entries.
    max_bins : int
    fixed_size : Size or None
        In place of the rule.
    step : float
        Share of a Newton step that is taken.
    spread : float
        How far a node's Newton step is taken to differ from its parent's.
    clip : float
        Largest log-odds of a whole Newton step.
    """

    prior_share: Fraction = Fraction(2, 100)
    quantile_share: Fraction = Fraction(10, 100)
    start_share: Fraction = Fraction(15, 100)
    selection_share: Fraction = Fraction(20, 100)
    gram_share: Fraction = Fraction(30, 100)
    n_gradients: int = 6
    start_signal: float = 15.0
    max_start_columns: int = 512
    max_bins: int = 64
    fixed_size: Size | None = None
    step: float = 0.15
    spread: float = 0.6
    clip: float = 3.0

    def size(self, signal_per_class: float) -> Size:
        """Size by R_K = 2 R / K, which is public."""
        if self.fixed_size is not None:
            return self.fixed_size
        if signal_per_class < 1000:
            return Size(4, 8, 120)
        return Size(6, 32, 120 if signal_per_class < 5000 else 240)

    def starts_linearly(self, signal: float, n_columns: int, n_classes: int) -> bool:
        """Whether the budget carries a linear start."""
        if n_columns > self.max_start_columns:
            return False
        return signal >= self.start_signal * n_columns * n_classes / 2
