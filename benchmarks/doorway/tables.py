"""Random tables under random domains, and one record more."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from doorway.values import KINDS, NOON, ODD, ROW_KIND, Odd
from dpforest.domain import CategoricalFeature, Domain, DomainEncoder, NumericFeature

Row = Any
#: Domains that tables are drawn for.
N_DOMAINS = 64

_CATEGORIES: tuple[tuple[Any, ...], ...] = (
    ("no", "yes"), ("a", "b", "c"), (0, 1, 2), ("01", "02", "x"), (True, False),
    ("1.5", "2.5", "yes"),
    (0.1, 0.5), ("é", "ß", "a b"), ("noon", "{}", "[1]"), (2**53, 1, -1),
    ("nil", "?", "-"),
    ("inf", "true", "yes"), tuple(f"c{k}" for k in range(300)), ("b'1'", "1+0j", "None of it"),
)  # fmt: skip
_CLASSES: tuple[tuple[Any, ...], ...] = (
    ("no", "yes"), (0, 1), (1, 2, 3), (False, True), (0.1, 0.5, "yes"), ("a", "b"), ("01", "02"),
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """What both tables of a pair are built by.

    Attributes
    ----------
    names : of the columns, the domain's
    target : name of the column of labels, in files and frames that hold it
    choice : a number from which a way of building draws what it chooses, such as a type
    cuts : places of the rows before which a new part begins
    folder : where files may be written
    """

    names: tuple[str, ...]
    target: str
    choice: int
    cuts: tuple[int, ...]
    folder: Path
    regression: bool

    @property
    def random(self) -> random.Random:
        """The same numbers for both tables."""
        return random.Random(self.choice)

    def parts(self, rows: list[Any]) -> list[list[Any]]:
        """Rows in parts."""
        edges = [0, *self.cuts, len(rows)]
        return [rows[start:end] for start, end in zip(edges, edges[1:], strict=False)]


@dataclass(frozen=True)
class Pair:
    """A table, and the same with one record more.

    Attributes
    ----------
    rows, labels : of the smaller table
    place : before which row the record stands in the larger one
    row, label : of the record
    kinds : of its odd values
    """

    encoder: DomainEncoder
    rows: list[Row]
    labels: list[Any]
    place: int
    row: Row
    label: Any
    kinds: tuple[str, ...]
    choice: int
    cuts: tuple[int, ...]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> tuple[list[Row], list[Any]]:
        """The smaller one."""
        return self.rows, self.labels

    @property
    def larger(self) -> tuple[list[Row], list[Any]]:
        """The one with the record."""
        p = self.place
        return (
            [*self.rows[:p], self.row, *self.rows[p:]],
            [*self.labels[:p], self.label, *self.labels[p:]],
        )

    def settings(self, folder: Path) -> tuple[Setting, Setting]:
        """Of the smaller and the larger table: the record joins the part in which it stands."""
        names = self.encoder.domain.feature_names
        regression = self.encoder.task == "regression"
        shifted = tuple(cut + (cut > self.place) for cut in self.cuts)
        return (
            Setting(names, "target", self.choice, self.cuts, folder, regression),
            Setting(names, "target", self.choice, shifted, folder, regression),
        )


@lru_cache(maxsize=N_DOMAINS)
def encoder_of(number: int) -> DomainEncoder:
    """One of the domains, with its encoder."""
    rng = random.Random(f"domain {number}")
    features = tuple(_feature(rng, f"f{place}") for place in range(rng.randint(1, 5)))
    regression = number % 3 == 2
    target = rng.choice([(0, 1), (-5, 5), (0, 2**53)]) if regression else None
    classes = None if regression else rng.choice(_CLASSES)
    return DomainEncoder(
        Domain(features=features, classes=classes, target=target),
        thresholds=rng.choice(["cells", "cells", "lattice"]),
        task="regression" if regression else "classification",
    )


def _feature(rng: random.Random, name: str) -> Any:
    missing = rng.random() < 0.5
    if rng.random() < 0.5:
        lower, upper = rng.choice([(0, 1), (0, 2), (-3, 3), (0, 110), (0, 500_000), (-1e9, 1e9)])
        return NumericFeature(
            name=name, lower=lower, upper=upper, integer=rng.random() < 0.5, missing=missing
        )
    categories = rng.choice(_CATEGORIES)
    other = str(rng.choice(categories)) if rng.random() < 0.3 else None
    return CategoricalFeature(name=name, categories=categories, other=other, missing=missing)


#: Text that one reader takes for a number or a gap, and another for text.
_BETWEEN = ("nan(7)", "NaN(7)", "1_0", "0x1", "1.", "１")
_LIKE_NUMBERS = (*KINDS["text like NaN"], *KINDS["text like a number"])

# -- columns -------------------------------------------------------------------------------------

Draw = Callable[[], Any]


def _in_range(rng: random.Random, feature: Any) -> float:
    lower, upper = getattr(feature, "lower", -1.0), getattr(feature, "upper", 4.0)
    return rng.uniform(lower - 0.1 * (upper - lower), upper + 0.1 * (upper - lower))


def _category(rng: random.Random, feature: Any) -> Any:
    known = getattr(feature, "categories", None) or getattr(feature, "labels", None)
    if known is None:
        return f"{_in_range(rng, feature):.3g}"
    return rng.choice(known) if rng.random() < 0.95 else "unheard of"


def _with_gaps(rng: random.Random, draw: Draw, gap: Any) -> Draw:
    return lambda: gap if rng.random() < 0.2 else draw()


def _style(rng: random.Random, feature: Any) -> Draw:
    """How one column's values are drawn, so that they are of one kind, as columns are."""
    special = rng.choice(_BETWEEN) if rng.random() < 0.5 else rng.choice(_LIKE_NUMBERS).value
    kinds: list[Draw] = [
        lambda: special if rng.random() < 0.2 else f"{_in_range(rng, feature):.3g}",
        lambda: special if rng.random() < 0.2 else str(rng.randint(0, 3)),
        lambda: f"{_category(rng, feature)}\0",
        lambda: round(_in_range(rng, feature)),
        lambda: _in_range(rng, feature),
        lambda: round(_in_range(rng, feature), 2),
        lambda: _category(rng, feature),
        lambda: _category(rng, feature),
        lambda: str(_category(rng, feature)),
        lambda: str(round(_in_range(rng, feature))),
        lambda: f"{_in_range(rng, feature):.4g}",
        lambda: rng.randint(0, 3),
        lambda: rng.random() < 0.5,
        lambda: rng.choice(["0.1", "0.10", " 1", "01", "1.0", "1e0", "True"]),
        lambda: np.float32(round(_in_range(rng, feature), 1)),
        lambda: np.int64(rng.randint(0, 3)),
        lambda: 2**53 + rng.randint(0, 3),
        lambda: 2**62 + rng.randint(0, 3),
        lambda: NOON,
    ]
    draw = rng.choice(kinds)
    if rng.random() < 0.25:
        draw = _with_gaps(rng, draw, rng.choice([None, None, float("nan"), ""]))
    return draw


