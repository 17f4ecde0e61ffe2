"""What a task is: vocabularies, data, checker, limits and evaluation in one object; no torch.

A task of your own is a frozen dataclass below `Task` with `vocabulary`, `test_vocabulary`, `sides`,
`pairs` and, where more than the label is right, `check`. Its fields are its settings: they are
saved with a network, and those in EVALUATION may change between two evaluations of one training.
`vocabulary` and `test_vocabulary` are class attributes without annotation, or properties: with an
annotation they would be settings. `itekit.tasks.own` has helpers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from itekit.alpha import Renaming, canonical_renaming
from itekit.files import SCALES
from itekit.tasks.streams import Pair, PairStream, Problems, Stream
from itekit.vocabulary import Vocabulary

TEST_SEED = 1_000_003  # of problems and draws at evaluation
VALIDATION_SEED = 1_000_033  # not the test's, so that no choice is ever made on test problems


class Evaluation(Protocol):
    """What measures for a task: it holds the network, the task has the problems.

    `itekit.evaluation.Evaluation` says what each method does.
    """

    vocabulary: Vocabulary

    def part(self, name: str, measure: Callable[..., dict], *arguments) -> dict: ...
    def solvers(self, vocabulary: Vocabulary | None = None) -> list: ...
    def median(self, solvers: list, pairs: Sequence[Pair]) -> tuple[int, list[float]]: ...
    def test(self, pairs: Sequence[Pair], vocabulary=None, known: Sequence = ()) -> dict: ...
    def grid(self, pairs: Sequence[Pair], names: Sequence[str]) -> dict: ...
    def covariances(
        self, part: str, pairs: Sequence[Pair], vocabulary: Vocabulary, most: int, variants: int
    ) -> dict: ...


@dataclass(frozen=True)
class Task:
    """A task; these fields are settings of every task.

    Attributes:
        scale: smoke, lab or paper: the size of the data.
        limit: the most tokens of an answer; beam: the beam size, 1 is greedy decoding.
        draws: random embeddings that an evaluation draws.
        canonical: rename problems by first appearance; undone in the answers.
    """

    scale: str = "lab"
    limit: int = 128
    beam: int = 1
    draws: int = 10
    canonical: bool = False

    EVALUATION: ClassVar[tuple[str, ...]] = ("limit", "beam", "draws")
    kind: ClassVar[str]  # what files call it; default: the name of the class, in small letters
    operands: ClassVar[Mapping[str, int]] = {}  # token -> how many operands it takes, if any
    parts: ClassVar[tuple[str, ...]] = ("test",)  # of `pairs`: what `redraw` asks
    needs: ClassVar[tuple[str, ...]] = ()  # modules beside the kit's that judge answers
    published: ClassVar[bool] = False  # decode by `decoding.published_search`
    vocabulary: ClassVar[Vocabulary]
    test_vocabulary: ClassVar[Vocabulary]

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__dict__.get("kind", cls.__name__.lower())

    def __post_init__(self):
        one_of(self, "scale", SCALES)
        at_least(self, 1, "limit", "beam", "draws")
        fixed = self.vocabulary.fixed, self.test_vocabulary.fixed
        if fixed[0] != fixed[1]:
            training, test = map(" ".join, fixed)
            raise ValueError(
                f"expected the same fixed tokens in training and test: {training}; {test}"
            )

    def sides(self, seed: int) -> tuple[Sequence[Pair], Sequence[Pair]]:
        """Problems with their labels, to train on and to validate with; see `own.split`."""
        raise NotImplementedError(f"{type(self).__name__} needs a method sides(seed)")

    def pairs(self, part: str = "test") -> Sequence[Pair]:
        """Problems with their labels for one of `parts` of an evaluation."""
        raise NotImplementedError(f"{type(self).__name__} needs a method pairs(part)")

    @staticmethod
    def check(problem, answer, label) -> str:
        """The verdict on an answer (`itekit.tasks.verdicts`); here the label alone is right."""
        return "exact" if answer == label else "incorrect"

    def set_names(self) -> tuple[str, ...]:
        """The sets of solved problems (`datasets.sets`) that training and evaluation read."""
        return ()

    def solve(self, problem):
        """The answer of an ordinary solver; None if there is none."""
        return None

    def comparison_key(self, answer):
        """Key for comparing answers; by default the answer itself."""
        return answer

    def longest(self, length: int) -> int:
        """The most tokens of an answer to a problem of `length` tokens."""
        return self.limit

    def names_of(self, problem) -> int | None:
        """Decode with the first so many names alone; None: with all."""
        return None

    def renaming(self, problem, names: Sequence[str], label=()) -> Renaming:
        """The renaming of a problem before the network reads it."""
        if not self.canonical:
            return Renaming.identity
        return canonical_renaming([*problem, *label], names, names)

    def pack(self, pairs: Sequence[Pair], vocabulary: Vocabulary) -> Problems:
        """Problems and labels as arrays, as the network reads them."""
        if self.canonical:
            names = vocabulary.interchangeable[0]
            pairs = [self.renaming(p, names, y).apply_pair(p, y) for p, y in pairs]
        return Problems.of(pairs, vocabulary)

    def stream(self, batch_size: int, seed: int) -> Stream:
        """The batches of a training."""
        training, validation = (self.pack(side, self.vocabulary) for side in self.sides(seed))
        return PairStream(training, validation, batch_size, seed)

    def evaluate(self, evaluation: Evaluation) -> dict:
        """The result of an evaluation, as JSON."""
        return evaluation.test(self.pairs())

    def validate(self, solver) -> dict:
        """Further entries of a log record at a validation; `solver` answers by one random draw."""
        return {}

    def check_training(self, training) -> None:
        """ValueError for settings of a training that do not suit the task."""


# The kinds of tasks whose files can be read without their class; add your own.
TASKS: dict[str, type[Task]] = {}


def at_least(settings, least: int, *names: str) -> None:
    """ValueError unless these settings are `least` or more."""
    for name in names:
        if getattr(settings, name) < least:
            raise ValueError(f"{name} must be {least} or more, found {getattr(settings, name)}")


def one_of(settings, name: str, known: Sequence[str]) -> None:
    """ValueError unless the setting is one of `known`."""
    if (value := getattr(settings, name)) not in known:
        raise ValueError(f"unknown {name} {value!r}: expected one of {', '.join(known)}")
