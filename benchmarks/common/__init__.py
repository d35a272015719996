"""What several benchmarks share: tables and splits, models, scores, stored results, reports."""
