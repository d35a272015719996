"""Charges to a data set: what may be asked for, what it counts as, and what comes back.

**Claim.** In a ledger whose currency is rho (or pure epsilon), let unit u's records be in at most
``max_blocks_per_unit`` blocks, and at most ``max_records_per_unit`` of them in what any one release
reads: all blocks that it names together, or the whole table. Then everything that was ever released
of the data set is rho-zCDP (or epsilon-DP) for adding or removing u, with rho (or epsilon) the cap,
also where fits, blocks and prices were chosen by what was released before. If a certificate stands
alone, it is (epsilon, delta)-DP with what was declared, and nothing is said of its rho: so that is
only where the cap was given in epsilon.

**Proof.** The price of a release is that of adding or removing so many records of what it reads,
and what else u owns it does not read. A release that names blocks has no record of u unless one of
u's blocks is among them, so u's loss is at most the sum of prices of releases that name one of its
blocks, and of those of the whole table. That is at most ``spent`` plus, block by block, what each
of u's blocks was charged, hence at most ``spent`` plus the ``max_blocks_per_unit`` largest charges:
``total``. Every price is rounded up, and no price is accepted that brings ``total`` above the cap;
the cap was fixed before the first of them and only falls. Plain addition against a cap that was
fixed beforehand is a valid filter for rho and for pure epsilon (Rogers, Roth, Ullman, Vadhan 2016;
Whitehouse, Ramdas, Rogers, Wu 2023). A certificate stands alone only where nothing was ever
charged, so where nothing was ever released, and nothing is accepted after it. What is voided was
never begun, so nothing was released of it. An import may bring ``total`` above the cap: then what
it says was released elsewhere, and nothing more is accepted here.

Held by tests/ledger/test_charges.py, test_brute_force.py and test_composition.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpforest.accounting.ledger import Budget
from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import parse_amount, parse_finite
from dpforest.display import page_of_docs, short_list
from dpforest.exceptions import BudgetExceeded, ParameterError
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.ledger.plan_files import Charge
from dpforest.ledger.pricing import listed_amount, stands_alone
from dpforest.ledger.state import Block, DataSetState

#: So many units are no more than what rounding up years of charges may come to.
_ROUNDING = 2**64
_ROUNDED = "rounded up to a multiple of 2^-128 as every charge is"
_FOR_LIFE = "the cap of a data set is fixed for life"
_LESS = f"Ask for less: {_FOR_LIFE}"
#: What to do where a fit is of another domain.
OTHER_DOMAIN = (
    "Use that very domain; other features, bounds, categories or classes are another data set, "
    f"whose cap adds to this one's for the same people ({page_of_docs('ledger.md')})"
)
#: Of one strategy rho grows by less than the square of epsilon, which so falls by more than the
#: root of a part: up to these by a power of at most the first, and so much more for each unit of
#: epsilon, and by one of the last beyond. One-off runs of plans on adult and on a table of one
#: feature, four strategies, either way of converting rho: at most .567 up to epsilon 1, .72 at 4,
#: and .79 with a delta of 1e-4.
_POWER, _MORE, _SMALL_EPSILON, _SMALL_DELTA = 0.565, 0.011, 1.0, 1e-5
_POWER_BEYOND, _LARGEST_DELTA = 0.8, 1e-3
#: What plans of one strategy differ by: in passes, or trees.
_SURE = 0.995


def other_unit(records: int) -> str:
    """Repair of a fit for another number of records a unit than the data set's."""
    return (
        f"Give max_records_per_unit={records} where nobody owns more of the records that it reads, "
        "such as after table.groupby(unit).head(k); the number of a data set is fixed for its life"
    )


def check_charge(state: DataSetState, charge: Charge) -> None:
    """Refuse a charge that is not of this data set, or does not follow from its own figures.

    Raises
    ------
    ParameterError
    """
    facts = state.facts
    _same(
        "domain", charge.domain, facts.domain,
        "is not the domain that the data set was registered with",
        OTHER_DOMAIN,
    )  # fmt: skip
    _same(
        "max_records_per_unit", charge.records_per_unit, facts.max_records_per_unit,
        "is not the one that the data set was registered with",
        other_unit(facts.max_records_per_unit),
    )  # fmt: skip
    _check_blocks(state, charge.blocks)
    if charge.alone:
        _check_alone(state, charge)
    else:
        _check_price(state, charge)


