"""Questions: only to a person at a terminal."""

from __future__ import annotations

import sys

from dpforest.exceptions import ParameterError
from dpforest.standard_streams import is_terminal


def agreed(question: str, yes: bool) -> bool:
    """Ask a person, unless ``--yes`` has answered.

    Parameters
    ----------
    question : str
        Ends with a question mark; shown on stderr.
    yes : bool
        Whether it is answered already.

    Raises
    ------
    ParameterError
        Nobody can be asked, since stdin or stderr is no terminal.
    """
    if yes:
        return True
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise ParameterError(
            "--yes", False, "is needed where no terminal is, since nobody can be asked",
            "Look at the price with --dry-run, then write --yes",
        )  # fmt: skip
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
