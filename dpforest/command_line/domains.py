"""``dpforest domain``: draft the public facts of a table, confirm them, check and compare them.

Held by tests/command_line/test_domain.py.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dpforest.command_line.answers import (
    Answer,
    CheckResult,
    DomainDiffResult,
    DomainResult,
    WritingResult,
    Written,
)
from dpforest.command_line.exit_codes import ANSWER_IS_NO, DONE
from dpforest.command_line.forests import with_rows
from dpforest.command_line.tables import files_of, labelled, whole_table, with_leading_zeros
from dpforest.domain.domain import Domain
from dpforest.domain.findings import LOOK_AT_LINES
from dpforest.exceptions import (
    Described,
    DomainError,
    DPForestError,
    DraftedBoundsWarning,
    LookAlikesWarning,
    ParameterError,
    StreamError,
    printable,
    raise_alone,
)
from dpforest.standard_streams import is_terminal, print_notice
from dpforest.strict_json import read_object
from dpforest.writing import check_new, write_text

#: What `confirm` still needs.
_SOURCES_WORDS = (
    "No fit takes it yet: say of each entry where it is documented, by --source "
    "'ENTRY=WORDS' (may be repeated), or by --sources FILE"
)
#: Where entries are declared already, whatever a draft's marks still say of their bounds.
_ALL_DECLARED = (
    "every entry is declared already: fit with this domain as it is. A copy without a draft's "
    "marks is for Python: Domain.from_json(path).without_marks().to_json(other)"
)
#: For what is read off the records and shown to the curator.
FOR_THE_CURATOR = "for the curator's eyes alone: epsilon does not cover it"


def run_draft(chosen: argparse.Namespace) -> Answer:
    """Write a draft to a new file that its owner alone may read."""
    path = Path(chosen.output)
    check_new(path, chosen.force, read=files_of(chosen.files, chosen.format))
    source = labelled(chosen.files, chosen.target, chosen.format)
    names = _feature_names(source, chosen.target, chosen.drop)
    _refuse_absent("--categorical", chosen.categorical, names)
    X, y = whole_table(source, names)
    with _reasons_at_a_terminal_alone(chosen.files):
        _refuse_empty(X)
        read = Domain.draft(with_leading_zeros(source, X), draft_labels(y), task=chosen.task)
        domain = read.with_categories(*chosen.categorical)
    domain = with_rows(domain, chosen.rows)
    write_text(path, domain.to_json(), private=True, force=chosen.force)
    notice = (
        f"{printable(str(path))} holds extremes of the records, {FOR_THE_CURATOR}. Edit it from "
        f"public knowledge, then: dpforest domain confirm\n{_codes_words(read.may_be_codes)}\n"
        f"{_doubts_words(read.doubts)}"
    )
    result = _result(domain, path, _name_of_output(chosen.task))
    return Answer(result, f"draft: {printable(str(path))}", notice)


def run_confirm(chosen: argparse.Namespace) -> Answer:
    """Write the facts that somebody stands for, without what a draft knew of the records.

    Where nothing is confirmed, no file is in the way of the next try.
    """
    path = Path(chosen.output)
    check_new(path, chosen.force, read=[chosen.domain, chosen.sources])
    given = Domain.from_json(Path(chosen.domain))
    domain = _confirmed(with_rows(given, chosen.rows), chosen.by, _sources(chosen))
    if _confirms_nothing(given, domain):
        return _nothing_confirmed(domain)
    # What is not confirmed still holds what was read off the records.
    private = not domain.is_declared
    write_text(path, domain.without_marks().to_json(), private=private, force=chosen.force)
    notice = _SOURCES_WORDS if domain.lacking else ""
    return Answer(
        _result(domain, path), _with_lacking(f"domain: {printable(str(path))}", domain), notice
    )


def run_check(chosen: argparse.Namespace) -> Answer:
    """Tell the curator which records a fit would drop; at a terminal or in a private file."""
    read = [chosen.domain, *files_of(chosen.files, chosen.format)]
    path = _place_for_curator(chosen, "what is found", read)
    return _put(_checked(chosen), chosen, path, "check")


def _checked(chosen: argparse.Namespace) -> Answer:
    domain = Domain.from_json(Path(chosen.domain))
    source = labelled(chosen.files, chosen.target, chosen.format)
    _check_target(source, chosen.target)
    found = domain.check(source, task=chosen.task)
    result = CheckResult(check=found, lines_left_out=found.lines_left_out)
    found_any = found.dropped or found.lines_left_out
    code = ANSWER_IS_NO if chosen.exit_code and found_any else DONE
    return Answer(result, str(found), code=code)


def run_diff(chosen: argparse.Namespace) -> Answer:
    """Differences from one domain to another; where one is a draft, for the curator alone.

    Not only its values would tell: a field that does not differ is as good as one that is shown.
    """
    read = [chosen.domain, chosen.other]
    one, other = (Domain.from_json(Path(path)) for path in read)
    if one.is_declared and other.is_declared:
        path, notice = _new_place(chosen, read), ""
    else:
        path, notice = _place_for_curator(chosen, "what a draft holds", read), FOR_THE_CURATOR
    found = one.diff(other)
    code = ANSWER_IS_NO if chosen.exit_code and not found.same else DONE
    answer = Answer(DomainDiffResult(same=found.same, diff=found), str(found), notice, code)
    return _put(answer, chosen, path, "diff")


# -- for the curator ------------------------------------------------------------------------------


def _place_for_curator(
    chosen: argparse.Namespace, what: str, read: Sequence[str | Path]
) -> Path | None:
    """The file of ``--output``, or None at a terminal; elsewhere a log would keep what is said."""
    if chosen.output is None and not is_terminal(sys.stdout):
        raise ParameterError(
            "--output", None, f"is needed where stdout is no terminal: {what} is "
            f"{FOR_THE_CURATOR}, and a log would keep it",
            "Name a file; its owner alone may read it",
        )  # fmt: skip
    return _new_place(chosen, read)


def _new_place(chosen: argparse.Namespace, read: Sequence[str | Path]) -> Path | None:
    if chosen.output is None:
        return None
    check_new(Path(chosen.output), chosen.force, read=read)
    return Path(chosen.output)


def _put(answer: Answer, chosen: argparse.Namespace, path: Path | None, what: str) -> Answer:
    """The answer itself, or the word that a private file has it."""
    if path is None:
        return answer
    text = answer.as_json(chosen.named) if chosen.json else answer.words
    write_text(path, text + "\n", private=True, force=chosen.force)
    file = Written(what=what, path=str(path))
    notice = (
        f"{printable(file.path)} is {FOR_THE_CURATOR}" if what == "check" or answer.notice else ""
    )
    return Answer(WritingResult(written=(file,)), file.words, notice, answer.code)


def _result(domain: Domain, path: Path | None, output: str | None = None) -> DomainResult:
    """The result for programs, in which classes or target may go by another name."""
    lacking = {
        name if output is None or name in domain.feature_names else output: what
        for name, what in domain.lacking
    }
    return DomainResult(
        written=(Written(what="domain", path=str(path)),) if path else (),
        n_features=domain.n_features,
        lacking=lacking,
    )


def _name_of_output(task: str | None) -> str | None:
    """A name for what a draft read off the labels, where a log may not keep which of both it is."""
    return "classes or target" if task is None and not is_terminal(sys.stdout) else None


def _codes_words(codes: Mapping[str, Any]) -> str:
    """Words on codes; which columns may hold some is said at a terminal alone."""
    words = "Whole numbers are drafted as numbers; where they are codes, write --categorical NAME"
    if codes and is_terminal(sys.stderr):
        words += f". Few of them are in: {', '.join(codes)}"
    return words


def _doubts_words(doubts: Mapping[str, str]) -> str:
    """Words on how texts are read; of which columns that matters is said at a terminal alone."""
    words = "Files are read as UTF-8, and numbers with a point; others are drafted as texts"
    if doubts and is_terminal(sys.stderr):
        words += "".join(f"\n{name}: {doubt}" for name, doubt in doubts.items())
    return words


@contextmanager
def _reasons_at_a_terminal_alone(files: Sequence[str]) -> Iterator[None]:
    """Refuse records that allow of no draft in one way, unless somebody watches.

    Which rule they break, and in which column, is decided by the records.
    """
    try:
        yield
    except DPForestError:
        if is_terminal(sys.stderr):
            raise
        raise_alone(
            ParameterError(
                "FILE", Described(", ".join(files)), "no draft can be made of it as asked. Why is "
                "a fact about the records, so no log may keep it",
                "Draft at a terminal, which shows the reason. --categorical is for columns of few "
                "whole numbers alone; other categories are written into the draft's file",
            )
        )  # fmt: skip


# -- drafting -------------------------------------------------------------------------------------


def _feature_names(source: Any, target: str, dropped: Sequence[str]) -> tuple[str, ...]:
    """Columns of the first file that are features: all but the target and what is left out."""
    names = _check_target(source, target)
    source.check(())
    _refuse_absent("--drop", dropped, names)
    found = tuple(name for name in names if name != target and name not in dropped)
    if "" in found:
        place, _ = next(iter(source.columns()))
        raise StreamError(
            place, f"its column {names.index('') + 1} has no name in the first line, as of an "
            "index that pandas writes, or of commas at the ends of lines",
            "Name it, or leave it out: --drop ''",
        )  # fmt: skip
    source.check(found)
    return found


def _refuse_empty(X: Any) -> None:
    """Refuse files without records to draft from, with what may have left lines out."""
    if not X.num_rows:
        raise ParameterError(
            "FILE", Described("a table"), "has no records: of CSV a line is one if it has as many "
            "cells as the first line", LOOK_AT_LINES,
        )  # fmt: skip


def _refuse_absent(option: str, given: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names that are none of the columns that an option may name."""
    absent = [name for name in given if name not in names]
    if absent:
        near = _near(absent[0], names)
        raise ParameterError(
            option, absent[0], "is no column of the file that it may name",
            f"Write {' or '.join(near)}" if near else f"Write {option} once for each column",
        )  # fmt: skip


