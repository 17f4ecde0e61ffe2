"""Tasks from outside the kit: terms (lesson 15), registers, and the others of the arena."""

import ast
import re
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit.alpha import used_tokens
from itekit.decoding import Solver
from itekit.embeddings import EmbeddingConfig
from itekit.experiments import Experiment, TrainingConfig, from_json
from itekit.files import RESULTS, read_json
from itekit.model import ModelConfig
from itekit.names import run_name
from itekit.network import CheckpointError
from itekit.redraw import redraw
from itekit.results import evaluate
from itekit.tasks.own import audit, five_ways
from itekit.tasks.task import Task
from itekit.training import Network
from itekit.vocabulary import Vocabulary
from lessons import arena, registers, terms
from lessons.terms import Terms, check, meaning, normalise

PATH = Path(__file__).parents[1] / "notebooks" / "15_your_own_task.ipynb"
CELLS = [cell for cell in nbformat.read(PATH, 4).cells if cell.cell_type == "code"]
MODEL = ModelConfig(24, 1, 2, 32, 0.0, tree_positions=True)
TRAINING = TrainingConfig(8, 8, warmup=2, log_every=2, validate_every=4, checkpoint_every=4)
SMALL = Terms(problems=60, tested=8)
PAIRS = [*Terms(problems=400).sides(0)[0], *SMALL.pairs()]


def small(task=SMALL, **changes) -> Experiment:
    return Experiment("terms/test", task, model=MODEL, training=TRAINING, **changes)


# terms


def definitions(source: str) -> dict[str, str]:
    """Functions and methods by name, docstrings left out."""
    bodies = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            bodies[node.name] = "\n".join(map(ast.unparse, body))
    return bodies


def test_the_lesson_builds_what_the_file_holds():
    cells = [cell.source for cell in CELLS if "task" in cell.metadata.get("tags", [])]
    lesson, file = definitions("\n".join(cells)), definitions(Path(terms.__file__).read_text())
    assert {"end", "read", "meaning", "check", "step", "normalise", "random_term"} <= lesson.keys()
    assert {name: lesson[name] for name in lesson.keys() & file.keys()}.items() <= file.items()


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
    for problem, label in PAIRS:
        form, steps = meaning(problem), 0
        while (new := reduced(form)) is not None:
            form, steps = new, steps + 1
        assert meaning(label) == form and steps == len(normalise(problem)) - 1 > 0
        assert set(label) <= set(problem) and not re.search("[a-z]", str(meaning(problem)))
    for term in ("@λa@aaλb@bb", "@λa@aaλbλc@bc", "λc@λaλcac", "@λaλaab"):  # endless, or a capture
        assert normalise(term) == [term]


def test_verdicts():
    verdicts = {
        "exact": ("λc@@cλaaλbb", "λa@@aλaaλaa"),
        "incorrect": ("λa@@aλbaλbb", "λa@@bλbbλbb"),
        "invalid": ("λa@@aλbbλb", "λa@@aλbbλbbb", "λλa@@aλbbλbb", ""),
    }
    for verdict, answers in verdicts.items():
        assert {check("", answer, "λa@@aλbbλbb") for answer in answers} == {verdict}


@given(st.integers(0, 399), st.permutations("abcdefgh"), st.text("λ@ab", max_size=12))
def test_a_renaming_of_a_term_is_the_same_term_and_any_text_gets_a_verdict(number, names, text):
    term = PAIRS[number][0]
    renamed = term.translate(str.maketrans("abcdefgh", "".join(names)))
    assert check("", renamed, term) == "exact"
    assert check("", text, term) in ("incorrect", "invalid")


# the kit with a task from outside


def test_a_task_that_the_kit_has_never_seen_is_judged_and_redrawn(monkeypatch):
    """Answers are the labels under another name, which are right; every third is no term."""
    pairs = SMALL.pairs()[:9]
    answers = {p: [y.translate(str.maketrans("abcde", "bcdea"))] for p, y in pairs}
    answers |= {p: [""] for p, _ in pairs[::3]}
    monkeypatch.setattr(Solver, "beam_answers", lambda _, problems: [answers[p] for p in problems])
    network = Network(small()).eval()
    test = evaluate(network, progress=False, pairs=pairs)["result"]["test"]
    assert (test["exact"], test["verdicts"]["invalid"]) == (pytest.approx(2 / 3), 3)
    assert redraw(network, pairs, 2, progress=False)["solved"]["all"] == [test["exact"]] * 2


