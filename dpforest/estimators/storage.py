"""A fitted forest as JSON: released arrays, public facts, guarantee and ledger."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from dpforest.accounting.bounds import is_derivation
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.fits import (
    DIFFPRIVLIB,
    OWN_BUDGET,
    DetachedAccountant,
    EarlierFits,
    earlier_fits,
    named_accountant,
    recall_fits,
)
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.ledger import BudgetRecord, ScopeRecord
from dpforest.accounting.ledger_check import verify_ledger
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import (
    exact_text,
    float_up,
    parse_amount,
    parse_finite,
    to_rational,
)
from dpforest.accounting.verify import possible_claims, sole_certificate
from dpforest.checks import write_file
from dpforest.domain.domain import Domain
from dpforest.domain.files import read_facts
from dpforest.estimators.earlier import EARLIER, as_written_now
from dpforest.estimators.names import declared_names
from dpforest.estimators.outcome import FitOutcome
from dpforest.estimators.parameters import stored
from dpforest.exceptions import ModelFormatError
from dpforest.mechanisms.entropy import SystemSource
from dpforest.report.digests import released_content
from dpforest.report.guarantee import Guarantee, spent_budget
from dpforest.report.places import place_name
from dpforest.report.record import Ceiling, RunFacts
from dpforest.strict_json import MODEL_LIMITS, other_file, read_object

FORMAT = "dpforest-model"
VERSION = 3

Model = TypeVar("Model")
Record = TypeVar("Record", bound=BaseModel)


def model_to_json(model: Any, path: str | Path | None = None) -> str:
    """Write a fitted estimator as JSON.

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
        write_file(path, text)
    return text


def _data(record: BaseModel) -> Any:
    # Through JSON text: only there are infinite amounts written as text.
    return json.loads(record.model_dump_json())


def model_from_json(cls: type[Model], source: str | Path) -> Model:
    """Read a fitted estimator; see :func:`model_to_json`.

    Its guarantee and report are made anew from its ledger's entries, its domain and what is noted
    about its fit; a file that claims anything else is refused. Nothing beyond that is checked:
    whoever can write the file can write a consistent one.

    Parameters
    ----------
    cls : type
        The estimator's class; its name must be the stored one.
    source : str or Path
        A path, or the text itself.
    """
    return restored(cls, read_stored(source))


def restored(cls: type[Model], content: dict[str, Any]) -> Model:
    """Make a fitted estimator of what :func:`read_stored` gave.

    Raises
    ------
    ModelFormatError
        If it is of another class, or damaged.
    """
    ours: Any = cls
    if content.get("estimator") != ours._ours().__name__:
        raise ModelFormatError(
            f"the stored model is a {content.get('estimator')!r}, not a {cls.__name__}. "
            "Call from_json of that class."
        )
    if not ours._ours()._parameter_names() <= ours._parameter_names():
        raise ModelFormatError(
            f"{cls.__name__} lacks parameters of {ours._ours().__name__}, of which the stored "
            "model is. Read it with load_model."
        )
    try:
        return _restore(cls, as_written_now(content))
    except ModelFormatError:
        raise
    except Exception as error:  # whatever a damaged file makes of the readers below
        raise ModelFormatError(
            f"the stored model is damaged ({type(error).__name__} while reading it). "
            "Store it again."
        ) from None


def read_stored(source: str | Path) -> dict[str, Any]:
    """Content of a stored model of any class, of a version that can be read.

    Raises
    ------
    ModelFormatError
    """
    content = read_object(source, _unreadable, MODEL_LIMITS)
    if content.get("format") != FORMAT:
        other = other_file(content, FORMAT)
        what = f"{FORMAT} but {other}" if other else FORMAT
        raise ModelFormatError(f"not a {what}. {_GIVE_MODEL}")
    version = content.get("version")
    if type(version) is not int or version not in (*EARLIER, VERSION):
        raise ModelFormatError(
            f"format version {version!r} is not {VERSION}. Use the dpforest that wrote it."
        )
    return content


_GIVE_MODEL = "Give what to_json() of a fitted forest wrote, such as model.json of `dpforest fit`."


def _unreadable(rule: str) -> ModelFormatError:
    return ModelFormatError(f"{rule}. Give the path that to_json() wrote to, or its text.")


def _restore(cls: type[Model], content: dict[str, Any]) -> Model:
    declared = read_facts(json.dumps(content["domain"]), missing="all")
    domain = Domain._of_record(declared).without_marks()
    facts, ledger, scope = _books(content, domain, content["estimator"])
    claims = possible_claims(scope, Fraction(parse_amount(facts.delta)))
    loss, certificate = claims[0], sole_certificate(scope)
    _check_claim(content, facts, claims, certificate)
    guarantee = facts.judge(loss, certificate)
    earlier = tuple(_exactly(EarlierFits, fits) for fits in content["earlier_fits"])
    check_listing(facts, min(claims, key=lambda claim: claim.epsilon), earlier)
    model = _predicting(cls, content, domain, facts)
    check_paid(content["released"]["strategy"], scope)
    model.__dict__.update(
        accountant_=ledger.renewed(),
        spent_=spent_budget(loss, guarantee),
        guarantee_=guarantee,
        _lineage=_text(content["lineage"]),
        _scope=scope,
        _facts=facts,
    )
    recall_fits(model._lineage, content["estimator"], earlier)
    restored: Model = model
    return restored