def _near(name: str, names: Sequence[str]) -> list[str]:
    """Columns that a slip of the finger leads away from; at a terminal alone.

    The first line of a file may be a record.
    """
    return get_close_matches(name, names, n=3) if is_terminal(sys.stderr) else []


def _check_target(source: Any, target: str) -> tuple[str, ...]:
    """Columns of the first file; a target that is none of them is refused with those near it.

    Where none is near, or no terminal is there, readers refuse it.
    """
    _, names = next(iter(source.columns()))
    near = _near(target, names)
    if near and target not in names:
        raise ParameterError(
            "--target", target, "is no column of the file", f"Write {' or '.join(near)}"
        )
    return tuple(names)


def draft_labels(y: Any) -> Any:
    """Labels for a draft: whole numbers as such, since a file's doubles are its whole numbers."""
    cells = y.to_pylist()
    numbers = [cell for cell in cells if isinstance(cell, float)]
    if numbers and all(number != number or number.is_integer() for number in numbers):
        return [int(c) if isinstance(c, float) and c == c else None for c in cells]
    return y


# -- confirming -----------------------------------------------------------------------------------


def _sources(chosen: argparse.Namespace) -> dict[str, str]:
    """Source of each entry, from a file and from options."""
    found: dict[str, str] = {}
    if chosen.sources:
        found |= read_object(
            Path(chosen.sources),
            lambda rule: DomainError("sources", rule, 'Write {"age": "codebook, page 3"}'),
        )
    for given in chosen.source:
        name, equals, words = given.partition("=")
        if not equals:
            raise ParameterError(
                "--source", given, "must name an entry and its source",
                'Write --source "age=codebook, page 3"',
            )  # fmt: skip
        found[name] = words
    return found


