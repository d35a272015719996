"""The page of forecasts: how often ranges hold, how wide they are, and what they are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from common.forecast_fitting import LEVELS, NAMES, ends_of
from common.forecast_rows import CONFIRMATION, FINDING, Row
from common.forecast_words import SAYS, TEXT
from dpforest.estimators import forecast_range
from dpforest.estimators.forecast_range import PublicFigures, Range

#: Of the page: the nominal coverage of a range, and shares around it.
NOMINAL = LEVELS[1] - LEVELS[0]
CURVE = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
#: Groups of tables that are left out in turn, of those at hand.
N_FOLDS = 10
#: Tables that the page shows.
N_WORST = 40
Promise = Callable[[Row], Range]
Kept = list[tuple[Row, Range]]


def central(coverage: float) -> tuple[float, float]:
    """Levels of a range that leaves as much out on either side."""
    return round((1 - coverage) / 2, 4), round((1 + coverage) / 2, 4)


@contextmanager
def library_with(ends: dict[str, Any]) -> Any:
    """The library's ranges by other coefficients."""
    with mock.patch.multiple(forecast_range, **ends):
        yield


def promised(rows: Iterable[Row], promise: Promise) -> Kept:
    """Rows beside what is promised of them."""
    return [(row, promise(row)) for row in rows]


def planned(row: Row) -> Range:
    """Before a fit."""
    return row.planned


def after(row: Row) -> Range:
    """After it."""
    return row.after


def ignoring(rows: Sequence[Row], levels: tuple[float, float], *known: str) -> Promise:
    """Ranges from quantiles of the gains, which know no more of a fit than some of its facts."""
    gains: dict[Any, list[float]] = defaultdict(list)
    for row in rows:
        gains[tuple(getattr(row, one) for one in known)].append(row.gain)
    ends = {key: tuple(np.quantile(own, levels).round(2)) for key, own in gains.items()}
    return lambda row: ends[tuple(getattr(row, one) for one in known)]


def left_out(rows: Sequence[Row], promise: Promise, levels: tuple[float, float] = LEVELS) -> Kept:
    """What is promised of tables by ends that were found without them."""
    kept: Kept = []
    for names in _folds(rows):
        with library_with(ends_of([row for row in rows if row.dataset not in names], levels)):
            own = (x for x in rows if x.is_auto and x.dataset in names and not x.is_small)
            kept += promised(own, promise)
    return kept


def _folds(rows: Sequence[Row]) -> list[set[str]]:
    folds: list[set[str]] = [set() for _ in range(N_FOLDS)]
    for task in sorted({row.task for row in rows}):
        for place, name in enumerate(sorted({row.dataset for row in rows if row.task == task})):
            folds[place % N_FOLDS].add(name)
    return folds


def share_held(kept: Kept) -> float:
    """Share of the fits whose gain lies in its range."""
    return float(np.mean([row.holds(found) for row, found in kept]))


def width(kept: Kept) -> float:
    """Mean width of ranges."""
    return float(np.mean([found[1] - found[0] for _, found in kept]))


def main_table(kept: dict[str, Kept]) -> list[str]:
    """Shares held and widths; the third promise is what widths are compared with."""
    epsilons = sorted({row.epsilon for row, _ in next(iter(kept.values()))})
    by_epsilon, by_task = (width(own) for own in list(kept.values())[2:4])
    head = ["range", "held", *(f"ε {one:g}" for one in epsilons), "classes", "regressions",
            "mean width", "of that by ε", "of that by task and ε"]  # fmt: skip
    rows = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for name, own in kept.items():
        parts = [[x for x in own if x[0].epsilon == one] for one in epsilons]
        parts += [[x for x in own if x[0].task == t] for t in ("classification", "regression")]
        cells = [percent(share_held(part)) if part else "" for part in [own, *parts]]
        cells += [f"{width(own):.3f}", f"{width(own) / by_epsilon:.2f}"]
        rows.append(f"| {name} | {' | '.join(cells)} | {width(own) / by_task:.2f} |")
    return rows


def percent(share: float) -> str:
    """In per cent."""
    return f"{100 * share:.0f} %"


def promises(rows: Sequence[Row], found_on: Sequence[Row]) -> dict[str, Kept]:
    """All promises about some fits, those that ignore the table found on others."""
    levels = central(NOMINAL)
    return {
        "`plan()`": promised(rows, planned),
        "after the fit": promised(rows, after),
        "by ε alone": promised(rows, ignoring(found_on, levels, "epsilon")),
        "by task and ε alone": promised(rows, ignoring(found_on, levels, "task", "epsilon")),
        "one for all": promised(rows, ignoring(found_on, levels)),
    }


def curve(found_on: Sequence[Row], rows: Sequence[Row]) -> list[str]:
    """Held against width, by the nominal coverage, with ends found on the tables at hand."""
    table = ["| nominal | `plan()` held | width, of that by ε | after the fit held "
             "| width, of that by ε | by ε alone held | width |",
             "| ---: |" + " ---: |" * 6]  # fmt: skip
    for coverage in CURVE:
        levels = central(coverage)
        with library_with(ends_of(found_on, levels)):
            ours = [promised(rows, one) for one in (planned, after)]
        alone = promised(rows, ignoring(found_on, levels, "epsilon"))
        cells = [percent(coverage)]
        for own in ours:
            cells += [percent(share_held(own)), f"{width(own) / width(alone):.2f}"]
        cells += [percent(share_held(alone)), f"{width(alone):.3f}"]
        table.append(f"| {' | '.join(cells)} |")
    return table


