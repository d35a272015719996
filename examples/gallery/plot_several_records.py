"""
A person with several records
=============================

Visits, not patients, are the rows of many tables. Then a guarantee for one record protects a
patient with three visits less. ``max_records_per_unit`` makes the unit the person.
"""

# %%
import numpy as np
import pandas as pd

from dpforest import Domain, PrivateForestClassifier

generator = np.random.default_rng(0)
visits = pd.DataFrame(
    {"patient": generator.integers(0, 4000, 12_000), "age": generator.integers(0, 100, 12_000)}
)
visits["ill"] = np.where(generator.uniform(size=12_000) < visits["age"] / 120, "yes", "no")

# %%
# Keep at most three visits a patient, by a rule that looks at that patient's visits alone.
kept = visits.groupby("patient").head(3)

# %%
domain = Domain(features={"age": (0, 110)}, classes=["no", "yes"], approximate_rows=10_000)
of_visits = PrivateForestClassifier(epsilon=1, domain=domain)
of_patients = PrivateForestClassifier(epsilon=1, domain=domain, max_records_per_unit=3)
print("a visit:  ", of_visits.plan().forecast)
print("a patient:", of_patients.plan().forecast)

# %%
of_patients.fit(kept[["age"]], kept["ill"])
print(of_patients.guarantee_)
print(of_patients.guarantee_.unit)
