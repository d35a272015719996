"""Declare public facts, and encode tables by them."""

from __future__ import annotations

from dpforest.domain.cells import Cells, Lattice, PublicCells, cells_of, lattice_of
from dpforest.domain.comparing import DomainChange, DomainDiff
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.findings import DomainCheck, Finding, FoundValue
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
    "DomainChange",
    "DomainCheck",
    "DomainDiff",
    "DomainEncoder",
    "EncodedMatrix",
    "EncodedTable",
    "Feature",
    "Finding",
    "FoundValue",
    "Lattice",
    "NumericFeature",
    "NumericTarget",
    "PublicCells",
    "cells_of",
    "lattice_of",
]
