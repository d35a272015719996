"""
Your own CSV
============

From a file to a released model: declare the domain, look at the plan, fit, verify.
"""

# %%
# A made-up file stands for yours.
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from dpforest import Domain, PrivateForestClassifier, verify_report

folder = Path(tempfile.mkdtemp())
generator = np.random.default_rng(0)
age = generator.integers(18, 95, 5000)
smoker = generator.choice(["no", "yes"], 5000, p=[0.7, 0.3])
ill = generator.uniform(size=5000) < age / 150 + 0.25 * (smoker == "yes")
made_up = pd.DataFrame({"age": age, "smoker": smoker, "ill": np.where(ill, "yes", "no")})
made_up.to_csv(folder / "patients.csv", index=False)

# %%
# Read every column as text: the domain says what it means.
table = pd.read_csv(folder / "patients.csv", dtype=str)
X, y = table.drop(columns="ill"), table["ill"]
domain = Domain(
    features={"age": (0, 110), "smoker": ["no", "yes"]},
    classes=["no", "yes"],
    approximate_rows=5000,
)

# %%
# The plan reads no record.
forest = PrivateForestClassifier(epsilon=1, domain=domain)
print(forest.plan().forecast)

# %%
# The fit spends its budget once.
forest.fit(X, y)
print(forest.guarantee_)
print(forest.explain().importances)

# %%
# Model and report go to whoever decides, who can verify both.
forest.to_json(folder / "forest.json")
forest.privacy_report().to_json(folder / "report.json")
print(verify_report(folder / "report.json", model=folder / "forest.json"))