def _same(parameter: str, given: Any, wanted: Any, rule: str, repair: str) -> None:
    if given != wanted:
        raise ParameterError(parameter, given, rule, repair)


def _check_blocks(state: DataSetState, named: tuple[str, ...]) -> None:
    known = check_known(state, named)
    if len(set(named)) != len(named):
        raise ParameterError("blocks", named, "names a block twice", "Name each block once")
    if state.blocks and not named:
        raise ParameterError(
            "blocks", named, f"must be named, since data set {state.name!r} grows in blocks",
            f"Name the blocks that are read, of {known}",
        )  # fmt: skip


def check_known(state: DataSetState, named: Iterable[str]) -> str:
    """Refuse blocks that a data set has not; return the names of some that it has."""
    known = short_list([*map(repr, state.blocks)]) or "none"
    if unknown := [name for name in named if name not in state.blocks]:
        raise ParameterError(
            "blocks", tuple(unknown), f"are no blocks of data set {state.name!r}",
            f"Name some of its blocks ({known}), or add a block first",
        )  # fmt: skip
    return known


def _check_price(state: DataSetState, charge: Charge) -> None:
    """The units must be those of the exact price, rounded up part by part at most."""
    exact = price_of(state, charge)
    lowest, highest = to_units(exact, state.facts.currency), sum(p.units for p in charge.parts)
    # Each part is rounded up by less than a unit, so together by fewer units than there are parts.
    whole = highest - len(charge.parts) < charge.units
    if not (0 < lowest <= charge.units <= highest and whole):
        raise ParameterError(
            "units", charge.units, "must be the price of all parts, rounded up, and positive",
            "Let the ledger price the plan",
        )  # fmt: skip
    if listed_amount(charge, state.facts.currency) > exact:
        raise ParameterError(
            "releases", len(charge.releases), "add up to more than the price that the charge names",
            "Let the ledger price the plan",
        )  # fmt: skip


def price_of(state: DataSetState, charge: Charge) -> Amount:
    """The price of a charge in the currency of a data set, exactly."""
    if state.facts.currency == "rho":
        return parse_amount(charge.rho)
    if _delta_of(charge):
        raise ParameterError(
            "delta", charge.delta, f"must be 0, since data set {state.name!r} counts pure epsilon",
            "Fit with delta=0",
        )  # fmt: skip
    return parse_amount(charge.epsilon)


def _delta_of(charge: Charge) -> Fraction:
    delta = parse_amount(charge.delta)
    if not 0 <= delta < 1:
        raise ParameterError(
            "delta", charge.delta, "must be at least 0 and below 1", "Let the ledger price the plan"
        )
    return Fraction(delta)


def _check_alone(state: DataSetState, charge: Charge) -> None:
    """A certificate stands alone where it is within what was declared, and there are no blocks."""
    facts = state.facts
    if facts.currency != "rho" or state.blocks:
        raise ParameterError(
            "alone", True,
            "is only for a data set that counts rho and has no blocks",
            "Let the plans be charged one by one",
        )  # fmt: skip
    if facts.given_in == "rho":
        raise ParameterError(
            "alone", True,
            "is only for a data set whose cap was given in epsilon: here rho is promised, of which "
            "the list has more",
            "Let the plans be charged one by one, or announce fewer",
        )  # fmt: skip
    within = (
        parse_amount(charge.epsilon) <= parse_amount(facts.epsilon)
        and _delta_of(charge) <= parse_finite(facts.delta)
    )  # fmt: skip
    if not within:
        requested = PrivacyLoss(parse_amount(charge.epsilon), _INFINITE, _delta_of(charge))
        declared = PrivacyLoss(parse_amount(facts.epsilon), _INFINITE, parse_finite(facts.delta))
        raise BudgetExceeded(
            requested, declared, f"data set {state.name!r}", "as one certified list", _LESS
        )
    if not stands_alone(charge):
        raise ParameterError(
            "releases", len(charge.releases),
            "do not have the certificate that the charge stands by",
            "Let the ledger price the campaign",
        )  # fmt: skip


