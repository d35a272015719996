"""The privacy report: one run as data and in words, for somebody who was not there.

Built from public facts, released values and the ledger. No wall-clock times: how long a fit took
depends on the records.
"""

from __future__ import annotations

import platform
from fractions import Fraction
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from dpforest.accounting.diffprivlib_adapter import ExternalEntry
from dpforest.accounting.figures import figure_up
from dpforest.accounting.fits import OWN_BUDGET, FitListing
from dpforest.accounting.ledger import LossRecord, ScopeRecord
from dpforest.accounting.losses import ZERO, PrivacyLoss
from dpforest.accounting.rationals import parse_amount
from dpforest.domain.schema import Domain
from dpforest.exceptions import ModelFormatError
from dpforest.forest.guarantee import Guarantee, make_guarantee

_VERSION: Literal[1] = 1
_LIBRARIES = ("dpforest", "numpy", "numba", "scikit-learn", "pydantic", "narwhals")

#: What epsilon does not speak about; the same for every run.
NOT_COVERED = (
    "Scores computed on the training records (cross-validation, tuning, early stopping) and "
    "choices made after seeing them.",
    "How long fit took and how much memory it used.",
    "Errors raised with invalid='raise': they are for the curator's desk.",
    "Whatever else is published about the same people: budgets of all releases add up.",
    "What the model teaches about a person because it is true of people like them.",
    "Tables of 2**31 records or more: counts are exact below that, which is taken for granted.",
)


_RAISED = (
    "fitted with invalid='raise': that nothing was raised tells that no record broke a rule of the "
    "domain, and no epsilon covers that; refit with invalid='drop' before anything is released"
)


class _Frozen(BaseModel):
    # Infinite amounts must survive JSON, where pydantic would write null.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class SpendingRow(_Frozen):
    """Requests that share a tree, a level, a role or a mechanism.

    ``loss`` adds the requests up as if each record paid for all of them; only ``composed``
    figures of the composition tree are what was spent.
    """

    group: Literal["tree", "level", "role", "mechanism"]
    name: str
    requests: int
    cells: int
    loss: LossRecord
    composed: LossRecord | None = None


class Notice(_Frozen):
    """Something the reader should know, by severity."""

    severity: Literal["void", "caution", "note"]
    text: str


