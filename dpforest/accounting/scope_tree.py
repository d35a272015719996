"""The composition tree: a scope's place in it, its state, and the tree as frozen data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Flag, auto
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self

from dpforest.accounting.books import Books
from dpforest.accounting.certificate_record import CertificateRecord
from dpforest.accounting.certificates import Certificate
from dpforest.accounting.ledger import LedgerEntry, LossRecord, ScopeKind, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import exact_text
from dpforest.accounting.requests import Granted
from dpforest.exceptions import ParameterTypeError


class State(Flag):
    """End of a scope; one that takes requests has none of these."""

    OPEN = 0
    CLOSED = auto()
    #: Its reserve stays spent.
    KEPT = auto()
    #: An error ended it after something was granted, or while records were read.
    FAILED = auto()


class ScopeNode:
    """A scope as others of its tree see it: what is around it, what is in it, what it counts as."""

    kind: ClassVar[ScopeKind]

    def __init__(
        self,
        books: Books,
        parent: ScopeNode | None,
        label: str,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
    ) -> None:
        self._books = books
        self._parent = parent
        self._label = label
        self._reserve = reserve
        self._adaptive = adaptive
        self._entries: list[Granted] = []
        self._children: dict[str, ScopeNode] = {}
        self._inner = self._composed = self._charged = NO_LOSS
        self._state = State.OPEN

    # -- reading ------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Name among its siblings."""
        return self._label

    @property
    def path(self) -> tuple[str, ...]:
        """Labels from the outermost scope to this one."""
        return () if self._parent is None else (*self._parent.path, self._label)

    @property
    def reserve(self) -> PrivacyLoss | None:
        """Loss that was set aside when it was opened."""
        return self._reserve

    @property
    def certificate(self) -> Certificate | None:
        """Of a list that it grants, where that is composed as a whole; see ``lists``."""
        return None

    @property
    def max_records_per_unit(self) -> int:
        """Most records of a privacy unit, where its loss counts in units; see ``units``."""
        return 1

    @property
    def loss(self) -> PrivacyLoss:
        """Loss that everything granted in it composes to, exactly, without unspent reserve."""
        return self._composed

    @property
    def charged(self) -> PrivacyLoss:
        """Loss that its parent counts: ``loss``, or more where a reserve is held."""
        return self._charged

    @property
    def is_open(self) -> bool:
        """True if it and all scopes around it still take requests."""
        return all(scope._state is State.OPEN for scope in self._around())

    def record(self) -> ScopeRecord:
        """Return the scope, its entries and its children as frozen data."""
        with self._books.lock:
            return self._record([0])

    # -- the tree -----------------------------------------------------------------------

    def _around(self) -> Iterator[ScopeNode]:
        """It and all scopes around it, the root last."""
        scope: ScopeNode | None = self
        while scope is not None:
            yield scope
            scope = scope._parent

    def _root(self) -> ScopeNode:
        return self if self._parent is None else self._parent._root()

    def _has_granted(self) -> bool:
        """True if anything was granted in it or in a scope inside."""
        return bool(self._entries) or any(c._has_granted() for c in self._children.values())

    def _is_held_alone(self) -> bool:
        """True if it, or a scope around it, is the one beside which nothing is granted."""
        alone = self._books.alone
        return any(place is alone and place._charged != NO_LOSS for place in self._around())

    def _is_adaptive(self) -> bool:
        """True if what is spent in it depends on released values."""
        return self._adaptive

    def _spends_adaptively(self) -> bool:
        """True if it lies in an adaptive scope or holds one.

        No rho may then rest on a pure epsilon as if that had been fixed beforehand.
        """
        return any(scope._is_adaptive() for scope in self._around()) or self._holds_adaptive()

    def _holds_adaptive(self) -> bool:
        children = self._children.values()
        return any(child._is_adaptive() or child._holds_adaptive() for child in children)

    def _name(self) -> str:
        return " / ".join(self.path) or "accountant"

    # -- writing it down ----------------------------------------------------------------

    def _probabilities(self) -> dict[str, Fraction]:
        return {}

    def _record(self, counter: list[int]) -> ScopeRecord:
        path, certificate = self.path, self.certificate
        entries = tuple(_entry_record(entry, path, counter) for entry in self._entries)
        # Threads may open siblings in any order; the books are sorted by name instead.
        ordered = sorted(self._children.values(), key=lambda child: _natural(child._label))
        children = tuple(child._record(counter) for child in ordered)
        return ScopeRecord(
            label=self._label,
            kind=self.kind,
            probabilities={k: exact_text(p) for k, p in self._probabilities().items()},
            composed=LossRecord.of(self._composed),
            charged=LossRecord.of(self._charged),
            reserve=None if self._reserve is None else LossRecord.of(self._reserve),
            adaptive=self._adaptive,
            certificate=None if certificate is None else CertificateRecord.of(certificate),
            records_per_unit=self.max_records_per_unit,
            closed=State.CLOSED in self._state,
            reserve_kept=State.KEPT in self._state,
            failed=State.FAILED in self._state,
            entries=entries,
            children=children,
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ParameterTypeError(
            "scope",
            self,
            "belongs to a live accountant and cannot be pickled",
            "Keep scope.record() instead",
        )

    def __repr__(self) -> str:
        return f"<{self.kind} scope {self._name()!r}: {self._composed}>"


def _entry_record(entry: Granted, path: tuple[str, ...], counter: list[int]) -> LedgerEntry:
    index = counter[0]
    counter[0] += 1
    return LedgerEntry(
        index=index,
        path=path,
        role=entry.role,
        mechanism=entry.event.mechanism,
        parameters=entry.event.parameters,
        cells=entry.cells,
        level=entry.level,
        epsilon=exact_text(entry.loss.epsilon),
        rho=exact_text(entry.loss.rho),
        delta=exact_text(entry.loss.delta),
    )


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Sort key by which "tree 2" comes before "tree 10"."""
    parts = re.split(r"(\d+)", label)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]
