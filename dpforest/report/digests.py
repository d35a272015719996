"""Digests: which model a report speaks of, and whether a report is as it was written.

A digest shows that a text was changed by somebody who did not make a new digest. Who can write a
whole report can write one whose digest fits, so ``verify_report`` works every total out again too.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

#: Settings that decide nothing of what is released.
_NOT_RELEASED = ("n_jobs", "verbose")


def canonical_bytes(data: Any) -> bytes:
    """JSON-ready data as bytes that do not depend on spacing or on the order of keys.

    Parameters
    ----------
    data : JSON-ready data
        All numbers finite; a float is written as its shortest decimal.
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def digest_of(data: Any) -> str:
    """SHA-256 of :func:`canonical_bytes`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_bytes(data)).hexdigest()


def released_content(model: Any) -> dict[str, Any]:
    """Content of a fitted estimator that decides its predictions: released values, public facts.

    Parameters
    ----------
    model : PrivateEstimator
        Fitted.
    """
    return {
        "estimator": type(model)._ours().__name__,
        "parameters": model._facts.settings,
        "domain": json.loads(model.domain_.to_json()),
        "named_features": hasattr(model, "feature_names_in_"),
        "released": model._released().to_data(),
    }


def model_fingerprint(model: Any) -> str:
    """Digest of what a fitted estimator released; the same for a stored copy of it.

    It is computed from released values and public facts, so it costs nothing. How many threads
    grew the model, and what was shown meanwhile, is no part of it.
    """
    content = released_content(model)
    settings = {k: v for k, v in content["parameters"].items() if k not in _NOT_RELEASED}
    return digest_of(content | {"parameters": settings})
