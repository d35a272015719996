"""``dpforest audit``: fits on made-up tables that differ in one record, held against the claim."""

from __future__ import annotations

import argparse
import warnings

from dpforest.audit.auditor import audit
from dpforest.command_line.answers import Answer, AuditOutcome
from dpforest.command_line.exit_codes import ANSWER_IS_NO, DONE
from dpforest.command_line.forests import declared_domain, forest_of
from dpforest.exceptions import FewRecordsWarning, RepeatedFitWarning, WeakSignalWarning
from dpforest.standard_streams import print_notice


def run_audit(chosen: argparse.Namespace) -> Answer:
    """Look for a certified lower bound on epsilon that breaks the claim; no record is read."""
    forest = forest_of(chosen, declared_domain(chosen))
    forest.set_params(verbose=0)
    print_notice(f"fitting some {2 * chosen.runs} forests to made-up tables of a few records")
    with warnings.catch_warnings():
        # Tables of a few records teach nothing, and nobody's budget is spent on them.
        warnings.simplefilter("ignore", RepeatedFitWarning)
        warnings.simplefilter("ignore", WeakSignalWarning)
        warnings.simplefilter("ignore", FewRecordsWarning)
        found = audit(forest, runs=chosen.runs, confidence=chosen.confidence)
    code = ANSWER_IS_NO if found.verdict == "violates" else DONE
    return Answer(AuditOutcome(audit=found), str(found), code=code)
