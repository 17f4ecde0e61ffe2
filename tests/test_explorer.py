"""The explorer: its parts against the kit's own measures, and the panel driven by its widgets."""

import subprocess
import sys
import threading
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import spot
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_logic_network, tiny_network

from itekit.alpha import Renaming
from itekit.datasets.sets import read_set
from itekit.decoding import Solver
from itekit.evaluation import covariance
from itekit.logic.formulas import parse_prefix, to_prefix
from itekit.logic.spot_bridge import to_spot
from itekit.redraw import Retries
from itekit.results import CHECKPOINTS
from itekit.tasks import ltl, propositional
from itekit.tasks.verdicts import EXACT, INCORRECT, TIME_OUT, VACUOUS
from lessons.explorer import (
    Explorer,
    NamesRow,
    answer_attention,
    answer_html,
    attempts_html,
    attention_figure,
)
from lessons.infix import formula_from_text
from lessons.subjects import (
    Groups,
    Judge,
    LogicSubject,
    Question,
    Subject,
    attempts,
    grouped,
    renamings_of,
    shipped_models,
)


@cache
def subject_of(name):
    if name.startswith("copying"):
        return Subject(tiny_network(name))
    return LogicSubject(tiny_logic_network(name))


@pytest.fixture
def here(monkeypatch):
    """Questions to a checker are answered in this process, without a time limit."""
    modules = {"ltl": ltl, "propositional": propositional}
    ask = lambda self, task, name, *values: getattr(modules[task], name)(*values)  # noqa: E731
    monkeypatch.setattr(Judge, "_ask", ask)


@pytest.fixture
def explorer(here, monkeypatch):
    """Makes explorers of untrained networks, and ends them."""
    made = []

    def make(*names):
        models = [SimpleNamespace(label=name, subject=subject_of(name)) for name in names]
        for model in models:
            model.task = model.subject.task
        monkeypatch.setattr("lessons.explorer.shipped_models", lambda: models)
        made.append(Explorer(models[0].task))
        assert made[-1].wait()
        return made[-1]

    yield make
    for panel in made:
        panel.stop()


# attention


@pytest.mark.parametrize("name", ["ltl/proposed", "prop/plain", "copying-5-10/proposed"])
def test_the_weights_are_those_that_the_layer_mixed_with(name):
    """Mixing the layer's own values by the weights gives the layer's own output."""
    subject = subject_of(name)
    problem, answer = ("bacca", "ab") if name.startswith("copying") else ("&!ab", "ab")
    model, seen = subject.network.model, []
    keep = lambda *call: seen.append(call)  # noqa: E731
    hooks = [layer.cross.register_forward_hook(keep) for layer in model.decoder]
    weights = answer_attention(model, subject.matrix(0), subject.vocabulary, problem, answer)
    for hook in hooks:
        hook.remove()
    assert not any(layer.cross._forward_hooks for layer in model.decoder)
    S, T, config = len(problem) + 1, len(answer) + 1, model.config
    assert weights.shape == (config.layers, config.heads, T, S)
    assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-5)
    for found, (cross, (*_, (_, values), _), output) in zip(weights, seen, strict=True):
        mixed = (found[None] @ values).transpose(1, 2).flatten(2)
        with torch.no_grad():
            assert torch.allclose(cross.output(mixed), output, atol=1e-6)


def test_attention_is_read_in_the_names_that_the_network_reads():
    """For a network that renames by first appearance, every renaming has the same attention."""
    subject = subject_of("ltl/canonical-proposed")
    a, b = (attention_figure(Question(subject, one), table=True) for one in ("U&abc", "U&dca"))
    assert np.array_equal(a.data[0].z, b.data[0].z)
    assert a.layout.xaxis.ticktext[2:5] == ("a", "b", "c")


# groups


