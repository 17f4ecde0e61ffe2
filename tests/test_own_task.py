"""Notebook 15: a task from outside the kit. Its labels, checker and checklist; runs of its own."""

import ast
import contextlib
import io
import random
import re
import types
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_experiment

from itekit.checkpoints import CheckpointError
from itekit.embeddings import EmbeddingConfig
from itekit.layers import ModelConfig
from itekit.network import Network
from itekit.runlog import read_log
from itekit.settings import TrainingConfig
from itekit.solving import Solver
from itekit.training import FINISHED, Trainer

PATH = Path(__file__).parents[1] / "notebooks" / "15_your_own_task.ipynb"
CELLS = [cell for cell in nbformat.read(PATH, 4).cells if cell.cell_type == "code"]
PLAIN = EmbeddingConfig("learned")
MODEL = ModelConfig(24, 1, 2, 32, 0.0, tree_positions=True)
TRAINING = TrainingConfig(8, 8, warmup=2, log_every=2, validate_every=4, checkpoint_every=4)


def sources(tag: str) -> list[str]:
    return [cell.source for cell in CELLS if tag in cell.metadata.get("tags", [])]


def loaded() -> types.ModuleType:
    """A module with the notebook's imports, and with what its tagged cells define."""
    module = types.ModuleType("own_task")
    module.seed = 0
    for cell in CELLS:
        body = [
            n for n in ast.parse(cell.source).body if isinstance(n, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(body, []), PATH.name, "exec"), module.__dict__)
    module.NAMES = tuple("abcdefghijklmnopqrstuvwxyz")
    module.label = ""  # of the checker's demonstration
    with contextlib.redirect_stdout(io.StringIO()):
        for tag in ("task", "your-task", "checklist"):
            for source in sources(tag):
                exec(compile(source, PATH.name, "exec"), module.__dict__)
    return module


task = loaded()
SIDES = task.draw(0, task.NAMES[:5], range(2, 6), 400)


def definitions() -> list[str]:
    """The lines of the task's functions and of its class, decorators with them, no docstrings."""
    found = []
    for source in sources("task"):
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min(part.lineno for part in [node, *node.decorator_list])
                text = node.body[0] if ast.get_docstring(node) else None
                skip = range(text.lineno, text.end_lineno + 1) if text else ()
                lines = enumerate(source.splitlines(), 1)
                found += [x for i, x in lines if first <= i <= node.end_lineno and i not in skip]
    return [line for line in found if line.strip() and not line.strip().startswith("#")]


# A second normaliser, without names (Pierce, "Types and Programming Languages", chapter 6).


def shifted(term, by, depth=0):
    """The term with `by` added to the indices that point out of it."""
    match term:
        case int():
            return term + by if term >= depth else term
        case ("λ", body):
            return ("λ", shifted(body, by, depth + 1))
        case (function, argument):
            return (shifted(function, by, depth), shifted(argument, by, depth))


def put(term, argument, depth=0):
    """The body of a redex with its argument in the place of index `depth`."""
    match term:
        case int():
            if term == depth:
                return shifted(argument, depth)
            return term - 1 if term > depth else term
        case ("λ", body):
            return ("λ", put(body, argument, depth + 1))
        case (function, value):
            return (put(function, argument, depth), put(value, argument, depth))


def reduced(term):
    """The term after its leftmost outermost step; None if it is in normal form."""
    match term:
        case int():
            return None
        case ("λ", body):
            inner = reduced(body)
            return None if inner is None else ("λ", inner)
        case (("λ", body), argument):
            return put(body, argument)
        case (function, argument):
            if (new := reduced(function)) is not None:
                return (new, argument)
            new = reduced(argument)
            return None if new is None else (function, new)


def random_text(number: int) -> str:
    """Terms that `draw` would not take too: with shadowing, and with names shared by binders."""
    rng = random.Random(number)
    names = rng.choices("abc", k=rng.randint(1, 5)) if number % 2 else rng.sample("abcdef", 5)
    return task.random_term(rng, names, rng.randint(1, 6))


# the task


def test_the_task_has_fewer_than_sixty_lines():
    assert 30 < len(definitions()) < 60


