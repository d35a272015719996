"""Small plots in one style."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def figure(n_panels: int, columns: int = 3, width: float = 3.0, height: float = 2.6) -> Any:
    """A figure and its panels, a list; drawn without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(columns, n_panels)
    rows = -(-n_panels // columns)
    drawing, grid = pyplot.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained"
    )
    panels = list(grid.ravel())
    for empty in panels[n_panels:]:
        empty.set_axis_off()
    return drawing, panels[:n_panels]


def save(drawing: Any, path: Path) -> None:
    """Write a figure and forget it; no date or version in the file, so that it can be compared."""
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=100, metadata={"Software": None} if path.suffix == ".png" else None)
    pyplot.close(drawing)
