"""Amounts that must count as spent before a data set that lost entries goes on.

Let W be the largest total of a lost chain that a witness speaks of, and O a bound on what was spent
on this chain since both were one. Then W + O must count. O is the least of these, where each holds:

* what was spent here since an entry that an export shows in both chains; without one, since the
  data set was opened, because no report shows which entries both have. Of a reserve that is older,
  and began since, the lost chain may have made a fit of its own, unless an export shows all that
  was heard of;
* the bound of the freeze that holds, since nothing is spent while it does;
* where the data set went on after an earlier recovery, what counted then beyond the W of then, and
  what was spent here since: that it went on was either earned or an owner's word.

A reserve that a lost chain began and that stands here too is charged again. It then counts once
until it begins here as well, and twice from then on, as it paid for two fits.

An amount does not tell one lost chain from another, nor what its blocks were charged. So what a
witness speaks of is known by its hashes: a recovery keeps those of all witnesses that it heard, and
a witness is settled where it speaks of nothing else than a recovery that accounted for all of them.

Held by tests/ledger/test_recovery.py and test_recovery_claim.py.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dpforest.ledger.attestations import Attestation, Spend, spends_of, starts_of
from dpforest.ledger.bodies import CheckpointBody, ImportBody
from dpforest.ledger.chain import Chain

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
    is_determined : bool
        Whether the witnesses can tell.
    lost_hashes : frozenset of str
        Hashes of the entries of lost chains that witnesses speak of.
    """

    units: int = 0
    at_least: int = 0
    witnessed: int = 0
    is_determined: bool = True
    lost_hashes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Settled:
    """Earlier recoveries: the one of the largest total, and what all of them accounted for.

    Attributes
    ----------
    number : int
        Of the entry by which the data set went on.
    witnessed : int
        Largest total of a lost chain that was accounted for; -1 before any recovery.
    counted : int
        What counted by then.
    lost_hashes : frozenset of str
        Hashes of the entries of lost chains that were accounted for, by all recoveries.
    """

    number: int = -1
    witnessed: int = -1
    counted: int = 0
    lost_hashes: frozenset[str] = frozenset()

    def has(self, chain: Chain, attestation: Attestation) -> bool:
        """Say if all that a witness speaks of, and the chain has not, was accounted for."""
        return self.lost_hashes.issuperset(missing_hashes(chain, attestation))


def verdict_at(chain: Chain, number: int, digest: str) -> Verdict:
    """Verdict on an entry that a witness names, by the chain's own."""
    if number > chain.state.number:
        return "behind"
    return "agrees" if chain.entries[number].hash == digest else "forked"


def missing_hashes(chain: Chain, attestation: Attestation) -> set[str]:
    """Hashes of the entries that a witness speaks of and this chain has not."""
    hashes = attestation.hashes.items()
    return {digest for number, digest in hashes if verdict_at(chain, number, digest) != "agrees"}


def missing_starts(chain: Chain, attestation: Attestation) -> dict[str, int]:
    """Reserves of which a fit began by an entry that this chain has not, with its number."""
    return {
        reserve: number
        for number, reserve in attestation.starts.items()
        if verdict_at(chain, number, attestation.hashes[number]) != "agrees"
    }


def need_of(chain: Chain, others: Sequence[Attestation]) -> Need:
    """Amounts that must count, by these witnesses of a lost chain and by those given before."""
    kept, settled = kept_need(chain), settled_by(chain)
    others = [one for one in others if not settled.has(chain, one)]
    witnessed = max((kept.witnessed, *(one.total for one in others)))
    lost_hashes = kept.lost_hashes.union(*(missing_hashes(chain, one) for one in others))
    if chain.state.blocks:
        return Need(
            witnessed=witnessed, is_determined=_is_shown(kept, others), lost_hashes=lost_hashes
        )
    if not others:
        return kept
    units = witnessed + _own_since_the_fork(chain, others, kept, settled)
    is_fork = kept.units > 0 and kept.units == kept.at_least
    is_fork = is_fork or min(first_other(chain, one) for one in others) <= _end(chain)
    # Nobody's word makes a chain that other entries were seen of the beginning of the lost one.
    return Need(
        units, min(units, witnessed) if not is_fork else units, witnessed, lost_hashes=lost_hashes
    )


