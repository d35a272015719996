"""Headers of reports in files: what people type in, one JSON object.

Held by tests/command_line/test_headers.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpforest.exceptions import ParameterError
from dpforest.report.header import ReportHeader
from dpforest.strict_json import read_object


def header_at(path: str | None) -> ReportHeader | None:
    """The header in a file; None where no file is named.

    Raises
    ------
    ParameterError
        It is not JSON, or a field is none of the header's or not as it is to be.
    """
    if path is None:
        return None
    fields: dict[str, Any] = read_object(
        Path(path),
        lambda rule: ParameterError(
            "--header", path, rule, 'Write {"title": "...", "curator": "..."}'
        ),
    )
    for name in ("authors", "evidence"):  # JSON has lists alone
        if isinstance(fields.get(name), list):
            fields[name] = tuple(fields[name])
    return ReportHeader(**fields)
