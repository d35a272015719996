"""
Reading the report
==================

The report says what was promised, what was spent on what, and under which assumptions. Anyone with
the report and the model can work it out again.
"""

# %%
import json

from dpforest import PrivateForestClassifier, ReportError, verify_report
from dpforest.datasets import load_mammographic_masses

masses = load_mammographic_masses()
forest = PrivateForestClassifier(epsilon=1, domain=masses.domain)
forest.fit(masses.data, masses.target)
report = forest.privacy_report()
print(report.to_markdown()[:1500])

# %%
# Verifying works every total out again.
print(verify_report(report, forest))

# %%
# A report that was edited is refused.
content = json.loads(report.to_json())
content["guarantee"]["sentence"] = "The released model is (0.1, 0)-differentially private."
try:
    verify_report(json.dumps(content), forest)
except ReportError as refusal:
    print("refused:", refusal)
