"""The site: every block of its pages runs, and every public name is on the page of the interface.

`make docs` runs the examples and finds what is linked wrongly, or not at all.
"""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpforest
from dpforest import Domain

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: Whose blocks have tests of their own.
ELSEWHERE = {"command_line", "ledger"}
#: What a name of the public interface may be below.
MODULES = (
    "accounting", "audit", "consistent", "dask", "datasets", "domain", "ledger", "mechanisms",
    "streams",
)  # fmt: skip


def blocks(page: Path) -> list[str]:
    """Python of a page."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def patients() -> None:
    """A table as a curator has it."""
    table = pd.DataFrame({"age": [40, 50, 60], "outcome": ["ill", "well", "ill"]})
    table.to_csv("records.csv", index=False)


def claims() -> None:
    """A folder of Parquet files, and its declared domain."""
    amounts = np.arange(600)
    table = pd.DataFrame({"amount": amounts, "fraud": np.where(amounts > 500, "yes", "no")})
    Path("claims").mkdir()
    table.to_parquet("claims/part.parquet")
    domain = Domain(
        features={"amount": (0, 1000)}, classes=["no", "yes"], approximate_rows=600
    )  # fmt: skip
    domain.to_json("claims.domain.json")


def beside() -> None:
    """The file that its reader copied beside the script."""
    shutil.copy(ROOT / "examples" / "mlflow_model.py", "mlflow_model.py")


#: Packages of others: a block that names one is left out where it is not installed, and those
#: after it that use what it made.
OTHERS = ("skops", "mlflow")
#: What the blocks of a page import, of an extra that not every environment has.
NEEDS = {"scale": "dask.dataframe"}
#: What a page's reader has already, and what stands for a machine that is not here.
GIVEN: dict[str, Callable[[], None]] = {"domain": patients, "scale": claims, "taking_along": beside}
INSTEAD = {'Client("scheduler:8786")': "Client(processes=False, dashboard_address=':0')"}
PAGES = [page for page in sorted(DOCS.glob("*.md")) if blocks(page) and page.stem not in ELSEWHERE]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    monkeypatch.chdir(tmp_path)
    GIVEN.get(page.stem, lambda: None)()
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    left = [name for name in OTHERS if find_spec(name) is None]
    shown = [block for block in blocks(page) if not any(name in block for name in left)]
    for block in shown:
        for given, here in INSTEAD.items():
            block = block.replace(given, here)
        if "Signer" in block:
            pytest.importorskip("cryptography", reason="the extra ledger-signatures is missing")
        exec(compile(block, page.name, "exec"), names)
    if len(shown) < len(blocks(page)):
        pytest.skip(f"blocks were left out: {', '.join(left)} not installed")


def test_pages_with_blocks_are_found():
    assert {"start", "guide", "domain", "scale"} <= {page.stem for page in PAGES}


def public_names() -> set[str]:
    """Names that may be imported, each once: from the package, where it is there too."""
    own = {name for name in dpforest.__all__ if name not in MODULES and name[0] != "_"}
    found = {name for name in own if not _is_module(name)}
    for module in MODULES:
        names = importlib.import_module(f"dpforest.{module}").__all__
        found |= {f"{module}.{name}" for name in names if name not in found}
    return found


def _is_module(name: str) -> bool:
    return isinstance(getattr(dpforest, name), type(re))


def test_every_public_name_is_on_the_page_of_the_interface():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([A-Za-z][\w.]*)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    # Classes that share parameters with public ones are listed beside them, by their modules.
    shared = {name for name in listed if name.startswith("consistent.") and name.count(".") == 2}
    assert set(listed) - shared == public_names()


def test_every_page_is_reached_from_the_first():
    reached, left = set(), ["index"]
    while left:
        stem = left.pop()
        if stem in reached:
            continue
        reached.add(stem)
        page = DOCS / f"{stem}.md"
        trees = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
        for line in [line for tree in trees for line in tree.splitlines() if line[:1].isalpha()]:
            found = sorted(DOCS.glob(f"{line}.md"))
            left += [
                found_page.relative_to(DOCS).with_suffix("").as_posix() for found_page in found
            ]
    everything = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    assert everything - reached == set()


def test_versions_of_stored_files_are_those_of_the_code():
    from dpforest.accounting import ledger
    from dpforest.command_line import answers
    from dpforest.domain import files
    from dpforest.estimators import earlier, storage
    from dpforest.ledger import exporting, plan_files
    from dpforest.plain import reader
    from dpforest.report import record
    from dpforest.verify import signature

    page = (DOCS / "stored_formats.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| [^|]*\| `([\w-]+)` \| (\d+) \| ([^|]*)\|", page, re.MULTILINE)
    assert [(name, int(version)) for name, version, _ in rows] == [
        (storage.FORMAT, storage.VERSION),
        ("dpforest-report", record.VERSION),
        (signature.FORMAT, signature.VERSION),
        (reader.FORMAT, reader.VERSION),
        (files.FORMAT, files.VERSION),
        (ledger.FORMAT, ledger.VERSION),
        (exporting.FORMAT, exporting.VERSION),
        (plan_files.PLAN_FORMAT, plan_files.PLAN_VERSION),
        (answers.FORMAT, answers.VERSION),
    ]
    assert rows[0][2].strip() == ", ".join(map(str, earlier.EARLIER))
