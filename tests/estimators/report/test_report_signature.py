"""Signatures of reports: of one report and page, by one key, and of nothing else."""

from __future__ import annotations

import json
import sys

import pytest

from dpforest import (
    ReportError,
    ReportHeader,
    ReportSignature,
    Signer,
    sign_report,
    verify_report,
)
from dpforest.audit import OneRunResult
from dpforest.exceptions import MissingExtraError, ParameterError, ParameterTypeError
from dpforest.report.digests import digest_of
from dpforest.signatures import LEDGER_ENTRY, REPORT, is_weak, verifier
from dpforest.verify import reading, signing
from dpforest.verify import report as checking
from dpforest.verify.signature import NOT_SIGNED, OTHER_PAGE

pytest.importorskip("jinja2")
pytest.importorskip("cryptography", reason="the extra ledger-signatures is not installed")


def refused(problem, *given, **options):
    with pytest.raises(ReportError) as caught:
        verify_report(*given, **options)
    assert any(problem in text for text in caught.value.problems), caught.value.problems


@pytest.fixture(scope="module")
def page(fitted):
    header = ReportHeader(title="Severity <of> masses", date="2026-11-23")
    return fitted("multinomial").privacy_report(header).to_html()


@pytest.fixture(scope="module")
def signer():
    return Signer.new()


def test_a_signed_page_names_who_stands_behind_it(page, signer, fitted, tmp_path):
    path, beside = tmp_path / "report.html", tmp_path / "report.signature.json"
    path.write_text(page, "utf-8", newline="\n")
    signature = sign_report(path, signer, beside)
    key = signer.public_key
    for given in (signature, beside, str(beside), signature.to_json()):
        assert f"the signature of {key}" in verify_report(path, signature=given, key=key).held
    report = fitted("multinomial").privacy_report(
        ReportHeader(title="Severity <of> masses", date="2026-11-23")
    )
    # The same signature is one of the report's JSON, and of the report itself.
    for given in (report, report.to_json()):
        verify_report(given, fitted("multinomial"), signature=beside, key=key)
    data = json.loads(beside.read_text("utf-8"))
    assert data.keys() == {"format", "version", "report", "page", "key", "signature"}


def test_what_is_signed_is_what_the_docstring_says(page, signer):
    data = json.loads(sign_report(page, signer).to_json())
    signature = data.pop("signature")
    assert verifier(REPORT)(signer.public_key, digest_of(data), signature)
    assert not verifier(LEDGER_ENTRY)(signer.public_key, digest_of(data), signature)
    assert not verifier()(signer.public_key, digest_of(data), signature)


def test_a_signature_of_something_else_is_refused(page, signer, fitted):
    key, other = signer.public_key, Signer.new()
    signature = sign_report(page, signer)
    another = fitted("multinomial").privacy_report()
    refused(NOT_SIGNED, another, signature=signature, key=key)
    refused(NOT_SIGNED, page, signature=signature, key=other.public_key)
    refused(NOT_SIGNED, page, signature=sign_report(page, other), key=key)
    # Of the same report, with an audit on its page.
    same = fitted("multinomial").privacy_report(
        ReportHeader(title="Severity <of> masses", date="2026-11-23")
    )
    audit = OneRunResult(
        subject="it", claimed_epsilon=1.0, delta=0.0, lower_bound=0.1, confidence=0.9, canaries=9,
        guesses=9, correct=5, largest_certifiable=2.0, verdict="consistent", reason="None.",
    )  # fmt: skip
    refused(OTHER_PAGE, same.to_html(audit=audit), signature=signature, key=key)
    verify_report(same.to_html(audit=audit), signature=sign_report(same, signer), key=key)


@pytest.mark.parametrize("field", ["report", "page", "key", "signature"])
def test_a_changed_signature_is_refused(field, page, signer):
    signature = sign_report(page, signer)
    value = getattr(signature, field)
    changed = ("1" if value[0] == "0" else "0") + value[1:]
    wrong = signature.model_copy(update={field: changed})
    refused(NOT_SIGNED, page, signature=wrong, key=signer.public_key)
    without = signature.model_copy(update={"page": None})
    refused(NOT_SIGNED, page, signature=without, key=signer.public_key)


def test_a_signature_holds_a_page_that_another_release_wrote(page, signer):
    """This release cannot write it again, but its signer said which bytes it has."""
    from dpforest.verify.reading import read_report
    from dpforest.verify.signature import make_signature

    later = page.replace("page version 1", "page version 2")
    record, _ = read_report(later)
    of_page = make_signature(record.digest, later, signer)
    verify_report(later, signature=of_page, key=signer.public_key)
    of_json = make_signature(record.digest, None, signer)
    refused("page version 2", later, signature=of_json, key=signer.public_key)
    refused(OTHER_PAGE, later + " ", signature=of_page, key=signer.public_key)


