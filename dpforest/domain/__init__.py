"""Declare public facts, and encode tables by them.

Public names are loaded when they are first used, as those of ``dpforest`` are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

if TYPE_CHECKING:
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

_HOMES = {
    "CategoricalFeature": "dpforest.domain.schema",
    "Cells": "dpforest.domain.cells",
    "Classes": "dpforest.domain.schema",
    "Domain": "dpforest.domain.domain",
    "DomainChange": "dpforest.domain.comparing",
    "DomainCheck": "dpforest.domain.findings",
    "DomainDiff": "dpforest.domain.comparing",
    "DomainEncoder": "dpforest.domain.encoder",
    "EncodedMatrix": "dpforest.domain.matrix",
    "EncodedTable": "dpforest.domain.matrix",
    "Feature": "dpforest.domain.schema",
    "Finding": "dpforest.domain.findings",
    "FoundValue": "dpforest.domain.findings",
    "Lattice": "dpforest.domain.cells",
    "NumericFeature": "dpforest.domain.schema",
    "NumericTarget": "dpforest.domain.schema",
    "PublicCells": "dpforest.domain.cells",
    "cells_of": "dpforest.domain.cells",
    "lattice_of": "dpforest.domain.cells",
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
