"""Comparing a ledger with what people hold.

A restored backup is a whole chain that ends too early. Nothing in it says so, but a report of a
fit that came later does: it names an entry that the chain has not (the ledger is *behind*), or that
is another one in it (the ledger was *forked*). A witness is *imported* where all that it speaks of
was accounted for by a recovery (``dpforest.ledger.recovery``): a recovery that went on has heard
each of its entries, or, where there are no blocks, its fit was charged again and as much counts as
it says was spent, beside all that was spent here.

Held by tests/ledger/test_recovery.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpforest.exceptions import LedgerDamaged, ParameterError
from dpforest.ledger.attestations import Attestation, Spend, read_attestations
from dpforest.ledger.bodies import ImportBody, Kind
from dpforest.ledger.chain import Chain
from dpforest.ledger.core import LedgerCore
from dpforest.ledger.needs import (
    Verdict,
    counted,
    missing_hashes,
    missing_starts,
    need_of,
    settled_by,
    verdict_at,
)
from dpforest.ledger.words import several

_WORDS = {
    "behind": "names entry {number}, and the ledger ends at entry {end}",
    "forked": "names another entry {number} than the ledger has",
}
#: How to go on where something is missing.
GIVE = (
    "Give the reports that people hold, or an export of the lost chain: `dpforest ledger recover "
    "DATA_SET --witness FILE …` or ledger.recover(data_set, witnesses=[…]). Or let an owner write "
    "an amount off: --write-off AMOUNT --reason WHY"
)


@dataclass(frozen=True)
class Finding:
    """One witness, and how it compares.

    Attributes
    ----------
    source : str
    data_set : str
    number : int
        Entry that decides.
    verdict : {"agrees", "imported", "behind", "forked"}
        ``imported``: what it bears witness of was lost, and was charged again.
    words : str
    """

    source: str
    data_set: str
    number: int
    verdict: Verdict
    words: str


@dataclass(frozen=True)
class LedgerVerification:
    """Findings of :func:`verify`.

    Attributes
    ----------
    ledger : str
    entries, signed : dict of int
        How many entries of each data set were checked, and how many of them are signed.
    findings : tuple of Finding
        One for each witness and data set.
    """

    ledger: str
    entries: dict[str, int]
    signed: dict[str, int]
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"data set {name!r}: {several(count, 'entry is', 'entries are')} whole, "
            f"{self.signed[name]} of them signed"
            for name, count in self.entries.items()
        ]
        lines += [f"{one.source}: {one.words}" for one in self.findings]
        return "\n".join(lines) or "the ledger has no data set"


def verify(
    ledger: LedgerCore, witnesses: Iterable[Any] = (), data_sets: Sequence[str] | None = None
) -> LedgerVerification:
    """Check every entry of a ledger, and compare it with what people hold.

    Parameters
    ----------
    ledger : BudgetLedger
    witnesses : iterable of PrivacyReport, str or path
        Reports and exports, or paths of them.
    data_sets : sequence of str, optional
        By default all of them.

    Returns
    -------
    LedgerVerification

    Raises
    ------
    LedgerDamaged
        If an entry is not as it was written, or a witness shows that entries are missing or others.
    ParameterError
        If a witness cannot be read, or is of another ledger or of a data set that is not asked
        for.
    """
    names = ledger.data_sets if data_sets is None else data_sets
    attestations = read_attestations(witnesses)
    chains = {name: ledger.chain(name) for name in names}
    asked = asked_of(ledger, attestations, data_sets)
    findings = tuple(_finding(chains, one) for one in asked)
    wrong = [one for one in findings if one.verdict not in ("agrees", "imported")]
    if wrong:
        shown = "; ".join(f"{one.source} {one.words}" for one in wrong[:3])
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise LedgerDamaged(shown + more, GIVE, ledger.url, wrong[0].data_set)
    return LedgerVerification(
        ledger=ledger.id,
        entries={name: len(chain.entries) for name, chain in chains.items()},
        signed={n: sum(bool(e.signature) for e in c.entries) for n, c in chains.items()},
        findings=findings,
    )


def asked_of(
    ledger: LedgerCore, attestations: Iterable[Attestation], data_sets: Sequence[str] | None
) -> list[Attestation]:
    """Attestations of some data sets; no witness is left aside without a word."""
    attestations = list(attestations)
    for one in attestations:
        if one.ledger != ledger.id:
            raise ParameterError(
                "witnesses", one.source, f"is of another ledger ({one.ledger!r}, not {ledger.id})",
                "Compare it with the ledger that it names; if there never was but one, this one "
                "was written anew",
            )  # fmt: skip
    found = [one for one in attestations if data_sets is None or one.data_set in data_sets]
    shown = {one.source for one in found if one.whole}
    for one in attestations:
        # An export speaks of every data set, and a report of one.
        if one not in found and not (one.whole and one.source in shown):
            raise ParameterError(
                "witnesses", one.source, f"is of data set {one.data_set!r}, which is not asked for",
                "Name its data set, or leave the witness out",
            )  # fmt: skip
    return found


# -- comparing ------------------------------------------------------------------------------------


def _finding(chains: dict[str, Chain], attestation: Attestation) -> Finding:
    chain = chains.get(attestation.data_set)
    if chain is None:
        words = f"is of data set {attestation.data_set!r}, which the ledger has not"
        return Finding(attestation.source, attestation.data_set, attestation.last, "behind", words)
    return compared(chain, attestation)


def compared(chain: Chain, attestation: Attestation) -> Finding:
    """One witness of this data set against its chain."""
    source, name = attestation.source, attestation.data_set
    for number, digest in sorted(attestation.hashes.items()):
        verdict = verdict_at(chain, number, digest)
        if verdict == "agrees":
            continue
        if _is_accounted_for(chain, attestation):
            words = f"names entry {number} of the lost chain, which is accounted for"
            return Finding(source, name, number, "imported", words)
        words = _WORDS[verdict].format(number=number, end=chain.state.number)
        return Finding(source, name, number, verdict, words)
    words = f"agrees with the ledger at entry {attestation.last}"
    return Finding(source, name, attestation.last, "agrees", words)


def _is_accounted_for(chain: Chain, attestation: Attestation) -> bool:
    """Say if all that a witness speaks of was charged again, or a recovery has settled it."""
    if list(lost_of(chain, attestation)):
        return False
    if settled_by(chain).has(chain, attestation):
        return True
    if chain.state.blocks:
        # No total of a unit shows what each block was charged.
        return False
    # A fit may be charged again by its name while what was spent before it is missing.
    if not _is_charged_again(chain, attestation):
        return False
    return need_of(chain, [attestation]).units <= counted(chain)


def _is_charged_again(chain: Chain, attestation: Attestation) -> bool:
    """Say if each fit of a witness that the chain has not was charged again by its name."""
    beside, named = missing_hashes(chain, attestation), _named(chain)
    others = [spend for spend in attestation.spends if spend.hash in beside]
    return bool(others) and all(one.id in named or one.hash in named for one in others)


def _named(chain: Chain) -> set[str]:
    """Reserves, and hashes of entries, of lost chains that were charged again."""
    return {
        name
        for entry in chain.entries
        if isinstance(body := entry.body, ImportBody)
        for name in (body.reserve, body.witness)
        if name
    }


def lost_of(chain: Chain, attestation: Attestation) -> Iterator[Spend]:
    """Spending that a witness speaks of, and that neither the chain nor an import of it has."""
    imported, begun = _named(chain), missing_starts(chain, attestation)
    ids = {entry.id: entry for entry in chain.entries}
    for spend in attestation.spends:
        if spend.id in imported or spend.hash in imported:
            continue
        if (number := begun.get(spend.id)) is not None:
            # A reserve that both chains hold pays here for a fit of its own, or comes back.
            yield replace(spend, number=number, hash=attestation.hashes[number])
            continue
        if verdict_at(chain, spend.number, spend.hash) == "agrees":
            continue
        if spend.id not in ids or _could_come_back(chain, spend.id):
            yield spend


def _could_come_back(chain: Chain, reserve: str) -> bool:
    """Say if a reserve that is known to have begun could still be voided, or was."""
    held = chain.state.reserves.get(reserve)
    if held is not None:
        return not held.started
    voids: Iterable[Any] = (entry.body for entry in chain.entries if entry.kind is Kind.VOID)
    return any(body.reserve == reserve for body in voids)
