"""Comparing a ledger with what people hold, and bringing it up to date where it is behind.

A restored backup is a whole chain that ends too early. Nothing in it says so, but a report of a
fit that came later does: it names an entry that the chain has not (the ledger is *behind*), or that
is another one in it (the ledger was *forked*).

**Claim.** Let a data set have no blocks, let witnesses speak of one lost chain, and let the amounts
that they name be true (an entry's signature covers its hash alone). After :func:`recover` has let
the data set go on without an owner's word, what counts as spent is at least what was spent on the
lost chain up to the last entry that a witness speaks of, together with what was spent on this chain
since both were one.

**Proof.** :func:`dpforest.ledger.needs.need_of` bounds that sum from above: ``in_all`` of a witness
is what was spent by its entry, and what was spent here is bounded as it says there, after the data
set was stopped. The freeze keeps the sum, and the data set goes on only if what counts is not below
it. (A reserve that has not begun here counts until somebody gives it back.) An export shows which
entries both chains have. Reports never do, however late their entries: after a restore this chain
may have gone on with fits of its own. So with reports alone all of this chain counts beside all of
the lost one, or an owner says by ``write_off`` what was spent here since the restore.

Where a backup was restored twice, fits ran on two lost chains. Totals of both have a common part
that nobody can tell from reports, so only exports or an owner's word bring both back.

A total over blocks is a maximum and bounds no single block. So a data set with blocks goes on only
with an export of the lost chain, or by its owner's word.

What the lost chain held after the last entry that a witness names, nobody can know here. That is
why officers keep reports, and why exports and the page exist.

Held by tests/ledger/test_recovery.py, and the claim by test_recovery_claim.py on random histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpforest.accounting.figures import figure_charged
from dpforest.accounting.rationals import to_rational
from dpforest.exceptions import LedgerDamaged, ParameterError
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.ledger.chain import Chain, row_of
from dpforest.ledger.core import LedgerCore
from dpforest.ledger.entries import CheckpointBody, ImportBody, Kind
from dpforest.ledger.exporting import extend, is_prefix
from dpforest.ledger.needs import (
    Need,
    Verdict,
    counted,
    kept_need,
    need_of,
    settled_by,
    verdict_at,
)
from dpforest.ledger.rules import check_owner
from dpforest.ledger.store import Store
from dpforest.ledger.testimony import Spend, Testimony, read_testimonies, spend_of
from dpforest.ledger.words import several

_WORDS = {
    "behind": "names entry {number}, and the ledger ends at entry {end}",
    "forked": "names another entry {number} than the ledger has",
}
_GIVE = (
    "Give recover the reports that people hold, or an export; or let an owner write an amount off"
)
_SAY = (
    "Give an export of the lost chain; or let an owner write off what was spent here since the "
    "restore, which is 0 if no fit ran since, with a reason"
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
    testimonies = read_testimonies(witnesses)
    chains = {name: ledger.chain(name) for name in names}
    asked = _asked(ledger, testimonies, data_sets)
    findings = tuple(_finding(chains, one) for one in asked)
    wrong = [one for one in findings if one.verdict not in ("agrees", "imported")]
    if wrong:
        shown = "; ".join(f"{one.source} {one.words}" for one in wrong[:3])
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise LedgerDamaged(shown + more, _GIVE, ledger.url, wrong[0].data_set)
    return LedgerVerification(
        ledger=ledger.id,
        entries={name: len(chain.entries) for name, chain in chains.items()},
        signed={n: sum(bool(e.signature) for e in c.entries) for n, c in chains.items()},
        findings=findings,
    )


def _asked(
    ledger: LedgerCore, testimonies: Iterable[Testimony], data_sets: Sequence[str] | None
) -> list[Testimony]:
    """Testimonies of some data sets; no witness is left aside without a word."""
    testimonies = list(testimonies)
    for one in testimonies:
        if one.ledger != ledger.id:
            raise ParameterError(
                "witnesses", one.source, f"is of another ledger ({one.ledger!r}, not {ledger.id})",
                "Compare it with the ledger that it names; if there never was but one, this one "
                "was written anew",
            )  # fmt: skip
    found = [one for one in testimonies if data_sets is None or one.data_set in data_sets]
    heard = {one.source for one in found if one.whole}
    for one in testimonies:
        # An export speaks of every data set, and a report of one.
        if one not in found and not (one.whole and one.source in heard):
            raise ParameterError(
                "witnesses", one.source, f"is of data set {one.data_set!r}, which is not asked for",
                "Name its data set, or leave the witness out",
            )  # fmt: skip
    return found


# -- comparing ------------------------------------------------------------------------------------


def _finding(chains: dict[str, Chain], testimony: Testimony) -> Finding:
    chain = chains.get(testimony.data_set)
    if chain is None:
        words = f"is of data set {testimony.data_set!r}, which the ledger has not"
        return Finding(testimony.source, testimony.data_set, testimony.last, "behind", words)
    return compared(chain, testimony)


def compared(chain: Chain, testimony: Testimony) -> Finding:
    """One witness of this data set against its chain."""
    source, name = testimony.source, testimony.data_set
    for number, digest in sorted(testimony.hashes.items()):
        verdict = verdict_at(chain, number, digest)
        if verdict == "agrees":
            continue
        if _is_accounted_for(chain, testimony):
            words = f"names entry {number} of the lost chain, which is accounted for"
            return Finding(source, name, number, "imported", words)
        words = _WORDS[verdict].format(number=number, end=chain.state.number)
        return Finding(source, name, number, verdict, words)
    words = f"agrees with the ledger at entry {testimony.last}"
    return Finding(source, name, testimony.last, "agrees", words)


def _is_accounted_for(chain: Chain, testimony: Testimony) -> bool:
    """Say if all that a witness speaks of was charged again, or a recovery has settled it."""
    if list(_lost(chain, testimony)):
        return False
    others = [
        spend
        for spend in testimony.spends
        if verdict_at(chain, spend.number, spend.hash) != "agrees"
    ]
    named = _named(chain)
    settled = settled_by(chain)
    if settled.witnessed >= testimony.total:
        return True
    again = [max(named.get(one.id, -1), named.get(one.hash, -1)) for one in others]
    if min(again, default=-1) < 0:
        return False
    # A fit may be charged again by its name while what was spent before it is missing.
    if chain.state.blocks:
        return max(again) < settled.number
    return need_of(chain, [testimony]).at_least <= counted(chain)


def _named(chain: Chain) -> dict[str, int]:
    """Reserves, and hashes of entries, of lost chains that were charged again, and where."""
    return {
        name: entry.number
        for entry in chain.entries
        if isinstance(body := entry.body, ImportBody)
        for name in (body.reserve, body.witness)
        if name
    }


def _lost(chain: Chain, testimony: Testimony) -> Iterator[Spend]:
    """Spending that a witness speaks of, and that neither the chain nor an import of it has."""
    imported = _named(chain)
    ids = {entry.id: entry for entry in chain.entries}
    for spend in testimony.spends:
        if spend.id in imported or spend.hash in imported:
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


# -- recovering -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recovery:
    """Result of :func:`recover`.

    Attributes
    ----------
    data_set : str
    restored : int
        Entries that were written back from an export, to the byte.
    charged_again : tuple of Spend
        Lost spending that counts again.
    written_off : int
        In units of the currency.
    frozen : bool
        Whether the data set waits for more.
    missing : int
        Units that witnesses say were spent, and that nothing accounts for yet.
    unproven : int
        Units up to which more may be missing, since no export shows which entries both chains have.
    words : str
    """

    data_set: str
    restored: int = 0
    charged_again: tuple[Spend, ...] = ()
    written_off: int = 0
    frozen: bool = False
    missing: int = 0
    unproven: int = 0
    words: str = "nothing is missing"

    def __str__(self) -> str:
        return f"data set {self.data_set!r}: {self.words}"


@dataclass(frozen=True)
class WriteOff:
    """An owner's word that a lost chain held so much more, or no more, than witnesses show.

    Attributes
    ----------
    units : int
    reason : str
    given : object
        The amount as it was typed.
    """

    units: int
    reason: str
    given: Any

    @classmethod
    def of(cls, amount: Any, reason: str) -> WriteOff | None:
        """Check what was given; None where nothing was."""
        if amount is None:
            return None
        exact = to_rational(amount, "write_off")
        if exact < 0:
            raise ParameterError("write_off", amount, "must not be negative", "Give 0 or more")
        if not reason:
            raise ParameterError(
                "reason", reason, "must be given where an amount is written off",
                "Say why nobody can show what was spent",
            )  # fmt: skip
        return cls(to_units(Fraction(exact), "write_off"), reason, amount)


def recover(
    ledger: LedgerCore,
    store: Store,
    data_set: str,
    witnesses: Iterable[Any] = (),
    write_off: WriteOff | None = None,
) -> Recovery:
    """Bring a data set up to date with what people hold; see :meth:`BudgetLedger.recover`."""
    testimonies = _asked(ledger, read_testimonies(witnesses), (data_set,))
    check_owner(ledger.chain(data_set).state, ledger.actor)
    restored = sum(_restored(ledger, store, one) for one in testimonies)
    case = _Case.of(ledger.chain(data_set), testimonies)
    if case.is_settled:
        return _written_off(ledger, data_set, restored, write_off)
    why = case.why
    if not case.chain.state.frozen:
        # Before anything is added up: a fit that others begin meanwhile is one of this chain.
        ledger.write(data_set, CheckpointBody(frozen=True, reason=why))
        case = _Case.of(ledger.chain(data_set), testimonies)
    # In this order a crash anywhere leaves the data set frozen, or charged too much.
    _keep(ledger, case, why)
    for spend in case.lost:
        _charge_again(ledger, case.chain, spend)
    found = Recovery(data_set, restored, tuple(case.lost))
    return _decided(ledger, found, case.is_told, write_off)


@dataclass(frozen=True)
class _Case:
    """A chain and what witnesses show that it has not."""

    chain: Chain
    lost: list[Spend]
    others: list[Finding]
    need: Need

    @classmethod
    def of(cls, chain: Chain, testimonies: Sequence[Testimony]) -> _Case:
        compares = [(one, compared(chain, one)) for one in testimonies]
        others = [(one, found) for one, found in compares if found.verdict != "agrees"]
        # Blocks have no totals that could show that all of it was accounted for before.
        open_ = _is_new(found for _, found in others)
        open_ = open_ or chain.state.frozen or not chain.state.blocks
        need = need_of(chain, [one for one, _ in others] if open_ else [])
        return cls(chain, _all_lost(chain, testimonies), [found for _, found in others], need)

    @property
    def is_told(self) -> bool:
        """True if witnesses tell all that is missing."""
        return self.need.is_told and bool(self.others)

    @property
    def is_settled(self) -> bool:
        """True if nothing is missing, as far as witnesses show."""
        open_ = self.lost or self.chain.state.frozen or _is_new(self.others)
        return not open_ and self.need.is_told and self.need.units <= counted(self.chain)

    @property
    def why(self) -> str:
        """Reason of a freeze, in printable words."""
        wrong = [f"{found.source} {found.words}" for found in self.others]
        why = "; ".join(wrong)[:900] or self.chain.state.why_frozen
        return "".join(letter if letter.isprintable() else "?" for letter in why)


def _is_new(findings: Iterable[Finding]) -> bool:
    return any(found.verdict in ("behind", "forked") for found in findings)


def _restored(ledger: LedgerCore, store: Store, testimony: Testimony) -> int:
    """Write the rest of an export back, where the ledger is its beginning."""
    whole, name = testimony.whole, testimony.data_set
    if whole is None or not is_prefix(store.rows(name), [row_of(e) for e in whole.entries]):
        return 0
    added = extend(store, whole, name)
    if added:
        ledger.note(name, f"{_entries(added)} restored from an export ({testimony.source})")
    return added


def _all_lost(chain: Chain, testimonies: Iterable[Testimony]) -> list[Spend]:
    """Lost spending, each reserve once."""
    found = {spend.id: spend for one in testimonies for spend in _lost(chain, one)}
    return list(found.values())


def _written_off(
    ledger: LedgerCore, data_set: str, restored: int, write_off: WriteOff | None
) -> Recovery:
    """Result where no witness shows that anything is missing."""
    words = f"{_entries(restored)} restored from an export" if restored else "nothing is missing"
    if write_off is None or not write_off.units:
        return Recovery(data_set, restored, words=words)
    _write_off(ledger, data_set, write_off)
    return Recovery(
        data_set, restored, written_off=write_off.units,
        words=f"{words}; {_figure(write_off.units)} was written off",
    )  # fmt: skip


def _keep(ledger: LedgerCore, case: _Case, why: str) -> None:
    """Keep what must count as spent before the frozen data set goes on."""
    need = case.need
    if replace(need, is_told=True) == kept_need(case.chain):
        return
    body = CheckpointBody(
        frozen=True,
        reason=why,
        needed=need.units,
        witnessed=need.witnessed,
        at_least=need.at_least,
    )
    ledger.write(case.chain.state.name, body)


def _charge_again(ledger: LedgerCore, chain: Chain, spend: Spend) -> None:
    units, blocks = spend.units, spend.blocks
    if (own := _own_reserve(chain, spend.id)) is not None:
        # Nobody signed the amount that a report names, and this chain knows the reserve's own.
        units, blocks = max(units, own.units), own.blocks
    # A block may be lost too: then the whole table is charged, which is never less.
    known = all(name in chain.state.blocks for name in blocks)
    ledger.charge_elsewhere(
        chain.state.name,
        units,
        f"entry {spend.number} of the lost chain",
        witness=spend.hash,
        blocks=blocks if known else (),
        reserve=spend.id,
    )


def _own_reserve(chain: Chain, reserve: str) -> Spend | None:
    """Budget that this chain itself set aside under a reserve's name, voided or not."""
    entries = (e for e in chain.entries if e.kind is Kind.RESERVE and e.id == reserve)
    return next((spend_of(entry, chain.state.facts.cap) for entry in entries), None)


