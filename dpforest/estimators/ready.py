"""Loading of what a fit takes beside its plan, before anything is charged or read.

Kernels are imported where they are called, so that domains, reports and plans are read without a
compiler, and a learner where it is chosen. In a fit both would come after the charge: what cannot
be loaded then would cost a budget.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from dpforest.domain.cells import compile_search
from dpforest.estimators.fit_plan import FitPlan
from dpforest.exceptions import ScopeError
from dpforest.report.versions import library_versions
from dpforest.trees.strategies import ASKED, STRATEGIES

#: Packages of kernels that any fit may call; a learner imports its own.
_KERNELS = ("dpforest.domain.kernels", "dpforest.mechanisms.kernels", "dpforest.records.kernels")
_COMPILING = "dpforest.kernels.compiling"
#: Whether the compiler's lock was held as this process was forked, by a thread that is not here.
_is_cut_off = False
_CUT_OFF = (
    "this process was forked while another thread of its parent compiled code, so a fit would wait "
    "for ever; nothing was charged. Start processes by the method spawn or forkserver, or fork "
    "where no other thread fits for the first time."
)


def load_for(plan: FitPlan) -> None:
    """Load kernels, the compiler's parts, each learner that a plan may yet choose, and versions.

    Parameters
    ----------
    plan : FitPlan
        Its own learner is there already; one that waits for a number of records has none yet.

    Raises
    ------
    ScopeError
        In a forked process in which nothing can be compiled any more.
    """
    if _is_cut_off:
        raise ScopeError(_CUT_OFF)
    _load_kernels()
    library_versions()  # which reads the package's files: they may be others after a long fit
    if plan.learner is None:
        for name in ASKED if plan.strategy == "auto" else (plan.strategy,):
            _load_learner(name)


@cache  # as for kernels: later fits find it
def _load_learner(name: str) -> None:
    STRATEGIES[name].make()


@cache
def _load_kernels() -> None:
    """Load kernels and the compiler's parts."""
    for package in _KERNELS:
        for module in iter_modules(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    import_module(_COMPILING).load_compiler()
    compile_search()


def _note_fork() -> None:
    """Ask in a child, whose only thread this is, if anything can be compiled in it."""
    global _is_cut_off
    if "numba.core.compiler_lock" in sys.modules:  # loaded, be it by somebody else
        _is_cut_off = import_module(_COMPILING).is_compiling_elsewhere()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
