"""Differentially private random forests with an exact budget and a readable report.

Public names are loaded when they are first used, so that ``import dpforest`` costs no more
than the packages it stands on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

__version__ = "0.1.0"

# Where each public name lives. Type checkers read the imports below instead; a test
# compares the two.
_HOMES = {
    "ApprovalMissing": "dpforest.exceptions",
    "BRFClassifier": "dpforest.consistent.brf",
    "BRFRegressor": "dpforest.consistent.brf",
    "BudgetAccountant": "dpforest.accounting.accountant",
    "BudgetExceeded": "dpforest.exceptions",
    "BudgetLedger": "dpforest.ledger.ledger",
    "CategoricalFeature": "dpforest.domain.schema",
    "Classes": "dpforest.domain.schema",
    "DMRFClassifier": "dpforest.consistent.dmrf",
    "DMRFRegressor": "dpforest.consistent.dmrf",
    "ColumnsByPositionWarning": "dpforest.exceptions",
    "ColumnsOfTimesWarning": "dpforest.exceptions",
    "DPForestError": "dpforest.exceptions",
    "Denil14Classifier": "dpforest.consistent.denil14",
    "Domain": "dpforest.domain.domain",
    "DomainError": "dpforest.exceptions",
    "DraftedBoundsWarning": "dpforest.exceptions",
    "EarlierReportError": "dpforest.exceptions",
    "ExportSizeError": "dpforest.exceptions",
    "FewRecordsWarning": "dpforest.exceptions",
    "InvalidRecordError": "dpforest.exceptions",
    "InvalidStreamRecordError": "dpforest.exceptions",
    "LargeDeltaWarning": "dpforest.exceptions",
    "LargeEpsilonWarning": "dpforest.exceptions",
    "LedgerDamaged": "dpforest.exceptions",
    "LedgerError": "dpforest.exceptions",
    "LedgerFrozen": "dpforest.exceptions",
    "LedgerUnreachable": "dpforest.exceptions",
    "LedgerWarning": "dpforest.exceptions",
    "LookAlikesWarning": "dpforest.exceptions",
    "MRF2019Classifier": "dpforest.consistent.mrf2019",
    "MRF2019Regressor": "dpforest.consistent.mrf2019",
    "MRFClassifier": "dpforest.consistent.mrf",
    "MultinomialForestClassifier": "dpforest.estimators.multinomial",
    "NeighbouringRelation": "dpforest.relations",
    "NewerReportError": "dpforest.exceptions",
    "NoiseUnknownError": "dpforest.exceptions",
    "NumericFeature": "dpforest.domain.schema",
    "NumericTarget": "dpforest.domain.schema",
    "ParameterError": "dpforest.exceptions",
    "PrivacyLeakWarning": "dpforest.exceptions",
    "PrivacyReport": "dpforest.report.report",
    "PrivateForestClassifier": "dpforest.estimators.classifier",
    "PrivateForestRegressor": "dpforest.estimators.regressor",
    "PublicBackground": "dpforest.estimators.background",
    "RepeatedFitWarning": "dpforest.exceptions",
    "ReportError": "dpforest.exceptions",
    "ReportHeader": "dpforest.report.header",
    "ReportSignature": "dpforest.verify.signature",
    "SafeBayesianForestClassifier": "dpforest.consistent.safe_bayesian",
    "Signer": "dpforest.signatures",
    "StreamError": "dpforest.exceptions",
    "UndeclaredLabelsWarning": "dpforest.exceptions",
    "UnreadableColumnsWarning": "dpforest.exceptions",
    "UtilityFigure": "dpforest.report.utility",
    "WeakSignalWarning": "dpforest.exceptions",
    "check_pipeline": "dpforest.estimators.pipelines",
    "diff_reports": "dpforest.report.diff",
    "load_model": "dpforest.loading",
    "read_plain": "dpforest.verify.plain",
    "report_schema": "dpforest.report.schema",
    "sign_report": "dpforest.verify.signing",
    "verify_report": "dpforest.verify.report",
}
_MODULES = (
    "accounting",
    "audit",
    "consistent",
    "datasets",
    "domain",
    "estimators",
    "exceptions",
    "ledger",
    "mechanisms",
    "report",
    "streams",
    "trees",
)

if TYPE_CHECKING:
    from dpforest import (
        accounting,
        audit,
        consistent,
        datasets,
        domain,
        estimators,
        exceptions,
        ledger,
        mechanisms,
        report,
        streams,
        trees,
    )
    from dpforest.accounting.accountant import BudgetAccountant
    from dpforest.consistent.brf import BRFClassifier, BRFRegressor
    from dpforest.consistent.denil14 import Denil14Classifier
    from dpforest.consistent.dmrf import DMRFClassifier, DMRFRegressor
    from dpforest.consistent.mrf import MRFClassifier
    from dpforest.consistent.mrf2019 import MRF2019Classifier, MRF2019Regressor
    from dpforest.consistent.safe_bayesian import SafeBayesianForestClassifier
    from dpforest.domain.domain import Domain
    from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget
    from dpforest.estimators.background import PublicBackground
    from dpforest.estimators.classifier import PrivateForestClassifier
    from dpforest.estimators.multinomial import MultinomialForestClassifier
    from dpforest.estimators.pipelines import check_pipeline
    from dpforest.estimators.regressor import PrivateForestRegressor
    from dpforest.exceptions import (
        ApprovalMissing,
        BudgetExceeded,
        ColumnsByPositionWarning,
        ColumnsOfTimesWarning,
        DomainError,
        DPForestError,
        DraftedBoundsWarning,
        EarlierReportError,
        ExportSizeError,
        FewRecordsWarning,
        InvalidRecordError,
        InvalidStreamRecordError,
        LargeDeltaWarning,
        LargeEpsilonWarning,
        LedgerDamaged,
        LedgerError,
        LedgerFrozen,
        LedgerUnreachable,
        LedgerWarning,
        LookAlikesWarning,
        NewerReportError,
        NoiseUnknownError,
        ParameterError,
        PrivacyLeakWarning,
        RepeatedFitWarning,
        ReportError,
        StreamError,
        UndeclaredLabelsWarning,
        UnreadableColumnsWarning,
        WeakSignalWarning,
    )
    from dpforest.ledger.ledger import BudgetLedger
    from dpforest.loading import load_model
    from dpforest.relations import NeighbouringRelation
    from dpforest.report.diff import diff_reports
    from dpforest.report.header import ReportHeader
    from dpforest.report.report import PrivacyReport
    from dpforest.report.schema import report_schema
    from dpforest.report.utility import UtilityFigure
    from dpforest.signatures import Signer
    from dpforest.verify.plain import read_plain
    from dpforest.verify.report import verify_report
    from dpforest.verify.signature import ReportSignature
    from dpforest.verify.signing import sign_report

__all__ = [
    "ApprovalMissing",
    "BRFClassifier",
    "BRFRegressor",
    "BudgetAccountant",
    "BudgetExceeded",
    "BudgetLedger",
    "CategoricalFeature",
    "Classes",
    "DMRFClassifier",
    "DMRFRegressor",
    "ColumnsByPositionWarning",
    "ColumnsOfTimesWarning",
    "DPForestError",
    "Denil14Classifier",
    "Domain",
    "DomainError",
    "DraftedBoundsWarning",
    "EarlierReportError",
    "ExportSizeError",
    "FewRecordsWarning",
    "InvalidRecordError",
    "InvalidStreamRecordError",
    "LargeDeltaWarning",
    "LargeEpsilonWarning",
    "LedgerDamaged",
    "LedgerError",
    "LedgerFrozen",
    "LedgerUnreachable",
    "LedgerWarning",
    "LookAlikesWarning",
    "MRF2019Classifier",
    "MRF2019Regressor",
    "MRFClassifier",
    "MultinomialForestClassifier",
    "NeighbouringRelation",
    "NewerReportError",
    "NoiseUnknownError",
    "NumericFeature",
    "NumericTarget",
    "ParameterError",
    "PrivacyLeakWarning",
    "PrivacyReport",
    "PrivateForestClassifier",
    "PrivateForestRegressor",
    "PublicBackground",
    "RepeatedFitWarning",
    "ReportError",
    "ReportHeader",
    "ReportSignature",
    "SafeBayesianForestClassifier",
    "Signer",
    "StreamError",
    "UndeclaredLabelsWarning",
    "UnreadableColumnsWarning",
    "UtilityFigure",
    "WeakSignalWarning",
    "accounting",
    "audit",
    "check_pipeline",
    "consistent",
    "datasets",
    "diff_reports",
    "domain",
    "estimators",
    "exceptions",
    "ledger",
    "load_model",
    "mechanisms",
    "read_plain",
    "report",
    "report_schema",
    "sign_report",
    "streams",
    "trees",
    "verify_report",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES | dict.fromkeys(_MODULES, ""))
