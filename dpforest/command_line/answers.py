"""Answers of commands: words for people, and with ``--json`` one object with a published schema.

Held by tests/command_line/test_schema.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict, field_serializer

from dpforest.audit.result import AuditResult
from dpforest.command_line.exit_codes import DONE
from dpforest.domain.comparing import DomainDiff
from dpforest.domain.findings import DomainCheck
from dpforest.estimators.explanation import Explanation
from dpforest.estimators.forecast import PlanSummary
from dpforest.exceptions import printable
from dpforest.own_names import OwnNames
from dpforest.report.diff import ReportDiff

FORMAT = "dpforest-output"
VERSION = 1


@dataclass(frozen=True)
class Answer:
    """Result of a command.

    Attributes
    ----------
    result : Result
        For programs.
    words : str
        For people; goes to stdout.
    notice : str
        For people who watch; goes to stderr.
    code : int
        Exit code.
    """

    result: Result
    words: str
    notice: str = ""
    code: int = DONE

    def as_json(self, command: str) -> str:
        """One line of JSON that keeps to the published schema."""
        data: dict[str, Any] = {"format": FORMAT, "version": VERSION, "command": command}
        # Through JSON text: only there are infinite amounts written as text.
        data["result"] = json.loads(self.result.model_dump_json())
        return json.dumps(data)


class Result(OwnNames):
    """Base of results."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Written(Result):
    """A file that was written.

    Attributes
    ----------
    what : str
        Such as ``"model"``.
    path : str
    """

    what: str
    path: str

    @property
    def words(self) -> str:
        """Kind and place of the file, on a line that steers no terminal."""
        return f"{self.what}: {printable(self.path)}"

    @field_serializer("path")
    def _as_in_words(self, path: str) -> str:
        """A path with bytes that are no UTF-8, of which pydantic makes no JSON, written out."""
        return path.encode("utf-8", "backslashreplace").decode("utf-8")


class Price(Result):
    """Price of a fit, and what it is charged to.

    Attributes
    ----------
    epsilon, delta : float
        What the fit promises by itself, for a privacy unit.
    charged_to : str
        In words.
    currency : {"rho", "epsilon"} or None
        Of the data set in a ledger; None without a ledger.
    amount, remaining : str or None
        In that currency: of this fit, rounded up, and what the data set has left before it,
        rounded down.
    fits : bool or None
        Whether the ledger would grant it.
    approvals : int or None
        Owners who must approve.
    """

    epsilon: float
    delta: float
    charged_to: str
    currency: Literal["rho", "epsilon"] | None = None
    amount: str | None = None
    remaining: str | None = None
    fits: bool | None = None
    approvals: int | None = None


class PlanResult(Result):
    """Of ``plan``.

    Attributes
    ----------
    plan : PlanSummary
    streamed : bool
        Whether records would be read pass by pass.
    price : Price
    written : tuple of Written
        The charge for a ledger, if it was asked for.
    """

    plan: PlanSummary
    streamed: bool
    price: Price
    written: tuple[Written, ...] = ()


class FitResult(Result):
    """Of ``fit``.

    Attributes
    ----------
    dry_run : bool
        Whether nothing was read, charged or written.
    plan : PlanSummary
    streamed : bool
    price : Price
    strategy, guarantee, guarantee_status : str or None
        Of the fitted forest.
    fingerprint : str or None
        Digest of what was released.
    expected_gain : tuple of two floats, or None
        Of the fitted forest, as `PrivateForestClassifier.expected_gain` gives it.
    written : tuple of Written
    problems : tuple of str
        What could not be written, with the reason.
    model : str or None
        The forest's own JSON, where no place took it.
    """

    dry_run: bool
    plan: PlanSummary
    streamed: bool
    price: Price
    strategy: str | None = None
    guarantee: str | None = None
    guarantee_status: str | None = None
    fingerprint: str | None = None
    expected_gain: tuple[float, float] | None = None
    written: tuple[Written, ...] = ()
    problems: tuple[str, ...] = ()
    model: str | None = None


class WritingResult(Result):
    """Of commands that write files: ``predict``, ``export``, ``domain check --output`` and
    ``domain diff --output``.

    Attributes
    ----------
    written : tuple of Written
    """

    written: tuple[Written, ...]


class DomainResult(Result):
    """Of ``domain draft`` and ``domain confirm``.

    Attributes
    ----------
    written : tuple of Written
    n_features : int
    lacking : dict of str
        Entries that do not count as declared, and what each lacks.
    """

    written: tuple[Written, ...]
    n_features: int
    lacking: dict[str, str]


class CheckResult(Result):
    """Of ``domain check``: for the curator's eyes alone.

    Attributes
    ----------
    for_the_curator_alone : bool
    check : DomainCheck
    lines_left_out : int
        Lines of CSV files that are no record.
    """

    for_the_curator_alone: Literal[True] = True
    check: DomainCheck
    lines_left_out: int


class DomainDiffResult(Result):
    """Of ``domain diff``.

    Attributes
    ----------
    same : bool
    diff : DomainDiff
    """

    same: bool
    diff: DomainDiff


class ExplainResult(Result):
    """Of ``explain``.

    Attributes
    ----------
    explanation : Explanation
    written : tuple of Written
        The plot, if it was asked for.
    """

    explanation: Explanation
    written: tuple[Written, ...] = ()


class ReportResult(Result):
    """Of ``report show``.

    Attributes
    ----------
    report : dict
        The report itself, by the schema of ``dpforest.report_schema()``.
    written : tuple of Written
    """

    report: dict[str, Any]
    written: tuple[Written, ...] = ()


class VerifyResult(Result):
    """Of ``report verify``.

    Attributes
    ----------
    holds : bool
    guarantee_status : str
        Of the guarantee that a report which holds states: holds, demonstration, void or none.
    held, taken_at_its_word : tuple of str
        What was worked out again, and what was not.
    problems : tuple of str
        What does not follow.
    """

    holds: bool
    guarantee_status: str = ""
    held: tuple[str, ...] = ()
    taken_at_its_word: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class DiffResult(Result):
    """Of ``report diff``.

    Attributes
    ----------
    same : bool
    diff : ReportDiff
    """

    same: bool
    diff: ReportDiff


class AuditOutcome(Result):
    """Of ``audit``.

    Attributes
    ----------
    audit : AuditResult
    """

    audit: AuditResult
