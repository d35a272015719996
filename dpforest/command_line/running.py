"""One command from its options to its exit code: results to stdout, all else to stderr.

Nothing heavy is imported here. An error that dpforest did not raise on purpose is named by its type
and place alone: its words may quote a record.

Held by tests/command_line/test_running.py.
"""

from __future__ import annotations

import argparse
import os
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpforest import exceptions
from dpforest.command_line.exit_codes import BROKEN_PIPE, FAULT, INTERRUPTED, NOT_ALL_WRITTEN
from dpforest.command_line.interrupts import Interrupted
from dpforest.ledger.command_line import exit_code
from dpforest.standard_streams import print_notice, print_result

if TYPE_CHECKING:
    from dpforest.command_line.answers import Answer

#: Set it to see where a fault is; what is shown then may quote records.
TRACEBACK_VARIABLE = "DPFOREST_TRACEBACK"
_OURS = tuple(
    kind
    for kind in vars(exceptions).values()
    if isinstance(kind, type) and issubclass(kind, Warning)
)


def run_command(chosen: argparse.Namespace) -> int:
    """Run what was chosen.

    Parameters
    ----------
    chosen : argparse.Namespace
        Of :func:`dpforest.command_line.parser.add_commands`.

    Returns
    -------
    int
        Exit code; see :mod:`dpforest.command_line.exit_codes`.
    """
    try:
        with _warnings_in_a_line():
            return _print_answer(_function(chosen.function)(chosen), chosen)
    except exceptions.DPForestError as refusal:
        print_notice(f"dpforest {chosen.named}: {refusal}")
        return exit_code(refusal)
    except KeyboardInterrupt as stop:
        print_notice(f"dpforest {chosen.named}: interrupted")
        return 128 + stop.number if isinstance(stop, Interrupted) else INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except Exception as fault:
        print_notice(f"dpforest {chosen.named}: {_fault_words(fault)}")
        return FAULT


def _function(place: str) -> Callable[[argparse.Namespace], Answer]:
    """The function of a command, by the module of this package that has it."""
    module, _, name = place.partition(":")
    found: Callable[[argparse.Namespace], Answer] = getattr(
        import_module(f"dpforest.command_line.{module}"), name
    )
    return found


def _print_answer(answer: Answer, chosen: argparse.Namespace) -> int:
    if answer.notice:
        print_notice(answer.notice)
    words = answer.as_json(chosen.named) if chosen.json else answer.words
    try:
        if words:
            print_result(words)
    except exceptions.ParameterError as refusal:
        if chosen.named != "fit" or chosen.dry_run:
            raise
        print_notice(f"dpforest fit: {refusal}")
        return NOT_ALL_WRITTEN
    return answer.code


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Show dpforest's warnings as a line each, once a command, and leave others as they are."""
    told: set[str] = set()
    with warnings.catch_warnings():
        for kind in _OURS:
            warnings.simplefilter("always", kind)
        others = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, _OURS):
                others(message, category, *where, **more)
            elif str(message) not in told:
                told.add(str(message))
                print_notice(f"dpforest: warning: {message}")

        warnings.showwarning = show
        yield


def _fault_words(fault: Exception) -> str:
    """Type of a fault and the line of this package that it came from; never its words."""
    if os.environ.get(TRACEBACK_VARIABLE):
        return "".join(traceback.format_exception(fault))
    frames = traceback.extract_tb(fault.__traceback__)
    package = Path(__file__).resolve().parent.parent
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(package)]
    where = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return (
        f"a fault of dpforest ({type(fault).__name__}{where}). Its words are not shown, since they "
        f"may quote a record; {TRACEBACK_VARIABLE}=1 shows them to a curator"
    )
