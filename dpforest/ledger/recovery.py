"""Comparing a ledger with what people hold, and bringing it up to date where it is behind.

A restored backup is a whole chain that ends too early. Nothing in it says so, but a report of a
fit that came later does: it names an entry that the chain has not (the ledger is *behind*), or that
is another one in it (the ledger was *forked*).

**Claim.** Let a data set have no blocks, and let witnesses speak of one lost chain. After
:func:`recover` has let the data set go on, what counts as spent is at least what was spent on the
lost chain up to the last entry that a witness speaks of, together with what was spent on this chain
since both were one.

**Proof.** A witness says what was spent by its entry (``in_all``). What was spent here since the
fork is at most what was spent here since an entry that both chains surely have; ``_required`` adds
the two, and the freeze keeps the largest sum. The data set goes on only if what counts as spent,
with all that was charged again or written off, is not below it. An export shows which entries both
have. Reports show it only where none of them names another entry of a number that this chain has:
then this chain is taken for the beginning of the lost one, which is what a restored backup is. In a
fork that only reports speak of, all of this chain counts beside all of the lost one.

A total over blocks is a maximum and bounds no single block. So a data set with blocks goes on only
with an export of the lost chain, or by its owner's word.

What came after W, nobody can know here. That is why officers keep reports, and why exports and the
page exist.

Held by tests/ledger/test_recovery.py, and the claim by test_recovery_claim.py on random histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from dpforest.accounting.figures import figure_up
from dpforest.accounting.rationals import to_rational
from dpforest.exceptions import LedgerDamaged, ParameterError
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.ledger.chain import Chain, row_of
from dpforest.ledger.core import LedgerCore
from dpforest.ledger.entries import CheckpointBody, Entry, ImportBody, Kind
from dpforest.ledger.exporting import extend, is_prefix
from dpforest.ledger.store import Store
from dpforest.ledger.testimony import Spend, Testimony, read_testimonies, spends_of

Verdict = Literal["agrees", "imported", "behind", "forked", "another ledger"]

_WORDS = {
    "behind": "names entry {number}, and the ledger ends at entry {end}",
    "forked": "names another entry {number} than the ledger has",
    "another ledger": "is of another ledger ({ledger})",
}
_GIVE = (
    "Give recover the reports that people hold, or an export; or let an owner write an amount off"
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
    verdict : {"agrees", "imported", "behind", "forked", "another ledger"}
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
            f"data set {name!r}: {count} entries are whole, {self.signed[name]} of them signed"
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
        If a witness cannot be read.
    """
    names = ledger.data_sets if data_sets is None else data_sets
    testimonies = read_testimonies(witnesses)
    chains = {name: ledger.chain(name) for name in names}
    findings = tuple(_finding(ledger, chains, one) for one in testimonies if _asked(one, data_sets))
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


def _asked(testimony: Testimony, data_sets: Sequence[str] | None) -> bool:
    return data_sets is None or testimony.data_set in data_sets


# -- comparing ------------------------------------------------------------------------------------


def _finding(ledger: LedgerCore, chains: dict[str, Chain], testimony: Testimony) -> Finding:
    chain = chains.get(testimony.data_set)
    if testimony.ledger != ledger.id:
        verdict: Verdict = "another ledger"
        words = _WORDS[verdict].format(ledger=testimony.ledger)
        return Finding(testimony.source, testimony.data_set, testimony.last, verdict, words)
    if chain is None:
        words = f"is of data set {testimony.data_set!r}, which the ledger has not"
        return Finding(testimony.source, testimony.data_set, testimony.last, "behind", words)
    return compared(chain, testimony)


