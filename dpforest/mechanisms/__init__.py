"""Mechanisms: arrays of secrets, a grant and random words in, released values out."""

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

__all__ = [
    "FixedWords",
    "RandomSource",
    "SeededSource",
    "SystemSource",
    "add_discrete_gaussian_noise",
    "add_geometric_noise",
    "make_source",
    "release_minimum",
    "select_exponential",
    "select_exponential_streamed",
    "select_interval_point",
    "select_permute_and_flip",
]
