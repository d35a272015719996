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
from dpforest.ledger.base import ChainGrown
from dpforest.ledger.chain import Chain, row_of
from dpforest.ledger.core import LedgerCore
from dpforest.ledger.entries import CheckpointBody, ImportBody, Kind
from dpforest.ledger.exporting import extend, is_prefix
from dpforest.ledger.needs import (
    Need,
    Verdict,
    counted,
    hashes_beside,
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
    "Give the reports that people hold, or an export of the lost chain: `dpforest ledger recover "
    "DATA_SET --witness FILE …` or ledger.recover(data_set, witnesses=[…]). Or let an owner write "
    "an amount off: --write-off AMOUNT --reason WHY"
)
_SAY = (
    "Give an export of the lost chain (--witness FILE, witnesses=[…]). Or let an owner write off "
    "what was spent here since the restore, which is 0 if no fit ran since: --write-off AMOUNT "
    "--reason WHY, or write_off= and reason="
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
    if settled_by(chain).has(chain, testimony):
        return True
    if chain.state.blocks:
        # No total of a unit shows what each block was charged.
        return False
    # A fit may be charged again by its name while what was spent before it is missing.
    if not _is_charged_again(chain, testimony):
        return False
    return need_of(chain, [testimony]).units <= counted(chain)


def _is_charged_again(chain: Chain, testimony: Testimony) -> bool:
    """Say if each fit of a witness that the chain has not was charged again by its name."""
    beside, named = hashes_beside(chain, testimony), _named(chain)
    others = [spend for spend in testimony.spends if spend.hash in beside]
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
    found, known = Recovery(data_set, restored), None
    while True:
        step = _Step(ledger, found, testimonies, write_off, known)
        try:
            return step.taken()
        except ChainGrown:
            # Somebody else wrote, such as another owner who recovers with other witnesses. What he
            # wrote stands, and all is worked out anew with it.
            found, known = step.found, step.known


class _Step:
    """A recovery from one reading of the chain on.

    Every entry is written only where the chain ends as it was read, so nothing is decided by what
    is no longer so.

    Attributes
    ----------
    found : Recovery
        What this recovery has done so far.
    known : frozenset of str
        Hashes of what witnesses spoke of when it began.
    """

    def __init__(
        self,
        ledger: LedgerCore,
        found: Recovery,
        testimonies: Sequence[Testimony],
        write_off: WriteOff | None,
        known: frozenset[str] | None,
    ) -> None:
        self.ledger, self.found, self.write_off = ledger, found, write_off
        self._name, self._testimonies = found.data_set, testimonies
        self._read()
        # As the witnesses found it, before an entry of this recovery stands in it.
        self._why = self.case.why
        self.known = self.case.need.heard if known is None else known

    def _read(self) -> None:
        self.case = _Case.of(self.ledger.chain(self._name), self._testimonies)
        self._end = self.case.chain.entries[-1].hash

    def taken(self) -> Recovery:
        """Result of the recovery; ChainGrown where somebody else wrote meanwhile."""
        if self.case.is_settled:
            return self._settled()
        if not self.case.chain.state.frozen:
            # Before anything is added up: a fit that others begin meanwhile is one of this chain.
            body = CheckpointBody(frozen=True, reason=self._why)
            self.ledger.write(self._name, body)
            self._read()
        # In this order a crash anywhere leaves the data set frozen, or charged too much.
        self._keep()
        for spend in self.case.lost:
            self._charge_again(spend)
        return self._decided()

    def _settled(self) -> Recovery:
        """Result where no witness shows that anything is missing."""
        found = self.found
        words = "nothing is missing"
        if found.restored:
            words = f"{_entries(found.restored)} restored from an export"
        if self.write_off and self.write_off.units and not found.written_off:
            found = self._written_off(self.write_off)
        if found.written_off:
            words += f"; {_figure(found.written_off)} was written off"
        return replace(found, words=words)

    def _keep(self) -> None:
        """Keep what must count as spent before the frozen data set goes on."""
        need, chain = self.case.need, self.case.chain
        if replace(need, is_told=True) == kept_need(chain):
            return
        body = CheckpointBody(
            frozen=True,
            reason=self._why,
            needed=need.units,
            witnessed=need.witnessed,
            at_least=need.at_least,
            heard=tuple(sorted(need.heard)),
        )
        self._end = self.ledger.write(self._name, body, after=self._end).entry.hash

    def _charge_again(self, spend: Spend) -> None:
        chain, units, blocks = self.case.chain, spend.units, spend.blocks
        if (own := _own_reserve(chain, spend.id)) is not None:
            # Nobody signed the amount that a report names, and this chain knows the reserve's own.
            units, blocks = max(units, own.units), own.blocks
        # A block may be lost too: then the whole table is charged, which is never less.
        known = all(name in chain.state.blocks for name in blocks)
        self._end = self.ledger.charge_elsewhere(
            self._name,
            units,
            f"entry {spend.number} of the lost chain",
            witness=spend.hash,
            blocks=blocks if known else (),
            reserve=spend.id,
            after=self._end,
        ).hash
        self.found = replace(self.found, charged_again=(*self.found.charged_again, spend))

    def _written_off(self, write_off: WriteOff) -> Recovery:
        self._end = self.ledger.charge_elsewhere(
            self._name, write_off.units, write_off.reason, write_off=True, after=self._end
        ).hash
        self.found = replace(self.found, written_off=write_off.units)
        return self.found

    def _decided(self) -> Recovery:
        """Let the data set go on where all is accounted for, or keep it frozen."""
        chain = self._as_left()
        kept, now = kept_need(chain), counted(chain)
        gap, unproven = max(0, kept.at_least - now), max(0, kept.units - now)
        if self.write_off is None:
            waits = bool(unproven) or not self.case.is_told
        else:
            # Nobody's word is of what others showed after he gave it.
            waits = not kept.heard <= self.known or (gap > 0 and self.found.written_off > 0)
        if waits:
            words = _waiting(chain, gap, unproven)
            return replace(
                self.found, frozen=True, missing=gap, unproven=unproven, words=words
            )  # fmt: skip
        if self.write_off is not None:
            self._by_word(self.write_off, gap)
        return self._goes_on(kept)

    def _by_word(self, write_off: WriteOff, gap: int) -> None:
        """Write off what an owner says; too little leaves the data set frozen."""
        if self.found.written_off:
            return
        if write_off.units < gap:
            currency = self.case.chain.state.facts.currency
            raise ParameterError(
                "write_off", write_off.given,
                f"is below what is missing, {currency} {_figure(gap)}",
                f"Write off at least {fraction_of(gap)}, or give more reports",
            )  # fmt: skip
        if write_off.units:
            self._written_off(write_off)

    def _as_left(self) -> Chain:
        """The chain as this recovery left it."""
        chain = self.ledger.chain(self._name)
        if chain.entries[-1].hash != self._end:
            raise ChainGrown
        return chain

    def _goes_on(self, kept: Need) -> Recovery:
        found = self.found
        words = several(len(found.charged_again), "lost reserve counts", "lost reserves count")
        words += " again"
        if found.written_off:
            words += f", and {_figure(found.written_off)} was written off"
        # Unlike an owner's bare word this says what was accounted for.
        self.ledger.checkpoint(
            self._name,
            frozen=False,
            reason=self.write_off.reason if self.write_off else words,
            witnessed=kept.witnessed,
            heard=tuple(sorted(kept.heard)),
            after=self._end,
        )
        return replace(found, words=f"it goes on: {words}")


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
        need = need_of(chain, [one for one, _ in others])
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
    try:
        added = extend(store, whole, name)
    except ParameterError:
        # Somebody else wrote meanwhile, so it is no beginning any more. It is compared as it is.
        return 0
    if added:
        ledger.note(name, f"{_entries(added)} restored from an export ({testimony.source})")
    return added


def _all_lost(chain: Chain, testimonies: Iterable[Testimony]) -> list[Spend]:
    """Lost spending, each reserve once."""
    found = {spend.id: spend for one in testimonies for spend in _lost(chain, one)}
    return list(found.values())


def _own_reserve(chain: Chain, reserve: str) -> Spend | None:
    """Budget that this chain itself set aside under a reserve's name, voided or not."""
    entries = (e for e in chain.entries if e.kind is Kind.RESERVE and e.id == reserve)
    return next((spend_of(entry, chain.state.facts.cap) for entry in entries), None)


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


def _entries(count: int) -> str:
    return several(count, "entry was", "entries were")


def _figure(units: int) -> str:
    return figure_charged(fraction_of(units))
