"""A plain model as one SELECT: a table's records in, predictions out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dpforest.checks import write_file
from dpforest.exceptions import ExportSizeError, ParameterError
from dpforest.exports.parts import Document, Link, Rules, read_document, texts_of
from dpforest.exports.sql_inputs import Codes
from dpforest.exports.sql_links import mean_shares, means, probabilities
from dpforest.exports.sql_scores import rules_shares, trees_scores
from dpforest.exports.sql_stages import Stages
from dpforest.exports.sql_words import MAY_BE_SEVERAL, may_be_several, quoted_name

#: Bytes of a SELECT, unless more are allowed.
MOST_BYTES = 4_000_000
#: Bytes of a name that PostgreSQL looks at.
_NAME_BYTES = 63
NOTE = (
    "-- Released values of a private forest. This text holds no privacy guarantee by itself: the\n"
    "-- report of the fit says what was promised and spent.\n"
)


def sql_model(
    plain: str,
    path: str | Path | None = None,
    *,
    table: str | Sequence[str] = "records",
    keep: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    max_bytes: int = MOST_BYTES,
) -> str:
    """Write a plain model as one SELECT.

    Parameters
    ----------
    plain : str
        What ``to_plain`` returned.
    path : str or Path, optional
        Where to write the text too; a file that is there is replaced.
    table : str or sequence of str
        Where the records are: a name without a point in it, or all names, such as those of a schema
        and a table. A name alone, with a point in it, is ``("a.b",)``.
    keep : sequence of str
        Columns of the table that stand before the predictions.
    outputs : sequence of str, optional
        Names of what comes out: the label and the probability of each class, or the mean.
    max_bytes : int
        A longer text is refused.

    Raises
    ------
    ParameterError
        A name is none, or two are alike; a table's may be two; two features are one column to a
        database; or a text of the domain holds U+0000.
    ExportSizeError
        The text would be longer than allowed, or wider than databases take.
    """
    document = read_document(plain)
    most = _checked_size(max_bytes)
    place = _checked_table(table)
    _check_texts(document)
    kept, names = _checked_names(document, keep, outputs)
    stages = Stages(_prefix(place), [quoted_name(name) for name in kept], _joined(place))
    columns = _columns(document, stages)
    made = [f"k{k}" for k in range(len(kept))] + columns
    named = zip(made, (*kept, *names), strict=True)
    text = NOTE + stages.finished([f"{column} AS {quoted_name(name)}" for column, name in named])
    _check_size(text, most)
    if path is not None:
        write_file(path, text)
    return text


def _columns(document: Document, stages: Stages) -> list[str]:
    """Add all stages, and give the columns of the result."""
    codes, link, score = Codes(document), document.link, document.score
    stages.add(codes.read())
    stages.add(codes.coded())
    if isinstance(score, Rules):
        shares = rules_shares(score, codes, stages, link.n_scores)
        if not link.classes:
            return mean_shares(shares, link, stages)
        # Softmax takes logarithms back, so there is no need to take them.
        return probabilities(shares, Link("shares", link.classes), stages)
    scores = trees_scores(score, codes, stages, link.n_scores)
    return (probabilities if link.classes else means)(scores, link, stages)


def _prefix(place: Sequence[str]) -> str:
    """A beginning of names that the table's has not."""
    prefix = "stage"
    while any(part.casefold().startswith(prefix) for part in place):
        prefix += "_"
    return prefix


def _joined(place: Sequence[str]) -> str:
    return ".".join(map(quoted_name, place))


def _checked_size(max_bytes: Any) -> int:
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
        raise ParameterError(
            "max_bytes", max_bytes, "must be a positive whole number",
            f"Write for instance max_bytes={MOST_BYTES}",
        )  # fmt: skip
    return max_bytes


def _check_size(text: str, most: int) -> None:
    size = len(text.encode("utf-8"))
    if size > most:
        raise ExportSizeError(
            "max_bytes", most, size, most, f"is less than the {size} bytes of this forest's SELECT",
            f"Write max_bytes={size} if your database takes it, or use to_onnx() or to_plain()",
        )  # fmt: skip


def _checked_table(table: Any) -> tuple[str, ...]:
    parts = (table,) if isinstance(table, str) else table
    if not _are_names(parts) or not parts:
        raise ParameterError(
            "table", table, "must be a name, or the names of a schema and a table",
            'Write for instance table="records" or table=("clinic", "records")',
        )  # fmt: skip
    if isinstance(table, str) and may_be_several(table):
        _refuse_point(table)
    return tuple(parts)


def _refuse_point(table: str) -> NoReturn:
    """Refuse a text that may be one name or several: a database would look for one."""
    parts = tuple(table.split("."))
    parts = parts if all(parts) else ("clinic", "records")
    raise ParameterError(
        "table", table, MAY_BE_SEVERAL,
        f"Write table={parts} for a table of a schema, or table={(table,)} for one name",
    )  # fmt: skip


def _are_names(names: Any) -> bool:
    return isinstance(names, (list, tuple)) and all(map(_is_name, names))


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name != "" and _is_writable(name)


def _is_writable(text: str) -> bool:
    """Tell whether a text can stand in a file: without U+0000 and halves of letters."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _checked_names(
    document: Document, keep: Any, outputs: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of all columns of the result, which differ by more than the case of letters."""
    default = _default_names(document)
    names = default if outputs is None else outputs
    if not _are_names(keep):
        raise ParameterError(
            "keep", keep, "must be names of columns", 'Write for instance keep=["id"]'
        )
    if not _are_names(names) or len(names) != len(default):
        raise ParameterError(
            "outputs", outputs, f"must be {len(default)} names", f"Write outputs={list(default)}"
        )
    if _are_alike([*keep, *names]):
        raise ParameterError(
            "outputs", list(names), "must be names that differ from each other and from those "
            "kept, by more than the case of letters",
            f"Write for instance outputs={[f'predicted_{k}' for k in range(len(default))]}",
        )  # fmt: skip
    return tuple(keep), tuple(names)


def _default_names(document: Document) -> tuple[str, ...]:
    classes = document.link.classes
    if not classes:
        return ("prediction",)
    return ("label", *(f"probability_{label}" for label in classes))


def _are_alike(names: Iterable[str]) -> bool:
    folded = [name.casefold() for name in names]
    return len(set(folded)) < len(folded)


def _check_texts(document: Document) -> None:
    """Refuse names, categories and classes that cannot stand in a statement.

    Of two features that a database takes for one column, one would be read in the other's place.
    """
    if _are_alike(_kept_of(feature.name) for feature in document.features):
        raise ParameterError(
            "domain", "features", "has names that are one column to a database: they differ in the "
            "case of letters alone, or after 63 bytes",
            "Declare names that differ by more, and fit again, or use to_plain()",
        )  # fmt: skip
    for text, entry in texts_of(document):
        _check_text(text, entry)


def _kept_of(name: str) -> str:
    """Beginning of a name, which is all that PostgreSQL keeps of it."""
    return name.encode("utf-8", "replace")[:_NAME_BYTES].decode("utf-8", "ignore")


def _check_text(text: str, entry: str) -> None:
    if not _is_writable(text):
        raise ParameterError(
            "domain", entry, "has a text with U+0000 or half a letter in it, which no statement "
            "holds",
            "Declare it without, and fit again, or use to_plain()",
        )  # fmt: skip
