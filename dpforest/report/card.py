"""A report as a model card: a head of YAML and Markdown, as Hugging Face's hub reads them."""

from __future__ import annotations

import json
from typing import Any

from dpforest.accounting.figures import figure_up
from dpforest.display import one_line
from dpforest.report.decision import decision_of
from dpforest.report.header import NOT_STATED
from dpforest.report.record import ReportRecord
from dpforest.report.text import cautions, cell, facts_text, pairs, paragraph, table, utility_table

_NO_FIGURES = "No figure of utility was handed in."
_CHECKED = (
    "`dpforest.verify_report(report, model)` works every figure of the privacy report out again "
    "and compares it with the model."
)


def model_card(report: ReportRecord) -> str:
    """The card; see :meth:`PrivacyReport.to_model_card`."""
    header = report.header
    parts = [
        f"---\n{_yaml(_head(report))}---",
        f"# {cell(header.title or report.estimator)}",
        paragraph(header.description or report.sentence),
        "## Model details\n\n" + _details(report),
        "## Uses\n\n" + _uses(report),
        "## Privacy\n\n" + _privacy(report),
        "## Bias, risks and limitations\n\n" + _limits(report),
        "## Training data\n\n" + _training(report),
        "## Evaluation\n\n" + _evaluation(report),
        "## How to check this\n\n" + _check(report),
    ]
    return "\n\n".join(parts) + "\n"


# -- the head -------------------------------------------------------------------------------------


def _task(report: ReportRecord) -> str:
    classes = report.domain["classes"] is not None
    return "tabular-classification" if classes else "tabular-regression"


def _head(report: ReportRecord) -> dict[str, Any]:
    tags = ["differential-privacy", "random-forest", "dpforest", _task(report)]
    head = {"library_name": "dpforest", "pipeline_tag": _task(report), "tags": tags}
    return head | ({"model-index": [_results(report)]} if report.utility else {})


def _results(report: ReportRecord) -> dict[str, Any]:
    """Figures of utility in the form in which the hub shows results."""
    return {
        "name": report.header.title or report.estimator,
        "results": [
            {
                "task": {"type": _task(report)},
                "dataset": {"name": figure.source, "type": figure.origin.replace(" ", "-")},
                "metrics": [{"type": figure.name, "name": figure.name, "value": figure.value}],
            }
            for figure in report.utility
        ],
    }


def _yaml(data: dict[str, Any]) -> str:
    """Keys line by line, values as JSON, which is YAML too."""
    return "".join(f"{name}: {_flow(value)}\n" for name, value in data.items())


def _flow(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return one_line(text)


# -- the text -------------------------------------------------------------------------------------


def _details(report: ReportRecord) -> str:
    header = report.header
    rows = {
        "model": report.estimator,
        "curator": header.curator or NOT_STATED,
        "date": header.date or NOT_STATED,
        "strategy": report.plan.get("strategy", "-"),
        "versions": ", ".join(f"{k} {v}" for k, v in report.versions.items()),
    }
    return pairs(rows)


def _uses(report: ReportRecord) -> str:
    header = report.header
    return pairs({"purpose": header.purpose or NOT_STATED, "access": header.access or NOT_STATED})


def _privacy(report: ReportRecord) -> str:
    decision = decision_of(report)
    bounds = [
        (b.relation.value, figure_up(b.epsilon), figure_up(b.delta), cell(b.derivation))
        for b in report.guarantee.bounds
        if report.guarantee.status != "void"
    ]
    figures = [table(("relation", "epsilon", "delta", "from"), bounds)] if bounds else []
    lines = [f"- **{question}**: {cell(text)}" for question, text in decision.lines.items()]
    return "\n\n".join([f"**{cell(report.sentence)}**", "\n".join(lines), *figures])


def _limits(report: ReportRecord) -> str:
    lines = cautions(decision_of(report))
    groups = report.header.groups
    lines += [f"Groups that it may serve worse: {cell(groups)}"] if groups else []
    lines += [f"Not covered by the guarantee: {cell(text)}" for text in report.not_covered]
    return "\n".join(f"- {line}" for line in lines)


def _training(report: ReportRecord) -> str:
    header = report.header
    rows = {
        "data set": header.data_set or NOT_STATED,
        "people concerned": header.people or NOT_STATED,
        "preparation and tuning": header.preparation or NOT_STATED,
    }
    return f"{pairs(rows)}\n\nWhat was declared of the table beforehand:\n\n{facts_text(report)}"


def _evaluation(report: ReportRecord) -> str:
    return utility_table(report.utility) if report.utility else _NO_FIGURES


def _check(report: ReportRecord) -> str:
    digests = {"released model": report.model_fingerprint, "privacy report": report.digest}
    return f"{_CHECKED}\n\n{pairs(digests)}"