def _is_shown(kept: Need, others: Sequence[Attestation]) -> bool:
    """Say if exports show all that these witnesses speak of, and those given before."""
    whole = [one for one in others if one.whole]
    shown = {digest for one in whole for digest in one.hashes.values()}
    latest = max((one.total for one in whole), default=0)
    # The total is for freezes from before hashes were kept.
    if latest < kept.witnessed or not shown >= kept.lost_hashes:
        return False
    return all(shown.issuperset(one.hashes.values()) for one in others)


def _own_since_the_fork(
    chain: Chain, others: Sequence[Attestation], kept: Need, settled: Settled
) -> int:
    """Bound on what was spent here since both chains were one."""
    common = max((_last_common(chain, one) for one in others if one.whole), default=0)
    older = _begun_since(chain, common)
    if _is_shown(kept, others):
        older &= {reserve for one in others for reserve in missing_starts(chain, one)}
    bounds = [_own(chain, common, older)]
    if kept.units:
        bounds.append(kept.units - kept.witnessed)
    if settled.number > 0:
        since = _own(chain, settled.number, _begun_since(chain, settled.number))
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
            if found := _asked_for(body):
                return found
    return Need()


def _asked_for(body: CheckpointBody) -> Need | None:
    """The amounts that a freeze asks for; None where it was for other reasons."""
    if not (body.needed or body.witnessed or body.heard):
        return None
    least, lost_hashes = body.at_least or body.needed, frozenset(body.heard)
    return Need(body.needed, least, body.witnessed, lost_hashes=lost_hashes)


def settled_by(chain: Chain) -> Settled:
    """Recoveries after which the data set went on, with what they asked for accounted for."""
    found, asked = Settled(), None
    for entry in chain.entries:
        if not isinstance(body := entry.body, CheckpointBody):
            continue
        if body.frozen:
            # Another freeze takes nothing back.
            asked = _asked_for(body) or asked
            continue
        found, asked = _settled_at(chain, entry.number, body, found, asked), None
    return found


def _settled_at(
    chain: Chain, number: int, body: CheckpointBody, found: Settled, asked: Need | None
) -> Settled:
    """The settled, once a data set goes on; an owner's bare word settles nothing."""
    if chain.state.blocks:
        # No total shows that several blocks are accounted for; the recovery says so itself.
        return replace(found, lost_hashes=found.lost_hashes.union(body.heard))
    if asked is None or not (body.heard or body.witnessed):
        return found
    now = counted(chain, number)
    if now < max(asked.witnessed, asked.at_least):
        return found
    lost_hashes = found.lost_hashes | asked.lost_hashes
    if asked.witnessed <= found.witnessed:
        return replace(found, lost_hashes=lost_hashes)
    return Settled(number, asked.witnessed, now, lost_hashes)


def counted(chain: Chain, end: int | None = None) -> int:
    """Units that count as spent by an entry, without what is charged again and may come back."""
    if chain.state.blocks:
        return chain.state.total
    entries = chain.entries if end is None else chain.entries[: end + 1]
    imports = (e.body for e in entries if isinstance(e.body, ImportBody))
    # What began here as well cannot come back, and paid for a fit of its own.
    again = {body.reserve for body in imports} - set(starts_of(entries).values())
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


def _begun_since(chain: Chain, end: int) -> set[str]:
    """Reserves of up to an entry of which a fit began after it."""
    begun = set(starts_of(chain.entries[end + 1 :]).values())
    return begun & {entry.id for entry in chain.entries[: end + 1]}


def _own(chain: Chain, end: int, older: Container[str]) -> int:
    """Units that were spent after an entry, apart from what a lost chain was charged for.

    Parameters
    ----------
    chain : Chain
    end : int
        Number of the entry.
    older : container of str
        Reserves of up to that entry that count too.
    """
    cap, since = chain.state.facts.cap, chain.entries[end + 1 :]
    again = {
        entry.id
        for entry in since
        if isinstance(body := entry.body, ImportBody) and (body.reserve or body.write_off)
    }
    spends: list[Spend] = [one for one in spends_of(since, cap) if one.id not in again]
    spends += [one for one in spends_of(chain.entries[: end + 1], cap) if one.id in older]
    return sum(one.units for one in spends)


def _last_common(chain: Chain, attestation: Attestation) -> int:
    """Number of the last entry that an export and this chain both have."""
    differs = first_other(chain, attestation)
    return max(n for n in (0, *attestation.hashes) if n == 0 or n < differs)


def first_other(chain: Chain, attestation: Attestation) -> int:
    """Number of the first entry that a witness speaks of and this chain has not."""
    hashes = attestation.hashes.items()
    return min(n for n, digest in hashes if verdict_at(chain, n, digest) != "agrees")
