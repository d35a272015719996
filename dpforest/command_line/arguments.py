"""Arguments of a command, taken to the letter: each option whole, and once.

Of an option that is written twice argparse would take the last, so that one of two budgets would
count without a word; and a part of a name may mean another option in the next release.

Held by tests/command_line/test_arguments.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

#: How a command is told that a file is its standard output.
_STDOUT = "-"


class Arguments(argparse.ArgumentParser):
    """Parser of a command or of a group of them; commands below it are of the same class."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named | {"allow_abbrev": False})
        self.written: set[str] = set()
        for name in (None, "store"):
            self.register("action", name, _Once)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse words; see ``argparse``."""
        self.written = set()
        if args is not None and self._subparsers is None:
            self._refuse_unknown(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Refuse words, and name the commands where none was written; see ``argparse``."""
        if self._subparsers is not None and message.endswith("required: command"):
            known = self._subparsers._group_actions[0].choices or ()
            message += f". Write one of {', '.join(known)}"
        super().error(message)

    def _refuse_unknown(self, words: Sequence[str]) -> None:
        """Name an unknown option before argparse asks for others, with the one that is near."""
        known = self._option_string_actions
        for word in words:
            name = word.partition("=")[0]
            if name == "--":
                return
            if name.startswith("--") and " " not in name and name not in known:
                self.error(f"{name} is no option of this command{_near(name, list(known))}")


#: Options by what the same is called in Python, where names are far apart.
_IN_PYTHON = {"--actor": "--as"}
_ANEW = (
    "Files have commas between cells, points in numbers and are in UTF-8: write others anew, such "
    "as by pandas.read_csv(file, sep=';', decimal=',', encoding='cp1252', dtype=...)"
)
#: What to do in place of options that people look for where there are none.
_INSTEAD = {
    "--drop": "A column that the domain does not declare is not read: leave it out of the domain",
    "--categorical": "The domain says which columns are categories",
    **dict.fromkeys(("--sep", "--delimiter", "--decimal", "--encoding"), _ANEW),
}


def _near(name: str, known: Sequence[str]) -> str:
    """Words on the options that a name may mean, or on what stands in its place."""
    if name in _INSTEAD:
        return f". {_INSTEAD[name]}"
    begun = [one for one in known if one.startswith(name)] if len(name) > len("--") else []
    named = [one for one in known if one == _IN_PYTHON.get(name)]
    near = named or begun or get_close_matches(name, known, n=1)
    return f". Write {' or '.join(near)}" if near else ""


class _Once(argparse.Action):
    """An option or argument with a value, which is written once."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any,
        option_string: str | None = None,
    ) -> None:  # fmt: skip
        written: set[str] = getattr(parser, "written", set())
        if option_string and self.dest in written:
            repair = "name all of them behind one" if self.nargs else "write it once"
            raise argparse.ArgumentError(self, f"is written twice; {repair}")
        written.add(self.dest)
        setattr(namespace, self.dest, values)


def new_file(text: str) -> str:
    """A file of a command that has none but files to write to."""
    if text == _STDOUT:
        raise argparse.ArgumentTypeError("- stands for no file here. Name one")
    return text


def file_or_stdout(text: str) -> str | None:
    """A file, or None for standard output, where a command writes without this option."""
    return None if text == _STDOUT else text
