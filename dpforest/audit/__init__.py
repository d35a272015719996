"""Audits: certified lower bounds on epsilon, exact checks of small domains, record and replay."""

from dpforest.audit.auditor import audit
from dpforest.audit.catalogue import SMALL_DOMAIN, AuditPart, mechanism_parts
from dpforest.audit.estimators import NOT_AUDITED, estimator_part, estimator_parts
from dpforest.audit.exact import exact_checks
from dpforest.audit.exact_parts import ExactCheck
from dpforest.audit.neighbours import DatasetPair
from dpforest.audit.one_run import OneRunResult, audit_one_run, corner_canaries, own_label_score
from dpforest.audit.one_split import OneSplitTrees
from dpforest.audit.recording import Recording, differences_on_replay, record, recording
from dpforest.audit.result import AuditResult, FoundEvent
from dpforest.audit.subjects import Batched, Estimator, Function, Subject, released_values
from dpforest.audit.worst_cases import WORST_CASES, worst_case, worst_cases

__all__ = [
    "NOT_AUDITED",
    "SMALL_DOMAIN",
    "WORST_CASES",
    "AuditResult",
    "Batched",
    "DatasetPair",
    "Estimator",
    "ExactCheck",
    "FoundEvent",
    "Function",
    "OneRunResult",
    "OneSplitTrees",
    "AuditPart",
    "Recording",
    "Subject",
    "audit",
    "audit_one_run",
    "corner_canaries",
    "differences_on_replay",
    "estimator_part",
    "estimator_parts",
    "exact_checks",
    "mechanism_parts",
    "own_label_score",
    "record",
    "recording",
    "released_values",
    "worst_case",
    "worst_cases",
]
