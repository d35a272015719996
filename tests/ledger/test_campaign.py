"""Batches and campaigns: what several fits come to, what is left, and when one stands alone."""

from __future__ import annotations

import contextlib
import math
import threading
from fractions import Fraction

import pytest

from dpforest import BudgetExceeded, BudgetLedger, Domain, PrivateForestClassifier
from dpforest.accounting.rationals import exact_text
from dpforest.exceptions import ParameterError
from dpforest.ledger.accountant import Reserve
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.ledger.campaign import Campaign
from dpforest.ledger.ceilings import LedgerCeiling
from dpforest.ledger.facts import is_given_in_rho
from dpforest.ledger.pricing import stands_alone

DOMAIN = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=4000)


@pytest.fixture
def book(tmp_path):
    with BudgetLedger.open(f"sqlite:///{tmp_path}/book", actor="ana", create=True) as ledger:
        yield ledger


def registered(book, name="claims", **facts):
    book.register(name, **{"domain": DOMAIN, "epsilon": 2, "delta": "1e-5", **facts})
    return name


def forest(**parameters):
    given = {"epsilon": "0.5", "delta": "1e-6", "domain": DOMAIN, "strategy": "refitted"}
    return PrivateForestClassifier(**{**given, **parameters})


def test_a_batch_is_priced_and_nothing_is_charged(book):
    name = registered(book)
    before = book.log(name)
    plan = book.plan(name, [forest(), forest(epsilon=1), forest()])
    single = [book.plan(name, one).total for one in (forest(), forest(epsilon=1))]
    assert plan.prices == (single[0], single[1], single[0]) and plan.total == sum(plan.prices)
    assert plan.cap == (2, Fraction("1e-5")) and plan.remaining > plan.total
    assert plan.fits == 3 and plan.granted and not plan.alone
    assert len(set(plan.plans)) == 2 and plan.together < 2
    assert book.log(name) == before
    assert "3 fits, nothing was charged" in str(plan) and "3 of 3 fit" in str(plan)
    assert "certificate" in str(plan) and "use the data set up" not in str(plan)


def test_what_fits_is_counted_in_its_order(book):
    pytest.importorskip("dp_accounting")  # figures are those of its conversion
    name = registered(book)
    count = book.plan(name, [forest()] * 60).fits
    assert 10 < count < 60
    plan = book.plan(name, [forest(epsilon=8), *[forest()] * 3])
    assert plan.fits == 0 and not plan.granted
    assert book.plan(name, [*[forest()] * 3, forest(epsilon=8)]).fits == 3
    for _ in range(count):
        book.reserve(name, book.charge(name, forest()))
    assert book.plan(name, forest()).fits == 0
    with pytest.raises(BudgetExceeded):
        book.reserve(name, book.charge(name, forest()))


def test_a_campaign_is_charged_its_rho_where_that_fits(book):
    name = registered(book)
    campaign = book.campaign(name, [forest()] * 4, purpose="search")
    charge = campaign.reserve.snapshot.charge
    state = book.chain(name).state
    assert not charge.alone and state.total == charge.units == 4 * charge.parts[0].units
    assert charge.purpose == "search" and campaign.left == 4
    assert isinstance(campaign, LedgerCeiling) and "4 fits" in repr(campaign)


def test_a_campaign_stands_alone_only_where_nothing_was_ever_charged(book):
    many = [forest(strategy="one_shot")] * 60
    name = registered(book)
    certified = book.plan(name, many).together
    assert 2 < certified < math.inf
    fresh = {"epsilon": certified}
    assert book.plan(registered(book, "fresh", **fresh), many).alone
    campaign = book.campaign("fresh", many)
    assert stands_alone(campaign.reserve.snapshot.charge)
    assert book.plan("fresh", forest()).fits == 0
    registered(book, "used", **fresh)
    held = book.reserve("used", book.charge("used", forest()))
    assert not book.plan("used", many).alone
    with pytest.raises(BudgetExceeded):
        book.campaign("used", many)
    # What was voided was never begun, so nothing was ever charged.
    book.void("used", held.id, token=held.token)
    assert book.plan("used", many).alone
    registered(book, "lowered", **fresh)
    cap = book.chain("lowered").state.cap
    book.policy("lowered", cap=Fraction(cap - 1, 2**128))
    assert not book.plan("lowered", many).alone
    registered(book, "blocks", max_blocks_per_unit=1, **fresh)
    book.add_block("blocks", "2024", cap=1)
    assert not book.plan("blocks", many, blocks=["2024"]).alone
    registered(book, "pure", currency="epsilon", delta=None, epsilon=1)
    pure = book.plan("pure", [forest(delta=0, strategy="one_shot")] * 5)
    assert not pure.alone and pure.together == math.inf and 0 < pure.fits < 5


