"""The frozen cases' own modules, importable."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Its own modules, and the list of roles that the tests of the audit have.
sys.path[:0] = [str(HERE), str(HERE.parent / "audit")]
