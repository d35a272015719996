"""Entries of a ledger: one kind for each thing that happens to a data set, and its body.

An entry is written once and never changed. Its text is its canonical JSON without the signature,
and its hash is SHA-256 over that text, which holds the hash of the entry before it and a digest of
the state after it. So an edited byte in any of them is found.

Held by tests/ledger/test_entries.py and tests/ledger/test_edited_bytes.py.
"""

from __future__ import annotations

import hashlib

from pydantic import ValidationError

from dpforest.accounting.frozen import Frozen
from dpforest.exceptions import LedgerDamaged
from dpforest.ledger.bodies import BODIES, Body, Kind
from dpforest.ledger.fields import (
    Count,
    DigestOrNone,
    Flag,
    Id,
    Name,
    PublicKey,
    Signature,
    Time,
    first_fault,
)
from dpforest.report.digests import canonical_bytes
from dpforest.strict_json import parse_object


class Entry(Frozen):
    """One entry of a data set's chain.

    Attributes
    ----------
    data_set : str
    number : int
        Place in the chain, from 0.
    id : str
        UUID that the client chose.
    kind : Kind
    time : str
        UTC, never before the entry before it.
    clock_behind : bool
        Whether the clock was before that entry, so that ``time`` is only that entry's.
    actor : str
        Whoever says so; proved by a signature alone.
    key : str
        Public key of the signature, or empty.
    body : Body
    previous : str
        Hash of the entry before it; empty in the first.
    state : str
        Digest of the data set's state after it.
    hash, signature : str
        Of the text, which is everything but these two.
    """

    data_set: Name
    number: Count
    id: Id
    kind: Kind
    time: Time
    clock_behind: Flag = False
    actor: Name
    key: PublicKey = ""
    body: Body
    previous: DigestOrNone
    state: DigestOrNone = ""
    hash: DigestOrNone = ""
    signature: Signature = ""

    @property
    def text(self) -> str:
        """Everything that the hash is over, as canonical JSON.

        Fields that have their default are left out, so that a release which adds a field reads and
        writes the entries of earlier ones to the byte.
        """
        data = self.model_dump(mode="json", exclude={"hash", "signature"}, exclude_defaults=True)
        return canonical_bytes(data).decode("ascii")

    def hashed(self) -> str:
        """SHA-256 of the text, as 64 hexadecimal digits."""
        return hashlib.sha256(self.text.encode("ascii")).hexdigest()


def read_entry(text: str, hash_: str = "", signature: str = "", where: str = "") -> Entry:
    """The entry whose text this is.

    Parameters
    ----------
    text : str
        As :attr:`Entry.text` wrote it, to the byte.
    hash_, signature : str
        As they stand beside it.
    where : str
        For the error.

    Raises
    ------
    LedgerDamaged
        If it is not a text that any entry has.
    """

    def refuse(why: str) -> LedgerDamaged:
        return damaged(f"{where or 'an entry'} is not one: {why}")

    data = parse_object(text, refuse)
    try:
        body = BODIES[Kind(str(data.get("kind")))].model_validate(data.pop("body", None))
        entry = Entry.model_validate({**data, "body": body, "hash": hash_, "signature": signature})
    except ValidationError as error:
        raise refuse(first_fault(error)) from None
    except ValueError:
        raise refuse("its kind is unknown") from None
    if entry.text != text:
        raise refuse("it is not written as a ledger writes it")
    return entry


def damaged(rule: str, ledger: str = "", data_set: str = "") -> LedgerDamaged:
    """The error of a ledger that does not hold what was written."""
    repair = "Restore a backup, then compare it with the reports that people hold (verify, recover)"
    return LedgerDamaged(rule, repair, ledger, data_set)
