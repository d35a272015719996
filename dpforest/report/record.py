"""The privacy report as data: what it holds, without the ways to show it.

Built from public facts, released values and the ledger. No wall-clock times: how long a fit took
depends on the records.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from dpforest.accounting.certificates import Certificate
from dpforest.accounting.diffprivlib_adapter import ExternalEntry
from dpforest.accounting.figures import figure_cap, figure_charged, figure_down, figure_up
from dpforest.accounting.fits import FitListing
from dpforest.accounting.frozen import ExactText, Frozen
from dpforest.accounting.ledger import LossRecord, ScopeRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import parse_amount, parse_finite
from dpforest.accounting.units import check_records_per_unit
from dpforest.exceptions import ParameterTypeError
from dpforest.report.guarantee import Guarantee, make_guarantee
from dpforest.report.header import ReportHeader
from dpforest.report.known_fits import known_fits
from dpforest.report.utility import UtilityFigure

_Figure = Callable[[Fraction], str]

#: Versions of the format that are read; each says less than the next.
Version = Literal[2, 3, 4, 5]
VERSION: Literal[5] = 5
#: From this version on a report has a header and figures of utility.
_TYPED_IN = 5


def _with_a_unit(settings: dict[str, Any]) -> dict[str, Any]:
    try:
        check_records_per_unit(settings.get("max_records_per_unit", 1))
    except ParameterTypeError as error:  # a TypeError, which pydantic would let pass through
        raise ValueError(str(error)) from None
    return settings


#: Parameters of an estimator as JSON holds them; the unit is what a guarantee is of.
Settings = Annotated[dict[str, Any], AfterValidator(_with_a_unit)]


class SpendingRow(Frozen):
    """Requests that share a stage, a tree, a level, a role or a mechanism.

    Stages are the parts of a fit, where these are not its trees.
    ``loss`` adds the requests up as if each record paid for all of them; only ``composed``
    figures of the composition tree are what was spent.
    """

    group: Literal["stage", "tree", "level", "role", "mechanism"]
    name: str
    requests: int
    cells: int
    loss: LossRecord
    composed: LossRecord | None = None

    @property
    def shown(self) -> str:
        """The name for people."""
        if self.group != "level":
            return self.name
        return "outside of levels" if self.name == "None" else f"level {self.name}"


class Notice(Frozen):
    """Something the reader should know, by severity."""

    severity: Literal["void", "caution", "note"]
    text: str


class Ceiling(Frozen):
    """Total that a shared accountant promises for all its fits: fixed beforehand, exact."""

    epsilon: ExactText
    delta: ExactText

    @property
    def total(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta."""
        return parse_finite(self.epsilon), parse_finite(self.delta)


def _finite(text: str) -> str:
    if text == "inf":
        raise ValueError("no ledger is charged an infinite amount")
    return text


#: An amount of a ledger, as a rational in text.
FiniteText = Annotated[ExactText, AfterValidator(_finite)]


