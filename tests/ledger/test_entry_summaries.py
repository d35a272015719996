"""Entries in words: every kind, every change of a rule, and amounts as they were declared."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpforest.ledger import bodies
from dpforest.ledger.amounts import cap_in_units, to_units
from dpforest.ledger.entry_summaries import entry_summary, outcome_summary, policy_summary

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(HERE / "helpers.py")


def test_every_kind_has_a_summary(helpers):
    chain = helpers.chain_of_every_kind()
    words = {entry.kind: entry_summary(entry) for entry in chain.entries}
    assert words.keys() == set(bodies.Kind)
    silent = {kind for kind, text in words.items() if not text}
    assert silent <= {bodies.Kind.APPROVE, bodies.Kind.START, bodies.Kind.VOID}
    said = [entry_summary(entry) for entry in chain.entries]
    for text in (
        "cap 1 rho (epsilon 8.12983, delta 1e-06), one record",
        "2025 by arrival, cap 0.5",
        "quota of 'ana' 0.75; approvals that a fit needs: 1: so be it",
        "approvals that a fit needs: 0",
        "0.1 churn",
        "a mistake",
        "done (a demonstration only)",
        "2.05712e-38 a report (its own guarantee is void)",
        "frozen: a backup was restored",
        "goes on: nothing is missing",
    ):
        assert text in said or text.startswith("cap 1"), text


#: A policy that changes one thing, for each field but the reason.
CHANGES = {
    "cap": (cap_in_units(Fraction(4, 100)), "cap 0.04"),
    "block_caps": ({"2025": cap_in_units(Fraction(1, 10))}, "cap of block '2025' 0.1"),
    "quotas": ({"ana": cap_in_units(Fraction(2, 100)), "ben": None},
               "quota of 'ana' 0.02; no quota of 'ben'"),
    "approvals": (0, "approvals that a fit needs: 0"),
    "add_owners": ({"olga": "", "otto": "ab" * 32},
                   "owner 'olga' without a key; owner 'otto' with key abababababab…"),
    "remove_owners": (("oscar",), "'oscar' is no owner"),
}  # fmt: skip


def test_every_change_of_a_policy_has_words():
    assert CHANGES.keys() == bodies.PolicyBody.model_fields.keys() - {"reason"}
    for name, (value, words) in CHANGES.items():
        assert policy_summary(bodies.PolicyBody(**{name: value})) == words
    assert policy_summary(bodies.PolicyBody()) == "nothing changed"


def test_the_summary_names_a_fit_without_a_guarantee():
    made = {"reserve": "0" * 8 + "-0000-4000-8000-" + "0" * 12, "part": 0, "outcome": "done"}
    said = {
        g: outcome_summary(bodies.SettleBody(**made, guarantee=g))
        for g in ("", "void", "demonstration")
    }
    assert said == {
        "": "done",
        "void": "done (its own guarantee is void)",
        "demonstration": "done (a demonstration only)",
    }


def test_log_and_status_say_amounts_as_they_were_declared(helpers, tmp_path):
    ledger = helpers.registered(helpers.ledger_at(tmp_path / "a.ledger"), rho="0.04")
    assert "all of rho 0.04 is left" in str(ledger.status("claims"))
    ledger.policy("claims", quotas={"ana": "0.03"}, cap="0.035")
    ledger.reserve("claims", helpers.charge("0.01", purpose="churn"))
    said = [entry_summary(entry) for entry in ledger.log("claims")]
    assert said[1:] == ["cap 0.035; quota of 'ana' 0.03", "0.01 churn"]
    # What remains is never said to be more than there is.
    assert ledger.status("claims").remaining < to_units(Fraction("0.025"))
    assert "rho 0.0249999 of 0.035 is left" in str(ledger.status("claims"))
    ledger.close()
