"""The tables and figures that can be remade, by name.

A module has ``NAME``, ``tasks(folder, repeats=…)``, ``evaluate(task, folder)``,
``report(lines)`` (Markdown), and where it draws ``plot(lines, folder)``.
"""

from __future__ import annotations

TABLES = {
    "mrf2020_table1": "papers.tables.mrf2020_table1",
}
