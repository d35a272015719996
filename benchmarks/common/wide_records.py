"""Tables of hundreds of features, all of them numbers or flags, as `common.records` reads them.

What a pixel or a count can be is known without the records, so the domains are declared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class WideRecords:
    """Records all of whose features are whole numbers of the same bounds.

    Attributes
    ----------
    name : str
    values : ndarray of int64, shape (n, D)
    labels : ndarray of int64, shape (n,)
    most : int
        The largest value that a feature can have; the least is 0.
    source : str
    """

    name: str
    values: NDArray[np.int64]
    labels: NDArray[np.int64]
    most: int
    source: str

    def write(self, folder: Path) -> None:
        """Write the two files of a table."""
        names = [f"x{k}" for k in range(self.values.shape[1])]
        path = folder / f"{self.name}.csv.gz"
        frame = pd.DataFrame(self.values, columns=names).assign(target=self.labels)
        frame.to_csv(path, index=False, compression={"method": "gzip", "mtime": 0})
        text = json.dumps(self._facts(names))
        path.with_name(f"{self.name}.json").write_text(text, encoding="utf-8")

    def _facts(self, names: list[str]) -> dict[str, object]:
        classes = sorted({str(label) for label in self.labels})
        columns = [{"name": name, "kind": "integer", "bounds": [0, self.most]} for name in names]
        return {
            "name": self.name, "task": "classification", "n_rows": len(self.labels),
            "n_features": len(names), "target": "target", "classes": classes,
            "n_classes": len(classes), "columns": columns, "source": self.source,
            "domain_source": "Every value that such a feature can have.",
        }  # fmt: skip
