"""A certificate as frozen data: the list of releases in texts, read back to be worked out again."""

from __future__ import annotations

from pydantic import ConfigDict, Field, field_validator

from dpforest.accounting.certificates import Certificate, Repeat
from dpforest.accounting.events import Event, read_event
from dpforest.accounting.frozen import ExactText
from dpforest.accounting.rationals import exact_text, parse_finite
from dpforest.own_names import OwnNames

#: Releases of a list that is read back; plans have some thousands. To work a longer one out again
#: would take whoever reads a forged file minutes.
MOST_RELEASES = 20_000
#: Releases that are written down one by one; plans have some ten, and repeat them.
MOST_WRITTEN = 1000


class _Frozen(OwnNames):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class EventRecord(_Frozen):
    """One release: its mechanism, and its parameters as rationals in text."""

    mechanism: str
    parameters: dict[str, str]

    @classmethod
    def of(cls, event: Event) -> EventRecord:
        """Write an event down."""
        return cls(mechanism=event.mechanism, parameters=event.parameters)


class RepeatRecord(_Frozen):
    """A few releases in order, so many times over."""

    events: tuple[EventRecord, ...] = Field(min_length=1)
    times: int = Field(ge=1, le=MOST_RELEASES)


class CertificateRecord(_Frozen):
    """Claim that a list of releases, fixed beforehand, is (epsilon, delta)-DP.

    Attributes
    ----------
    epsilon, delta : str
        As rationals.
    method : str
        How that was shown.
    blocks : tuple of RepeatRecord
        The list.
    records_per_unit : int
        How many records are added or removed together.
    """

    epsilon: ExactText
    delta: ExactText
    method: str
    blocks: tuple[RepeatRecord, ...]
    records_per_unit: int = Field(default=1, ge=1)

    @field_validator("blocks")
    @classmethod
    def _check_length(cls, blocks: tuple[RepeatRecord, ...]) -> tuple[RepeatRecord, ...]:
        if sum(len(repeat.events) * repeat.times for repeat in blocks) > MOST_RELEASES:
            raise ValueError(f"a list has at most {MOST_RELEASES} releases")
        if sum(len(repeat.events) for repeat in blocks) > MOST_WRITTEN:
            raise ValueError(f"a list is written as at most {MOST_WRITTEN} releases and repeats")
        return blocks

    @classmethod
    def of(cls, certificate: Certificate) -> CertificateRecord:
        """Write a certificate down."""
        return cls(
            epsilon=exact_text(certificate.epsilon),
            delta=exact_text(certificate.delta),
            method=certificate.method or "none",
            blocks=tuple(
                RepeatRecord(events=tuple(map(EventRecord.of, repeat.events)), times=repeat.times)
                for repeat in certificate.repeats
            ),
            records_per_unit=certificate.records_per_unit,
        )

    @property
    def certificate(self) -> Certificate:
        """The certificate that was written down, not yet worked out again.

        Raises
        ------
        ValueError
            Not readable.
        """
        repeats = tuple(Repeat(tuple(map(_read, r.events)), r.times) for r in self.blocks)
        epsilon, delta = parse_finite(self.epsilon), parse_finite(self.delta)
        return Certificate(repeats, epsilon, delta, self.records_per_unit)


def _read(record: EventRecord) -> Event:
    event = read_event(record.mechanism, record.parameters)
    if event is None:
        raise ValueError("no such event")
    return event