def test_labels_are_the_normal_forms_that_a_normaliser_without_names_finds():
    for problem, label in SIDES[0] + SIDES[1]:
        form, steps = task.meaning(problem), 0
        while (new := reduced(form)) is not None:
            form, steps = new, steps + 1
        assert task.meaning(label) == form
        assert steps == len(task.normalise(problem)) - 1 > 0


@pytest.mark.parametrize("shared", [False, True])
def test_every_step_is_a_beta_step_or_is_not_made(shared):
    """Where letters may be captured the replacing stops; what it does make is right."""
    made = 0
    for number in range(int(shared), 1500, 2):
        term = random_text(number)
        path = [task.meaning(step) for step in task.normalise(term)]
        for old, new in zip(path, path[1:], strict=False):
            assert reduced(old) == new, term
            made += 1
    assert made > 200


@pytest.mark.parametrize("term", ["@λa@aaλb@bb", "@λa@aaλbλc@bc", "λc@λaλcac", "@λaλaab"])
def test_a_term_that_never_ends_or_may_come_to_a_capture_gets_no_label(term):
    assert task.normalise(term) == [term]


def test_problems_are_closed_have_a_step_to_make_and_a_name_for_each_binder():
    for problem, label in SIDES[0] + SIDES[1]:
        bound = re.findall("λ(.)", problem)
        assert len(set(bound)) == len(bound) and set(problem) - set("λ@") == set(bound)
        assert "@λ" in problem and "@λ" not in label
        assert set(label) <= set(problem)
        assert not re.search("[a-z]", str(task.meaning(problem)) + str(task.meaning(label)))


def test_no_two_problems_are_alpha_equivalent_not_even_on_two_sides_or_of_two_draws():
    training, test = ([task.meaning(problem) for problem, _ in side] for side in SIDES)
    assert len(set(training)) == len(training) and len(set(test)) == len(test)
    other = task.draw(1, task.NAMES[:8], range(2, 9), 400)
    others = {task.meaning(problem) for problem, _ in other[1]}
    assert not set(training) & (set(test) | others)


def test_no_answer_is_frequent():
    for side in SIDES:
        answers = [task.meaning(label) for _, label in side]
        assert max(map(answers.count, answers)) <= 4


# the checker


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("λa@@aλbbλbb", "exact"),
        ("λc@@cλaaλbb", "exact"),
        ("λa@@aλaaλaa", "exact"),
        ("λa@@aλbaλbb", "incorrect"),
        ("λa@@bλbbλbb", "incorrect"),
        ("λa@@aλbbλb", "invalid"),
        ("λa@@aλbbλbbb", "invalid"),
        ("λa@@aλλbbλbb", "invalid"),
        ("λλa@@aλbbλbb", "invalid"),
        ("λ@a@@aλbbλbb", "invalid"),
        ("λ", "invalid"),
        ("", "invalid"),
    ],
)
def test_verdicts(answer, verdict):
    assert task.check("", answer, "λa@@aλbbλbb") == verdict


@given(st.integers(0, 10**6), st.permutations("abcdefgh"))
def test_a_renaming_of_a_closed_term_is_the_same_term(number, names):
    term = random_text(number)
    renamed = term.translate(str.maketrans("abcdefgh", "".join(names)))
    assert task.check("", renamed, term) == "exact"


@given(st.text("λ@ab", max_size=12))
def test_any_text_gets_a_verdict_and_a_term_reads_back(text):
    verdict = task.check("", text, "λaa")
    assert verdict in ("exact", "incorrect", "invalid")
    if task.meaning(text) is not None:
        assert task.end(text, 0) == len(text) and verdict != "invalid"


def test_another_owner_is_another_term():
    """Each variable of a term is given to each other binder around it."""
    for problem, _ in SIDES[1][:30]:
        for place, token in enumerate(problem):
            if token not in "λ@" and problem[place - 1] != "λ":
                for other in set(problem) - {"λ", "@", token}:
                    changed = problem[:place] + other + problem[place + 1 :]
                    assert task.check("", changed, problem) == "incorrect"


# the kit with an experiment from outside


def small(embedding=None, **changes):
    made = task.TermExperiment(
        "lambda/test", "smoke", embedding or EmbeddingConfig(d_beta=5), MODEL, TRAINING
    )
    return replace(made, problems=60, **changes)


