"""Displays: text and tables that people read, in a terminal and in a notebook.

Nothing here knows what it shows. Texts may come from a domain's author, so characters that would
steer a terminal are written out, and a notebook gets them escaped.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpforest.exceptions import printable

#: Columns of a terminal that a table may fill.
WIDTH = 100
#: A column of text is not made narrower than this.
_NARROWEST = 10
_GAP = "  "
_DIGITS = frozenset("0123456789.,-+%eE∞ ")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts.

    Parameters
    ----------
    headers : tuple of str
        One for each column; empty texts where a column has none.
    rows : tuple of tuples of str
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        rows = [tuple(map(printable, row)) for row in (self.headers, *self.rows)]
        widths = _widths(rows)
        right = [_is_number_column(column) for column in zip(*rows[1:], strict=True)]
        right = right or [False] * len(widths)
        lines = [_line(row, widths, right) for row in rows]
        rule = _GAP.join("-" * width for width in widths)
        head = [lines[0], rule] if any(self.headers) else []
        return "\n".join([*head, *lines[1:]])

    def to_html(self) -> str:
        """The table as HTML, with every text escaped."""
        head = "".join(_cell("th", text, False) for text in self.headers)
        columns = list(zip(*self.rows, strict=True))
        right = [_is_number_column(column) for column in columns]
        body = "".join(
            f"<tr>{''.join(_cell('td', *pair) for pair in zip(row, right, strict=True))}</tr>"
            for row in self.rows
        )
        top = f"<thead><tr>{head}</tr></thead>" if any(self.headers) else ""
        return f"<table>{top}<tbody>{body}</tbody></table>"


@dataclass(frozen=True, slots=True)
class Page:
    """Paragraphs and tables, in order.

    Parameters
    ----------
    parts : tuple of str or Grid
        An empty text is left out.
    """

    parts: tuple[str | Grid, ...]

    def __str__(self) -> str:
        return "\n\n".join(_as_text(part) for part in self.parts if part != "")

    def to_html(self) -> str:
        """The page as HTML, with every text escaped."""
        return "".join(_as_html(part) for part in self.parts if part != "")


class Shown:
    """Base of what people look at: ``str`` and a notebook show the same page."""

    __slots__ = ()

    def _page(self) -> Page:
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self._page())

    def _repr_html_(self) -> str:
        return self._page().to_html()


def one_line(text: str) -> str:
    """A text on one line, with a blank for whatever would turn the line around it or end it."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def page_of_docs(name: str) -> str:
    """Place of a page of the documentation, which an installed package has not beside it."""
    return f"docs/{name} of dpforest's source"


def count_text(number: int, noun: str, several: str = "") -> str:
    """A number of things in words, such as "1 record" or "1,200 records"."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def short_list(texts: Sequence[str], most: int = 8) -> str:
    """Texts beside each other; of many the first ones and how many there are."""
    if len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[: most - 1])}, … ({len(texts):,} in all)"


def _widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    """Widths of columns: as wide as their texts, the widest made narrower until all fit."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = WIDTH - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _line(row: tuple[str, ...], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = [textwrap.wrap(text, width) or [""] for text, width in zip(row, widths, strict=True)]
    lines = []
    for place in range(max(map(len, cells))):
        texts = [cell[place] if place < len(cell) else "" for cell in cells]
        padded = [
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(texts, widths, right, strict=True)
        ]
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def _is_number_column(column: Iterable[str]) -> bool:
    texts = [text for text in column if text]
    return bool(texts) and all(_DIGITS.issuperset(text) for text in texts)


def _cell(tag: str, text: str, right: bool) -> str:
    side = "right" if right else "left"
    return f'<{tag} style="text-align:{side}">{_escaped(text)}</{tag}>'


def _escaped(text: str) -> str:
    return html.escape(printable(text))


def _as_text(part: str | Grid) -> str:
    if isinstance(part, Grid):
        return str(part)
    lines = [textwrap.fill(printable(line), WIDTH) for line in part.split("\n")]
    return "\n".join(lines)


def _as_html(part: str | Grid) -> str:
    if isinstance(part, Grid):
        return part.to_html()
    return f"<p>{'<br>'.join(map(_escaped, part.split(chr(10))))}</p>"
