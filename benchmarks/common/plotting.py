"""Plots into files: without a screen, and without a fuss where matplotlib is absent."""

from __future__ import annotations

from typing import Any


def file_plots(**parameters: Any) -> Any:
    """matplotlib's pyplot for files, with these ``svg`` parameters; None, said so, without it."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed (extra dpforest[plots])")
        return None
    matplotlib.use("Agg")
    matplotlib.rcParams.update({f"svg.{name}": value for name, value in parameters.items()})
    from matplotlib import pyplot

    return pyplot