def test_a_cap_that_was_given_in_rho_is_kept_in_rho(book):
    """A certificate says nothing of rho, and its list may have more of it than was promised."""
    many = [forest(strategy="one_shot")] * 60
    together = book.plan(registered(book, "wide"), many).together
    facts = book.status(registered(book, "fresh", epsilon=together)).facts
    many = many[:58]
    assert book.plan("fresh", many).alone and facts.given_in == "epsilon"
    charge = book.charge("fresh", many)
    assert fraction_of(charge.units) > fraction_of(facts.cap)

    registered(book, "rho", epsilon=None, rho=fraction_of(facts.cap))
    assert book.status("rho").facts.given_in == "rho"
    plan = book.plan("rho", many)
    assert plan.together < plan.cap[0] and not plan.alone and not plan.granted
    assert "a campaign is charged the sum here" in str(plan)
    assert not book.charge("rho", many).alone
    with pytest.raises(BudgetExceeded):
        book.campaign("rho", many)
    with pytest.raises(ParameterError, match="whose cap was given in epsilon"):
        book.reserve("rho", charge)
    assert len(book.log("rho")) == 1
    assert book.campaign("rho", many[:3]).reserve.snapshot.charge.alone is False


@pytest.mark.parametrize("given", [{"epsilon": 2}, {"epsilon": None, "rho": "0.01"}])
def test_what_a_cap_was_given_in_is_told_of_version_1_too(book, given):
    facts = book.status(registered(book, **given)).facts
    earlier = facts.model_copy(update={"version": 1, "given_in": ""})
    assert is_given_in_rho(facts) == is_given_in_rho(earlier) == ("rho" in given)
    # By another means of conversion nothing tells, and the sum is right for both.
    assert is_given_in_rho(earlier.model_copy(update={"conversion": "another"}))


def test_blocks_and_quotas_are_heeded(book):
    name = registered(book, max_blocks_per_unit=1)
    for block, cap in (("2024", "0.05"), ("2025", "0.02")):
        book.add_block(name, block, cap=cap)
    with pytest.raises(ParameterError, match="blocks"):
        book.plan(name, forest())
    old, new, both = (
        book.plan(name, [forest()] * 9, blocks=blocks)
        for blocks in (["2024"], ["2025"], ["2024", "2025"])
    )
    assert old.fits == int(Fraction("0.05") / old.prices[0]) > new.fits == both.fits > 0
    assert old.remaining > new.remaining == both.remaining
    assert Fraction("0.02") - new.remaining < Fraction(1, 2**120)
    campaign = book.campaign(name, [forest()] * new.fits, blocks=["2025"])
    assert campaign.reserve.snapshot.charge.blocks == ("2025",)
    assert book.plan(name, [forest()] * 9, blocks=["2025"]).fits == 0
    assert book.plan(name, [forest()] * 9, blocks=["2024"]).fits == old.fits
    other = registered(book, "quotas")
    book.policy(other, quotas={"ana": 2 * old.prices[0] + Fraction(1, 100_000)})
    assert book.plan(other, [forest()] * 9).fits == 2


def test_what_no_certificate_speaks_for_adds_up(book):
    from dpforest import MultinomialForestClassifier

    name = registered(book)
    parted = MultinomialForestClassifier(
        epsilon="0.1", domain=DOMAIN, n_estimators=2, max_depth=2, partition_rate=1
    )
    plan = book.plan(name, [parted] * 3)
    assert plan.together == math.inf and "certificate" not in str(plan)
    campaign = book.campaign(name, [parted] * 3)
    assert campaign.left == 3 and not campaign.reserve.snapshot.charge.releases


def test_a_plan_that_waits_is_named_by_its_place(book):
    name = registered(book)
    waiting = forest(domain=DOMAIN.model_copy(update={"approximate_rows": None}))
    with pytest.raises(ParameterError, match=r"forests=\(1,\): .*wait for a released value"):
        book.campaign(name, [forest(), waiting])
    assert len(book.log(name)) == 1
    assert book.plan(name, [forest(), waiting]).together == math.inf


