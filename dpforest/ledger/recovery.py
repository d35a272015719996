"""Bringing a ledger up to date that is behind, or was forked, with what people hold.

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

**Several owners may recover at once**, each with other witnesses. What must count is worked out
from the whole chain, and written only where the chain still ends as it was read: the store looks at
its end under the lock under which it appends. Else it is worked out anew, so what any of them heard
is in what the last of them asks for. An owner's word is of what was heard when he gave it.

What the lost chain held after the last entry that a witness names, nobody can know here. That is
why officers keep reports, and why exports and the page exist.

**A file that lost its** ``-wal`` says so itself until something is written. So the first recovery
of one of its data sets freezes all of them, each of which may lack its last entries, or writes
nothing.

Held by tests/ledger/test_recovery.py, and the claim by test_recovery_claim.py on random histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpforest.accounting.figures import figure_charged
from dpforest.accounting.rationals import to_rational
from dpforest.exceptions import ParameterError
from dpforest.ledger.actors import check_owner
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.ledger.attestations import Attestation, Spend, read_attestations, spend_of
from dpforest.ledger.base import ChainGrown
from dpforest.ledger.bodies import CheckpointBody, ImportBody, Kind
from dpforest.ledger.chain import Chain, row_of
from dpforest.ledger.comparing import GIVE, Finding, asked_of, compared, lost_of
from dpforest.ledger.core import LedgerCore
from dpforest.ledger.exporting import extend, is_prefix
from dpforest.ledger.guarantee_marks import all_marked
from dpforest.ledger.needs import Need, counted, kept_need, need_of
from dpforest.ledger.store import Store
from dpforest.ledger.words import several

_SAY = (
    "Give an export of the lost chain (--witness FILE, witnesses=[…]). Or let an owner write off "
    "what was spent here since the restore, which is 0 if no fit ran since: --write-off AMOUNT "
    "--reason WHY, or write_off= and reason="
)


#: Why all data sets of a file are frozen.
_LOST_LOG = "its -wal is lost, so its last entries may be missing"


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
    attestations = asked_of(ledger, read_attestations(witnesses), (data_set,))
    chain = ledger.chain(data_set)
    check_owner(chain.state, ledger.actor)
    if store.lacks_entries:
        _freeze_all(ledger, store)
        chain = ledger.chain(data_set)
    known = kept_need(chain).lost_hashes.union(*(one.hashes.values() for one in attestations))
    found = Recovery(data_set, sum(_restored(ledger, store, one) for one in attestations))
    while True:
        step = _Step(ledger, found, attestations, write_off, known)
        try:
            return step.taken()
        except ChainGrown:
            # Somebody else wrote, such as another owner who recovers with other witnesses. What he
            # wrote stands, and all is worked out anew with it.
            found = step.found


def _freeze_all(ledger: LedgerCore, store: Store) -> None:
    """Freeze all data sets, whose last entries may be missing, or write nothing.

    Who is stopped between two of them begins again: the file stays marked until all are frozen.
    """
    body = CheckpointBody(frozen=True, reason=_LOST_LOG)
    names = [name for name in ledger.data_sets if not ledger.chain(name).state.frozen]
    for name in names:
        ledger.check_written(name, body)
    with store.freezing():
        for name in names:
            ledger.write(name, body)


class _Step:
    """A recovery from one reading of the chain on.

    Every entry but the freeze, which is safe at any time, is written only where the chain ends as
    it was read, so nothing is decided by what is no longer so.

    Attributes
    ----------
    found : Recovery
        What this recovery has done so far.
    """

    def __init__(
        self,
        ledger: LedgerCore,
        found: Recovery,
        attestations: Sequence[Attestation],
        write_off: WriteOff | None,
        known: frozenset[str],
    ) -> None:
        self.ledger, self.found = ledger, found
        self._name, self._attestations = found.data_set, attestations
        self.write_off, self._known = write_off, known
        self._read()
        # As the witnesses found it, before an entry of this recovery stands in it.
        self._why = self.comparison.why

    def _read(self) -> None:
        self.comparison = _Comparison.of(self.ledger.chain(self._name), self._attestations)
        self._end = self.comparison.chain.entries[-1].hash

    def taken(self) -> Recovery:
        """Result of the recovery; ChainGrown where somebody else wrote meanwhile."""
        if self.comparison.is_settled:
            return self._settled()
        if not self.comparison.chain.state.frozen:
            # Before anything is added up: a fit that others begin meanwhile is one of this chain.
            body = CheckpointBody(frozen=True, reason=self._why)
            self.ledger.write(self._name, body)
            self._read()
        # In this order a crash anywhere leaves the data set frozen, or charged too much.
        self._keep()
        for spend in self.comparison.lost:
            self._charge_again(spend)
        return self._decided()

    def _settled(self) -> Recovery:
        """Result where no witness shows that anything is missing."""
        found = self.found
        words = "nothing is missing"
        if found.restored:
            words = f"{_entries(found.restored)} restored from an export"
        if self.write_off and self.write_off.units and not found.written_off:
            # Nothing rests on where it stands, and while fits run the chain never stands still.
            found = self._written_off(self.write_off, after="")
        if found.written_off:
            words += f"; {_figure(found.written_off)} was written off"
        return replace(found, words=words)

    def _keep(self) -> None:
        """Keep what must count as spent before the frozen data set goes on."""
        need, chain = self.comparison.need, self.comparison.chain
        if replace(need, is_determined=True) == kept_need(chain):
            return
        body = CheckpointBody(
            frozen=True,
            reason=self._why,
            needed=need.units,
            witnessed=need.witnessed,
            at_least=need.at_least,
            heard=tuple(sorted(need.lost_hashes)),
        )
        self._end = self.ledger.write(self._name, body, after=self._end).entry.hash

    def _charge_again(self, spend: Spend) -> None:
        chain, units, blocks = self.comparison.chain, spend.units, spend.blocks
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
            guarantee=spend.guarantee or None,
            after=self._end,
        ).hash
        self.found = replace(self.found, charged_again=(*self.found.charged_again, spend))

    def _written_off(self, write_off: WriteOff, after: str) -> Recovery:
        self._end = self.ledger.charge_elsewhere(
            self._name, write_off.units, write_off.reason, write_off=True, after=after
        ).hash
        self.found = replace(self.found, written_off=write_off.units)
        return self.found

    def _decided(self) -> Recovery:
        """Let the data set go on where all is accounted for, or keep it frozen."""
        chain = self._as_left()
        kept, now = kept_need(chain), counted(chain)
        gap, unproven = max(0, kept.at_least - now), max(0, kept.units - now)
        if self.write_off is None:
            waits = bool(unproven) or not self.comparison.is_determined
        else:
            # Nobody's word is of what others showed after he had given it.
            waits = not kept.lost_hashes <= self._known or (gap > 0 and self.found.written_off > 0)
        if waits:
            words = _waiting(chain, gap, unproven)
            return replace(
                self.found, frozen=True, missing=gap, unproven=unproven, words=words
            )  # fmt: skip
        if self.write_off is not None:
            self._by_owner_statement(self.write_off, gap)
        return self._goes_on(kept)

    def _by_owner_statement(self, write_off: WriteOff, gap: int) -> None:
        """Write off what an owner says; too little leaves the data set frozen."""
        if self.found.written_off:
            return
        if write_off.units < gap:
            currency = self.comparison.chain.state.facts.currency
            raise ParameterError(
                "write_off", write_off.given,
                f"is below what is missing, {currency} {_figure(gap)}",
                f"Write off at least {fraction_of(gap)}, or give more reports",
            )  # fmt: skip
        if gap == 0 and self._was_written(write_off):
            self.found = replace(self.found, written_off=write_off.units)
        elif write_off.units:
            self._written_off(write_off, self._end)

    def _was_written(self, write_off: WriteOff) -> bool:
        """True if a recovery that was cut short wrote this very word down, before it went on."""
        for entry in reversed(self.comparison.chain.entries):
            body = entry.body
            if isinstance(body, CheckpointBody) and not body.frozen:
                return False
            if isinstance(body, ImportBody) and body.write_off:
                said = (entry.actor, body.units, body.source)
                return said == (self.ledger.actor, write_off.units, write_off.reason)
        return False

    def _as_left(self) -> Chain:
        """The chain as this recovery left it."""
        chain = self.ledger.chain(self._name)
        if chain.entries[-1].hash != self._end:
            raise ChainGrown(self._end)
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
            heard=tuple(sorted(kept.lost_hashes)),
            after=self._end,
        )
        return replace(found, words=f"it goes on: {words}")


@dataclass(frozen=True)
class _Comparison:
    """A chain and what witnesses show that it has not."""

    chain: Chain
    lost: list[Spend]
    others: list[Finding]
    need: Need

    @classmethod
    def of(cls, chain: Chain, attestations: Sequence[Attestation]) -> _Comparison:
        compares = [(one, compared(chain, one)) for one in attestations]
        others = [(one, found) for one, found in compares if found.verdict != "agrees"]
        need = need_of(chain, [one for one, _ in others])
        return cls(chain, _all_lost(chain, attestations), [found for _, found in others], need)

    @property
    def is_determined(self) -> bool:
        """True if witnesses tell all that is missing."""
        return self.need.is_determined and bool(self.others)

    @property
    def is_settled(self) -> bool:
        """True if nothing is missing, as far as witnesses show."""
        open_ = self.lost or self.chain.state.frozen or _is_new(self.others)
        return not open_ and self.need.is_determined and self.need.units <= counted(self.chain)

    @property
    def why(self) -> str:
        """Reason of a freeze, in printable words."""
        wrong = [f"{found.source} {found.words}" for found in self.others]
        why = "; ".join(wrong)[:900] or self.chain.state.why_frozen
        return "".join(letter if letter.isprintable() else "?" for letter in why)


def _is_new(findings: Iterable[Finding]) -> bool:
    return any(found.verdict in ("behind", "forked") for found in findings)


def _restored(ledger: LedgerCore, store: Store, attestation: Attestation) -> int:
    """Write the rest of an export back, where the ledger is its beginning."""
    whole, name = attestation.whole, attestation.data_set
    if whole is None or not is_prefix(store.rows(name), [row_of(e) for e in whole.entries]):
        return 0
    try:
        added = extend(store, whole, name)
    except ParameterError:
        # Somebody else wrote meanwhile, so it is no beginning any more. It is compared as it is.
        return 0
    if added:
        ledger.note(name, f"{_entries(added)} restored from an export ({attestation.source})")
    return added


def _all_lost(chain: Chain, attestations: Iterable[Attestation]) -> list[Spend]:
    """Lost spending, each reserve once."""
    found: dict[str, Spend] = {}
    for spend in (spend for one in attestations for spend in lost_of(chain, one)):
        other = found.get(spend.id, spend)
        mark = all_marked((other.guarantee, spend.guarantee), 2)
        found[spend.id] = replace(spend, guarantee=mark)
    return list(found.values())


def _own_reserve(chain: Chain, reserve: str) -> Spend | None:
    """Budget that this chain itself set aside under a reserve's name, voided or not."""
    entries = (e for e in chain.entries if e.kind is Kind.RESERVE and e.id == reserve)
    return next((spend_of(entry, chain.state.facts.cap) for entry in entries), None)


def _waiting(chain: Chain, gap: int, unproven: int) -> str:
    currency = chain.state.facts.currency
    if gap:
        why = f"{currency} {_figure(gap)} is missing. {GIVE}"
    elif unproven:
        why = (
            "no report shows which fits ran here since the restore, so up to "
            f"{currency} {_figure(unproven)} may be missing. {_SAY}"
        )
    elif chain.state.blocks:
        why = f"what is missing in each block cannot be told from reports. {GIVE}"
    else:
        why = f"no witness says that nothing else is missing ({chain.state.why_frozen}). {GIVE}"
    return f"it stays frozen: {why}"


def _entries(count: int) -> str:
    return several(count, "entry was", "entries were")


def _figure(units: int) -> str:
    return figure_charged(fraction_of(units))