def _odd_style(rng: random.Random) -> Draw:
    """A column of odd values: all one, of one kind, or anything."""
    values = rng.choice([(rng.choice(ODD),), KINDS[rng.choice(list(KINDS))], ODD])
    return lambda: rng.choice(values).value


def style_of(rng: random.Random, feature: Any) -> Draw:
    """How one column's values are drawn."""
    shape = rng.random()
    if shape < 0.62:
        return _style(rng, feature)
    if shape < 0.74:
        return _odd_style(rng)
    if shape < 0.86:  # a few odd ones among others of a kind
        plain, odd = _style(rng, feature), _odd_style(rng)
        return lambda: odd() if rng.random() < 0.15 else plain()
    several = [_style(rng, feature) for _ in range(3)]
    return lambda: rng.choice(several)()


def odd_value(rng: random.Random, kinds: tuple[str, ...] | None = None) -> Odd:
    """One odd value, each kind as likely as any other."""
    return rng.choice(KINDS[rng.choice(kinds or tuple(KINDS))])


# -- pairs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manner:
    """What pairs are drawn for a container.

    Attributes
    ----------
    rows_differ : whether the record may have another width than the table
    alike : how often a column holds values of one type, and the record one odd value that often
        has it too, for containers that refuse mixtures
    kinds : of the odd values; any by default
    """

    rows_differ: bool = False
    alike: float = 0.2
    kinds: tuple[str, ...] | None = None