class PrivacyReport(_Frozen):
    """Everything a privacy officer needs about one fit.

    Attributes
    ----------
    guarantee : Guarantee
        Numbers; ``sentence`` says them in words.
    estimator : str
    parameters : dict of str
        As given, except domain, accountant and seed.
    domain : dict
        Public facts with who declared them, as in the domain's JSON.
    domain_fingerprint : str
    plan : dict of str
        What was asked for, in words.
    spending : tuple of SpendingRow
    composition : ScopeRecord
        The fit's scopes, each with its total; the ledger's entries are its leaves.
    randomness : str
    external : tuple of dict
        Spending charged to an accountant of another library.
    other_fits : str
        What was known about fits of the same object and its clones, and where they were charged.
    notices : tuple of Notice
    not_covered : tuple of str
    versions : dict of str
    """

    format: Literal["dpforest-report"] = "dpforest-report"
    version: Literal[1] = _VERSION
    sentence: str
    guarantee: Guarantee
    estimator: str
    parameters: dict[str, str]
    domain: dict[str, Any]
    domain_fingerprint: str
    plan: dict[str, str]
    spending: tuple[SpendingRow, ...]
    composition: ScopeRecord
    randomness: str
    external: tuple[dict[str, Any], ...]
    other_fits: str
    notices: tuple[Notice, ...]
    not_covered: tuple[str, ...]
    versions: dict[str, str]

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the report as JSON, to a file too if ``path`` is given."""
        return _written(self.model_dump_json(indent=1), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Write the report as Markdown, to a file too if ``path`` is given."""
        from dpforest.forest.report_text import report_markdown

        return _written(report_markdown(self), path)

    @classmethod
    def from_json(cls, text: str) -> PrivacyReport:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ModelFormatError
            If it is something else.
        """
        try:
            return cls.model_validate_json(text)
        except ValueError:
            raise ModelFormatError(
                f"not a dpforest-report of version {_VERSION}. Give the text that to_json() wrote."
            ) from None


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


class RunFacts(_Frozen):
    """What a fit hands to its guarantee and report: public and released facts only.

    Attributes
    ----------
    estimator : str
    settings : dict
        Constructor parameters as they were fitted, as JSON can hold them.
    parameters : dict of str
        The same as given, for people.
    charged_to : str
        Where the fit was charged.
    delta : str
        At which rho may be converted, exactly.
    leaks : tuple of str
        What was learnt without paying.
    seeded, seed_reused, observed : bool
        See :func:`dpforest.forest.guarantee.make_guarantee`.
    randomness : str
    plan : dict of str
    external : tuple of ExternalEntry
    listing : FitListing
    versions : dict of str
    """

    estimator: str
    settings: dict[str, Any]
    parameters: dict[str, str]
    charged_to: str
    delta: str
    leaks: tuple[str, ...]
    seeded: bool
    seed_reused: bool
    observed: bool
    randomness: str
    plan: dict[str, str]
    external: tuple[ExternalEntry, ...]
    listing: FitListing
    versions: dict[str, str]

    def judge(self, loss: PrivacyLoss) -> Guarantee:
        """What a fit with these facts may claim for its loss."""
        return make_guarantee(
            loss,
            Fraction(parse_amount(self.delta)),
            self.leaks,
            self.seeded,
            seed_reused=self.seed_reused,
            observed=self.observed,
        )


def make_report(
    facts: RunFacts, domain: Domain, guarantee: Guarantee, composition: ScopeRecord
) -> PrivacyReport:
    """Put a finished fit into words and tables."""
    return PrivacyReport(
        sentence=guarantee.sentence,
        guarantee=guarantee,
        estimator=facts.estimator,
        parameters=facts.parameters,
        domain=domain.model_dump(mode="json"),
        domain_fingerprint=domain.fingerprint(),
        plan=facts.plan,
        spending=tuple(spending_rows(composition)),
        composition=composition,
        randomness=facts.randomness,
        external=tuple(entry.model_dump(mode="json") for entry in facts.external),
        other_fits=_listing_text(facts.listing),
        notices=tuple(_notices(facts, domain, guarantee)),
        not_covered=NOT_COVERED,
        versions=dict(facts.versions),
    )


@cache
def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that the run rests on."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed as a package"
    return versions


def spending_rows(composition: ScopeRecord) -> list[SpendingRow]:
    """Requests by tree (with what each composes to), level, role and mechanism."""
    rows = [_tree_row(tree) for tree in composition.children]
    entries = composition.ledger
    for group in ("level", "role", "mechanism"):
        names = list(dict.fromkeys(getattr(entry, group) for entry in entries))
        for name in names:
            chosen = [entry for entry in entries if getattr(entry, group) == name]
            rows.append(_row(group, str(name), chosen))
    return rows


def _tree_row(tree: ScopeRecord) -> SpendingRow:
    row = _row("tree", tree.label, list(tree.ledger))
    return row.model_copy(update={"composed": tree.composed})


def _row(group: Any, name: str, entries: list[Any]) -> SpendingRow:
    loss = PrivacyLoss(ZERO, ZERO, ZERO)
    for entry in entries:
        loss = loss + entry.loss
    return SpendingRow(
        group=group,
        name=name,
        requests=len(entries),
        cells=sum(entry.cells for entry in entries),
        loss=LossRecord.of(loss),
    )


def _notices(facts: RunFacts, domain: Domain, guarantee: Guarantee) -> list[Notice]:
    severity: Literal["void", "caution"] = "void" if guarantee.status == "void" else "caution"
    notices = [Notice(severity=severity, text=reason) for reason in guarantee.reasons]
    if facts.settings.get("invalid") == "raise":
        notices.append(Notice(severity="caution", text=_RAISED))
    if facts.listing.n_fits > 1:
        counted = OWN_BUDGET not in facts.listing.charged
        notices.append(
            Notice(severity="note" if counted else "caution", text=_listing_text(facts.listing))
        )
    if any(entry.get("declared_by") is None for entry in _entries(domain)):
        notices.append(
            Notice(severity="note", text="Some public facts do not say who declared them.")
        )
    return notices


def _listing_text(listing: FitListing) -> str:
    where = ", ".join(f"{n} charged to {place}" for place, n in listing.charged.items())
    if listing.n_fits == 1:
        (place,) = listing.charged
        return f"first fit of this object and its clones known to its process, charged to {place}"
    return (
        f"{listing.n_fits} fits of this object and its clones known to its process ({where}), "
        f"which together may have spent epsilon = {figure_up(parse_amount(listing.epsilon))}, "
        f"rho = {figure_up(parse_amount(listing.rho))} "
        "if they met the same records; this report speaks of the last one alone"
    )


def _entries(domain: Domain) -> list[dict[str, Any]]:
    dumped = domain.model_dump(mode="json")
    return [*dumped["features"], *(dumped[k] for k in ("classes", "target") if dumped[k])]
