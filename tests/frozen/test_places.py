"""The audit goes through the places that it went through; a role that leaves is seen to leave."""

from __future__ import annotations

from frozen_places import audited_places, stored_places


def test_the_audited_places_are_those_of_the_file():
    found, stored = audited_places(), stored_places()
    assert sorted(found) == sorted(stored)
    for whose, ways in stored.items():
        assert found[whose] == ways, whose
