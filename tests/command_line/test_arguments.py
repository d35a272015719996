"""Options are written whole and once, and ``-`` makes no file of that name."""

from __future__ import annotations

import pytest

PLAN = "plan --domain domain.json"


def refused(ask, line, capsys):
    with pytest.raises(SystemExit, match="^2$"):
        ask(line)
    said = capsys.readouterr()
    assert not said.out
    return said.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{PLAN} --epsilon 1 --epsilon 4", "--epsilon: is written twice; write it once"),
        (f"{PLAN} --epsilon=1 --epsilon=1", "--epsilon: is written twice; write it once"),
        ("fit a.csv --predict b.csv --predict c.csv", "name all of them behind one"),
        ("ledger init --rho 1 --rho 2", "--rho: is written twice"),
        ("demo --epsilon 1 --epsilon 2", "--epsilon: is written twice"),
        (f"{PLAN} --eps 1", "--eps is no option of this command. Write --epsilon"),
        (f"{PLAN} --eps=1", "--eps is no option of this command. Write --epsilon"),
        (f"{PLAN} --epsilom 1", "Write --epsilon"),
        (f"{PLAN} --epsilon 1 --d 0", "Write --domain or --delta or --data-set"),
        (f"{PLAN} --epsilon 1 --zzz", "--zzz is no option of this command\n"),
        ("fit stays.csv --target back --drop stay", "not read: leave it out of the domain\n"),
        ("domain check stays.csv --target back --categorical ward", "The domain says which"),
        ("domain draft stays.csv --target back --sep ;", "sep=';', decimal=',', encoding='cp1252'"),
        ("ledger status --led x", "Write --ledger"),
        ("ledger status --actor ana", "Write --as"),
        ("demo --eps 1", "Write --epsilon"),
        ("report", "are required: command. Write one of show, verify, diff\n"),
        ("domain", "Write one of draft, confirm, check, diff\n"),
        ("domain draft stays.csv --target back --output -", "- stands for no file here"),
        ("domain confirm draft.json --by me --output -", "- stands for no file here"),
        ("fit stays.csv --target back --domain domain.json --epsilon 1 --output -", "Name one"),
        (f"{PLAN} --epsilon 1 --charge -", "- stands for no file here"),
        (f"{PLAN} --epsilon 1 --strategy best", "invalid choice: 'best'"),
        (
            "fit stays.csv --target back --domain domain.json --epsilon 1 --strategy multinomial",
            "the multinomial forest is an estimator of its own, MultinomialForestClassifier in "
            "Python; here choose one of auto, rules, one_shot, refitted, boosted, additive",
        ),
        ("explain forest/model.json --plot -", "- stands for no file here"),
    ],
)
def test_what_is_refused(ask, here, capsys, line, said):
    assert said in refused(ask, line, capsys)
    assert not (here / "-").exists()


def test_options_that_take_several_may_be_written_again(good):
    line = "domain draft stays.csv --target back --output draft.json --drop stay --drop ward"
    assert good(line) == "draft: draft.json"
    # Each command has its own count.
    assert good(f"{PLAN} --epsilon 1") == good(f"{PLAN} --epsilon 1")


def test_a_dash_is_standard_output_where_a_command_writes_there_anyway(ask, good, here):
    for line in (
        "predict forest/model.json stays.csv",
        "export forest/model.json",
        "report show forest/report.json",
    ):
        assert good(f"{line} --output -") == good(line) != ""
    code, out, err = ask("domain check stays.csv --target back --domain domain.json --output -")
    assert code == 2 and not out and "is needed where stdout is no terminal" in err
    code, _, err = ask("export forest/model.json --form onnx --output -")
    assert code == 2 and "needs a file" in err
    assert not (here / "-").exists()
