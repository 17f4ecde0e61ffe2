"""Tasks from outside the kit: terms (notebook 15) and registers, a file of its own."""

import ast
import contextlib
import io
import re
import types
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit.decoding import Solver
from itekit.embeddings import EmbeddingConfig
from itekit.experiments import TrainingConfig
from itekit.files import read_log
from itekit.model import ModelConfig
from itekit.network import CheckpointError
from itekit.redraw import redraw
from itekit.results import evaluate, evaluated, publish, save_result
from itekit.tasks.own import audit
from itekit.training import Network, Trainer
from itekit.vocabulary import Vocabulary
from lessons import registers

PATH = Path(__file__).parents[1] / "notebooks" / "15_your_own_task.ipynb"
CELLS = [cell for cell in nbformat.read(PATH, 4).cells if cell.cell_type == "code"]
PROPOSED = EmbeddingConfig(d_beta=5)
MODEL = ModelConfig(24, 1, 2, 32, 0.0, tree_positions=True)
TRAINING = TrainingConfig(8, 8, warmup=2, log_every=2, validate_every=4, checkpoint_every=4)


def loaded() -> types.ModuleType:
    """A module with the notebook's imports, and with what its tagged cells define."""
    module = types.ModuleType("own_task")
    module.seed = 0
    module.NAMES = tuple("abcdefghijklmnopqrstuvwxyz")
    for cell in CELLS:
        nodes = ast.parse(cell.source).body
        imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), PATH.name, "exec"), module.__dict__)
    with contextlib.redirect_stdout(io.StringIO()):
        for tag in ("task", "your-task"):
            for cell in CELLS:
                if tag in cell.metadata.get("tags", []):
                    exec(compile(cell.source, PATH.name, "exec"), module.__dict__)
    return module


task = loaded()
SIDES = task.draw(0, task.NAMES[:5], range(2, 6), 400)


# A second normaliser, without names (Pierce, "Types and Programming Languages", chapter 6).


def put(term, argument, depth=0, up=None):
    """The body of a redex with its argument at index `depth`; `up`: only add to free indices."""
    match term:
        case int() if up is not None:
            return term + up if term >= depth else term
        case int() if term == depth:
            return put(argument, None, 0, depth)
        case int():
            return term - (term > depth)
        case ("λ", body):
            return ("λ", put(body, argument, depth + 1, up))
    return tuple(put(part, argument, depth, up) for part in term)


def reduced(term):
    """The term after its leftmost outermost step; None if it is in normal form."""
    match term:
        case (("λ", body), argument):
            return put(body, argument)
        case (first, second):
            if first != "λ" and (new := reduced(first)) is not None:
                return (new, second)
            new = reduced(second)
            return None if new is None else (first, new)


def test_labels_are_the_normal_forms_that_a_normaliser_without_names_finds():
    forms = [{task.meaning(problem) for problem, _ in side} for side in SIDES]
    assert [*map(len, forms)] == [*map(len, SIDES)] and not forms[0] & forms[1]
    for problem, label in SIDES[0] + SIDES[1]:
        form, steps = task.meaning(problem), 0
        while (new := reduced(form)) is not None:
            form, steps = new, steps + 1
        assert task.meaning(label) == form
        assert steps == len(task.normalise(problem)) - 1 > 0
        assert set(label) <= set(problem) and not re.search("[a-z]", str(task.meaning(problem)))
    for term in ("@λa@aaλb@bb", "@λa@aaλbλc@bc", "λc@λaλcac", "@λaλaab"):  # endless, or a capture
        assert task.normalise(term) == [term]