def by_chance(self, formulas):
    """Answers with the formula's first name, or with a, as it happens."""
    names = [next((c for c in formula if c in "abcde"), "a") for formula in formulas]
    chosen = [n if sum(map(ord, f)) % 3 else "a" for f, n in zip(formulas, names, strict=True)]
    return [f"{{{n}}}" if self.task.kind == "ltl" else f"{n}1" for n in chosen]


@pytest.mark.parametrize(("name", "variants"), [("ltl/proposed", 6), ("prop/proposed", 120)])
def test_the_groups_measure_what_the_evaluation_measures(name, variants, monkeypatch):
    """With answers that do change; under all renamings, and under a random choice of them."""
    monkeypatch.setattr(Solver, "answers", by_chance)
    subject = subject_of(name)
    solver, different = Solver(subject.network), set()
    for formula, _ in read_set(subject.experiment.task.set_name("test"), "smoke")["test"]:
        if subject.used(formula):
            renamings = renamings_of(subject, formula, variants)
            *_, groups = grouped(subject, formula, renamings)
            assert len(groups.undone) == len(renamings) <= variants
            measured = covariance(solver, [(formula, "")], subject.readable_names, variants)
            assert groups.covariance == pytest.approx(measured["mean"])
            different.add(len(groups.sorted()))
    assert len(different) > 1


def test_groups_of_known_answers():
    groups = Groups(propositional.Propositional().comparison_key, ["a1b0", "b0a1", "a1"])
    assert groups.sorted() == [("a1b0", [0, 1]), ("a1", [2])]
    for problem, message in ("U10", "no name"), ("&a&b&cd", "cannot be"):
        with pytest.raises(ValueError, match=message):
            renamings_of(subject_of("ltl/plain"), problem)


# verdicts and tries


def test_verdicts_are_the_checkers_and_a_check_that_takes_too_long_is_a_time_out(monkeypatch):
    monkeypatch.setattr("lessons.subjects.CPU_SECONDS", 2.0)
    parts = [f"(G F a{i} | F G b{i} | (c{i} U d{i}))" for i in range(5)]
    hard = to_prefix(formula_from_text(" & ".join(parts)).core())
    judge = Judge()
    try:
        assert judge.label("ltl", hard) == TIME_OUT
        for formula, answer in product(("Uab", "X0"), ("b;{1}", "{&a!a}", "{")):
            expected = ltl.check(formula, answer, ltl.solve(formula))
            assert judge.verdict("ltl", formula, answer) == expected, (formula, answer)
        for formula, answer in product(("|a^bc", "&a!a", "|a!a"), ("a1", "a0", "d1", "")):
            expected = propositional.check(formula, answer, propositional.solve(formula))
            assert judge.verdict("propositional", formula, answer) == expected
    finally:
        judge.close()


@pytest.mark.parametrize("name", ["ltl/proposed", "prop/alpha-renaming"])
def test_a_try_is_that_of_redraw(name):
    subject, retries = subject_of(name), Retries(subject_of(name).network, progress=False)
    never = SimpleNamespace(verdict=lambda *_: INCORRECT)
    for formula in ("&ab", "&a0"):
        tried = list(attempts(Question(subject, formula), never, 4))
        assert len(tried) == 4
        for one in tried:
            (beams,) = retries.answers(one.number, [formula])
            assert one.answer == (beams[0] if beams else "")
            assert one.renaming == Renaming.identity or not subject.is_random


def test_tries_go_on_until_one_is_verified(here, monkeypatch):
    """The third try is right; the first is wrong, the second right by emptiness only."""
    said = iter(["!a;{1}", "&a!a;{1}", "1;a;{1}"])
    monkeypatch.setattr(Solver, "beam_answers", lambda self, problems: [[next(said)]])
    question = Question(subject_of("ltl/proposed"), "Xa")
    tried = list(attempts(question, Judge(), 10))
    assert [one.verdict for one in tried] == [INCORRECT, VACUOUS, EXACT]
    page = attempts_html(question, tried, 10)
    assert "Verified at try 3" in page and page.count("<tr>") == 3
    assert "None of 2" in attempts_html(question, tried[:2], 2)