class LedgerPlace(Frozen):
    """Place of a fit in a ledger, with what had been spent on its data set when it ended.

    Attributes
    ----------
    ledger, data_set : str
        The ledger's own identity, and the data set's name in it.
    reserve : str
        Identity of the entry that set the fit's budget aside.
    part, parts : int
        Which part of that reserve this fit is, counted from 0, and how many there are: more than
        one in a campaign.
    plan : str
        Digest of the fit's plan, by which an approval or a campaign names it.
    entry : {"settle", "start"}
        Last entry of the fit: ``start`` where the ledger could not be reached when the fit ended.
    number : int
        Of that entry, which was the head of the data set's chain.
    hash, signature, key : str
        Of that entry, in hexadecimal digits; empty where it was not signed.
    currency : {"rho", "epsilon"}
        Of all amounts here.
    charged : str
        What the reserve is charged, in all its parts.
    before, in_all : str
        What was spent on the data set before that reserve, and up to this entry with it. Of a
        table in blocks it is what a unit may be charged over the blocks it may lie in.
    cap : str
        What may be spent on the data set in all.
    cap_epsilon, cap_delta : str
        The guarantee that the cap was declared as.
    blocks : tuple of str
        Which blocks of the table the fit was charged to; empty where it has none.
    alone : bool
        Whether the reserve stands by a certificate: then nothing else is ever charged.
    """

    ledger: str
    data_set: str
    reserve: str
    part: int = Field(ge=0)
    parts: int = Field(ge=1)
    plan: str
    entry: Literal["settle", "start"]
    number: int = Field(ge=1)
    hash: str
    signature: str
    key: str
    currency: Literal["rho", "epsilon"]
    charged: FiniteText
    before: FiniteText
    in_all: FiniteText
    cap: FiniteText
    cap_epsilon: FiniteText
    cap_delta: FiniteText
    blocks: tuple[str, ...]
    alone: bool

    @property
    def sentence(self) -> str:
        """The spending of everybody on the data set, as the ledger knew it, in words."""
        if parse_finite(self.in_all) > parse_finite(self.cap):
            return self.earlier_sentence  # to the last digit: one may be just above the other
        return self._in_words(figure_charged, figure_cap)

    @property
    def earlier_sentence(self) -> str:
        """Words of reports that wrote an amount with what units add to it: 0.100001 for 0.1."""
        return self._in_words(figure_up, figure_down)

    def _in_words(self, spent: _Figure, cap: _Figure) -> str:
        known = (
            f"The ledger knows of every fit that was charged to data set {self.data_set!r}, by "
            "whomever: "
        )
        if self.alone:
            # What is charged is the cap; the list's own rho is another number.
            return (
                f"{known}the whole cap when this fit ended, by the certificate of one list of "
                "releases that was fixed beforehand, and nothing before it."
            )
        name, amounts = self.currency, (self.in_all, self.before)
        in_all, before = (spent(parse_finite(amount)) for amount in amounts)
        return (
            f"{known}{name} = {in_all} in all when this fit ended, {before} of it before this "
            f"fit, under a cap of {name} = {cap(parse_finite(self.cap))}."
        )

    @property
    def remaining(self) -> Fraction:
        """Amount that may still be spent on the data set, as far as this entry knows."""
        left = parse_finite(self.cap) - parse_finite(self.in_all)
        return Fraction(0) if self.alone else max(left, Fraction(0))


