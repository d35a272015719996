"""Mechanisms: arrays of secrets, a grant and random words in, released values out."""

from dpforest.mechanisms.entropy import (
    FixedWords,
    RandomSource,
    SeededSource,
    SystemSource,
    make_source,
)
from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip

__all__ = [
    "FixedWords",
    "RandomSource",
    "SeededSource",
    "SystemSource",
    "make_source",
    "select_exponential",
    "select_permute_and_flip",
]
