"""docs/mutants.md: what was planted, why it would matter, and which test saw it."""

from __future__ import annotations

from collections import Counter

from mutant_list import ROOT, Mutant
from mutant_runs import KILLED, Result, code_digest, package_digest

PAGE = ROOT / "docs" / "mutants.md"
HEAD = """# Planted faults

Written by `make mutants`. Each of these faults is put into a copy of the sources, alone, and the
tests that should see it are run. A fault that no test sees fails the run. So does one whose text is
no longer in its file: whoever changes the code carries the list along. The list is in
`tools/mutants/`; CI runs a dozen of it, which the commit's hash chooses.

{killed} of {count} were seen{left}. Digest of the package and of what tests share: `{digest}`.
Beside each fault stands the digest of what its result rests on: package, entry, tests.
"""


def page(mutants: list[Mutant], results: dict[str, Result]) -> str:
    """The page's text; a result of other code counts as none."""
    current = {
        mutant.name: results[mutant.name]
        for mutant in mutants
        if mutant.name in results and results[mutant.name].code == code_digest(mutant)
    }
    killed = sum(result.outcome == KILLED for result in current.values())
    digest, left = package_digest()[:16], _left(mutants, current)
    parts = [HEAD.format(count=len(mutants), killed=killed, left=left, digest=digest)]
    for layer in dict.fromkeys(mutant.layer for mutant in mutants):
        rows = [_row(mutant, current) for mutant in mutants if mutant.layer == layer]
        parts.append(f"\n## {layer.capitalize()}\n\n| fault | file | why | seen by | digest |\n"
                     "| --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n")  # fmt: skip
    return "".join(parts)


def _left(mutants: list[Mutant], current: dict[str, Result]) -> str:
    """What became of those that were not seen, in words."""
    missing = len(mutants) - len(current)
    ends = Counter(result.outcome for result in current.values() if result.outcome != KILLED)
    parts = [*(f"{n} {outcome}" for outcome, n in sorted(ends.items()))]
    parts += [f"{missing} not run on this code"] if missing else []
    return f" ({', '.join(parts)})" if parts else ""


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
