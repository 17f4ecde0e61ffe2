"""What LTL and propositional logic share: sets of solved problems, and the paper's evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from itekit.datasets.sets import read_set
from itekit.logic.formulas import ARITY
from itekit.tasks.streams import Pair
from itekit.tasks.task import Evaluation, Task, at_least
from itekit.vocabulary import Vocabulary, proposition_names


@dataclass(frozen=True)
class LogicTask(Task):
    """Formulas and their solutions.

    Attributes:
        set: the set to train on, such as "ltl35".
        propositions, test_propositions: atomic propositions at training, and at evaluation.
        samples: problems of a set's test split that an evaluation takes at most.
        renamed, variants: for alpha-covariance, problems for each number of propositions, and
            renamings of each problem.
    """

    beam: int = 3
    set: str = ""
    propositions: int = 5
    test_propositions: int = 10
    samples: int = 100_000
    renamed: int = 1000
    variants: int = 120

    EVALUATION = (*Task.EVALUATION, "samples", "renamed", "variants")
    prefix: ClassVar[str]  # of the names of sets
    fixed: ClassVar[str]  # constants and operators
    operands: ClassVar[Mapping[str, int]] = ARITY
    sets: ClassVar[Mapping[str, str]] = {
        "test": "35",
        "generalization": "-generalization",
        "alpha_covariance": "-alpha-covariance",
    }
    parts = ("test", "generalization")

    def __post_init__(self):
        super().__post_init__()
        at_least(self, 1, "propositions", "samples", "renamed")
        at_least(self, 2, "variants")
        at_least(self, self.propositions, "test_propositions")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(tuple(self.fixed), (proposition_names(self.propositions),))

    @property
    def test_vocabulary(self) -> Vocabulary:
        return Vocabulary(tuple(self.fixed), (proposition_names(self.test_propositions),))

    def sides(self, seed: int) -> tuple[Sequence[Pair], Sequence[Pair]]:
        pairs = read_set(self.set, self.scale)
        return pairs["train"], pairs["validation"]

    def set_names(self) -> tuple[str, ...]:
        parts = ("test", "generalization", "alpha_covariance")
        return self.set, *map(self.set_name, parts)

    def set_name(self, part: str) -> str:
        """The set of a part of the evaluation."""
        return self.prefix + self.sets[part]

    def pairs(self, part: str = "test") -> Sequence[Pair]:
        pairs = read_set(self.set_name(part), self.scale)["test"]
        return pairs[: self.samples] if part == "test" else pairs

    def evaluate(self, evaluation: Evaluation) -> dict:
        """The paper's: test split, grid of names × length, alpha-covariance in both vocabularies.

        "alpha_covariance" is None for ordinary embeddings, which have one vocabulary.
        """
        result = {}
        for measure in (self._test, self._generalization, self._alpha_covariances):
            result |= evaluation.part(measure.__name__[1:], measure, evaluation)
        return result

    def _test(self, evaluation: Evaluation) -> dict:
        known = [formula for formula, _ in read_set(self.set, self.scale)["train"]]
        result = evaluation.test(self.pairs(), self.vocabulary, known)
        return result | {"test": {"set": self.set_name("test")} | result["test"]}

    def _generalization(self, evaluation: Evaluation) -> dict:
        names = proposition_names(max(26, self.test_propositions))  # also what it cannot read
        grid = evaluation.grid(self.pairs("generalization"), names)
        return {"generalization": {"set": self.set_name("generalization")} | grid}

    def _alpha_covariances(self, evaluation: Evaluation) -> dict:
        result = {"alpha_covariance": None}
        vocabularies = {"alpha_covariance_training": ("test", self.vocabulary)}
        if len(evaluation.vocabulary) > len(self.vocabulary):
            vocabularies["alpha_covariance"] = "alpha_covariance", evaluation.vocabulary
        for name, (part, vocabulary) in vocabularies.items():
            pairs = read_set(self.set_name(part), self.scale)["test"]
            about = {"set": self.set_name(part), "vocabulary": sum(vocabulary.class_sizes)}
            sizes = self.renamed, self.variants
            rows = evaluation.covariances(name, pairs, vocabulary, *sizes)
            result[name] = about | {"variants": self.variants, "by_propositions": rows}
        return result
