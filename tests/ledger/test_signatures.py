"""Signatures of entries: optional, checked with the chain, and of nothing else."""

from __future__ import annotations

import os
import pickle
import stat
import sys

import pytest

from dpforest.exceptions import LedgerDamaged, MissingExtraError, ParameterError
from dpforest.ledger.bodies import NoteBody
from dpforest.ledger.chain import checked_chain, row_of

cryptography = pytest.importorskip(
    "cryptography", reason="the extra ledger-signatures is not installed"
)
from dpforest.ledger import Signer  # noqa: E402
from dpforest.signatures import verifier  # noqa: E402


def test_a_signature_is_of_one_hash_by_one_key():
    signer, fits = Signer.new(), verifier()
    digest = "ab" * 32
    signature = signer.sign(digest)
    assert fits(signer.public_key, digest, signature)
    assert not fits(Signer.new().public_key, digest, signature)
    assert not fits(signer.public_key, "ac" * 32, signature)
    assert not fits(signer.public_key, digest, "00" * 64)
    assert not fits("ff" * 32, digest, signature)


def test_it_is_of_an_entry_and_of_nothing_else():
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signer, digest = Signer.new(), bytes(32)
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signer.public_key))
    with pytest.raises(InvalidSignature):
        public.verify(bytes.fromhex(signer.sign(digest.hex())), digest)


def test_a_key_is_kept_in_a_file_of_its_owner(tmp_path):
    signer = Signer.new()
    signer.write(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert Signer.read(tmp_path / "key").public_key == signer.public_key
    with pytest.raises(ParameterError):
        signer.write(tmp_path / "key")
    with pytest.raises(ParameterError):
        signer.write(tmp_path / "nowhere" / "key")


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_part_of_a_key_is_not_left(tmp_path, monkeypatch, error):
    def fails(number):
        raise error

    path, signer = tmp_path / "key", Signer.new()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(ParameterError if error is OSError else error):
            signer.write(path)
    assert not path.exists()
    signer.write(path)
    assert Signer.read(path).public_key == signer.public_key


@pytest.mark.parametrize("content", ["", "ab", "AB" * 32, "ab" * 33, "\xff" * 64])
def test_a_file_without_a_key(content, tmp_path):
    (tmp_path / "key").write_bytes(content.encode("latin-1"))
    with pytest.raises(ParameterError) as caught:
        Signer.read(tmp_path / "key")
    assert caught.value.parameter == "path"
    with pytest.raises(ParameterError):
        Signer.read(tmp_path / "no key")


def test_a_secret_is_never_shown_or_pickled():
    signer = Signer(bytes(range(32)))
    assert signer.public_key in repr(signer) and bytes(range(32)).hex() not in repr(signer)
    with pytest.raises(ParameterError) as caught:
        pickle.dumps(signer)
    assert bytes(range(32)).hex() not in str(caught.value)
    for secret in (b"short", "ab" * 32):
        with pytest.raises(ParameterError) as caught:
            Signer(secret)
        assert caught.value.parameter == "secret" and "ab" * 32 not in str(caught.value)


def test_a_signature_that_was_taken_off_is_found(helpers):
    signer = Signer.new()
    chain = helpers.chain_of_every_kind(signer)
    rows = [row_of(entry) for entry in chain.entries]
    checked_chain(rows, None, helpers.LEDGER, "claims")
    import dataclasses

    for change in ({"signature": ""}, {"key": ""}, {"signature": "", "key": ""}):
        bad = [dataclasses.replace(rows[0], **change), *rows[1:]]
        with pytest.raises(LedgerDamaged):
            checked_chain(bad, None, helpers.LEDGER, "claims")


def test_a_chain_that_was_made_anew_without_the_key_is_found(helpers):
    """Hashes alone do not show it; the owner's key does."""
    own, other = Signer.new(), Signer.new()
    owners = {"olga": own.public_key}
    good = helpers.PureChain.__new__(helpers.PureChain)
    good.name, good.entries, good.place = "claims", [], None
    good.say(helpers.opening(owners=owners), "olga", own)
    good.say(NoteBody(text="what was said"), "olga", own)
    forged = good.entries[1].model_copy(update={"body": NoteBody(text="what was not said")})
    forged = forged.model_copy(update={"hash": forged.hashed()})
    rows = [row_of(good.entries[0]), row_of(forged)]
    with pytest.raises(LedgerDamaged, match="not signed"):
        checked_chain(rows, None, helpers.LEDGER, "claims")
    stranger = forged.model_copy(update={"key": other.public_key})
    stranger = stranger.model_copy(update={"hash": stranger.hashed()})
    stranger = stranger.model_copy(update={"signature": other.sign(stranger.hash)})
    with pytest.raises(LedgerDamaged, match="not the key of owner"):
        checked_chain([rows[0], row_of(stranger)], None, helpers.LEDGER, "claims")


def test_a_ledger_signs_what_it_writes(url, helpers):
    signer = Signer.new()
    ledger = helpers.ledger_at(url, signer=signer)
    ledger.register("claims", domain=helpers.DOMAIN, epsilon=1, delta="1e-6")
    assert ledger.status("claims").owners == {"olga": signer.public_key}
    reserved = ledger.reserve("claims", helpers.charge("0.001"))
    ledger.start("claims", reserved.id)
    fits = verifier()
    for entry in ledger.chain("claims").entries:
        assert fits(entry.key, entry.hash, entry.signature)
    ledger.close()
    with helpers.ledger_at(url, signer=Signer.new()) as other:
        with pytest.raises(ParameterError) as caught:
            other.note("claims", "not olga")
        assert caught.value.parameter == "signer"
        assert len(other.log("claims")) == 3


def test_without_the_package(monkeypatch, helpers, file_ledger):
    chain = helpers.chain_of_every_kind(Signer.new())
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(MissingExtraError, match="ledger-signatures"):
        Signer.new()
    with pytest.raises(MissingExtraError, match="ledger-signatures"):
        checked_chain([row_of(e) for e in chain.entries], None, helpers.LEDGER, "claims")
    file_ledger.chain("claims")
