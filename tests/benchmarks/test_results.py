"""Stored results: each line says which code made it, and lines of other code are not shown."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
from importlib import import_module

import attack
import audit
import behind
import consistency
import curves
import forecast
import large_targets
import made_tasks
import private_safe_bayesian
import pytest
import regression
import scale
import speed
import unknown_code
import utility
import variants
import wide_bounds
from attacks import stored as attacks_stored
from common import forecast_rows, scale_cases
from common.results import STAMP, Store, fit_and_report
from common.sources import REPOSITORY, Sources, code_of
from papers.evaluators import sources_by_method
from papers.tables import TABLES


def sources_of_page(name):
    """Of the columns that the page's own function makes."""
    return sources_by_method(import_module(TABLES[name]))[""]


BENCHMARKS = REPOSITORY / "benchmarks"
HERE = Sources(("common.scores:scores",))
#: Who makes stored lines, by module: what they depend on, by kind of line.
MAKERS = {
    "attacks.stored": attacks_stored.MADE_BY,
    "audit": {"": audit.SOURCES},
    "behind": behind.MADE_BY,
    "consistency": {"": consistency.SOURCES},
    "curves": curves.MADE_BY,
    "forecast": {"": forecast.SOURCES},
    "explanations": None,  # of fits whose noise is fresh, so that no line comes twice
    "door": None,  # held in test_door.py, since it needs more packages
    "papers.command": {
        f"{name}: {kind}": of
        for name, path in TABLES.items()
        for kind, of in sources_by_method(import_module(path)).items()
    },
    "ledger": None,  # of the stores alone, which no fit reaches
    "laws": None,  # of a whole version of the package, see test_laws.py
    "plain_model": None,  # held in test_plain_model.py
    "onnx_forms": None,  # held in test_onnx_forms.py, since it needs a runtime
    "sql_forms": None,  # held in test_sql_forms.py
    "private_safe_bayesian": {"": private_safe_bayesian.SOURCES},
    "regression": regression.MADE_BY,
    "scale": scale.MADE_BY,
    "speed": speed.MADE_BY,
    "unknown_code": {"": unknown_code.SOURCES},
    "utility": utility.MADE_BY,
    "large_targets": large_targets.MADE_BY,
    "made_tasks": {"": made_tasks.SOURCES},
    "variants": {"": variants.SOURCES},
    "wide_bounds": {"": wide_bounds.SOURCES},
}
#: What else writes files: pages of the documentation, and what a run itself throws away.
WRITERS = {
    "attacks.report", "audit", "common.behind_report", "common.clusters",
    "common.consistency_report",
    "common.growth_report", "common.ledger_report", "common.one_page", "common.package_tables",
    "common.large_targets_report", "common.pages",
    "common.regression_report", "explanations", "at_once_noise",
    "common.plain_readers", "common.scale_machine", "common.scale_report",
    "common.speed_report", "common.speed_tables_report", "common.utility_report", "doorway.page",
    "doorway.readers", "laws", "onnx_runtimes", "papers.command", "papers.reference", "picks",
    "common.wide_records", "proof_examined", "report_page", "speed", "utility_rows", "wide_tables",
}  # fmt: skip
WRITING = {"write_text", "write_bytes", "dump", "to_json", "to_csv", "save", "savez", "savetxt"}


# -- one mechanism -------------------------------------------------------------------------------


def texts_of(node):
    return [
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def private_ways(name, text):
    """What a module does with results that it should leave to `Store`."""
    calls = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)]
    named = {getattr(one.func, "attr", getattr(one.func, "id", "")): one for one in calls}
    if any(one.endswith(".jsonl") for one in texts_of(ast.parse(text))) and "Store" not in named:
        yield "names a file of lines and makes no Store"
    for call in calls:
        word = getattr(call.func, "attr", getattr(call.func, "id", ""))
        writes = word in WRITING and (word != "save" or isinstance(call.func, ast.Attribute))
        given = [*call.args, *(one.value for one in call.keywords)]
        opens = word == "open" and ast.unparse(call.func) != "BudgetLedger.open"
        if opens and any(set(one) & set("awx+") and len(one) < 4
                                  for value in given for one in texts_of(value)):  # fmt: skip
            yield "opens a file to write"
        if writes and name not in WRITERS:
            yield "writes a file"
        pipes = ast.unparse(call.func) == "os.write"  # of a process to its parent
        if (writes or (word == "write" and not pipes)) and "dumps" in ast.unparse(call):
            yield "writes JSON"


