"""Options of each command."""

from __future__ import annotations

import argparse

from dpforest.checks import TASKS
from dpforest.command_line.arguments import file_or_stdout, new_file
from dpforest.ledger.command_line import add_who_asks

#: Names of strategies, which tests compare with those of the package.
STRATEGIES = "auto", "rules", "one_shot", "refitted", "boosted", "additive"


def _count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number such as 3000") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _amount(text: str) -> float | str:
    """A number, as Python takes it or as a ratio such as 1/2."""
    try:
        return float(text)
    except ValueError:
        pass
    numerator, _, denominator = text.partition("/")
    if not (numerator.isdecimal() and denominator.isdecimal() and int(denominator)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 0.5 or 1/2")
    return text


def _strategy(text: str) -> str:
    """A name as it was typed; of a strategy that became an estimator, where that is."""
    if text == "multinomial":
        raise argparse.ArgumentTypeError(
            f"{text!r}: the multinomial forest is an estimator of its own, "
            f"MultinomialForestClassifier in Python; here choose one of {', '.join(STRATEGIES)}"
        )
    return text


# -- parts that commands share --------------------------------------------------------------------


def _files(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help=f"{what}: CSV or Parquet files, or a folder"
    )
    parser.add_argument(
        "--format", choices=("csv", "parquet"), help="(default: by what the files are called)"
    )


def _target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", required=True, metavar="NAME", help="column of the labels")


def _task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", choices=TASKS, help="(default: what the facts allow)")


def _rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rows", type=_count, metavar="N",
        help="roughly how many records there are, from public knowledge; never count them",
    )  # fmt: skip


def _force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="write over files that are there")


def _header(parser: argparse.ArgumentParser, more: str = "") -> None:
    parser.add_argument(
        "--header", metavar="FILE",
        help=f"who releases what to whom and why, typed in as JSON{more}",
    )  # fmt: skip


def _stdout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", type=file_or_stdout, metavar="FILE", help="(default: stdout)")


def _quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quiet", action="store_true", help="no bars (there are none without a terminal)"
    )


def _exit_code(parser: argparse.ArgumentParser, when: str) -> None:
    parser.add_argument("--exit-code", action="store_true", help=f"end with 1 {when}")


def _budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--domain", required=True, metavar="FILE", help="the public facts as JSON")
    _rows(parser)
    _task(parser)
    parser.add_argument(
        "--epsilon", type=_amount, required=True, metavar="E", help="total budget; no default"
    )
    parser.add_argument(
        "--delta", type=_amount, default=0.0, metavar="D",
        help="with epsilon; well below one over the number of records (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--strategy", type=_strategy, choices=STRATEGIES, default="auto",
        help="(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--max-records-per-unit", type=_count, default=1, metavar="N",
        help="most records that one person owns (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--allow-draft", action="store_true",
        help="take a domain that was drafted from records; no guarantee holds then",
    )  # fmt: skip
    _quiet(parser)


def _reading(parser: argparse.ArgumentParser) -> None:
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--streamed", action="store_true", default=None,
        help="read records in passes (default: by the size that the domain declares)",
    )  # fmt: skip
    ways.add_argument(
        "--in-memory", dest="streamed", action="store_false", default=None,
        help="read all records at once",
    )  # fmt: skip


def _charging(parser: argparse.ArgumentParser) -> None:
    add_who_asks(parser)
    parser.add_argument("--data-set", metavar="NAME", help="of the ledger, that is charged")
    parser.add_argument("--purpose", default="", metavar="WORDS", help="what the fit is for")
    parser.add_argument(
        "--block", action="append", default=[], metavar="NAME", help="that is read; may be repeated"
    )
    parser.add_argument("--request", default="", metavar="ID", help="that owners approved")
    parser.add_argument("--reserve", default="", metavar="ID", help="that was made for this plan")


def _ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--id", action="append", default=[], metavar="NAME",
        help="column that is written beside each prediction; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--probabilities", action="store_true", help="write those of all classes too"
    )


# -- commands -------------------------------------------------------------------------------------


