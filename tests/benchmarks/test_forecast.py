"""Forecasts against fits: what the benchmark does where there is nothing to fit."""

from __future__ import annotations

import sys

import forecast
import pytest


def test_without_tables_it_says_where_they_are_looked_for(tmp_path, monkeypatch):
    lines = str(tmp_path / "lines.jsonl")
    monkeypatch.setattr(sys, "argv", ["x", "--data", str(tmp_path), "--results", lines])
    with pytest.raises(SystemExit, match="no tables in .*: give --data or DPFOREST_DATA"):
        forecast.main()
    assert list(tmp_path.iterdir()) == []
