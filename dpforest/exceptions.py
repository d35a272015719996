"""The errors and warnings of dpforest.

An error about a parameter, a column, a domain, a stream or a ledger names it and the rule it broke,
and carries both as attributes, most with the repair. Those about grants, scopes and stored models
are a text alone. None of them ever holds a value that was read from a record.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NoReturn

#: A longer text is cut, and of a longer list only the type is shown.
_LONGEST = 200
_MOST_PARTS = 20


def shown(value: Any) -> str:
    """Show a parameter's value in an error as somebody typed it, and never a table.

    Parameters
    ----------
    value : object
        Numbers, texts and small collections of them are shown; of anything else, such as an
        array or a data frame that was passed by mistake, only the type is. An object whose own
        ``repr`` fails is shown by its type too.

    Returns
    -------
    str
        Of at most some 200 characters.
    """
    try:
        if _is_typed(value):
            text = repr(value)
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    except Exception:  # an integer too long to print, a class with a repr of its own
        pass
    return f"<{type(value).__name__}>"


def _is_typed(value: Any, depth: int = 2) -> bool:
    """Say if a value is what people write in code: a scalar, a name, a few of them."""
    if value is None or isinstance(value, (str, bytes, numbers.Number, type)):
        return True
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if not isinstance(value, (list, tuple, set, frozenset)) or len(value) > _MOST_PARTS:
        return False
    return depth > 0 and all(_is_typed(part, depth - 1) for part in value)


def raise_alone(error: Exception) -> NoReturn:
    """Raise an error that keeps nothing of the one that is being handled, which may quote a value.

    ``from None`` hides that one from a traceback and leaves it where whatever walks ``__context__``
    finds it.
    """
    try:
        raise error from None
    finally:
        error.__context__ = None


class Described(str):
    """A value named in words, which an error shows as they are, on one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return printable(str(self))


