"""Batches of checks: the verdicts of the single checks, and a hung check that costs only itself."""

import subprocess
import sys
from itertools import pairwise

import pytest

from itekit.datasets.checking import check_all, count_verdicts
from itekit.datasets.limited import TaskError
from itekit.datasets.parallel import LocalExecutor
from itekit.tasks import ltl, propositional
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, TIME_OUT, VERDICTS

LTL_CASES = [
    ("&aXb", "a;b;{1}", "a;b;{1}", EXACT),
    ("U1&ab", "&ba;{1}", "&ab;{1}", EXACT),
    ("&aXb", "{&ab}", "a;b;{1}", CORRECT),
    ("&aXb", "a;{1}", "a;b;{1}", INCORRECT),
    ("&aXb", "a;b;{1", "a;b;{1}", INVALID),
    ("&aXb", "", None, INVALID),
    ("&aXb", "a;b;{1}", None, CORRECT),
]
PROPOSITIONAL_CASES = [
    ("&ab", "b1a1", "a1b1", EXACT),
    ("|ab", "b1", "a1", CORRECT),
    ("|ab", "b0", "a1", INCORRECT),
    ("|ab", "b", "a1", INVALID),
    ("|ab", "c1", "a1", INVALID),
    ("|ab", "a1", None, CORRECT),
]


@pytest.mark.parametrize(
    ("task", "module", "cases"),
    [("ltl", ltl, LTL_CASES), ("propositional", propositional, PROPOSITIONAL_CASES)],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_verdicts_are_those_of_the_single_checks_in_order(task, module, cases, workers):
    items = [case[:3] for case in cases] * 5
    verdicts = check_all(task, items, workers=workers)
    assert verdicts == [case[3] for case in cases] * 5
    assert verdicts == [module.check(*item) for item in items]


def test_pairs_without_a_label_are_taken_too():
    assert check_all("ltl", [("a", "{a}"), ("a", "{!a}")], workers=1) == [CORRECT, INCORRECT]


def test_names_past_z_need_the_spaced_format():
    items = [("& a ab", "a 1 ab 1", "ab 1 a 1"), ("& a ab", "a 1", None)]
    assert check_all("propositional", items, workers=1, format="spaced") == [EXACT, INCORRECT]


def test_a_hung_check_costs_only_itself():
    parts = [f"U1&{a}XXXXXXX{b}" for a, b in pairwise("abcdefghijklm")]
    hard = "!" + "&" * (len(parts) - 1) + "".join(parts)  # its negation is what is translated
    items = [("a", "{a}", None), (hard, "{1}", None), ("a", "{!a}", None)]
    with LocalExecutor(1) as executor:
        verdicts = check_all("ltl", items, cpu_seconds=0.5, executor=executor)
    assert verdicts == [CORRECT, TIME_OUT, INCORRECT]


def test_a_formula_that_cannot_be_read_is_named():
    with pytest.raises(TaskError, match='item \\["&a", "{a}", null, "characters"\\]'):
        check_all("ltl", [("a", "{a}"), ("&a", "{a}")], workers=1)


@pytest.mark.parametrize("item", [("a",), ("a", "{a}", "{a}", "{a}"), "ab"])
def test_an_item_of_another_form_is_named(item):
    with pytest.raises(ValueError, match="item 1 is .*expected formula, answer and maybe label"):
        check_all("ltl", [("a", "{a}"), item])


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="unknown task 'LTL': expected one of ltl, propositional"):
        check_all("LTL", [])


def test_the_table_counts_every_verdict():
    verdicts = [EXACT, CORRECT, EXACT, TIME_OUT]
    counts = count_verdicts(verdicts)
    assert counts == {EXACT: 2, CORRECT: 1, INCORRECT: 0, INVALID: 0, TIME_OUT: 1}
    assert tuple(counts) == VERDICTS
    with pytest.raises(ValueError, match="'right' is no verdict"):
        count_verdicts(["right"])


def test_reading_sets_and_checking_assignments_need_no_spot():
    code = (
        "import sys; sys.modules['spot'] = None\n"
        "import itekit.datasets.checking, itekit.datasets.sets\n"
        "from itekit.datasets import jobs_propositional\n"
        "print(jobs_propositional.check(['&ab', 'b1a1', 'a1b1', 'characters']))"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.stdout.decode().strip() == EXACT, done.stderr.decode()
