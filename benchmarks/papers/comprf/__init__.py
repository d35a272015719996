"""CompRF-C and CompRF-I, baselines of the papers: docs/comparison_forests.md. Not private."""

from papers.comprf.comparison import CompRFCClassifier, CompRFIClassifier

__all__ = ["CompRFCClassifier", "CompRFIClassifier"]
