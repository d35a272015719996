"""Signatures: ed25519, from the package ``cryptography`` (extra ``ledger-signatures``).

A signature of a ledger's entry shows who wrote it, and that whoever can write to the store did not
write it in that name; one of a report shows who stands behind it. Hashes alone show neither: a
whole chain, and a whole report, can be made anew.

Held by tests/ledger/test_signatures.py and tests/estimators/report/test_report_signature.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from dpforest.exceptions import MissingExtraError, ParameterError, ParameterTypeError

#: What is signed begins with one of these, so that a signature of one thing is none of another.
LEDGER_ENTRY = b"dpforest ledger entry 1\0"
REPORT = b"dpforest report 1\0"
_PACKAGE = "cryptography"
_HEX = re.compile(r"[0-9a-f]*")


def is_hex(value: Any, bytes_long: int) -> bool:
    """Say if a value is so many bytes in small hexadecimal digits."""
    return isinstance(value, str) and len(value) == 2 * bytes_long and bool(_HEX.fullmatch(value))


#: Of points of a small order the second coordinate, as little-endian numbers: with such a key there
#: are signatures that fit whatever is signed. The last two are 0 and 1 written otherwise.
_WEAK = frozenset(
    number.to_bytes(32, "little")
    for number in (
        0,
        1,
        2**255 - 20,
        2707385501144840649318225287225658788936804267575313519463743609750303402022,
        55188659117513257062467267217118295137698188065244968500265048394206261417927,
        2**255 - 19,
        2**255 - 18,
    )
)


def is_weak(key: str) -> bool:
    """Say if a public key of 32 bytes is a point of a small order, which binds nobody."""
    point = bytearray.fromhex(key)
    point[31] &= 0x7F  # the sign of the other coordinate
    return bytes(point) in _WEAK


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError(_PACKAGE, "ledger-signatures", "a signature") from None
    return ed25519


class Signer:
    """Secret key of somebody who signs entries of ledgers, and reports.

    Parameters
    ----------
    secret : bytes
        32 random bytes.

    Raises
    ------
    MissingExtraError
        If ``cryptography`` is not installed.
    ParameterError
        If the secret has another length.
    """

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes):
            raise ParameterTypeError("secret", None, "must be bytes", "Use Signer.new()")
        if len(secret) != 32:
            raise ParameterError("secret", None, "must be 32 bytes", "Use Signer.new()")
        self._key = _ed25519().Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def new(cls) -> Signer:
        """A new key, from the operating system's random numbers."""
        return cls(os.urandom(32))

    @classmethod
    def read(cls, path: str | Path) -> Signer:
        """The key that :meth:`write` wrote.

        Raises
        ------
        MissingExtraError
            If ``cryptography`` is not installed.
        ParameterError
            If the file cannot be read, or holds no key.
        """
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except (OSError, ValueError, TypeError) as error:
            raise ParameterError(
                "path", str(path), f"cannot be read ({type(error).__name__})", "Give a key's file"
            ) from None
        if not is_hex(text, 32):
            raise ParameterError(
                "path", str(path), "holds no key", "Give a file that Signer.write wrote"
            )
        return cls(bytes.fromhex(text))

    def write(self, path: str | Path) -> None:
        """Write the secret to a new file that its owner alone may read.

        Raises
        ------
        ParameterError
            If the file is there already, or cannot be made.
        """
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except (OSError, ValueError, TypeError) as error:  # a null character is a ValueError
            raise _unwritten(path, error) from None
        try:
            with os.fdopen(file, "w", encoding="ascii") as out:
                out.write(self._key.private_bytes_raw().hex() + "\n")
                out.flush()
                os.fsync(out.fileno())
        except BaseException as error:
            with suppress(OSError):  # a part of a key is none, and in the way of the next try
                os.unlink(path)
            if isinstance(error, OSError):
                raise _unwritten(path, error) from None
            raise

    @property
    def public_key(self) -> str:
        """The key that signatures are checked with, as 64 hexadecimal digits."""
        return str(self._key.public_key().public_bytes_raw().hex())

    def sign(self, digest: str, purpose: bytes = LEDGER_ENTRY) -> str:
        """Signature of a digest, for one purpose, as 128 hexadecimal digits."""
        return str(self._key.sign(purpose + bytes.fromhex(digest)).hex())

    def __repr__(self) -> str:
        return f"Signer(public_key={self.public_key!r})"

    def __reduce__(self) -> NoReturn:
        raise ParameterTypeError(
            "signer", None, "is a secret, and is never pickled",
            "Store it with write, and read it where it is needed",
        )  # fmt: skip


def _unwritten(path: Any, error: Exception) -> ParameterError:
    return ParameterError(
        "path", str(path), f"cannot be made ({type(error).__name__})",
        "Name a new file in a folder that you may write to",
    )  # fmt: skip


def verifier(purpose: bytes = LEDGER_ENTRY) -> Callable[[str, str, str], bool]:
    """The check of a signature for one purpose, by public key, digest and signature.

    Raises
    ------
    MissingExtraError
        If ``cryptography`` is not installed.
    """
    kind = _ed25519().Ed25519PublicKey
    from cryptography.exceptions import InvalidSignature

    def fits(key: str, digest: str, signature: str) -> bool:
        try:
            if is_weak(key):
                return False
            public = kind.from_public_bytes(bytes.fromhex(key))
            public.verify(bytes.fromhex(signature), purpose + bytes.fromhex(digest))
        except (InvalidSignature, ValueError):
            return False
        return True

    return fits
