"""Neighbouring relations: which pairs of tables a guarantee speaks about."""

from __future__ import annotations

from enum import StrEnum


class NeighbouringRelation(StrEnum):
    """When two tables count as neighbours.

    ``ADD_OR_REMOVE_ONE`` is the library's native relation: one table is the other with
    one record more. Composition over the nodes of a level is right for it alone, since a
    record lies in one node. ``REPLACE_ONE`` is one removal and one addition and is
    reported beside it: at most twice epsilon, four times rho.
    """

    ADD_OR_REMOVE_ONE = "add or remove one record"
    REPLACE_ONE = "replace one record"
