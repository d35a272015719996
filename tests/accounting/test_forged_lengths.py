"""Books that somebody made to keep a reader busy are refused before the work is begun.

No test here takes a time: what would be worked out is counted, and nothing of it is done.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction as F
from itertools import product

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    FrozenLedger,
    GeometricNoise,
    PrivacyLoss,
    certificates,
    loss_curves,
    verify,
)
from dpforest.accounting.certificate_record import (
    CertificateRecord,
    EventRecord,
    RepeatRecord,
)
from dpforest.accounting.certificates import MOST_WORK, Certificate, Repeat, certify
from dpforest.accounting.ledger import LedgerEntry, LossRecord, ScopeRecord
from dpforest.accounting.ledger_check import verify_ledger
from dpforest.accounting.lists import Price, open_list
from dpforest.accounting.loss_curves import curve_work, selections_curve
from dpforest.accounting.rationals import (
    TooManyDigitsError,
    added_up,
    exact_text,
    parse_amount,
    parse_loss,
)
from dpforest.accounting.verify import verify_composition
from dpforest.datasets import load_adult
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.estimators.planning import make_plan
from dpforest.exceptions import ModelFormatError

MILLIONTH = F(1, 10**6)
SMALLEST = F(1, 10**299)
LONGER = "its certificates are longer than those of any plan"
DIGITS = "its amounts add up to one of more digits than books hold"
LONG = 10**3900


def select(epsilon):
    return ExponentialSelection(epsilon, F(1))


def certified(repeats, delta=MILLIONTH, label="list"):
    """A scope that nothing was asked in, under a certificate that nobody worked out."""
    certificate = Certificate(repeats, F(1), delta)
    reserve = LossRecord.of(certificate.loss)
    return scope(label=label, certificate=written(certificate), reserve=reserve)


def written(certificate):
    """A certificate as it is written down, without a look at whether it holds."""
    return CertificateRecord(
        epsilon=exact_text(certificate.epsilon),
        delta=exact_text(certificate.delta),
        method="none",
        blocks=[
            RepeatRecord(events=[EventRecord.of(e) for e in repeat.events], times=repeat.times)
            for repeat in certificate.repeats
        ],
    )


def scope(**given):
    return ScopeRecord(**{**BLANK.model_dump(), **given})


BLANK = BudgetAccountant(1).open_scope("list").record().model_copy(update={"closed": True})


@pytest.fixture
def no_curves(monkeypatch):
    """Whoever begins to work a list out has lost."""

    def begun(*_):
        raise AssertionError("the list is worked out")

    monkeypatch.setattr(certificates, "selections_curve", begun)


LISTS = {
    "many selections": ((Repeat((select(F(1, 1000)),), 2000),), MILLIONTH),
    "at the smallest delta": ((Repeat((select(F(1, 1000)),), 500),), SMALLEST),
    "two in turn": ((Repeat((select(F(1, 1000)), select(F(1, 1001))), 300),), MILLIONTH),
    "no two alike": (tuple(Repeat((select(F(1, 900 + i)),)) for i in range(300)), MILLIONTH),
    "a tiny one after a huge one": (
        (Repeat((select(F(1, 10**12)),)), Repeat((select(F(100)),))),
        MILLIONTH,
    ),
    "beside pure releases": (
        (Repeat((GeometricNoise(F(1, 9), F(1)),), 4000), Repeat((select(F(1, 1000)),), 9)),
        MILLIONTH,
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_beyond_all_plans_is_not_worked_out(name, no_curves):
    repeats, delta = LISTS[name]
    certificate = Certificate(repeats, F(1), delta)
    assert certificate.work > MOST_WORK
    # What it adds up to in rho is told at once, and may well be enough.
    assert certificate.method is None or "addition in rho" in certificate.method
    forged = scope(children=[certified(repeats, delta)], label="")
    assert verify_composition(forged) == (f"accountant: {LONGER}",)


MORE_RELEASES = "its certificates name more releases than were asked for"


@pytest.fixture
def worked(monkeypatch):
    """Certificates whose work was told, and those that were worked out."""
    told, done = [], []
    tell, work_out = Certificate.work, Certificate.method
    monkeypatch.setattr(Certificate, "work", property(lambda c: told.append(c) or tell.fget(c)))
    monkeypatch.setattr(
        Certificate, "method", property(lambda c: done.append(c) or work_out.fget(c))
    )
    return told, done


def test_releases_in_all_are_counted_before_any_work_is_told(worked):
    children = [
        certified((Repeat((select(F(1, 10**6 + i)),), 20000),), label=f"list {i}") for i in range(3)
    ]
    forged = scope(children=children, label="")
    assert verify_composition(forged) == (f"accountant: {MORE_RELEASES}",)
    assert worked == ([], [])


def test_telling_the_work_ends_where_it_is_too_much(worked):
    children = [
        certified((Repeat((select(F(1, 1000 + i)),), 480),), label=f"list {i}") for i in range(60)
    ]
    assert verify_composition(scope(children=children, label="")) == (f"accountant: {LONGER}",)
    told, done = worked
    assert len(told) < 15 and done == []


def test_equal_releases_are_counted_not_gone_through(monkeypatch):
    """Two thousand equal selections are one step of the count of work, however they are written."""
    steps, grid = [], loss_curves._grid
    monkeypatch.setattr(loss_curves, "_grid", lambda *given: steps.append(given) or grid(*given))
    rounded, above = [], certificates._above
    monkeypatch.setattr(certificates, "_above", lambda e: rounded.append(e) or above(e))
    one = select(F(1, 1007))
    repeats = (Repeat((one, one), 500), Repeat((one,), 1000))
    assert [times for _, times in certificates._selected(repeats)] == [1000, 1000]
    rounded.clear()
    assert Certificate(repeats, F(1), MILLIONTH).work > 0
    assert [(times, len(rounded)) for _, _, _, times, _ in steps] == [(2000, 3)]


def test_the_order_of_selections_is_kept():
    a, b = select(F(1, 10)), select(F(1, 5))
    repeats = (Repeat((a, b), 2), Repeat((b, GeometricNoise(F(1), F(1))), 3), Repeat((a,)))
    parts = certificates._parts_of(repeats, MILLIONTH)
    low, high = certificates._above(F(1, 10)), certificates._above(F(1, 5))
    assert parts.selections == ((low, 1), (high, 1), (low, 1), (high, 4), (low, 1))


@pytest.mark.parametrize("n_lists", [1, 50])
def test_the_first_false_list_is_the_last_that_is_worked_out(n_lists, worked):
    children = [
        certified((Repeat((DiscreteGaussianNoise(F(10**4 + i, 10**4), F(1)),)),), label=f"list {i}")
        for i in range(n_lists)
    ]
    problems = verify_composition(scope(children=children, label=""))
    (first,) = (text for text in problems if "does not follow from its list" in text)
    assert first.startswith("list 0: its certificate does not follow from its list of releases")
    assert len(worked[1]) == 1


def test_lists_that_stand_by_their_rho_are_few(monkeypatch):
    """To convert takes time, so no more than some hundred lists of one file may need it."""
    monkeypatch.setattr(verify, "MOST_CONVERTED", 4)
    done = []
    told = property(lambda c: done.append(c) or "addition in rho")
    monkeypatch.setattr(Certificate, "method", told)
    children = [
        certified((Repeat((GeometricNoise(F(1, 9 + i), F(1)),)),), label=f"list {i}")
        for i in range(9)
    ]
    few, many = (verify_composition(scope(children=c, label="")) for c in (children[:4], children))
    assert not any("converted" in text for text in few)
    assert "accountant: more of its certificates are converted from rho than in any books" in many
    assert len(done) == 4 + 5


def test_scopes_beside_a_list_are_gone_through_once(monkeypatch):
    """Lists that each stand alone are compared with the scopes by what they are, not one by one."""
    lists = [certified((Repeat((select(F(1, 9 + i)),)),), label=f"list {i}") for i in range(30)]
    lists = [one.model_copy(update={"charged": one.reserve}) for one in lists]
    holder = scope(children=lists, label="fit", charged=lists[0].reserve)
    compared, walked, walk = [], [], ScopeRecord.walk
    equal = ScopeRecord.__eq__
    monkeypatch.setattr(
        ScopeRecord, "__eq__", lambda one, other: compared.append(1) or equal(one, other)
    )
    monkeypatch.setattr(ScopeRecord, "walk", lambda one: walked.append(one) or walk(one))
    assert list(verify._beside_certificates(scope(children=[holder], label=""))) == []
    assert compared == [] and len([one for one in walked if one is holder]) <= 2


def test_a_forged_list_does_not_come_with_a_ledger(no_curves):
    books = BudgetAccountant(1, MILLIONTH).frozen()
    forged = certified(*LISTS["many selections"])
    scopes = books.scopes.model_copy(update={"children": (forged,)})
    ledger = books.model_copy(update={"scopes": scopes})
    assert verify_ledger(ledger) == (f"accountant: {LONGER}",)
    with pytest.raises(ModelFormatError, match=LONGER):
        FrozenLedger.from_json(ledger.to_json())


def test_many_lists_are_too_long_together(no_curves):
    children = [
        certified((Repeat((select(F(1, 1000 + i)),), 240),), label=f"list {i}") for i in range(40)
    ]
    assert max(child.certificate.certificate.work for child in children) < MOST_WORK / 4
    assert verify_composition(scope(children=children, label="")) == (f"accountant: {LONGER}",)


def test_the_same_list_many_times_is_worked_out_once():
    certificate = certify((Repeat((select(F(1, 1000)),), 240),), F(1), MILLIONTH)
    written = CertificateRecord.of(certificate)
    children = [
        scope(label=str(i), certificate=written, reserve=LossRecord.of(certificate.loss))
        for i in range(40)
    ]
    assert 40 * certificate.work > 2 * MOST_WORK
    assert verify_composition(scope(children=children, label="")) == ()


def test_a_long_list_in_a_file_is_longer_than_a_file_may_have():
    written = CertificateRecord.of(Certificate(LISTS["many selections"][0], F(1), MILLIONTH))
    longer = written.model_dump() | {"blocks": [written.blocks[0].model_dump()] * 11}
    with pytest.raises(ValueError, match="at most 20000 releases"):
        CertificateRecord.model_validate(longer)
    one = written.blocks[0].model_copy(update={"times": 1}).model_dump()
    CertificateRecord.model_validate(longer | {"blocks": [one] * 1000})
    with pytest.raises(ValueError, match="written as at most 1000 releases"):
        CertificateRecord.model_validate(longer | {"blocks": [one] * 1001})


class TestWork:
    @pytest.mark.parametrize(
        "selections",
        [((0.1, 3),), ((0.02, 40),), ((0.1, 9), (0.3, 2), (0.01, 12)), ()],
    )
    def test_is_what_is_done(self, selections, monkeypatch):
        done, step = [], loss_curves._before_one_selection

        def counted(points, values, epsilon, n_cells):
            done.append((points.size + 1) * n_cells)
            return step(points, values, epsilon, n_cells)

        monkeypatch.setattr(loss_curves, "_before_one_selection", counted)
        selections_curve.cache_clear()
        curve = selections_curve(selections, 8)
        selections_curve.cache_clear()
        assert curve_work(selections, 8) == sum(done)
        assert curve_work(selections, 8, 5) == sum(done) + 4 * 64 * curve.weights.size

    @pytest.mark.parametrize("selections", [((float("inf"), 1),), ((5e-324, 1),)])
    def test_is_endless_without_a_grid(self, selections):
        assert curve_work(selections, 8) == float("inf")


@pytest.fixture(scope="module")
def facts():
    return table_facts(DomainEncoder(load_adult().domain), 1e9)


@pytest.mark.parametrize("delta", [MILLIONTH, SMALLEST])
@pytest.mark.parametrize("strategy", ["refitted", "one_shot"])
def test_the_longest_plans_are_within_both_limits(strategy, delta, facts):
    plan = make_plan(strategy, facts, F(8), delta, "an accountant").plan
    assert plan.certificate is not None
    work, n_releases = plan.certificate.work, plan.certificate.n_releases
    if strategy == "refitted":
        assert plan.shape.n_rounds == plan.shape.n_corrections == 120 and work > 7 * 10**5
    assert 2 * work < MOST_WORK
    # Books of finished fits are read, however many there are.
    assert work < 2**14 * n_releases
    assert plan.certificate.holds
    assert len(plan.repeats) < 10


@pytest.mark.parametrize(("delta", "n_fits"), [(MILLIONTH, 300), (SMALLEST, 100)])
def test_books_of_many_fits_by_the_longest_plan_are_within_the_limits(delta, n_fits, facts):
    certificate = make_plan("refitted", facts, F(8), delta, "an accountant").plan.certificate
    n_releases = certificate.n_releases
    # As other fits have it, each with an epsilon of its own.
    others = [Certificate(certificate.repeats, F(n), delta) for n in range(1, n_fits + 1)]
    assert sum(other.work for other in others) > 8 * MOST_WORK
    entries = (entry(F(0)),) * n_releases
    children = tuple(
        certified(other.repeats, delta).model_copy(
            update={"certificate": written(other), "entries": entries}
        )
        for other in others
    )
    books = scope().model_copy(update={"children": children})
    assert list(verify._work_problems(books)) == []


def test_books_of_the_longest_plan_are_read(facts):
    plan = make_plan("refitted", facts, F(8), SMALLEST, "an accountant").plan
    accountant = BudgetAccountant(9, SMALLEST)
    with (
        accountant.open_scope("fit") as fit,
        open_list(fit, "list", plan.rounds, Price.of(plan)) as whole,
    ):
        for one in plan.rounds:
            for _ in range(one.times):
                whole.grant(*one.steps)
    assert verify_ledger(FrozenLedger.from_json(accountant.to_json())) == ()


def entry(epsilon):
    return LedgerEntry(
        index=0, path=("list",), role="of theirs", mechanism="of theirs", parameters={}, cells=1,
        level=None, epsilon=str(epsilon), rho="0", delta="0",
    )  # fmt: skip


class TestDigits:
    def test_a_sum_ends_where_it_becomes_too_long(self):
        taken = []

        def amounts():
            for i in range(300):
                taken.append(i)
                yield F(1, LONG + 2 * i + 1)

        with pytest.raises(TooManyDigitsError):
            added_up(amounts())
        assert len(taken) == 2

    def test_sums_are_exact(self):
        assert added_up([F(1, 3), F(1, 7), 2]) == F(1, 3) + F(1, 7) + 2
        assert added_up([F(1, 3), float("inf"), F(1)]) == float("inf")
        assert added_up([]) == 0

    @pytest.mark.parametrize("kind", ["sequential", "units", "poisson", "certified"])
    def test_entries_that_share_no_divisor_are_refused(self, kind):
        entries = [entry(F(1, LONG + 2 * i + 1)) for i in range(300)]
        given = {"entries": entries, "kind": kind}
        if kind == "units":
            given["records_per_unit"] = 2
        elif kind == "poisson":
            given["probabilities"] = {"rate": "1/2"}
        elif kind == "certified":
            written = CertificateRecord.of(
                Certificate((Repeat((select(F(1, 9)),)),), F(1), MILLIONTH)
            )
            given |= {"kind": "sequential", "certificate": written}
        assert verify_composition(scope(**given)) == (f"list: {DIGITS}",)

    def test_sides_that_share_no_divisor_are_refused(self):
        sides = {str(i): f"1/{LONG + 2 * i + 1}" for i in range(300)}
        forged = scope(kind="parallel records", probabilities=sides)
        assert verify_composition(forged) == (f"list: {DIGITS}",)

    def test_lists_that_share_no_divisor_add_up_to_nothing_known(self):
        noises = tuple(DiscreteGaussianNoise(F(LONG + 2 * i + 1, 3), F(1)) for i in range(300))
        certificate = Certificate((Repeat(noises),), F(1), MILLIONTH)
        assert certificate.rho == float("inf")
        assert certificate.additive == PrivacyLoss(float("inf"), float("inf"))
        assert not certificate.holds
        with pytest.raises(ValueError, match="less than the list of releases is known to cost"):
            certify(certificate.repeats, F(1), MILLIONTH)

    def test_the_reader_says_so_in_its_own_words(self):
        text = BudgetAccountant(1).to_json()
        with pytest.raises(ModelFormatError, match="not an exact amount"):
            FrozenLedger.from_json(text.replace('"epsilon": "1"', f'"epsilon": "{"1" * 4001}"'))


def naively(amounts):
    """The same sum, by rationals in their lowest terms."""
    total = F(0)
    for amount in amounts:
        total += amount
        if is_too_long(total):
            raise TooManyDigitsError
    return total


def is_too_long(total):
    return isinstance(total, F) and max(abs(total.numerator), total.denominator) >= 10**4000


AMOUNTS = (
    F(0), F(1, 3), F(-1, 3), F(2, 7), F(10**3999), F(-(10**3999)), F(1, 10**3999), F(1, 10**2500),
    F(9 * 10**3998), F(1, 7**2000), F(1, 10**3999 - 1), math.inf,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_sums_are_those_of_rationals_and_too_long_where_these_are(seed):
    amounts = random.Random(seed).choices(AMOUNTS, k=1 + seed % 9)
    try:
        expected = naively(amounts)
    except (TooManyDigitsError, OverflowError) as error:
        with pytest.raises(type(error)):
            added_up(iter(amounts))
    else:
        found = added_up(iter(amounts))
        assert found == expected and type(found) is type(expected)


def test_each_loss_is_read_as_it_was_written():
    """Those that are kept, those of more characters, and those that are none."""
    texts = [exact_text(value) for value in (F(0), F(1, 3), F(1, 10**350), math.inf)]
    for epsilon, rho, delta in 2 * list(product(texts, texts, texts[:3])):
        read = PrivacyLoss(*map(parse_amount, (epsilon, rho, delta)))
        assert parse_loss(epsilon, rho, delta) == read
    for wrong in 2 * ["inf", "0.1", "1e9", "", "٣"]:
        with pytest.raises(ValueError, match="not an? (exact|finite) amount"):
            parse_loss("1", "1", wrong)


def test_a_sum_that_is_long_only_before_it_is_reduced_is_none_too_long():
    """A third of thirds adds up to tenths, over the denominator that came first."""
    below = 10**3999
    assert added_up([F(1, below), F(below - 1, below), *[F(1)] * 8]) == 9
    many = [F(1, 3 * 10**3998), F(10**3998 * 3 - 1, 3 * 10**3998), F(6), F(6)]
    assert added_up(many) == naively(many) == 13
