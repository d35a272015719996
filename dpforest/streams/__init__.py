"""Tables that do not fit in memory: files and batches, read pass by pass.

``fit`` takes a stream in place of a table and gives the forest that it would give for all of it.
"""

from dpforest.records.streams.base import Stream
from dpforest.records.streams.batches import BatchStream
from dpforest.records.streams.csv_files import CSVStream
from dpforest.records.streams.csv_lines import LONGEST_LINE
from dpforest.records.streams.parquet_files import ParquetStream
from dpforest.records.streams.passes import Batch

__all__ = ["LONGEST_LINE", "Batch", "BatchStream", "CSVStream", "ParquetStream", "Stream"]
