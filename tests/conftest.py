"""What all tests share: hypothesis made repeatable."""

from __future__ import annotations

import os

import hypothesis
import pytest

# The same examples on every run; HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis.settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("search", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


@pytest.fixture(autouse=True)
def threads_for_few_records(monkeypatch):
    """Tables of tests are small; what is asked for in threads is to run in threads."""
    monkeypatch.setattr("dpforest.trees.counting.RECORDS_A_THREAD", 1)
