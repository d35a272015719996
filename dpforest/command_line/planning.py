"""``dpforest plan``: what a fit would release, what it costs, and what it can teach."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpforest.command_line.answers import Answer, PlanResult, Written
from dpforest.command_line.charging import opened_budget_source, price_words, read_for_price
from dpforest.command_line.forests import declared_domain, forest_of
from dpforest.command_line.tables import is_streamed
from dpforest.exceptions import printable
from dpforest.writing import check_new


def run_plan(chosen: argparse.Namespace) -> Answer:
    """Plan a fit from public facts alone: no record is read, and nothing is charged."""
    if chosen.charge:
        check_new(Path(chosen.charge), chosen.force, "--charge", read=read_for_price(chosen))
    domain = declared_domain(chosen)
    forest, streamed = forest_of(chosen, domain), is_streamed(domain, chosen.streamed)
    plan = forest.plan(streamed=streamed)
    with opened_budget_source(chosen) as budget_source:
        price = budget_source.price(forest, streamed)
        written: tuple[Written, ...] = ()
        if chosen.charge:
            path = Path(chosen.charge)
            written = (budget_source.write_charge(forest, streamed, path, chosen.force),)
    result = PlanResult(plan=plan, streamed=streamed, price=price, written=written)
    notice = "".join(f"{one.what} written: {printable(one.path)}" for one in written)
    return Answer(result, f"{plan}\n{how_read(streamed)}\n{price_words(price)}", notice)


def how_read(streamed: bool) -> str:
    """Way in which records will be read, in words."""
    return "records are read " + ("in passes" if streamed else "whole, into memory")
