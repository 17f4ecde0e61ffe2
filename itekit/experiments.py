"""Experiments as data: frozen settings, by name from the table in `itekit.tasks.names`.

`experiment("ltl/proposed", "lab", seed=0)`: a name is FAMILY/VARIANT, here the paper's embedding on
its LTL problems; a scale is smoke (seconds), lab (two CPU cores) or paper (the paper's sizes).
Further settings change what the name says: `experiment("ltl/proposed", "lab", d_beta=8)`, as
`ltl/proposed d_beta=8` on the command line. A setting is called by its path, `training.steps`, or
by its last word where no other ends in it. One that is out of range is a ValueError.
"""

import dataclasses
import pkgutil
import typing
from dataclasses import dataclass, field

from itekit.embeddings import EmbeddingConfig
from itekit.files import SCALES, rebuild, resolve_scale  # noqa: F401 (SCALES for its callers)
from itekit.logic.formulas import ARITY
from itekit.model import ModelConfig
from itekit.tasks.copying import CopyingData, EvaluationGrid
from itekit.tasks.names import NAMES, flat, settings_of
from itekit.vocabulary import Vocabulary, copying_vocabulary, logic_vocabulary

LOSSES = ("adacos", "learned_scale", "cross_entropy")  # see `itekit.losses`
SEARCHES = ("greedy", "published")
PREFIXES = {"ltl": "ltl", "propositional": "prop"}  # of the names of sets and experiments


def _at_least(settings, least: int, *names: str) -> None:
    for name in names:
        if getattr(settings, name) < least:
            raise ValueError(f"{name} must be {least} or more, found {getattr(settings, name)}")


