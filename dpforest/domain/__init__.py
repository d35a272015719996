"""Declare public facts, and encode tables by them."""

from __future__ import annotations

from dpforest.domain.cells import Cells, Lattice, PublicCells, cells_of, lattice_of
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.domain.schema import (
    CategoricalFeature,
    Classes,
    Feature,
    NumericFeature,
    NumericTarget,
)

__all__ = [
    "CategoricalFeature",
    "Cells",
    "Classes",
    "Domain",
    "DomainEncoder",
    "EncodedMatrix",
    "EncodedTable",
    "Feature",
    "Lattice",
    "NumericFeature",
    "NumericTarget",
    "PublicCells",
    "cells_of",
    "lattice_of",
]
