"""What the explorer asks: a model on its task, a problem, a renaming, a random draw; and judges.

Problems and answers are text of one character a token. Names are the interchangeable tokens:
characters, atomic propositions. Nothing here needs the panel.

Paper, sections "Embedding matrix", "Alpha-Covariance", "LTL Solving".
"""

import math
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from itekit.alpha import (
    Renaming,
    all_renamings,
    alpha_covariance,
    canonical_renaming,
    sample_renamings,
    used_tokens,
)
from itekit.datasets.sets import read_set
from itekit.files import SCALES
from itekit.logic.formulas import LANGUAGES, FormulaError, parse_prefix, to_prefix
from itekit.logic.traces import parse_trace
from itekit.logic.truth_tables import parse_assignment
from itekit.names import NAMES, experiment
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.redraw import Retries
from itekit.results import checkpoint_path
from itekit.tasks.copying import strings_with_unique
from itekit.tasks.task import TEST_SEED
from itekit.tasks.verdicts import EXACT, INCORRECT, SOLVED, TIME_OUT
from itekit.workers import Pool
from lessons.copies import LONGEST, check_text
from lessons.infix import formula_from_text, to_infix, trace_to_infix

TASKS = {"copying": "copying", "ltl": "LTL", "propositional": "propositional logic"}
EXAMPLES = {"ltl": "a & (c U b)", "propositional": "(a | b) & (b ^ c)"}
BEST = ("copying-5-10/randomized-positions", "ltl/proposed", "prop/proposed")
CPU_SECONDS = 3.0  # for a check
VARIANTS = 120  # renamings of a problem at most, as in the evaluations
AT_ONCE = 12  # problems that are decoded in one step


def arrows(renaming: Renaming, names: Iterable[str], mark: str = " → ") -> list[str]:
    """What each name becomes."""
    return [f"{name}{mark}{renaming([name])[0]}" for name in names]


class Subject:
    """A network in evaluation mode on its task: copying; see `LogicSubject`.

    Attributes:
        vocabulary: what the network can read.
        names: those that a reader may use; the network may have no embedding for some.
        is_random: whether the embedding has random parts.
        noun, example: what a problem is called, and the first one shown.
    """

    noun, example = "string", "abcfghxyz"

    def __init__(self, network: Network):
        self.network, self.experiment = network, network.experiment
        self.retries = Retries(network, progress=False)
        self.task = network.experiment.task.kind
        self.vocabulary = self.experiment.readable_vocabulary
        self.names = self.experiment.task.test_vocabulary.interchangeable[0]
        self.readable_names = self.vocabulary.interchangeable[0]
        self.is_random = self.experiment.embedding.kind == "dual_part"

    def used(self, problem: str) -> list[str]:
        """The names of a problem by first appearance."""
        return used_tokens(problem, self.names)

    def unreadable(self, problem: str) -> list[str]:
        """The names of a problem that the network has no embedding for."""
        return [name for name in self.used(problem) if name not in self.readable_names]

    def matrix(self, draw: int) -> Tensor:
        """U [V, D] of a random draw over `vocabulary`, as the evaluations draw it."""
        return self.network.matrix(self.vocabulary, seeded(TEST_SEED, draw))

    def shuffled(self, problem: str, rng: np.random.Generator) -> Renaming:
        """A random renaming of the problem's names to any names."""
        return sample_renamings(self.used(problem), self.names, 1, rng)[0]

    def read(self, text: str) -> str:
        """The problem that was typed; ValueError: what is wrong, and where."""
        problem = text.strip()
        check_text(problem, self.experiment.task.test_vocabulary)
        return problem

    def random(self, rng: np.random.Generator) -> str:
        """A random problem that the network can read."""
        length = int(rng.integers(5, 15))
        unique = int(rng.integers(1, min(length, len(self.readable_names)) + 1))
        names = rng.permutation(self.readable_names)
        return "".join(names[strings_with_unique(1, length, unique, rng)[0]])

    def answers(self, problems: Sequence[str], draw: int = 0) -> list[str]:
        """The network's answers; ValueError says why it cannot read a problem."""
        return self.retries.solver(draw).answers(problems)

    def remark(self, text: str) -> str:
        """What a reader should know about how typed text is read; may be empty."""
        return ""

    def shown(self, problem: str, unicode: bool = True) -> str:
        """The problem as people write it."""
        return problem

    def spelled(self, answer: str) -> str:
        """More readable text to stand behind an answer; may be empty."""
        return ""

    def as_read(self, problem: str) -> Renaming:
        """The renaming under which the network itself reads a problem."""
        return Renaming.identity

    def tree(self, problem: str) -> tuple[list[str], list[tuple[int, ...]]] | None:
        """What stands in the nodes of the problem's tree, and their paths; None: it has no tree."""
        return None


