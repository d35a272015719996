"""The papers' tables and figures, remade: ``python benchmarks/papers <table>``."""