def compared(chain: Chain, testimony: Testimony) -> Finding:
    """One witness of this data set against its chain."""
    source, name = testimony.source, testimony.data_set
    for number, digest in sorted(testimony.hashes.items()):
        verdict = _verdict(chain, number, digest)
        if verdict == "agrees":
            continue
        if not list(_lost(chain, testimony)):
            words = f"entry {number} was lost, and what it stands for is charged again"
            return Finding(source, name, number, "imported", words)
        words = _WORDS[verdict].format(number=number, end=chain.state.number)
        return Finding(source, name, number, verdict, words)
    words = f"agrees with the ledger at entry {testimony.last}"
    return Finding(source, name, testimony.last, "agrees", words)


def _verdict(chain: Chain, number: int, digest: str) -> Verdict:
    if number > chain.state.number:
        return "behind"
    return "agrees" if chain.entries[number].hash == digest else "forked"


def _lost(chain: Chain, testimony: Testimony) -> Iterator[Spend]:
    """Spending that a witness speaks of, and that neither the chain nor an import of it has."""
    imported = {name for body in _imports(chain) for name in (body.reserve, body.witness)}
    ids = {entry.id: entry for entry in chain.entries}
    for spend in testimony.spends:
        if spend.id in imported or spend.hash in imported:
            continue
        if _verdict(chain, spend.number, spend.hash) == "agrees":
            continue
        if spend.id not in ids or _could_come_back(chain, spend.id):
            yield spend