def draft(parser: argparse.ArgumentParser) -> None:
    """Options of ``domain draft``."""
    _files(parser, "records")
    _target(parser)
    _task(parser)
    _rows(parser)
    parser.add_argument(
        "--drop", action="append", default=[], metavar="NAME",
        help="column that is no feature; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--categorical", action="append", default=[], metavar="NAME",
        help="column of few whole numbers that are codes; may be repeated",
    )  # fmt: skip
    parser.add_argument("--output", type=new_file, default="domain.json", metavar="FILE",
                        help="(default: %(default)s)")  # fmt: skip
    _force(parser)


def confirm(parser: argparse.ArgumentParser) -> None:
    """Options of ``domain confirm``."""
    parser.add_argument("domain", metavar="DOMAIN", help="a draft that was edited")
    parser.add_argument("--by", required=True, metavar="NAME", help="who stands for the facts")
    parser.add_argument(
        "--source", action="append", default=[], metavar="ENTRY=WORDS",
        help="where an entry is documented; may be repeated",
    )  # fmt: skip
    parser.add_argument("--sources", metavar="FILE", help="the same as JSON, entry to words")
    _rows(parser)
    parser.add_argument(
        "--output", type=new_file, required=True, metavar="FILE", help="the domain to fit with"
    )
    _force(parser)


def check(parser: argparse.ArgumentParser) -> None:
    """Options of ``domain check``."""
    _files(parser, "records with labels")
    _target(parser)
    parser.add_argument("--domain", required=True, metavar="FILE", help="the public facts as JSON")
    _task(parser)
    parser.add_argument(
        "--output",
        type=file_or_stdout,
        metavar="FILE",
        help="(default: stdout, where that is a terminal)",
    )
    _exit_code(parser, "if records would be dropped, which tells of them")
    _force(parser)


def domain_diff(parser: argparse.ArgumentParser) -> None:
    """Options of ``domain diff``."""
    parser.add_argument("domain", metavar="DOMAIN", help="a domain's JSON")
    parser.add_argument("other", metavar="OTHER", help="another one")
    parser.add_argument(
        "--output", type=file_or_stdout, metavar="FILE",
        help="(default: stdout; of a draft only where that is a terminal)",
    )  # fmt: skip
    _exit_code(parser, "if they differ, which of a draft tells of the records")
    _force(parser)


def plan(parser: argparse.ArgumentParser) -> None:
    """Options of ``plan``."""
    _budget(parser)
    _reading(parser)
    _charging(parser)
    parser.add_argument(
        "--charge", type=new_file, metavar="FILE",
        help="write the charge, for `dpforest ledger request` and `reserve`",
    )  # fmt: skip
    _force(parser)


