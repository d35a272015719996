"""The privacy report: one run as data and in words, for somebody who was not there.

What makes words and pages of it is loaded when somebody asks for them: a fit asks for none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dpforest.accounting.diffprivlib_adapter import ExternalEntry
from dpforest.checks import write_file
from dpforest.domain.domain import Domain
from dpforest.exceptions import DomainError, MissingExtraError, ModelFormatError
from dpforest.report.record import VERSION, ReportRecord
from dpforest.strict_json import parse_object

if TYPE_CHECKING:
    from dpforest.report.diff import ReportDiff


class PrivacyReport(ReportRecord):
    """Everything a privacy officer needs about one fit.

    Attributes
    ----------
    header : ReportHeader
        What people say of the release, as they typed it in.
    utility : tuple of UtilityFigure
        How well the model does, of public records or for a grant, as it was handed in.
    other_fits : str
        Which fits were known of, where they were charged, and which no report can know of.
    guarantee : Guarantee
        Numbers; ``sentence`` says them in words.
    estimator : str
    parameters : dict of str
        As given, except domain, accountant and seed.
    domain : dict
        Public facts with who declared them, as in the domain's JSON.
    domain_fingerprint : str
    plan : dict of str
        What was asked for, in words.
    spending : tuple of SpendingRow
    composition : ScopeRecord
        The fit's scopes, each with its total; the ledger's entries are its leaves.
    randomness : str
    external : tuple of dict
        Spending charged to an accountant of another library.
    notices : tuple of Notice
    not_covered : tuple of str
    versions : dict of str
    basis : ClaimBasis
        What else the guarantee follows from, so that it can be worked out again.
    model_fingerprint : str
        Digest of what the model released; the estimator's ``fingerprint_``.
    digest : str
        Digest of all the rest of the report.
    """

    def __str__(self) -> str:
        return self.to_markdown()

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the report as JSON, to a file too if ``path`` is given: over what is there.

        ``dpforest.report_schema()`` is the JSON Schema that it keeps to.
        """
        return _written(self.model_dump_json(indent=1), path)

    def to_html(self, path: str | Path | None = None, audit: Any = None) -> str:
        """Write the report as one page that needs nothing else: no network, nothing that runs.

        The page carries the report's JSON, so that :func:`dpforest.verify_report` reads the page
        too, and finds whatever was changed on it.

        Parameters
        ----------
        path : str or Path, optional
            A file that it is written to as well; one that is there is replaced.
        audit : AuditResult or OneRunResult, or several of them, optional
            Audits of this estimator; what they found is shown beside the claim.

        Raises
        ------
        MissingExtraError
            Without ``jinja2``, which the extra ``report`` brings.
        ParameterTypeError
            If ``audit`` is something else.
        """
        from dpforest.report.page import report_html

        return _written(report_html(self, audit), path)

    def to_registry(self, path: str | Path | None = None) -> dict[str, Any]:
        """Write what is known as an entry of the public registry of deployments.

        Parameters
        ----------
        path : str or Path, optional
            A file that it is written to as well, as JSON, which is YAML too; one that is there is
            replaced.

        Returns
        -------
        dict
            In the form of registry.opendp.org, as of the schema that docs/report.md names. Only
            fields that follow from the report or were typed into its header are there.
        """
        from dpforest.report.registry import registry_entry

        entry = registry_entry(self).to_dict()
        _written(json.dumps(entry, indent=1, ensure_ascii=False) + "\n", path)
        return entry

    def to_model_card(self, path: str | Path | None = None) -> str:
        """Write a model card as Hugging Face's hub reads them: Markdown under a head of YAML.

        Parameters
        ----------
        path : str or Path, optional
            A file that it is written to as well, such as ``README.md``; one that is there is
            replaced.
        """
        from dpforest.report.card import model_card

        return _written(model_card(self), path)

    def diff(self, other: PrivacyReport) -> ReportDiff:
        """Compare this report with another one; see :func:`dpforest.diff_reports`."""
        from dpforest.report.diff import diff_reports

        return diff_reports(self, other)

    def _repr_html_(self) -> str | None:
        """The guarantee in short, for notebooks; None where ``jinja2`` is missing."""
        from dpforest.report.page import summary_html

        try:
            return summary_html(self)
        except MissingExtraError:
            return None

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Write the report as Markdown, to a file too if ``path`` is given: over what is there."""
        from dpforest.report.text import report_markdown

        return _written(report_markdown(self), path)

    @classmethod
    def from_json(cls, text: str) -> PrivacyReport:
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON itself, not a file's name.

        Raises
        ------
        ModelFormatError
            If it is something else.
        """
        return cls.from_data(parse_object(text, _refused))

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> PrivacyReport:
        """The same, once its text was read.

        Parameters
        ----------
        data : dict
            As strictly read as ``from_json`` does.

        Raises
        ------
        ModelFormatError
            If it is something else.
        """
        if version := newer_version(data):
            raise ModelFormatError(
                f"the report is of format version {version}, which a newer release wrote. Read it "
                "with that release."
            )
        try:
            report = cls.model_validate(data)
            _check_open_parts(report)
        except (ValidationError, DomainError):
            raise _refused("its parts are not those of one") from None
        return report


def newer_version(data: dict[str, Any]) -> int:
    """Version of a report that a newer release wrote; 0 for anything else."""
    version = data.get("version")
    if data.get("format") != "dpforest-report" or type(version) is not int:
        return 0
    return version if version > VERSION else 0


def _check_open_parts(report: ReportRecord) -> None:
    """Refuse parts that are kept as they were written, where no page could be made of them."""
    Domain._of_record(report.domain)
    for entry in report.external:
        ExternalEntry.model_validate(entry)


def _refused(problem: str) -> ModelFormatError:
    return ModelFormatError(
        f"not a dpforest-report of version 2, 3, 4 or {VERSION}: {problem}. Give the text that "
        "to_json() wrote."
    )


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        # The same bytes everywhere: a page is checked byte by byte.
        write_file(path, text, newline="\n")
    return text
