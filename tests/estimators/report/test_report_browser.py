"""The page in a real browser: it is laid out, asks for nothing, and no text runs off it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here (Debian: apt-get install chromium)"
)
FLAGS = ["--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-dev-shm-usage"]  # fmt: skip
WIDTH, HEIGHT = 1000, 5000
#: Measured inside the browser by a script that only this test adds.
MEASURE = """<script>window.onload = () => {
  const wide = [...document.querySelectorAll('body *')].filter(e =>
    e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 &&
    !e.closest('.wide') && !e.closest('svg')).map(e => e.tagName);
  const first = document.querySelector('.sentence').getBoundingClientRect();
  const requests = performance.getEntriesByType('resource').length;
  const open = document.querySelectorAll('details').length;
  document.body.setAttribute('data-found', [wide.join('+') || 'none', Math.round(first.height),
    requests, open, Math.round(document.body.scrollHeight)].join(' '));
};</script>"""


#: A telephone's width, as far as browsers without a screen go down.
NARROW = 500
MEASURE_ALL = MEASURE.replace("!e.closest('.wide') && ", "")


def browse(folder: Path, page: Path, *options: str, width: int = WIDTH) -> str:
    """Run the browser on a file with a profile of its own."""
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [BROWSER, *FLAGS, *sandbox, f"--user-data-dir={folder / 'profile'}",
               f"--window-size={width},{HEIGHT}", *options, page.as_uri()]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.fixture(scope="module", autouse=True)
def started(tmp_path_factory):
    """Skip where a browser is installed but may not start, as in some containers."""
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "empty.html"
    page.write_text("<!DOCTYPE html><title>empty</title>", "utf-8")
    try:
        assert "empty" in browse(folder, page, "--dump-dom")
    except (AssertionError, OSError, subprocess.TimeoutExpired) as reason:
        pytest.skip(f"Chromium does not start here: {str(reason)[-300:]}")


@pytest.mark.parametrize("name", ["multinomial", "void", "one shot in rho", "demonstration"])
def test_it_is_laid_out(name, fitted, tmp_path):
    report = fitted(name).privacy_report()
    page = tmp_path / "report.html"
    text = report.to_html()
    # The page forbids scripts; without that line the browser may measure it.
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>\n", text).group(0)
    page.write_text(text.replace(policy, "").replace("</body>", MEASURE + "</body>"), "utf-8")
    dumped = browse(tmp_path, page, "--dump-dom")
    wide, sentence, requests, branches, height = re.search(
        r'data-found="([^"]*)"', dumped
    ).group(1).split()  # fmt: skip
    assert wide == "none"
    assert int(sentence) > 20 and int(requests) == 0
    assert int(branches) >= 2 and 1500 < int(height) < 12_000
    assert " ".join(report.guarantee.sentence.split())[:40] in " ".join(dumped.split())


@pytest.mark.parametrize("name", ["multinomial, sides of unequal cost", "void", "a ledger"])
def test_nothing_lies_off_the_screen_of_a_telephone(name, fitted, tmp_path):
    page = tmp_path / "report.html"
    text = fitted(name).privacy_report().to_html()
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>\n", text).group(0)
    text = text.replace(policy, "").replace("</body>", MEASURE_ALL + "</body>")
    # All that can be opened is open.
    page.write_text(text.replace("<details", "<details open"), "utf-8")
    dumped = browse(tmp_path, page, "--dump-dom", width=NARROW)
    assert re.search(r'data-found="(\S*)', dumped).group(1) == "none"


def test_no_script_runs(fitted, tmp_path):
    page = tmp_path / "report.html"
    text = fitted("multinomial").privacy_report().to_html()
    run = "<script>document.body.setAttribute('data-run', 'yes')</script></body>"
    page.write_text(text.replace("</body>", run), "utf-8")
    assert 'data-run="yes"' not in browse(tmp_path, page, "--dump-dom")


def test_it_can_be_seen(fitted, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    page.write_text(fitted("multinomial").privacy_report().to_html(), "utf-8")
    browse(tmp_path, page, f"--screenshot={picture}")
    seen = image.imread(picture)[..., :3]
    assert seen.shape[:2] == (HEIGHT, WIDTH)
    dark = (seen.max(axis=2) < 0.35).mean()
    light = (seen.min(axis=2) > 0.92).mean()
    assert 0.005 < dark < 0.15 and light > 0.75  # dark text on a light page
    # The margin to the right is empty: nothing runs off the page.
    assert (seen[:, -8:].min(axis=2) > 0.92).all()
