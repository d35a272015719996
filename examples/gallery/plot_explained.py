"""
What was learnt
===============

Importances and curves come from released values and cost nothing. They say what the forest says,
not what is true of the world.
"""

# %%
from dpforest import PrivateForestClassifier
from dpforest.datasets import load_adult

adult = load_adult()
forest = PrivateForestClassifier(epsilon=1, delta=1e-6, domain=adult.domain)
forest.fit(adult.data, adult.target)
explanation = forest.explain()
for name, importance in list(explanation.importances.items())[:5]:
    print(f"{name:16} {importance:.2f}")

# %%
explanation.plot()
