"""The tables and figures that can be remade, by name.

A module has ``NAME``, ``tasks(folder, repeats=…)``, ``evaluate(task, folder)``,
``report(lines, folder)`` (Markdown), and where it draws ``plot(lines, folder)``, with the folder of
the pictures. What ``tasks`` gives unasked is what its page in docs/papers is made of. Tables that
share a file of lines have its name as ``RESULTS`` and what computes them all as ``MADE_BY``. Where
that is a dictionary, methods whose names begin so are computed there: a column more leaves the
other columns' lines as they are.
"""

from __future__ import annotations

TABLES = {
    "safe_bayesian": "papers.tables.safe_bayesian",
    "safe_bayesian_figure3": "papers.tables.safe_bayesian_figure3",
    "safe_bayesian_figure5": "papers.tables.safe_bayesian_figure5",
    "mrf2020_table1": "papers.tables.mrf2020_table1",
    "mrf2020_table3": "papers.tables.mrf2020_table3",
    "mrf2020_figure4": "papers.tables.mrf2020_figure4",
    "mrf2020_figure7": "papers.tables.mrf2020_figure7",
    "mrf2020_segmentation": "papers.tables.mrf2020_segmentation",
    "explain_mrf2020": "papers.tables.explain_mrf2020",
    "explain_brf": "papers.tables.explain_brf",
    "mrf2019_table2": "papers.tables.mrf2019_table2",
    "mrf2019_table3": "papers.tables.mrf2019_table3",
    "mrf2019_figures": "papers.tables.mrf2019_figures",
    "dmrf_table3": "papers.tables.dmrf_table3",
    "dmrf_table4": "papers.tables.dmrf_table4",
    "dmrf_table5": "papers.tables.dmrf_table5",
    "dmrf_table6": "papers.tables.dmrf_table6",
    "dmrf_figure7": "papers.tables.dmrf_figure7",
    "dmrf_explain": "papers.tables.dmrf_explain",
    "dmrf_figures": "papers.tables.dmrf_figures",
}
