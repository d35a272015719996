"""``dpforest fit``: a forest from files and a domain; price first, then records, then files.

Order: options, domain, places of files, columns; price; question; charge and training; the model,
and only then all that can be made of it again. So a refusal costs nothing, and what was paid for
is written first.

Held by tests/command_line/test_fit.py.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.base import is_regressor

from dpforest.command_line.answers import Answer, FitResult, Price, Written
from dpforest.command_line.asking import agreed
from dpforest.command_line.charging import (
    BudgetSource,
    opened_budget_source,
    price_words,
    read_for_price,
    spent_words,
)
from dpforest.command_line.exit_codes import ANSWER_IS_NO, DONE, NOT_ALL_WRITTEN
from dpforest.command_line.forests import declared_domain, forest_of
from dpforest.command_line.headers import header_at
from dpforest.command_line.interrupts import interrupts_wait
from dpforest.command_line.planning import how_read
from dpforest.command_line.predictions import check_columns_of, write_predictions
from dpforest.command_line.tables import WholeTable, files_of, is_streamed, labelled
from dpforest.estimators.forecast import gain_in_words
from dpforest.estimators.forecast_range import Range
from dpforest.exceptions import (
    DPForestError,
    MissingExtraError,
    UnreadableColumnsWarning,
    printable,
)
from dpforest.ledger.command_line import exit_code
from dpforest.report.header import ReportHeader
from dpforest.standard_streams import print_notice
from dpforest.writing import (
    check_new,
    check_writable,
    rescue,
    write_text,
)

#: Names of files in the folder of ``--output``.
MODEL, REPORT, PAGE, PREDICTIONS = "model.json", "report.json", "report.html", "predictions.csv"
NAMES = (MODEL, REPORT, PAGE, PREDICTIONS)


@dataclass
class FitJob:
    """Everything about a fit that is known before anything is charged."""

    chosen: argparse.Namespace
    forest: Any
    source: Any
    streamed: bool
    price: Price
    header: ReportHeader | None
    written: list[Written] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    #: Whether training is over, with a model or without.
    ended: bool = False

    @property
    def lost(self) -> bool:
        """True if no file has the model."""
        return not any(one.what == "model" for one in self.written)

    @property
    def private(self) -> bool:
        """True if files hold what a draft read off the records."""
        return not self.forest.domain.is_declared

    @property
    def is_in_output_folder(self) -> bool:
        """True if the model is where it was to be, so that other files may stand beside it."""
        home = str(self.folder / MODEL)
        return any(one.what == "model" and one.path == home for one in self.written)

    @property
    def folder(self) -> Path:
        """Folder that files go to."""
        return Path(self.chosen.output)

    def result(self, dry_run: bool, **facts: Any) -> FitResult:
        """The answer for programs."""
        return FitResult(
            dry_run=dry_run,
            plan=self.forest.plan(streamed=self.streamed),
            streamed=self.streamed,
            price=self.price,
            written=tuple(self.written),
            problems=tuple(self.problems),
            **facts,
        )


def run_fit(chosen: argparse.Namespace) -> Answer:
    """Train a forest, and write it with its report."""
    domain, header = declared_domain(chosen), header_at(chosen.header)
    forest = forest_of(chosen, domain, chosen.seed, chosen.jobs)
    streamed = is_streamed(domain, chosen.streamed)
    _check_places(chosen)
    source = labelled(chosen.files, chosen.target, chosen.format)
    source.check(domain.feature_names)
    check_columns_of(chosen, forest, domain)
    with opened_budget_source(chosen) as budget_source:
        price = budget_source.price(forest, streamed)
        job = FitJob(chosen, forest, source, streamed, price, header)
        if chosen.dry_run:
            return _dry_run(job, budget_source)
        print_notice(_plan_words(job))
        budget_source.check(price)
        if not agreed("Spend this?", chosen.yes):
            return Answer(job.result(True), "", "nothing was charged", ANSWER_IS_NO)
        check_writable(job.folder)
        forest.set_params(accountant=budget_source.accountant())
        with _paid_for(job):
            _train(job)
    return _write_results(job)


# -- before anything is charged -------------------------------------------------------------------


def _check_places(chosen: argparse.Namespace) -> None:
    """Refuse what could not be written afterwards, and what is there of another fit."""
    read = _read_by(chosen)
    for name in NAMES:  # also those that this fit does not write: --force removes them
        check_new(Path(chosen.output) / name, chosen.force, read=read)
    if not chosen.no_html:
        try:
            import jinja2  # noqa: F401
        except ImportError:
            raise MissingExtraError("jinja2", "report", "report.html (--no-html: none)") from None


def _read_by(chosen: argparse.Namespace) -> list[str | Path | None]:
    """Files that a fit reads, those in folders too."""
    trained_on = files_of(chosen.files, chosen.format)
    predicted = files_of(chosen.predict, chosen.format) if chosen.predict else ()
    return [*trained_on, *predicted, chosen.header, *read_for_price(chosen)]


def _plan_words(job: FitJob) -> str:
    plan = job.forest.plan(streamed=job.streamed)
    seeded = "\nwith --seed the noise can be made again: no guarantee is earned"
    return f"{plan}\n{how_read(job.streamed)}\n{price_words(job.price)}" + (
        seeded if job.chosen.seed is not None else ""
    )


def _dry_run(job: FitJob, budget_source: BudgetSource) -> Answer:
    """Plan and price alone; ends with the code that the fit would end with."""
    code = DONE
    try:
        budget_source.check(job.price)
    except DPForestError as refusal:
        print_notice(f"dpforest fit: {refusal}")
        code = exit_code(refusal)
    notice = "dry run: no record was read, nothing was charged, nothing was written"
    return Answer(job.result(True), _plan_words(job), notice, code)


# -- the fit --------------------------------------------------------------------------------------


def _train(job: FitJob) -> None:
    """Train; the fit reads the files once it is charged, in passes or whole."""
    job.forest.fit(job.source if job.streamed else WholeTable(job.source))


@contextmanager
def _paid_for(job: FitJob) -> Iterator[None]:
    """Write the model before anything else happens, and say what a fit that failed has cost."""
    with interrupts_wait(lambda: job.ended or job.forest.__sklearn_is_fitted__()) as asked:
        try:
            yield
        except BaseException as error:
            job.ended = True
            if job.forest.__sklearn_is_fitted__():
                _keep_model(job)
            else:
                _print_cost(job, error)
            raise
        _keep_model(job)
        if job.lost:  # it is to reach stdout, its last resort
            asked.clear()


def _print_cost(job: FitJob, error: BaseException) -> None:
    """Say what a fit without a model has cost."""
    found = [job.forest._failure, *getattr(error, "__notes__", ())]
    for words in list(filter(None, found)) or ["nothing was charged"]:
        print_notice(f"dpforest fit: {words}")


def _keep_model(job: FitJob) -> None:
    """Write the model at its place, else anywhere, and tell where it is or what it has cost."""
    try:
        place = _placed(job, job.forest.to_json())
    except BaseException:
        print_notice(f"dpforest fit: {spent_words(job.price)}")
        raise
    if place is None:
        print_notice(f"dpforest fit: {spent_words(job.price)}")
        return
    job.written.append(Written(what="model", path=str(place)))
    print_notice(f"the model is paid for and kept: {printable(str(place))}")


def _placed(job: FitJob, text: str) -> Path | None:
    """Write the model; what another fit left in the folder goes when it comes."""
    place, force = job.folder / MODEL, job.chosen.force
    left = [job.folder / name for name in NAMES if force and name != MODEL]
    try:
        write_text(place, text, private=job.private, force=force, removed=left)
    except DPForestError as refusal:
        job.problems.append(f"model: {refusal}")
        return rescue(text, "dpforest-model")
    return place


# -- files ----------------------------------------------------------------------------------------


def _write_results(job: FitJob) -> Answer:
    """Write all that can be made of the model, and answer."""
    forest = job.forest
    report = forest.privacy_report(job.header)

    def write(path: Path, text: str) -> None:
        write_text(path, text, private=job.private, force=job.chosen.force)

    makers: list[tuple[str, str, Callable[[Path], None]]] = [
        ("report", REPORT, lambda path: write(path, report.to_json()))
    ]
    if not job.chosen.no_html:
        makers.append(("page", PAGE, lambda path: write(path, report.to_html())))
    if job.chosen.predict:
        makers.append(("predictions", PREDICTIONS, lambda path: _write_predictions(job, path)))
    for what, name, make in makers:
        if job.is_in_output_folder:
            _write(job, what, job.folder / name, make)
        else:
            job.problems.append(f"{what}: not written, since the model is not in that folder")
    return _answer(job)


def _write_predictions(job: FitJob, path: Path) -> None:
    """Write predictions without a word on the records, which may be those that were trained on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadableColumnsWarning)
        write_predictions(job.chosen, job.forest, path)