def modules():
    for path in sorted(BENCHMARKS.rglob("*.py")):
        name = ".".join(path.relative_to(BENCHMARKS).with_suffix("").parts)
        if name != "common.results":
            yield name.removesuffix(".__init__"), path.read_text(encoding="utf-8")


def test_every_benchmark_leaves_its_lines_to_the_store():
    found = {name: list(private_ways(name, text)) for name, text in modules()}
    assert not {name: ways for name, ways in found.items() if ways}
    assert len(found) > 100


@pytest.mark.parametrize(
    "text",
    [
        "open('results.txt', 'a')",
        "path.open('w')",
        "path.open(mode='x')",
        "RESULTS = HERE / 'results.jsonl'",
        "RESULTS = HERE / f'{name}.jsonl'",
        "path.write_text(text)",
        "json.dump(lines, file)",
        "frame.to_csv(path)",
        "np.save(path, found)",
        "file.write(json.dumps(line))",
    ],
)
def test_a_benchmark_with_a_way_of_its_own_is_found(text):
    assert list(private_ways("new", text))


def test_who_stores_lines_says_what_they_depend_on():
    stores = {name for name, text in modules() if "Store(" in text}
    assert stores == MAKERS.keys()


def test_writers_write():
    texts = dict(modules())
    assert all(any(f"{word}(" in texts[name] for word in WRITING) for name in WRITERS)


# -- what lines depend on ------------------------------------------------------------------------

KINDS = [(name, kind, of) for name, kinds in MAKERS.items() for kind, of in (kinds or {}).items()]
#: Modules of the package that lines must depend on, and must not, by kinds of lines.
REACHED = [
    (utility.MADE_BY["dpforest "], "trees.refitted.learner", "consistent.brf"),
    (utility.MADE_BY["multinomial forest"], "trees.multinomial.growth", "consistent.brf"),
    (utility.MADE_BY["diffprivlib forest"], "domain.schema", "estimators.classifier"),
    (utility.MADE_BY["DP-EBM"], "domain.schema", "estimators.classifier"),
    (utility.MADE_BY["majority"], "domain.schema", "estimators.classifier"),
    (regression.MADE_BY["dpforest "], "mechanisms.noise", "consistent.brf"),
    (regression.MADE_BY["DP-EBM"], "domain.schema", "estimators.regressor"),
    (consistency.SOURCES, "consistent.grower", "trees.strategies"),
    (sources_of_page("mrf2020_table1"), "consistent.mrf", "trees.strategies"),
    (sources_of_page("dmrf_table3"), "consistent.dmrf", "trees.strategies"),
    (attacks_stored.MADE_BY["reconstruct"], "trees.rules.plan", "consistent.brf"),
    (attacks_stored.MADE_BY["membership"], "estimators.classifier", "audit.auditor"),
    (speed.MADE_BY["fit"], "trees.one_shot.learner", "dask.workers"),
    (scale.MADE_BY["stream/"], "records.streams.passes", "dask.workers"),
    (scale.MADE_BY["dask/"], "dask.workers", "consistent.brf"),
    (variants.SOURCES, "trees.refitted.learner", "consistent.brf"),
    (curves.MADE_BY["auto"], "trees.boosted.learner", "consistent.brf"),
    (curves.MADE_BY["random forest"], "domain.schema", "estimators.classifier"),
    (audit.SOURCES, "audit.catalogue", "consistent.brf"),
    (behind.MADE_BY["dpforest "], "trees.refitted.learner", "consistent.brf"),
    (behind.MADE_BY["auto, "], "trees.strategies", "consistent.brf"),
    (behind.MADE_BY[behind.RIDGE], "domain.schema", "estimators.regressor"),
]


@pytest.mark.parametrize(("name", "kind", "of"), KINDS)
def test_what_lines_depend_on_is_there(name, kind, of):
    assert len(of.print()) == 16 and of.roots
    parts = code_of(REPOSITORY).reached(of.roots)
    # No benchmark's module counts whole, so that how lines are stored and shown is no part of it.
    # But the comparison forests, which are what such lines are about.
    whole = {one for one in parts if one[1] == "*" and not one[0].startswith("dpforest")}
    assert whole <= {("papers.comprf", "*")}
    assert ("common.results", "Store") not in parts


