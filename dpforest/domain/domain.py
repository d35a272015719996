"""Domain: the public facts about a table, declared by somebody and never learnt silently."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from dpforest.checks import write_file
from dpforest.display import Page, Shown
from dpforest.domain.complaints import likely_field
from dpforest.domain.files import read_facts, written_domain
from dpforest.domain.looks import warn_of_look_alikes
from dpforest.domain.marks import DRAFT_NOTE, checked_sources, without_bounds
from dpforest.domain.schema import (
    CategoricalFeature,
    Classes,
    Declaration,
    DomainFacts,
    Feature,
    NumericFeature,
    NumericTarget,
)
from dpforest.domain.short_form import feature_from
from dpforest.domain.values import is_boolean
from dpforest.exceptions import DomainError, DraftedBoundsWarning, ParameterTypeError

# What drafts, checks, compares and shows is imported where it is called: most fits do none of it.
if TYPE_CHECKING:
    from dpforest.domain.comparing import DomainDiff
    from dpforest.domain.findings import DomainCheck

#: More records than any table has; beyond it sizes of a plan would leave the range of doubles.
MOST_ROWS = 10**15


def _names_no_field(classes: Mapping[Any, Any]) -> bool:
    """Say if a mapping is of labels: of names that are no texts, or none like a field."""
    texts = [name for name in classes if isinstance(name, str)]
    likely = any(likely_field(name, Classes.model_fields) for name in texts)
    return len(texts) < len(classes) or bool(texts) and not likely


class Domain(Shown, DomainFacts):
    """All public facts about a table.

    Parameters
    ----------
    features : sequence of features, or mapping of name to bounds or categories
        ``{"age": (17, 90), "sex": ["Female", "Male"]}`` is short for two features.
    classes : Classes or sequence of labels, optional
        For classification.
    target : NumericTarget or (lower, upper), optional
        For regression.
    approximate_rows : int, optional
        Roughly how many records there are, at most 10**15, typed in from public knowledge.
        Nothing in dpforest fills it from a table.
    name, note : str, optional
        For people.

    Raises
    ------
    DomainError
        If the facts contradict each other; ``entry`` names the one concerned.

    Warns
    -----
    LookAlikesWarning
        If two categories, classes or names that are declared look the same, and are not: an é of
        one sign and one of two, say, or blanks of two kinds.
    """

    name: str | None = None
    features: tuple[Feature, ...] = Field(min_length=1)
    classes: Classes | None = None
    target: NumericTarget | None = None
    approximate_rows: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    note: str | None = None

    @classmethod
    def _known_fields(cls) -> set[str]:
        """Its own fields, and those of entries that it may hold as plain data."""
        held = (NumericFeature, CategoricalFeature, Classes, NumericTarget)
        return {name for facts in (cls, *held) for name in facts.model_fields}

    @field_validator("features", mode="before")
    @classmethod
    def _from_mapping(cls, features: Any) -> Any:
        if not isinstance(features, Mapping):
            return features
        return tuple(feature_from(name, entry) for name, entry in features.items())

    @field_validator("classes", mode="before")
    @classmethod
    def _from_labels(cls, classes: Any) -> Any:
        if isinstance(classes, Mapping) and _names_no_field(classes):
            rule = "must be a list of labels, or a mapping of fields by their names"
            raise DomainError("classes", rule, "Write classes=[...]")
        if classes is None or isinstance(classes, (Classes, Mapping)):
            return classes
        if isinstance(classes, (str, bytes)) or not isinstance(classes, Iterable):
            raise DomainError("classes", "must be a list of labels", "Write classes=[...]")
        if isinstance(classes, (set, frozenset)):
            rule = "a set has another order in every process"
            raise DomainError("classes", rule, "Write classes=[...]")
        return Classes(labels=tuple(classes))

    @field_validator("approximate_rows", mode="before")
    @classmethod
    def _no_boolean(cls, rows: Any) -> Any:
        if is_boolean(rows) or isinstance(rows, (str, bytes)):
            kind = "a boolean" if is_boolean(rows) else "a text"
            raise DomainError(
                "approximate_rows", f"{kind} is not a number of records", "Give a whole number"
            )
        return rows

    @field_validator("target", mode="before")
    @classmethod
    def _from_bounds(cls, target: Any) -> Any:
        if isinstance(target, (tuple, list)) and len(target) == 2:
            return NumericTarget(lower=target[0], upper=target[1])
        return target

    @model_validator(mode="after")
    def _check(self) -> Domain:
        seen: set[str] = set()
        for name in self.feature_names:
            if name in seen:
                raise DomainError(name, "two features have this name", "Rename one of them")
            seen.add(name)
        return self

    def _tell(self) -> None:
        warn_of_look_alikes(self._named_entries)

    def _page(self) -> Page:
        from dpforest.domain.showing import domain_page

        return domain_page(self)

    @property
    def n_features(self) -> int:
        """Number of declared features."""
        return len(self.features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in the order of their codes."""
        return tuple(feature.name for feature in self.features)

    @property
    def _named_entries(self) -> tuple[tuple[str, Declaration], ...]:
        """Every entry that somebody declares, with its name."""
        outputs: tuple[tuple[str, Declaration | None], ...] = (
            ("classes", self.classes),
            ("target", self.target),
        )
        features = tuple((feature.name, feature) for feature in self.features)
        return features + tuple((name, entry) for name, entry in outputs if entry is not None)

    @property
    def drafted_entries(self) -> tuple[str, ...]:
        """Entries that were read from the records and that nobody has confirmed."""
        return tuple(name for name, entry in self._named_entries if entry.status == "drafted")

    @property
    def lacking(self) -> tuple[tuple[str, str], ...]:
        """Name of each entry that is not declared, with what keeps it from being so."""
        return tuple((name, entry.lacks) for name, entry in self._named_entries if entry.lacks)

    @property
    def bounds_as_drafted(self) -> dict[str, tuple[str, ...]]:
        """Bounds (``"lower"``, ``"upper"``) that are still the draft's, by entry.

        For the curator alone: a bound that is left tells an extreme of the table, which epsilon
        does not cover. It is found by the draft's marks, so only for entries that this release or a
        later one drafted and whose marks nobody removed; no record is looked at. A fit takes a
        domain without marks, so there this is empty (:meth:`without_marks`).
        """
        marked = ((name, entry.drafted) for name, entry in self._named_entries)
        return {name: mark.bounds for name, mark in marked if mark is not None and mark.bounds}

    @property
    def began_as_drafts(self) -> tuple[str, ...]:
        """Declared entries with bounds that began as a draft, whatever became of the bounds.

        So it stays the same whether or not a bound is the table's extreme. Categories and classes
        are not among them: they may well be right as they were drafted.
        """
        return tuple(
            name
            for name, entry in self._named_entries
            if entry.drafted is not None
            and entry.status == "declared"
            and isinstance(entry, (NumericFeature, NumericTarget))
        )

    @property
    def may_be_codes(self) -> dict[str, tuple[str, ...]]:
        """Numbers of drafted columns that hold few whole numbers, by name: they may be codes.

        For the curator alone, as all of a draft; empty once an entry is declared. Such a column is
        drafted as numeric. :meth:`with_categories` reads it the other way.
        """
        marked = ((name, entry.drafted) for name, entry in self._named_entries)
        return {name: mark.codes for name, mark in marked if mark is not None and mark.codes}

    @property
    def doubts(self) -> dict[str, str]:
        """Words on what may have been read otherwise than it was meant, by drafted entry.

        Texts that read as numbers with decimal commas or the like, and characters that another
        encoding lost. For the curator alone, as all of a draft; empty once an entry is declared.
        """
        from dpforest.domain.doubts import doubts_of

        drafted = (
            (name, entry) for name, entry in self._named_entries if entry.status == "drafted"
        )
        found = {name: doubts_of(name, entry) for name, entry in drafted}
        return {name: words for name, words in found.items() if words}

    def with_categories(self, *names: str) -> Domain:
        """The same draft, with columns of few whole numbers read as categories.

        Parameters
        ----------
        *names : str
            Of :attr:`may_be_codes`, or of digits with leading zeros, which are categories already.

        Returns
        -------
        Domain
            These entries are categorical, and drafted as before.

        Raises
        ------
        DomainError
            If an entry is not among them.
        """
        from dpforest.domain.doubts import have_leading_zeros
        from dpforest.domain.draft import as_categories

        codes = self.may_be_codes
        drafted = (f for f in self.features if f.kind == "categorical" and f.drafted)
        are_such = {f.name for f in drafted if have_leading_zeros(f.categories)}
        for name in names:
            if name not in codes and name not in are_such:
                raise DomainError(
                    str(name),
                    "is no drafted column of few whole numbers",
                    "Name one of domain.may_be_codes, or declare the categories",
                )
        features = tuple(
            as_categories(f, codes[f.name]) if f.name in names and f.name in codes else f
            for f in self.features
        )
        return self.model_copy(update={"features": features})

    def without_marks(self) -> Domain:
        """The same facts as a fit takes them, and as they may be shown to others.

        Of a draft, an entry keeps the bare fact that it began as one; which bounds are still the
        draft's is dropped. :meth:`fingerprint` stays the same.

        Notes
        -----
        What a fit keeps, stores or reports holds nothing else of the curator's domain, so none of
        it tells whether a documented bound equals the table's extreme. Held by
        tests/estimators/report/test_marks_stay.py. The estimator's own ``domain`` parameter is what
        was passed, as scikit-learn asks; a pickle of the estimator holds this in its place.
        """
        changed = {
            "features": tuple(map(without_bounds, self.features)),
            "classes": without_bounds(self.classes),
            "target": without_bounds(self.target),
        }
        marked = any(entry.drafted is not None for _, entry in self._named_entries)
        return self.model_copy(update=changed) if marked else self

    @property
    def is_declared(self) -> bool:
        """True if every entry is declared, so that a fit can have a guarantee."""
        return not self.drafted_entries

    def confirmed(
        self,
        declared_by: str,
        *,
        sources: Mapping[str, str] | None = None,
    ) -> Domain:
        """The same facts, with the drafted entries that have a source of their own now declared.

        An entry has one if ``sources`` names it, or if it says so itself (because its file was
        edited). All others stay drafted, and :attr:`lacking` lists them; with the last of them the
        draft's note goes. Call this only for facts that hold without a look at the records: the
        guarantee rests on that, and no program can check it.

        Parameters
        ----------
        declared_by : str
            Who stands for the facts.
        sources : mapping of str to str, optional
            Where an entry is documented, by its name: a feature's, ``"classes"`` or ``"target"``.

        Raises
        ------
        DomainError
            If nobody is named, or a source is given for no entry of this domain, for one that is
            declared already, or is the draft's own.

        Warns
        -----
        DraftedBoundsWarning
            If bounds of declared entries are still the draft's, or its placeholder is among their
            categories, with their names. It is for the curator: seeing it is not covered by
            epsilon.
        LookAlikesWarning
            If categories, classes or names that are declared now look the same, and are not.
        """
        if not isinstance(declared_by, str) or not declared_by.strip():
            raise DomainError("declared_by", "must name somebody", "Say who confirms the domain")
        names = [name for name, _ in self._named_entries]
        given = checked_sources(names, self.drafted_entries, sources)

        def confirm(name: str, entry: Declaration | None) -> Any:
            return entry and entry.confirmed(declared_by, given.get(name))

        confirmed = self.model_copy(
            update={
                "features": tuple(confirm(f.name, f) for f in self.features),
                "classes": confirm("classes", self.classes),
                "target": confirm("target", self.target),
            }
        )
        confirmed._warn_of_bounds()
        confirmed._warn_of_placeholders()
        drafted = self.drafted_entries
        warn_of_look_alikes(one for one in confirmed._named_entries if one[0] in drafted)
        if confirmed.is_declared and confirmed.note == DRAFT_NOTE:
            return confirmed.model_copy(update={"note": None})
        return confirmed

    def _warn_of_bounds(self) -> None:
        """Tell the curator which declared bounds are still the draft's, and never their values."""
        bounds = self.bounds_as_drafted
        left = [f"{name} ({' and '.join(bounds[name])})" for name in self.began_as_drafts
                if name in bounds]  # fmt: skip
        if left:
            warnings.warn(
                f"bounds that are still the draft's: {', '.join(left)}. The extreme of a table is "
                "the value of one record, unless the source named says the very same without a "
                "look at the records. This is for the curator: seeing it is not covered by "
                "epsilon, and no fit, report or stored model tells it.",
                DraftedBoundsWarning,
                stacklevel=3,
            )

    def _warn_of_placeholders(self) -> None:
        """Tell the curator where a draft's word for no category is still among declared ones."""
        from dpforest.domain.doubts import NO_TEXT

        left = [
            name
            for name, entry in self._named_entries
            if entry.drafted is not None
            and entry.status == "declared"
            and NO_TEXT in getattr(entry, "categories", ())
        ]
        if left:
            warnings.warn(
                f"the draft's {NO_TEXT!r} is still among the categories of: {', '.join(left)}. It "
                "stands where no text of a column means one. Declare the categories, or leave the "
                "column out, unless the column has that very word. This is for the curator: seeing "
                "it is not covered by epsilon.",
                DraftedBoundsWarning,
                stacklevel=3,
            )

    def fingerprint(self) -> str:
        """SHA-256 of the domain's canonical JSON without marks of bounds, in hexadecimal digits.

        So a report's is the one of the curator's own file.
        """
        facts = self.without_marks().model_dump(mode="json", exclude_none=True)
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The domain as JSON text, also written to ``path`` if one is given.

        With the marks of a draft's bounds, which are for the curator: what others may see is
        ``domain.without_marks().to_json(path)``. A file that is there is replaced.

        Raises
        ------
        ParameterError
            The file cannot be written.
        """
        text = written_domain(self.model_dump(mode="json", exclude_none=True))
        if path is not None:
            write_file(path, text)
        return text

    @classmethod
    def from_json(
        cls,
        path_or_text: str | PathLike[str],
        *,
        missing: Literal["all", "none"] = "all",
    ) -> Domain:
        """Read a domain from JSON, ours or the metadata of a public benchmark table.

        Parameters
        ----------
        path_or_text : str or path
            A file's path, or JSON text (recognised by its opening brace).
        missing : {"all", "none"}
            For benchmark metadata only, which does not say where values may be missing:
            allow them in every feature, or in none. Our own format says it per feature.

        Raises
        ------
        DomainError
            If there is no such file, or its text is not JSON, not a domain, or of a version this
            release cannot read.
        """
        return cls(**read_facts(path_or_text, missing=missing))

    def check(
        self,
        X: Any,
        y: Any = None,
        *,
        task: Literal["classification", "regression"] | None = None,
    ) -> DomainCheck:
        """Tell what a fit would do to each record of a table: **for the curator's eyes alone**.

        It reads the records and tells values and numbers of them. It spends nothing, no budget
        pays for it, and it must not be released: not in a report, a log or a paper. To mend the
        table, or to see that the domain's author wrote values otherwise, is what it is for. Bounds
        or categories that are then read off the records would be a draft (:meth:`draft`).

        Parameters
        ----------
        X : array, list or data frame of shape (n_samples, n_features), or stream
            Any table in memory that a fit takes, or one of ``dpforest.streams``: that is read
            once, part by part, and has the findings of the whole table.
        y : array, list or series of shape (n_samples,), optional
            Labels or targets. Without them only features are looked at, and the account says so.
            A stream has its own.
        task : {"classification", "regression"}, optional
            How to read labels; by default by what the domain declares, classes first.

        Returns
        -------
        DomainCheck
            By column and rule: records that would be dropped, numbers that would be clipped,
            categories that are not declared, and missing values, with near misses of categories
            and labels. It prints as a table.

        Raises
        ------
        ParameterError, ParameterTypeError, DomainError
            As a fit: for a table of another shape or type, or without declared columns.
        StreamError
            A part of a stream cannot be read, or does not fit the domain.
        """
        from dpforest.domain.checking import check_records

        return check_records(self, X, y, task)

    def diff(self, other: Domain) -> DomainDiff:
        """Tell what changes from this domain to another, by entry and field.

        Parameters
        ----------
        other : Domain

        Returns
        -------
        DomainDiff
            It prints as a table. Which bounds are still a draft's is left out. Where one of the
            domains is not declared, it says that it is for the curator's eyes alone.

        Raises
        ------
        ParameterTypeError
            If ``other`` is no domain.
        """
        from dpforest.domain.comparing import compare_domains

        if not isinstance(other, Domain):
            raise ParameterTypeError(
                "other", other, "must be a Domain", "Read it by Domain.from_json"
            )
        plain = (one.without_marks().model_dump(mode="json") for one in (self, other))
        drafted = not (self.is_declared and other.is_declared)
        return replace(compare_domains(*plain), for_the_curator_alone=drafted)

    @classmethod
    def draft(
        cls,
        X: Any,
        y: Any = None,
        path: str | PathLike[str] | None = None,
        *,
        task: Literal["classification", "regression"] | None = None,
    ) -> Domain:
        """Propose a domain from a table, for somebody to edit.

        A column whose values are all numbers, or text that reads as numbers, becomes numeric
        with the range that occurs (integer if all are whole; widened if it is a single value);
        booleans and any other text become categorical. The approximate row count stays empty:
        it is to be typed in. Columns of few whole numbers, such as 1 and 2, may be codes of
        categories: they are drafted as numbers, ``print`` names them, and
        :meth:`with_categories` reads them the other way.

        Parameters
        ----------
        X : array, list or data frame of shape (n_samples, n_features)
            At least one record and one feature.
        y : array, list or series of shape (n_samples,), optional
            Labels, or numbers for regression.
        path : str or path, optional
            Where to write the proposal as JSON: a new file, since an older one may have been
            edited.
        task : {"classification", "regression"}, optional
            How to read ``y``; by default regression if it holds fractions, else classification.

        Returns
        -------
        Domain
            With every entry marked as drafted.
        """
        from dpforest.domain.draft import draft_facts

        domain = cls(**draft_facts(X, y, path, task))
        if path is not None:
            domain.to_json(path)
        return domain
