"""A print of the sources that results depend on, so that results of other sources are not taken."""

from __future__ import annotations

import hashlib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def print_of_sources(*folders: str) -> str:
    """Hexadecimal digits that change with any Python file of these folders of the repository."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            digest.update(path.relative_to(REPOSITORY).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
