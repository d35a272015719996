"""The papers' printed figures, as data."""

from __future__ import annotations

Figures = dict[str, dict[str, float]]


def by_dataset(text: str) -> Figures:
    """A block of text as figures: a header of methods, then a line a dataset.

    The first word of each line is the dataset; ``-`` is a figure that is not printed.
    """
    head, *rows = (line.split() for line in text.strip().splitlines())
    return {
        name: {method: float(cell) for method, cell in zip(head, cells, strict=True) if cell != "-"}
        for name, *cells in rows
    }
