"""Mechanisms: arrays of secrets, a grant and random words in, released values out.

Public names are loaded when they are first used, as those of ``dpforest`` are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

if TYPE_CHECKING:
    from dpforest.mechanisms.entropy import (
        FixedWords,
        RandomSource,
        SeededSource,
        SystemSource,
        make_source,
    )
    from dpforest.mechanisms.lattice import select_interval_point
    from dpforest.mechanisms.noise import add_discrete_gaussian_noise, add_geometric_noise
    from dpforest.mechanisms.objective import release_minimum
    from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip
    from dpforest.mechanisms.streamed import select_exponential_streamed
    from dpforest.mechanisms.zero_sum_noise import add_zero_sum_geometric_noise

_HOMES = {
    "FixedWords": "dpforest.mechanisms.entropy",
    "RandomSource": "dpforest.mechanisms.entropy",
    "SeededSource": "dpforest.mechanisms.entropy",
    "SystemSource": "dpforest.mechanisms.entropy",
    "add_discrete_gaussian_noise": "dpforest.mechanisms.noise",
    "add_geometric_noise": "dpforest.mechanisms.noise",
    "add_zero_sum_geometric_noise": "dpforest.mechanisms.zero_sum_noise",
    "make_source": "dpforest.mechanisms.entropy",
    "release_minimum": "dpforest.mechanisms.objective",
    "select_exponential": "dpforest.mechanisms.selection",
    "select_exponential_streamed": "dpforest.mechanisms.streamed",
    "select_interval_point": "dpforest.mechanisms.lattice",
    "select_permute_and_flip": "dpforest.mechanisms.selection",
}

__all__ = [
    "FixedWords",
    "RandomSource",
    "SeededSource",
    "SystemSource",
    "add_discrete_gaussian_noise",
    "add_geometric_noise",
    "add_zero_sum_geometric_noise",
    "make_source",
    "release_minimum",
    "select_exponential",
    "select_exponential_streamed",
    "select_interval_point",
    "select_permute_and_flip",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
