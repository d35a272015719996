"""``dpforest ledger``: its commands, their options, and exit codes that tell refusals apart.

Nothing heavy is imported before a command has to run, so help comes at once. Results go to
standard output, and all else to standard error.

Held by tests/ledger/test_command_line.py.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from dpforest.exceptions import (
    ApprovalMissing,
    BudgetExceeded,
    DPForestError,
    LedgerDamaged,
    LedgerFrozen,
    LedgerUnreachable,
)
from dpforest.standard_streams import print_notice, print_result

BAD_INPUT, NO_BUDGET, NO_APPROVAL, NOT_SOUND, NOT_REACHED = 2, 3, 4, 5, 6
#: Exit codes, by what was raised; anything else of dpforest's own is bad input.
EXIT_CODES: tuple[tuple[type[DPForestError], int], ...] = (
    (BudgetExceeded, NO_BUDGET),
    (ApprovalMissing, NO_APPROVAL),
    (LedgerDamaged, NOT_SOUND),
    (LedgerFrozen, NOT_SOUND),
    (LedgerUnreachable, NOT_REACHED),
)
#: Exit codes of refusals in words.
REFUSALS = {
    BAD_INPUT: "bad input",
    NO_BUDGET: "the budget does not allow it",
    NO_APPROVAL: "an approval is missing",
    NOT_SOUND: "the ledger is damaged, behind or frozen",
    NOT_REACHED: "the ledger cannot be reached",
}
#: Where the ledger is and who asks, for whoever does not want to say it at every command.
URL_VARIABLE, ACTOR_VARIABLE = "DPFOREST_LEDGER", "DPFOREST_ACTOR"

_EPILOG = f"exit codes: 0 done, {', '.join(f'{code} {words}' for code, words in REFUSALS.items())}"
#: Adds the options of one command to its parser.
Options = Callable[[argparse.ArgumentParser], None]


def add_ledger_parser(commands: Any) -> None:
    """Add ``ledger`` with all its commands to the parser of ``dpforest``."""
    ledger = commands.add_parser(
        "ledger",
        help="keep one book of what is spent on a data set",
        description="One book, over years, people and machines, of what is spent on a data set.",
        epilog=_EPILOG,
    )
    kinds = ledger.add_subparsers(dest="action", required=True, metavar="command")
    for name, (words, options) in COMMANDS.items():
        parser = kinds.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        options(parser)
        add_who_asks(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(chosen: argparse.Namespace) -> int:
    """Run what was chosen.

    Returns
    -------
    int
        Exit status: 0, or the code of the refusal, whose words are on standard error.
    """
    from dpforest.ledger.commands import run_command  # its imports are not light

    try:
        print_result(run_command(chosen))
    except DPForestError as refusal:
        print_notice(f"dpforest ledger {chosen.action}: {refusal}")
        return exit_code(refusal)
    return 0


def exit_code(refusal: DPForestError) -> int:
    """Exit status that tells scripts which kind of refusal it was."""
    return next((code for kind, code in EXIT_CODES if isinstance(refusal, kind)), BAD_INPUT)


# -- options --------------------------------------------------------------------------------------


def add_who_asks(parser: argparse.ArgumentParser) -> None:
    """Options of whatever opens a ledger: where it is, who asks, and the key that signs."""
    parser.add_argument(
        "--ledger",
        default=os.environ.get(URL_VARIABLE),
        metavar="URL",
        help=f"sqlite:///path or postgresql://… (default: the variable {URL_VARIABLE})",
    )
    parser.add_argument(
        "--as",
        dest="actor",
        default=os.environ.get(ACTOR_VARIABLE),
        metavar="NAME",
        help=f"who asks (default: the variable {ACTOR_VARIABLE}, else your login)",
    )
    parser.add_argument("--key", metavar="FILE", help="secret key that signs what is written")


def _data_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data_set", metavar="DATA_SET")


def _maybe_data_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data_set", nargs="?", metavar="DATA_SET", help="(default: all)")


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=_path)


def _written(parser: argparse.ArgumentParser) -> None:
    _file(parser)
    parser.add_argument("--force", action="store_true", help="write over a file that is there")


def _path(written: str) -> str:
    """A path; a dash would be a file of that name, where other commands mean their output by it."""
    if written == "-":
        raise argparse.ArgumentTypeError("must be the name of a file: the ledger's are not piped")
    return written


def _init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data_set", nargs="?", metavar="DATA_SET", help="to register at once")
    parser.add_argument("--domain", metavar="FILE", help="the data set's domain as JSON")
    parser.add_argument("--currency", choices=("rho", "epsilon"), default="rho")
    parser.add_argument("--epsilon", metavar="AMOUNT", help="cap, for its life")
    parser.add_argument("--delta", metavar="AMOUNT", help="needed under rho, such as 1e-6")
    parser.add_argument("--rho", metavar="AMOUNT", help="cap in rho, instead of an epsilon")
    parser.add_argument("--unit", default="one record", help="what a privacy unit is, in words")
    parser.add_argument("--max-records-per-unit", type=int, default=1, metavar="N")
    parser.add_argument("--max-blocks-per-unit", type=int, metavar="N", help="of a growing table")
    parser.add_argument(
        "--owner", action="append", default=[], metavar="NAME[=PUBLIC_KEY]",
        help="(default: whoever asks); several times for several",
    )  # fmt: skip
    parser.add_argument(
        "--approvals", type=int, default=0, metavar="K", help="that each reserve needs"
    )


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data_set", metavar="DATA_SET")
    parser.add_argument(
        "plan", metavar="PLAN", help="plan file: ledger.charge(…, forests).to_json(PLAN)"
    )


def _reserve(parser: argparse.ArgumentParser) -> None:
    _plan(parser)
    parser.add_argument("--request", default="", metavar="ID", help="that was approved")


def _request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data_set", metavar="DATA_SET")
    parser.add_argument("request", metavar="REQUEST", help="its ID")


def _void(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data_set", metavar="DATA_SET")
    parser.add_argument("reserve", metavar="RESERVE", help="its ID")
    parser.add_argument("--token", default="", help="that `reserve` told; an owner needs none")
    parser.add_argument("--reason", default="", help="an owner has to give one")


def _settle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data_set", metavar="DATA_SET")
    parser.add_argument("reserve", metavar="RESERVE", help="its ID, as `status` shows it")
    parser.add_argument(
        "--outcome", choices=("done", "failed"), required=True,
        help="failed: nothing that the fit made was kept or seen",
    )  # fmt: skip
    parser.add_argument("--part", type=int, default=0, metavar="N", help="of several, from 0")
    parser.add_argument(
        "--guarantee", choices=("holds", "demonstration", "void", "none"),
        help="of a fit that is done, as its report says (default: not known)",
    )  # fmt: skip


def _witnesses(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--witness", action="append", default=[], metavar="FILE",
        help="a privacy report that somebody holds (JSON or page), or an export of the ledger; "
        "several times for several",
    )  # fmt: skip


def _recover(parser: argparse.ArgumentParser) -> None:
    _data_set(parser)
    _witnesses(parser)
    parser.add_argument("--write-off", metavar="AMOUNT", help="to charge for what nobody holds")
    parser.add_argument(
        "--incomplete", action="store_true",
        help="take a file of SQLite that lost its -wal; all its data sets are frozen first",
    )  # fmt: skip
    parser.add_argument("--reason", default="", help="in words; a write-off needs one")


def _verify(parser: argparse.ArgumentParser) -> None:
    _maybe_data_set(parser)
    _witnesses(parser)


def _log(parser: argparse.ArgumentParser) -> None:
    _data_set(parser)
    parser.add_argument("--last", type=int, metavar="N", help="only the last N entries")


def _import(parser: argparse.ArgumentParser) -> None:
    _file(parser)
    parser.add_argument(
        "--into", dest="data_set", metavar="DATA_SET",
        help="charge a privacy report of a fit made elsewhere to this data set",
    )  # fmt: skip
    parser.add_argument("--block", action="append", default=[], metavar="NAME", help="that it read")
    parser.add_argument("--reason", default="", help="why it was made elsewhere")


def _page(parser: argparse.ArgumentParser) -> None:
    _written(parser)
    _maybe_data_set(parser)


#: Each command: what it does, and its options.
COMMANDS: dict[str, tuple[str, Options]] = {
    "init": ("make a ledger, and register a data set", _init),
    "status": ("show what is spent and what remains", _maybe_data_set),
    "log": ("list the entries of a data set", _log),
    "plan": ("compare a plan's price with what remains; charges nothing", _plan),
    "request": ("ask the owners to approve a plan", _plan),
    "approve": ("approve a request, as an owner", _request),
    "revoke": ("take an approval back before it is used", _request),
    "reserve": ("set the price of a plan aside", _reserve),
    "void": ("give a reserve back before its fit has started", _void),
    "settle": ("say how a fit ended whose program could not say so", _settle),
    "recover": ("bring a ledger that is behind up to date, or write an amount off", _recover),
    "verify": ("check every entry, and compare with what people hold", _verify),
    "export": ("write all entries of the ledger to a file", _written),
    "import": ("read an export into a new ledger, or charge a fit made elsewhere", _import),
    "backup": ("copy an SQLite ledger while it is in use", _written),
    "page": ("write a page for officers", _page),
}
