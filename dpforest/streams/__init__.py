"""Tables that do not fit in memory: files and batches, read pass by pass.

``fit`` takes a stream in place of a table and gives the forest that it would give for all of it.
"""

from dpforest.streams.base import Batch, Stream
from dpforest.streams.batches import BatchStream
from dpforest.streams.csv_files import CSVStream
from dpforest.streams.csv_lines import LONGEST_LINE
from dpforest.streams.parquet_files import ParquetStream

__all__ = ["LONGEST_LINE", "Batch", "BatchStream", "CSVStream", "ParquetStream", "Stream"]