def printable(text: str) -> str:
    """A text on one line, with whatever would steer a terminal written out."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def kind_of(value: Any) -> Described | None:
    """Name the type of a value of a wrong kind, as errors show it; None stays what it is."""
    return None if value is None else Described(f"<{type(value).__name__}>")


class DPForestError(Exception):
    """Base of every error that dpforest raises on purpose."""


class ParameterError(DPForestError, ValueError):
    """A parameter breaks a rule; raised before any record is read or budget spent.

    Parameters
    ----------
    parameter : str
        Name of the parameter, as the caller wrote it.
    value : object
        The value given. It comes from the caller's code, never from a record.
    rule : str
        What was expected, as a clause ("must be a positive number").
    repair : str
        How to mend the call.
    """

    def __init__(self, parameter: str, value: Any, rule: str, repair: str) -> None:
        self.parameter = parameter
        self.value = value
        self.rule = rule
        self.repair = repair
        # Options of a command are switches, or left out: nobody wrote --yes=False.
        unwritten = parameter.startswith("--") and (value is None or isinstance(value, bool))
        given = parameter if unwritten else f"{parameter}={shown(value)}"
        super().__init__(f"{given}: {rule}. {repair}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parameter, self.value, self.rule, self.repair)


class ParameterTypeError(ParameterError, TypeError):
    """A parameter or an input is of a kind that dpforest does not take."""


class ExportSizeError(ParameterError):
    """A forest is too large for the form that it was to be written in.

    Parameters
    ----------
    parameter : str
    value : object
    size : int
        How large the form would be.
    limit : int
        How large it may be.
    rule, repair : str
        As of :class:`ParameterError`.
    """

    def __init__(
        self, parameter: str, value: Any, size: int, limit: int, rule: str, repair: str
    ) -> None:
        self.size = size
        self.limit = limit
        super().__init__(parameter, value, rule, repair)

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.parameter, self.value, self.size, self.limit, self.rule, self.repair)
        return type(self), given


class DomainError(DPForestError, ValueError):
    """The declared public facts contradict each other or do not fit the table's shape.

    Parameters
    ----------
    entry : str
        Which entry of the domain (a feature's name, ``"classes"``, ``"features"``).
    rule : str
        What was expected.
    repair : str
        How to mend the domain.
    """

    def __init__(self, entry: str, rule: str, repair: str) -> None:
        self.entry = entry
        self.rule = rule
        self.repair = repair
        super().__init__(f"domain entry {entry!r}: {rule}. {repair}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.entry, self.rule, self.repair)


class RepeatedColumnsError(ParameterError, DomainError):
    """A table has two columns of one name, so that a name does not say which is meant.

    Parameters
    ----------
    rule : str
        What is wrong with the names, as a clause.
    repair : str
        How to mend the table.
    """

    def __init__(self, rule: str, repair: str) -> None:
        self.parameter, self.value, self.entry = "X", Described("columns"), "features"
        self.rule, self.repair = rule, repair
        # Neither base's own: each would take what it is given for its own parts.
        Exception.__init__(self, f"X=columns: {rule}. {repair}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rule, self.repair)


class InvalidRecordError(DPForestError, ValueError):
    """Some record breaks a rule of the domain; raised only with ``invalid="raise"``.

    For the curator's desk: it names the column and the rule, never a value, a count or
    a position. That it was raised depends on the records, so seeing it is not covered
    by epsilon.
    """

    def __init__(self, column: str, rule: str) -> None:
        self.column = column
        self.rule = rule
        super().__init__(
            f"column {column!r}: {rule}. Mend the table, declare the value in the domain, "
            'or use invalid="drop". Seeing this error is not covered by epsilon.'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.column, self.rule)


class BudgetExceeded(DPForestError, ValueError):
    """More budget was asked for than is left; nothing was spent by asking.

    Attributes
    ----------
    requested : PrivacyLoss
        What the request would have cost.
    remaining : Budget
        What was left when it was refused.
    where : str
        Which accountant, or which scope of it.
    note : str
        What the request comes to in the currency of the total, where that is another one.
    repair : str
        How to go on.
    """

    def __init__(
        self,
        requested: Any,
        remaining: Any,
        where: str = "accountant",
        note: str = "",
        repair: str = "Ask for less, or open an accountant with a larger total",
    ) -> None:
        self.requested = requested
        self.remaining = remaining
        self.where = where
        self.note = note
        self.repair = repair
        aside = f", {note}" if note else ""
        super().__init__(
            f"{where}: requested {requested}{aside}, but only {remaining} is left. {repair}."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.requested, self.remaining, self.where, self.note, self.repair)


class GrantError(DPForestError, ValueError):
    """A mechanism was given no grant, a used one, or one that was issued for something else."""


class ScopeError(DPForestError, ValueError):
    """A scope of the accountant was used against its rules (closed, wrong kind, same name)."""


class ModelFormatError(DPForestError, ValueError):
    """A stored model cannot be read: not one of ours, damaged, or of an unknown version."""


class NoiseUnknownError(DPForestError, ValueError):
    """Standard errors are asked of a model of which nobody knows how far noise moves it.

    Attributes
    ----------
    rule, repair : str
    """

    def __init__(self, rule: str, repair: str) -> None:
        self.rule = rule
        self.repair = repair
        super().__init__(f"no standard errors: {rule}. {repair}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rule, self.repair)


#: Problems of a report that its error names; ``problems`` has all.
PROBLEMS_TOLD = 3


class ReportError(DPForestError, ValueError):
    """A privacy report does not follow from its own entries, or is not of the given model.

    Attributes
    ----------
    problems : tuple of str
        What does not follow.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = tuple(problems)
        shown = "; ".join(self.problems[:PROBLEMS_TOLD])
        others = len(self.problems) - PROBLEMS_TOLD
        more = f"; and {others} more" if others > 0 else ""
        super().__init__(f"the report does not hold: {shown}{more}. Do not rely on it.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class _OtherReportFormat(ReportError):
    """A privacy report of a format that this release does not verify; pickled by its version."""

    def __init__(self, version: int, reason: str, repair: str) -> None:
        DPForestError.__init__(self, f"the report cannot be verified here: {reason}{repair}")
        self.version = version
        self.problems = (reason,)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.version,)


class EarlierReportError(_OtherReportFormat):
    """A privacy report of an earlier format, which only the release that wrote it can verify.

    Nothing is said against the report.

    Attributes
    ----------
    version : int
        Of the report's format.
    problems : tuple of str
        Why it is not verified, alone.
    """

    def __init__(self, version: int) -> None:
        super().__init__(
            version,
            f"it is of format version {version}",
            ", so only the release of dpforest that wrote it can verify it. This one reads it: "
            "PrivacyReport.from_json.",
        )


class NewerReportError(_OtherReportFormat):
    """A privacy report of a format that only a newer release knows.

    Nothing is said against the report.

    Attributes
    ----------
    version : int
        Of the report's format.
    problems : tuple of str
        Why it is not verified, alone.
    """

    def __init__(self, version: int) -> None:
        super().__init__(
            version,
            f"it is of format version {version}, which a newer release of dpforest wrote",
            ". Verify it with that release.",
        )


class StreamError(DPForestError, ValueError):
    """A table, or a part of one, cannot be read, or a part does not fit the domain.

    Attributes
    ----------
    place : str
        A file and a row group, a batch, or the table; never a value.
    rule, repair : str
    """

    def __init__(self, place: str, rule: str, repair: str) -> None:
        self.place, self.rule, self.repair = place, rule, repair
        super().__init__(f"{printable(place)}: {rule.rstrip('.')}. {repair}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.rule, self.repair)


class InvalidStreamRecordError(StreamError, InvalidRecordError):
    """Some record of a stream breaks a rule of the domain; raised only with ``invalid="raise"``.

    As :class:`InvalidRecordError`, for the curator's desk: the place where the record was read is
    named too, and what was set aside for the fit stays spent.
    """

    def __init__(self, place: str, column: str, rule: str) -> None:
        self.place, self.column, self.rule = place, column, rule
        self.repair = 'Mend the record, declare the value in the domain, or use invalid="drop"'
        # Neither base's own: each would take what it is given for its own parts.
        Exception.__init__(
            self,
            f"{printable(place)}: column {column!r}: {rule}. {self.repair}. Seeing this error is "
            "not covered by epsilon.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.column, self.rule)


class LedgerError(DPForestError, ValueError):
    """A ledger cannot do what it was asked; nothing was charged unless the message says so.

    Parameters
    ----------
    rule : str
        What is wrong, as a clause ("the data set is frozen").
    repair : str
        How to go on.
    ledger : str
        Which ledger: its place without any password, or its identity.
    data_set : str
        Which data set of it, if it is about one.
    """

    def __init__(self, rule: str, repair: str, ledger: str = "", data_set: str = "") -> None:
        self.rule, self.repair, self.ledger, self.data_set = rule, repair, ledger, data_set
        place = f"ledger {printable(ledger)}" if ledger else ""
        of = f"data set {data_set!r}" if data_set else ""
        where = ", ".join(filter(None, (place, of))) or "ledger"
        super().__init__(f"{where}: {rule}. {repair}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rule, self.repair, self.ledger, self.data_set)


class ApprovalMissing(LedgerError):
    """A data set asks for approvals, and not enough owners approved of this very plan."""


class LedgerDamaged(LedgerError):
    """A ledger does not hold what was written: a chain, its head or a signature does not fit."""


class LedgerFrozen(LedgerError):
    """A data set takes no spending until its owners have found out what is missing."""


class LedgerUnreachable(LedgerError):
    """A ledger's store cannot be read or written.

    Parameters
    ----------
    rule, repair, ledger, data_set : str
        See :class:`LedgerError`.
    unanswered : bool
        Whether an entry was on its way, so that it may stand although nobody said so. It is looked
        up by its identity, and never written a second time.
    """

    def __init__(
        self,
        rule: str,
        repair: str,
        ledger: str = "",
        data_set: str = "",
        unanswered: bool = False,
    ) -> None:
        super().__init__(rule, repair, ledger, data_set)
        self.unanswered = unanswered

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*super().__reduce__()[1], self.unanswered)


class MissingExtraError(DPForestError, ImportError):
    """An optional package is needed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package = package
        self.extra = extra
        self.purpose = purpose
        super().__init__(
            f"{purpose} needs the package {package!r}. "
            f"Install it with: pip install 'dpforest[{extra}]'."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.package, self.extra, self.purpose)


class PrivacyLeakWarning(UserWarning):
    """Something was learnt from the records without paying, so the guarantee is void."""


class DraftedBoundsWarning(UserWarning):
    """Bounds of a confirmed domain are still those of its draft, or a placeholder is.

    For the curator's desk: whether it is given depends on the records, so seeing it is not covered
    by epsilon. It names entries, and never a value.
    """


class LookAlikesWarning(UserWarning):
    """Categories, classes or names that a domain declares look the same, and are not."""


class RepeatedFitWarning(UserWarning):
    """The same estimator, or a clone of it, has spent budget before in this process."""


class WeakSignalWarning(UserWarning):
    """The budget is too small for the declared or released number of records to teach much."""


class ColumnsByPositionWarning(UserWarning):
    """A frame has names, none of them declared, so its columns are read by their places."""


class ColumnsOfTimesWarning(UserWarning):
    """A column that is to be predicted is of dates or times, which mean nothing in a domain."""


class UnreadableColumnsWarning(UserWarning):
    """No value of a numeric column that is to be predicted is a number."""


class FewRecordsWarning(UserWarning):
    """Released counts add up to far less than the declared number of records."""


class UndeclaredLabelsWarning(UserWarning):
    """No label of a score means a declared class, or labels of a fit are of a type that has none.

    A score of such labels finds nothing right, and such a fit drops its records.
    """


class LargeDeltaWarning(UserWarning):
    """Delta is at least one over the declared number of records.

    A mechanism that publishes one record at random out of n would keep such a guarantee.
    """


class LargeEpsilonWarning(UserWarning):
    """Epsilon is so large that the guarantee promises little."""


class LedgerWarning(UserWarning):
    """Something about a ledger that its owners should know, and that stops nothing."""
