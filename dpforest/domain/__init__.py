"""Declare public facts, and encode tables by them.

What compares and checks domains is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from dpforest.lazy import lazy_names

if TYPE_CHECKING:
    from dpforest.domain.comparing import DomainChange, DomainDiff
    from dpforest.domain.findings import DomainCheck, Finding, FoundValue

_HOMES = {
    "DomainChange": "dpforest.domain.comparing",
    "DomainCheck": "dpforest.domain.findings",
    "DomainDiff": "dpforest.domain.comparing",
    "Finding": "dpforest.domain.findings",
    "FoundValue": "dpforest.domain.findings",
}

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

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
