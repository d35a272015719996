"""A fitted forest as JSON: released arrays, public facts, guarantee and ledger."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel

from dpforest.accounting.detached import DetachedAccountant, charged_to
from dpforest.accounting.fits import EarlierFits, earlier_fits, recall_fits
from dpforest.accounting.ledger import Budget, BudgetRecord, FrozenLedger
from dpforest.domain.schema import Domain
from dpforest.exceptions import ModelFormatError
from dpforest.forest.guarantee import Guarantee
from dpforest.forest.report import PrivacyReport

FORMAT = "dpforest-model"
VERSION = 1

Model = TypeVar("Model")


def model_to_json(model: Any, path: str | Path | None = None) -> str:
    """Write a fitted classifier as JSON.

    The text holds released values, public facts and the frozen ledger; no accountant, and
    no seed: a ``random_state`` is not written, the guarantee's mark is.
    """
    ledger = model.accountant_
    frozen = ledger if isinstance(ledger, FrozenLedger) else ledger.frozen()
    content = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": type(model).__name__,
        "parameters": _parameters(model),
        "domain": json.loads(model.domain_.to_json()),
        "detached_from": None if model.accountant is None else charged_to(model.accountant),
        "lineage": model._own_lineage(),
        "earlier_fits": [_data(fits) for fits in earlier_fits(model._own_lineage())],
        "named_features": hasattr(model, "feature_names_in_"),
        "released": model._released_to_data(),
        "spent": _data(BudgetRecord.of(model.spent_)),
        "guarantee": _data(model.guarantee_),
        "report": _data(model.privacy_report()),
        "ledger": _data(frozen),
    }
    text = json.dumps(content)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _data(record: BaseModel) -> Any:
    # Through JSON text: only there are infinite amounts written as text.
    return json.loads(record.model_dump_json())


def model_from_json(cls: type[Model], source: str | Path) -> Model:
    """Read a fitted classifier; see :func:`model_to_json`.

    Parameters
    ----------
    cls : type
        The estimator's class; its name must be the stored one.
    source : str or Path
        A path, or the text itself.
    """
    content = _read(cls, source)
    try:
        return _restore(cls, content)
    except ModelFormatError:
        raise
    except Exception as error:  # whatever a damaged file makes of the readers below
        raise ModelFormatError(
            f"the stored model is damaged ({type(error).__name__} while reading it). "
            "Store it again."
        ) from None


def _read(cls: type, source: str | Path) -> dict[str, Any]:
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else None
    try:
        content = json.loads(Path(source).read_text("utf-8") if text is None else text)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ModelFormatError("the stored model is not JSON. Give what to_json() wrote.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFormatError(f"not a {FORMAT}. Give what to_json() wrote.")
    if content.get("version") != VERSION:
        raise ModelFormatError(
            f"format version {content.get('version')!r} is not {VERSION}. "
            "Use the dpforest that wrote it."
        )
    if content.get("estimator") != cls.__name__:
        raise ModelFormatError(
            f"the stored model is a {content.get('estimator')!r}, not a {cls.__name__}. "
            "Call from_json of that class."
        )
    return content


def _restore(cls: type[Model], content: dict[str, Any]) -> Model:
    domain = Domain.from_json(json.dumps(content["domain"]))
    make: Any = cls
    ceiling = content["detached_from"]
    accountant = None if ceiling is None else DetachedAccountant(str(ceiling))
    model = make(domain=domain, accountant=accountant, **content["parameters"])
    model._lineage = str(content["lineage"])
    earlier = tuple(EarlierFits.model_validate(fits) for fits in content["earlier_fits"])
    encoder = model._encoder(domain)
    model.domain_, model._encoder_ = domain, encoder
    model.n_features_in_ = domain.n_features
    if content["named_features"]:
        model.feature_names_in_ = np.array(domain.feature_names, dtype=object)
    model._released_from_data(content["released"], encoder)
    model.guarantee_ = Guarantee.model_validate(content["guarantee"])
    spent: Budget = BudgetRecord.model_validate(content["spent"]).budget
    model.spent_ = spent
    model.accountant_ = FrozenLedger.model_validate(content["ledger"])
    model._stored_report = PrivacyReport.model_validate(content["report"])
    recall_fits(model._lineage, cls.__name__, earlier)
    return model


def _parameters(model: Any) -> dict[str, Any]:
    """Constructor parameters that JSON can hold; what it cannot is public and in the report."""
    hidden = ("domain", "accountant", "random_state")
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k not in hidden}
    return {k: _plain(v) for k, v in parameters.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    return getattr(value, "name", str(value))
