"""Core of a ledger: a method for each kind of entry.

Each checks its arguments, makes a body and writes it (:mod:`dpforest.ledger.base`); the rules
decide what stands (:mod:`dpforest.ledger.rules`).

Held by tests/ledger/test_core.py and tests/ledger/test_bad_input.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dpforest.accounting.figures import figure_cap
from dpforest.accounting.rationals import to_rational
from dpforest.accounting.units import check_records_per_unit
from dpforest.checks import check_integer
from dpforest.domain.domain import Domain
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.ledger.amounts import cap_in_units, fraction_of
from dpforest.ledger.approvals import charge_digest
from dpforest.ledger.base import LedgerBase, checked_id
from dpforest.ledger.bodies import (
    VERSION,
    ApproveBody,
    BlockBody,
    CheckpointBody,
    ImportBody,
    NoteBody,
    OpenBody,
    PolicyBody,
    RequestBody,
    ReserveBody,
    RevokeBody,
    SettleBody,
    StartBody,
    VoidBody,
)
from dpforest.ledger.entries import Entry
from dpforest.ledger.facts import cap_facts, domain_digest
from dpforest.ledger.guarantee_marks import import_mark, settled_mark
from dpforest.ledger.plan_files import Charge
from dpforest.ledger.rules import token_digest
from dpforest.ledger.state import DataSetState
from dpforest.relations import relations_of
from dpforest.report.guarantee import Status
from dpforest.signatures import is_hex

#: Where a reserve's and a request's IDs are found, and what a reserve's token is.
_RESERVE_REPAIR = "Give the id that ledger.reserve(...) returned; the status names those that stand"
_TOKEN_REPAIR = (
    "Give the token that was handed out beside the reserve's id; an owner gives a reason instead"
)
_REQUEST_REPAIR = "Give the id that ledger.request(...) returned; the status names those that wait"


@dataclass(frozen=True)
class Reserved:
    """Budget that is set aside, and the secret by which its process may void it.

    Attributes
    ----------
    entry : Entry
        The ``reserve`` entry; its ``id`` names the reserve.
    state : DataSetState
        After that entry.
    token : str
        64 hexadecimal digits; kept in memory only.
    """

    entry: Entry
    state: DataSetState
    token: str

    @property
    def id(self) -> str:
        """Name of the reserve."""
        return self.entry.id

    def __repr__(self) -> str:
        return f"Reserved(id={self.id!r})"


class LedgerCore(LedgerBase):
    """A ledger as far as entries go; :class:`dpforest.BudgetLedger` is what people use."""

    # -- data sets ----------------------------------------------------------------------

    def register(
        self,
        data_set: str,
        *,
        domain: Domain,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        currency: Literal["rho", "epsilon"] = "rho",
        unit: str = "one record",
        max_records_per_unit: int = 1,
        max_blocks_per_unit: int | None = None,
        owners: Mapping[str, str] | Sequence[str] | None = None,
        approvals: int = 0,
        entry_id: str | None = None,
    ) -> Entry:
        """Register a data set, once for its life.

        Nothing can detect that one table is registered twice, here or in two ledgers: then each
        guarantee holds for what was spent in its own book only, and the two add up.

        Parameters
        ----------
        data_set : str
            Name.
        domain : Domain
            Public facts about the table, declared and not only drafted. A fit with another domain
            is refused.
        epsilon, delta : number
            The guarantee over the data set's life.
        rho : number, optional
            The cap in rho, in place of ``epsilon``: then no campaign stands by a certificate
            alone, which says nothing of rho.
        currency : {"rho", "epsilon"}
            What is added up. Of ``"rho"`` the cap is the rho that converts to (epsilon, delta);
            ``"epsilon"`` is pure, and refuses every fit with a delta.
        unit : str
            What a unit of privacy is, for people.
        max_records_per_unit : int
            Most records of a unit in what any one fit reads: the whole table, or all blocks that
            it names together.
        max_blocks_per_unit : int, optional
            Most blocks that a unit's records are in; needed for blocks by arrival.
        owners : mapping of str to str, or sequence of str, optional
            Public key of each owner, or an empty text. By default whoever registers it.
        approvals : int
            Number of owners, other than who asks, that must approve of a fit.
        entry_id : str, optional
            UUID of the entry; the same one is never written twice.

        Returns
        -------
        Entry

        Raises
        ------
        ParameterTypeError
            If the domain, the owners or a number are of a wrong kind.
        ParameterError
            If the domain is a draft, a parameter breaks a rule, or the name is taken.
        LedgerUnreachable, LedgerDamaged
        """
        fingerprint = domain_digest(domain)
        if not domain.is_declared:
            raise ParameterError(
                "domain", "a draft",
                "was drafted from records and is not confirmed: a guarantee for life cannot start "
                "with what was read off them",
                "Declare the public facts, and say so with Domain.confirmed",
            )  # fmt: skip
        per_unit = check_records_per_unit(max_records_per_unit)
        body = self._body(
            OpenBody,
            version=VERSION,
            ledger=self.id,
            domain=fingerprint,
            relation=str(relations_of(per_unit)[0]),
            unit=unit,
            max_records_per_unit=per_unit,
            max_blocks_per_unit=_blocks_per_unit(max_blocks_per_unit),
            owners=self._owners(owners),
            approvals=check_integer(approvals, "approvals", 0),
            **cap_facts(currency, epsilon, delta, rho),
        )
        return self._write(data_set, body, entry_id)

    def _owners(self, owners: Any) -> dict[str, str]:
        if owners is None:
            return {self._actor: self._signer.public_key if self._signer else ""}
        if isinstance(owners, Mapping):
            return dict(owners)
        if isinstance(owners, str) or not isinstance(owners, Sequence):
            raise ParameterTypeError(
                "owners", owners, "must be names, or a mapping of names to public keys",
                'Write owners={"olga": ""}',
            )  # fmt: skip
        return dict.fromkeys(owners, "")

    # -- spending -----------------------------------------------------------------------

    def reserve(
        self, data_set: str, charge: Charge, *, request: str = "", entry_id: str | None = None
    ) -> Reserved:
        """Set budget aside for the fits of a charge; it counts as spent from now on.

        Parameters
        ----------
        data_set : str
        charge : Charge
        request : str
            Id of the request that was approved, where the data set asks for approvals.
        entry_id : str, optional
            UUID of the reserve.

        Returns
        -------
        Reserved
            Durable when it is returned. A crash from here on leaves it spent.

        Raises
        ------
        BudgetExceeded
            If it does not fit under the cap, a block's cap or the actor's quota.
        ApprovalMissing
            If the data set asks for approvals, and this charge has too few.
        LedgerFrozen, LedgerUnreachable, LedgerDamaged, ParameterError
        """
        token = secrets.token_hex(32)
        body = self._body(ReserveBody, charge=charge, request=request, token=token_digest(token))
        written = self.write(data_set, body, entry_id)
        return Reserved(written.entry, written.state, token)

    def start(
        self, data_set: str, reserve: str, part: int = 0, *, entry_id: str | None = None
    ) -> Entry:
        """Begin a fit of a reserve. Durable when it is returned; call it before a record is read.

        Parameters
        ----------
        data_set, reserve : str
        part : int
            Which of the reserve's fits, from 0. Each begins once.
        entry_id : str, optional
        """
        return self._write(data_set, self._body(StartBody, reserve=reserve, part=part), entry_id)

    def settle(
        self,
        data_set: str,
        reserve: str,
        part: int = 0,
        outcome: Literal["done", "failed"] = "done",
        *,
        guarantee: Status | None = None,
        entry_id: str | None = None,
    ) -> Entry:
        """Note that a fit ended. Nothing comes back, whatever it used.

        Parameters
        ----------
        data_set, reserve : str
        part : int
        outcome : {"done", "failed"}
        guarantee : {"holds", "demonstration", "void", "none"}, optional
            Status of the fit's own guarantee, as ``forest.guarantee_.status`` or its report says.
            Where nobody says so, the ledger notes of a fit that is done that it is not known.
        entry_id : str, optional
        """
        unsaid = "unknown" if outcome == "done" else ""
        mark = unsaid if guarantee is None else settled_mark(guarantee)
        body = self._body(SettleBody, reserve=reserve, part=part, outcome=outcome, guarantee=mark)
        return self._write(data_set, body, entry_id)

    def void(
        self,
        data_set: str,
        reserve: str,
        *,
        token: str = "",
        reason: str = "",
        entry_id: str | None = None,
    ) -> Entry:
        """Give a reserve back of which no fit began: by its token, or as an owner with a reason.

        Parameters
        ----------
        data_set, reserve : str
        token : str
            The reserve's secret, as :meth:`reserve` returned it.
        reason : str
            Needed where an owner gives it back without the token.
        entry_id : str, optional

        Raises
        ------
        ParameterError
            If there is no such reserve, a fit of it has begun, the token is not its own, or who
            asks without one is no owner or gives no reason.
        LedgerUnreachable, LedgerDamaged
        """
        checked_id(reserve, "reserve", _RESERVE_REPAIR)
        if token != "" and not is_hex(token, 32):
            # Not shown: it may be a token all but for a letter.
            raise ParameterError("token", None, "is not 64 hexadecimal digits", _TOKEN_REPAIR)
        body = self._body(VoidBody, reserve=reserve, token=token, reason=reason)
        return self._write(data_set, body, entry_id)

    # -- approvals ----------------------------------------------------------------------

    def request(self, data_set: str, charge: Charge, *, entry_id: str | None = None) -> Entry:
        """Ask owners to approve of a charge.

        Parameters
        ----------
        data_set : str
        charge : Charge
            Of :meth:`BudgetLedger.charge`, or read from a plan file.
        entry_id : str, optional
            UUID of the request.

        Returns
        -------
        Entry
            Its ``id`` names the request: to those who approve of it, and to the reserve.

        Raises
        ------
        BudgetExceeded
            If it stands by a certificate of more than the data set declared.
        LedgerFrozen, LedgerUnreachable, LedgerDamaged, ParameterError
        """
        return self._write(data_set, self._body(RequestBody, charge=charge), entry_id)

    def approve(
        self, data_set: str, request: str, charge: str | None = None, *, entry_id: str | None = None
    ) -> Entry:
        """Approve of a request as one of its owners.

        Parameters
        ----------
        data_set, request : str
        charge : str, optional
            Digest of the charge that is approved of, as ``status`` shows it; by default the one
            that the request has now.
        entry_id : str, optional
        """
        checked_id(request, "request", _REQUEST_REPAIR)
        if charge is None:
            pending = self._end(data_set).state.requests.get(request)
            charge = charge_digest(pending.charge) if pending else "0" * 64
        body = self._body(ApproveBody, request=request, charge=charge)
        return self._write(data_set, body, entry_id)

    def revoke(
        self, data_set: str, request: str, reason: str = "", *, entry_id: str | None = None
    ) -> Entry:
        """Take back one's approval of a request that was not used, or a request.

        A request is taken back by whoever made it, or by an owner who has not approved of it.

        Parameters
        ----------
        data_set, request : str
        reason : str
            In words, for the chain.
        entry_id : str, optional
        """
        checked_id(request, "request", _REQUEST_REPAIR)
        body = self._body(RevokeBody, request=request, reason=reason)
        return self._write(data_set, body, entry_id)

    # -- owners -------------------------------------------------------------------------

    def policy(
        self,
        data_set: str,
        *,
        cap: Any = None,
        block_caps: Mapping[str, Any] | None = None,
        quotas: Mapping[str, Any] | None = None,
        approvals: int | None = None,
        add_owners: Mapping[str, str] | None = None,
        remove_owners: Sequence[str] = (),
        reason: str = "",
        entry_id: str | None = None,
    ) -> Entry:
        """Change rules of a data set, as one of its owners. What is not named stays as it is.

        One owner is enough, also to ask for fewer approvals: the chain shows who did so, and why.

        Parameters
        ----------
        data_set : str
        cap : number, optional
            A lower cap, in the currency of the data set. A cap is never raised, and nothing is
            ever renewed by a date.
        block_caps : mapping of str to number, optional
            Lower caps of blocks.
        quotas : mapping of str to number or None, optional
            Most that each analyst may spend, within the cap, and above it only where there are
            blocks. None lifts it. A quota is a rule of the house and no guarantee: analysts who
            share what they learn learn all of it.
        approvals : int, optional
        add_owners : mapping of str to str, optional
        remove_owners : sequence of str
        reason : str
        entry_id : str, optional
        """
        body = self._body(
            PolicyBody,
            cap=_cap(cap, "cap"),
            block_caps=_caps(block_caps, "block_caps"),
            quotas=_caps(quotas, "quotas"),
            approvals=approvals,
            add_owners={} if add_owners is None else add_owners,
            remove_owners=_names(remove_owners, "remove_owners"),
            reason=reason,
        )
        self._check_quotas(data_set, body)
        return self._write(data_set, body, entry_id)

    def _check_quotas(self, data_set: str, body: PolicyBody) -> None:
        """Refuse quotas that limit nobody. No rule of chains: earlier ones may have such.

        What one analyst spends on several blocks adds up for him, and not under the cap.
        """
        if not any(body.quotas.values()):
            return
        state = self._end(data_set).state
        cap = state.cap if body.cap is None else body.cap
        for name, most in body.quotas.items():
            if most is not None and most > cap and not state.blocks:
                raise ParameterError(
                    f"quotas[{name!r}]", figure_cap(fraction_of(most)),
                    "is above the cap of the data set, which is "
                    f"{figure_cap(fraction_of(cap))} in {state.facts.currency}, so it limits "
                    "nobody",
                    "Give at most the cap, or None for no quota; where the table is kept in "
                    "blocks, add these first",
                )  # fmt: skip

    def add_block(
        self,
        data_set: str,
        name: str,
        *,
        cap: Any,
        by: Literal["arrival", "unit"] = "arrival",
        entry_id: str | None = None,
    ) -> Entry:
        """Add a block to a table that grows, as one of its owners.

        Parameters
        ----------
        data_set, name : str
        cap : number
            Most that the block may be charged, in the currency of the data set; what the whole
            table was charged before counts too.
        by : {"arrival", "unit"}
            Which records are in it: those that came in some time, or those whose unit has some
            hash. Decided by each record alone, never by what others are there.
        entry_id : str, optional
        """
        body = self._body(BlockBody, name=name, by=by, cap=_cap(cap, "cap"))
        return self._write(data_set, body, entry_id)

    def charge_elsewhere(
        self,
        data_set: str,
        units: int,
        source: str,
        *,
        witness: str = "",
        blocks: Sequence[str] = (),
        write_off: bool = False,
        reserve: str = "",
        guarantee: Status | None = None,
        entry_id: str | None = None,
        after: str = "",
    ) -> Entry:
        """Charge what was spent outside of this chain, or what it lost; it counts for ever.

        Parameters
        ----------
        data_set : str
        units : int
            In units of the currency, 2^-128 each.
        source : str
            Where it was spent, in words.
        witness : str
            Hash of the entry that a report bears witness of.
        blocks : sequence of str
            Blocks that it read; none means the whole table.
        write_off : bool
            Whether there is no witness of it.
        reserve : str
            Entry of a lost chain that is charged again here.
        guarantee : {"holds", "demonstration", "void", "none"}, optional
            Status of the guarantee that was earned with it. Where nobody says so, the ledger
            counts it among the fits of which that is not known.
        entry_id : str, optional
        after : str
            Hash of the entry that it must follow; for ``dpforest.ledger.recovery``.
        """
        body = self._body(
            ImportBody,
            units=units,
            source=source,
            witness=witness,
            blocks=_names(blocks, "blocks"),
            write_off=write_off,
            reserve=reserve,
            guarantee="" if guarantee is None else import_mark(guarantee),
        )
        return self.write(data_set, body, entry_id, after).entry

    def checkpoint(
        self,
        data_set: str,
        *,
        frozen: bool,
        reason: str,
        needed: int = 0,
        witnessed: int = 0,
        heard: Sequence[str] = (),
        entry_id: str | None = None,
        after: str = "",
    ) -> Entry:
        """Freeze a data set, or let it go on, as one of its owners.

        ``needed``, ``witnessed``, ``heard`` and ``after`` are for ``dpforest.ledger.recovery``.
        """
        body = self._body(
            CheckpointBody,
            frozen=frozen,
            reason=reason,
            needed=needed,
            witnessed=witnessed,
            heard=_names(heard, "heard"),
        )
        return self.write(data_set, body, entry_id, after).entry

    def note(self, data_set: str, text: str, *, entry_id: str | None = None) -> Entry:
        """Write some words into the chain, for people.

        Parameters
        ----------
        data_set : str
        text : str
            At most 1000 printable characters, on one line.
        entry_id : str, optional
        """
        return self._write(data_set, self._body(NoteBody, text=text), entry_id)


def _names(values: Any, parameter: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ParameterTypeError(parameter, values, "must be a list of names", 'Write ["a", "b"]')
    return tuple(values)


def _blocks_per_unit(value: Any) -> int:
    return 0 if value is None else check_integer(value, "max_blocks_per_unit", 1, 10**9)


def _cap(value: Any, parameter: str) -> int | None:
    return None if value is None else cap_in_units(to_rational(value, parameter), parameter)


def _caps(values: Any, parameter: str) -> dict[str, int | None]:
    if values is not None and not isinstance(values, Mapping):
        raise ParameterTypeError(
            parameter, values, "must be a mapping of names", 'Write {"ana": 1}'
        )
    return {name: _cap(value, f"{parameter}[{name!r}]") for name, value in (values or {}).items()}