def _confirms_nothing(given: Domain, domain: Domain) -> bool:
    """Say if a confirmation has nothing new: by what is declared, and never by a draft's marks.

    Whether a file is written is seen in a log, so that it may not depend on the records. A number
    of records is new where all entries are declared; a draft would only lose its marks with it.
    """
    same_rows = given.approximate_rows == domain.approximate_rows
    return given.drafted_entries == domain.drafted_entries and bool(domain.lacking or same_rows)


def _nothing_confirmed(domain: Domain) -> Answer:
    words = _with_lacking("nothing is confirmed, so no file is written", domain)
    notice = _SOURCES_WORDS if domain.lacking else _ALL_DECLARED
    return Answer(_result(domain, None), words, notice, ANSWER_IS_NO)


def _with_lacking(words: str, domain: Domain) -> str:
    lacking = (f"not declared: {name} {what}" for name, what in domain.lacking)
    return "\n".join([words, *lacking])


def _confirmed(domain: Domain, by: str, sources: dict[str, str]) -> Domain:
    """The domain with declared entries; what of them is the draft's is said at a terminal alone.

    That such a bound, or a placeholder, is left is a fact about a record, which no log may keep.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DraftedBoundsWarning)
        confirmed = domain.confirmed(by, sources=sources)
    of_drafts = [one for one in caught if issubclass(one.category, DraftedBoundsWarning)]
    for one in caught:
        if issubclass(one.category, LookAlikesWarning):  # of what is public from now on
            warnings.warn(one.message, stacklevel=2)
    if is_terminal(sys.stderr):
        for one in of_drafts:
            print_notice(f"dpforest: warning, {FOR_THE_CURATOR}: {one.message}")
    else:
        print_notice(
            "bounds and placeholders that are still the draft's would be listed at a terminal, not "
            "in a log"
        )
    return confirmed