_INFINITE = float("inf")


def charged(state: DataSetState, actor: str, charge: Charge) -> tuple[DataSetState, int]:
    """The state with a charge that was checked, and what it counts as.

    Raises
    ------
    BudgetExceeded
        If it does not fit under the cap, a block's cap or the analyst's quota; nothing is charged.
    """
    amount = state.cap if charge.alone else charge.units
    if charge.alone and state.cap != state.facts.cap:
        raise _exceeded(state, state.facts.cap, state.cap, "a certificate is for the first cap")
    after = shifted(state, actor, amount, charge.blocks)
    if after.total > after.cap:
        left = state.room_under_cap(charge.blocks)
        raise _exceeded(state, amount, left, repair=_less_than(charge, amount, left))
    for name in charge.blocks:
        block = after.blocks[name]
        if after.spent + block.spent > block.cap:
            raise _exceeded(state, amount, state.room_of_block(name), f"block {name!r}")
    quota = after.quotas.get(actor)
    if quota is not None and after.used[actor] > quota:
        left = state.room_of(actor)
        what = f"the quota of {actor!r}, which is policy"
        raise _exceeded(state, amount, left, what, "Ask for less, or an owner for a larger quota")
    return after, amount


def shifted(state: DataSetState, actor: str, amount: int, named: Iterable[str]) -> DataSetState:
    """The state with an amount added to what is spent (or taken back, where it is negative)."""
    names = tuple(named)
    used = {**state.used, actor: state.used.get(actor, 0) + amount}
    if not names:
        return state.model_copy(update={"spent": state.spent + amount, "used": used})
    changed = {name: _added(state.blocks[name], amount) for name in names}
    return state.model_copy(update={"blocks": {**state.blocks, **changed}, "used": used})


def _added(block: Block, amount: int) -> Block:
    return block.model_copy(update={"spent": block.spent + amount})


def _exceeded(
    state: DataSetState, asked: int, left: int, what: str = "", repair: str = _LESS
) -> BudgetExceeded:
    where = f"data set {state.name!r}" + (f", {what}" if what else "")
    currency = state.facts.currency
    loss = loss_of(currency, fraction_of(asked))
    remaining = Budget.left(loss_of(currency, fraction_of(max(left, 0))))
    close = 0 < asked - left < _ROUNDING
    return BudgetExceeded(loss, remaining, where, _ROUNDED if close else "", repair)


def _less_than(charge: Charge, asked: int, left: int) -> str:
    """A way to go on: of a fit that has a delta, an epsilon with which it may fit."""
    epsilon = parse_amount(charge.epsilon)
    delta = _delta_of(charge)
    if epsilon == _INFINITE or not delta:
        return _LESS
    return less_by(float(epsilon), float(delta), left / asked)


def less_by(epsilon: float, delta: float, part: float) -> str:
    """A way to go on where a part of what a fit with a delta costs in rho is left.

    The epsilon is one to try: with it ``"auto"`` may pick a strategy that costs more rho.
    """
    sound = 0 < part < math.inf and 0 < epsilon < math.inf and delta <= _LARGEST_DELTA
    if not sound:
        return _LESS
    small = epsilon <= _SMALL_EPSILON and delta <= _SMALL_DELTA
    power = _POWER + _MORE * epsilon if small else _POWER_BEYOND
    fits = _SURE * epsilon * part**power
    step = 10.0 ** (math.floor(math.log10(fits)) - 1)
    return f"Ask for less, and try epsilon = {math.floor(fits / step) * step:.2g}: {_FOR_LIFE}"


def loss_of(currency: str, amount: Fraction) -> PrivacyLoss:
    """An amount of a data set's currency as a privacy loss, which says nothing of the other."""
    if currency == "rho":
        return PrivacyLoss(_INFINITE, amount)
    return PrivacyLoss(amount, _INFINITE)
