"""Header of a report, which says what only people know: typed in, never read from data.

It follows the fields of the public registry of deployments (registry.opendp.org) and the questions
of NIST SP 800-226; docs/report.md compares them point by point.
"""

from __future__ import annotations

from typing import Any, Literal

from dpforest.exceptions import ParameterTypeError, kind_of
from dpforest.report.typed import Day, Typed, Words

#: Shown where a field was left out.
NOT_STATED = "not stated"

#: Fields that have a line of their own even where nothing was typed in.
_ALWAYS = (
    "title", "data_set", "people", "curator", "purpose", "why_epsilon", "date", "trust_model",
    "access", "retention",
)  # fmt: skip
#: Names of the fields for people, in the order in which they are shown.
LABELS = {
    "title": "title",
    "description": "description",
    "data_set": "data set",
    "people": "people concerned",
    "region": "region",
    "sector": "sector",
    "curator": "curator",
    "curator_type": "kind of curator",
    "purpose": "purpose",
    "why_epsilon": "why this ε",
    "date": "date",
    "trust_model": "trust model",
    "actors": "who sees what",
    "access": "access",
    "retention": "retention",
    "collection": "collection and storage",
    "data_source": "data source",
    "release_plans": "further releases",
    "preparation": "preparation and tuning",
    "unprotected": "released without protection",
    "groups": "groups that it may serve worse",
    "authors": "filled in by",
    "evidence": "sources",
}


class ReportHeader(Typed):
    """Header of a privacy report, as somebody types it in. Every field may be left out.

    Nothing here is read from records or worked out, and nothing checks it: a report shows it as
    typed in, and shows what is missing as "not stated". Each text is one line of at most 4,000
    printable characters.

    Attributes
    ----------
    title : str
        Name of what is released.
    description : str
        What it is, in a sentence or two.
    data_set : str
        Which records it was made from.
    people : str
        Whom the records are about.
    region : str
        Region that the records describe, or whose laws apply.
    sector : {"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"}
    curator : str
        Who holds the records and publishes.
    curator_type : {"Government", "Industry", "Nonprofit"}
    purpose : str
        What the release is for.
    why_epsilon : str
        Why this epsilon, and how it was chosen.
    date : str or datetime.date
        Of the release, such as "2026-11-23".
    trust_model : str
        Who is trusted with the records and with what, and why.
    actors : str
        Who sees the records, who the release.
    access : str
        Who may use the release, and who may read the records.
    retention : str
        How long records, model and this report are kept.
    collection : str
        How records are collected, kept and secured.
    data_source : {"Static", "Dynamic"}
        Whether new records come in.
    release_plans : str
        What else is to be released from the same records, and when.
    preparation : str
        What was done with the records before, how settings were chosen, and what that cost.
    unprotected : str
        What is published of these records without protection.
    groups : str
        What is known of groups that the release may serve worse.
    authors : tuple of str
        Who filled this in.
    evidence : tuple of str
        Where more is published: addresses, papers.

    Raises
    ------
    ParameterError
        If a text is empty, too long or of several lines, a date is none, a choice is none of
        those above, or there is no such field.
    """

    title: Words | None = None
    description: Words | None = None
    data_set: Words | None = None
    people: Words | None = None
    region: Words | None = None
    sector: (
        Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"] | None
    ) = None
    curator: Words | None = None
    curator_type: Literal["Government", "Industry", "Nonprofit"] | None = None
    purpose: Words | None = None
    why_epsilon: Words | None = None
    date: Day | None = None
    trust_model: Words | None = None
    actors: Words | None = None
    access: Words | None = None
    retention: Words | None = None
    collection: Words | None = None
    data_source: Literal["Static", "Dynamic"] | None = None
    release_plans: Words | None = None
    preparation: Words | None = None
    unprotected: Words | None = None
    groups: Words | None = None
    authors: tuple[Words, ...] = ()
    evidence: tuple[Words, ...] = ()

    @property
    def stated(self) -> dict[str, str]:
        """Texts that were typed in, by name of the field."""
        written = {name: getattr(self, name) for name in LABELS}
        texts = {k: "; ".join(v) if isinstance(v, tuple) else v for k, v in written.items()}
        return {name: text for name, text in texts.items() if text}


def header_rows(header: ReportHeader) -> dict[str, str]:
    """The header as lines for people; what is missing is said to be, the less asked in one line."""
    stated = header.stated
    named = [name for name in LABELS if name in stated or name in _ALWAYS]
    rows = {LABELS[name]: stated.get(name, NOT_STATED) for name in named}
    others = [label for name, label in LABELS.items() if name not in named]
    return rows | ({f"also {NOT_STATED}": ", ".join(others)} if others else {})


def checked_header(header: Any) -> ReportHeader | None:
    """A header or none; anything else is refused."""
    if header is None or isinstance(header, ReportHeader):
        return header
    raise ParameterTypeError(
        "header", kind_of(header), "must be a ReportHeader",
        "Give dpforest.ReportHeader(title=..., curator=...), or leave it out",
    )  # fmt: skip