def _one_of(settings, name: str, known: tuple[str, ...]) -> None:
    if (found := getattr(settings, name)) not in known:
        raise ValueError(f"unknown {name} {found!r}: expected one of {', '.join(known)}")


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how to train; the defaults are the paper's for copying.

    Attributes:
        steps, batch_size: optimiser steps, and sequences in each.
        learning_rate, warmup: peak, and the steps of linear warm-up; then cosine to zero.
        gradient_norm: gradients are clipped to this norm.
        positions: of each batch, the columns stand at a random choice of so many positions, in
            order; 0: at 0, 1, 2, ..., as in the evaluation.
        log_every: in steps; validate_every, checkpoint_every: multiples of it.
    """

    steps: int = 20_000
    batch_size: int = 512
    learning_rate: float = 1e-3
    warmup: int = 1000
    gradient_norm: float = 1.0
    positions: int = 0
    log_every: int = 50
    validate_every: int = 1000
    checkpoint_every: int = 500

    def __post_init__(self):
        _at_least(self, 1, "steps", "batch_size", "log_every", "validate_every", "checkpoint_every")
        _at_least(self, 0, "warmup", "positions")
        for name in ("validate_every", "checkpoint_every"):
            if (found := getattr(self, name)) % (every := self.log_every):
                raise ValueError(f"{name} ({found}) must be a multiple of log_every ({every})")


@dataclass(frozen=True)
class Experiment:
    """What decides a run of any task.

    A task of your own is a subclass with `vocabulary`, `test_vocabulary`, a method `sides()` that
    gives two sequences of (problem, label), to train on and to validate with, and a static method
    `check`.

    Attributes:
        name, scale: family/variant; smoke, lab or paper.
        embedding, model, training: the network and how it is trained.
        loss: one of LOSSES; all but cross_entropy scale cosines, so they need f_fn.
        per_sample: a random part of its own for each sequence of a batch, not one for the batch.
        draws: random embeddings that an evaluation draws.
        start: the experiment with whose weights the training begins; "": random ones.
        seed: of weights, data and random parts; 0 or more.
    """

    name: str
    scale: str = "paper"
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    loss: str = LOSSES[0]
    per_sample: bool = False
    draws: int = 10
    start: str = ""
    seed: int = 0

    # Settings of the evaluation alone: two runs that differ in them have the same weights.
    EVALUATION: typing.ClassVar[tuple[str, ...]] = ("draws",)
    operands: typing.ClassVar[tuple[int, ...]] = ()  # of each token that is not interchangeable
    # What decoding and judging need; a task of your own says what differs, in its class.
    task: typing.ClassVar[str] = "copying"
    beam: typing.ClassVar[int] = 1  # 1 is greedy decoding
    limit: typing.ClassVar[int] = 128  # the most tokens of an answer
    canonical: typing.ClassVar[bool] = False  # rename problems by first appearance

    def __post_init__(self):
        _one_of(self, "loss", LOSSES)
        if self.loss != "cross_entropy" and not self.embedding.f_fn:
            raise ValueError(f"loss {self.loss} needs f_fn: without it the logits are not cosines")
        if self.embedding.f_fn != self.model.normalize_features:
            raise ValueError("f_fn normalises rows and features: set it in embedding and in model")
        if self.per_sample and self.embedding.kind != "dual_part":
            raise ValueError("per_sample draws random parts: it needs a dual-part embedding")
        if (self.embedding.kind == "invariant") != bool(self.model.aggregation):
            raise ValueError("model.aggregation and an invariant embedding need each other")
        _at_least(self, 0, "seed")
        _at_least(self, 1, "draws")

    @property
    def vocabulary(self) -> Vocabulary:
        """The training vocabulary."""
        raise NotImplementedError

    @property
    def test_vocabulary(self) -> Vocabulary:
        """The vocabulary at evaluation."""
        raise NotImplementedError

    @property
    def sets(self) -> list[str]:
        """The sets of problems that training and evaluation read."""
        return []

    @property
    def check(self) -> typing.Callable:
        """The checker, (problem, answer, label) -> exact, correct, incorrect, invalid, ..."""
        return pkgutil.resolve_name(f"itekit.tasks.{self.task}:check")

    def form(self, answer):
        """What an answer is compared as: as it stands."""
        return answer

    @property
    def readable_vocabulary(self) -> Vocabulary:
        """What the network can read at evaluation: ordinary embeddings cannot be extended."""
        extends = self.embedding.kind != "learned"
        return self.test_vocabulary if extends else self.vocabulary

    @property
    def changes(self) -> dict[str, str]:
        """What is not as the name says: path -> as one writes it, such as "model.layers=3"."""
        if self.name not in NAMES:
            return {}
        usual = flat(experiment(self.name, self.scale, self.seed).to_json())
        return {
            path: f"{path}={value:.15g}" if isinstance(value, float) else f"{path}={value}"
            for path, value in flat(self.to_json()).items()
            if value != usual.get(path)
        }

    @property
    def slug(self) -> str:
        """The file name of a result: family-variant-scale-seed, then `changes`."""
        return self._slug()

    @property
    def run(self) -> str:
        """The file name of the training: the same without the settings of the evaluation."""
        return self._slug(self.EVALUATION)

    def _slug(self, but: tuple[str, ...] = ()) -> str:
        changes = [text for path, text in self.changes.items() if path.split(".")[0] not in but]
        return "-".join([self.name, self.scale, f"s{self.seed}", *changes]).replace("/", "-")

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds the experiment."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict) -> typing.Self:
        """Rebuild an experiment; ValueError for an unknown, missing or wrong setting."""
        return rebuild(cls, value)


@dataclass(frozen=True)
class CopyingExperiment(Experiment):
    """What decides a copying run.

    Attributes:
        data: the training strings.
        test_characters: size of the alphabet at evaluation.
        grid: the evaluation set: unique characters × length, both along `axis`, to `maximum`.
        averaged: evaluate all draws and take their mean; False: only the draw whose cross-entropy
            is the median.
        search: "greedy", as the paper says, or "published", as its published code does (see
            `decoding.published_search`), over the characters of the grid's row alone.
    """

    data: CopyingData = field(default_factory=CopyingData)
    test_characters: int = 30
    grid: EvaluationGrid = field(default_factory=EvaluationGrid)
    averaged: bool = True
    search: str = SEARCHES[0]

    EVALUATION = ("draws", "grid", "averaged", "search")

    def __post_init__(self):
        super().__post_init__()
        _one_of(self, "search", SEARCHES)
        if 0 < (found := self.training.positions) <= (longest := self.data.maximum):
            need = f"strings of {longest} and their end take {longest + 1} positions"
            raise ValueError(f"{need}: training.positions must be as many or more, found {found}")
        _at_least(self, max(self.data.characters, self.grid.axis[-1]), "test_characters")

    @property
    def vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.data.characters)

    @property
    def test_vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.test_characters)


@dataclass(frozen=True)
class LogicExperiment(Experiment):
    """What decides a run on LTL or propositional problems.

    Attributes:
        task: "ltl" or "propositional"; set: the set to train on, such as "ltl35".
        propositions, test_propositions: atomic propositions at training, and at evaluation.
        limit, beam: the most tokens of an answer; the beam size, 1 is greedy decoding.
        samples: problems of a set's test split that an evaluation takes at most.
        renamed, variants: for alpha-covariance, at most so many problems for each number of
            propositions, and at most so many renamings of each problem.
        canonical: rename problems by first appearance in the formula; undone in the answers.
        label_order: of the literals in propositional labels: by first "appearance" in the formula,
            as in the kit's sets, or sorted by "name".
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

    EVALUATION = ("draws", "limit", "beam", "samples", "renamed", "variants")

    def __post_init__(self):
        super().__post_init__()
        _one_of(self, "task", tuple(PREFIXES))
        orders = ("name", "appearance") if self.task == "propositional" else ("name",)
        _one_of(self, "label_order", orders)
        _at_least(self, 1, "propositions", "limit", "beam", "samples", "renamed")
        _at_least(self, 2, "variants")
        _at_least(self, self.propositions, "test_propositions")

    @property
    def vocabulary(self) -> Vocabulary:
        return logic_vocabulary(self.task, self.propositions)

    @property
    def test_vocabulary(self) -> Vocabulary:
        return logic_vocabulary(self.task, self.test_propositions)

    @property
    def operands(self) -> tuple[int, ...]:
        """How many operands each non-interchangeable token takes."""
        fixed = self.vocabulary.tokens[: self.vocabulary.learned_count]
        return tuple(ARITY.get(token, 0) for token in fixed)

    @property
    def names(self) -> tuple[str, ...]:
        """All atomic propositions of the evaluation."""
        return self.test_vocabulary.interchangeable[0]

    def form(self, answer):
        """What an answer is compared as: a propositional one as an assignment, in any order."""
        if self.task == "propositional":
            return pkgutil.resolve_name("itekit.tasks.propositional:form")(answer)
        return answer

    @property
    def sets(self) -> list[str]:
        kinds = ("35", "-generalization", "-alpha-covariance")
        return [self.set, *map(self.set_name, kinds)]

    def set_name(self, kind: str) -> str:
        """A set of this task: "35" (up to 35 tokens), "-generalization", "-alpha-covariance"."""
        return f"{PREFIXES[self.task]}{kind}"


def from_json(value: dict) -> CopyingExperiment | LogicExperiment:
    """Rebuild an experiment of the kit's tasks; ValueError for a wrong setting."""
    logic = isinstance(value, dict) and value.get("task") in tuple(PREFIXES)
    if isinstance(value, dict) and not logic and "data" not in value:
        raise ValueError("settings of another task: give its experiment")
    return (LogicExperiment if logic else CopyingExperiment).from_json(value)


def experiment(
    name: str, scale: str | None = None, seed: int = 0, **changes
) -> CopyingExperiment | LogicExperiment:
    """The experiment FAMILY/VARIANT at a scale (None: ITEKIT_SCALE, else lab), with other settings.

    ValueError: one that is unknown (the nearest names are listed) or out of range.
    """
    kind = CopyingExperiment if name.startswith("copying-") else LogicExperiment
    defaults = kind(name, resolve_scale(scale), seed=seed).to_json()
    return kind.from_json(settings_of(name, defaults, changes))
