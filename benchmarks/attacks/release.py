"""What an attacked forest is to its attacker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attacks.evidence import Evidence

#: Levels of splits, where a forest lets them be chosen.
DEPTH = 5

Predict = Callable[[NDArray[np.uint8]], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Release:
    """A fitted forest as its attacker sees it, and how well it predicts.

    Attributes
    ----------
    evidence : Evidence
    predict : callable
        Classes of binary records.
    what : str
        What was released, in words.
    """

    evidence: Evidence
    predict: Predict
    what: str
