"""Small public tables with declared domains, so that nothing has to be fetched."""

from __future__ import annotations

from dpforest.datasets.loaders import load_adult, load_mammographic_masses, load_vertebral

__all__ = ["load_adult", "load_mammographic_masses", "load_vertebral"]