# tokens of several characters


@dataclass(frozen=True)
class Letters(registers.Registers):
    """The same task, every token one character: programs are texts."""

    fixed = ("m", "s", "?")
    names = tuple("abcdefgh")


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("canonical", [False, True])
def test_what_is_asked_in_tokens_is_answered_in_tokens_as_texts_are_in_text(canonical, beams):
    words, letters = (
        Solver(Network(replace(small(kind(canonical=canonical)), model=ModelConfig())).eval(), 0)
        for kind in (registers.Registers, Letters)
    )
    for solver in (words, letters):
        solver.beams = beams
    letter = dict(zip(words.vocabulary.tokens, letters.vocabulary.tokens, strict=True))
    pairs = registers.Registers(problems=30, tested=10).pairs()[:40]
    texts = [tuple("".join(letter[t] for t in side) for side in pair) for pair in pairs]
    answers = words.beam_answers([problem for problem, _ in pairs])
    assert all(type(answer) is tuple for beams in answers for answer in beams) and any(answers[0])
    spelled = [["".join(letter[t] for t in answer) for answer in beams] for beams in answers]
    assert spelled == letters.beam_answers([problem for problem, _ in texts])
    assert words.loss(pairs) == letters.loss(texts)


# the tasks of the arena


def test_labels_of_programs_are_what_python_makes_of_them():
    task = registers.Registers(problems=300, tested=20)
    for problem, label in [*task.sides(0)[0], *task.pairs()]:
        values = {name: name for name in task.names}
        for word, x, y in zip(*(problem[i:-4:3] for i in range(3)), strict=True):
            exec(f"{x} = {y}" if word == "mov" else f"{x}, {y} = {y}, {x}", {}, values)
        assert label == tuple(values[x] for x in problem[-3:]) != problem[-3:]


def test_paths_are_shortest():
    task = arena.ShortestPaths(problems=100, tested=5)
    for problem, label in [*task.sides(0)[0], *task.pairs()]:
        text, _, (first, last) = problem.partition("?")
        edges = {frozenset(edge) for edge in text.split(",")[:-1]}
        distance, reached = 0, {first}
        while last not in reached:
            distance += 1
            reached |= {node for edge in edges if edge & reached for node in edge}
        assert (label[0], label[-1], len(label)) == (first, last, distance + 1)
        assert all(frozenset(step) in edges for step in zip(label, label[1:], strict=False))


@pytest.mark.parametrize("task", arena.RECIPES)
def test_the_tasks_pass_the_checklist_and_are_tested_with_known_new_and_more_names(task):
    for experiment in arena.experiments(task, 0, "smoke").values():
        assert [text for text, holds in audit(experiment).items() if not holds] == []
    task = experiment.task
    known = set(task.names[: task.known])
    assert all(set(used_tokens(p, task.names)) <= known for p, _ in task.sides(0)[0])
    assert all(not set(used_tokens(p, task.names)) & known for p, _ in task.pairs("new"))
    counts = {len(used_tokens(problem, task.names)) for problem, _ in task.pairs()}
    least = 5 if isinstance(task, arena.ShortestPaths) else 3
    assert counts == set(range(least, 9))


