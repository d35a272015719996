"""What the pages of DMRF's Tables 3 and 4 share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers import cells, marks
from papers.cells import Cells
from papers.markdown import table
from papers.printed import Figures

VARIANTS = ("DMRF", "MRF(SE)", "MRF(b)", "BRF(SE)", "BRF(b)", "Denil14(SE)", "Denil14(b)")
_PAIRS = (("MRF(b)", "MRF(SE)"), ("BRF(b)", "BRF(SE)"), ("Denil14(b)", "Denil14(SE)"))
#: How near to print counts: points of accuracy, or a share of the mean squared error.
_WITHIN_POINTS, _WITHIN_SHARE = 1.5, 0.15


def joint_table(
    found: Cells,
    printed: Figures,
    methods: Sequence[str],
    breiman_stars: Sequence[str],
    scale: float = 1.0,
    higher: bool = True,
) -> str:
    """One row a dataset; a cell holds the printed figure, ours, and the difference."""
    ours = cells.means(found, scale)
    rows = []
    for row, figures in printed.items():
        if row not in ours:
            continue
        best = _best(ours[row], higher)
        starred = _better(ours[row], higher)
        texts = [row, cells.repeats_text(found[row], methods)]
        for method in methods:
            star = "BreimanRF" if row in breiman_stars else "DMRF"
            texts.append(
                _cell(figures.get(method), ours[row].get(method), higher,
                      (method == star, method == starred, method == best))
            )  # fmt: skip
        rows.append(texts)
    return table(["dataset", "folds", *methods], rows, text_columns=2)


def _best(row: dict[str, float], higher: bool) -> str:
    present = [method for method in VARIANTS if method in row]
    return (max if higher else min)(present, key=row.__getitem__)


def _better(row: dict[str, float], higher: bool) -> str:
    pair = [method for method in ("DMRF", "BreimanRF") if method in row]
    return (max if higher else min)(pair, key=row.__getitem__)


def _cell(
    printed: float | None, ours: float | None, higher: bool, flags: tuple[bool, bool, bool]
) -> str:
    if ours is None:
        return "–"
    text = _figure(ours, higher) + "*" * flags[1]
    text = f"**{text}**" if flags[2] else text
    if printed is None:
        return text
    gap = f"{ours - printed:+.2f}" if higher else f"{100 * (ours / printed - 1):+.0f} %"
    return f"{_figure(printed, higher)}{'*' * flags[0]} / {text} / {gap}".replace("-", "−")


def _figure(value: float, higher: bool) -> str:
    return f"{value:.2f}" if higher else f"{value:.3g}"


def ranks_table(
    found: Cells,
    printed: Figures,
    methods: Sequence[str],
    scale: float = 1.0,
    higher: bool = True,
) -> str:
    """Average ranks over the same datasets, and how many of our figures are near to print."""
    ours = _whole(cells.means(found, scale), methods)
    theirs = {row: printed[row] for row in ours}
    ranks = marks.average_ranks(ours, methods, higher)
    printed_ranks = marks.average_ranks(theirs, methods, higher)
    rows = []
    for method in methods:
        near = sum(_near(ours[row][method], theirs[row][method], higher) for row in ours)
        rows.append(
            [
                method,
                f"{printed_ranks[method]:.2f}",
                f"{ranks[method]:.2f}",
                f"{near} of {len(ours)}",
            ]
        )
    within = f"within {_WITHIN_POINTS} points" if higher else f"within {100 * _WITHIN_SHARE:.0f} %"
    return table(["forest", "average rank, printed", "average rank, ours", within], rows)


def _near(ours: float, printed: float, higher: bool) -> bool:
    if higher:
        return abs(ours - printed) <= _WITHIN_POINTS
    return abs(ours / printed - 1) <= _WITHIN_SHARE


def _whole(values: Figures, methods: Sequence[str]) -> Figures:
    return {row: v for row, v in values.items() if all(method in v for method in methods)}


def claims(found: Cells, printed: Figures, higher: bool = True) -> str:
    """The paper's claims as counts over the datasets, printed and ours."""
    ours = cells.means(found)
    lines = [_count(f"{b} beats {se}", b, se, ours, printed, higher) for b, se in _PAIRS]
    lines += [
        _count(f"DMRF beats {other}", "DMRF", other, ours, printed, higher)
        for other in ("MRF(b)", "BRF(b)", "BreimanRF", "BreimanRF, leaves of k")
    ]
    return table(
        ["claim", "datasets, printed", "datasets, ours", "Wilcoxon over datasets, ours"],
        [line for line in lines if line],
    )


def _count(
    text: str, first: str, second: str, ours: Figures, printed: Figures, higher: bool
) -> list[str]:
    rows = [row for row in ours if row in printed and {first, second} <= set(ours[row])]
    if not rows:
        return []
    sign = 1 if higher else -1

    def wins(values: Figures) -> str:
        known = [row for row in rows if {first, second} <= set(values[row])]
        gains = [sign * (values[row][first] - values[row][second]) for row in known]
        return f"{sum(gain > 0 for gain in gains)} of {len(known)}" if known else "–"

    pairs = [(ours[row][first], ours[row][second]) for row in rows]
    # Errors of different datasets are on different scales: their logarithms are compared.
    a, b = np.array(pairs).T if higher else np.log(np.array(pairs)).T
    verdict = marks.better(a, b, higher=higher)
    return [text, wins(printed), wins(ours), ("no difference", "better", "worse")[verdict]]