def by_table(rows: Sequence[Row]) -> list[str]:
    """One row a table, of those whose promises held least, the worst one first."""
    own: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        own[row.dataset].append(row)
    held = {name: [share_held(promised(of, one)) for one in (planned, after)]
            for name, of in own.items()}  # fmt: skip
    table = ["| table | `plan()` held | after the fit held | gains, ε 1 | `plan()` at ε 1 "
             "| after the fit at ε 1 |", "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for name in sorted(own, key=lambda name: (sum(held[name]), name))[:N_WORST]:
        at_one = [row for row in own[name] if row.epsilon == 1]
        gains = f"{min(x.gain for x in at_one):.2f} to {max(x.gain for x in at_one):.2f}"
        cells = [percent(share) for share in held[name]] + [gains]
        cells += [_in_words(promised(at_one, one)) for one in (planned, after)]
        table.append(f"| {name} | {' | '.join(cells)} |".replace("-0.", "−0."))
    return table


def _in_words(kept: Kept) -> str:
    low, high = (np.mean([found[end] for _, found in kept]) for end in (0, 1))
    return f"{low:.2f} to {high:.2f}"


def by_strategy(rows: Sequence[Row]) -> list[str]:
    """How often promises hold for strategies by name, on all tables."""
    table = ["| strategy | fits | `plan()` held | below | above | by what the model tells held |",
             "| --- |" + " ---: |" * 5]  # fmt: skip
    for name in sorted({row.model.partition(",")[0] for row in rows}):
        own = [row for row in rows if row.model.startswith(name)]
        below = np.mean([round(row.gain, 2) < row.planned[0] for row in own])
        above = np.mean([round(row.gain, 2) > row.planned[1] for row in own])
        shares = [share_held(promised(own, planned)), below, above]
        shares.append(share_held(promised(own, after)))
        table.append(f"| {name} | {len(own)} | {' | '.join(map(percent, shares))} |")
    return table


def by_noise(rows: Sequence[Row]) -> list[str]:
    """How often the lower end after a fit lies above the gain, where labels were dealt anew."""
    table = ["| task, classes | strategy | fits | lower end above the gain | that without what "
             "noise tells | largest lower end |", "| --- | --- |" + " ---: |" * 4]  # fmt: skip
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[_group(row.figures), row.strategy].append(row)
    for (group, strategy), own in sorted(groups.items()):
        lower = [row.after[0] for row in own]
        with library_with({"NOISE_TOLD": (-1.0, 0.0, 0.0)}):
            before = [row.after[0] for row in own]
        shares = [_above(ends, own) for ends in (lower, before)]
        cells = [group, strategy, f"{len(own)}", *map(percent, shares), f"{max(lower):.2f}"]
        table.append(f"| {' | '.join(cells)} |")
    return table


def _group(figures: PublicFigures) -> str:
    """The task, and of classes about how many."""
    if figures.is_regression:
        return "regression"
    return "2" if figures.n_classes == 2 else "3 to 5" if figures.n_classes <= 5 else "6 and more"


def _above(lower: Sequence[float], rows: Sequence[Row]) -> float:
    """Share of lower ends that are above the gain."""
    return float(np.mean([low > round(row.gain, 2) for low, row in zip(lower, rows, strict=True)]))


def coefficients(ends: dict[str, Any]) -> list[str]:
    """The ends of all ranges, as the library has them."""
    table = ["| constants | lower end | upper end |", "| --- | --- | --- |"]
    for name in NAMES:
        cells = [", ".join(f"{one:g}" for one in end) for end in ends[name]]
        table.append(f"| `{name}` | {' | '.join(cells)} |")
    return table


def of_library() -> dict[str, Any]:
    """The ends that the library has, and what noise tells."""
    return {name: getattr(forecast_range, name) for name in (*NAMES, "NOISE_TOLD")}


def report(rows: Sequence[Row], command: str) -> str:
    """The page, of fits by all strategies; promises are the library's."""
    auto, small = ([x for x in rows if x.is_auto and x.is_small == one] for one in (False, True))
    shuffled = [row for row in rows if row.is_shuffled]
    named = [row for row in rows if not row.is_auto and not row.is_shuffled]
    first, second = ([row for row in auto if row.use == use] for use in (FINDING, CONFIRMATION))
    crossed = promises(first, first)
    known = [x for x in rows if (x.is_auto or x.is_shuffled) and x.use == FINDING]
    unseen = [row for row in shuffled if row.use == CONFIRMATION]
    crossed |= {"`plan()`": left_out(known, planned), "after the fit": left_out(known, after)}
    return TEXT.format(
        command=command, nominal=percent(NOMINAL), fits=len(first), n_first=_tables(first),
        fits_second=len(second), n_second=_tables(second),
        confirmed="\n".join(main_table(promises(second, first))),
        crossed="\n".join(main_table(crossed)), curve="\n".join(curve(known, second)),
        ends="\n".join(coefficients(of_library())), tables="\n".join(by_table(second)),
        strategies="\n".join(by_strategy(named)), says=SAYS, noise="\n".join(by_noise(unseen)),
        n_worst=N_WORST,
        noise_told=", ".join(f"{one:g}" for one in of_library()["NOISE_TOLD"]),
        small=len([row for row in small if not row.figures.learns]),
    )  # fmt: skip


def _tables(rows: Sequence[Row]) -> int:
    return len({row.dataset for row in rows})