def test_nobody_signs_what_does_not_hold(page, signer, tmp_path):
    path = tmp_path / "signature.json"
    with pytest.raises(ReportError):
        sign_report(page.replace("73.11", "53.11"), signer, path)
    assert not path.exists()
    for key in ("ab" * 32, b"x" * 32, None):
        with pytest.raises(ParameterTypeError, match="must be a Signer"):
            sign_report(page, key)


def test_a_signature_needs_a_key_and_a_key_a_signature(page, signer):
    signature = sign_report(page, signer)
    with pytest.raises(ParameterError, match="is needed beside"):
        verify_report(page, signature=signature)
    with pytest.raises(ParameterError, match="is needed beside"):
        verify_report(page, key=signer.public_key)
    for key in ("ab", "AB" * 32, signer, 3):
        with pytest.raises(ParameterError, match="must be a public key"):
            verify_report(page, signature=signature, key=key)
    with pytest.raises(ParameterTypeError, match="must be a ReportSignature"):
        verify_report(page, signature=3, key=signer.public_key)


@pytest.mark.parametrize(
    "text", ["{}", "{", '{"format": "dpforest-report"}', '{"a": 1, "a": 2}', "[" * 200]
)
def test_what_is_no_signature_is_refused(text, page, signer, tmp_path):
    path = tmp_path / "signature.json"
    path.write_text(text, "utf-8")
    refused("its signature", page, signature=path, key=signer.public_key)


def test_a_signature_reads_as_it_is_written(page, signer):
    signature = sign_report(page, signer)
    assert ReportSignature.model_validate_json(signature.to_json()) == signature


def test_without_the_package(page, signer, monkeypatch):
    signature = sign_report(page, signer)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(MissingExtraError, match="ledger-signatures"):
        verify_report(page, signature=signature, key=signer.public_key)
    verify_report(page)


@pytest.mark.parametrize("version", [True, 1.0])
def test_a_signature_is_read_to_the_letter(page, signer, version):
    data = json.loads(sign_report(page, signer).to_json()) | {"version": version}
    refused("no dpforest-report-signature", page, signature=json.dumps(data), key=signer.public_key)


def weak_points() -> set[int]:
    """Second coordinates of the points of ed25519 whose order divides 8, worked out anew."""
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p
    order = 2**252 + 27742317777372353535851937790883648493

    def added(one, other):
        (x1, y1), (x2, y2) = one, other
        k = d * x1 * x2 * y1 * y2 % p
        return ((x1 * y2 + x2 * y1) * pow(1 + k, -1, p) % p,
                (y1 * y2 + x1 * x2) * pow(1 - k, -1, p) % p)  # fmt: skip

    def times(n, point):
        total = (0, 1)
        while n:
            total, point, n = added(total, point) if n & 1 else total, added(point, point), n >> 1
        return total

    found: set[int] = set()
    y = 2
    while len(found) < 5:
        square = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
        x = pow(square, (p + 3) // 8, p)
        x = x if (x * x - square) % p == 0 else x * pow(2, (p - 1) // 4, p) % p
        if (x * x - square) % p == 0:
            found.add(times(order, (x, y))[1])
        y += 1
    return found | {p, p + 1}


def test_keys_that_bind_nobody_verify_nothing(page, fitted):
    points = [y | sign << 255 for y in weak_points() for sign in (0, 1)]
    assert len(points) == 14
    assert all(is_weak(point.to_bytes(32, "little").hex()) for point in points)
    assert not is_weak(Signer.new().public_key)
    # By the neutral point as key and as nonce, 0 signs whatever there is.
    neutral = (1).to_bytes(32, "little").hex()
    report = fitted("multinomial").privacy_report()
    forged = ReportSignature(
        report=report.digest, page=None, key=neutral, signature=neutral + "00" * 32
    )
    refused(NOT_SIGNED, report, signature=forged, key=neutral)


def test_what_is_signed_is_what_was_verified(page, signer, tmp_path, monkeypatch):
    """A file that is another one at a second reading is not read a second time."""
    path, readings = tmp_path / "report.html", []
    path.write_text(page, "utf-8", newline="\n")

    def read(given):
        readings.append(given)
        return reading.read_report(given)

    monkeypatch.setattr(signing, "read_report", read)
    monkeypatch.setattr(checking, "read_report", read)
    sign_report(path, signer)
    assert readings.count(path) == 1 and len(readings) == 2
