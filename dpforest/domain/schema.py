"""Domain: the public facts about a table, declared by somebody and never learnt silently."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from dpforest.domain.complaints import domain_error
from dpforest.domain.marks import (
    DraftMark,
    checked_sources,
    is_own_source,
    settled,
    without_bounds,
)
from dpforest.domain.values import (
    UNREADABLE,
    Meaning,
    is_boolean,
    is_missing,
    is_number_text,
    meaning_of,
    text_of,
)
from dpforest.exceptions import DomainError, DraftedBoundsWarning
from dpforest.strict_json import is_writable

#: Codes of one feature must fit two bytes, with room for "unknown" and "missing".
MAX_CATEGORIES = 65_000
#: Tables of votes and probabilities have an entry a class.
MAX_CLASSES = 65_536
#: Integers up to here are exact as doubles.
MAX_INTEGER = 2**53


class _Entry(BaseModel):
    """Base of all entries: frozen, closed, and speaking in `DomainError`."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    def __init__(self, **data: Any) -> None:
        failure: DomainError | None = None
        try:
            super().__init__(**data)
        except ValidationError as error:
            failure = domain_error(error, data, _fields_of(type(self)))
        # Raised outside the handler, so that no second error trails behind it.
        if failure is not None:
            raise failure

    @model_validator(mode="after")
    def _holds_whole_characters(self) -> Self:
        """No half of a character: such text cannot be written down."""
        for name, value in self.__dict__.items():
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and not is_writable(text):
                    entry = str(self.__dict__.get("name") or "domain")
                    entry = entry if is_writable(entry) else "domain"
                    raise DomainError(
                        entry, f"{name}: a text holds half of a character", "Write it as Unicode"
                    )
        return self

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What differs from the defaults, so that an estimator that holds a domain can be read."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value != field.default:
                yield name, value

    def __str__(self) -> str:
        return repr(self)


def _fields_of(kind: type[_Entry]) -> set[str]:
    """Fields of an entry, and of those that a domain may hold as plain data."""
    held: tuple[type[_Entry], ...] = (NumericFeature, CategoricalFeature, Classes, NumericTarget)
    kinds: tuple[type[_Entry], ...] = (kind, *held) if kind is Domain else (kind,)
    return {name for entry in kinds for name in entry.model_fields}


