"""Entries of a domain: features, classes and targets, each declared by somebody."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Annotated, Any, ClassVar, Literal, NoReturn, ParamSpec, Self

import numpy as np
from pydantic import (
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dpforest.domain.complaints import domain_error
from dpforest.domain.marks import DraftMark, is_own_source, settled
from dpforest.domain.values import (
    UNREADABLE,
    Meaning,
    is_missing,
    is_number_text,
    meaning_of,
    text_of,
)
from dpforest.exceptions import DomainError
from dpforest.own_names import OwnNames, set_fields
from dpforest.strict_json import is_writable

P = ParamSpec("P")

#: Codes of one feature must fit two bytes, with room for "unknown" and "missing".
MAX_CATEGORIES = 65_000
#: Tables of votes and probabilities have an entry a class.
MAX_CLASSES = 65_536
#: Integers up to here are exact as doubles.
MAX_INTEGER = 2**53


def _by_name(init: Callable[P, None]) -> Callable[P, None]:
    """Decorate an ``__init__`` of facts: what is given by place is refused in our own words.

    Its signature, which tools and pydantic ask for, has no places.
    """

    @wraps(init)
    def refusing(*given: P.args, **data: P.kwargs) -> None:
        if len(given) > 1:
            type(given[0])._refuse_places()  # type: ignore[attr-defined]
        init(*given, **data)

    return refusing


class DomainFacts(OwnNames):
    """Public facts: frozen, closed, and speaking in `DomainError`."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    #: Entry of a domain that errors name, where facts have no name of their own.
    entry: ClassVar[str] = ""

    @_by_name
    def __init__(self, /, **data: Any) -> None:
        self._fill(data)
        self._tell()

    def _tell(self) -> None:
        """Warn of what somebody who declares these facts should know."""

    @classmethod
    def _of_record(cls, facts: Mapping[str, Any]) -> Self:
        """Facts as a report or a stored model has them, which were told of when declared."""
        made = cls.__new__(cls)
        made._fill(facts)
        return made

    def _fill(self, data: Mapping[str, Any]) -> None:
        failure: DomainError | None = None
        try:
            super().__init__(**data)
        except ValidationError as error:
            named = {**data, "name": self.entry or data.get("name")}
            failure = domain_error(error, named, self._known_fields())
        # Raised outside the handler, so that no second error trails behind it.
        if failure is not None:
            raise failure

    @classmethod
    def _refuse_places(cls) -> NoReturn:
        """Refuse facts by place, which Python's own error would tell less of."""
        named = ", ".join(f"{name}=..." for name in cls._shown_fields())
        rule, repair = "facts are given by name", f"Write {cls.__name__}({named})"
        raise DomainError(cls.entry or cls.__name__, rule, repair)

    @classmethod
    def _shown_fields(cls) -> list[str]:
        """Fields of facts as people write them, without those on their origin or for people."""
        left_out = {"kind", "note", *Declaration.model_fields}
        return [
            name
            for name, field in cls.model_fields.items()
            if field.is_required() or name not in {"name", *left_out}
        ]

    @classmethod
    def _known_fields(cls) -> set[str]:
        """Fields that somebody may have meant."""
        return set(cls.model_fields)

    @model_validator(mode="after")
    def _holds_whole_characters(self) -> Self:
        """No half of a character: such text cannot be written down."""
        for name, value in self.__dict__.items():
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and not is_writable(text):
                    entry = str(self.entry or self.__dict__.get("name") or "domain")
                    entry = entry if is_writable(entry) else "domain"
                    raise DomainError(
                        entry, f"{name}: a text holds half of a character", "Write it as Unicode"
                    )
        return self

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield from set_fields(self)

    def __str__(self) -> str:
        return repr(self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise DomainError(name, "declared facts do not change", f"Make a new {type(self).__name__}")

    def __delattr__(self, name: str) -> None:
        raise DomainError(name, "declared facts do not change", f"Make a new {type(self).__name__}")


class Declaration(DomainFacts):
    """Origin of an entry.

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
        """Reason why a drafted entry is not yet declared, in words; empty if it is declared."""
        if self.status == "declared":
            return ""
        if is_own_source(self.source):
            return "nobody confirmed it"
        return "no source but the draft is named"


def no_boolean(value: Any) -> Any:
    """A bound as it was given; a boolean is none."""
    if isinstance(value, (bool, np.bool_)):
        raise ValueError("must be a number, not a boolean")
    return value


def _check_bounds(entry: str, lower: float, upper: float) -> None:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise DomainError(entry, "bounds must be finite numbers", "Give a finite lower and upper")
    if not lower < upper:
        repair = "Swap them" if lower > upper else "Widen the bounds"
        raise DomainError(entry, f"lower ({lower:g}) must be below upper ({upper:g})", repair)
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
                "Give it another name; leave missing out and set missing=True; turn dates into "
                "numbers, such as days since a public date, with (lower, upper) as bounds",
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
        Every category that has a meaning, in their natural order where they have one (see
        `dpforest.domain.list_order`). Numbers and booleans are turned into text. They must
        differ in meaning: 1, "1", "01", " 1" and True are the same category.
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
    def _as_text(cls, categories: Any, info: ValidationInfo) -> Any:
        if isinstance(categories, str) or not isinstance(categories, Iterable):
            return categories
        if isinstance(categories, (set, frozenset)):
            rule = "a set has another order in every process"
            raise DomainError("categories", rule, "Write categories=[...]")
        categories = tuple(categories)
        if any(map(is_missing, categories)):
            raise DomainError(
                str(info.data.get("name", "categories")),
                "a missing value is no category",
                "Leave it out, and write {'categories': [...], 'missing': True}",
            )
        return tuple(map(text_of, categories))

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
        """True if any category reads as a number; then a number is never taken as a position."""
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

    entry: ClassVar[str] = "classes"

    labels: tuple[Label, ...]

    @field_validator("labels", mode="before")
    @classmethod
    def _as_python(cls, labels: Any) -> Any:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            return labels
        labels = tuple(labels)
        if any(map(is_missing, labels)):
            rule = "a class cannot be missing, as None and NaN are"
            raise DomainError("classes", rule, "Leave it out, and drop records without a label")
        # Numpy scalars become Python's, so that JSON keeps their type.
        return tuple(
            value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
            for value in labels
        )

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

    @property
    def have_codes(self) -> bool:
        """True if any label is its own place: then a code in the place of a label may mean it."""
        return any(text == str(place) for place, text in enumerate(self.texts))


class NumericTarget(Declaration):
    """Public bounds of a regression target; values outside are clipped."""

    entry: ClassVar[str] = "target"

    lower: float
    upper: float

    _no_boolean = field_validator("lower", "upper", mode="before")(no_boolean)

    @model_validator(mode="after")
    def _check(self) -> NumericTarget:
        _check_bounds("target", self.lower, self.upper)
        return self
