"""
A campaign of fits
==================

Several models from one table: one accountant is the ceiling of all, and a ledger is the book that
outlives the process.
"""

# %%
import tempfile
from pathlib import Path

from dpforest import BudgetAccountant, BudgetExceeded, BudgetLedger, PrivateForestClassifier
from dpforest.datasets import load_mammographic_masses

masses = load_mammographic_masses()
accountant = BudgetAccountant(epsilon=2)
for epsilon in (0.5, 1, 1):
    forest = PrivateForestClassifier(epsilon=epsilon, domain=masses.domain, accountant=accountant)
    try:
        forest.fit(masses.data, masses.target)
    except BudgetExceeded as refusal:
        print("refused:", refusal)
    print("remaining:", accountant.remaining.epsilon)

# %%
# The ledger is a file, or a PostgreSQL database. It is opened again in the next session.
place = "sqlite:///" + str(Path(tempfile.mkdtemp()) / "masses.ledger")
ledger = BudgetLedger.open(place, actor="olga", create=True)
ledger.register("masses", domain=masses.domain, epsilon=2, delta=1e-6)
book = ledger.accountant("masses", purpose="screening model")
forest = PrivateForestClassifier(epsilon=1, domain=masses.domain, accountant=book)
forest.fit(masses.data, masses.target)
print(ledger.status("masses"))
