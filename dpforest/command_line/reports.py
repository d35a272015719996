"""``dpforest report``: show a privacy report, verify it, compare two."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from dpforest.command_line.answers import (
    Answer,
    DiffResult,
    ReportResult,
    VerifyResult,
    Written,
)
from dpforest.command_line.charging import opened_ledger
from dpforest.command_line.exit_codes import ANSWER_IS_NO, DONE
from dpforest.command_line.headers import header_at
from dpforest.command_line.models import content_of, read_model, text_of
from dpforest.domain.domain import Domain
from dpforest.estimators.storage import FORMAT as MODEL_FORMAT
from dpforest.exceptions import PROBLEMS_TOLD, ParameterError, ReportError
from dpforest.report.carried import is_page
from dpforest.report.diff import diff_reports
from dpforest.report.report import PrivacyReport
from dpforest.verify.reading import is_markdown
from dpforest.verify.report import verify_report
from dpforest.writing import check_new, write_text

#: Beside a report that is shown or compared as its file has it.
NOT_VERIFIED = "shown as it is written: dpforest report verify says whether it holds"
#: Lines of further problems that are shown to a reader.
MOST_LINES = 20


def run_show(chosen: argparse.Namespace) -> Answer:
    """A report in words, as a page or as JSON, to stdout or to a file."""
    if chosen.output:
        check_new(Path(chosen.output), chosen.force, read=[chosen.report, chosen.header])
    report, notice = _report_at(chosen.report, chosen.header)
    forms = {"markdown": report.to_markdown, "html": report.to_html, "json": report.to_json}
    words = forms[chosen.form]()
    written: tuple[Written, ...] = ()
    if chosen.output:
        write_text(Path(chosen.output), words, private=_holds_draft(report), force=chosen.force)
        file = Written(what="report", path=chosen.output)
        written, words = (file,), file.words
    return Answer(ReportResult(report=json.loads(report.to_json()), written=written), words, notice)


def run_verify(chosen: argparse.Namespace) -> Answer:
    """Work every figure of a report out again."""
    report = Path(chosen.report)
    if not _has_words_at(report):
        content_of(chosen.report)  # a file that cannot be read is bad input, and no false report
    model = None if chosen.model is None else Path(chosen.model)
    if model is not None and not os.path.isfile(model):
        content_of(chosen.model)
    signed = None if chosen.signature is None else Path(chosen.signature)
    try:
        with opened_ledger(chosen) as ledger:
            found = verify_report(
                report, model, ledger=ledger, signature=signed, key=chosen.public_key
            )
    except ReportError as refusal:
        result = VerifyResult(holds=False, problems=refusal.problems)
        return Answer(result, _refused_in_words(refusal), code=ANSWER_IS_NO)
    result = VerifyResult(
        holds=True, guarantee_status=found.guarantee_status, held=found.held,
        taken_at_its_word=found.taken_at_its_word,
    )  # fmt: skip
    lacks = chosen.require_guarantee and found.guarantee_status != "holds"
    return Answer(result, str(found), code=ANSWER_IS_NO if lacks else DONE)


def _refused_in_words(refusal: ReportError) -> str:
    """Its first problems in one sentence, then more of them, a line each."""
    rest = refusal.problems[PROBLEMS_TOLD:]
    lines = [str(refusal), *rest[:MOST_LINES]]
    if len(rest) > MOST_LINES:
        lines.append(f"and {len(rest) - MOST_LINES} more: --json lists all")
    return "\n".join(lines)


def run_diff(chosen: argparse.Namespace) -> Answer:
    """Differences from one report to another."""
    (one, notice), (other, of_other) = _report_at(chosen.report), _report_at(chosen.other)
    found = diff_reports(one, other)
    code = ANSWER_IS_NO if chosen.exit_code and not found.same else DONE
    return Answer(DiffResult(same=found.same, diff=found), str(found), notice or of_other, code)


def _has_words_at(path: Path) -> bool:
    """Say if a file begins as a page or as Markdown; one that cannot be opened does not."""
    try:
        with path.open("rb") as file:
            begin = file.read(64).decode("utf-8-sig", "replace")
            return is_page(begin) or is_markdown(begin)
    except OSError:
        return False


def _holds_draft(report: PrivacyReport) -> bool:
    """True if a report may hold what a draft read off the records."""
    try:
        return not Domain._of_record(report.domain).is_declared
    except ValueError:
        return True


def _report_at(path: str, header: str | None = None) -> tuple[PrivacyReport, str]:
    """The report in a file, or of the model in it, with the header of another file.

    Beside it a word for whoever watches: a report in a file is as somebody wrote it.
    """
    if content_of(path).get("format") == MODEL_FORMAT:
        return read_model(path).privacy_report(header_at(header)), ""
    if header is not None:
        raise ParameterError(
            "--header", header, "is of a model's report, and this file is a report, whose header "
            "stays as it was handed over", "Name the model",
        )  # fmt: skip
    return PrivacyReport.from_json(text_of(path)), NOT_VERIFIED
