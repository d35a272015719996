"""What all tests share: hypothesis made repeatable."""

from __future__ import annotations

import os

import hypothesis

# The same examples on every run; HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis.settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("search", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))