@pytest.mark.parametrize(("of", "reached", "not_reached"), REACHED)
def test_lines_depend_on_the_code_that_they_are_about(of, reached, not_reached):
    found = {name for name, _ in code_of(REPOSITORY).reached(of.roots)}
    known = code_of(REPOSITORY).names
    assert f"dpforest.{reached}" in found and f"dpforest.{reached}" in known
    assert f"dpforest.{not_reached}" not in found and f"dpforest.{not_reached}" in known


def test_what_runs_no_code_of_the_package_does_not_depend_on_it():
    parts = code_of(REPOSITORY).reached(scale.MADE_BY["sklearn/"].roots)
    assert parts and not any(name.startswith("dpforest") for name, _ in parts)


def test_results_of_other_packages_depend_on_their_versions():
    peers = {"DP-EBM": "interpret-core", "diffprivlib forest": "diffprivlib"}
    peers["non-private forest"] = "scikit-learn"
    assert all(utility.MADE_BY[name].packages == (one,) for name, one in peers.items())
    assert regression.MADE_BY["DP-EBM"].packages == ("interpret-core",)


def test_every_model_and_case_is_of_a_kind():
    names = [model.name for model in utility.all_models(["auto", "rules"], tuned=True)]
    assert all(any(name.startswith(one) for one in utility.MADE_BY) for name in names)
    names = [model.name for model in curves.models()]
    assert all(any(name.startswith(one) for one in curves.MADE_BY) for name in names)
    names = [model.name for model in regression.all_models()]
    assert all(any(name.startswith(one) for one in regression.MADE_BY) for name in names)
    assert all(any(name.startswith(one) for one in scale.MADE_BY) for name in scale_cases.cases())


def test_tables_that_share_a_file_depend_on_the_same():
    shared = {}
    for path in TABLES.values():
        table = import_module(path)
        shared.setdefault(getattr(table, "RESULTS", table.NAME), set()).add(
            tuple(sources_by_method(table).values())
        )
        roots = [root for of in sources_by_method(table).values() for root in of.roots]
        assert (path, "evaluate") in code_of(REPOSITORY).reached(roots)
    assert all(len(found) == 1 for found in shared.values())
    assert len(shared) < len(TABLES)


# -- the store -----------------------------------------------------------------------------------


