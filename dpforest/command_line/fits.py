"""``dpforest fit``: a forest from files and a domain; price first, then records, then files.

Order: options, domain, places of files, columns; price; question; charge and training; the model,
and only then all that can be made of it again. So a refusal costs nothing, and what was paid for
is written first.

Held by tests/command_line/test_fit.py.
"""

from __future__ import annotations

import argparse
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
    price_words,
    opened_budget_source,
    read_for_price,
    spent_words,
)
from dpforest.command_line.exit_codes import ANSWER_IS_NO, DONE, NOT_ALL_WRITTEN
from dpforest.command_line.forests import declared_domain, forest_of
from dpforest.command_line.headers import header_at
from dpforest.command_line.interrupts import interrupts_wait
from dpforest.command_line.planning import how_read
from dpforest.command_line.predictions import check_columns_of, write_predictions
from dpforest.command_line.running import tell
from dpforest.command_line.tables import WholeTable, files_of, is_streamed, labelled
from dpforest.estimators.forecast import gain_in_words
from dpforest.estimators.forecast_range import Range
from dpforest.exceptions import DPForestError, MissingExtraError
from dpforest.ledger.command_line import exit_code
from dpforest.report.header import ReportHeader
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
class Order:
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
    def is_at_home(self) -> bool:
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
    forest, streamed = forest_of(chosen, domain), is_streamed(domain, chosen.streamed)
    _check_places(chosen)
    source = labelled(chosen.files, chosen.target, chosen.format)
    source.check(domain.feature_names)
    check_columns_of(chosen, forest, domain)
    with opened_budget_source(chosen) as budget_source:
        price = budget_source.price(forest, streamed)
        order = Order(chosen, forest, source, streamed, price, header)
        if chosen.dry_run:
            return _dry(order, budget_source)
        tell(_before(order))
        budget_source.check(price)
        if not agreed("Spend this?", chosen.yes):
            return Answer(order.result(True), "", "nothing was charged", ANSWER_IS_NO)
        check_writable(order.folder)
        forest.set_params(accountant=budget_source.accountant())
        with _paid_for(order):
            _train(order)
    return _handed_over(order)


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


def _before(order: Order) -> str:
    plan = order.forest.plan(streamed=order.streamed)
    seeded = "\nwith --seed the noise can be made again: no guarantee is earned"
    return f"{plan}\n{how_read(order.streamed)}\n{price_words(order.price)}" + (
        seeded if order.chosen.seed is not None else ""
    )


def _dry(order: Order, budget_source: BudgetSource) -> Answer:
    """Plan and price alone; ends with the code that the fit would end with."""
    code = DONE
    try:
        budget_source.check(order.price)
    except DPForestError as refusal:
        tell(f"dpforest fit: {refusal}")
        code = exit_code(refusal)
    aside = "dry run: no record was read, nothing was charged, nothing was written"
    return Answer(order.result(True), _before(order), aside, code)


# -- the fit --------------------------------------------------------------------------------------


def _train(order: Order) -> None:
    """Train; the fit reads the files once it is charged, in passes or whole."""
    order.forest.fit(order.source if order.streamed else WholeTable(order.source))


@contextmanager
def _paid_for(order: Order) -> Iterator[None]:
    """Write the model before anything else happens, and say what a fit that failed has cost."""
    with interrupts_wait(lambda: order.ended or order.forest.__sklearn_is_fitted__()) as asked:
        try:
            yield
        except BaseException as error:
            order.ended = True
            if order.forest.__sklearn_is_fitted__():
                _keep_model(order)
            else:
                _tell_of_cost(order, error)
            raise
        _keep_model(order)
        if order.lost:  # it is to reach stdout, its last resort
            asked.clear()


def _tell_of_cost(order: Order, error: BaseException) -> None:
    """Say what a fit without a model has cost."""
    found = [order.forest._failure, *getattr(error, "__notes__", ())]
    for words in list(filter(None, found)) or ["nothing was charged"]:
        tell(f"dpforest fit: {words}")