class Declaration(_Entry):
    """Where an entry comes from.

    Parameters
    ----------
    source : str, optional
        Where the fact is documented: a codebook, a law, a device's range.
    declared_by : str, optional
        Who stands for it.
    status : {"declared", "drafted"}
        ``"drafted"`` marks a fact that was read from the records and that nobody has
        confirmed; a fit that uses one has no guarantee. What a draft marked stays drafted as long
        as no source but the draft's is named for it, whatever is written here.
    drafted : DraftMark, optional
        That the entry comes from a draft and, at the curator's desk alone, which of its bounds
        are still the draft's. What a fit takes keeps no more than the first.
    """

    source: str | None = None
    declared_by: str | None = None
    status: Literal["declared", "drafted"] = "declared"
    drafted: DraftMark | None = None

    @model_validator(mode="after")
    def _settle(self) -> Declaration:
        self.__dict__.update(settled(self))
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        """A copy with other values, whose mark and status are made to fit them."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.update(settled(copied))
        return copied

    def confirmed(self, declared_by: str, source: str | None = None) -> Any:
        """The same entry as declared by somebody.

        Entries that are declared already stay as they are, and so does a drafted one for which
        neither ``source`` nor its own text names a source other than the draft's.
        """
        named = source if source is not None else self.source
        if self.status == "declared" or not is_own_source(named):
            return self
        return self.model_copy(
            update={"status": "declared", "declared_by": declared_by, "source": named}
        )

    @property
    def lacks(self) -> str:
        """What keeps a drafted entry from being declared, in words; empty if it is."""
        if self.status == "declared":
            return ""
        if is_own_source(self.source):
            return "nobody confirmed it"
        return "no source but the draft is named"


def no_boolean(value: Any) -> Any:
    """A bound as it was given; a boolean is none."""
    if isinstance(value, (bool, np.bool_)):
        raise ValueError("Input should be a number, not a boolean")
    return value


def _check_bounds(entry: str, lower: float, upper: float) -> None:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise DomainError(entry, "bounds must be finite numbers", "Give a finite lower and upper")
    if not lower < upper:
        raise DomainError(
            entry, f"lower ({lower:g}) must be below upper ({upper:g})", "Widen the bounds"
        )
    if not math.isfinite(upper - lower):
        raise DomainError(entry, "upper - lower must be finite", "Narrow the bounds")


class NumericFeature(Declaration):
    """A feature with public bounds; values outside are clipped.

    Parameters
    ----------
    name : str
        Name of the column.
    lower, upper : float
        Public bounds, both inclusive, ``lower < upper``.
    integer : bool
        Whether only whole numbers have a meaning.
    missing : bool
        Whether a missing value is a value of its own. If not, a record without one is dropped.
    """

    kind: Literal["numeric"] = "numeric"
    name: str = Field(min_length=1)
    lower: float
    upper: float
    integer: bool = False
    missing: bool = False

    _no_boolean = field_validator("lower", "upper", mode="before")(no_boolean)

    @model_validator(mode="after")
    def _check(self) -> NumericFeature:
        _check_bounds(self.name, self.lower, self.upper)
        if self.integer and not (self.lower.is_integer() and self.upper.is_integer()):
            raise DomainError(
                self.name,
                "bounds of an integer feature must be whole numbers",
                "Round them outwards",
            )
        if self.integer and max(abs(self.lower), abs(self.upper)) > MAX_INTEGER:
            raise DomainError(
                self.name,
                "bounds of an integer feature must lie within 2**53",
                "Declare it with integer=False",
            )
        return self


def _check_meanings(entry: str, values: Iterable[Any], nouns: str) -> None:
    """Refuse values that no reading of a table could always tell apart, or from a gap.

    Text "01" becomes the number 1 where a whole column reads as numbers, and stays text where
    one record does not: were "01" and "1" two categories, one record could change others.
    Values are named by their positions: somebody may have read them off records.
    """
    positions: dict[Meaning, int] = {}
    for position, value in enumerate(values):
        meaning = meaning_of(value)
        if meaning in (None, UNREADABLE):
            raise DomainError(
                entry,
                f"of the {nouns} the one at position {position} reads as missing, as NaN and "
                "empty text do, or has no meaning, as dates, complex numbers and lists",
                "Give it another name",
            )
        first = positions.setdefault(meaning, position)
        if first != position:
            raise DomainError(
                entry,
                f"{nouns} must differ, and those at positions {first} and {position} mean the "
                "same: what reads as a number or boolean is compared as a double, text without "
                "surrounding white space",
                "Remove one, or recode the column, such as by a letter in front of digits",
            )


class CategoricalFeature(Declaration):
    """A feature with public categories, compared as numbers where they read as such, else as text.

    Parameters
    ----------
    name : str
        Name of the column.
    categories : tuple of str
        Every category that has a meaning. Numbers and booleans are turned into text. They
        must differ in meaning: 1, "1", "01", " 1" and True are the same category.
    other : str, optional
        The category that stands for every value not listed. Without one, a code of its
        own is reserved for them.
    missing : bool
        Whether a missing value is a value of its own. If not, a record without one is dropped.
    """

    kind: Literal["categorical"] = "categorical"
    name: str = Field(min_length=1)
    categories: tuple[str, ...] = Field(min_length=1, max_length=MAX_CATEGORIES)
    other: str | None = None
    missing: bool = False

    @field_validator("categories", mode="before")
    @classmethod
    def _as_text(cls, categories: Any) -> Any:
        if isinstance(categories, str) or not isinstance(categories, Iterable):
            return categories
        return tuple(None if is_missing(value) else text_of(value) for value in categories)

    @model_validator(mode="after")
    def _check(self) -> CategoricalFeature:
        _check_meanings(self.name, self.categories, "categories")
        if self.other is not None and self.other not in self.categories:
            raise DomainError(
                self.name, "other must be one of the categories", "Add it to the categories"
            )
        return self

    @property
    def holds_numbers(self) -> bool:
        """Whether any category reads as a number, so that a number is never a position."""
        return any(map(is_number_text, self.categories))


Feature = Annotated[NumericFeature | CategoricalFeature, Field(discriminator="kind")]
Label = str | bool | int | float


class Classes(Declaration):
    """The labels a classifier may predict, in the order of its outputs.

    Parameters
    ----------
    labels : tuple of str, bool, int or float
        From 2 to 65,536, finite and different in meaning: 1, "1", "1.0" and True are the
        same label.
    """

    labels: tuple[Label, ...]

    @field_validator("labels", mode="before")
    @classmethod
    def _as_python(cls, labels: Any) -> Any:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            return labels
        # Numpy scalars become Python's, so that JSON keeps their type.
        return tuple(value.item() if hasattr(value, "item") else value for value in labels)

    @model_validator(mode="after")
    def _check(self) -> Classes:
        if len(self.labels) < 2:
            raise DomainError("classes", "at least two classes are needed", "List every class")
        if len(self.labels) > MAX_CLASSES:
            raise DomainError("classes", f"at most {MAX_CLASSES} classes", "Join rare classes")
        _check_meanings("classes", self.labels, "labels")
        if any(meaning_of(label) in (math.inf, -math.inf) for label in self.labels):
            raise DomainError("classes", "a label must not be infinite", "Name the class")
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        """The labels as text."""
        return tuple(text_of(label) for label in self.labels)


class NumericTarget(Declaration):
    """Public bounds of a regression target; values outside are clipped."""

    lower: float
    upper: float

    _no_boolean = field_validator("lower", "upper", mode="before")(no_boolean)

    @model_validator(mode="after")
    def _check(self) -> NumericTarget:
        _check_bounds("target", self.lower, self.upper)
        return self


class Domain(_Entry):
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
        Roughly how many records there are, typed in from public knowledge. Nothing in
        dpforest fills it from a table.
    name, note : str, optional
        For people.

    Raises
    ------
    DomainError
        If the facts contradict each other; ``entry`` names the one concerned.
    """

    name: str | None = None
    features: tuple[Feature, ...] = Field(min_length=1)
    classes: Classes | None = None
    target: NumericTarget | None = None
    approximate_rows: int | None = Field(default=None, ge=1)
    note: str | None = None

    @field_validator("features", mode="before")
    @classmethod
    def _from_mapping(cls, features: Any) -> Any:
        if not isinstance(features, Mapping):
            return features
        return tuple(_feature_from(name, entry) for name, entry in features.items())

    @field_validator("classes", mode="before")
    @classmethod
    def _from_labels(cls, classes: Any) -> Any:
        if classes is None or isinstance(classes, (Classes, Mapping, str)):
            return classes
        if isinstance(classes, bytes) or not isinstance(classes, Iterable):
            raise DomainError("classes", "must be a list of labels", "Write classes=[...]")
        return Classes(labels=tuple(classes))

    @field_validator("approximate_rows", mode="before")
    @classmethod
    def _no_boolean(cls, rows: Any) -> Any:
        if is_boolean(rows):
            raise DomainError(
                "approximate_rows", "a boolean is no number of records", "Type in a whole number"
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

    @property
    def n_features(self) -> int:
        """How many features are declared."""
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

        For the curator: that one is left tells an extreme of the table, which epsilon does not
        cover. Told by the marks of the draft, so only of entries that were drafted by this release
        or a later one, and whose marks nobody took away; no record is looked at. What a fit takes
        has none, so this is empty there (:meth:`without_marks`).
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

    def without_marks(self) -> Domain:
        """The same facts as a fit takes them, and as they may be shown to others.

        Of a draft, an entry keeps the bare fact that it began as one; which bounds are still the
        draft's is dropped. :meth:`fingerprint` stays the same.

        Notes
        -----
        What a fit keeps, stores or reports holds nothing else of the curator's domain, so none of
        it tells whether a documented bound equals the table's extreme. Held by
        tests/report/test_marks_stay.py. The estimator's own ``domain`` parameter is what
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
        """Whether every entry is declared, so that a fit can have a guarantee."""
        return not self.drafted_entries

    def confirmed(
        self,
        declared_by: str,
        *,
        sources: Mapping[str, str] | None = None,
    ) -> Domain:
        """The same facts, with the drafted entries that have a source of their own now declared.

        An entry has one if ``sources`` names it, or if it says so itself (because its file was
        edited). All others stay drafted, and :attr:`lacking` lists them. Call this only for facts
        that hold without a look at the records: the guarantee rests on that, and no program can
        check it.

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
            If bounds of declared entries are still the draft's, with their names. It is for the
            curator: seeing it is not covered by epsilon.
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
        ``domain.without_marks().to_json(path)``.
        """
        from dpforest.domain.files import write_domain

        return write_domain(self, path)

    @classmethod
    def from_json(
        cls,
        path_or_text: str | PathLike[str],
        *,
        missing: Literal["all", "none"] = "all",
    ) -> Domain:
        """Read a domain from a JSON file or text; see `dpforest.domain.files.read_domain`."""
        from dpforest.domain.files import read_domain

        return read_domain(path_or_text, missing=missing)

    @classmethod
    def draft(
        cls,
        X: Any,
        y: Any = None,
        path: str | PathLike[str] | None = None,
        *,
        task: Literal["classification", "regression"] | None = None,
    ) -> Domain:
        """Read a first proposal off a table, for somebody to edit; see `dpforest.domain.draft`."""
        from dpforest.domain.draft import draft_domain

        return draft_domain(X, y, path, task=task)


def _feature_from(name: Any, entry: Any) -> Any:
    """One feature from the short form: bounds, categories, fields, or a feature."""
    if isinstance(entry, (NumericFeature, CategoricalFeature)):
        if entry.name != name:
            raise DomainError(str(name), "key and feature's name differ", "Use one name for both")
        return entry
    if isinstance(entry, Mapping):
        kind = "categorical" if "categories" in entry else "numeric"
        return {"name": name, "kind": kind, **entry}
    if isinstance(entry, tuple) and len(entry) == 2 and all(map(_is_bound, entry)):
        return NumericFeature(name=name, lower=entry[0], upper=entry[1])
    if isinstance(entry, tuple) and len(entry) == 1 and _is_bound(entry[0]):
        raise DomainError(str(name), "bounds are two numbers", "Write (lower, upper)")
    if isinstance(entry, (list, tuple)):
        return CategoricalFeature(name=name, categories=tuple(entry))
    raise DomainError(
        str(name),
        "must be a (lower, upper) tuple, a list of categories or a feature",
        "See docs/domain.md",
    )


def _is_bound(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
