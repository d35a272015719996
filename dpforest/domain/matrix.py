"""EncodedMatrix: a table as small integers, the only form of records that trees see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class EncodedMatrix:
    """Codes of a table, one record a row.

    Attributes
    ----------
    codes : uint8, uint16 or uint32 array of shape (n_records, n_features), C order
        One byte where every feature has at most 256 codes, two bytes where some has
        more, four bytes on a lattice. Raw: it holds every record.
    n_codes : int64 array of shape (n_features,)
        Codes of feature j are ``0 … n_codes[j] - 1``. Public.
    ordered : bool array of shape (n_features,)
        Whether the order of the codes has a meaning. Public.
    unknown : tuple of int
        Of each feature the code that no declared value has, -1 where there is none. Empty where
        no feature has one. Public.
    """

    codes: NDArray[np.unsignedinteger]
    n_codes: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    unknown: tuple[int, ...] = ()

    @property
    def n_records(self) -> int:
        """Number of rows. Not public."""
        return int(self.codes.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.codes.shape[1])

    def __repr__(self) -> str:
        # The default repr would print records.
        return f"EncodedMatrix(n_features={self.n_features}, dtype={self.codes.dtype})"


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTable:
    """Codes of a table together with its class codes, or with its targets.

    Attributes
    ----------
    matrix : EncodedMatrix
        Features.
    labels : int32 array of shape (n_records,)
        Class codes ``0 … n_classes - 1``. Raw. All 0 where there are targets.
    n_classes : int
        Number of declared classes; 2, the two bounds, where there are targets. Public.
    targets : int32 array of shape (n_records,), or None
        Places between the declared bounds in steps of ``targets.TARGET_STEPS``. Raw.
    """

    matrix: EncodedMatrix
    labels: NDArray[np.int32]
    n_classes: int
    targets: NDArray[np.int32] | None = None

    def __repr__(self) -> str:
        return f"EncodedTable({self.matrix!r}, n_classes={self.n_classes})"