def _keep_model(order: Order) -> None:
    """Write the model at its place, else anywhere, and tell where it is or what it has cost."""
    try:
        place = _placed(order, order.forest.to_json())
    except BaseException:
        tell(f"dpforest fit: {spent_words(order.price)}")
        raise
    if place is None:
        tell(f"dpforest fit: {spent_words(order.price)}")
        return
    order.written.append(Written(what="model", path=str(place)))
    tell(f"the model is paid for and kept: {place}")


def _placed(order: Order, text: str) -> Path | None:
    """Write the model; what another fit left in the folder goes when it comes."""
    place, force = order.folder / MODEL, order.chosen.force
    left = [order.folder / name for name in NAMES if force and name != MODEL]
    try:
        write_text(place, text, private=order.private, force=force, removed=left)
    except DPForestError as refusal:
        order.problems.append(f"model: {refusal}")
        return rescue(text, "dpforest-model")
    return place


# -- files ----------------------------------------------------------------------------------------


def _handed_over(order: Order) -> Answer:
    """Write all that can be made of the model, and answer."""
    forest = order.forest
    report = forest.privacy_report(order.header)

    def write(path: Path, text: str) -> None:
        write_text(path, text, private=order.private, force=order.chosen.force)

    makers: list[tuple[str, str, Callable[[Path], None]]] = [
        ("report", REPORT, lambda path: write(path, report.to_json()))
    ]
    if not order.chosen.no_html:
        makers.append(("page", PAGE, lambda path: write(path, report.to_html())))
    if order.chosen.predict:
        makers.append(
            ("predictions", PREDICTIONS, lambda path: write_predictions(order.chosen, forest, path))
        )
    for what, name, make in makers:
        if order.is_at_home:
            _write(order, what, order.folder / name, make)
        else:
            order.problems.append(f"{what}: not written, since the model is not in that folder")
    return _answer(order)


def _write(order: Order, what: str, path: Path, make: Callable[[Path], None]) -> None:
    try:
        make(path)
    except Exception as fault:  # whatever it is, the forest is there and was paid for
        order.problems.append(f"{what}: {_why_missing(what, fault)}")
    else:
        order.written.append(Written(what=what, path=str(path)))


def _why_missing(what: str, fault: Exception) -> str:
    """Reason in words; of predictions none, which may be of the records that were trained on."""
    if what == "predictions":
        return "not written; run dpforest predict"
    if isinstance(fault, DPForestError):
        return str(fault)
    return f"a fault of dpforest ({type(fault).__name__})"


def _answer(order: Order) -> Answer:
    forest, guarantee = order.forest, order.forest.guarantee_
    model, gain = forest.to_json() if order.lost else None, _gain(order)
    result = order.result(
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
        *_forecast(order, gain),
        *(f"{one.what}: {one.path}" for one in order.written),
    ]
    if not order.problems:
        return Answer(result, "\n".join(lines))
    aside = ["what is missing:", *order.problems]
    aside += ["no place took the model: it follows on stdout"] if order.lost else [
        "the model has it all: dpforest report show, dpforest predict"
    ]  # fmt: skip
    words = model if model is not None else "\n".join(lines)
    return Answer(result, words, "\n".join(aside), NOT_ALL_WRITTEN)


def _gain(order: Order) -> Range | None:
    """Range of what the forest likely gains; a fault there must not cost what was paid for."""
    try:
        found: Range | None = order.forest.expected_gain()
    except Exception as fault:
        order.problems.append(f"forecast: {_why_missing('forecast', fault)}")
        return None
    return found


def _forecast(order: Order, gain: Range | None) -> list[str]:
    """A line that says what the forest likely gains."""
    if gain is None:
        return []
    return [f"forecast: {gain_in_words(gain, is_regressor(order.forest))}"]
