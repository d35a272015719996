"""Administration of a ledger: comparing with what people hold, recovering, copies and a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from dpforest.checks import write_file
from dpforest.exceptions import ParameterTypeError
from dpforest.ledger.comparing import LedgerVerification, verify
from dpforest.ledger.core import LedgerCore
from dpforest.ledger.exporting import export_text, read_export, restore
from dpforest.ledger.page import ledger_html
from dpforest.ledger.recovery import Recovery, WriteOff, recover


class LedgerAdministration(LedgerCore):
    """A ledger as officers and auditors use it; see :class:`dpforest.BudgetLedger`."""

    def verify(
        self, witnesses: Iterable[Any] = (), data_sets: Sequence[str] | None = None
    ) -> LedgerVerification:
        """Check every entry, and compare the ledger with what people hold.

        A backup that was restored, or a book that was written anew, is whole in itself. Only a
        report or an export that somebody holds shows that entries are missing.

        Parameters
        ----------
        witnesses : iterable of PrivacyReport, str or path
            Reports, their JSON, exports, or paths of such files.
        data_sets : sequence of str, optional
            By default all of them.

        Returns
        -------
        LedgerVerification

        Raises
        ------
        LedgerDamaged
            If an entry is not as it was written, or a witness names one that is not there or is
            another one.
        ParameterError
            If a witness cannot be read.
        """
        return verify(self, witnesses, _named(data_sets))

    def recover(
        self,
        data_set: str,
        witnesses: Iterable[Any] = (),
        *,
        write_off: Any = None,
        reason: str = "",
    ) -> Recovery:
        """Bring a data set up to date with what people hold, as one of its owners.

        An export that goes on where the ledger ends is written back. Else the data set is frozen,
        and every reserve that a witness speaks of and that was lost is charged again. It goes on
        once as much counts as was spent on the lost chain and since the restore. Reports do not
        show what was spent since: an export does, or an owner says it by ``write_off``.
        Where a file of SQLite lost its ``-wal`` (``incomplete=True``) all of its data sets are
        frozen first, and each is recovered by itself.

        Parameters
        ----------
        data_set : str
        witnesses : iterable of PrivacyReport, str or path
        write_off : number, optional
            So much more is charged, in the currency of the data set. 0 is an owner's word that
            nothing else was lost, and that no fit ran since the restore.
        reason : str
            Why nobody can show it.

        Returns
        -------
        Recovery
            ``frozen`` says if it waits for more, and ``missing`` for how much.

        Raises
        ------
        ParameterError
            If a witness is of another ledger or cannot be read, the actor is no owner, or
            ``write_off`` is below what is missing; then it stays frozen.
        LedgerDamaged
            If the chain itself is damaged: restore a backup or an export first.
        """
        return recover(self, self._store, data_set, witnesses, WriteOff.of(write_off, reason))

    def export_json(self, path: str | PathLike[str] | None = None) -> str:
        """Write every entry of every data set as JSON, after checking all of them.

        Parameters
        ----------
        path : str or path, optional
            A file to write; one that is there is replaced.

        Returns
        -------
        str
        """
        text = export_text(self.id, {name: self.chain(name) for name in self.data_sets})
        return _written(text, path)

    def import_json(self, given: str | PathLike[str]) -> dict[str, int]:
        """Write what an export has and this ledger lacks; the ledger must be its beginning.

        Parameters
        ----------
        given : str or path
            The export, or its file.

        Returns
        -------
        dict of int
            How many entries were added, by data set.

        Raises
        ------
        ParameterError
            If it is no export, or is of another ledger, or does not go on where this one ends.
        LedgerDamaged
            If an entry of it is not as it was written.
        """
        return restore(self._store, read_export(given))

    def page(
        self, path: str | PathLike[str] | None = None, data_sets: Sequence[str] | None = None
    ) -> str:
        """Write one page of HTML for officers, after checking every entry.

        Parameters
        ----------
        path : str or path, optional
            A file to write; one that is there is replaced.
        data_sets : sequence of str, optional
            By default all of them.

        Returns
        -------
        str

        Raises
        ------
        MissingExtraError
            Without the extra ``report``.
        LedgerDamaged
            If an entry is not as it was written.
        """
        named = _named(data_sets)
        names = self.data_sets if named is None else named
        chains = [self.chain(name) for name in names]
        return _written(ledger_html(self.id, [(c.state, c.entries) for c in chains]), path)


def _named(data_sets: Any) -> tuple[str, ...] | None:
    """Names of some data sets, or None for all of them."""
    if data_sets is None:
        return None
    if isinstance(data_sets, str) or not isinstance(data_sets, Sequence):
        raise ParameterTypeError(
            "data_sets", data_sets, "must be a list of names", 'Write data_sets=["claims"]'
        )
    return tuple(data_sets)


def _written(text: str, path: str | PathLike[str] | None) -> str:
    if path is not None:
        write_file(path, text)
    return text
