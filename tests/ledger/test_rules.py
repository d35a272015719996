"""Rules of a data set, in memory: lives of reserves, approvals, policies, freezing."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from dpforest.exceptions import ApprovalMissing, BudgetExceeded, LedgerFrozen, ParameterError
from dpforest.ledger import bodies
from dpforest.ledger.amounts import cap_in_units, to_units
from dpforest.ledger.approvals import MOST_REQUESTS, charge_digest
from dpforest.ledger.rules import token_digest

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
NOBODY = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def chain(helpers):
    return helpers.PureChain()


def refused(chain, body, actor, kind=ParameterError, parameter=None):
    """Say something that is refused, and see that nothing came of it."""
    before, length = chain.state, len(chain.entries)
    with pytest.raises(kind) as caught:
        chain.say(body, actor)
    assert chain.state is before and len(chain.entries) == length
    if parameter is not None:
        assert caught.value.parameter == parameter
    return caught.value


def spent(chain):
    return Fraction(chain.state.total, 2**128)


# -- reserve, start, settle, void ------------------------------------------------------


@pytest.mark.parametrize("then", ["nothing", "start", "settle done", "settle failed"])
def test_a_reserve_is_charged_whatever_happens_after_it(then, chain, helpers):
    reserve = chain.reserve(helpers.charge(HALF))
    assert spent(chain) == HALF
    if then != "nothing":
        chain.say(bodies.StartBody(reserve=reserve, part=0))
    if then.startswith("settle"):
        chain.say(bodies.SettleBody(reserve=reserve, part=0, outcome=then.split()[1]))
    assert spent(chain) == HALF
    refused(chain, reserving(helpers, HALF + Fraction(1, 2**128)), "ana", BudgetExceeded)
    chain.reserve(helpers.charge(HALF))
    assert chain.state.remaining == 0


def reserving(helpers, amount, request="", **others):
    asked = helpers.charge(amount, **others)
    return bodies.ReserveBody(charge=asked, request=request, token=token_digest(helpers.TOKEN))


def test_a_reserve_that_never_began_comes_back_whole(chain, helpers):
    third = Fraction(1, 3)
    reserve = chain.reserve(helpers.charge(third))
    assert spent(chain) > third
    chain.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))
    assert chain.state.total == 0 and chain.state.used == {"ana": 0}
    refused(chain, bodies.StartBody(reserve=reserve, part=0), "ana", parameter="reserve")
    refused(
        chain, bodies.VoidBody(reserve=reserve, token=helpers.TOKEN), "ana", parameter="reserve"
    )


def test_what_has_begun_never_comes_back(chain, helpers):
    reserve = chain.reserve(helpers.charge(TENTH, parts=3))
    chain.say(bodies.StartBody(reserve=reserve, part=1))
    for by, body in [
        ("ana", bodies.VoidBody(reserve=reserve, token=helpers.TOKEN)),
        ("olga", bodies.VoidBody(reserve=reserve, reason="it is not wanted")),
    ]:
        assert "never comes back" in str(refused(chain, body, by, parameter="reserve"))


@pytest.mark.parametrize(
    ("actor", "token", "reason", "parameter"),
    [
        ("ana", "", "please", "actor"),
        ("mallory", "", "please", "actor"),
        ("mallory", "ee" * 32, "", "token"),
        ("olga", "ee" * 32, "a reason", "token"),
        ("olga", "", "", "reason"),
    ],
)
def test_others_cannot_void(chain, helpers, actor, token, reason, parameter):
    reserve = chain.reserve(helpers.charge(TENTH))
    body = bodies.VoidBody(reserve=reserve, token=token, reason=reason)
    error = refused(chain, body, actor, parameter=parameter)
    assert token == "" or token not in str(error)


def test_an_owner_voids_with_a_reason(chain, helpers):
    reserve = chain.reserve(helpers.charge(TENTH))
    chain.say(bodies.VoidBody(reserve=reserve, reason="the machine is gone"), "oscar")
    assert chain.state.total == 0


def test_each_part_begins_and_ends_once(chain, helpers):
    reserve = chain.reserve(helpers.charge(TENTH, parts=2))
    start = bodies.StartBody(reserve=reserve, part=1)
    settle = bodies.SettleBody(reserve=reserve, part=1, outcome="done")
    refused(chain, settle, "ana", parameter="part")
    refused(chain, start, "ben", parameter="actor")
    chain.say(start)
    refused(chain, start, "ana", parameter="part")
    refused(chain, bodies.StartBody(reserve=reserve, part=2), "ana", parameter="part")
    refused(chain, settle, "ben", parameter="actor")
    chain.say(settle)
    refused(chain, settle, "ana", parameter="part")
    chain.say(bodies.StartBody(reserve=reserve, part=0))
    chain.say(bodies.SettleBody(reserve=reserve, part=0, outcome="failed"), "olga")
    assert chain.state.reserves == {} and spent(chain) >= TENTH
    refused(chain, bodies.StartBody(reserve=reserve, part=0), "ana", parameter="reserve")


def test_the_state_stays_small_however_many_fits_there_were(chain, helpers):
    lengths = []
    for _ in range(30):
        reserve = chain.reserve(helpers.charge(Fraction(1, 1000)))
        chain.say(bodies.StartBody(reserve=reserve, part=0))
        chain.say(bodies.SettleBody(reserve=reserve, part=0, outcome="done"))
        lengths.append(len(chain.state.text))
    assert lengths[-1] < lengths[0] + 10 and chain.state.number == 90


# -- approvals -------------------------------------------------------------------------


@pytest.fixture
def strict(helpers):
    return helpers.PureChain(approvals=2)


def approve(chain, request, actor, asked):
    return chain.say(bodies.ApproveBody(request=request, charge=charge_digest(asked)), actor)


def test_k_owners_other_than_the_requester_approve(strict, helpers):
    asked = helpers.charge(TENTH, purpose="churn")
    refused(strict, reserving(helpers, TENTH, purpose="churn"), "ana", ApprovalMissing)
    request = strict.say(bodies.RequestBody(charge=asked), "olga")
    body = reserving(helpers, TENTH, request, purpose="churn")
    digest = charge_digest(asked)
    own = bodies.ApproveBody(request=request, charge=digest)
    refused(strict, own, "olga", parameter="actor")
    refused(strict, own, "ana", parameter="actor")
    approve(strict, request, "oscar", asked)
    refused(strict, own, "oscar", parameter="request")
    assert "1 of 2 approvals" in str(refused(strict, body, "olga", ApprovalMissing))
    approve(strict, request, "otto", asked)
    refused(strict, body, "ana", ApprovalMissing)
    strict.say(body, "olga")
    assert spent(strict) >= TENTH and strict.state.requests == {}
    refused(strict, body, "olga", parameter="request")


CHANGES = {
    "price": lambda h: h.charge(Fraction(1, 9)),
    "plan": lambda h: h.charge(TENTH, parts=2),
    "purpose": lambda h: h.charge(TENTH, purpose="something else"),
    "delta": lambda h: h.charge(TENTH, delta="1/1000"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_plan_needs_a_new_approval(change, helpers):
    strict = helpers.PureChain(approvals=1)
    asked = helpers.charge(TENTH)
    request = strict.say(bodies.RequestBody(charge=asked), "ana")
    approve(strict, request, "oscar", asked)
    body = bodies.ReserveBody(charge=change(helpers), request=request, token="00" * 32)
    error = refused(strict, body, "ana", ApprovalMissing)
    assert "another plan" in str(error)
    # Fits and their prices follow from the extra, too; a purpose does not.
    of_fits = change in (CHANGES["price"], CHANGES["plan"])
    assert ("with the extra `accounting`" in str(error)) == of_fits
    approved = bodies.ApproveBody(request=request, charge=charge_digest(change(helpers)))
    refused(strict, approved, "otto", parameter="charge")
    strict.say(reserving(helpers, TENTH, request), "ana")


def test_an_approval_is_taken_back(helpers):
    strict = helpers.PureChain(approvals=1)
    asked = helpers.charge(TENTH)
    request = strict.say(bodies.RequestBody(charge=asked), "ana")
    revoke = bodies.RevokeBody(request=request)
    refused(strict, revoke, "eve", parameter="actor")
    approve(strict, request, "oscar", asked)
    strict.say(revoke, "oscar")
    refused(strict, reserving(helpers, TENTH, request), "ana", ApprovalMissing)
    approve(strict, request, "oscar", asked)
    strict.say(revoke, "ana")
    refused(strict, reserving(helpers, TENTH, request), "ana", parameter="request")


def test_whoever_is_no_owner_any_more_approves_of_nothing(helpers):
    strict = helpers.PureChain(approvals=1)
    asked = helpers.charge(TENTH)
    request = strict.say(bodies.RequestBody(charge=asked), "ana")
    approve(strict, request, "oscar", asked)
    strict.say(bodies.PolicyBody(remove_owners=("oscar",)), "olga")
    refused(strict, reserving(helpers, TENTH, request), "ana", ApprovalMissing)


KEY, OTHER_KEY = "ab" * 32, "cd" * 32
#: How an owner may become another one, in steps of an owner who stays.
OTHERWISE = {
    "leaves and comes back": ("", [{"remove_owners": ("oscar",)}, {"add_owners": {"oscar": ""}}]),
    "comes back with a key": ("", [{"remove_owners": ("oscar",)}, {"add_owners": {"oscar": KEY}}]),
    "is given a key": ("", [{"add_owners": {"oscar": KEY}}]),
    "has a key replaced": (KEY, [{"add_owners": {"oscar": OTHER_KEY}}]),
    "has a key dropped": (KEY, [{"add_owners": {"oscar": ""}}]),
    "at once": (KEY, [{"remove_owners": ("oscar",), "add_owners": {"oscar": OTHER_KEY}}]),
}


def approved_by(helpers, key, names=("oscar", "otto"), **facts):
    """A chain whose owner oscar has a key, and a request that was approved of before."""
    chain = helpers.PureChain(approvals=1, **facts)
    asked = helpers.charge(TENTH)
    request = chain.say(bodies.RequestBody(charge=asked), "ana")
    for name in names:
        approve(chain, request, name, asked)
    owners = {**chain.state.owners, "olga": "", "oscar": key}
    chain.place = type(chain.place)(
        chain.place.hash, chain.state.model_copy(update={"owners": owners})
    )
    return chain, request


@pytest.mark.parametrize("held", [False, True], ids=["open", "in a reserve"])
@pytest.mark.parametrize(("key", "steps"), OTHERWISE.values(), ids=OTHERWISE)
def test_an_approval_ends_with_what_its_owner_was_known_by(key, steps, held, helpers, monkeypatch):
    """It counted for whoever had the name by then: given without a key, or by a stolen one."""
    monkeypatch.setattr("dpforest.ledger.rules._check_keys_after", lambda *given: None)
    chain, request = approved_by(helpers, key)
    if held:
        reserve = chain.reserve(helpers.charge(TENTH), request=request)
    for step in steps:
        chain.say(bodies.PolicyBody(**step), "olga")
    if held:
        chain.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))
    assert chain.state.requests[request].approvals == ("otto",)
    chain.say(bodies.PolicyBody(approvals=2), "olga")
    refused(chain, reserving(helpers, TENTH, request), "ana", ApprovalMissing)


@pytest.mark.parametrize("step", [
    {"add_owners": {"pia": KEY}}, {"add_owners": {"oscar": KEY}}, {"approvals": 2},
    {"remove_owners": ("oscar",), "add_owners": {"oscar": KEY}}, {"remove_owners": ("olga",)},
])  # fmt: skip
def test_an_approval_stays_where_its_owner_does(step, helpers, monkeypatch):
    monkeypatch.setattr("dpforest.ledger.rules._check_keys_after", lambda *given: None)
    chain, request = approved_by(helpers, KEY)
    chain.say(bodies.PolicyBody(**step), "olga")
    assert chain.state.requests[request].approvals == ("oscar", "otto")
    chain.say(reserving(helpers, TENTH, request), "ana")


@pytest.mark.parametrize("version", [1, 2])
def test_data_sets_of_before_keep_their_approvals(version, helpers):
    """Each of their entries holds a digest of the state that it led to."""
    chain, request = approved_by(helpers, "", version=version)
    chain.say(bodies.PolicyBody(add_owners={"oscar": KEY}), "olga")
    assert chain.state.requests[request].approvals == ("oscar", "otto")


def test_a_voided_reserve_gives_its_approval_back(helpers):
    strict = helpers.PureChain(approvals=1)
    asked = helpers.charge(TENTH)
    request = strict.say(bodies.RequestBody(charge=asked), "ana")
    approve(strict, request, "oscar", asked)
    for _ in range(2):
        reserve = strict.reserve(asked, request=request)
        strict.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))
    reserve = strict.reserve(asked, request=request)
    strict.say(bodies.StartBody(reserve=reserve, part=0))
    refused(strict, reserving(helpers, TENTH, request), "ana", parameter="request")


def test_open_requests_are_limited(chain, helpers):
    body = bodies.RequestBody(charge=helpers.charge(TENTH))
    pending = next(iter(after_a_request(chain, body).values()))
    many = {f"00000000-0000-4000-8000-{n:012}": pending for n in range(MOST_REQUESTS)}
    full = chain.state.model_copy(update={"requests": many})
    chain.place = type(chain.place)(chain.place.hash, full)
    refused(chain, body, "ana", parameter="request")


def test_an_owner_revokes_any_request_and_others_do_not(strict, helpers):
    asked = helpers.charge(TENTH)
    request = strict.say(bodies.RequestBody(charge=asked), "ana")
    refused(strict, bodies.RevokeBody(request=request), "eve", parameter="actor")
    approve(strict, request, "olga", asked)
    with pytest.raises(ApprovalMissing, match="1 of 2 approvals.*Wait until 1 more owner approves"):
        strict.reserve(asked, request=request)
    strict.say(bodies.RevokeBody(request=request, reason="stale"), "oscar")
    assert not strict.state.requests


def after_a_request(chain, body):
    chain.say(body)
    return chain.state.requests


# -- policy ----------------------------------------------------------------------------


def test_a_cap_is_only_lowered_and_never_below_what_is_spent(chain, helpers):
    chain.reserve(helpers.charge(HALF))
    cap = chain.state.cap
    refused(chain, bodies.PolicyBody(cap=cap + 1), "olga", parameter="cap")
    refused(chain, bodies.PolicyBody(cap=cap // 2 - 1), "olga", parameter="cap")
    chain.say(bodies.PolicyBody(cap=cap // 2), "olga")
    refused(chain, reserving(helpers, Fraction(1, 2**128)), "ana", BudgetExceeded)
    refused(chain, bodies.PolicyBody(cap=cap), "olga", parameter="cap")


def test_refusals_of_a_cap_speak_in_the_currency_and_not_in_units(helpers):
    chain = helpers.PureChain(max_blocks_per_unit=1)
    block = bodies.BlockBody(name="2026", by="arrival", cap=to_units(HALF))
    chain.say(block, "olga")
    chain.reserve(helpers.charge(TENTH, blocks=("2026",)))
    chain.say(bodies.PolicyBody(cap=cap_in_units(Fraction(4, 10))), "olga")
    third, more = cap_in_units(Fraction(1, 30)), cap_in_units(Fraction(7, 10))
    for parameter, body, said in [
        ("cap", bodies.PolicyBody(cap=more), "cap='0.7': must not be above the present cap, 0.4"),
        (
            "cap",
            bodies.PolicyBody(cap=third),
            "cap='0.0333333': must not be below what is spent, 0.1",
        ),
        ("block_caps['2026']", bodies.PolicyBody(block_caps={"2026": more}), "present cap, 0.5"),
        ("cap", bodies.BlockBody(name="2027", by="arrival", cap=0), "cap='0': must be positive"),
    ]:
        error = refused(chain, body, "olga", parameter=parameter)
        assert said in str(error) and not re.search(r"[0-9]{9}", str(error))


def test_refusals_to_give_a_reserve_back_say_what_to_give(chain, helpers):
    reserve = chain.reserve(helpers.charge(TENTH))
    for actor, words, said in [
        ("ana", {"reason": "please"}, "Give the token that was handed out with it, or ask an own"),
        ("ana", {"token": "ee" * 32}, "not the token that was handed out with this reserve"),
        ("olga", {}, "reason='': must be given where an owner gives a reserve back without its to"),
    ]:
        assert said in str(refused(chain, bodies.VoidBody(reserve=reserve, **words), actor))
    chain.say(bodies.VoidBody(reserve=reserve, token=helpers.TOKEN))
    error = refused(chain, bodies.VoidBody(reserve=reserve, token=helpers.TOKEN), "ana")
    assert "given back, settled or never made" in str(error)
    assert "reserve budget" not in str(error)


def test_a_quota_is_within_the_cap_and_worded_as_policy(chain, helpers):
    chain.say(bodies.PolicyBody(quotas={"ana": to_units(TENTH)}), "olga")
    error = refused(chain, reserving(helpers, Fraction(11, 100)), "ana", BudgetExceeded)
    assert "quota" in str(error) and "policy" in str(error)
    chain.reserve(helpers.charge(TENTH))
    refused(chain, reserving(helpers, Fraction(1, 2**128)), "ana", BudgetExceeded)
    chain.reserve(helpers.charge(HALF), "ben")
    chain.say(bodies.PolicyBody(quotas={"ana": None}), "oscar")
    chain.reserve(helpers.charge(TENTH))
    chain.say(bodies.PolicyBody(quotas={"ana": to_units(Fraction(9))}), "oscar")
    refused(chain, reserving(helpers, HALF), "ana", BudgetExceeded)


def test_a_voided_reserve_is_back_in_the_quota(chain, helpers):
    chain.say(bodies.PolicyBody(quotas={"ana": to_units(TENTH)}), "olga")
    reserve = chain.reserve(helpers.charge(TENTH))
    chain.say(bodies.VoidBody(reserve=reserve, reason="gone"), "olga")
    chain.reserve(helpers.charge(TENTH))


def test_owners_come_and_go_and_one_stays(chain):
    refused(chain, bodies.PolicyBody(remove_owners=("ana",)), "olga", parameter="remove_owners")
    everybody = bodies.PolicyBody(remove_owners=("olga", "oscar", "otto"))
    refused(chain, everybody, "olga", parameter="remove_owners")
    refused(chain, bodies.PolicyBody(approvals=3), "olga", parameter="approvals")
    chain.say(bodies.PolicyBody(approvals=2), "olga")
    refused(chain, bodies.PolicyBody(remove_owners=("otto",)), "olga", parameter="approvals")
    chain.say(bodies.PolicyBody(remove_owners=("otto",), add_owners={"pia": ""}), "olga")
    refused(chain, bodies.PolicyBody(approvals=0), "otto", parameter="actor")
    chain.say(bodies.PolicyBody(approvals=0), "pia")


OF_OWNERS = {
    "policy": bodies.PolicyBody(approvals=1),
    "block": bodies.BlockBody(name="2026", by="unit", cap=1),
    "import": bodies.ImportBody(units=1, source="elsewhere"),
    "checkpoint": bodies.CheckpointBody(frozen=True, reason="why not"),
}


@pytest.mark.parametrize("body", OF_OWNERS.values(), ids=OF_OWNERS)
def test_what_only_owners_write(body, chain):
    assert "olga" in str(refused(chain, body, "ana", parameter="actor"))
    chain.say(body, "oscar")


# -- frozen ----------------------------------------------------------------------------


def test_a_frozen_data_set_takes_nothing_but_what_its_owners_mend(chain, helpers):
    held = chain.reserve(helpers.charge(TENTH))
    begun = chain.reserve(helpers.charge(TENTH))
    asked = helpers.charge(TENTH)
    request = chain.say(bodies.RequestBody(charge=asked), "ana")
    chain.say(bodies.StartBody(reserve=begun, part=0))
    refused(chain, bodies.CheckpointBody(frozen=True, reason=""), "olga", parameter="reason")
    refused(chain, bodies.CheckpointBody(frozen=False, reason="x"), "olga", parameter="frozen")
    chain.say(bodies.CheckpointBody(frozen=True, reason="it is behind"), "olga")
    takes = {bodies.Kind.IMPORT, bodies.Kind.CHECKPOINT, bodies.Kind.NOTE}
    others = [
        bodies.PolicyBody(approvals=1),
        bodies.BlockBody(name="2026", by="unit", cap=1),
        bodies.RequestBody(charge=asked),
        bodies.ApproveBody(request=request, charge=charge_digest(asked)),
        bodies.RevokeBody(request=request),
        reserving(helpers, TENTH),
        bodies.StartBody(reserve=held, part=0),
        bodies.SettleBody(reserve=begun, part=0, outcome="done"),
        bodies.VoidBody(reserve=held, reason="gone"),
    ]
    kinds = {kind for kind, body in bodies.BODIES.items() if body in map(type, others)}
    assert kinds | takes | {bodies.Kind.OPEN} == set(bodies.Kind)
    for body in others:
        error = refused(chain, body, "olga", LedgerFrozen)
        assert "it is behind" in str(error) and error.data_set == "claims"
    refused(chain, bodies.NoteBody(text="x"), "ana", parameter="actor")
    chain.say(bodies.NoteBody(text="x"), "olga")
    chain.say(bodies.ImportBody(units=to_units(HALF), source="a report", witness="12" * 32), "olga")
    chain.say(bodies.CheckpointBody(frozen=False, reason="all is there"), "oscar")
    assert spent(chain) >= HALF + 2 * TENTH
    chain.say(bodies.StartBody(reserve=held, part=0))


def test_an_import_counts_for_ever_and_once(chain, helpers):
    lost = bodies.ImportBody(units=to_units(Fraction(3)), source="a report", witness="12" * 32)
    chain.say(lost, "olga")
    assert spent(chain) == 3 and chain.state.remaining == 0
    refused(chain, lost, "olga", parameter="witness")
    refused(chain, reserving(helpers, Fraction(1, 2**128)), "ana", BudgetExceeded)
    assert chain.state.used == {}
    refused(chain, bodies.ImportBody(units=0, source="x"), "olga", parameter="units")
    refused(chain, bodies.ImportBody(units=1, source=""), "olga", parameter="source")


# -- signatures ------------------------------------------------------------------------


def test_an_owner_with_a_key_signs(helpers):
    pytest.importorskip("cryptography", reason="the extra ledger-signatures is not installed")
    from dpforest.ledger import Signer

    own, other = Signer.new(), Signer.new()
    chain = helpers.PureChain(actor="oscar", owners={"olga": own.public_key, "oscar": ""})
    refused(chain, bodies.NoteBody(text="x"), "olga", parameter="signer")
    with pytest.raises(ParameterError):
        chain.say(bodies.NoteBody(text="x"), "olga", other)
    chain.say(bodies.NoteBody(text="x"), "olga", own)
    chain.say(bodies.NoteBody(text="x"), "ana", other)
    assert [entry.key for entry in chain.entries] == ["", own.public_key, other.public_key]
    chain.say(bodies.PolicyBody(add_owners={"olga": other.public_key}), "olga", own)
    with pytest.raises(ParameterError):
        chain.say(bodies.NoteBody(text="x"), "olga", own)
    with pytest.raises(ParameterError):
        helpers.PureChain(actor="olga", owners={"olga": own.public_key})


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"add_owners": {"olga": ""}}, "add_owners"),
        ({"add_owners": {"olga": "ab" * 32}}, "add_owners"),
        ({"remove_owners": ("olga",)}, "remove_owners"),
        ({"remove_owners": ("olga",), "add_owners": {"olga": ""}}, "add_owners"),
    ],
)
def test_a_key_is_replaced_or_dropped_only_by_an_owner_who_signs(change, parameter, helpers):
    pytest.importorskip("cryptography", reason="the extra ledger-signatures is not installed")
    from dpforest.ledger import Signer

    own, other = Signer.new(), Signer.new()
    owners = {"olga": own.public_key, "otto": other.public_key, "oscar": ""}
    chain = helpers.PureChain(actor="oscar", owners=owners)
    error = refused(chain, bodies.PolicyBody(**change), "oscar", parameter=parameter)
    assert "'oscar', who has none" in str(error)
    # What leaves keys as they are is open to every owner.
    chain.say(
        bodies.PolicyBody(approvals=1, add_owners={"olga": own.public_key, "pia": ""}), "oscar"
    )
    chain.say(bodies.PolicyBody(**change), "otto", other)


def test_nobody_makes_an_owner_with_a_key_to_replace_the_others(helpers):
    pytest.importorskip("cryptography", reason="the extra ledger-signatures is not installed")
    from dpforest.ledger import Signer

    own, other = Signer.new(), Signer.new()
    chain = helpers.PureChain(actor="oscar", owners={"olga": "", "oscar": ""})
    # The first key may be given by anybody: there is none yet that it could replace.
    chain.say(bodies.PolicyBody(add_owners={"olga": own.public_key}), "oscar")
    for name in ("mallory", "oscar"):
        given = bodies.PolicyBody(add_owners={name: other.public_key})
        error = refused(chain, given, "oscar", parameter="add_owners")
        assert "cannot be given a key by an owner who has none ('oscar')" in str(error)
    chain.say(bodies.PolicyBody(add_owners={"oscar": other.public_key}), "olga", own)
    chain.say(bodies.PolicyBody(add_owners={"pia": "cd" * 32}), "oscar", other)


def test_nobody_opens_a_data_set_twice(chain, helpers):
    refused(chain, helpers.opening(), "olga", parameter="data_set")


def test_an_open_reserve_is_of_this_data_set(chain):
    refused(chain, bodies.StartBody(reserve=NOBODY, part=0), "ana", parameter="reserve")
    refused(chain, bodies.RevokeBody(request=NOBODY), "ana", parameter="request")
