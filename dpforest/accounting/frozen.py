"""What ledgers, listings of fits and reports are made of: records that are written and read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base of frozen, closed records; each is built when it is first used, not on import."""

    # Infinite amounts must survive JSON, where pydantic would write null.
    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", ser_json_inf_nan="strings"
    )
