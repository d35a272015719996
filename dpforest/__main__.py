"""``dpforest``, or ``python -m dpforest``: every command, by its words."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from dpforest import __version__
from dpforest.command_line import options
from dpforest.command_line.arguments import Arguments
from dpforest.command_line.exit_codes import BROKEN_PIPE
from dpforest.command_line.parser import add_commands
from dpforest.command_line.running import run_command
from dpforest.exceptions import DPForestError
from dpforest.ledger.command_line import add_ledger_parser
from dpforest.ledger.command_line import run as run_ledger
from dpforest.standard_streams import (
    is_terminal,
    open_standard_streams,
    print_notice,
    print_result,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        The words after the program's name; None takes those of the process.

    Returns
    -------
    int
        Exit status; see :mod:`dpforest.command_line.exit_codes`.
    """
    if arguments is None:
        open_standard_streams()
        _write_every_character()
    chosen = _parser().parse_args(arguments)
    if chosen.command not in ("version", "ledger", "demo"):
        return run_command(chosen)
    try:
        return _run_own(chosen)
    except BrokenPipeError:
        return BROKEN_PIPE
    except DPForestError as refusal:
        print_notice(f"dpforest: {refusal}")
        return 2


def _run_own(chosen: argparse.Namespace) -> int:
    """Run a command that is none of those on a domain, a table and a model."""
    if chosen.command == "ledger":
        return run_ledger(chosen)
    if chosen.command == "version":
        print_result(__version__)
    else:
        _demo(chosen)
    return 0


def _write_every_character() -> None:
    """Let stdout take all characters: as files do, or at a terminal as escapes where it lacks one.

    A name that a pipe's encoding lacks would end a command, after a fit was paid for.
    """
    stdout = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        encoding = None if is_terminal(stdout) else "utf-8"
        stdout.reconfigure(encoding=encoding, errors="backslashreplace")


def _program() -> str:
    """Name by which the program was called: the script's, or the module's."""
    return "dpforest" if Path(sys.argv[0]).stem == "dpforest" else "python -m dpforest"


def _parser() -> argparse.ArgumentParser:
    parser = Arguments(prog=_program(), description="Differentially private random forests.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("version", help="print the version")
    add_commands(commands)
    add_ledger_parser(commands)
    demo = commands.add_parser(
        "demo",
        help="plan, train and report a private forest on adult",
        description="Plans a private forest for adult (in the package), trains it, shows accuracy "
        "and AUC beside the majority class and a forest without privacy on the same split, and "
        "writes the privacy report. The last line is one JSON object.",
    )
    options.demo(demo)
    return parser


def _demo(chosen: argparse.Namespace) -> None:
    from dpforest.demo import run_demo  # its imports are not light

    run_demo(
        epsilon=chosen.epsilon,
        delta=chosen.delta,
        strategy=chosen.strategy,
        output_dir=chosen.output_dir,
        split_seed=chosen.split_seed,
        force=chosen.force,
    )


if __name__ == "__main__":
    sys.exit(main())
