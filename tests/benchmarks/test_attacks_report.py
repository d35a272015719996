"""Tables of the attacks: which table counts as found, what stands in a row."""

from __future__ import annotations

from attacks.plots import likeliest
from attacks.report import write_report
from attacks.stored import stored


def line(seed: int, start: float, solved: float) -> dict:
    found = {"error": 0.3, "exact_rows": 0.0, "log_likelihood": start}
    return {
        "dataset": "adult",
        "model": "PrivateForestClassifier",
        "epsilon": 1.0,
        "seed": seed,
        "n": 100,
        "accuracy": 0.75,
        "status": "OPTIMAL" if seed else "FEASIBLE",
        "limit": 4.0,
        "solver_cpu_seconds": 1.5,
        "log_likelihood": -10.0,
        "start": found,
        "solved": {"error": 0.2, "exact_rows": 0.02, "log_likelihood": solved},
        "sampled": {"error": 0.1, "exact_rows": 0.1, "log_likelihood": -11.0},
        "fresh": [0.11, 0.12, 0.13],
        "medoid": 0.28,
    }


def test_of_equally_likely_tables_the_start_counts():
    assert likeliest(line(0, -8.0, -8.0))["error"] == 0.3
    assert likeliest(line(0, -8.0, -7.0))["error"] == 0.2


def test_a_row_of_the_report(tmp_path):
    lines = [line(0, -8.0, -7.0), line(1, -8.0, -8.0)]
    file = stored(tmp_path, "reconstruct")
    for one in lines:
        file.append(one)
    write_report(tmp_path, None)
    page = (tmp_path / "attacks_results.md").read_text()
    row = next(row for row in page.splitlines() if row.startswith("| PrivateForestClassifier"))
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells[:4] == ["PrivateForestClassifier", "1", "0.750", "1 FEASIBLE, 1 OPTIMAL"]
    # The mean of 0.2 (the solver's, likelier) and 0.3 (a tie), no nearer than any fresh sample.
    assert cells[4:9] == ["1.5", "+2.5", "0.250", "1", "1 %"]
    # Two tables at 0.1: nearer than all of them.
    assert cells[9:] == ["0.100", "0.0001", "10 %"]
    assert "--trees 1 --seconds 4 --seeds 2" in page