def fit(parser: argparse.ArgumentParser) -> None:
    """Options of ``fit``."""
    _files(parser, "records with labels")
    _target(parser)
    _budget(parser)
    _reading(parser)
    _charging(parser)
    parser.add_argument(
        "--output", type=new_file, default="dpforest-output", metavar="FOLDER",
        help="for model, report and predictions (default: %(default)s)",
    )  # fmt: skip
    _header(parser, ", for the report")
    parser.add_argument("--no-html", action="store_true", help="no page of the report")
    parser.add_argument(
        "--predict", nargs="+", default=[], metavar="FILE", help="records to predict afterwards"
    )
    _ids(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="threads (-1: all)")
    parser.add_argument(
        "--seed", type=int, metavar="N",
        help="make a run that can be made again, for demonstrations; no guarantee is earned",
    )  # fmt: skip
    parser.add_argument(
        "--dry-run", action="store_true",
        help="show the price; read no record, charge and write nothing",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    _force(parser)


def predict(parser: argparse.ArgumentParser) -> None:
    """Options of ``predict``."""
    parser.add_argument("model", metavar="MODEL", help="what `dpforest fit` wrote")
    _files(parser, "records")
    _ids(parser)
    parser.add_argument(
        "--output", type=file_or_stdout, metavar="FILE",
        help="*.csv or *.parquet (default: CSV to stdout)",
    )  # fmt: skip
    _quiet(parser)
    _force(parser)


def explain(parser: argparse.ArgumentParser) -> None:
    """Options of ``explain``."""
    parser.add_argument("model", metavar="MODEL", help="what `dpforest fit` wrote")
    parser.add_argument(
        "--feature", action="append", default=[], metavar="NAME",
        help="show its curve too; may be repeated",
    )  # fmt: skip
    parser.add_argument("--plot", type=new_file, metavar="FILE", help="*.png, *.svg or *.pdf")
    _force(parser)


def show(parser: argparse.ArgumentParser) -> None:
    """Options of ``report show``."""
    parser.add_argument("report", metavar="REPORT", help="a report's JSON or page, or a model")
    parser.add_argument(
        "--form", choices=("markdown", "html", "json"), default="markdown",
        help="(default: %(default)s)",
    )  # fmt: skip
    _header(parser, "; of a model alone, a report has its own")
    _stdout(parser)
    _force(parser)


def verify(parser: argparse.ArgumentParser) -> None:
    """Options of ``report verify``."""
    parser.add_argument("report", metavar="REPORT", help="a report's JSON, or its page")
    parser.add_argument("--model", metavar="MODEL", help="that the report is said to be of")
    parser.add_argument("--signature", metavar="FILE", help="what sign_report wrote")
    parser.add_argument("--public-key", metavar="KEY", help="that you trust, beside --signature")
    parser.add_argument(
        "--require-guarantee", action="store_true",
        help="exit with 1 if the report holds, but states no guarantee: it is void, or a "
        "demonstration's",
    )  # fmt: skip
    add_who_asks(parser)


def report_diff(parser: argparse.ArgumentParser) -> None:
    """Options of ``report diff``."""
    parser.add_argument("report", metavar="REPORT", help="a report's JSON or page, or a model")
    parser.add_argument("other", metavar="OTHER", help="another one")
    _exit_code(parser, "if they differ")


def export(parser: argparse.ArgumentParser) -> None:
    """Options of ``export``."""
    parser.add_argument("model", metavar="MODEL", help="what `dpforest fit` wrote")
    parser.add_argument(
        "--form", choices=("plain", "onnx", "sql", "text"), default="plain",
        help="plain: JSON that any language can follow; onnx: for its runtimes, with --output; "
        "sql: one SELECT; text: rules or one tree, for people (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--tree", type=int, metavar="N", help="which one --form text shows, from 0")
    _of_sql(parser)
    _stdout(parser)
    _force(parser)


def _of_sql(parser: argparse.ArgumentParser) -> None:
    """Options of ``export`` that --form sql alone has."""
    parser.add_argument(
        "--table", nargs="+", default=["records"], metavar="NAME",
        help="of --form sql: the table, or its schema and the table (default: records)",
    )  # fmt: skip
    parser.add_argument(
        "--keep",
        nargs="+",
        metavar="COLUMN",
        help="of --form sql: columns of the table that come out too, a key for instance",
    )
    parser.add_argument(
        "--columns",
        nargs="+",
        metavar="NAME",
        help="of --form sql: names of the label and of each class's probability, or of the mean",
    )
    parser.add_argument(
        "--max-bytes",
        type=_count,
        metavar="N",
        help="of --form sql: a longer text is refused (default: 4,000,000)",
    )


def audit(parser: argparse.ArgumentParser) -> None:
    """Options of ``audit``."""
    _budget(parser)
    parser.add_argument(
        "--runs", type=_count, default=20_000, metavar="N",
        help="fits of each of two tables (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--confidence", type=float, default=0.99, metavar="P", help="(default: %(default)s)"
    )


def demo(parser: argparse.ArgumentParser) -> None:
    """Options of ``demo``."""
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="total budget (default: %(default)s)"
    )
    parser.add_argument(
        "--delta", type=float, default=0.0, help="with epsilon (default: %(default)s)"
    )
    parser.add_argument(
        "--strategy", default="auto",
        help=f"{', '.join(STRATEGIES[:-1])} or {STRATEGIES[-1]} (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--output-dir", default="demo-output", help="folder for the report (default: %(default)s)"
    )
    parser.add_argument(
        "--split-seed", type=int, default=0,
        help="seed of the train/test split; noise is never seeded here (default: %(default)s)",
    )  # fmt: skip
    _force(parser)