# reading what is typed


def test_names_that_the_models_do_not_have_become_names_that_they_have():
    subject = subject_of("ltl/proposed")
    for text, problem in {"p & X q": "&aXb", "b U door_open": "Uba", "&pXp": "&aXa"}.items():
        assert subject.read(text) == problem and "is called" in subject.remark(text)
    assert subject.remark("p & X a") == "here p is called b" and not subject.remark("a & X b")


@pytest.mark.parametrize("text", ["G(a -> F b)", "a R b <-> X c", "a U b", "!!a"])
def test_derived_operators_are_rewritten_without_a_change_of_meaning(text):
    subject = subject_of("ltl/proposed")
    problem, typed = subject.read(text), formula_from_text(text)
    assert set(problem) <= set("10!&XUabc")
    assert spot.are_equivalent(to_spot(parse_prefix(problem)), to_spot(typed))
    rewritten = problem != to_prefix(typed)
    assert bool(subject.remark(text)) == rewritten and not (rewritten and "!!" in problem)


@pytest.mark.parametrize("name", ["ltl/plain", "prop/plain", "copying-5-10/plain"])
def test_random_problems_can_be_read_and_typed(name):
    subject, rng = subject_of(name), np.random.default_rng(0)
    found = [subject.random(rng) for _ in range(8)]
    assert len(set(found)) > 4
    for problem in found:
        assert not subject.unreadable(problem)
        assert subject.read(subject.shown(problem, unicode=False)) == problem


# models


def test_every_shipped_checkpoint_is_offered_once():
    models = shipped_models()
    assert sorted(model.path for model in models) == sorted(CHECKPOINTS.glob("*.safetensors"))
    assert len({model.label for model in models}) == len(models)
    for task, model in {model.task: model for model in models}.items():
        assert model.subject.task == task and model.subject.network.trained["steps"] > 0


# menus


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcde")), max_size=6))
def test_whatever_is_chosen_is_a_renaming(choices):
    row = NamesRow(lambda: None)
    row.show("abc", "abcde", Renaming.identity)
    for number, name in choices:
        before = row.renaming("abc")
        row.children[number].value = name
        after = row.renaming("abc")
        assert after[number] == name and len(set(after)) == 3
        assert sum(old != new for old, new in zip(before, after, strict=True)) < 3


# the panel

ALL = ["copying-5-10/proposed", "ltl/proposed", "ltl/plain", "prop/alpha-renaming"]


def look_at(panel, number):
    panel.tabs.selected_index = number
    assert panel.wait()
    return panel.pages[number]


def test_every_page_of_every_task_shows_its_question(explorer):
    panel = explorer(*ALL)
    for task in ("copying", "ltl", "propositional"):
        panel.task.value = task
        assert panel.wait() and not panel.message.value
        question = panel.question
        assert panel.answer.value == answer_html(question, panel.judge)
        for number, page in enumerate(panel.pages):
            assert look_at(panel, number) is page and page.shown is question
            assert not page.message.value
            assert page.bar.layout.visibility == "hidden"
            assert page.answer.value if number == 2 else page.picture.outputs
        shown = panel.pages[1].picture.outputs[0]["data"]["text/plain"]
        assert "covariance " in shown and " renamings" in shown