def test_two_ways_of_the_arena_from_training_to_their_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(arena, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(arena, "RESULTS", tmp_path)
    rows = [arena.run("registers", way, 0, "smoke") for way in ("proposed", "converted")]
    assert arena.rows("smoke") == sorted(rows, key=lambda row: row["way"])
    assert not any(row["learned"] for row in rows)
    folders = {path.name.partition("-smoke")[0] for path in (tmp_path / "runs").iterdir()}
    assert "arena-registers-plain" in folders and "arena-registers-proposed-first" in folders


def test_the_arenas_results_are_called_by_their_settings():
    paths = list(RESULTS.glob("arena-*-lab-s*.json"))
    assert len(paths) == 30
    for path in paths:
        result = read_json(path, dict)
        task, way, seed = (result[key] for key in ("task", "way", "seed"))
        assert path.name == arena.result_path(task, way, seed).name
        experiment = arena.experiments(task, seed)[way]
        assert from_json(result["experiment"], type(experiment.task)) == experiment, path.name


# the checklist


class Sorted(Terms):
    share = 2.0

    def label(self, problem):
        return "".join(sorted(set(problem)))


class Lenient(Terms):
    @staticmethod
    def check(problem, answer, label):
        return "exact"


class SameNames(Terms):
    known = 8


class Leaking(Terms):
    def pairs(self, part="test"):
        return [*super().pairs(part), self.sides(0)[0][0]]


AMISS = {
    "labels: renaming and solving commute": Sorted,
    "stream: no test problem is in training": Leaking,
    "checker: most labels of other problems are wrong": Lenient,
    "vocabulary: the test has all names": SameNames,
}


@pytest.mark.parametrize("question", ["", "labels: they fit the limit", *AMISS])
def test_the_checklist_finds_what_is_wrong(question):
    limit = 3 if "limit" in question else 24
    task = AMISS.get(question, Terms)(problems=60, tested=8, limit=limit)
    failed = [text for text, holds in audit(small(task)).items() if not holds]
    assert any(text.startswith(question) for text in failed) if question else not failed


def test_five_ways_differ_in_how_names_are_treated():
    ways = five_ways(small())
    kinds = {way: experiment.embedding.kind for way, experiment in ways.items()}
    assert list(kinds.values()) == ["learned", "dual_part", "alpha_renaming", *["invariant"] * 2]
    assert ways["converted"].start == ways["plain"].name == "terms/test/plain"
    assert ways["proposed"].embedding == EmbeddingConfig(per_sample=True)


def test_the_committed_run_extends_and_plain_embeddings_do_not():
    """The table of part 5, as committed: at 3 to 5 names both work, beyond only the proposed."""
    (cell,) = (cell for cell in CELLS if "rates = {" in cell.source)
    text = "".join(output.get("text", "") for output in cell.outputs)
    rows = dict(re.findall(r"^(proposed|plain|guessing)\s+(.*)$", text, re.M))
    rates = {name: np.array(re.findall(r"([\d.]+)%", row), float) for name, row in rows.items()}
    assert len({len(row) for row in rates.values()}) == 1 and (rates["guessing"] < 10).all()
    assert (rates["proposed"] > 5 * rates["guessing"]).all()
    assert (rates["plain"][-3:] == 0).all()


# a task without a checker


@dataclass(frozen=True)
class Reversal(Task):
    """The same letters from the last to the first."""

    names: str = "abcd"
    fixed: str = ""

    vocabulary = Vocabulary((), ("ab",))
    test_vocabulary = property(lambda self: Vocabulary(tuple(self.fixed), (tuple(self.names),)))

    def sides(self, seed):
        texts = ["".join(letters) for letters in product("ab", repeat=4)]
        pairs = [(text, text[::-1]) for text in texts]
        return pairs[4:], pairs[:4]

    def pairs(self, part="test"):
        return [("abc", "cba"), ("dd", "dd")]


def test_a_task_without_a_checker_is_judged_by_its_labels_and_loads_with_its_experiment(
    tmp_path, monkeypatch
):
    usual, other = (small(Reversal("smoke", names=names)) for names in ("abcd", "abcdef"))
    assert run_name(usual) != run_name(other)
    network = Network(replace(usual, model=ModelConfig(24, 1, 2, 32))).eval()
    monkeypatch.setattr(Solver, "beam_answers", lambda _, problems: [["cba"] for _ in problems])
    test = evaluate(network, progress=False)["result"]["test"]
    assert (test["exact"], test["verdicts"]["incorrect"]) == (0.5, 1)
    network.save(tmp_path / "network.safetensors")
    with pytest.raises(CheckpointError, match="unknown task 'reversal': .*give its experiment"):
        Network.load(tmp_path / "network.safetensors")
    loaded = Network.load(tmp_path / "network.safetensors", network.experiment)
    assert loaded.experiment == network.experiment
    with pytest.raises(ValueError, match=r"same fixed tokens in training and test: ; \+"):
        Reversal("smoke", fixed="+")