def test_the_task_takes_fewer_than_60_lines():
    """Without imports, blank lines, comments, docstrings and what is printed."""
    kept = []
    for cell in (cell for cell in CELLS if "task" in cell.metadata.get("tags", [])):
        for node in ast.parse(cell.source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min(part.lineno for part in (node, *node.decorator_list))
                kept += cell.source.split("\n")[first - 1 : node.end_lineno]
    assert 40 < sum(bool(line.strip()) and line.strip()[0] not in '"#' for line in kept) < 60


def test_verdicts():
    verdicts = {
        "exact": ("λc@@cλaaλbb", "λa@@aλaaλaa"),
        "incorrect": ("λa@@aλbaλbb", "λa@@bλbbλbb"),
        "invalid": ("λa@@aλbbλb", "λa@@aλbbλbbb", "λλa@@aλbbλbb", ""),
    }
    for verdict, answers in verdicts.items():
        assert {task.check("", one, "λa@@aλbbλbb") for one in answers} == {verdict}


@given(st.integers(0, 399), st.permutations("abcdefgh"), st.text("λ@ab", max_size=12))
def test_a_renaming_of_a_term_is_the_same_term_and_any_text_gets_a_verdict(number, names, text):
    term = SIDES[0][number][0]
    renamed = term.translate(str.maketrans("abcdefgh", "".join(names)))
    assert task.check("", renamed, term) == "exact"
    assert task.check("", text, term) in ("incorrect", "invalid")


# the kit with an experiment from outside


def small(embedding=None, **changes):
    embedding = embedding or EmbeddingConfig(d_beta=5)
    made = task.TermExperiment("lambda/test", "smoke", embedding, MODEL, TRAINING)
    return replace(made, problems=60, **changes)


def test_a_run_in_pieces_gives_the_same_losses_and_is_loaded_again(tmp_path):
    finished = Trainer(small(), tmp_path / "whole").run(progress=False)
    for until in (4, None):
        Trainer(small(), tmp_path / "pieces").run(until, progress=False)
    whole, pieces = (read_log(tmp_path / name) for name in ("whole", "pieces"))
    assert [record["loss"] for record in whole] == [record["loss"] for record in pieces]
    finished.save(tmp_path / "network.safetensors")
    network = Network.load(tmp_path / "network.safetensors", small())
    assert network.experiment == small() and network.trained["steps"] == TRAINING.steps
    with pytest.raises(CheckpointError, match="seed"):
        Trainer(small(seed=1), tmp_path / "whole")


@dataclass(frozen=True)
class Checked(task.TermExperiment):
    check = staticmethod(task.check)


def test_a_task_that_the_kit_has_never_seen_is_judged_and_nothing_of_it_is_published(
    tmp_path, monkeypatch
):
    """Answers are the labels under another name, which are right; every third is no term."""
    pairs = SIDES[1][:9]
    said = {p: [y.translate(str.maketrans("abcde", "bcdea"))] for p, y in pairs}
    said |= {p: [""] for p, _ in pairs[::3]}
    monkeypatch.setattr(Solver, "_decode", lambda _, problems: [said[p] for p in problems])
    network = Network(Checked("lambda/test", "smoke", PROPOSED, MODEL, TRAINING)).train(False)
    test = evaluate(network, progress=False, pairs=pairs)["result"]["test"]
    assert (test["exact"], test["verdicts"]["invalid"]) == (pytest.approx(2 / 3), 3)
    assert redraw(network, pairs, 2, progress=False)["solved"]["all"] == [test["exact"]] * 2
    network.save(tmp_path / "network.safetensors")
    for of_the_kit, instead in (
        (lambda: evaluate(network), "give pairs"),
        (lambda: publish(network.experiment, tmp_path), "Network.save"),
        (lambda: Network.load(tmp_path / "network.safetensors"), "give its experiment"),
        (lambda: save_result(evaluated(network, lambda _: {}), tmp_path), "give its experiment"),
    ):
        with pytest.raises(ValueError, match=f"of another task.*{instead}"):
            of_the_kit()
    assert [path.name for path in tmp_path.iterdir()] == ["network.safetensors"]


# tokens of several characters


@dataclass(frozen=True)
class Letters(registers.Registers):
    """The same task, every token one character: programs are texts."""

    vocabulary: Vocabulary = Vocabulary("ms?", ("abcde",))
    test_vocabulary: Vocabulary = Vocabulary("ms?", ("abcdefgh",))


class First(registers.Registers):
    canonical = True


class FirstLetters(Letters):
    canonical = True


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("kinds", [(registers.Registers, Letters), (First, FirstLetters)])
def test_what_is_asked_in_tokens_is_answered_in_tokens_as_texts_are_in_text(kinds, beams):
    made = [kind("registers/test", "smoke", EmbeddingConfig(d_beta=3)) for kind in kinds]
    solvers = [Solver(Network(one).train(False), beams=beams) for one in made]
    letter = dict(zip(*(solver.vocabulary.tokens for solver in solvers), strict=True))
    pairs = registers.draw(0, registers.NAMES, (4, 8), 30)[0]
    texts = [tuple("".join(letter[t] for t in side) for side in pair) for pair in pairs]
    asked = [problem for problem, _ in pairs] + [("mov", "xx")]
    said, written = (
        solver.beam_answers(some)
        for solver, some in zip(solvers, (asked, [p for p, _ in texts] + ["m!"]), strict=True)
    )
    assert said[-1] == [] and solvers[0].answers(asked)[-1] == ()
    assert all(type(answer) is tuple for answers in said for answer in answers) and any(said[0])
    assert [["".join(letter[t] for t in one) for one in some] for some in said] == written
    assert solvers[0].loss(pairs) == solvers[1].loss(texts)


# the registers


def test_labels_of_programs_are_what_python_makes_of_them():
    sides = registers.draw(0, registers.NAMES, (3, 5, 8), 300)
    for problem, label in sides[0] + sides[1]:
        held = {name: name for name in registers.NAMES}
        for word, x, y in zip(*(problem[i:-4:3] for i in range(3)), strict=True):
            exec(f"{x} = {y}" if word == "mov" else f"{x}, {y} = {y}, {x}", {}, held)
        assert label == tuple(held[x] for x in problem[-3:]) != problem[-3:]
        assert registers.check(problem, label, label) == "exact"
        assert {registers.check(problem, label[:n], label) for n in range(3)} == {"incorrect"}


# the checklist


def relabelled(label):
    return [[(problem, label(problem)) for problem, _ in side] for side in SIDES]


def letters(problem):
    return "".join(sorted(set(problem)))


AMISS = {
    "labels: renaming and solving commute": {
        "label": letters,
        "sides": relabelled(letters),
        "check": lambda problem, answer, label: "exact" if answer == label else "no",
    },
    "stream: no test problem is in training": {"sides": [SIDES[0], SIDES[1] + SIDES[0][:1]]},
    "checker: most labels of other problems are wrong": {"check": lambda *one: "exact"},
    "vocabulary: the test has all names": {
        "made": small(test_vocabulary=small().vocabulary),
    },
    "labels: they fit the limit": {
        "sides": [SIDES[0], [("λa@λbba", "λa" * 12 + "a"), ("λa@λbb@aa", "λa@aa")]],
    },
}


@pytest.mark.parametrize("question", ["", *AMISS])
def test_the_checklist_finds_what_is_wrong(question):
    given = {"label": lambda problem: task.normalise(problem)[-1], "check": task.check}
    given = {"made": small(), "sides": SIDES} | given | AMISS.get(question, {})
    asked = audit(given["made"], given["sides"], given["check"], given["label"])
    failed = [text for text, holds in asked.items() if not holds]
    assert any(text.startswith(question) for text in failed) if question else not failed


def test_the_committed_run_extends_and_plain_embeddings_do_not():
    """The table of part 5, as committed: at 3 to 5 names both work, beyond only the proposed."""
    (cell,) = (cell for cell in CELLS if "rates = {" in cell.source)
    text = "".join(output.get("text", "") for output in cell.outputs)
    rows = dict(re.findall(r"^(proposed|plain|guessing)\s+(.*)$", text, re.M))
    rates = {name: np.array(re.findall(r"([\d.]+)%", row), float) for name, row in rows.items()}
    assert all(len(row) == 6 for row in rates.values()) and (rates["guessing"] < 10).all()
    assert (rates["proposed"] > 5 * rates["guessing"]).all()
    assert (rates["plain"][:3] > 5 * rates["guessing"][:3]).all()
    assert (rates["plain"][3:] == 0).all()
