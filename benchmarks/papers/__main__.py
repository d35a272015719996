"""``python benchmarks/papers <table>``: remake one table, or ``--list`` those there are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# One thread a process, also in those that are started from here.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

if __name__ == "__main__":
    _here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _here]
    # The checkout first: the tables are those of the code beside them.
    sys.path[:0] = [str(_here.parent), str(_here.parents[1])]

    from papers.command import main

    sys.exit(main())
