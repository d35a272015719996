"""The frozen ledger: an accountant's books as data, checked when they are read."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from dpforest.accounting.ledger import FORMAT, VERSION, LedgerRecord
from dpforest.accounting.ledger_check import verify_ledger
from dpforest.exceptions import ModelFormatError
from dpforest.strict_json import parse_object


class FrozenLedger(LedgerRecord):
    """The accountant's books without the accountant: read only, can be pickled and stored.

    Offers the accountant's reading half: ``total``, ``spent``, ``remaining``, ``ledger``,
    ``composition()`` and ``to_json()``. It grants nothing.
    """

    @classmethod
    def from_json(cls, text: str) -> FrozenLedger:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ModelFormatError
            If it is something else, or contradicts itself.
        """
        data = parse_object(text, _refused)
        if data.get("format") != FORMAT:
            raise _refused("it does not say that it is one")
        try:
            books = cls.model_validate(data)
        except ValidationError as error:
            raise _refused(_first_problem(error)) from None
        problems = verify_ledger(books)
        if problems:
            raise _refused(problems[0])
        return books.renewed()


def _refused(problem: str) -> ModelFormatError:
    return ModelFormatError(
        f"not a {FORMAT} of version {VERSION}: {problem}. Give the text that to_json() wrote."
    )


def _first_problem(error: Any) -> str:
    problem = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where or 'text'}: {problem['msg']}"
