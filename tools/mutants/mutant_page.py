"""docs/mutants.md: what was planted, why it would matter, and which test saw it."""

from __future__ import annotations

from mutant_list import ROOT, Mutant
from mutant_runs import KILLED, Result, code_digest, package_digest

PAGE = ROOT / "docs" / "mutants.md"
HEAD = """# Planted faults

Written by `make mutants`. Each of these faults is put into a copy of the sources, alone, and the
tests that should see it are run. A fault that no test sees fails the run. So does one whose text is
no longer in its file: whoever changes the code carries the list along. The list is in
`tools/mutants/`; CI runs a dozen of it, which the commit's hash chooses.

{killed} of {count} were seen. Digest of the package and of what tests share: `{digest}`.
"""


def page(mutants: list[Mutant], results: dict[str, Result]) -> str:
    """The page's text; a result of other code counts as none."""
    current = {
        mutant.name: results[mutant.name]
        for mutant in mutants
        if mutant.name in results and results[mutant.name].code == code_digest(mutant)
    }
    killed = sum(result.outcome == KILLED for result in current.values())
    parts = [HEAD.format(count=len(mutants), killed=killed, digest=package_digest()[:16])]
    for layer in dict.fromkeys(mutant.layer for mutant in mutants):
        rows = [_row(mutant, current) for mutant in mutants if mutant.layer == layer]
        parts.append(f"\n## {layer.capitalize()}\n\n| fault | file | why | seen by |\n"
                     "| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n")  # fmt: skip
    return "".join(parts)


def _row(mutant: Mutant, results: dict[str, Result]) -> str:
    result = results.get(mutant.name)
    if result is None:
        seen = "not run"
    elif result.outcome == KILLED:
        seen = f"`{_test_name(result.seen_by)}`"
    else:
        seen = f"**{result.outcome}**"
    file = mutant.file.removeprefix("dpforest/")
    return f"| {mutant.name} | `{file}` | {mutant.why} | {seen} |".replace("\n", " ")


def _test_name(node: str) -> str:
    """A test's file and name without its parameters, which may hold any character."""
    return node.partition("[")[0].removeprefix("tests/")
