"""The page for officers in a real browser: it is laid out, and no text runs off it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("jinja2")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def browser(load_helper, tmp_path_factory):
    """The browser of the report's tests, or skip where there is none that starts."""
    tests = load_helper(HERE.parent / "estimators" / "report" / "test_report_browser.py")
    if tests.BROWSER is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "empty.html"
    page.write_text("<!DOCTYPE html><title>empty</title>", "utf-8")
    try:
        assert "empty" in tests.browse(folder, page, "--dump-dom")
    except Exception as reason:
        pytest.skip(f"Chromium does not start here: {str(reason)[-300:]}")
    return tests


@pytest.fixture(scope="module")
def text(load_helper, tmp_path_factory):
    helpers = load_helper(HERE / "helpers.py")
    path = tmp_path_factory.mktemp("page") / "page.ledger"
    ledger = load_helper(HERE / "filled.py").filled_ledger(helpers, path)
    yield ledger.page()
    ledger.close()


def test_it_is_laid_out(browser, text, tmp_path):
    page = tmp_path / "page.html"
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>\n", text).group(0)
    measured = text.replace(policy, "").replace("</body>", browser.MEASURE + "</body>")
    page.write_text(measured, "utf-8")
    dumped = browser.browse(tmp_path, page, "--dump-dom")
    wide, sentence, requests, _, height = re.search(r'data-found="([^"]*)"', dumped)[1].split()
    assert wide == "none" and int(requests) == 0
    assert int(sentence) > 20 and 1500 < int(height) < 12_000


def test_no_script_runs_and_it_can_be_seen(browser, text, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    run = "<script>document.body.style.background = 'black'</script></body>"
    page.write_text(text.replace("</body>", run), "utf-8")
    browser.browse(tmp_path, page, f"--screenshot={picture}")
    seen = image.imread(picture)[..., :3]
    assert seen.shape[:2] == (browser.HEIGHT, browser.WIDTH)
    dark, light = (seen.max(axis=2) < 0.35).mean(), (seen.min(axis=2) > 0.92).mean()
    assert 0.005 < dark < 0.15 and light > 0.7
    assert (seen[:, -8:].min(axis=2) > 0.92).all()
