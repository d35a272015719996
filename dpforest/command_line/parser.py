"""Commands of ``dpforest`` and their options; imports nothing heavy, so help comes at once.

Held by tests/command_line/test_help.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dpforest.command_line import options
from dpforest.command_line.exit_codes import CODES
from dpforest.ledger.command_line import Options

EPILOG = "exit codes: " + ", ".join(f"{code} {words}" for code, words in CODES.items())


class Command(NamedTuple):
    """A command.

    Attributes
    ----------
    words : str
        What it does, for lists of commands.
    options : callable
        Adds its options to its parser.
    function : str
        ``module:function`` in this package.
    more : str
        Told by its own help.
    """

    words: str
    options: Options
    function: str
    more: str = ""


DOMAIN = {
    "draft": Command(
        "propose a domain from records, for somebody to edit", options.draft, "domains:run_draft",
        "The draft holds extremes of the records: keep it to yourself until it is confirmed.",
    ),
    "confirm": Command(
        "stand for the entries of a domain, each with its source", options.confirm,
        "domains:run_confirm",
    ),
    "check": Command(
        "tell the curator which records a fit would drop", options.check, "domains:run_check",
        "It is for the curator's eyes alone: no budget pays for it, and no log may keep it. To "
        "mend a table or the spelling of a category; bounds that are read off it are a draft.",
    ),
    "diff": Command("compare two domains", options.domain_diff, "domains:run_diff"),
}  # fmt: skip
REPORT = {
    "show": Command("show a privacy report", options.show, "reports:run_show"),
    "verify": Command(
        "work every figure of a report out again", options.verify, "reports:run_verify"
    ),
    "diff": Command("compare two reports", options.report_diff, "reports:run_diff"),
}
COMMANDS = {
    "plan": Command(
        "say what a fit would release, cost and teach", options.plan, "planning:run_plan",
        "No record is read and nothing is charged.",
    ),
    "fit": Command(
        "train a forest and write it with its report", options.fit, "fits:run_fit",
        "Shows the price and asks before anything is charged.",
    ),
    "predict": Command("predict records", options.predict, "predictions:run_predict"),
    "explain": Command(
        "show what a forest learnt, from released values", options.explain, "explaining:run_explain"
    ),
    "export": Command("write a forest in another form", options.export, "exporting:run_export"),
    "audit": Command(
        "hold the claim against many fits of made-up tables", options.audit, "auditing:run_audit",
        "No record is read and nothing is charged.",
    ),
}  # fmt: skip
GROUPS: dict[str, tuple[str, Mapping[str, Command]]] = {
    "domain": ("the public facts of a table", DOMAIN),
    "report": ("what a fit spent, and what it guarantees", REPORT),
}


def add_commands(commands: Any) -> None:
    """Add all commands to the parser of ``dpforest``."""
    for group, (words, own) in GROUPS.items():
        parser = commands.add_parser(
            group, help=words, description=f"{words[0].upper()}{words[1:]}."
        )
        kinds = parser.add_subparsers(dest="action", required=True, metavar="command")
        for name, command in own.items():
            _add(kinds, name, f"{group} {name}", command)
    for name, command in COMMANDS.items():
        _add(commands, name, name, command)


def _add(commands: Any, name: str, named: str, command: Command) -> None:
    words = f"{command.words[0].upper()}{command.words[1:]}."
    parser = commands.add_parser(
        name, help=command.words, description=f"{words} {command.more}".strip(), epilog=EPILOG
    )
    command.options(parser)
    parser.add_argument(
        "--json", action="store_true",
        help="print one JSON object, by the schema that the package has",
    )  # fmt: skip
    parser.set_defaults(named=named, function=command.function)
