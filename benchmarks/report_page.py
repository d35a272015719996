"""The privacy report's page of a forest on adult, and a picture of it for the documentation.

Fits ``MultinomialForestClassifier(epsilon=1)`` on adult, audits a small forest of the same claim,
writes ``report.html`` and ``report.json`` and, with a Chromium and Pillow, a PNG of the page as a
browser shows it. Run with ``python benchmarks/report_page.py [--folder report-output]``;
``docs/report.png`` is its ``report.png``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

#: Of the window that is taken: the top of the page, as far as the odds.
WIDTH, HEIGHT = 1000, 2650
COLOURS = 24


def main() -> None:
    """Write the page and its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default="report-output")
    parser.add_argument("--runs", type=int, default=2000, help="of the audit")
    chosen = parser.parse_args()
    folder = Path(chosen.folder)
    folder.mkdir(parents=True, exist_ok=True)
    report, audit = fitted_report(), audited(chosen.runs)
    page = folder / "report.html"
    text = report.to_html(page, audit=audit)
    report.to_json(folder / "report.json")
    read, _ = text.split("<script", 1)
    print(f"{page}: {len(text.encode())} bytes, of which people read {len(read.encode())}")
    print(report.sentence)
    print(picture(page, folder / "report.png"))


def fitted_report() -> Any:
    """The report of the default forest on all of adult, under a header that somebody typed in."""
    from dpforest import MultinomialForestClassifier, ReportHeader
    from dpforest.datasets import load_adult

    data = load_adult()
    forest = MultinomialForestClassifier(epsilon=1, domain=data.domain)
    header = ReportHeader(
        title="Incomes above 50,000 dollars",
        data_set="Adult: an extract of the census of 1994 (UCI)",
        people="adults in the United States, 1994",
        curator="the dpforest developers",
        purpose="an example of a report; nobody decides anything by it",
        why_epsilon="1 is what most examples of this library spend",
        trust_model="whoever fits reads the records; they are public",
        access="anybody",
    )
    return forest.fit(data.data, data.target).privacy_report(header)


def audited(runs: int) -> Any:
    """An audit of the same claim on a small domain, where many fits are cheap."""
    from dpforest import Domain, MultinomialForestClassifier
    from dpforest.audit import audit

    domain = Domain(features={"age": (0, 120)}, classes=["ill", "well"])
    forest = MultinomialForestClassifier(epsilon=1, domain=domain, n_estimators=1, max_depth=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return audit(forest, runs=runs)


def picture(page: Path, to: Path) -> str:
    """The top of the page as a browser shows it, in few colours."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if browser is None:
        return "no picture: no Chromium here"
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [browser, "--headless", "--disable-gpu", "--hide-scrollbars", *root,
             f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}",
             f"--screenshot={to.resolve()}", page.resolve().as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
    from PIL import Image

    Image.open(to).convert("RGB").quantize(COLOURS).save(to, optimize=True)
    return f"{to}: {to.stat().st_size} bytes"


if __name__ == "__main__":
    main()
