"""
Choosing epsilon
================

What a budget can teach is known before any record is read: it depends on the number of records and
on epsilon. Plans cost nothing, so look at as many as you like.
"""

# %%
import matplotlib.pyplot as plt

from dpforest import Domain, PrivateForestClassifier

domain = Domain(features={"age": (0, 110), "smoker": ["no", "yes"]}, classes=["no", "yes"])
epsilons = (0.1, 0.3, 1, 3)
for rows in (500, 5000, 50_000):
    for epsilon in epsilons:
        plan = PrivateForestClassifier(epsilon=epsilon, domain=domain).plan(approximate_rows=rows)
        print(f"{rows:6} records, epsilon {epsilon:3}: {plan.strategy:9} {plan.forecast}")

# %%
# The signal R is the number of records divided by the noise of one class count.
for rows in (500, 5000, 50_000):
    plans = [
        PrivateForestClassifier(epsilon=epsilon, domain=domain).plan(approximate_rows=rows)
        for epsilon in epsilons
    ]
    plt.loglog(epsilons, [plan.signal for plan in plans], marker="o", label=f"{rows:,} records")
plt.axhline(5, color="grey", linestyle="dashed", label="below: class shares alone")
plt.xlabel("epsilon")
plt.ylabel("signal R")
plt.legend()
plt.show()