def _write_off(ledger: LedgerCore, data_set: str, write_off: WriteOff) -> None:
    ledger.charge_elsewhere(data_set, write_off.units, write_off.reason, write_off=True)


def _decided(
    ledger: LedgerCore, found: Recovery, told: bool, write_off: WriteOff | None
) -> Recovery:
    """Let the data set go on where all is accounted for, or keep it frozen."""
    chain = ledger.chain(found.data_set)
    kept, now = kept_need(chain), counted(chain)
    gap, unproven = max(0, kept.at_least - now), max(0, kept.units - now)
    if write_off is None and (unproven or not told):
        words = _waiting(chain, gap, unproven)
        return replace(found, frozen=True, missing=gap, unproven=unproven, words=words)
    if write_off is not None and write_off.units < gap:
        raise ParameterError(
            "write_off", write_off.given,
            f"is below what is missing, {chain.state.facts.currency} {_figure(gap)}",
            f"Write off at least {fraction_of(gap)}, or give more reports",
        )  # fmt: skip
    off = write_off.units if write_off else 0
    if write_off and off:
        _write_off(ledger, found.data_set, write_off)
    return _goes_on(ledger, replace(found, written_off=off), write_off)


def _waiting(chain: Chain, gap: int, unproven: int) -> str:
    currency = chain.state.facts.currency
    if gap:
        why = f"{currency} {_figure(gap)} is missing. {_GIVE}"
    elif unproven:
        why = (
            "no report shows which fits ran here since the restore, so up to "
            f"{currency} {_figure(unproven)} may be missing. {_SAY}"
        )
    elif chain.state.blocks:
        why = f"what is missing in each block cannot be told from reports. {_GIVE}"
    else:
        why = f"no witness says that nothing else is missing ({chain.state.why_frozen}). {_GIVE}"
    return f"it stays frozen: {why}"


def _goes_on(ledger: LedgerCore, found: Recovery, write_off: WriteOff | None) -> Recovery:
    words = several(len(found.charged_again), "lost reserve counts", "lost reserves count")
    words += " again"
    if found.written_off:
        words += f", and {_figure(found.written_off)} was written off"
    why, kept = write_off.reason if write_off else words, kept_need(ledger.chain(found.data_set))
    # Unlike an owner's bare word this says what was accounted for.
    ledger.checkpoint(found.data_set, frozen=False, reason=why, witnessed=kept.witnessed)
    return replace(found, words=f"it goes on: {words}")


def _entries(count: int) -> str:
    return several(count, "entry was", "entries were")


def _figure(units: int) -> str:
    return figure_charged(fraction_of(units))
