"""Write the digests of the frozen cases, or the list of audited places, anew.

Run from the repository's root, with all extras of ``make test``, where what is released is meant to
change: ``python tests/frozen digests``, or where the audit is: ``python tests/frozen places``.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from frozen_cases import CASES
from frozen_digests import digests_of, write


def write_digests() -> None:
    """All of them, or none."""
    from frozen_dask import cluster

    with ExitStack() as stack:
        stack.enter_context(cluster())
        write({case.name: digests_of(case) for case in CASES})


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "audit"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("digests", "places"))
    if parser.parse_args().what == "digests":
        write_digests()
    else:
        from frozen_places import write_places

        write_places()
