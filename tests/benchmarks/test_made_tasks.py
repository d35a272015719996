"""Tasks made of tables have the classes that their names say, at the signal that was asked for."""

from __future__ import annotations

from argparse import Namespace
from fractions import Fraction
from unittest.mock import Mock

import made_tasks
import numpy as np
import pytest
from common import feature_tasks
from common.made_up import LAWS, drawn
from sklearn.ensemble import RandomForestClassifier

from dpforest import Domain
from dpforest.accounting.releases import LearnerBudget

TARGETS = np.arange(60.0) ** 2
LABELS = np.repeat([0, 1, 2, 3], [5, 21, 15, 19])


class Table:
    """What of a table a task is made of."""

    X = np.arange(120.0).reshape(60, 2)
    y = TARGETS
    domain = Domain(
        features=[{"name": n, "kind": "numeric", "lower": 0, "upper": 120} for n in "ab"],
        target={"lower": 0, "upper": 3600},
    )


def run_in_thirds(signal=60.0, delta=made_tasks.DELTA):
    (task,) = made_tasks._task(Table, "t/3", TARGETS // 1200)
    return made_tasks.run_of(task, signal, 0, delta)[0]


def test_targets_are_cut_where_the_names_say():
    two, finely = dict(made_tasks.cut_in_two(TARGETS)), dict(made_tasks.cut_finely(TARGETS))
    assert [y.sum() for y in two.values()] == [30, 12] and list(two) == [">0.5", ">0.8"]
    assert two[">0.8"][-12:].all()
    assert [np.bincount(y).tolist() for y in finely.values()] == [[20] * 3, [10] * 6]
    assert (np.diff(finely["/6"]) >= 0).all()


def test_classes_are_divided_in_two():
    top, half = dict(made_tasks.two_of_many(LABELS, 4)).values()
    assert np.array_equal(top, LABELS == 1)
    assert all(np.unique(half[label == LABELS]).size == 1 for label in range(4))
    assert len({bool(half[label == LABELS][0]) for label in range(4)}) == 2
    assert list(dict(made_tasks.two_of_many(LABELS % 3, 3))) == ["=top"]


def test_a_task_has_its_table_s_features_and_declared_classes():
    (task,) = made_tasks._task(Table, "t/3", TARGETS // 1200)
    assert task.domain.classes.labels == (0, 1, 2) and task.domain.target is None
    assert np.array_equal(np.sort(task.X[:, 0]), Table.X[:, 0])
    assert np.array_equal(task.y, (task.X[:, 0] / 2) ** 2 // 1200)
    split = made_tasks.stratified_split(task, 0)
    assert split.test.size == 16 and task.coded[1].shape == (60, 2)
    assert not list(made_tasks._task(Table, "t", (TARGETS > 3400).astype(int)))  # one in thirty


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n_features", "n_classes"), [(1, 2), (12, 3), (40, 8)])
def test_a_made_up_law_can_be_drawn_again_and_fits_its_domain(law, n_features, n_classes):
    X, y, domain = drawn(law, 400, n_features, n_classes)
    again, labels, _ = drawn(law, 400, n_features, n_classes)
    assert X.shape == (400, n_features) and np.array_equal(X, again) and np.array_equal(y, labels)
    assert len(domain.features) == n_features and set(y) <= set(domain.classes.labels)
    for f, feature in enumerate(domain.features):
        if feature.kind == "numeric":
            assert feature.lower <= X[:, f].min() and X[:, f].max() <= feature.upper
        else:
            assert set(X[:, f]) <= set(range(len(feature.categories)))


def test_laws_say_something_and_differ_in_kind():
    for law, (_, share, loose) in LAWS.items():
        X, y, domain = drawn(law, 3000, 10, 3)
        kinds = [feature.kind for feature in domain.features]
        assert kinds.count("categorical") == round(10 * share)
        assert loose == any(f.kind == "numeric" and f.upper > 100 for f in domain.features)
        found = RandomForestClassifier(50, random_state=0).fit(X[:2000], y[:2000])
        assert found.score(X[2000:], y[2000:]) > np.bincount(y).max() / y.size + 0.05


def test_tasks_of_laws_are_of_every_size_and_reported_by_features():
    asked = Namespace(records=[100, 200], features=[2, 5], classes=[2])
    found = list(made_tasks.tasks_of_laws(asked))
    assert len(found) == 4 * len(LAWS) and len({task.name for task in found}) == len(found)
    groups = {
        made_tasks.group_of({"dataset": t.name, "n_features": t.X.shape[1], "ordered": 1.0})
        for t in found
    }
    assert groups == {"   2 features", "   5 features"}
    assert made_tasks.group_of({"dataset": "a", "n_features": 9, "ordered": 1.0}) == "numbers"


@pytest.mark.parametrize("signal", [40.0, 500.0, 3000.0])
@pytest.mark.parametrize("n_classes", [2, 8])
@pytest.mark.parametrize("delta", [Fraction(0), made_tasks.DELTA])
def test_epsilon_is_that_of_the_signal(signal, n_classes, delta):
    epsilon = made_tasks.epsilon_of(signal, 10_000.0, n_classes, delta)
    found = LearnerBudget(epsilon, delta).signal(10_000.0) * (2 / n_classes) ** 0.5
    assert abs(found / signal - 1) < 0.02
    assert made_tasks.epsilon_of(1e9, 100.0, 2, delta) > made_tasks.MOST_EPSILON


@pytest.mark.parametrize("name", made_tasks.MODELS)
def test_a_model_spends_the_delta_that_its_epsilon_was_chosen_for(monkeypatch, name):
    spent = []
    trained = made_tasks.Run.trained

    def noted(run, learner, budget):
        spent.append((learner.name, budget.delta))
        return trained(run, learner, budget)

    monkeypatch.setattr(made_tasks.Run, "trained", noted)
    made_tasks.MODELS[name](run_in_thirds(delta=made_tasks.delta_of(name)))
    # Rules spend pure epsilon at any R.
    assert all(delta == made_tasks.delta_of(name) for kind, delta in spent if kind != "rules")
    assert spent and all(delta == 0 for kind, delta in spent if kind == "rules")


def test_models_of_two_currencies_are_refused(monkeypatch, capsys):
    asked = ["made_tasks.py", "--models", "rules, pure", "boosted"]
    monkeypatch.setattr("sys.argv", asked)
    for name in ("Store", "fit_missing", "report"):  # nothing is run where they are not refused
        monkeypatch.setattr(made_tasks, name, Mock())
    with pytest.raises(SystemExit):
        made_tasks.main()
    assert "with one another alone" in capsys.readouterr().err


def test_a_line_s_epsilon_is_of_its_model_s_currency(monkeypatch):
    (task,) = made_tasks._task(Table, "t/3", TARGETS // 1200)
    epsilons = []

    def kept(run):
        epsilons.append(run.epsilon)
        return run.scores(made_tasks.RulesLearner())

    monkeypatch.setattr(made_tasks, "MODELS", {"rules": kept, "rules, pure": kept})
    for model in made_tasks.MODELS:
        made_tasks.fitted(task, {"dataset": "t/3", "model": model, "epsilon": 5.0, "seed": 0})
    with_delta, pure = epsilons
    assert pure < with_delta


@pytest.mark.parametrize("name", made_tasks.MODELS)
def test_a_model_gives_shares_of_classes(name):
    one, two = (made_tasks.MODELS[name](run_in_thirds()) for _ in range(2))
    assert np.allclose(np.exp(one).sum(axis=1), 1) and np.array_equal(one, two)


def test_a_start_is_a_part_of_what_is_predicted(monkeypatch):
    run = run_in_thirds()
    found = made_tasks.started(run)
    monkeypatch.setattr(made_tasks, "START_SHARE", Fraction(1, 100))
    assert not np.allclose(found, made_tasks.started(run))


def test_a_run_is_fitted_unless_its_epsilon_is_no_use():
    (task,) = made_tasks._task(Table, "t/3", TARGETS // 1200)
    line = {"dataset": "t/3", "model": "rules", "epsilon": 5.0, "seed": 0}
    made = made_tasks.fitted(task, line)
    assert made["n_features"] == 2 and made["ordered"] == 1.0 and 0 <= made["accuracy"] <= 1
    assert made_tasks.fitted(task, line | {"epsilon": 1e6}) is None


def test_means_are_differences_from_the_first_model(capsys):
    lines = [
        {"dataset": name, "model": model, "epsilon": 10.0, "seed": 0, "ordered": ordered,
         "accuracy": 0.5 + 0.01 * (model == "b") * (1 + ordered), "auc": 0.5, "log_loss": 1.0}
        for name, ordered in (("x", 0.0), ("y", 1.0)) for model in "ab"
    ]  # fmt: skip
    asked = Namespace(signals=[10.0], models=["a", "b"], seeds=1, laws=False, of_features=None)
    made_tasks.report(asked, lines)
    all_, none, numbers = capsys.readouterr().out.splitlines()
    assert "all             2 tasks | b +1.50 / +0.0 / +0.0" in all_
    assert "b +1.00" in none and "no numbers" in none and "b +2.00" in numbers


class WithCategories:
    """A table with categories: of four, one in a hundred missing; of two; and nearly all alike."""

    n = 1000
    X = np.column_stack([
        np.where(np.arange(n) % 100 == 7, np.nan, np.arange(n) % 4),
        np.arange(n) % 2, np.arange(n) % 50 == 0, np.linspace(0.0, 9.0, n),
    ])  # fmt: skip
    domain = Domain(
        features={"four": list("abcd"), "two": ["n", "y"], "same": ["n", "y"], "number": (0, 9)},
        classes=["no", "yes"],
    )


@pytest.mark.parametrize(("least", "most", "named"), [
    (3, 12, ["t.four"]), (2, 2, ["t.two"]), (2, 4, ["t.four", "t.two"]), (5, 9, []),
])  # fmt: skip
def test_categories_of_a_feature_are_classes_that_the_others_tell_of(least, most, named):
    table = WithCategories()
    found = {task[0]: task[1:] for task in feature_tasks._of_table(table, "t", least, most)}
    assert sorted(found) == named, "not those of which nearly all are alike"
    for name, (X, y, domain) in found.items():
        place = ["four", "two"].index(name[2:])
        assert name[2:] not in [feature.name for feature in domain.features]
        assert domain.classes.labels == tuple(range(4 if place == 0 else 2))
        assert X.shape == (990 if place == 0 else 1000, 3)
        by_number = np.rint(X[:, -1] / 9.0 * 999).astype(int)
        assert np.array_equal(y, table.X[by_number, place])


def test_few_tasks_come_of_one_table_and_the_same_ones_each_time(monkeypatch):
    monkeypatch.setattr(feature_tasks, "MOST_OF_A_TABLE", 1)
    drawn = [list(feature_tasks._of_table(WithCategories(), "t", 2, 4)) for _ in range(2)]
    assert [len(tasks) for tasks in drawn] == [1, 1]
    assert np.array_equal(drawn[0][0][2], drawn[1][0][2])


def test_means_are_of_the_tasks_that_were_asked_for(monkeypatch):
    monkeypatch.setattr(made_tasks, "feature_tasks", lambda *_: [("t.four", None, None, None)])
    law = next(iter(LAWS)) + ", 900"
    names = "t>0.5", "t/3", "t=top", "t.four", "t.two", law
    for ways, asked in (
        ({"of_features": [3, 12], "laws": False}, ["t.four"]), ({"laws": True}, [law]),
        ({"laws": False}, ["t>0.5", "t/3", "t=top"]),
    ):  # fmt: skip
        wanted = made_tasks.is_asked(Namespace(**({"of_features": None, "data": None} | ways)))
        assert [name for name in names if wanted(name)] == asked
