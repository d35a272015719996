"""A fit's place in a ledger, in words: what was spent on its data set before, and in all."""

from __future__ import annotations

from fractions import Fraction

from dpforest.accounting.figures import (
    figure_cap,
    figure_charged,
    figure_down,
    figure_up,
    figures_beside,
)
from dpforest.accounting.rationals import parse_finite
from dpforest.report.record import LedgerPlace

#: What the ledger's cap promises of everything that is ever charged to a data set.
_PROMISE = (
    "{place} was given its cap before anything was charged to it. Everything that is ever charged "
    "to it, this fit included, is together ({epsilon}, {delta})-differentially private when {unit} "
    "is added or removed, as long as each fit's own conditions hold, nothing else reads these "
    "records, and no second ledger is kept of them. That figure is the cap's: fits may be chosen "
    "by what earlier ones released, so what was spent so far is not converted to a smaller one"
)
#: What is said where the cap was passed: only imports do that, which were spent elsewhere.
_PASSED = (
    "{place} was charged {spent} in all, which is more than its cap, {cap}: what was spent "
    "elsewhere was charged to it afterwards. So the ({epsilon}, {delta}) that its cap stands for "
    "is no guarantee of all that was released of it, and the ledger grants nothing more"
)
#: What a campaign's certificate says, beside which nothing is charged any more.
_ALONE = (
    ". It was reserved as one list of releases that was fixed beforehand and stands by a "
    "certificate, so nothing else is ever charged to this data set"
)
#: What a certified list counts as: its own rho is another number, and may be larger.
_WHOLE = "the whole cap, by the certificate of one list"
#: Where a list used the cap up, and more was charged.
_PASSED_ALONE = (
    "The cap of {place} was used up by one list of releases that stands by a certificate, and what "
    "was spent elsewhere was charged to it afterwards. So the ({epsilon}, {delta}) that its cap "
    "stands for is no guarantee of all that was released of it, and the ledger grants nothing more"
)
#: A reserve that was not settled counts in full all the same.
UNSETTLED = (
    "the ledger could not be written when this fit ended, so its last entry there says that it "
    "began; all that was set aside for it counts as spent, whether it is settled or not"
)


def place_name(place: LedgerPlace) -> str:
    """Data set and ledger in words; where such a fit is charged."""
    return ledger_words(place.data_set, place.ledger)


def ledger_words(data_set: str, ledger: str) -> str:
    """A data set of a ledger in words."""
    return f"data set {data_set!r} of ledger {ledger}"


def place_rows(place: LedgerPlace) -> dict[str, str]:
    """A place as lines for people; amounts are rounded to the side that promises less."""
    rows = {
        "ledger": place.ledger,
        "data set": place.data_set,
        "entry": f"{place.number} ({'settled' if place.entry == 'settle' else 'not settled'})",
        "charged to this data set before": _spent(place, place.before),
        "charged for this fit": _charged(place),
        "charged in all": _WHOLE if place.alone else _spent(place, place.in_all),
        "cap": f"{place.currency} = {figure_cap(parse_finite(place.cap))}, {_declared(place)}",
        "remaining": f"{place.currency} = {_left(place.remaining)}",
    }
    if place.blocks:
        rows["blocks"] = ", ".join(place.blocks)
    return rows | _identities(place)


def _identities(place: LedgerPlace) -> dict[str, str]:
    """Identities and digests, by which an entry is found and checked."""
    return {
        "reserve": place.reserve,
        "plan (SHA-256)": place.plan,
        "head (SHA-256)": place.hash,
        "signature (ed25519)": place.signature or "none",
        "key (ed25519)": place.key or "none",
    }


def _spent(place: LedgerPlace, amount: str) -> str:
    return f"{place.currency} = {figure_charged(parse_finite(amount))}"


def _charged(place: LedgerPlace) -> str:
    amount = _WHOLE if place.alone else _spent(place, place.charged)
    if place.parts == 1:
        return amount
    amount += "," if place.alone else ""
    return f"{amount} for all {place.parts} fits of a campaign (this is number {place.part + 1})"


def _declared(place: LedgerPlace) -> str:
    epsilon, delta = parse_finite(place.cap_epsilon), parse_finite(place.cap_delta)
    return f"declared as ({figure_up(epsilon)}, {figure_up(delta)})"


def _left(amount: Fraction) -> str:
    return figure_down(amount) if amount else "0"


def promise(place: LedgerPlace, unit: str) -> str:
    """Promise of a data set's cap, of all fits together; that there is none, if it was passed.

    Parameters
    ----------
    place : LedgerPlace
    unit : str
        What is added or removed, in words.
    """
    name = place_name(place)
    epsilon, delta = parse_finite(place.cap_epsilon), parse_finite(place.cap_delta)
    words = {"place": name[0].upper() + name[1:]}
    words |= {"epsilon": figure_up(epsilon), "delta": figure_up(delta)}
    in_all, cap = parse_finite(place.in_all), parse_finite(place.cap)
    if in_all > cap:
        if place.alone:
            return _PASSED_ALONE.format(**words | {"place": name})
        spent, whole = (f"{place.currency} = {figure}" for figure in figures_beside(in_all, cap))
        return _PASSED.format(spent=spent, cap=whole, **words)
    return _PROMISE.format(unit=unit, **words) + (_ALONE if place.alone else "")