def draw_pair(rng: random.Random, manner: Manner) -> Pair:
    """A pair of tables."""
    encoder = encoder_of(rng.randrange(N_DOMAINS))
    domain = encoder.domain
    n_rows = rng.choice([0, 1, 2]) if rng.random() < 0.06 else rng.randint(3, 30)
    described = [*domain.features, domain.classes or domain.target]
    draw_all = _alike if rng.random() < manner.alike else _any
    styles, odd_cells = draw_all(rng, described, manner.kinds)
    drawn = [[draw() for draw in styles] for _ in range(n_rows)]
    rows, labels = [tuple(cells[:-1]) for cells in drawn], [cells[-1] for cells in drawn]
    cells = [draw() for draw in styles]
    for at, odd in odd_cells.items():
        cells[at] = odd.value
    row, label = tuple(cells[:-1]), cells[-1]
    found = tuple(sorted({odd.kind for odd in odd_cells.values()}))
    if manner.rows_differ and rng.random() < 0.06:
        row, found = _other_row(rng, row), (ROW_KIND,)
    parts = rng.randint(1, 4)
    cuts = tuple(sorted(rng.randint(0, n_rows) for _ in range(parts - 1)))
    place = rng.choice([0, n_rows, rng.randint(0, n_rows)])
    return Pair(encoder, rows, labels, place, row, label, found, rng.getrandbits(32), cuts)


Kinds = tuple[str, ...] | None
Drawn = tuple[list[Draw], dict[int, Odd]]


def _any(rng: random.Random, described: list[Any], kinds: Kinds) -> Drawn:
    """Columns of any values, and odd values in one place of the record at least."""
    sure = rng.randrange(len(described))
    places = [at for at in range(len(described)) if at == sure or rng.random() < 0.35]
    styles = [style_of(rng, what) for what in described]
    return styles, {at: odd_value(rng, kinds) for at in places}


def _alike(rng: random.Random, described: list[Any], kinds: Kinds) -> Drawn:
    """Columns of one type each, and an odd value in one place of the record."""
    if rng.random() < 0.5:
        styles = [_style(rng, what) for what in described]
    else:  # all of one type, as arrays are
        styles = [_style(rng, rng.choice(described))] * len(described)
    at = rng.randrange(len(described))
    odd = odd_value(rng, kinds)
    if rng.random() < 0.3:
        styles[at] = _of_values(rng, kin_of(odd.value))
    elif rng.random() < 0.8:
        choices = [one for one in kin_of(styles[at]()) if not kinds or one.kind in kinds]
        odd = rng.choice(choices or [odd])
    return styles, {at: odd}


def _of_values(rng: random.Random, values: tuple[Odd, ...]) -> Draw:
    few = [rng.choice(values).value for _ in range(3)]
    return lambda: rng.choice(few)


def _family(value: Any) -> str:
    """Types that containers hold in one column."""
    kind = type(value)  # not isinstance, which asks the value
    if value is None or kind in (bool, int, float) or issubclass(kind, np.number):
        return "complex" if issubclass(kind, np.complexfloating) else "number"
    return "bytes" if kind in (bytes, bytearray, memoryview) else kind.__name__


@lru_cache(maxsize=256)
def _kin(family: str) -> tuple[Odd, ...]:
    return tuple(odd for odd in ODD if odd.value is None or _family(odd.value) == family)


def kin_of(value: Any) -> tuple[Odd, ...]:
    """Odd values that a column of such values takes, a gap among them."""
    return _kin(_family(value))


def _other_row(rng: random.Random, row: tuple[Any, ...]) -> Row:
    return rng.choice(
        [row[:-1], (*row, 1), (), None, 1, "ab"[: len(row)], "a" * len(row), {"f0": 1}, [list(row)]]
    )
