"""All commands of the program by their words, for tests that go through each."""

from __future__ import annotations

from dpforest.command_line.parser import COMMANDS, GROUPS

EVERY_COMMAND = COMMANDS | {
    f"{group} {name}": command
    for group, (_, own) in GROUPS.items()
    for name, command in own.items()
}
