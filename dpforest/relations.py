"""Neighbouring relations: which pairs of tables a guarantee speaks about."""

from __future__ import annotations

from enum import StrEnum


class NeighbouringRelation(StrEnum):
    """Neighbouring relations of tables.

    ``ADD_OR_REMOVE_ONE`` is the library's native relation: one table is the other with
    one record more. Composition over the nodes of a level is right for it alone, since a
    record lies in one node. ``REPLACE_ONE`` is one removal and one addition and is
    reported beside it: at most twice epsilon, four times rho. The same two for privacy units
    that own several records, with ``max_records_per_unit``.
    """

    ADD_OR_REMOVE_ONE = "add or remove one record"
    REPLACE_ONE = "replace one record"
    ADD_OR_REMOVE_UNIT = "add or remove all records of one unit"
    REPLACE_UNIT = "replace all records of one unit"


def relations_of(records_per_unit: int) -> tuple[NeighbouringRelation, NeighbouringRelation]:
    """The native relation and that of replacement, for privacy units of up to so many records."""
    kind = NeighbouringRelation
    if records_per_unit == 1:
        return kind.ADD_OR_REMOVE_ONE, kind.REPLACE_ONE
    return kind.ADD_OR_REMOVE_UNIT, kind.REPLACE_UNIT
