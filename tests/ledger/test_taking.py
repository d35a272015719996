"""Reserves that are taken up: by their actor, for their plan, once; on each store."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from dpforest import BudgetExceeded, BudgetLedger, Domain, PrivateForestClassifier, verify_report
from dpforest.__main__ import main
from dpforest.accounting.rationals import exact_text, parse_amount
from dpforest.exceptions import LedgerFrozen, ParameterError
from dpforest.ledger.amounts import fraction_of
from dpforest.records.streams.batches import BatchStream

DOMAIN = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=60)
X, Y = [[i] for i in range(60)], ["a", "b"] * 30
ABSENT = "00000000-0000-4000-8000-000000000000"
pytestmark = pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")


@pytest.fixture
def book(url):
    with BudgetLedger.open(url, actor="ana", create=True) as opened:
        owners = ["ana", "olga", "oscar"]
        opened.register("claims", domain=DOMAIN, epsilon=90, delta="1e-6", owners=owners)
        yield opened


@pytest.fixture
def file_book(tmp_path):
    with BudgetLedger.open(f"sqlite:///{tmp_path}/book", actor="ana", create=True) as opened:
        owners = ["ana", "olga", "oscar"]
        opened.register("claims", domain=DOMAIN, epsilon=90, delta="1e-6", owners=owners)
        yield opened


def forest(**parameters):
    return PrivateForestClassifier(
        **{"epsilon": 1, "domain": DOMAIN, "strategy": "one_shot", **parameters}
    )


def held(book, purpose="churn", **parameters):
    """Id of a reserve for a forest, made as ``dpforest ledger reserve`` makes it."""
    return book.reserve("claims", book.charge("claims", forest(**parameters), purpose=purpose)).id


def kinds(book):
    return [str(entry.kind) for entry in book.log("claims")][1:]


# -- one fit --------------------------------------------------------------------------------------


def test_a_reserve_is_started_and_no_other_made(book):
    other = held(book)
    reserve = held(book)
    accountant = book.accountant("claims", purpose="churn", reserve=reserve)
    amount = fraction_of(book.charge("claims", forest()).units)
    assert accountant.remaining.exact.rho == amount and reserve in repr(accountant)
    report = forest(accountant=accountant).fit(X, Y).privacy_report()
    assert kinds(book) == ["reserve", "reserve", "start", "settle"]
    assert [entry.body.reserve for entry in book.log("claims")[3:]] == [reserve] * 2
    place = report.basis.ledger
    assert place.reserve == reserve and parse_amount(place.charged) == amount
    assert parse_amount(place.before) == amount and parse_amount(place.in_all) == 2 * amount
    assert fraction_of(book.status("claims").spent) == 2 * amount
    assert accountant.remaining.exact.rho == 0
    verify_report(report, ledger=book)
    assert book.verify([report.to_json()]).findings[0].verdict == "agrees"
    # The other one stands as it did.
    assert [one.id for one in book.status("claims").reserves] == [other]


def test_a_reserve_of_the_command_line_is_taken_up(book, url, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DPFOREST_LEDGER", url)
    plan = tmp_path / "plan.json"
    book.charge("claims", forest(), purpose="churn").to_json(plan)
    assert main(["ledger", "reserve", "claims", str(plan), "--as", "ana"]) == 0
    reserve = capsys.readouterr().out.strip()
    forest(accountant=book.accountant("claims", reserve=reserve)).fit(X, Y)
    assert kinds(book) == ["reserve", "start", "settle"]


def test_it_is_used_once(book):
    reserve = held(book)
    accountant = book.accountant("claims", reserve=reserve)
    forest(accountant=accountant).fit(X, Y)
    with pytest.raises(ParameterError, match="is no reserve .* that is held"):
        forest(accountant=accountant).fit(X, Y)
    with pytest.raises(ParameterError, match="is no reserve .* that is held"):
        book.accountant("claims", reserve=reserve)
    assert kinds(book) == ["reserve", "start", "settle"]


def test_of_several_processes_at_once_one_goes_on(book):
    """Each has taken the reserve up before any of them has begun."""
    price = forest()._priced(book.accountant("claims"))
    reserve = held(book)
    accountants = [book.accountant("claims", reserve=reserve) for _ in range(4)]
    together, begun, refused = threading.Barrier(4), [], []

    def run(accountant):
        try:
            with accountant.reservation(price) as one:
                together.wait(120)
                one.start()
                one.settle("holds")
            begun.append(one.place.reserve)
        except ParameterError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=run, args=(one,)) for one in accountants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert begun == [reserve] and len(refused) == 3
    assert all("begun before" in one or "is no reserve" in one for one in refused)
    assert kinds(book).count("start") == 1 and kinds(book).count("void") == 0


def test_what_costs_more_is_refused_before_anything(book):
    reserve = held(book)
    accountant = book.accountant("claims", reserve=reserve)
    stream = BatchStream(lambda: pytest.fail("a record was read"), DOMAIN)
    for X_, costly in ((X, {"epsilon": 2}), (stream, {"epsilon": "1.001", "strategy": "one_shot"})):
        with pytest.raises(BudgetExceeded, match=f"reserve {reserve}: requested .rho=.*is left"):
            forest(accountant=accountant, **costly).fit(X_, *([Y] if X_ is X else []))
    assert kinds(book) == ["reserve"]
    forest(accountant=accountant).fit(X, Y)


def test_another_plan_is_refused_though_it_costs_no_more(book):
    reserve = held(book)
    accountant = book.accountant("claims", reserve=reserve)
    for other in ({"epsilon": "0.5"}, {"invalid": "raise"}):
        refused = f"reserve='{reserve}': was made for other plans.*the extra `accounting` if"
        with pytest.raises(ParameterError, match=refused):
            forest(accountant=accountant, **other).fit(X, Y)
    assert kinds(book) == ["reserve"]


def test_an_edited_price_pays_for_nothing(book):
    """A plan file may say little of a plan that it names; the fit's own price is what counts."""
    charge = book.charge("claims", forest())
    part = charge.parts[0].model_copy(update={"units": 3})
    cheap = {"rho": exact_text(Fraction(3, 2**128)), "units": 3, "releases": (), "parts": (part,)}
    reserve = book.reserve("claims", charge.model_copy(update=cheap)).id
    with pytest.raises(BudgetExceeded, match=f"reserve {reserve}"):
        forest(accountant=book.accountant("claims", reserve=reserve)).fit(X, Y)
    assert kinds(book) == ["reserve"]


