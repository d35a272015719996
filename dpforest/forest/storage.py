"""A fitted forest as JSON: released arrays, public facts, guarantee and ledger."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel

from dpforest.accounting.detached import DetachedAccountant
from dpforest.accounting.fits import OWN_BUDGET, EarlierFits, earlier_fits, recall_fits
from dpforest.accounting.ledger import BudgetRecord, FrozenLedger, LossRecord, ScopeRecord
from dpforest.accounting.rationals import parse_amount
from dpforest.accounting.verify import claimed_loss, sole_certificate, verify_composition
from dpforest.domain.schema import Domain
from dpforest.exceptions import ModelFormatError
from dpforest.forest.digests import released_content
from dpforest.forest.guarantee import Guarantee, spent_budget
from dpforest.forest.report import RunFacts
from dpforest.forest.settings import stored
from dpforest.mechanisms.entropy import SystemSource
from dpforest.strict_json import json_text

FORMAT = "dpforest-model"
VERSION = 1

Model = TypeVar("Model")


def model_to_json(model: Any, path: str | Path | None = None) -> str:
    """Write a fitted classifier as JSON.

    The text holds released values, public facts and the frozen ledger, and the parameters that
    were fitted; no accountant, and no seed: a ``random_state`` is not written, its mark is.
    """
    ledger = model.accountant_
    frozen = ledger if isinstance(ledger, FrozenLedger) else ledger.frozen()
    facts = model._facts
    content = {
        "format": FORMAT,
        "version": VERSION,
        **released_content(model),
        "spent": _data(BudgetRecord.of(model.spent_)),
        "guarantee": _data(model.guarantee_),
        "fit": {k: v for k, v in _data(facts).items() if k != "settings"},
        "lineage": model._own_lineage(),
        "earlier_fits": [_data(fits) for fits in earlier_fits(model._own_lineage())],
        "scope": model._composition().label,
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

    Its guarantee and report are made anew from its ledger's entries, its domain and what is noted
    about its fit; a file that claims anything else is refused. Nobody's word is checked beyond
    that: who can write the file can write a consistent one.

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
    text = json_text(source, _unreadable)
    try:
        content = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
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


def _unreadable(rule: str) -> ModelFormatError:
    return ModelFormatError(f"{rule}. Give the path that to_json() wrote to, or its text.")


def _restore(cls: type[Model], content: dict[str, Any]) -> Model:
    domain = Domain.from_json(json.dumps(content["domain"]))
    facts = RunFacts.model_validate(content["fit"] | {"settings": content["parameters"]})
    ledger = FrozenLedger.model_validate(content["ledger"])
    scope = _fit_scope(ledger, content["scope"])
    check_facts(facts, domain, cls.__name__, scope)
    loss = claimed_loss(scope, Fraction(parse_amount(facts.delta)))
    written = Guarantee.model_validate(content["guarantee"])
    guarantee = agreed_guarantee(written, facts.judge(loss, sole_certificate(scope)))
    if BudgetRecord.model_validate(content["spent"]).exact != LossRecord.of(loss):
        raise _contradiction("what it says was spent does not follow from its ledger")
    make: Any = cls
    model = make(domain=domain, **_parameters(facts))
    encoder = model._encoder(domain)
    model.n_features_in_ = domain.n_features
    if content["named_features"]:
        model.feature_names_in_ = np.array(domain.feature_names, dtype=object)
    model._released_from_data(content["released"], encoder)
    model.__dict__.update(
        domain_=domain,
        _encoder_=encoder,
        accountant_=ledger,
        spent_=spent_budget(loss, guarantee),
        guarantee_=guarantee,
        _lineage=str(content["lineage"]),
        _scope=scope,
        _facts=facts,
    )
    earlier = tuple(EarlierFits.model_validate(fits) for fits in content["earlier_fits"])
    recall_fits(model._lineage, cls.__name__, earlier)
    restored: Model = model
    return restored


def _parameters(facts: RunFacts) -> dict[str, Any]:
    """Parameters as they were fitted, with a mark where the accountant was."""
    own = facts.charged_to == OWN_BUDGET
    accountant = None if own else DetachedAccountant(facts.charged_to)
    return {"accountant": accountant, **{k: stored(v) for k, v in facts.settings.items()}}


def check_facts(facts: RunFacts, domain: Domain, estimator: str, scope: ScopeRecord) -> None:
    """Refuse facts about a fit that its domain, its randomness or its scope contradicts."""
    if facts.records_per_unit != scope.records_per_unit:
        raise _contradiction("its budget was not spent for such units")
    if facts.estimator != estimator:
        raise _contradiction("its report is of another estimator")
    if domain.drafted_entries and not facts.leaks:
        raise _contradiction(
            "its domain was drafted from data, and no leak is noted (facts that were drafted count "
            "as declared only where a source other than the draft is named for each)"
        )
    if not facts.seeded and facts.randomness != SystemSource().describe():
        raise _contradiction("its noise is not the operating system's, and no seed is noted")


def _fit_scope(ledger: FrozenLedger, label: Any) -> ScopeRecord:
    """The fit's scope in a ledger whose figures all follow from its entries."""
    problems = verify_composition(ledger.scopes)
    if problems:
        raise _contradiction(problems[0])
    if ledger.spent_record.exact != ledger.scopes.charged:
        raise _contradiction("the ledger's total is not that of its scopes")
    scopes = [scope for scope in ledger.scopes.children if scope.label == label]
    if len(scopes) != 1 or not scopes[0].closed:
        raise _contradiction("its ledger does not hold the finished fit")
    return scopes[0].apart()


def agreed_guarantee(written: Guarantee, rebuilt: Guarantee) -> Guarantee:
    """The guarantee that follows from a ledger; refused if another one is written down.

    Where the file's figure was converted from rho by other means than are at hand here (with or
    without dp_accounting), both may be right: then only what can be shown here is claimed.
    """
    same_means = [bound.derivation for bound in written.bounds] == [
        bound.derivation for bound in rebuilt.bounds
    ]
    claims = [(g.status, g.unit, g.reasons, len(g.bounds)) for g in (written, rebuilt)]
    if claims[0] != claims[1] or (same_means and not _close(written, rebuilt)):
        raise _contradiction("the guarantee does not follow from its ledger")
    return rebuilt


def _close(written: Guarantee, rebuilt: Guarantee) -> bool:
    """Whether figures agree, but for what releases of a converting library differ by."""
    for one, other in zip(written.bounds, rebuilt.bounds, strict=True):
        if (one.relation, one.delta, one.rho) != (other.relation, other.delta, other.rho):
            return False
        if not math.isclose(one.epsilon, other.epsilon, rel_tol=1e-6):
            return False
    return True


def _contradiction(what: str) -> ModelFormatError:
    return ModelFormatError(f"the stored model contradicts itself: {what}. Store it again.")
