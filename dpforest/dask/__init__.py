"""Private forests on Dask: records stay on workers, integer counts travel.

Estimators take Dask arrays and data frames. Workers encode and count; noise and selections are
drawn once, where ``fit`` is called, since that is where the accountant lives. Needs
``dpforest[dask]`` and a ``distributed.Client``.
"""

from dpforest.dask.estimators import (
    DaskMultinomialForestClassifier,
    DaskPrivateForestClassifier,
    DaskPrivateForestRegressor,
)

__all__ = [
    "DaskMultinomialForestClassifier",
    "DaskPrivateForestClassifier",
    "DaskPrivateForestRegressor",
]
