"""docs/mutants.md: what was planted, why it would matter, and which test saw it."""

from __future__ import annotations

from mutant_list import ROOT, Mutant
from mutant_runs import KILLED, Result, code_digest

PAGE = ROOT / "docs" / "mutants.md"
HEAD = """# Planted faults

`make mutants` puts each of these faults into a copy of the sources, alone, runs the tests that
should see it, and writes this page; what is run again later takes its row's place. A fault that no
test sees fails the run. So does one whose text is no longer in its file: whoever changes the code
carries the list along. The list is in `tools/mutants/`; CI runs a dozen of it, which the commit's
hash chooses.

{seen}. The digest beside a fault says on which code: package, entry, tests.
"""
NOT_RUN = "not run on this code"


def page(mutants: list[Mutant], results: dict[str, Result]) -> str:
    """The page's text; a result of other code counts as none."""
    current = {
        mutant.name: results[mutant.name]
        for mutant in mutants
        if mutant.name in results and results[mutant.name].code == code_digest(mutant)
    }
    ends = {m.name: current[m.name].outcome if m.name in current else NOT_RUN for m in mutants}
    parts = [head(ends)]
    for layer in dict.fromkeys(mutant.layer for mutant in mutants):
        rows = [_row(mutant, current) for mutant in mutants if mutant.layer == layer]
        parts.append(f"\n## {heading(layer)}\n\n| fault | file | why | seen by | digest |\n"
                     "| --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n")  # fmt: skip
    return "".join(parts)


def head(ends: dict[str, str]) -> str:
    """What stands above the tables: how many faults were seen, and by name those that were not.

    Parameters
    ----------
    ends : dict of str to str
        What became of each fault.
    """
    left = [f"{name} ({end})" for name, end in ends.items() if end != KILLED]
    seen = f"{len(ends) - len(left)} of {len(ends)} were seen, not these: {'; '.join(left)}"
    return HEAD.format(seen=seen if left else f"All {len(ends)} were seen")


def heading(layer: str) -> str:
    """A file of the list in words."""
    return layer.replace("_", " ").capitalize()


def _row(mutant: Mutant, results: dict[str, Result]) -> str:
    result = results.get(mutant.name)
    if result is None:
        seen = "**not run**"
    elif result.outcome == KILLED:
        seen = f"`{_test_name(result.seen_by)}`"
    else:
        seen = f"**{result.outcome}**"
    file = mutant.file.removeprefix("dpforest/")
    digest = f"`{result.code}`" if result is not None else ""
    return f"| {mutant.name} | `{file}` | {mutant.why} | {seen} | {digest} |".replace("\n", " ")


def _test_name(node: str) -> str:
    """A test's file and name without its parameters, which may hold any character."""
    return node.partition("[")[0].removeprefix("tests/")