class _OfALedger(Frozen):
    """Facts of a fit that may stand in a ledger; where it does not, nothing of one is written."""

    #: Not of fits under an accountant in memory, nor of reports from before there were ledgers.
    ledger: LedgerPlace | None = None

    @model_serializer(mode="wrap")
    def _without_a_place(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if self.ledger is None:
            written.pop("ledger", None)
        return written


class ClaimBasis(_OfALedger):
    """Facts beside the composition that the guarantee rests on; see :class:`RunFacts`."""

    settings: Settings
    charged_to: str
    delta: ExactText
    leaks: tuple[str, ...]
    seeded: bool
    seed_reused: bool
    observed: bool
    listing: FitListing
    #: Not of reports that were written before there were streams.
    streamed: bool = False
    #: Not of reports of version 2.
    around: tuple[str, ...] = ()
    #: Of the accountant that the fit was charged to, where others may be charged to it too.
    ceiling: Ceiling | None = None


class RunFacts(_OfALedger):
    """Facts that a fit hands to its guarantee and report: only public and released ones.

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
        See :func:`dpforest.report.guarantee.make_guarantee`.
    randomness : str
    plan : dict of str
    external : tuple of ExternalEntry
    listing : FitListing
    versions : dict of str
    streamed : bool
        Whether records were read pass by pass, which not every strategy can do.
    around : tuple of str
        What estimators around the fit do that no guarantee speaks of.
    ceiling : Ceiling or None
        Of a shared accountant.
    ledger : LedgerPlace or None
        Where in a ledger the fit stands.
    """

    estimator: str
    settings: Settings
    parameters: dict[str, str]
    charged_to: str
    delta: ExactText
    leaks: tuple[str, ...]
    seeded: bool
    seed_reused: bool
    observed: bool
    randomness: str
    plan: dict[str, str]
    external: tuple[ExternalEntry, ...]
    listing: FitListing
    versions: dict[str, str]
    streamed: bool = False
    around: tuple[str, ...] = ()
    ceiling: Ceiling | None = None

    @property
    def records_per_unit(self) -> int:
        """Number of records that a privacy unit may own; 1 in models from before it was noted."""
        unit: int = self.settings.get("max_records_per_unit", 1)
        return unit

    def judge(self, loss: PrivacyLoss, certificate: Certificate | None = None) -> Guarantee:
        """Make the guarantee of a fit with these facts, for its loss or its certificate."""
        return make_guarantee(
            loss,
            Fraction(parse_amount(self.delta)),
            self.leaks,
            self.seeded,
            seed_reused=self.seed_reused,
            observed=self.observed,
            certificate=certificate,
            records_per_unit=self.records_per_unit,
        )


def fits_known(facts: ClaimBasis | RunFacts) -> str:
    """Say which other fits are known of, by the process and by a ledger, and which cannot be."""
    return _beside_a_ledger(facts, "" if facts.ledger is None else facts.ledger.sentence)


def _fits_as_earlier(facts: ClaimBasis | RunFacts) -> str:
    """Write :func:`fits_known` as reports did that showed what a ledger's units add."""
    return _beside_a_ledger(facts, "" if facts.ledger is None else facts.ledger.earlier_sentence)


def _beside_a_ledger(facts: ClaimBasis | RunFacts, sentence: str) -> str:
    known = known_fits(facts.listing)
    return f"{sentence} Beside it: {known}" if sentence else known


class ReportRecord(Frozen):
    """Content of a privacy report; :class:`PrivacyReport` describes its parts."""

    format: Literal["dpforest-report"] = "dpforest-report"
    #: Version 2 had no marks of drafts, nor what stood around a fit; version 3 had a parameter
    #: more, and its multinomial forests no scope of their own. They are read, not verified.
    #: Version 4 had no header and no figures of utility; it is verified as it was written.
    version: Version = VERSION
    sentence: str
    other_fits: str
    header: ReportHeader = Field(default_factory=ReportHeader)
    utility: tuple[UtilityFigure, ...] = ()
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
    notices: tuple[Notice, ...]
    not_covered: tuple[str, ...]
    versions: dict[str, str]
    basis: ClaimBasis
    model_fingerprint: str
    digest: str

    @model_validator(mode="after")
    def _has_what_its_version_has(self) -> Self:
        if self.version < _TYPED_IN and (self.header != ReportHeader() or self.utility):
            raise ValueError("its version has no header and no utility")
        return self

    @model_serializer(mode="wrap")
    def _as_its_version(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if self.version < _TYPED_IN:
            written.pop("header", None)
            written.pop("utility", None)
        return written

    @property
    def facts(self) -> RunFacts:
        """Facts that the fit handed to its guarantee and report, put together again."""
        external = tuple(ExternalEntry.model_validate(entry) for entry in self.external)
        return RunFacts(
            estimator=self.estimator,
            parameters=self.parameters,
            randomness=self.randomness,
            plan=self.plan,
            external=external,
            versions=self.versions,
            **{name: getattr(self.basis, name) for name in ClaimBasis.model_fields},
        )

    @property
    def known_fits(self) -> str:
        """``other_fits`` in the words of this release, for a report of an earlier one too.

        Amounts stay as they were written, so that a page is written again as it was.
        """
        earlier = _fits_as_earlier(self.basis)
        return earlier if self.other_fits == earlier else fits_known(self.basis)


Report = TypeVar("Report", bound=ReportRecord)


def in_todays_words(report: Report) -> Report:
    """The report with its ``other_fits`` as written today, where it is what was written earlier."""
    if report.other_fits != _fits_as_earlier(report.basis):
        return report
    return report.model_copy(update={"other_fits": fits_known(report.basis)})
