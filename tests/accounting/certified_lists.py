"""Certified lists, asked for release by release, as tests write them."""

from __future__ import annotations

from typing import Any

from dpforest.accounting.certificates import Certificate
from dpforest.accounting.grants import Grant
from dpforest.accounting.lists import ListScope, Price, open_list
from dpforest.accounting.releases import Release, Round, Step
from dpforest.accounting.requests import Request, read_request


class Asked:
    """A scope that holds a list, each release of which is a step of its own."""

    def __init__(self, scope: ListScope) -> None:
        self.scope = scope

    def request(self, event: Any, *, role: str = "test") -> Grant:
        return self.request_all([Request(event, role)])[0]

    def request_all(self, requests: Any) -> list[Grant]:
        asked = [read_request(request) for request in requests]
        granted = self.scope.grant(*(Step((Release("test", event),)) for event, *_ in asked))
        return [grant for by_role in granted for grant in by_role.values()]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scope, name)

    def __enter__(self) -> Asked:
        self.scope.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.scope.__exit__(*error)


def open_certified(scope: Any, label: str, certificate: Certificate) -> Asked:
    """Open a scope that grants the certificate's list; its releases all have the role "test"."""
    rounds = tuple(
        Round(
            "test", tuple(Step((Release("test", event),)) for event in repeat.events), repeat.times
        )
        for repeat in certificate.repeats
    )
    price = Price(certificate.additive, certificate, certificate.loss)
    return Asked(open_list(getattr(scope, "scope", scope), label, rounds, price))
