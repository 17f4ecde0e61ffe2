"""What each task adds to an experiment: copying, and the two logics."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from itekit.data import CopyingStream
from itekit.datasets.sets import read_set
from itekit.pairs import Pair, PairStream, Problems, by_appearance, canonical_pair
from itekit.settings import Experiment
from itekit.tasks.copying import CopyingData, EvaluationGrid, copying_vocabulary
from itekit.tasks.vocabularies import LANGUAGES, PREFIXES, logic_vocabulary, operand_counts
from itekit.vocabulary import Vocabulary

SEARCHES = ("greedy", "published")


@dataclass(frozen=True)
class CopyingExperiment(Experiment):
    """Everything that decides a copying run.

    Attributes:
        data: the training strings.
        test_characters: size of the alphabet at evaluation.
        grid: the evaluation set.
        averaged: evaluate all draws and take their mean; False: only the one of median loss.
        search: "greedy", as the paper says, or "published", as its published code does: a beam
            search of size 1 (see `decoding.beam`) over the characters of the grid's row alone.

    Raises:
        ValueError: settings out of range, or that contradict each other.
    """

    data: CopyingData = field(default_factory=CopyingData)
    test_characters: int = 30
    grid: EvaluationGrid = field(default_factory=EvaluationGrid)
    averaged: bool = True
    search: str = SEARCHES[0]

    EVALUATION: ClassVar[tuple[str, ...]] = ("draws", "grid", "averaged", "search")

    def __post_init__(self):
        super().__post_init__()
        if self.search not in SEARCHES:
            known = ", ".join(SEARCHES)
            raise ValueError(f"unknown search {self.search!r}: expected one of {known}")
        if 0 < self.training.positions <= self.data.maximum:
            raise ValueError(
                f"strings of {self.data.maximum} and their end take {self.data.maximum + 1} "
                f"positions: training.positions must be as many or more, "
                f"found {self.training.positions}"
            )
        needed = max(self.data.characters, self.grid.axis[-1])
        if self.test_characters < needed:
            raise ValueError(
                f"training and the evaluation grid use {needed} characters: "
                f"test_characters must be as many or more, found {self.test_characters}"
            )

    @property
    def slug(self) -> str:
        return super().slug + ("" if self.search == SEARCHES[0] else f"-{self.search}")

    @property
    def vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.data.characters)

    @property
    def test_vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.test_characters)

    def stream(self) -> CopyingStream:
        return CopyingStream(self.data, self.vocabulary, self.training.batch_size, self.seed)


@dataclass(frozen=True)
class LogicExperiment(Experiment):
    """Everything that decides a run on LTL or propositional problems.

    Attributes:
        task: "ltl" or "propositional".
        set: the set to train on, such as "ltl35" (see `datasets.presets`).
        propositions: atomic propositions at training.
        test_propositions: atomic propositions at evaluation.
        limit: the most tokens of an answer.
        beam: the beam size; 1 is greedy decoding.
        samples: problems of a set's test split that an evaluation takes at most.
        renamed: problems of each number of propositions at most for alpha-covariance.
        variants: renamings of each of them at most.
        canonical: rename problems by first appearance in the formula; undone in the answers.
        label_order: the order of the literals in propositional labels: by "name", as the sets
            have them, or by first "appearance" in the formula.

    Raises:
        ValueError: settings out of range, or that contradict each other.
    """

    task: str = "ltl"
    set: str = "ltl35"
    propositions: int = 5
    test_propositions: int = 10
    limit: int = 128
    beam: int = 3
    samples: int = 100_000
    renamed: int = 1000
    variants: int = 120
    canonical: bool = False
    label_order: str = "name"

    EVALUATION: ClassVar[tuple[str, ...]] = (
        "draws",
        "limit",
        "beam",
        "samples",
        "renamed",
        "variants",
    )

    def __post_init__(self):
        super().__post_init__()
        if self.task not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise ValueError(f"unknown task {self.task!r}: expected one of {known}")
        for name in ("propositions", "limit", "beam", "samples", "renamed"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, found {getattr(self, name)}")
        if self.variants < 2:
            raise ValueError(f"alpha-covariance needs 2 variants or more, found {self.variants}")
        orders = ("name", "appearance") if self.task == "propositional" else ("name",)
        if self.label_order not in orders:
            raise ValueError(
                f"unknown label_order {self.label_order!r}: expected one of {', '.join(orders)}"
            )
        if self.test_propositions < self.propositions:
            raise ValueError(
                f"test_propositions must be {self.propositions} or more, as at training, "
                f"found {self.test_propositions}"
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return logic_vocabulary(self.task, self.propositions)

    @property
    def test_vocabulary(self) -> Vocabulary:
        return logic_vocabulary(self.task, self.test_propositions)

    @property
    def operands(self) -> tuple[int, ...]:
        vocabulary = self.vocabulary
        return operand_counts(self.task, vocabulary.tokens[: vocabulary.learned_count])

    @property
    def names(self) -> tuple[str, ...]:
        """All atomic propositions of the evaluation."""
        return self.test_vocabulary.interchangeable[0]

    def set_name(self, kind: str) -> str:
        """The set of a kind ("35", "-generalization", ...) of this task."""
        return f"{PREFIXES[self.task]}{kind}"

    def problems(self, pairs: Sequence[Pair], vocabulary: Vocabulary) -> Problems:
        """Problems as this experiment has them: renamed or reordered, and packed."""
        if self.label_order == "appearance":
            pairs = [by_appearance(pair) for pair in pairs]
        if self.canonical:
            pairs = [canonical_pair(pair, vocabulary) for pair in pairs]
        return Problems.of(pairs, vocabulary)

    def stream(self) -> PairStream:
        pairs = read_set(self.set, self.scale)
        problems, validation = (
            self.problems(pairs[split], self.vocabulary) for split in ("train", "validation")
        )
        return PairStream(problems, validation, self.training.batch_size, self.seed)
