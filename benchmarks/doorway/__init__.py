"""The parts of ``benchmarks/door.py``: one record more, in every container and reader."""