def _write(job: FitJob, what: str, path: Path, make: Callable[[Path], None]) -> None:
    try:
        make(path)
    except Exception as fault:  # whatever it is, the forest is there and was paid for
        job.problems.append(f"{what}: {_why_missing(what, fault)}")
    else:
        job.written.append(Written(what=what, path=str(path)))


def _why_missing(what: str, fault: Exception) -> str:
    """Reason in words; of predictions none, which may be of the records that were trained on."""
    if what == "predictions":
        return "not written; run dpforest predict"
    if isinstance(fault, DPForestError):
        return str(fault)
    return f"a fault of dpforest ({type(fault).__name__})"


def _answer(job: FitJob) -> Answer:
    forest, guarantee = job.forest, job.forest.guarantee_
    model, gain = forest.to_json() if job.lost else None, _gain(job)
    result = job.result(
        False,
        strategy=forest.strategy_,
        guarantee=str(guarantee),
        guarantee_status=guarantee.status,
        fingerprint=forest.fingerprint_,
        expected_gain=gain,
        model=model,
    )
    lines = [
        str(guarantee),
        *_forecast(job, gain),
        *(one.words for one in job.written),
    ]
    if not job.problems:
        return Answer(result, "\n".join(lines))
    notice = ["what is missing:", *job.problems]
    notice += ["no place took the model: it follows on stdout"] if job.lost else [
        "the model has it all: dpforest report show, dpforest predict"
    ]  # fmt: skip
    words = model if model is not None else "\n".join(lines)
    return Answer(result, words, "\n".join(notice), NOT_ALL_WRITTEN)


def _gain(job: FitJob) -> Range | None:
    """Range of what the forest likely gains; a fault there must not cost what was paid for."""
    try:
        found: Range | None = job.forest.expected_gain()
    except Exception as fault:
        job.problems.append(f"forecast: {_why_missing('forecast', fault)}")
        return None
    return found


def _forecast(job: FitJob, gain: Range | None) -> list[str]:
    """A line that says what the forest likely gains.

    Of classes none but ``"auto"`` has a range of its own: see ``expected_gain``.
    """
    regresses = is_regressor(job.forest)
    if gain is None or not (regresses or getattr(job.forest, "strategy", "") == "auto"):
        return []
    return [f"forecast: {gain_in_words(gain, regresses)}"]