def test_renaming_by_menu_by_shuffling_and_back(explorer):
    panel = explorer(*ALL[1:], ALL[0])
    panel.text.value = "Uab"
    panel.names.children[0].value = "e"
    assert panel.wait() and "says Spot" in panel.answer.value
    assert panel.question.asked == "Ueb" and panel.question.problem == "Uab"
    assert "renaming undone" in panel.answer.value
    undone = Renaming({"a": "e"}).inverse()(panel.question.answer)
    same = undone == Solver(panel.subject.network).answers(["Uab"])[0]
    assert ("the same answer as without" in panel.answer.value) == same
    panel.model.value = panel.models[1]  # the plain one, which has no embedding for e
    assert panel.wait() and "no embedding for e" in panel.answer.value
    assert look_at(panel, 3).message.value.count('role="alert"') == 1
    panel.reset.click()
    assert panel.wait() and panel.question.asked == "Uab"
    assert look_at(panel, 3).picture.outputs
    before = panel.names.renaming
    panel.shuffle.click()
    assert panel.wait() and panel.names.renaming != before
    assert panel.question.renaming == panel.names.renaming
    assert panel.text.value == "Uab", "what was typed stays"


WRONG = {
    ("ltl", "a U <b>"): "^",
    ("ltl", " & ".join("pqrstuv")): "7 names to read: at most 5",
    ("ltl", "X" * 70 + "a"): "at most 60",
    ("propositional", "a & X b"): "^",
    ("copying", "<i>"): "position 0",
}


def test_what_is_wrong_is_said_inside_and_the_panel_goes_on(explorer):
    panel = explorer(*ALL)
    for (task, text), message in WRONG.items():
        panel.task.value = task
        look_at(panel, 1)
        good, panel.text.value = panel.text.value, text
        assert panel.wait()
        assert message in panel.message.value and "<i>" not in panel.message.value
        assert "itekit-greyed" in panel.tabs._dom_classes and panel.pages[1].picture.outputs
        panel.shuffle.click()
        assert panel.wait()
        look_at(panel, 0)
        panel.text.value = good
        assert panel.wait() and not panel.message.value
        assert "itekit-greyed" not in panel.tabs._dom_classes
        assert panel.pages[0].picture.outputs


def test_a_change_takes_the_place_of_what_is_being_done(explorer, monkeypatch):
    panel = explorer("ltl/proposed")
    look_at(panel, 1)
    solve, started, go = Solver.answers, threading.Event(), threading.Event()

    def slowly(self, formulas):
        if len(formulas) > 1:  # one step of many renamings
            started.set()
            go.wait(10)
        return solve(self, formulas)

    monkeypatch.setattr(Solver, "answers", slowly)
    panel.text.value = "&a&bc"
    assert started.wait(10), "the answer stands before the renamings do"
    assert panel.answered.problem == "&a&bc" and not panel.wait(0)
    panel.text.value = "Xa"  # returns although a step is under way
    go.set()
    assert panel.wait()
    assert panel.answered.problem == "Xa" and panel.pages[1].shown is panel.question
    assert " renamings" in panel.pages[1].picture.outputs[0]["data"]["text/plain"]


def test_a_page_follows_its_own_controls(explorer):
    panel = explorer("ltl/proposed")
    tries = look_at(panel, 2).answer
    panel.pages[2].most.value = 3
    assert panel.wait() and tries.value.count("<tr>") <= 3
    look_at(panel, 3)
    first = panel.pages[3].picture.outputs
    panel.pages[3].layer.value = 1
    assert panel.wait() and panel.pages[3].picture.outputs != first
    panel.pages[3].form.value = "table"
    assert panel.wait()
    (heatmap,) = panel.pages[3].picture.outputs[0]["data"]["application/vnd.plotly.v1+json"]["data"]
    assert heatmap["type"] == "heatmap"


def test_spot_stays_out_of_the_kernel_and_an_import_makes_no_widget():
    """With the shipped models; the process ends although the panel was not stopped."""
    code = (
        "import sys, ipywidgets.widgets.widget as w; from lessons.explorer import Explorer\n"
        "assert not w._instances; panel = Explorer()\n"
        "for task in ('copying', 'propositional', 'ltl'):\n"
        "    panel.task.value = task; assert panel.wait(), task\n"
        "    assert not panel.message.value, panel.message.value\n"
        "print(panel.answer.value)\n"
        "sys.exit('spot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "says Spot" in done.stdout, done.stderr