class LogicSubject(Subject):
    """A network on LTL or propositional logic; the task is the experiment's."""

    noun = "formula"

    def __init__(self, network: Network):
        super().__init__(network)
        self.language, self.example = LANGUAGES[self.task], EXAMPLES[self.task]

    def read(self, text: str) -> str:
        return self._problem(text)[0]

    def remark(self, text: str) -> str:
        return self._problem(text)[1]

    def _problem(self, text: str) -> tuple[str, str]:
        """The problem, in names and operators that the models know, and what was changed for it."""
        formula = formula_from_text(text, self.language)
        used, remark = formula.propositions, ""
        free = [name for name in self.names if name not in used]
        strange = [name for name in used if name not in self.names]
        if len(strange) > len(free):
            raise ValueError(f"{len(used)} names to read: at most {len(self.names)} here")
        if strange:
            renaming = Renaming(dict(zip(strange, free, strict=False)))
            formula = renaming(formula)
            remark = f"here {', '.join(arrows(renaming, strange, ' is called '))}"
        problem = to_prefix(formula)
        if not set(formula.tokens()) <= set(self.experiment.task.test_vocabulary.tokens):
            spelled = to_infix(formula, unicode=True)
            remark = f"{spelled}, rewritten into what the models know: ! & X U 1 0"
            problem = to_prefix(formula.core()).replace("!!", "")  # as in no formula of training
        if len(problem) > LONGEST:
            raise ValueError(f"{len(problem)} tokens to read: at most {LONGEST} here")
        return problem, remark

    def shown(self, problem: str, unicode: bool = True) -> str:
        return to_infix(parse_prefix(problem, self.language), unicode=unicode)

    def spelled(self, answer: str) -> str:
        with suppress(FormulaError):
            if self.task == "ltl":
                return f" = {trace_to_infix(parse_trace(answer))}"
            if answer:
                pairs = parse_assignment(answer).values
                return " = " + ", ".join(f"{name} {value}" for name, value in pairs).lower()
        return ""

    def random(self, rng: np.random.Generator) -> str:
        """A problem of the generalization set; MissingSetError: it is not there."""
        name, known = self.experiment.task.set_name("generalization"), set(self.vocabulary.tokens)
        pairs = read_set(name, self.experiment.scale)["test"]
        readable = [formula for formula, _ in pairs if set(formula) <= known]
        return readable[rng.integers(len(readable))]

    def as_read(self, problem: str) -> Renaming:
        names = self.readable_names
        return canonical_renaming(problem if self.experiment.task.canonical else "", names, names)

    def tree(self, problem: str) -> tuple[list[str], list[tuple[int, ...]]]:
        symbols = {operator.token: operator.symbol for operator in self.language.operators}
        paths = parse_prefix(problem, self.language).tree_paths()
        return [symbols.get(token, token) for token in problem], paths


@dataclass(frozen=True, eq=False)
class Model:
    """A model to choose: what the reader sees, its task, and its checkpoint."""

    label: str
    task: str
    path: Path

    @cached_property
    def subject(self) -> Subject:
        """The network on its task, loaded when first asked for; CheckpointError: a damaged file."""
        return (Subject if self.task == "copying" else LogicSubject)(Network.load(self.path))


def shipped_models() -> list[Model]:
    """The shipped checkpoints: the best ones, then by name, the largest size first, by seed."""
    models = []
    for name, scale, seed in product(dict.fromkeys(BEST + NAMES), SCALES[::-1], range(10)):
        settings = experiment(name, scale, seed)
        if (path := checkpoint_path(settings)).exists():
            label = f"{name}, {scale} size" + f", seed {seed}" * (seed > 0)
            models.append(Model(label, settings.task.kind, path))
    return models


