"""Writers of Python replace a file that is there, all of them, but what cannot be made again."""

from __future__ import annotations

import pytest

from dpforest import BudgetAccountant, BudgetLedger, Domain, PrivateForestClassifier
from dpforest.exceptions import LedgerUnreachable, ParameterError
from dpforest.ledger import Signer

DOMAIN = Domain(features={"a": (0, 9)}, classes=["n", "y"], approximate_rows=200)


@pytest.fixture(scope="module")
def forest():
    made = PrivateForestClassifier(
        epsilon=5, domain=DOMAIN, strategy="one_shot", accountant=BudgetAccountant(9)
    )
    return made.fit([[k % 10] for k in range(200)], ["n", "y"] * 100)


def writers(forest):
    report = forest.privacy_report()
    yield from (forest.to_json, forest.to_plain, forest.to_onnx, forest.to_sql, DOMAIN.to_json)
    yield from (report.to_json, report.to_html, report.to_markdown, report.to_registry)
    yield from (
        report.to_model_card,
        forest.accountant_.to_json,
        forest.accountant_.frozen().to_json,
    )


def test_they_replace_it_and_say_so(forest, tmp_path):
    for write in writers(forest):
        path = tmp_path / "file"
        path.write_text("of somebody else")
        try:
            write(path)
        except ImportError:  # an extra that is not installed
            continue
        assert b"of somebody else" not in path.read_bytes() and path.stat().st_size > 2, write
        assert any(words in write.__doc__ for words in ("replaced", "over what is there")), write


def test_those_of_a_ledger_do_too(forest, tmp_path):
    with BudgetLedger.open(f"sqlite:///{tmp_path}/book", actor="o", create=True) as book:
        book.register("claims", domain=DOMAIN, epsilon=9, delta="1e-6")
        asked = PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="one_shot")
        for write in (book.charge("claims", asked).to_json, book.export_json):
            (tmp_path / "file").write_text("of somebody else")
            write(tmp_path / "file")
            assert "somebody" not in (tmp_path / "file").read_text() and "replaced" in write.__doc__
        with pytest.raises(LedgerUnreachable, match="cannot be written"):
            book.backup(tmp_path / "file")
    assert "somebody" not in (tmp_path / "file").read_text()


def test_what_cannot_be_made_again_is_never_written_over(tmp_path):
    path = tmp_path / "file"
    path.write_text("of somebody else")
    with pytest.raises(ParameterError, match="is there already"):
        Domain.draft([[1], [2]], ["n", "y"], path)
    pytest.importorskip("cryptography")
    with pytest.raises(ParameterError):
        Signer.new().write(path)
    assert path.read_text() == "of somebody else"