def _books(
    content: dict[str, Any], domain: Domain, estimator: str
) -> tuple[RunFacts, FrozenLedger, ScopeRecord]:
    """Check the notes about a fit, its ledger and its scope there: none may contradict another."""
    facts = _exactly(RunFacts, content["fit"] | {"settings": content["parameters"]})
    ledger = _exactly(FrozenLedger, content["ledger"])
    scope = _fit_scope(ledger, content["scope"])
    check_facts(facts, domain, estimator, scope)
    return check_place(facts, ledger, content["version"]), ledger, scope


def _check_claim(
    content: dict[str, Any],
    facts: RunFacts,
    claims: tuple[PrivacyLoss, ...],
    certificate: Certificate | None,
) -> None:
    """Refuse a guarantee, or an amount spent, that follows from none of the claims of its books."""
    written = _exactly(Guarantee, content["guarantee"])
    agreed = [claim for claim in claims if agrees(written, facts.judge(claim, certificate))]
    if not agreed:
        raise _contradiction("the guarantee does not follow from its ledger")
    spent = _exactly(BudgetRecord, content["spent"])
    if all(spent != BudgetRecord.of(spent_budget(claim, written)) for claim in agreed):
        raise _contradiction("what it says was spent does not follow from its ledger")


def _predicting(cls: type, content: dict[str, Any], domain: Domain, facts: RunFacts) -> Any:
    """An estimator with what was released, and nothing of its budget yet."""
    make: Any = cls
    model = make(domain=domain, **_parameters(facts))
    encoder = model._encoder(domain)
    model.n_features_in_ = domain.n_features
    released = FitOutcome.from_data(content["released"], encoder)
    if model.strategy not in ("auto", released.strategy):
        raise _contradiction("what was learnt is of another strategy than its parameters ask for")
    named = declared_names(domain) if content["named_features"] else {}
    served = model._serve(released, domain)
    model.__dict__.update(served, **named, domain_=domain, _encoder_=encoder)
    return model


def _exactly(kind: type[Record], data: Any) -> Record:
    """Read a record that has exactly its keys and its kinds of numbers, and no others."""
    record = kind.model_validate(data)
    if not _is_part(data, _data(record)):
        raise _contradiction(
            f"its {kind.__name__} is not written as one is (was the file formatted anew by a "
            "program such as jq, which writes 1 for 1.0? Then use the file as it was)"
        )
    return record


def _is_part(written: Any, whole: Any) -> bool:
    """Say if what was written is in a record; what is newer than the file may be missing."""
    if isinstance(written, dict) and isinstance(whole, dict):
        return all(key in whole and _is_part(part, whole[key]) for key, part in written.items())
    if isinstance(written, list) and isinstance(whole, list):
        pairs = zip(written, whole, strict=False)
        return len(written) == len(whole) and all(_is_part(one, other) for one, other in pairs)
    return type(written) is type(whole) and bool(written == whole)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _contradiction("a name in it is not text")
    return value


def _parameters(facts: RunFacts) -> dict[str, Any]:
    """Parameters as they were fitted, with a mark where the accountant was."""
    own = facts.charged_to == OWN_BUDGET
    accountant = None if own else DetachedAccountant(facts.charged_to)
    return {"accountant": accountant, **{k: stored(v) for k, v in facts.settings.items()}}


def check_paid(strategy: str, scope: ScopeRecord) -> None:
    """Refuse what was learnt by another strategy than the one whose list was paid for."""
    paid = {child.label for child in scope.children}
    # Forests of one strategy were once paid for tree by tree.
    if strategy not in paid and not (strategy == "multinomial" and "tree 0" in paid):
        raise _contradiction("what was learnt is of another strategy than its ledger paid for")


def check_facts(facts: RunFacts, domain: Domain, estimator: str, scope: ScopeRecord) -> None:
    """Refuse facts about a fit that its domain, its randomness or its scope contradicts."""
    if facts.records_per_unit != scope.records_per_unit:
        raise _contradiction("its budget was spent for privacy units of another size")
    if facts.delta != exact_text(to_rational(facts.settings["delta"], "delta")):
        raise _contradiction("its delta is not the one of its parameters")
    if facts.estimator != estimator:
        raise _contradiction("its report is of another estimator")
    if domain.drafted_entries and not facts.leaks:
        raise _contradiction(
            "its domain was drafted from data, and no leak is noted (facts that were drafted count "
            "as declared only where a source other than the draft is named for each)"
        )
    if not facts.seeded and facts.randomness != SystemSource().describe():
        raise _contradiction("its noise is not the operating system's, and no seed is noted")