def test_each_part_is_claimed_once_by_whatever_thread(book):
    name = registered(book)
    campaign = book.campaign(name, [forest()] * 6)
    price = forest()._priced(campaign)
    claimed, refused = [], []

    def claim():
        try:
            claimed.append(campaign.claim(price))
        except ParameterError as error:
            refused.append(error)

    threads = [threading.Thread(target=claim) for _ in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == list(range(6)) and len(refused) == 3 and campaign.left == 0
    campaign.unclaim(4, price)
    campaign.unclaim(2, price)
    assert [campaign.claim(price), campaign.claim(price)] == [2, 4]


def test_a_part_of_another_price_is_not_claimed(book):
    name = registered(book)
    charge = book.charge(name, [forest()] * 3)
    part = charge.parts[0]
    cheap = part.model_copy(update={"units": 3})
    # An edited plan file: its own figures agree, and it lists no releases.
    edited = {"rho": exact_text(Fraction(9, 2**128)), "units": 9, "releases": ()}
    paid = charge.model_copy(update=edited | {"parts": (cheap,) * 3})
    campaign = Campaign(book, name, book.status(name).facts, Reserve.made(book, name, paid))
    with pytest.raises(ParameterError, match="another price or other releases"):
        campaign.claim(forest()._priced(campaign))
    assert campaign.left == 3


def test_a_sum_below_its_parts_is_no_price(book):
    name = registered(book)
    charge = book.charge(name, [forest()] * 3)
    paid = charge.model_copy(update={"rho": "1/10000000000", "releases": ()})
    paid = paid.model_copy(update={"units": to_units(Fraction(1, 10**10))})
    with pytest.raises(ParameterError, match="units"):
        book.reserve(name, paid)
    cheap = charge.parts[0].model_copy(update={"units": 3})
    listed = charge.model_copy(
        update={"rho": exact_text(Fraction(9, 2**128)), "units": 9, "parts": (cheap,) * 3}
    )
    with pytest.raises(ParameterError, match="add up to more"):
        book.reserve(name, listed)
    assert len(book.log(name)) == 1 and book.reserve(name, charge)


def certified(book):
    """A data set of just the cap that six fits need together, and the charge of them."""
    many = [forest(strategy="one_shot")] * 6
    together = book.plan(registered(book, "wide"), many).together
    name = registered(book, "fresh", epsilon=together)
    charge = book.charge(name, many)
    assert charge.alone
    return name, charge


def test_a_certificate_of_fewer_fits_pays_for_no_more_of_them(book):
    name, charge = certified(book)
    fewer = charge.model_copy(update={"releases": charge.releases[: len(charge.releases) // 6]})
    campaign = Campaign(book, name, book.status(name).facts, Reserve.made(book, name, fewer))
    price = forest(strategy="one_shot")._priced(campaign)
    assert campaign.claim(price) == 0
    with pytest.raises(ParameterError, match="another price or other releases"):
        campaign.claim(price)
    campaign.unclaim(0, price)
    assert campaign.claim(price) == 0


def test_an_edited_certificate_is_not_reserved(book):
    name, charge = certified(book)
    for edited in ({"releases": ()}, {"epsilon": "1/1000"}, {"delta": "1/10000000000"}):
        with pytest.raises(ParameterError, match="certificate that the charge stands by"):
            book.reserve(name, charge.model_copy(update=edited))
    assert len(book.log(name)) == 1
    book.reserve(name, charge)


def test_a_campaign_is_shared_by_copies_and_never_pickled(book):
    import copy
    import pickle

    from dpforest.exceptions import ParameterTypeError

    campaign: Campaign = book.campaign(registered(book), [forest()])
    assert copy.copy(campaign) is campaign is copy.deepcopy(campaign)
    with pytest.raises(ParameterTypeError, match="not pickled"):
        pickle.dumps(campaign)


def test_a_stream_is_priced_as_one(book):
    name = registered(book)
    auto = forest(delta=0, strategy="auto", epsilon=1)
    whole, passes = (book.plan(name, auto, streamed=streamed) for streamed in (False, True))
    assert whole.plans != passes.plans
    with pytest.raises(ParameterError, match="stream"):
        book.plan(name, forest(strategy="rules", delta=0), streamed=True)


def test_a_batch_says_why_it_does_not_fit_and_whose_word_it_needs(book):
    pure = {"currency": "epsilon", "epsilon": 1, "delta": 0}
    one = forest(epsilon="0.1", delta=0, strategy="one_shot")
    ten = book.plan(registered(book, **pure), [one] * 10)
    assert ten.fits == 9 and "rounded up to a multiple of 2^-128" in str(ten)
    assert "rounded up" not in str(book.plan("claims", [one] * 11))
    owners = {"owners": ["ana", "olga", "oscar"], "approvals": 2}
    asked = book.plan(registered(book, "asked", **owners), forest())
    assert asked.granted and str(asked).endswith("or a campaign of them: 2")
    assert "declare approximate_rows" not in str(asked)
    unknown = DOMAIN.model_copy(update={"approximate_rows": None})
    assert "frozen" not in str(asked)
    book.checkpoint("claims", frozen=True, reason="a backup was restored")
    frozen = book.plan("claims", forest(epsilon="0.1", delta=0, strategy="one_shot"))
    assert str(frozen).endswith("the data set is frozen (a backup was restored)")
    waiting = book.plan(registered(book, "waits", epsilon="0.01"), forest(domain=unknown))
    assert waiting.fits == 0 and "declare approximate_rows" in str(waiting)


def test_a_certificate_is_worked_out_before_the_lock_is_held(book, monkeypatch):
    """It may take seconds, in which nobody else could write."""
    from dpforest.ledger import pricing

    name, charge = certified(book)
    pricing._certified.cache_clear()
    held, asked, locked, bound = [], [], book._store.locked, pricing.delta_bound

    @contextlib.contextmanager
    def watched(data_set):
        with locked(data_set) as one:
            held.append(True)
            yield one
            held.pop()

    def counted(*args):
        asked.append(bool(held))
        return bound(*args)

    monkeypatch.setattr(book._store, "locked", watched)
    monkeypatch.setattr(pricing, "delta_bound", counted)
    book.request(name, charge)
    book.reserve(name, charge)
    assert asked == [False]
