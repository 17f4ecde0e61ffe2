"""The tasks as the explorer sees them: read what is typed, draw a problem, answer it, judge it.

A subject is one network on its task. Problems and answers are text of one character a token:
strings to copy, formulas with their traces or assignments. Names are the interchangeable tokens:
characters, atomic propositions.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from torch import Tensor

from itekit.alpha import Renaming, sample_renamings, used_tokens
from lessons.copies import LONGEST, copies
from itekit.evaluation import TEST_SEED
from lessons.explorer_judging import Judge
from itekit.logic.errors import FormulaError, quoted
from itekit.network import Network, seeded
from itekit.tasks.copying import strings_with_unique
from itekit.tasks.verdicts import EXACT, INCORRECT

Tree = tuple[list[str], list[tuple[int, ...]]]  # what stands in the nodes, and their paths


class Subject:
    """What all tasks share, and what each says for itself.

    Attributes:
        network: in evaluation mode.
        vocabulary: what the network can read.
        names: those that a reader may use; the network may have no embedding for some.
        is_random: whether the embedding has random parts.
        task, noun, example: the task, what a problem is called, and the first one shown.
        without_label: why a problem may have no right answer.
    """

    task, noun, example, without_label = "", "problem", "", ""

    def __init__(self, network: Network):
        self.network, self.experiment = network, network.experiment
        self.vocabulary = self.experiment.readable_vocabulary
        self.names = self.experiment.test_vocabulary.interchangeable[0]
        self.is_random = self.experiment.embedding.kind == "dual_part"

    @property
    def readable_names(self) -> tuple[str, ...]:
        """The names that the network has embeddings for."""
        return self.vocabulary.interchangeable[0]

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

    def attempt(self, problem: str, number: int) -> tuple[Renaming, str]:
        """Try `number` of redrawing, from 0: with another random part or, for a network without
        random parts, under another renaming. The renaming is undone in the answer beside it."""
        if self.is_random or number == 0 or self.unreadable(problem):
            return Renaming.identity, self.answers([problem], number)[0]
        used, names = self.used(problem), self.readable_names
        images = np.random.default_rng([TEST_SEED, number]).permutation(len(names))[: len(used)]
        renaming = Renaming({old: names[new] for old, new in zip(used, images, strict=True)})
        return renaming, renaming.inverse()(self.answers([renaming(problem)])[0])

    def read(self, text: str) -> str:
        """The problem that was typed.

        Raises:
            FormulaError: what is wrong, and where.
            ValueError: it is too large.
        """
        raise NotImplementedError

    def random(self, rng: np.random.Generator) -> str:
        """A random problem that the network can read."""
        raise NotImplementedError

    def answers(self, problems: Sequence[str], draw: int = 0) -> list[str]:
        """The network's answers; empty where it cannot read the problem."""
        raise NotImplementedError

    def label(self, judge: Judge, problem: str) -> str | None:
        """A right answer, None if there is none, "time-out" if none was found in time."""
        raise NotImplementedError

    def verdict(self, judge: Judge, problem: str, answer: str) -> str:
        """The verdict on an answer: one of `tasks.verdicts`, or `judging.EMPTY`."""
        raise NotImplementedError

    def compared(self, answer: str) -> Hashable:
        """What answers are compared as."""
        return answer

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

    def tree(self, problem: str) -> Tree | None:
        """The problem's tree; None if it has none."""
        return None


class CopyingSubject(Subject):
    """Strings and their copies: the checker compares the two."""

    task, noun, example = "copying", "string", "abcfghxyz"

    def read(self, text: str) -> str:
        problem = text.strip()
        if not problem:
            raise FormulaError(text, 0, "nothing", "a string of one character or more")
        for place, character in enumerate(problem[: LONGEST + 1]):
            if place == LONGEST:
                raise FormulaError(problem, place, quoted(character), f"at most {LONGEST} here")
            if character not in self.names:
                names = " ".join(self.names)
                raise FormulaError(problem, place, quoted(character), f"one of {names}")
        return problem

    def random(self, rng: np.random.Generator) -> str:
        length = int(rng.integers(5, 15))
        unique = int(rng.integers(1, min(length, len(self.readable_names)) + 1))
        names = rng.permutation(self.readable_names)
        return "".join(names[strings_with_unique(1, length, unique, rng)[0]])

    def answers(self, problems: Sequence[str], draw: int = 0) -> list[str]:
        return [copy.answer for copy in copies(self.network, problems, draw)]

    def label(self, judge: Judge, problem: str) -> str:
        return problem

    def verdict(self, judge: Judge, problem: str, answer: str) -> str:
        return EXACT if answer == problem else INCORRECT