def test_a_run_in_pieces_gives_the_same_losses_and_is_loaded_again(tmp_path):
    Trainer(small(), tmp_path / "whole").run(progress=False)
    for until in (4, None):
        Trainer(small(), tmp_path / "pieces").run(until, progress=False)
    whole, pieces = (read_log(tmp_path / name) for name in ("whole", "pieces"))
    assert [record["loss"] for record in whole] == [record["loss"] for record in pieces]
    network = Network.load(tmp_path / "whole" / FINISHED, small())
    assert network.experiment == small() and network.trained["steps"] == TRAINING.steps


def test_a_run_of_another_task_or_with_other_settings_is_refused(tmp_path):
    Trainer(small(), tmp_path).run(4, progress=False)
    with pytest.raises(CheckpointError, match="expected seed 1, found 0"):
        Trainer(small(seed=1), tmp_path)
    with pytest.raises(CheckpointError):
        Trainer(tiny_experiment(), tmp_path)
    Trainer(tiny_experiment(steps=5), tmp_path / "copying").run(progress=False)
    with pytest.raises(CheckpointError, match="expected name lambda/test, found copying"):
        Trainer(small(), tmp_path / "copying")


@pytest.mark.parametrize(("embedding", "reads"), [(None, True), (PLAIN, False)])
def test_only_embeddings_that_extend_read_a_name_that_training_lacks(embedding, reads):
    solver = Solver(Network.build(small(embedding)).train(False))
    assert solver.can_read("λa@λb@bba")
    assert solver.can_read("λf@λg@ggf") is reads
    assert bool(solver.answers(["λf@λg@ggf"])[0]) is reads


# the checklist


def failed(sides=SIDES, label=None, check=None, made=None):
    """The first words of the questions that a task does not pass."""
    label = label or (lambda problem: task.normalise(problem)[-1])
    asked = task.audit(made or small(), sides, check or task.check, label)
    return [question.split(",")[0] for question, holds in asked.items() if not holds]


def test_the_worked_example_and_the_template_pass_the_checklist():
    assert failed() == []
    assert task.check("", task.my_label("aabbba"), "aba") == "exact"


def relabelled(label):
    return [[(problem, label(problem)) for problem, _ in side] for side in SIDES]


@pytest.mark.parametrize(
    ("changes", "question"),
    [
        (
            {
                "label": lambda p: "".join(sorted(set(p))),
                "sides": relabelled(lambda p: "".join(sorted(set(p)))),
                "check": lambda problem, answer, label: "exact" if answer == label else "no",
            },
            "labels: renaming and solving commute",
        ),
        ({"sides": [SIDES[0], SIDES[1] + SIDES[0][:1]]}, "stream: no test problem is in training"),
        ({"check": lambda *one: "exact"}, "checker: most labels of other problems are wrong"),
        ({"made": small(test_vocabulary=small().vocabulary)}, "vocabulary: the test has all names"),
        (
            {"sides": [SIDES[0], [("λa@λbba", "λa" * 12 + "a"), ("λa@λbb@aa", "λa@aa")]]},
            "labels: they fit the limit",
        ),
    ],
)
def test_the_checklist_finds(changes, question):
    assert any(found.startswith(question) for found in failed(**changes)), failed(**changes)


# what the notebook shows


def test_the_committed_run_extends_and_plain_embeddings_do_not():
    """The table of part 6, as committed: at 3 to 5 names both work, beyond only the proposed."""
    (cell,) = (cell for cell in CELLS if "rates = {" in cell.source)
    text = "".join(output.get("text", "") for output in cell.outputs)
    rows = dict(re.findall(r"^(proposed|plain|guessing)\s+(.*)$", text, re.M))
    rates = {name: np.array(re.findall(r"([\d.]+)%", row), float) for name, row in rows.items()}
    assert all(len(row) == 6 for row in rates.values())
    assert (rates["guessing"] < 10).all()
    assert (rates["proposed"] > 5 * rates["guessing"]).all()
    assert (rates["plain"][:3] > 5 * rates["guessing"][:3]).all()
    assert (rates["plain"][3:] == 0).all()