class Judge:
    """Labels of formulas and verdicts on answers, remembered.

    Spot and py-aiger are asked in a process of their own, which a question that takes too long, or
    `close`, ends; the next question starts another.
    """

    def __init__(self) -> None:
        self._pool, self._known = Pool(1), {}

    def label(self, task: str, problem: str) -> str | None:
        """A right answer; None if there is none, "time-out" if that is not known."""
        return problem if task == "copying" else self._ask(task, "solve", problem)

    def verdict(self, task: str, problem: str, answer: str) -> str:
        """The verdict on an answer (`itekit.tasks.verdicts`)."""
        if task == "copying":
            return EXACT if answer == problem else INCORRECT
        label = self.label(task, problem)
        options = (None if label == TIME_OUT else label, *["aiger"] * (task == "propositional"))
        return self._ask(task, "check", problem, answer, *options)

    def close(self) -> None:
        """End the process."""
        self._pool.close()

    def _ask(self, task: str, function: str, *values):
        item = pkgutil.resolve_name(f"itekit.tasks.{task}:{function}"), *values
        if item not in self._known:
            answers = self._pool.run(item[0], [values], unpack=True, limit=CPU_SECONDS)
            (self._known[item],) = answers
        return self._known[item]


@dataclass(frozen=True, eq=False)
class Question:
    """One setting of the explorer, and what the network answers to it.

    The renaming is applied before the network sees the problem; `draw` is the number of the random
    draw of the embedding; for `remark` see `Subject.remark`.
    """

    subject: Subject
    problem: str
    renaming: Renaming = Renaming.identity
    draw: int = 0
    remark: str = ""

    @cached_property
    def asked(self) -> str:
        """The problem as the network sees it, renamed."""
        return self.renaming(self.problem)

    @cached_property
    def answer(self) -> str:
        """The network's answer to `asked`."""
        return self.subject.answers([self.asked], self.draw)[0]


class Attempt(NamedTuple):
    """One try of redrawing: its number from 0, the renaming tried, the answer and its verdict."""

    number: int
    renaming: Renaming
    answer: str
    verdict: str


def attempts(question: Question, judge: Judge, most: int) -> Iterator[Attempt]:
    """Redraw and verify: try after try (`itekit.redraw.Retries`), until an answer is verified."""
    subject, asked = question.subject, question.asked
    for number in range(most):
        (renaming,) = subject.retries.renamings(number, [asked])
        (beams,) = subject.retries.answers(number, [asked])
        answer = beams[0] if beams else ""
        verdict = judge.verdict(subject.task, asked, answer)
        yield Attempt(number, renaming, answer, verdict)
        if verdict in SOLVED:
            return


def renamings_of(subject: Subject, problem: str, variants: int = VARIANTS) -> list[Renaming]:
    """The renamings under which `evaluation.covariance` asks the problem: all, or random ones.

    ValueError: the problem has no names, or more than the network can read.
    """
    used, names = subject.used(problem), subject.readable_names
    if not used:
        raise ValueError(f"this {subject.noun} has no name that could be renamed")
    if math.perm(len(names), len(used)) <= variants or len(used) > len(names):
        return list(all_renamings(used, names))
    return sample_renamings(used, names, variants, np.random.default_rng(TEST_SEED))


@dataclass
class Groups:
    """The answers to one problem under many renamings so far, each with its renaming undone.

    `key`: what answers are compared by.
    """

    key: Callable
    undone: list[str] = field(default_factory=list)

    def sorted(self) -> list[tuple[str, list[int]]]:
        """The first of each group of equal answers and the numbers of all, the largest first."""
        members = {}
        for number, answer in enumerate(self.undone):
            members.setdefault(self.key(answer), []).append(number)
        groups = sorted(members.values(), key=len, reverse=True)
        return [(self.undone[numbers[0]], numbers) for numbers in groups]

    @property
    def covariance(self) -> float:
        """Alpha-covariance over the answers so far, two or more."""
        return alpha_covariance([self.key(answer) for answer in self.undone])


def grouped(
    subject: Subject, problem: str, renamings: list[Renaming], draw: int = 0
) -> Iterator[Groups]:
    """Answer the problem under each renaming, some at a time; what there is after each step."""
    groups = Groups(subject.experiment.task.comparison_key)
    for start in range(0, len(renamings), AT_ONCE):
        part = renamings[start : start + AT_ONCE]
        answers = subject.answers([renaming(problem) for renaming in part], draw)
        pairs = zip(part, answers, strict=True)
        groups.undone += [renaming.inverse()(answer) for renaming, answer in pairs]
        yield groups
