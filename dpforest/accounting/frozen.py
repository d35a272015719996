"""Records that are written and read: ledgers, listings of fits and reports are made of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict

from dpforest.accounting.rationals import is_exact
from dpforest.own_names import OwnNames


def _exact(text: str) -> str:
    if not is_exact(text):
        raise ValueError("not an exact amount")
    return text


#: A rational in text as ``exact_text`` writes it; never worked out before it is known to be short.
ExactText = Annotated[str, AfterValidator(_exact)]


class Frozen(OwnNames):
    """Base of frozen, closed records; each is built when it is first used, not on import."""

    # Infinite amounts must survive JSON, where pydantic would write null. A report has a
    # fingerprint of its model, and pydantic before 2.10 warns of names that begin with "model_".
    model_config = ConfigDict(
        defer_build=True,
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="strings",
        protected_namespaces=(),
    )
