"""Copies of an estimator: a budget is never copied, a seed that was used never leaves.

Copies are listed together.
"""

from __future__ import annotations

import copy
import inspect
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator

from dpforest.estimators import engine
from dpforest.exceptions import ModelFormatError, ParameterTypeError
from dpforest.searches import running_search, travels

if TYPE_CHECKING:
    from dpforest.accounting.ledger import ScopeRecord
    from dpforest.accounting.scopes import Scope

_OTHER_VERSION = (
    "this estimator was pickled by another version of dpforest: it lacks {lacking}. Read it with "
    "that version and store it with to_json, which is read here, or fit it again."
)
#: Attributes that hold live budget; copies of an estimator share them.
_NEVER_COPIED = frozenset({"accountant", "accountant_", "_scope"})


def package_of(kind: type) -> str:
    """Package that a class says it is of; empty where it says nothing that is a name."""
    module = kind.__module__  # whatever a class wrote there, or nothing
    return module.partition(".")[0] if type(module) is str else ""


def is_ours(kind: type) -> bool:
    """True if a class is dpforest's, and none that somebody made of it."""
    return package_of(kind) == "dpforest"


def has_own_fit(private: Any) -> bool:
    """True if the class of a private estimator is somebody else's, with a ``fit`` of its own.

    It sees the records before ours does, and may hand others on.
    """
    return not is_ours(next(kind for kind in type(private).__mro__ if "fit" in vars(kind)))


class SharedBudget(BaseEstimator):
    """Base of estimators whose clones, copies and pickles hold one budget between them."""

    accountant: Any
    random_state: Any
    #: Token of the search that a clone was made for, until it is fitted.
    _search: str
    _scope: Scope | ScopeRecord

    def _composition(self) -> ScopeRecord:
        return self._scope if isinstance(self._scope, engine.ScopeRecord) else self._scope.record()

    @classmethod
    def _ours(cls) -> type[SharedBudget]:
        """The class itself, or of one of somebody else's the nearest base that is dpforest's.

        Reports and stored models are of it, so that they can be verified, and read, anywhere.
        """
        kinds = (kind for kind in cls.__mro__ if issubclass(kind, SharedBudget))
        return next(kind for kind in kinds if is_ours(kind))

    @classmethod
    def _parameter_names(cls) -> set[str]:
        """Names of what the class is made with."""
        return set(inspect.signature(cls).parameters)

    def _own_lineage(self) -> str:
        """Name shared by an object and its clones, under which their fits are listed."""
        # One step of the interpreter, so that threads which clone at once agree on a name.
        return str(self.__dict__.setdefault("_lineage", uuid.uuid4().hex))

    def __sklearn_clone__(self) -> Self:
        """Clone as scikit-learn does, with the same accountant and listed with this object."""
        duplicate: Self = super().__sklearn_clone__()
        duplicate.accountant = self.accountant  # a copy of another library's would spend twice
        duplicate._lineage = self._own_lineage()
        search = running_search(self.__dict__.get("_search"))
        if search is not None:
            duplicate._search = search
        return duplicate

    def __copy__(self) -> Self:
        self._own_lineage()
        duplicate = type(self).__new__(type(self))
        duplicate.__dict__.update(self.__dict__)
        return duplicate

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A deep copy of everything but the budget: accountant and its scopes stay the same."""
        duplicate = self.__copy__()
        memo[id(self)] = duplicate
        for name, value in self.__dict__.items():
            if name not in _NEVER_COPIED:
                duplicate.__dict__[name] = copy.deepcopy(value, memo)
        return duplicate

    def __getstate__(self) -> dict[str, Any]:
        """State without a live accountant: a fitted forest keeps its frozen ledger.

        Raises
        ------
        ParameterTypeError
            An unfitted estimator holds a live accountant: a copy in another process could
            spend the same budget again. A fitted one has a :class:`DetachedAccountant` in its
            place, so that a copy does not spend outside of it either.

        Notes
        -----
        The seed of a fitted estimator stays behind too: with it, whoever holds the copy could
        subtract the noise. An unfitted one keeps it, so that searches run their clones in other
        processes; so does a wrapper beside what it fitted (docs/taking_along.md).

        The ``domain`` parameter is stored without the marks of a draft's bounds, which are a fact
        about records that no budget pays for; held by tests/estimators/report/test_marks_stay.py.
        """
        state: dict[str, Any] = dict(super().__getstate__())
        if "_search" in state:
            travels(state["_search"])
        fitted = "accountant_" in state
        state.pop("_renoised", None)  # made again when somebody asks
        if isinstance(state.get("domain"), engine.Domain):
            state["domain"] = state["domain"].without_marks()
        if "_scope" in state:
            state["_scope"] = self._composition()
        if fitted and isinstance(state["accountant_"], engine.BudgetAccountant):
            state["accountant_"] = state["accountant_"].frozen()
        if not isinstance(self.accountant, (type(None), engine.DetachedAccountant)):
            if not fitted:
                raise ParameterTypeError(
                    "accountant", type(self.accountant).__name__,
                    "cannot be pickled with an unfitted estimator: the copy could spend it twice",
                    "Fit in this process (threads are fine). Of a search or another wrapper pickle "
                    "what it fitted (best_estimator_, estimator_), or take the accountant out "
                    "first: set_params(estimator__accountant=None)",
                )  # fmt: skip
            state["accountant"] = engine.DetachedAccountant(engine.charged_to(self.accountant))
        if fitted:
            state["random_state"] = engine.WithheldSeed.of(self.random_state)
        state["_lineage"] = self._own_lineage()
        state["_earlier_fits"] = engine.earlier_fits(state["_lineage"])
        return state

    def _as_shown(self) -> Self:
        """A copy for printing, which has the mark of a seed in its place where it was fitted."""
        kind = type(self)
        shown = kind.__new__(kind)
        shown.__dict__.update(self.__dict__)
        if hasattr(self, "accountant_"):
            shown.random_state = engine.WithheldSeed.of(self.random_state)
        # scikit-learn lays out what prints itself by its own method, and nothing else.
        shown.__class__ = type(kind.__name__, (kind,), {"__repr__": BaseEstimator.__repr__})
        return shown

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Text as of every estimator of scikit-learn, without a seed that was used."""
        return str(BaseEstimator.__repr__(self._as_shown(), N_CHAR_MAX))

    def _get_params_html(self, *given: Any, **more: Any) -> Any:
        """Table of parameters in notebooks, which scikit-learn from 1.7 on asks for."""
        return BaseEstimator._get_params_html(self._as_shown(), *given, **more)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled state, together with the fits that its process knew of.

        Raises
        ------
        ModelFormatError
            If it is of another version of dpforest, whose records lack some fields.
        """
        _refuse_lacking(state)
        earlier = state.pop("_earlier_fits", ())
        super().__setstate__(state)
        engine.recall_fits(self._own_lineage(), self._ours().__name__, earlier)


def _refuse_lacking(state: dict[str, Any]) -> None:
    """Refuse a state whose records lack a field; pickle itself would restore them without it."""
    lacking = sorted({*_lacking(list(state.values()))})
    if lacking:
        raise ModelFormatError(_OTHER_VERSION.format(lacking=", ".join(lacking)))


def _lacking(value: Any) -> Iterator[str]:
    """Fields that records in a value, at any depth, should have by their class and lack."""
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        kind = type(value)
        missing = kind.model_fields.keys() - vars(value).keys()
        yield from (f"{kind.__name__}.{name}" for name in missing)
        value = vars(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _lacking(part)