def test_a_fit_that_fails_before_its_start_leaves_the_reserve(book, monkeypatch):
    from dpforest.estimators.charge import FitCharge

    reserve = held(book)
    accountant = book.accountant("claims", reserve=reserve)
    with monkeypatch.context() as patch:
        patch.setattr(FitCharge, "open_scope", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forest(accountant=accountant).fit(X, Y)
    assert kinds(book) == ["reserve"]
    forest(accountant=accountant).fit(X, Y)
    assert kinds(book) == ["reserve", "start", "settle"]


def test_a_fit_that_fails_after_its_start_has_used_it_up(book):
    reserve = held(book, invalid="raise")
    accountant = book.accountant("claims", reserve=reserve)
    with pytest.raises(ValueError):
        forest(accountant=accountant, invalid="raise").fit([["no number"]] * 60, Y)
    assert kinds(book) == ["reserve", "start", "settle"]
    assert book.log("claims")[-1].body.outcome == "failed"
    with pytest.raises(ParameterError, match="is no reserve"):
        forest(accountant=accountant).fit(X, Y)


def test_a_dead_process_leaves_what_it_began_spent(file_book, tmp_path):
    """Killed after its start, it is never taken up again; killed before, it is."""
    reserve, other = held(file_book), held(file_book)
    domain = str(tmp_path / "domain.json")
    DOMAIN.to_json(domain)
    program = textwrap.dedent(
        f"""
        import os, warnings
        warnings.simplefilter("ignore")
        from dpforest import BudgetLedger, Domain, PrivateForestClassifier
        from dpforest.estimators.charge import FitCharge
        from dpforest.estimators.fitting import Fit
        {{step}} = lambda *_: os._exit(9)
        book = BudgetLedger.open({file_book.url!r}, actor="ana")
        PrivateForestClassifier(
            epsilon=1, strategy="one_shot",
            domain=Domain.from_json({domain!r}),
            accountant=book.accountant("claims", reserve={{reserve!r}}),
        ).fit([[i] for i in range(60)], ["a", "b"] * 30)
        """
    )
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    for step, name in (("Fit._read", reserve), ("FitCharge.open_scope", other)):
        command = [sys.executable, "-c", program.format(step=step, reserve=name)]
        assert subprocess.run(command, env=env).returncode == 9
    assert kinds(file_book) == ["reserve", "reserve", "start"]
    with pytest.raises(ParameterError, match="has begun, and a reserve pays for each fit once"):
        file_book.accountant("claims", reserve=reserve)
    forest(accountant=file_book.accountant("claims", reserve=other)).fit(X, Y)
    assert kinds(file_book)[3:] == ["start", "settle"]


# -- whose, and for what ---------------------------------------------------------------------------


def test_it_is_of_its_actor_and_of_what_it_was_made_for(book):
    reserve = held(book)
    for words, said in (
        (
            {"purpose": "another"},
            "purpose='another': is not what the reserve was made with .'churn'",
        ),
        ({"blocks": ["2025"]}, "blocks=.*is not what the reserve was made with"),
        ({"request": ABSENT}, "request=.*is not what the reserve was made with"),
        ({"reserve": ABSENT}, "is no reserve of data set 'claims' that is held"),
        ({"reserve": "it"}, "must be the id of a reserve, a UUID"),
        ({"reserve": None}, "must be the id of a reserve, a UUID"),
    ):
        with pytest.raises(ParameterError, match=said):
            book.accountant("claims", **({"reserve": reserve} | words))
    book.register("visits", domain=DOMAIN, epsilon=1, delta="1e-6")
    with pytest.raises(ParameterError, match="is no reserve of data set 'visits'"):
        book.accountant("visits", reserve=reserve)
    with pytest.raises(ParameterError, match="was made by 'ana'. Open the ledger as that"):
        BudgetLedger(book._store, "oscar").accountant("claims", reserve=reserve)
    assert book.accountant("claims", reserve=reserve).purpose == "churn"
    assert kinds(book) == ["reserve"]


def test_a_reserve_that_was_given_back_pays_for_nothing(book):
    reserve = held(book)
    accountant = book.accountant("claims", reserve=reserve)
    book.void("claims", reserve, reason="mistaken")
    with pytest.raises(ParameterError, match="is no reserve .* that is held"):
        forest(accountant=accountant).fit(X, Y)
    with pytest.raises(ParameterError, match="is no reserve .* that is held"):
        book.accountant("claims", reserve=reserve)
    assert kinds(book) == ["reserve", "void"]


def test_a_frozen_data_set_starts_nothing(book):
    reserve = held(book)
    accountant = book.accountant("claims", reserve=reserve)
    book.checkpoint("claims", frozen=True, reason="an entry is missing")
    with pytest.raises(LedgerFrozen):
        forest(accountant=accountant).fit(X, Y)
    book.checkpoint("claims", frozen=False, reason="it was found")
    forest(accountant=accountant).fit(X, Y)


def test_what_was_approved_of_is_what_is_fitted(book):
    book.policy("claims", approvals=1)
    charge = book.charge("claims", forest(), purpose="churn")
    request = book.request("claims", charge).id
    BudgetLedger(book._store, "olga").approve("claims", request)
    reserve = book.reserve("claims", charge, request=request).id
    accountant = book.accountant("claims", reserve=reserve, request=request)
    with pytest.raises(ParameterError, match="other plans"):
        forest(accountant=accountant, invalid="raise").fit(X, Y)
    forest(accountant=accountant).fit(X, Y)
    assert kinds(book)[-3:] == ["reserve", "start", "settle"]


def test_blocks_are_those_of_the_reserve(book):
    book.register("visits", domain=DOMAIN, epsilon=90, delta="1e-6", max_blocks_per_unit=1)
    book.add_block("visits", "2025", cap=5)
    charge = book.charge("visits", forest(), blocks=["2025"])
    reserve = book.reserve("visits", charge).id
    accountant = book.accountant("visits", reserve=reserve, blocks=["2025"])
    report = forest(accountant=accountant).fit(X, Y).privacy_report()
    assert report.basis.ledger.blocks == ("2025",)
    verify_report(report, ledger=book)


# -- campaigns ------------------------------------------------------------------------------------


def campaign_of(book, forests):
    return book.reserve("claims", book.charge("claims", forests, purpose="both")).id


def test_a_reserve_of_several_fits_is_taken_up_as_a_campaign(book):
    pair = [forest(), forest(epsilon=2)]
    reserve = campaign_of(book, pair)
    with pytest.raises(ParameterError, match=r"is of 2 fits announced together.*campaign"):
        book.accountant("claims", reserve=reserve)
    campaign = book.campaign("claims", pair[::-1], purpose="both", reserve=reserve)
    assert campaign.left == 2 and kinds(book) == ["reserve"]
    report = pair[1].set_params(accountant=campaign).fit(X, Y).privacy_report()
    assert (report.basis.ledger.part, report.basis.ledger.reserve) == (1, reserve)
    verify_report(report, ledger=book)
    with pytest.raises(ParameterError, match="has begun"):
        book.campaign("claims", pair, reserve=reserve)
    pair[0].set_params(accountant=campaign).fit(X, Y)
    assert kinds(book) == ["reserve", *("start", "settle") * 2] and campaign.left == 0


def test_a_campaign_that_is_taken_up_is_the_one_that_was_reserved(book):
    pair = [forest(), forest(epsilon=2)]
    reserve = campaign_of(book, pair)
    for forests, kind, said in (
        (pair[:1], ParameterError, "is of 1 more fit than were given"),
        ([*pair, forest()], (ParameterError, BudgetExceeded), reserve),
        ([forest(), forest(invalid="raise")], ParameterError, "was made for other plans"),
        ([forest(), forest(epsilon=3)], BudgetExceeded, f"reserve {reserve}: requested"),
    ):
        with pytest.raises(kind, match=said):
            book.campaign("claims", forests, reserve=reserve)
    with pytest.raises(ParameterError, match="purpose='one': is not what"):
        book.campaign("claims", pair, purpose="one", reserve=reserve)
    assert kinds(book) == ["reserve"]


def test_a_certificate_of_other_releases_is_not_taken_up(file_book):
    """One whose file lists fewer releases than its fits have stands for none of them."""
    book, many = file_book, [forest(strategy="one_shot", delta="1e-7")] * 6
    book.register("wide", domain=DOMAIN, epsilon=90, delta="1e-6")
    together = book.plan("wide", many).together
    book.register("fresh", domain=DOMAIN, epsilon=together, delta="1e-6")
    charge = book.charge("fresh", many)
    assert charge.alone
    fewer = charge.model_copy(update={"releases": charge.releases[: len(charge.releases) // 6]})
    reserve = book.reserve("fresh", fewer).id
    with pytest.raises(ParameterError, match="certificate of other releases"):
        book.campaign("fresh", many, reserve=reserve)
    book.void("fresh", reserve, reason="edited")
    whole = book.reserve("fresh", charge).id
    assert book.campaign("fresh", many, reserve=whole).left == 6


def test_processes_that_share_a_campaign_each_run_a_part(book):
    """What another one has begun is not tried again."""
    kept = book.reserve("claims", book.charge("claims", [forest()] * 2)).id
    first, second = (book.campaign("claims", [forest()] * 2, reserve=kept) for _ in range(2))
    forest(accountant=first).fit(X, Y)
    late = forest(accountant=second)
    with pytest.raises(ParameterError, match="has begun before"):
        late.fit(X, Y)
    assert second.left == 1
    late.fit(X, Y)
    assert kinds(book) == ["reserve", "start", "settle", "start", "settle"]
