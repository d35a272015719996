"""Versions of Python and of the libraries that a run rests on, as a report has them."""

from __future__ import annotations

import hashlib
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

#: ``dp-accounting`` is looked for too: where it is missing rho is converted by the closed form.
_LIBRARIES = ("numpy", "numba", "scikit-learn", "pydantic", "narwhals", "dp-accounting")
NOT_INSTALLED = "not installed as a package"
#: Name among the versions of the digest of the package's code: a version may stay the same while
#: the code changes, as between releases or in a copy of somebody's own.
CODE = "dpforest code"
#: Digest of a package whose source is not at hand, as in an archive.
UNKNOWN = "unknown"
_DIGITS = 16


@cache
def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that the run rests on."""
    # Of the code that runs: an installer's note of a linked checkout may be older.
    own = str(sys.modules["dpforest"].__version__)
    versions = {"python": platform.python_version(), "dpforest": own, CODE: code_digest()}
    return versions | {name: _version_of(name) for name in _LIBRARIES}


def code_digest(folder: Path = Path(__file__).parents[1]) -> str:
    """First hexadecimal digits of SHA-256 over the names and texts of a folder's Python files.

    Line ends do not count: version control may change them. ``UNKNOWN`` where a file cannot be
    read, or none is there.
    """
    digest = hashlib.sha256()
    try:
        files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
        for name in sorted(files):
            text = files[name].read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name}\0{len(text)}\0".encode(errors="surrogateescape") + text)
    except OSError:  # a fit that is paid for must not end here
        return UNKNOWN
    return digest.hexdigest()[:_DIGITS] if files else UNKNOWN


def _version_of(name: str) -> str:
    """Version of a library; an installer may have left an empty note, which has none."""
    found: str | None = None
    with suppress(Exception):  # a fit that is paid for must not end here
        found = metadata.version(name)
    return found or NOT_INSTALLED
