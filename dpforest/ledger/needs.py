"""Amounts that must count as spent before a data set that lost entries goes on.

Let W be the largest total of a lost chain that a witness speaks of, and O a bound on what was spent
on this chain since both were one. Then W + O must count. O is the least of these, where each holds:

* what was spent here since an entry that an export shows in both chains; without one, since the
  data set was opened, because no report shows which entries both have;
* the bound of the freeze that holds, since nothing is spent while it does;
* where the data set went on after an earlier recovery, what counted then beyond the W of then, and
  what was spent here since: that it went on was either earned or an owner's word.

A reserve that a lost chain began and that is held here too is charged again, and then counts once.

Held by tests/ledger/test_recovery.py and test_recovery_claim.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dpforest.ledger.chain import Chain
from dpforest.ledger.entries import CheckpointBody, Entry, ImportBody
from dpforest.ledger.testimony import Spend, Testimony, spends_of

Verdict = Literal["agrees", "imported", "behind", "forked"]


@dataclass(frozen=True)
class Need:
    """Amounts that must count as spent, in units of the currency.

    Attributes
    ----------
    units : int
        Without anybody's word.
    at_least : int
        With an owner's word on what was spent here since the restore.
    witnessed : int
        Largest total of a lost chain that a witness speaks of.
    is_told : bool
        Whether the witnesses can tell.
    """

    units: int = 0
    at_least: int = 0
    witnessed: int = 0
    is_told: bool = True


@dataclass(frozen=True)
class Settled:
    """An earlier recovery, as of the entry by which the data set went on.

    Attributes
    ----------
    number : int
    witnessed : int
        Largest total of a lost chain that was accounted for; -1 before any recovery.
    counted : int
        What counted by then.
    """

    number: int = -1
    witnessed: int = -1
    counted: int = 0


def verdict_at(chain: Chain, number: int, digest: str) -> Verdict:
    """Verdict on an entry that a witness names, by the chain's own."""
    if number > chain.state.number:
        return "behind"
    return "agrees" if chain.entries[number].hash == digest else "forked"


def need_of(chain: Chain, others: Sequence[Testimony]) -> Need:
    """Amounts that must count, by these witnesses of a lost chain and by those given before."""
    kept, settled = kept_need(chain), settled_by(chain)
    witnessed = max((kept.witnessed, *(one.total for one in others)))
    if chain.state.blocks:
        return Need(witnessed=witnessed, is_told=_is_shown(kept, others))
    if not others or witnessed <= settled.witnessed:
        return kept
    units = witnessed + _own_since_the_fork(chain, others, kept, settled)
    is_fork = kept.units > 0 and kept.units == kept.at_least
    is_fork = is_fork or min(first_other(chain, one) for one in others) <= _end(chain)
    # Nobody's word makes a chain that other entries were seen of the beginning of the lost one.
    return Need(units, min(units, witnessed) if not is_fork else units, witnessed)


def _is_shown(kept: Need, others: Sequence[Testimony]) -> bool:
    """Say if exports show all that these witnesses speak of, and those given before."""
    whole = [one for one in others if one.whole]
    shown = {place for one in whole for place in one.hashes.items()}
    latest = max((one.total for one in whole), default=0)
    return latest >= kept.witnessed and all(shown.issuperset(o.hashes.items()) for o in others)


def _own_since_the_fork(
    chain: Chain, others: Iterable[Testimony], kept: Need, settled: Settled
) -> int:
    """Bound on what was spent here since both chains were one."""
    common = max((_last_common(chain, one) for one in others if one.whole), default=0)
    bounds = [_own(chain, chain.entries[common + 1 :])]
    if kept.units:
        bounds.append(kept.units - kept.witnessed)
    if settled.number > 0:
        since = _own(chain, chain.entries[settled.number + 1 :])
        bounds.append(settled.counted - settled.witnessed + since)
    return min(bounds)


def kept_need(chain: Chain) -> Need:
    """Amounts that the freeze which holds asks for."""
    if chain.state.frozen:
        for entry in reversed(chain.entries):
            if not isinstance(body := entry.body, CheckpointBody):
                continue
            if not body.frozen:
                break
            # An owner may freeze it once more, for reasons of his own: that takes nothing back.
            if body.needed or body.witnessed:
                return Need(body.needed, body.at_least or body.needed, body.witnessed)
    return Need()


def settled_by(chain: Chain) -> Settled:
    """The last recovery after which the data set went on."""
    found, asked = Settled(), Need(witnessed=-1)
    for entry in chain.entries:
        if not isinstance(body := entry.body, CheckpointBody):
            continue
        if chain.state.blocks:
            # No total shows that several blocks are accounted for; the recovery says so itself.
            if not body.frozen and body.witnessed > max(found.witnessed, 0):
                found = Settled(entry.number, body.witnessed)
        elif body.frozen:
            named = body.needed or body.witnessed
            asked = Need(0, body.at_least or body.needed, body.witnessed) if named else asked
        elif asked.witnessed > found.witnessed:
            # An owner may let it go on while something is missing, and that settles nothing.
            now = counted(chain, entry.number)
            if now >= max(asked.witnessed, asked.at_least):
                found = Settled(entry.number, asked.witnessed, now)
    return found


def counted(chain: Chain, end: int | None = None) -> int:
    """Units that count as spent by an entry, a reserve that is charged again counted once."""
    if chain.state.blocks:
        return chain.state.total
    entries = chain.entries if end is None else chain.entries[: end + 1]
    imports = (e.body for e in entries if isinstance(e.body, ImportBody))
    again = {body.reserve for body in imports}
    cap = chain.state.facts.cap
    return sum(one.units for one in spends_of(entries, cap) if one.id not in again)


def _end(chain: Chain) -> int:
    """Number of the last entry before anything was done about a lost chain."""
    end = chain.state.number
    if chain.state.frozen:
        for entry in reversed(chain.entries):
            if isinstance(entry.body, CheckpointBody):
                if not entry.body.frozen:
                    break
                end = entry.number - 1
    return end


def _own(chain: Chain, since: Sequence[Entry]) -> int:
    """Units that were spent in some entries, apart from what a lost chain was charged for."""
    again = {
        entry.id
        for entry in since
        if isinstance(body := entry.body, ImportBody) and (body.reserve or body.write_off)
    }
    spends: Iterable[Spend] = spends_of(since, chain.state.facts.cap)
    return sum(one.units for one in spends if one.id not in again)


def _last_common(chain: Chain, testimony: Testimony) -> int:
    """Number of the last entry that an export and this chain both have."""
    differs = first_other(chain, testimony)
    return max(n for n in (0, *testimony.hashes) if n == 0 or n < differs)


def first_other(chain: Chain, testimony: Testimony) -> int:
    """Number of the first entry that a witness speaks of and this chain has not."""
    hashes = testimony.hashes.items()
    return min(n for n, digest in hashes if verdict_at(chain, n, digest) != "agrees")