def _imports(chain: Chain) -> Iterator[ImportBody]:
    return (entry.body for entry in chain.entries if isinstance(entry.body, ImportBody))


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
    words : str
    """

    data_set: str
    restored: int = 0
    charged_again: tuple[Spend, ...] = ()
    written_off: int = 0
    frozen: bool = False
    missing: int = 0
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
    testimonies = _of_this(ledger, data_set, read_testimonies(witnesses))
    _check_owner(ledger, data_set)
    restored = sum(_restored(ledger, store, one) for one in testimonies)
    chain = ledger.chain(data_set)
    lost = _all_lost(chain, testimonies)
    need = _need(chain, testimonies)
    told = need.is_told and _disagree(chain, testimonies)
    if not (lost or chain.state.frozen or need.units > chain.state.total or not need.is_told):
        return _written_off(ledger, data_set, restored, write_off)
    # In this order a crash anywhere leaves the data set frozen, or charged too much.
    _freeze(ledger, chain, testimonies, need)
    for spend in lost:
        _charge_again(ledger, chain, spend)
    found = Recovery(data_set, restored, tuple(lost))
    return _decided(ledger, found, told, write_off)


def _of_this(ledger: LedgerCore, data_set: str, testimonies: list[Testimony]) -> list[Testimony]:
    for one in testimonies:
        if one.ledger != ledger.id:
            raise ParameterError(
                "witnesses", one.source, f"is of another ledger ({one.ledger})",
                "Give reports and exports of this one",
            )  # fmt: skip
    return [one for one in testimonies if one.data_set == data_set]


def _check_owner(ledger: LedgerCore, data_set: str) -> None:
    owners = ledger.chain(data_set).state.owners
    if ledger.actor not in owners:
        raise ParameterError(
            "actor", ledger.actor, f"must be an owner of data set {data_set!r} for this",
            f"Ask one of them ({', '.join(map(repr, list(owners)[:10]))})",
        )  # fmt: skip


def _restored(ledger: LedgerCore, store: Store, testimony: Testimony) -> int:
    """Write the rest of an export back, where the ledger is its beginning."""
    whole, name = testimony.whole, testimony.data_set
    if whole is None or not is_prefix(store.rows(name), [row_of(e) for e in whole.entries]):
        return 0
    added = extend(store, whole, name)
    if added:
        ledger.note(name, f"{added} entries were restored from an export ({testimony.source})")
    return added


def _all_lost(chain: Chain, testimonies: Iterable[Testimony]) -> list[Spend]:
    """Lost spending, each reserve once."""
    found = {spend.id: spend for one in testimonies for spend in _lost(chain, one)}
    return list(found.values())


def _disagree(chain: Chain, testimonies: Iterable[Testimony]) -> bool:
    return any(compared(chain, one).verdict != "agrees" for one in testimonies)


def _written_off(
    ledger: LedgerCore, data_set: str, restored: int, write_off: WriteOff | None
) -> Recovery:
    """Result where no witness shows that anything is missing."""
    words = f"{restored} entries were restored from an export" if restored else "nothing is missing"
    if write_off is None or not write_off.units:
        return Recovery(data_set, restored, words=words)
    _write_off(ledger, data_set, write_off)
    return Recovery(
        data_set, restored, written_off=write_off.units,
        words=f"{words}; {_figure(write_off.units)} was written off",
    )  # fmt: skip


def _freeze(ledger: LedgerCore, chain: Chain, testimonies: Iterable[Testimony], need: Need) -> None:
    """Stop all spending, and keep what must count as spent before it goes on."""
    kept = _kept_need(chain)
    if chain.state.frozen and (need.units, need.witnessed) == (kept.units, kept.witnessed):
        return
    wrong = [
        f"{one.source} {found.words}"
        for one in testimonies
        if (found := compared(chain, one)).verdict != "agrees"
    ]
    why = "; ".join(wrong)[:900] or chain.state.why_frozen
    ledger.checkpoint(
        chain.state.name, frozen=True, reason=why, needed=need.units, witnessed=need.witnessed
    )


def _charge_again(ledger: LedgerCore, chain: Chain, spend: Spend) -> None:
    # A block may be lost too: then the whole table is charged, which is never less.
    known = all(name in chain.state.blocks for name in spend.blocks)
    ledger.charge_elsewhere(
        chain.state.name,
        spend.units,
        f"entry {spend.number} of the lost chain",
        witness=spend.hash,
        blocks=spend.blocks if known else (),
        reserve=spend.id,
    )


def _write_off(ledger: LedgerCore, data_set: str, write_off: WriteOff) -> None:
    ledger.charge_elsewhere(data_set, write_off.units, write_off.reason, write_off=True)


def _decided(
    ledger: LedgerCore, found: Recovery, told: bool, write_off: WriteOff | None
) -> Recovery:
    """Let the data set go on where all is accounted for, or keep it frozen."""
    chain = ledger.chain(found.data_set)
    gap = max(0, _kept_need(chain).units - chain.state.total)
    if write_off is None and (gap or not told):
        return replace(found, frozen=True, missing=gap, words=_waiting(chain, gap))
    if write_off is not None and write_off.units < gap:
        raise ParameterError(
            "write_off", write_off.given,
            f"is below what is missing, {chain.state.facts.currency} {_figure(gap)}",
            f"Write off at least {fraction_of(gap)}, or give more reports",
        )  # fmt: skip
    off = write_off.units if write_off else 0
    if write_off and off:
        _write_off(ledger, found.data_set, write_off)
    return _goes_on(ledger, chain, replace(found, written_off=off), write_off)


def _waiting(chain: Chain, gap: int) -> str:
    if gap:
        why = f"{chain.state.facts.currency} {_figure(gap)} is missing"
    elif chain.state.blocks:
        why = "what is missing in each block cannot be told from reports"
    else:
        why = f"no witness says that nothing else is missing ({chain.state.why_frozen})"
    return f"it stays frozen: {why}. {_GIVE}"


def _goes_on(
    ledger: LedgerCore, chain: Chain, found: Recovery, write_off: WriteOff | None
) -> Recovery:
    words = f"{len(found.charged_again)} lost reserves count again"
    if found.written_off:
        words += f", and {_figure(found.written_off)} was written off"
    ledger.checkpoint(found.data_set, frozen=False, reason=write_off.reason if write_off else words)
    for spend in _lost_starts(chain):
        ledger.void(found.data_set, spend, reason="its fit is charged again by an import")
    return replace(found, words=f"it goes on: {words}")


def _lost_starts(chain: Chain) -> list[str]:
    """Reserves that count twice: their fits began on the lost chain, and were charged again."""
    again = {body.reserve for body in _imports(chain)}
    return [n for n, held in chain.state.reserves.items() if n in again and not held.started]


# -- how much is missing --------------------------------------------------------------------------


@dataclass(frozen=True)
class Need:
    """Amount that must count as spent.

    Attributes
    ----------
    units : int
    witnessed : int
        Largest total of a lost chain that a witness speaks of.
    is_told : bool
        Whether the witnesses can tell.
    """

    units: int = 0
    witnessed: int = 0
    is_told: bool = True


def _need(chain: Chain, testimonies: Sequence[Testimony]) -> Need:
    """Amount that must count as spent, by these witnesses and by those that were given before."""
    others = [one for one in testimonies if compared(chain, one).verdict != "agrees"]
    if chain.state.blocks:
        return Need(is_told=all(one.whole for one in others))
    kept = _kept_need(chain)
    alone = [one for one in others if not _is_in_an_export(one, others)]
    units = max((_required(chain, one, alone) for one in alone), default=0)
    witnessed = max((one.total for one in others), default=0)
    # Who speaks of as much of the lost chain may show better where both chains part.
    return Need(units, witnessed) if units and witnessed >= kept.witnessed else kept


def _is_in_an_export(testimony: Testimony, others: Iterable[Testimony]) -> bool:
    """Say if an export has the very entry of a report, and so says more."""
    exports = [one for one in others if one.whole is not None and testimony.whole is None]
    return any(testimony.hashes.items() <= one.hashes.items() for one in exports)


def _kept_need(chain: Chain) -> Need:
    """Amount that the freeze which holds asks for."""
    if chain.state.frozen:
        for entry in reversed(chain.entries):
            if isinstance(entry.body, CheckpointBody):
                return Need(entry.body.needed, entry.body.witnessed)
    return Need()


def _required(chain: Chain, testimony: Testimony, others: Iterable[Testimony]) -> int:
    """Units that must count as spent by what one witness of another chain says."""
    common = _last_common(chain, testimony, others)
    return testimony.total + _own(chain, chain.entries[common + 1 :])


def _own(chain: Chain, since: Iterable[Entry]) -> int:
    """Units that were spent in some entries, apart from what a lost chain was charged for."""
    own = {entry.id: entry.body for entry in since if entry.kind in (Kind.RESERVE, Kind.IMPORT)}
    again = {
        name
        for name, body in own.items()
        if isinstance(body, ImportBody) and (body.reserve or body.write_off)
    }
    return sum(one.units for one in spends_of(chain) if one.id in own.keys() - again)


def _last_common(chain: Chain, testimony: Testimony, others: Iterable[Testimony]) -> int:
    """Number of an entry that both chains surely have."""
    if testimony.whole is not None:
        differs = _first_other(chain, testimony)
        return max(n for n in (0, *testimony.hashes) if n == 0 or n < differs)
    # A report that agrees may be of a fit after the fork, so it shows nothing of the lost chain.
    end = _end_before_recovery(chain)
    return end if min(_first_other(chain, one) for one in others) > end else 0


def _first_other(chain: Chain, testimony: Testimony) -> int:
    """Number of the first entry that a witness speaks of and this chain has not."""
    hashes = testimony.hashes.items()
    return min(n for n, digest in hashes if _verdict(chain, n, digest) != "agrees")


def _end_before_recovery(chain: Chain) -> int:
    """Number of the last entry before anything of a lost chain was charged again."""
    freezes = [
        entry.number
        for entry in chain.entries
        if isinstance(entry.body, CheckpointBody) and entry.body.frozen and entry.body.needed
    ]
    return freezes[0] - 1 if freezes else chain.state.number


def _figure(units: int) -> str:
    return figure_up(fraction_of(units))
