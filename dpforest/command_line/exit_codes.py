"""Exit codes of ``dpforest``, which tell scripts how a command ended.

The codes of refusals are those of ``dpforest ledger``; docs/command_line.md lists all.
"""

from __future__ import annotations

from dpforest.ledger.command_line import REFUSALS

DONE = 0
#: The answer is no: a report does not hold, an audit found a violation, somebody said no at the
#: question, nothing of a domain was confirmed; with ``--exit-code`` also that two files differ or
#: that records would be dropped.
ANSWER_IS_NO = 1
#: A fit is done and paid for, but not every file of it could be written where it was to be.
NOT_ALL_WRITTEN = 7
#: A fault of dpforest itself (EX_SOFTWARE of sysexits.h).
FAULT = 70
#: 128 and the signal's number, as shells count: the terminal is gone, interrupted, nobody reads the
#: output, told to end.
HANGUP, INTERRUPTED, BROKEN_PIPE, TERMINATED = 129, 130, 141, 143

CODES = {
    DONE: "done",
    ANSWER_IS_NO: "the answer is no",
    **REFUSALS,
    NOT_ALL_WRITTEN: "paid for, but not all files are where they were to be",
    FAULT: "a fault of dpforest",
    HANGUP: "the terminal is gone",
    INTERRUPTED: "interrupted",
    BROKEN_PIPE: "nobody reads the output",
    TERMINATED: "told to end",
}
