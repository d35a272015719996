"""Estimators in scikit-learn's manner: the door, the plan, the fit and what it leaves."""
