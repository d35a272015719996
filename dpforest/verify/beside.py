"""A report beside the model that it is of, and the ledger that its fit was charged to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpforest.estimators.storage import read_stored
from dpforest.exceptions import (
    Described,
    ModelFormatError,
    ParameterError,
)
from dpforest.ledger.ledger import BudgetLedger
from dpforest.ledger.witness import witness_problems
from dpforest.report.making import make_report
from dpforest.report.places import place_name
from dpforest.report.record import in_todays_words
from dpforest.report.report import PrivacyReport
from dpforest.strict_json import MODEL_LIMITS, json_text
from dpforest.verify.contents import differences
from dpforest.verify.replan import estimator_of


def ledger_problems(record: PrivacyReport, ledger: BudgetLedger) -> Iterator[str]:
    """Name what a ledger says otherwise of the entry that a report names."""
    place = record.basis.ledger
    if place is None:
        yield "its fit was charged to no ledger"
        return
    if place.ledger != ledger.id or place.data_set not in ledger.data_sets:
        yield f"it is of {place_name(place)}, which is not in this one ({ledger.id})"
        return
    yield from witness_problems(ledger.chain(place.data_set), place)


def _kind_in(stored: str | Path) -> str:
    """Name of the estimator that a file holds, where it is one of ours; empty otherwise."""
    try:
        return estimator_of(read_stored(stored)["estimator"]).__name__
    except (ModelFormatError, LookupError, TypeError):  # a name may be anything
        return ""


def _model_text(model: str | Path) -> str:
    """JSON of a stored model. Where there is none, nothing is said against the report."""

    def refuse(rule: str) -> ParameterError:
        return ParameterError(
            "model", Described("what was given"), rule, "Give the file that to_json() wrote"
        )

    text = json_text(model, refuse, MODEL_LIMITS)
    if not text.lstrip().startswith("{"):
        raise refuse("it is no JSON of a model")
    return text


def model_problems(record: PrivacyReport, model: Any) -> Iterator[str]:
    """Name what a model, or its JSON, says otherwise than its report."""
    if isinstance(model, (str, Path)):
        model = _model_text(model)
        try:
            model = estimator_of(record.estimator).from_json(model)
        except (ModelFormatError, LookupError) as error:
            other = _kind_in(model)
            differs = other and other != record.estimator
            yield (
                f"it is about another model: a {record.estimator}, and this is a {other}"
                if differs
                else f"the model cannot be read ({error})"
            )
            return
    if record.model_fingerprint != model.fingerprint_:
        yield "it is about another model: the fingerprints differ"
    own = make_report(
        model._facts,
        model.domain_,
        model.guarantee_,
        model._composition(),
        model.fingerprint_,
        record.header,
        record.utility,
        record.version,
    )
    # A model that is read back where conversions use other means claims only what can be shown
    # there: by what its bounds say, or by caps that are alternatives, of which they do not.
    means = [[b.derivation for b in r.guarantee.bounds] for r in (record, own)]
    differ = means[0] != means[1] or bool(record.composition.caps)
    ignored = ("guarantee.", "sentence", "notices[") if differ else ()
    for place in differences(in_todays_words(record), own):
        if not place.startswith(ignored) or not ignored:
            yield f"{place} is not what the model says"
