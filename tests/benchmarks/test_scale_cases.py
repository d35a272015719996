"""Fits and floors of the benchmark of scale, and the passes that it watches."""

from __future__ import annotations

import pytest
from common import scale_cases, scale_dask

from dpforest.records.streams.passes import StreamedRecords

pytest.importorskip("pyarrow")


@pytest.mark.parametrize("kind", ["one_shot", "refitted", "multinomial"])
def test_fits_in_memory_have_a_floor(kind, monkeypatch):
    monkeypatch.setattr(scale_cases, "rates", lambda: {"updates": 1e9, "steps": 1e9})
    found = scale_cases.in_memory(kind, 5_000)
    assert found["seconds"] > 0 and found["floor_cpu_seconds"] > 0


# The domain declares the records of the whole benchmark.
@pytest.mark.filterwarnings("ignore::dpforest.FewRecordsWarning")
def test_passes_of_a_stream_are_timed(monkeypatch):
    monkeypatch.setattr(StreamedRecords, "_sum", StreamedRecords._sum)  # put back afterwards
    found = scale_cases.streamed("one_shot", "parquet", 5_000, 10**8)
    assert len(found["passes"]) >= 2 and min(found["passes"]) > 0


def test_passes_of_dask_are_noted():
    workers = pytest.importorskip("dpforest.dask.workers", exc_type=ImportError)
    total, bundles = scale_dask.Watched().wrap(workers.DaskRecords)
    assert callable(total) and callable(bundles)
    assert {"bytes_sent", "_sum", "_bundles"} <= set(dir(workers.DaskRecords))