def check_place(facts: RunFacts, ledger: FrozenLedger, version: int) -> RunFacts:
    """Facts about a fit whose accountant, by name and ceiling, is the one of its ledger.

    Raises
    ------
    ModelFormatError
        If it is another one.
    """
    lasting = facts.ledger is not None
    if lasting != (facts.charged_to == _kept_at(facts)):
        raise _contradiction("its place in a ledger is not where it was charged")
    # A ledger's fit has books of its own, whose ceiling is its budget.
    shared = not lasting and facts.charged_to not in (OWN_BUDGET, DIFFPRIVLIB)
    name = named_accountant(ledger.name) if shared else facts.charged_to
    if name != facts.charged_to or not (shared or ledger.name is None):
        raise _contradiction("its ledger is of an accountant with another name")
    total = ledger.total_record.exact
    ceiling = Ceiling(epsilon=total.epsilon, delta=total.delta)
    if not shared and ceiling.total != _own_total(facts):
        raise _contradiction("its ledger's ceiling is not the budget of its fit")
    if version == 1 and shared and facts.ceiling is None:
        return facts.model_copy(update={"ceiling": ceiling})
    if facts.ceiling != (ceiling if shared else None):
        raise _contradiction("its ledger's ceiling is not the one that its fit was charged to")
    return facts


def _kept_at(facts: RunFacts) -> str | None:
    """A fit's data set in its ledger, in words; None where it stands in none."""
    return None if facts.ledger is None else place_name(facts.ledger)


def _own_total(facts: RunFacts) -> tuple[Fraction, Fraction]:
    """The budget of a fit that has one to itself."""
    return to_rational(facts.settings["epsilon"], "epsilon"), parse_finite(facts.delta)


def check_listing(
    facts: RunFacts, loss: PrivacyLoss, earlier: tuple[EarlierFits, ...] | None = None
) -> None:
    """Refuse a list of fits that contradicts itself, its fit, or what is known of earlier fits."""
    problems = [*listing_problems(facts, loss)]
    for fits in earlier or ():
        if min(fits.loss.epsilon, fits.loss.rho, fits.loss.delta) < 0:
            problems.append("an earlier fit has a negative loss")
    for place, n_fits in facts.listing.charged.items() if earlier is not None else ():
        if sum(fits.n_fits for fits in earlier or () if fits.charged_to == place) < n_fits:
            problems.append("its earlier fits are not all of those that its fit knew of")
    if problems:
        raise _contradiction(problems[0])


def listing_problems(facts: RunFacts, loss: PrivacyLoss) -> Iterator[str]:
    """Name what in a list of fits does not follow from the list, or from the fit."""
    listing = facts.listing
    epsilon = parse_amount(listing.epsilon)
    if listing.estimator != facts.estimator or listing.n_fits != sum(listing.charged.values()):
        yield "its list of fits contradicts itself"
    if listing.epsilon_float != float_up(epsilon) or min(listing.charged.values(), default=0) < 1:
        yield "a figure in its list of fits does not follow"
    if listing.charged.get(facts.charged_to, 0) < 1:
        yield "its list of fits does not hold this one"
    if epsilon < loss.epsilon < math.inf:
        yield "its list of fits sums to less than this one"


def _fit_scope(ledger: FrozenLedger, label: Any) -> ScopeRecord:
    """The fit's scope in a ledger whose figures all follow from its entries."""
    problems = verify_ledger(ledger)
    if problems:
        raise _contradiction(problems[0])
    scopes = [scope for scope in ledger.scopes.children if scope.label == label]
    if len(scopes) != 1 or not scopes[0].closed:
        raise _contradiction("its ledger does not hold the finished fit")
    return scopes[0].apart()


def agrees(written: Guarantee, rebuilt: Guarantee) -> bool:
    """True if a written guarantee is the one that follows from a ledger.

    If the file's figure was converted from rho by other means than are available here (with or
    without dp_accounting), both may be right. Then only the figure that can be shown here is
    claimed.
    """
    same_means = [bound.derivation for bound in written.bounds] == [
        bound.derivation for bound in rebuilt.bounds
    ]
    claims = [(g.status, g.unit, g.reasons, len(g.bounds)) for g in (written, rebuilt)]
    known = all(is_derivation(bound.derivation) for bound in written.bounds)
    return known and claims[0] == claims[1] and (not same_means or _close(written, rebuilt))


def _close(written: Guarantee, rebuilt: Guarantee) -> bool:
    """Say if figures agree, but for differences between releases of a converting library."""
    for one, other in zip(written.bounds, rebuilt.bounds, strict=True):
        if (one.relation, one.delta, one.rho) != (other.relation, other.delta, other.rho):
            return False
        if not math.isclose(one.epsilon, other.epsilon, rel_tol=1e-6):
            return False
    return True


def _contradiction(what: str) -> ModelFormatError:
    return ModelFormatError(f"the stored model contradicts itself: {what}. Store it again.")
