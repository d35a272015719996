"""
Numbers instead of classes
==========================

A regressor needs public bounds of its target. Noise is proportional to their distance.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from dpforest import Domain, PrivateForestRegressor

generator = np.random.default_rng(0)
age = generator.integers(0, 100, 20_000)
days = generator.gamma(1 + (age / 40) ** 2)

stays = Domain(features={"age": (0, 110)}, target=(0, 30), approximate_rows=20_000)
ages = np.arange(0, 101)
for epsilon in (0.3, 1, 3):
    forest = PrivateForestRegressor(epsilon=epsilon, delta=1e-6, domain=stays)
    forest.fit(age[:, None], days)
    plt.plot(ages, forest.predict(ages[:, None]), label=f"epsilon {epsilon}")
plt.plot(ages, 1 + (ages / 40) ** 2, color="black", linestyle="dashed", label="truth")
plt.xlabel("age")
plt.ylabel("days")
plt.legend()
plt.show()
