"""DomainCheck: what a fit would do to the records of a table, for the curator's eyes alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dpforest.display import Grid, Page, Shown, count_text
from dpforest.domain.near import told_apart
from dpforest.exceptions import printable

#: What becomes of a record or of its value.
Effect = Literal["dropped", "clipped", "unknown", "missing", "position", "rounded"]

FOR_THE_CURATOR = (
    "For the curator's eyes alone. This was read off the records: no budget pays for it, and it "
    "must not be released, printed in a report or sent on."
)
#: What leaves all lines of a CSV file out, as a rule.
LOOK_AT_LINES = (
    "Look for names of rows that have no column's name (in R: row.names=FALSE), for commas at the "
    "ends of lines, and for a first line alone"
)
_BECOMES: dict[Effect, str] = {
    "dropped": "dropped",
    "clipped": "the nearest bound",
    "unknown": "unknown, or other",
    "missing": "a value of its own",
    "position": "category at that position",
    "rounded": "the nearest whole number",
}
#: Longer texts are cut in the display; the finding has them whole.
_LONGEST = 30
_VALUES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class FoundValue:
    """One value that a finding is about.

    Attributes
    ----------
    value : str
        As Python writes it, so that blanks are seen: ``"'no '"``.
    records : int
        How many records have it.
    near : str or None
        What it may have been meant to be: a declared category or label, a number, or an empty text
        for a missing value. A guess, by which nothing is encoded. None if there is no guess.
    because : str
        How the two differ; empty without a guess, and where ``near`` is what it becomes.
    """

    value: str
    records: int
    near: str | None = None
    because: str = ""

    def __str__(self) -> str:
        text = f"{told_apart(_short(self.value))} ({self.records:,})"
        if self.near is None:
            return text
        near = told_apart(repr(_short(self.near))) if self.near else "missing"
        return f"{text}: {near}{'?' if self.because else ''}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that some records of a column meet.

    Attributes
    ----------
    column : str
        A feature's name, ``"y"`` for labels and targets, or ``"X"`` for whole rows.
    rule : str
        What holds of them; of a feature whose records are dropped in the words of
        :class:`~dpforest.InvalidRecordError`.
    effect : {"dropped", "clipped", "unknown", "missing", "position", "rounded"}
        What becomes of the record, or of its value.
    records : int
        How many records. One record may be in several findings.
    values : tuple of FoundValue
        The most frequent of their values, those with a guess first; empty for missing values.
    more_values : int
        How many other values there are.
    untold : int
        Records whose values are not told apart, because too many others came before them (100,000,
        or 2**24 characters of them): ``more_values`` does not count these values.
    """

    column: str
    rule: str
    effect: Effect
    records: int
    values: tuple[FoundValue, ...] = ()
    more_values: int = 0
    untold: int = 0

    @property
    def near_misses(self) -> tuple[FoundValue, ...]:
        """Those of its values that may be another spelling of something declared."""
        return tuple(value for value in self.values if value.because)

    def _row(self, n_records: int) -> tuple[str, ...]:
        shown = "; ".join(map(str, self.values[:_VALUES_SHOWN]))
        more = self.more_values + max(0, len(self.values) - _VALUES_SHOWN)
        at_least = "at least " if self.untold else ""
        shown += f"; and {at_least}{count_text(more, 'other')}" if more else ""
        share = f"{100 * self.records / n_records:.3g} %"
        return self.column, self.rule, f"{self.records:,}", share, _BECOMES[self.effect], shown


@dataclass(frozen=True, slots=True)
class DomainCheck(Shown):
    """Account of what a fit would do to the records of a table, by column, rule and number.

    It is **for the curator's eyes alone**: it was read off the records, no budget pays for it, and
    it must not be released. Making it spends nothing.

    Attributes
    ----------
    records : int
        Number of records.
    dropped : int
        How many of them a fit with ``invalid="drop"`` would drop.
    findings : tuple of Finding
        Records that are dropped first, then the others, each by the order of the domain.
    ignored_columns : tuple of str
        Columns of the table that the domain does not declare; a fit does not read them.
    by_position : str
        Which column is read as which feature, where none has a declared name; else empty.
    lines_left_out : int
        Lines of CSV files that are no record, so that no fit reads them; of a ``CSVStream`` alone.
    labels_in_other_order : bool
        Whether labels of pandas name their rows as the table does, in another order. A fit reads
        them by place all the same.
    labels_checked : bool
        Whether labels or targets were looked at. Where not, a fit may drop more records.
    """

    records: int
    dropped: int
    findings: tuple[Finding, ...]
    ignored_columns: tuple[str, ...] = ()
    lines_left_out: int = 0
    by_position: str = ""
    labels_in_other_order: bool = False
    labels_checked: bool = True

    @property
    def kept(self) -> int:
        """Number of records that a fit would use, as far as they were checked."""
        return self.records - self.dropped

    @property
    def near_misses(self) -> tuple[tuple[str, FoundValue], ...]:
        """Column and value of each spelling that is near to something declared."""
        return tuple((one.column, value) for one in self.findings for value in one.near_misses)

    def of(self, column: str) -> tuple[Finding, ...]:
        """The findings of one column."""
        return tuple(one for one in self.findings if one.column == column)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, ready for JSON; for the curator alone as well."""
        plain = asdict(self)
        return {"for_the_curator_alone": True, **plain}

    def _page(self) -> Page:
        rows = tuple(one._row(self.records) for one in self.findings)
        headers = ("column", "what holds", "records", "share", "becomes", "values (records)")
        ignored = ", ".join(self.ignored_columns)
        return Page((
            FOR_THE_CURATOR,
            f"{self.by_position[:1].upper()}{self.by_position[1:]}." if self.by_position else "",
            _OTHER_ORDER if self.labels_in_other_order else "",
            self._summary(),
            self._of_lines() if self.lines_left_out else "",
            Grid(headers, rows) if rows else "",
            _MEANT if self.near_misses else "",
            f"Columns that the domain does not declare, and that no fit reads: {ignored}."
            if ignored else "",
        ))  # fmt: skip

    def _of_lines(self) -> str:
        return (
            "Lines of the file that are no record, and that no fit reads: "
            f"{self.lines_left_out:,}. They have another number of cells than the first line, an "
            "open quote or over 1 MiB. A record with a line end inside of a quoted cell is such "
            "lines: write the file anew without that end, or as Parquet."
            f"{'' if self.records else f' {LOOK_AT_LINES}.'}"
        )

    def _summary(self) -> str:
        if not self.records:
            return "The table has no record."
        if not self.labels_checked:
            return self._summary_of_features()
        if not self.dropped:
            rest = "" if self.findings else ", and takes every value as it is"
            return f"A fit would use all of the {count_text(self.records, 'record')}{rest}."
        return f"A fit would drop {self._dropped_of_all()} without a word."

    def _summary_of_features(self) -> str:
        """Words of a check without labels: a fit may drop other records for these."""
        rest = "labels were not checked: pass y."
        if self.dropped:
            return f"A fit would drop at least {self._dropped_of_all()} without a word; {rest}"
        return f"No feature would make a fit drop a record; {rest}"

    def _dropped_of_all(self) -> str:
        share = 100 * self.dropped / self.records
        return f"{self.dropped:,} of the {count_text(self.records, 'record')} ({share:.3g} %)"


_MEANT = (
    "A value with a question mark behind it is near to something declared: the value in quotes, or "
    "a missing one. Mend the table, or declare the value as it is written."
)


_OTHER_ORDER = (
    "The labels name their rows as the table does, but in another order. A fit goes by places, not "
    "by names of rows: give y.loc[X.index]."
)


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
