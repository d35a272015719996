"""Signing a report that holds."""

from __future__ import annotations

from pathlib import Path

from dpforest.report.report import PrivacyReport
from dpforest.signatures import Signer
from dpforest.verify.reading import read_report
from dpforest.verify.report import verify_report
from dpforest.verify.signature import ReportSignature, checked_signer, make_signature


def sign_report(
    report: PrivacyReport | str | Path, key: Signer, path: str | Path | None = None
) -> ReportSignature:
    """Sign a report, so that whoever knows the public key sees who stands behind it.

    Parameters
    ----------
    report : PrivacyReport, str or Path
        A report, its JSON or its page as text, or the path of either file. It is verified first. Of
        a page every byte is signed too, so that it is held by later releases of this library.
    key : Signer
        ``dpforest.Signer.read(path)``; the same key may sign entries of a ledger.
    path : str or Path, optional
        A file that the signature is written to, beside the report; one that is there is replaced.

    Returns
    -------
    ReportSignature
        With ``to_json``; ``verify_report(report, signature=..., key=...)`` checks it.

    Raises
    ------
    ReportError
        If the report does not verify.
    ParameterTypeError
        If ``key`` is no Signer.
    MissingExtraError
        Without ``jinja2`` for a page.
    """
    signer = checked_signer(key)
    record, page = read_report(report)
    # What was read is verified, and no second reading: a file may be another one by then.
    verify_report(record if page is None else page)
    signed = make_signature(record.digest, page, signer)
    signed.to_json(path)
    return signed
