"""Versions of Python and of the libraries that a run rests on, as a report has them."""

from __future__ import annotations

import platform
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata

#: ``dp-accounting`` is looked for too: where it is missing rho is converted by the closed form.
_LIBRARIES = ("numpy", "numba", "scikit-learn", "pydantic", "narwhals", "dp-accounting")
NOT_INSTALLED = "not installed as a package"


@cache
def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that the run rests on."""
    # Of the code that runs: an installer's note of a linked checkout may be older.
    own = str(sys.modules["dpforest"].__version__)
    versions = {"python": platform.python_version(), "dpforest": own}
    return versions | {name: _version_of(name) for name in _LIBRARIES}


def _version_of(name: str) -> str:
    """Version of a library; an installer may have left an empty note, which has none."""
    found: str | None = None
    with suppress(Exception):  # a fit that is paid for must not end here
        found = metadata.version(name)
    return found or NOT_INSTALLED
