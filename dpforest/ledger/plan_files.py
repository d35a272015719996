"""Charges: all that a reserve asks for, as entries of a ledger and plan files hold it."""

from __future__ import annotations

import json
from os import PathLike

from pydantic import Field, ValidationError

from dpforest.accounting.certificate_record import EventRecord
from dpforest.accounting.frozen import ExactText, Frozen
from dpforest.checks import write_file
from dpforest.exceptions import ParameterError
from dpforest.ledger.amounts import Units
from dpforest.ledger.fields import Count, Digest, Flag, Name, Text, first_fault
from dpforest.strict_json import name_of, read_object

#: Name and version of a plan file's format.
PLAN_FORMAT, PLAN_VERSION = "dpforest-charge", 1
#: Most fits of a reserve, whose state holds a digest of each, and most lines of its list.
MOST_PARTS, MOST_LINES = 1000, 20_000


class Part(Frozen):
    """One fit of a reserve.

    Attributes
    ----------
    plan : str
        Digest of its plan.
    units : int
        Its own price.
    """

    plan: Digest
    units: Units


class Repeated(Frozen):
    """A few releases in order, so many times over.

    Attributes
    ----------
    releases : tuple of EventRecord
        Mechanism and parameters of each, as rationals in text.
    times : int
    """

    releases: tuple[EventRecord, ...] = Field(min_length=1, max_length=1000)
    times: Count


class Charge(Frozen):
    """Everything that a reserve asks for, and that owners approve of.

    Attributes
    ----------
    domain : str
        Fingerprint of the domain that it was planned for.
    records_per_unit : int
        Number of records of a unit that it was priced for.
    parts : tuple of Part
        The fits. A campaign has several.
    units : int
        The price of all of them together, in the currency of the data set.
    epsilon, rho, delta : str
        Of all of them, exactly, for people; infinite where there is none.
    blocks : tuple of str
        Blocks that are read, of a table that grows.
    alone : bool
        Whether the price is a certificate's (epsilon, delta), beside which nothing else may stand.
    purpose : str
    releases : tuple of Repeated
        The list of releases.
    """

    domain: Digest
    records_per_unit: Count
    parts: tuple[Part, ...] = Field(min_length=1, max_length=MOST_PARTS)
    units: Units
    epsilon: ExactText
    rho: ExactText
    delta: ExactText
    blocks: tuple[Name, ...] = ()
    alone: Flag = False
    purpose: Text = ""
    releases: tuple[Repeated, ...] = Field(default=(), max_length=MOST_LINES)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Write it as a plan file: what ``dpforest ledger plan``, ``request`` and ``reserve`` take.

        Parameters
        ----------
        path : str or path, optional
            A file to write; one that is there is replaced.
        """
        charge = self.model_dump(mode="json")
        data = {"format": PLAN_FORMAT, "version": PLAN_VERSION, "charge": charge}
        text = json.dumps(data, indent=1) + "\n"
        if path is not None:
            write_file(path, text)
        return text

    @classmethod
    def from_json(cls, given: str | PathLike[str]) -> Charge:
        """Read what :meth:`to_json` wrote, from its text or its file.

        Raises
        ------
        ParameterError
            If it is something else.
        """

        def refuse(rule: str) -> ParameterError:
            return ParameterError(
                "plan", name_of(given), f"cannot be read as a plan file: {rule}",
                "Write one with ledger.charge(data_set, forests, purpose=...).to_json(path)",
            )  # fmt: skip

        data = read_object(given, refuse)
        if set(data) != {"format", "version", "charge"} or data["format"] != PLAN_FORMAT:
            raise refuse(f"it is no {PLAN_FORMAT}")
        if data["version"] != PLAN_VERSION:
            raise refuse("it is of another version")
        try:
            return cls.model_validate(data["charge"])
        except ValidationError as error:
            raise refuse(first_fault(error)) from None
