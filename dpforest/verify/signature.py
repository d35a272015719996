"""Detached signatures of reports: who stands behind a report, and behind the page of it.

A digest shows that a report was not changed by accident. A signature shows that somebody who holds
a key stands behind it, to whoever knows the public key from another source.
"""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ValidationError

from dpforest.accounting.frozen import Frozen
from dpforest.checks import write_file
from dpforest.exceptions import ParameterError, ParameterTypeError, ReportError, kind_of
from dpforest.report.digests import canonical_bytes, digest_of
from dpforest.signatures import REPORT, Signer, is_hex, verifier
from dpforest.strict_json import read_object

FORMAT: Literal["dpforest-report-signature"] = "dpforest-report-signature"
VERSION: Literal[1] = 1
_KEY_REPAIR = "Give the 64 hexadecimal digits of Signer.public_key, from a source that you trust"
NOT_SIGNED = "its signature is not one of this report by this key"
OTHER_PAGE = "its signature is of another page"


def _hexadecimal(bytes_long: int) -> AfterValidator:
    def check(text: str) -> str:
        if not is_hex(text, bytes_long):
            raise ValueError(f"not {2 * bytes_long} hexadecimal digits")
        return text

    return AfterValidator(check)


_Digest = Annotated[str, _hexadecimal(32)]


class ReportSignature(Frozen):
    """Signature of a report, in a file beside it.

    Attributes
    ----------
    report : str
        The report's digest.
    page : str or None
        SHA-256 of the page's bytes, where the page was signed.
    key : str
        Public key of the signer, as 64 hexadecimal digits.
    signature : str
        ed25519, as 128 hexadecimal digits, of ``b"dpforest report 1\\0"`` and the SHA-256 of the
        other fields as JSON with sorted keys and without blanks.
    """

    format: Literal["dpforest-report-signature"] = FORMAT
    version: Literal[1] = VERSION
    report: _Digest
    page: _Digest | None
    key: _Digest
    signature: Annotated[str, _hexadecimal(64)]

    def to_json(self, path: str | Path | None = None) -> str:
        """Write it as JSON, to a file too if ``path`` is given: over what is there."""
        text = self.model_dump_json(indent=1) + "\n"
        if path is not None:
            write_file(path, text, newline="\n")
        return text

    @property
    def signed(self) -> str:
        """Digest of what is signed: all fields but the signature."""
        return digest_of(self.model_dump(mode="json", exclude={"signature"}))

    def problems(self, digest: str, page: str | None) -> list[str]:
        """Contradictions between it and a report, and its page or none."""
        found = []
        if self.report != digest or not self._fits():
            found.append(NOT_SIGNED)
        if page is not None and self.page is not None and self.page != page_digest(page):
            found.append(OTHER_PAGE)
        return found

    def _fits(self) -> bool:
        return verifier(REPORT)(self.key, self.signed, self.signature)


def page_digest(page: str) -> str:
    """SHA-256 of a page as it is written."""
    return hashlib.sha256(page.encode("utf-8")).hexdigest()


def make_signature(digest: str, page: str | None, signer: Signer) -> ReportSignature:
    """Sign a report's digest, and the page where there is one."""
    hashed = None if page is None else page_digest(page)
    unsigned = ReportSignature(
        report=digest, page=hashed, key=signer.public_key, signature="0" * 128
    )
    return unsigned.model_copy(update={"signature": signer.sign(unsigned.signed, REPORT)})


def read_signature(given: Any) -> ReportSignature:
    """A signature as it is, its JSON text, or the path of its file.

    Raises
    ------
    ParameterTypeError
        If it is neither a signature nor a text nor a path.
    ReportError
        If it holds no signature.
    """
    if isinstance(given, ReportSignature):
        return given
    if not isinstance(given, (str, PathLike)):
        raise ParameterTypeError(
            "signature", kind_of(given), "must be a ReportSignature, its JSON, or a path",
            "Give what sign_report returned or wrote",
        )  # fmt: skip
    data = read_object(given, lambda rule: ReportError((f"its signature: {rule}",)))
    try:
        found = ReportSignature.model_validate(data, strict=True)
        same = canonical_bytes(data) == canonical_bytes(found.model_dump(mode="json"))
    except ValidationError:
        same = False
    if same:
        return found
    raise ReportError(("its signature is no dpforest-report-signature of version 1",))


def asked_signature(signature: Any, key: Any) -> ReportSignature | None:
    """The signature to check, by the key that somebody trusts; None where none is asked for.

    Raises
    ------
    ParameterError
        If one is given without the other, or the key is none.
    ParameterTypeError
        If the signature is neither a signature nor a text nor a path.
    ReportError
        If it is no signature, or one by another key.
    """
    if signature is None and key is None:
        return None
    if signature is None or key is None:
        name, other = ("key", "signature") if key is None else ("signature", "key")
        raise ParameterError(name, None, f"is needed beside {other}", "Give both, or neither")
    if not is_hex(key, 32):
        raise ParameterError("key", key, "must be a public key", _KEY_REPAIR)
    found = read_signature(signature)
    if found.key != key:
        raise ReportError((NOT_SIGNED,))
    return found


def checked_signer(key: Any) -> Signer:
    """The key that a report is signed with."""
    if isinstance(key, Signer):
        return key
    raise ParameterTypeError(
        "key", None, "must be a Signer", "Give Signer.read(path), or Signer.new() for a new key"
    )
