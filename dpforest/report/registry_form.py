"""Form of an entry of the public registry of deployments: groups, fields, choices and tiers.

As of the registry's schema that docs/report.md dates. A field that is None is left out.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from dpforest.accounting.frozen import Frozen


class RequiredFrom(NamedTuple):
    """The tier that asks for a field.

    Attributes
    ----------
    tier : int
        The least of the registry's tiers, 1 to 3, at which it is asked.
    may_lack : bool
        True if an entry without it may still be of that tier: nobody knows it of every release.
    """

    tier: int
    may_lack: bool = False


Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]

#: Text that is asked from a tier on.
_First = Annotated[Text | None, RequiredFrom(1)]
_Second = Annotated[Text | None, RequiredFrom(2)]
_Third = Annotated[Text | None, RequiredFrom(3)]
_Units = Annotated[int | None, Field(ge=0), RequiredFrom(3, may_lack=True)]


class Curator(Frozen):
    """The organisation that publishes."""

    data_curator_name: Text
    data_curator_type: Literal["Government", "Industry", "Nonprofit"]


class Basic(Frozen):
    """The data product."""

    name: _First = None
    data_curators: Annotated[
        tuple[Curator, ...] | None, Field(min_length=1), RequiredFrom(1)
    ] = None  # fmt: skip
    description: _First = None
    intended_use: _First = None
    data_product_type: Annotated[
        Literal[
            "Summary statistics", "Machine learning model", "Dataset", "Synthetic data",
            "Interactive API", "SQL queries",
        ]
        | None,
        RequiredFrom(1),
    ] = None  # fmt: skip
    data_product_region: _First = None
    data_product_sector: Annotated[
        Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"] | None,
        RequiredFrom(1),
    ] = None
    publication_date: Annotated[
        str | None, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), RequiredFrom(1)
    ] = None


class Variant(Frozen):
    """The kind of differential privacy, and of what tables."""

    variant_name: Annotated[
        Literal["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"] | None,
        RequiredFrom(2),
    ] = None
    data_domain: _Third = None
    unprotected_quantities: _Third = None


class Parameters(Frozen):
    """The figures of the promise."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None


class Loss(Frozen):
    """Privacy loss, and the unit that it is about."""

    privacy_unit: _Second = None
    privacy_unit_details: _Third = None
    number_of_privacy_units: _Units = None
    privacy_parameters: Annotated[Parameters | None, RequiredFrom(2)] = None
    privacy_parameters_details: _Third = None


class Model(Frozen):
    """Trust, and the way of release."""

    model_name: Annotated[
        Literal["Local", "Central", "Shuffle", "Federated", "Varies"] | None, RequiredFrom(2)
    ] = None
    model_name_details: _Third = None
    trust_assumptions: _Third = None
    actors: _Third = None
    release_type: Annotated[Literal["One release", "Many releases"] | None, RequiredFrom(2)] = None
    release_type_details: Annotated[Text | None, RequiredFrom(2, may_lack=True)] = None
    data_source_type: Annotated[Literal["Static", "Dynamic"] | None, RequiredFrom(2)] = None
    access_type: Annotated[Literal["Interactive", "Non-interactive"] | None, RequiredFrom(2)] = None
    access_type_details: _Third = None


class Implementation(Frozen):
    """Mechanisms and choices, with their reasons."""

    preprocessing_and_hyperparameter_tuning: _Third = None
    mechanisms: _Third = None
    composition: _Third = None
    post_processing: _Third = None
    justification: _Third = None
    utility: Annotated[Text | None, RequiredFrom(3, may_lack=True)] = None
    additional_information: _First = None


class Misc(Frozen):
    """A source whose type its author has not said yet."""

    url: Text | None = None
    note: Text | None = None


class Source(Frozen):
    """A place where more is published."""

    misc: Misc


class Administrative(Frozen):
    """The registry's own matters; what has no tier is not asked of a release."""

    evidence_sources: Annotated[dict[str, Source] | None, RequiredFrom(1, may_lack=True)] = None
    status: Literal["Converted", "Draft", "Pending", "Changes Required", "Approved"]
    registry_authors: Annotated[tuple[Text, ...] | None, Field(min_length=1)] = None
    tier: Literal[1, 2, 3] | None = None


class Deployment(Frozen):
    """An entry's groups of fields."""

    basic: Basic
    dp_variant: Variant | None = None
    privacy_loss: Loss | None = None
    deployment_model: Model | None = None
    implementation: Implementation | None = None
    administrative: Administrative


class Entry(Frozen):
    """An entry of the registry."""

    url_slug: Text | None = None
    deployment: Deployment

    def to_dict(self) -> dict[str, Any]:
        """Plain data of all that is known, ready for JSON."""
        plain: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return plain


_GROUPS: dict[str, type[Frozen]] = {
    "basic": Basic,
    "dp_variant": Variant,
    "privacy_loss": Loss,
    "deployment_model": Model,
    "implementation": Implementation,
    "administrative": Administrative,
}
#: Every field that can be written, as ``group.field``, with the tier that asks for it.
FIELDS: dict[str, RequiredFrom] = {
    f"{group}.{name}": asked
    for group, kind in _GROUPS.items()
    for name, field in kind.model_fields.items()
    for asked in field.metadata
    if isinstance(asked, RequiredFrom)
}