def lines_in(path):
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def as_other_code(path):
    """As if all its lines had been made by other code."""
    lines = [{**line, STAMP: "0" * 16} for line in lines_in(path)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_every_line_carries_the_print_of_its_sources(tmp_path):
    kinds = {"a": HERE, "b": Sources(("common.scores:in_all_classes",))}
    store = Store(tmp_path / "folder" / "lines.jsonl", lambda line: kinds[line["kind"]])
    assert store.lines() == [] and not store.path.exists()
    for kind in "ab":
        store.append({"kind": kind})
    assert [line[STAMP] for line in lines_in(store.path)] == [kinds[one].print() for one in "ab"]
    assert [line["kind"] for line in store.lines()] == ["a", "b"]


@pytest.mark.parametrize("stamp", [{}, {STAMP: "0" * 16}, {STAMP: None}, {"hash": "x"}])
def test_a_line_of_other_code_is_left_out_in_words(tmp_path, capsys, stamp):
    store = Store(tmp_path / "lines.jsonl", HERE)
    store.path.write_text(json.dumps({"value": 1, **stamp}) + "\n")
    assert store.lines() == []
    with pytest.raises(SystemExit, match="nothing to report: 1 of 1 lines .* are of other code"):
        store.reported()
    store.append({"value": 2})
    assert [line["value"] for line in store.reported()] == [2]
    said = f"left out: 1 of 2 lines of {store.path} are of other code"
    assert said in capsys.readouterr().err


def test_nothing_is_said_where_all_is_of_this_code(tmp_path, capsys):
    store = Store(tmp_path / "lines.jsonl", HERE)
    assert store.reported() == []
    store.append({"value": 2})
    assert len(store.reported()) == 1 and capsys.readouterr().err == ""


def test_a_line_is_of_other_code_as_soon_as_code_that_it_can_reach_is_edited(tmp_path):
    for place, text in (("a", "return 1"), ("b", "return 2")):
        (tmp_path / place / "benchmarks").mkdir(parents=True)
        made = f"def run(): {text}\ndef report(): return 1\n"
        (tmp_path / place / "benchmarks" / "new.py").write_text(made)
    before, after = (
        Store(tmp_path / "lines.jsonl", Sources(("new:run",)), tmp_path / place) for place in "ab"
    )
    before.append({"value": 1})
    assert len(before.lines()) == 1 and after.lines() == []


def test_a_line_that_was_cut_short_and_one_of_a_case_that_is_gone_count_as_absent(tmp_path):
    store = Store(tmp_path / "lines.jsonl", lambda line: {"here": HERE}[line["case"]])
    store.append({"case": "here"})
    gone = json.dumps({"case": "gone", STAMP: HERE.print()})
    with store.path.open("a") as file:
        file.write(f"{gone}\n[1, 2]\n" + gone[:9])
    assert [line["case"] for line in store.lines()] == ["here"]
    again = Store(store.path, HERE)
    again.append({"case": "next"})
    assert [line["case"] for line in again.lines()] == ["here", "gone", "next"]


def test_a_line_may_carry_the_print_of_the_process_that_made_it(tmp_path):
    store = Store(tmp_path / "lines.jsonl", HERE)
    store.append({"case": "a", STAMP: "of another checkout"})
    assert store.lines() == [] and lines_in(store.path)[0][STAMP] == "of another checkout"


# -- every run makes lines of other code anew ----------------------------------------------------


class Counted:
    """Stands for what takes long."""

    def __init__(self, made):
        self.made, self.calls = made, 0

    def __call__(self, *given, **named):
        self.calls += 1
        return self.made(*given, **named)


def run_consistency(path, monkeypatch):
    fit = Counted(lambda fit, trees, test: {**fit, "excess": 0.1})
    monkeypatch.setattr(consistency, "run_one", fit)
    asked = argparse.Namespace(seeds=1, largest=1000, tasks=["targets"], forests=["BRF"], trees=1)
    consistency.run(asked, Store(path, consistency.SOURCES))
    return fit.calls


def run_curves(path, monkeypatch):
    fit = Counted(lambda job, *_: {**dataclasses.asdict(job), "strategy": "rules"})
    monkeypatch.setattr(curves, "line_of", fit)
    monkeypatch.setattr(curves, "rows_of", lambda folder, name: 20_000)
    asked = argparse.Namespace(parts=["epsilon", "rows", "law"], sets=["car"], epsilons=[1.0, 5.0],
                               law_rows=[1000], chosen=curves.models(), fits=2, data=None,
                               minutes=1.0)  # fmt: skip
    curves.run(asked, curves.stored(path))
    return fit.calls


def run_made_tasks(path, monkeypatch):
    fit = Counted(lambda task, line: line)
    monkeypatch.setattr(made_tasks, "fitted", fit)
    task = argparse.Namespace(name="car=top", X=argparse.Namespace(shape=(4, 1)))
    monkeypatch.setattr(made_tasks, "tasks", lambda folder, several: [task])
    asked = argparse.Namespace(
        sets=None, signals=[9.0], seeds=2, models=["rules"], data=None, several=False,
        most_features=9, laws=False, of_features=None,
    )  # fmt: skip
    made_tasks.fit_missing(asked, Store(path, made_tasks.SOURCES))
    return fit.calls


def run_variants(path, monkeypatch):
    fit = Counted(lambda folder, line: line)
    monkeypatch.setattr(variants, "fitted", fit)
    asked = argparse.Namespace(sets=["car"], epsilons=[1.0], seeds=2, variants=["rules"], data=None)
    variants.fit_missing(asked, Store(path, variants.SOURCES))
    return fit.calls


def run_wide_bounds(path, monkeypatch):
    fit = Counted(lambda folder, line: line)
    facts = argparse.Namespace(n_rows=500)
    table = argparse.Namespace(domain=None)
    monkeypatch.setattr(wide_bounds, "fitted", fit)
    monkeypatch.setattr(wide_bounds, "classification_tables", lambda folder: {"car": facts})
    monkeypatch.setattr(wide_bounds, "load_table", lambda folder, name: table)
    monkeypatch.setattr(wide_bounds, "is_wide", lambda domain: True)
    asked = argparse.Namespace(data=None, times=[8], signals=[60.0], seeds=1)
    wide_bounds.fit_missing(asked, Store(path, wide_bounds.SOURCES))
    return fit.calls


def run_regression(path, monkeypatch):
    line = {"dataset": "car", "epsilon": 1.0, "seed": 0}
    fit = Counted(lambda model, *_: {**line, "model": model.name})
    monkeypatch.setattr(regression, "measured", fit)
    monkeypatch.setattr(regression, "load_regression_table", lambda *_: None)
    monkeypatch.setattr(regression, "parse", lambda *_: asked)
    for name in ("write_tables", "write_plot", "threadpool_limits"):
        monkeypatch.setattr(regression, name, lambda *_: None)
    monkeypatch.setattr(regression, "regression_tables", lambda folder: {"car": 1})
    asked = argparse.Namespace(sets=["car"], epsilons=[1.0], seeds=1, models=["dpforest"],
                               data=None, results=path, report_only=False)  # fmt: skip
    regression.main()
    return fit.calls


def run_utility(path, monkeypatch):
    jobs = [utility.Job(None, "car", "dpforest auto, pure", 1.0, seed) for seed in (0, 1)]
    fit = Counted(lambda job, model: {"dataset": "car", "model": job.model,
                                      "epsilon": 1.0, "seed": job.seed})  # fmt: skip
    monkeypatch.setattr(utility, "line_of", fit)
    monkeypatch.setattr(utility, "threadpool_limits", lambda *_: None)
    file = utility.stored(path.parent)
    file.path = path
    done = utility.finished(file.lines())
    asked = argparse.Namespace(minutes=1.0, strategies=["auto"], tuned=False, workers=1)
    utility.run([job for job in jobs if job.key not in done], asked, file)
    return fit.calls


def run_forecast(path, monkeypatch):
    fit = Counted(lambda job, *_: {"gain": 0.1})
    monkeypatch.setattr(forecast, "measured", fit)
    tables = {"own": {"car": "classification"}, "others": {"cells": "classification"}}
    monkeypatch.setattr(forecast_rows, "tables_of", tables.get)
    folders = {"data": "own", "confirmation": "others"}
    asked = argparse.Namespace(sets=[], parts=["auto", "named"], seeds=2, **folders)
    forecast.run(asked, Store(path, forecast.SOURCES))
    return fit.calls


def run_attack(path, monkeypatch):
    job = attack.membership.Job("adult", "PrivateForestClassifier", 1.0, 0.0)
    fit = Counted(lambda job: {"dataset": job.dataset, "model": job.model,
                               "epsilon": job.epsilon, "seed": job.seed})  # fmt: skip
    asked = argparse.Namespace(out=path.parent, what=path.stem)
    monkeypatch.setitem(attacks_stored.MADE_BY, path.stem, attacks_stored.MADE_BY["membership"])
    attack.run_all([job], fit, asked)
    return fit.calls


def run_audit(path, monkeypatch):
    make = Counted(lambda: "| row |")
    assert audit.Rows(path).row("key", make) == "| row |"
    return make.calls


def run_speed(path, monkeypatch):
    results = speed.Results(path, again=False)
    key = {"part": "encode", "table": "adult", "threads": 1}
    missing = results.missing(**key)
    if missing:
        results.add(key)
    return int(missing)


def run_scale(path, monkeypatch):
    monkeypatch.setattr(scale, "RESULTS", path)
    line = {"case": "dask/tasks", "seconds": 1.0, "machine": {"load": 0}}
    ended = Counted(
        lambda *_, **__: argparse.Namespace(
            returncode=0, stderr="", stdout=scale._MARK + json.dumps(scale.stored().stamped(line))
        )
    )
    monkeypatch.setattr(scale.subprocess, "run", ended)  # fmt: skip
    scale.run_all("dask/tasks", again=False)
    return ended.calls


def run_unknown_code(path, monkeypatch):
    fit = Counted(lambda *_: {"accuracy": 0.5, "share": None})
    monkeypatch.setattr(unknown_code, "measured", fit)
    monkeypatch.setattr(unknown_code, "forests", lambda *_: {"rules": None})
    monkeypatch.setattr(unknown_code, "load_table", lambda *_: argparse.Namespace(domain=None))
    monkeypatch.setattr(unknown_code, "classification_tables", lambda folder: {"car": 1})
    asked = argparse.Namespace(seeds=2, epsilon=1.0, data=None)
    unknown_code.run(asked, Store(path, unknown_code.SOURCES))
    return fit.calls


def run_private_safe_bayesian(path, monkeypatch):
    fit = Counted(lambda *_: {"accuracy": {"one_shot": 0.5}})
    monkeypatch.setattr(private_safe_bayesian, "measured", fit)
    monkeypatch.setattr(private_safe_bayesian, "load_table", lambda *_: None)
    monkeypatch.setattr(private_safe_bayesian, "classification_tables", lambda folder: {"car": 1})
    asked = argparse.Namespace(seeds=1, data=None)
    private_safe_bayesian.run(asked, Store(path, private_safe_bayesian.SOURCES))
    return fit.calls


def run_behind(path, monkeypatch):
    place = behind.Place("car", "classification", 1)
    names = ("dataset", "model", "epsilon", "seed")
    fit = Counted(lambda folder, *key: dict(zip(names, key, strict=True)))
    pick = Counted(lambda folder, place, epsilon, currency: {
        "dataset": place.dataset, "model": f"auto, {currency}", "epsilon": epsilon, "seed": 0,
        "is": "dpforest rules, pure, rows"})  # fmt: skip
    monkeypatch.setattr(behind, "class_line", fit)
    monkeypatch.setattr(behind, "pick_line", pick)
    monkeypatch.setattr(behind, "places", lambda folder: [place])
    asked = argparse.Namespace(sets=[], epsilons=[1.0], seeds=2, data=None, minutes=1.0)
    behind.run(asked, behind.stored(path))
    return fit.calls + pick.calls


def run_large_targets(path, monkeypatch):
    table = argparse.Namespace(name="adult.age")
    fit = Counted(lambda table, model, epsilon, seed: {
        "dataset": table.name, "model": model, "epsilon": epsilon, "seed": seed})  # fmt: skip
    monkeypatch.setattr(large_targets, "TARGETS", {"adult": ("age",)})
    monkeypatch.setattr(large_targets, "made_of", lambda *_: table)
    monkeypatch.setattr(large_targets, "measured", fit)
    asked = argparse.Namespace(seeds=1, data=None)
    large_targets.fit_missing(asked, large_targets.stored(path))
    return fit.calls


RUNS = (
    run_behind, run_consistency, run_curves, run_made_tasks, run_variants, run_regression,
    run_utility, run_attack, run_wide_bounds,
    run_audit, run_speed, run_scale, run_forecast, run_unknown_code, run_private_safe_bayesian,
    run_large_targets,
)  # fmt: skip


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_a_run_makes_lines_of_other_code_anew_and_no_others(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "lines.jsonl"
    first = run(path, monkeypatch)
    assert first > 0 and len(lines_in(path)) == first
    assert run(path, monkeypatch) == 0
    as_other_code(path)
    assert run(path, monkeypatch) == first
    assert len(lines_in(path)) == 2 * first


@pytest.mark.parametrize("report_only", [False, True])
def test_a_report_alone_fits_nothing(report_only, tmp_path):
    done = []
    out = Store(tmp_path / "lines.jsonl", variants.SOURCES)
    asked = argparse.Namespace(report_only=report_only)
    fit_and_report(
        asked, out,
        lambda asked, out: out.append({"dataset": "a"}),
        lambda asked, lines: done.append(len(lines)),
    )  # fmt: skip
    assert done == [0 if report_only else 1]


def test_every_run_is_held():
    """Those of the door, plain models and papers are held beside their other tests."""
    held = {run.__name__.removeprefix("run_") for run in RUNS} - {"attack"} | {"attacks.stored"}
    assert (
        held
        | {"explanations", "door", "laws", "ledger", "onnx_forms", "plain_model", "papers.command"}
        | {"sql_forms"}
        == MAKERS.keys()
    )
