"""
An audit
========

An audit attacks a mechanism many times on two neighbouring tables and certifies a lower bound on
its epsilon. A bound above the claim would prove a fault. It can never prove that there is none.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from dpforest import Domain, PrivateForestClassifier
from dpforest.audit import Batched, DatasetPair, audit

# %%
# A mechanism that claims epsilon = 1 on a count, and one whose noise is half of what it needs.
pair = DatasetPair((np.zeros((5, 1)), np.zeros(5)), (np.zeros((6, 1)), np.zeros(6)))
generator = np.random.default_rng()


def count_with(scale):
    """A batched mechanism: the number of records, with Laplace noise of a scale."""
    return Batched(lambda table, runs: len(table[0]) + generator.laplace(0, scale, runs))


results = {
    "as it should be": audit(count_with(1), [pair], claimed_epsilon=1, runs=20_000),
    "half the noise": audit(count_with(0.5), [pair], claimed_epsilon=1, runs=20_000),
}
for name, result in results.items():
    print(f"{name}: {result.verdict}, epsilon is at least {result.lower_bound:.2f}")

# %%
# A forest, on the built-in worst cases of its domain.
domain = Domain(features={"age": (0, 120)}, classes=["ill", "well"], approximate_rows=50)
forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy="rules")
result = audit(forest, runs=200)
print(result.verdict, round(result.lower_bound, 2))

# %%
plt.bar(list(results), [result.lower_bound for result in results.values()])
plt.axhline(1, color="black", linestyle="dashed", label="claimed")
plt.ylabel("certified lower bound on epsilon")
plt.legend()
plt.show()
