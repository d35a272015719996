"""Trees: ways to grow released trees from a table and a budget, a folder each."""
