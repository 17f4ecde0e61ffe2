"""Experiments as data: frozen settings, and one table of names with what each overrides.

`experiment("ltl/proposed", "lab", seed=0)`: a name is FAMILY/VARIANT, a scale is one of SCALES.
Settings are checked when they are made: one that is out of range is a ValueError.

Copying (paper, appendix "Copying Task Experiments"): copying-5-10 ("Generalization to larger
vocabularies and lengths"), copying-3-30 and copying-large ("Scaling up"); copying-names-N (ours)
has N characters at evaluation: every variant at randomized positions, proposed with the smallest
set that holds them, larger-set with the corners of 16 dimensions. Logic: ltl and prop, and the
same -perturbed and -limited (paper, sections "LTL Solving", "Dataset Perturbations", appendix "LTL
Experiment with Limited Dataset"): -limited has a tenth of the problems and of the steps. Variants:

    proposed, plain, full-vocabulary, alpha-renaming     the paper's models
    without-f_bn, without-adacos, without-adacos-f_fn    its ablations
    neighboring-points-16                                its other sampling set (copying)
    randomized-positions[-BASELINE]     trained at random positions (Ruoss et al. 2023; ours)
    symbol-invariant                    a stream for each symbol (Işık and Li 2026); its steps take
                                        three times as long: in the logics a third of them
    converted                           the same, begun with the weights of plain, in a ninth
    continued-METHOD                    a ninth more steps of METHOD: a control
    smallest-set                        a random part for each problem of a batch, from the
                                        smallest set that holds all names (ours)
    canonical-proposed                  problems renamed by first appearance (ours)
    by-name                             propositional labels sorted by name
    names-N[-alpha-renaming]            LTL with N propositions in the vocabulary, proposed as
                                        smallest-set (ours)
    short-METHOD                        LTL in a third of the steps: what patience changes (ours)
    short-per-sample, short-SET-D       a random part for each problem; another sampling set
"""

import dataclasses
import pkgutil
import typing
from dataclasses import dataclass, field, replace

from itekit.embeddings import EmbeddingConfig
from itekit.files import SCALES, nearest, resolve_scale  # noqa: F401 (two for its callers)
from itekit.logic.formulas import ARITY
from itekit.model import ROPE_BASE, ModelConfig
from itekit.tasks.copying import CopyingData, EvaluationGrid
from itekit.vocabulary import Vocabulary, copying_vocabulary, logic_vocabulary

SEARCHES = ("greedy", "published")
PREFIXES = {"ltl": "ltl", "propositional": "prop"}  # of the names of sets and experiments


def _at_least(settings, least: int, *names: str) -> None:
    for name in names:
        if getattr(settings, name) < least:
            raise ValueError(f"{name} must be {least} or more, found {getattr(settings, name)}")


def _one_of(settings, name: str, known: tuple[str, ...]) -> None:
    if getattr(settings, name) not in known:
        found, expected = getattr(settings, name), ", ".join(known)
        raise ValueError(f"unknown {name} {found!r}: expected one of {expected}")


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how to train; the defaults are the paper's for copying.

    Attributes:
        steps, batch_size: optimiser steps, and sequences in each.
        learning_rate, warmup: peak, and the steps of linear warm-up; then cosine to zero.
        gradient_norm: gradients are clipped to this norm.
        positions: train at randomized positions, chosen from so many (see
            `Batch.at_random_positions`); 0: at 0, 1, 2, ..., as the evaluation.
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
            if (found := getattr(self, name)) % self.log_every:
                every = f"log_every ({self.log_every})"
                raise ValueError(f"{name} ({found}) must be a multiple of {every}")


@dataclass(frozen=True)
class Experiment:
    """What decides a run of any task.

    A task of your own is a subclass with `vocabulary`, `test_vocabulary`, a method `stream` that
    gives the batches to train on (see `itekit.data.stream`), and a static method `check`.

    Attributes:
        name, scale: family/variant; one of SCALES.
        embedding, model, training, adacos: the network and how it is trained.
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
    adacos: bool = True
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
        if self.adacos and not self.embedding.f_fn:
            raise ValueError("AdaCos needs f_fn: without it the logits are not cosines")
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
    def check(self) -> typing.Callable:
        """The checker, (problem, answer, label) -> verdict; a task of your own brings one."""
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
    def slug(self) -> str:
        """A file name: family-variant-scale-seed, and RoPE's base where it is not the paper's."""
        base = "" if self.model.rope_base == ROPE_BASE else f"-rope{self.model.rope_base:.15g}"
        return f"{self.name.replace('/', '-')}-{self.scale}-s{self.seed}{base}"

    def with_rope_base(self, base: float) -> typing.Self:
        """The same experiment with another base of RoPE; ValueError for a base of 1 or less."""
        return replace(self, model=replace(self.model, rope_base=base))

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds the experiment."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict) -> typing.Self:
        """Rebuild an experiment; ValueError for an unknown or missing setting."""
        return _rebuild(cls, value)


def _rebuild(kind: type, value: dict):
    hints, settings = typing.get_type_hints(kind), {}
    fields = {f.name: f for f in dataclasses.fields(kind)}
    if not isinstance(value, dict):
        raise ValueError(f"{kind.__name__} needs its settings, found {value!r}")
    if unknown := sorted(set(value) - set(fields), key=repr):
        raise ValueError(f"{kind.__name__} has no setting {unknown[0]!r}")
    for name, f in fields.items():
        if name in value:
            hint, found = hints[name], value[name]
            nested = dataclasses.is_dataclass(hint)
            settings[name] = _rebuild(hint, found) if nested else found
            fits = type(found) is hint or (hint is float and type(found) is int)
            if hint in (int, float, str, bool) and not fits:
                raise ValueError(f"{kind.__name__}.{name} must be {hint.__name__}, found {found!r}")
        elif f.default is f.default_factory is dataclasses.MISSING:
            raise ValueError(f"{kind.__name__} needs the setting {name!r}")
    return kind(**settings)


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
            raise ValueError(
                f"strings of {longest} and their end take {longest + 1} positions: "
                f"training.positions must be as many or more, found {found}"
            )
        _at_least(self, max(self.data.characters, self.grid.axis[-1]), "test_characters")

    @property
    def slug(self) -> str:
        return super().slug + ("" if self.search == SEARCHES[0] else f"-{self.search}")

    @property
    def vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.data.characters)

    @property
    def test_vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.test_characters)


@dataclass(frozen=True)
class LogicExperiment(Experiment):
    """Everything that decides a run on LTL or propositional problems.

    Attributes:
        task: "ltl" or "propositional"; set: the set to train on, such as "ltl35".
        propositions, test_propositions: atomic propositions at training, and at evaluation.
        limit, beam: the most tokens of an answer; the beam size, 1 is greedy decoding.
        samples: problems of a set's test split that an evaluation takes at most.
        renamed, variants: for alpha-covariance, problems of each number of propositions at most,
            and renamings of each of them at most.
        canonical: rename problems by first appearance in the formula; undone in the answers.
        label_order: of the literals in propositional labels: by first "appearance" in the formula,
            as the sets have them, or sorted by "name".
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

    def set_name(self, kind: str) -> str:
        """The set of a kind ("35", "-generalization", ...) of this task."""
        return f"{PREFIXES[self.task]}{kind}"


def from_json(value: dict) -> CopyingExperiment | LogicExperiment:
    """Rebuild an experiment of the kit's tasks; ValueError for an unknown or missing setting."""
    logic = isinstance(value, dict) and value.get("task") in PREFIXES
    if isinstance(value, dict) and not logic and "data" not in value:
        raise ValueError("settings of another task: give its experiment")
    return (LogicExperiment if logic else CopyingExperiment).from_json(value)


# What each name overrides. Besides settings an entry may say: "every_name", train on the test
# vocabulary; "known_names", test on the training vocabulary; "randomized", at randomized
# positions; "times", so many times the steps; "smallest", d_beta as small as the test vocabulary
# allows; "of_model", settings of the model.
_E = EmbeddingConfig
_LEARNED, _ALPHA = _E("learned"), _E("alpha_renaming")
_INVARIANT = {"embedding": _E("invariant"), "of_model": {"aggregation": "encoder"}}


def _models(method: str, d_beta: int) -> dict[str, dict]:
    return {
        "proposed": {"embedding": _E("dual_part", method, d_beta)},
        "plain": {"embedding": _LEARNED},
        "full-vocabulary": {"embedding": _LEARNED, "every_name": True},
        "alpha-renaming": {"embedding": _ALPHA},
        "without-f_bn": {"embedding": _E("dual_part", method, d_beta, f_bn=False)},
    }


_COPYING = _models("hypercube_vertices", 6)
_COPYING |= {
    "neighboring-points-16": {"embedding": _E("dual_part", "neighboring_points", 16)},
    "randomized-positions": _COPYING["proposed"] | {"randomized": True},
    "randomized-positions-plain": _COPYING["plain"] | {"randomized": True},
    "randomized-positions-full-vocabulary": _COPYING["full-vocabulary"] | {"randomized": True},
    "randomized-positions-alpha-renaming": _COPYING["alpha-renaming"] | {"randomized": True},
}
_COPYING_LARGE = {  # more characters need a larger sampling set
    name: settings | {"embedding": replace(settings["embedding"], d_beta=16)}
    for name, settings in _COPYING.items()
}
_SMALLEST = {"embedding": _E(), "smallest": True}
_COPYING_NAMES = {
    "proposed": _SMALLEST,
    "larger-set": {"embedding": _E(d_beta=16)},
    "alpha-renaming": {"embedding": _ALPHA},
    "full-vocabulary": {"embedding": _LEARNED, "every_name": True},
    "symbol-invariant": _INVARIANT,
}
_COPYING_NAMES = {name: made | {"randomized": True} for name, made in _COPYING_NAMES.items()}
NAMES_AXIS = (30, 100, 300, 1000, 3000)  # N of copying-names-N
_LOGIC = _models("hypercube_vertices", 5)
_PROPOSED, _NO_F_FN = _LOGIC["proposed"], _E("dual_part", "hypercube_vertices", 5, f_fn=False)
_LOGIC |= {
    "without-adacos": _PROPOSED | {"adacos": False},
    "without-adacos-f_fn": {
        "embedding": _NO_F_FN,
        "adacos": False,
        "of_model": {"normalize_features": False},
    },
    "smallest-set": _SMALLEST | {"per_sample": True},
    "canonical-proposed": _PROPOSED | {"canonical": True},
}


def _of_family(family: str, aggregation: str) -> dict[str, dict]:
    """The symbol-invariant variants of a logic, and the controls of the converted one."""
    streams = _INVARIANT | {"of_model": {"aggregation": aggregation}}
    found = {"symbol-invariant": streams | {"times": 1 / 3}}
    found["converted"] = streams | {"times": 1 / 9, "start": f"{family}/plain"}
    for method in ("proposed", "plain", "alpha-renaming"):
        more = {"times": 1 / 9, "start": f"{family}/{method}"}
        found[f"continued-{method}"] = _LOGIC[method] | more
    return found


_LTL_ONLY, _PROP_ONLY = _of_family("ltl", "encoder"), _of_family("prop", "both")
_PROP_ONLY["by-name"] = _PROPOSED | {"label_order": "name"}
for _count in (20, 60, 200):
    _names = {"test_propositions": _count}
    _LTL_ONLY[f"names-{_count}"] = _LOGIC["smallest-set"] | _names
    _LTL_ONLY[f"names-{_count}-alpha-renaming"] = _LOGIC["alpha-renaming"] | _names
_TRIED = {name: _LOGIC[name] for name in ("proposed", "alpha-renaming", "smallest-set")}
_TRIED["per-sample"] = _PROPOSED | {"per_sample": True}
_SETS = ("hypercube_vertices", 16), ("normal", 8), ("neighboring_points", 8), ("far_apart", 8)
for _method, _d_beta in _SETS:
    _part = {"embedding": _E("dual_part", _method, _d_beta), "per_sample": True}
    _TRIED[f"{_method.replace('_', '-')}-{_d_beta}"] = _part
_LTL_ONLY |= {f"short-{name}": settings | {"times": 1 / 3} for name, settings in _TRIED.items()}
_OTHER_DATA = {name: _LOGIC[name] for name in ("proposed", "plain", "alpha-renaming")}
_OTHER_DATA["alpha-renaming"] = _LOGIC["alpha-renaming"] | {"known_names": True}
_LIMITED = {name: settings | {"times": 0.1} for name, settings in _OTHER_DATA.items()}

VARIANTS: dict[str, dict[str, dict]] = {
    "copying-5-10": _COPYING,
    "copying-3-30": _COPYING,
    "copying-large": _COPYING_LARGE,
    **{f"copying-names-{count}": _COPYING_NAMES for count in NAMES_AXIS},
    "ltl": _LOGIC | _LTL_ONLY,
    "ltl-perturbed": _OTHER_DATA,
    "ltl-limited": _LIMITED,
    "prop": _LOGIC | _PROP_ONLY,
    "prop-perturbed": _OTHER_DATA,
    "prop-limited": _LIMITED,
}
NAMES = tuple(f"{family}/{variant}" for family, found in VARIANTS.items() for variant in found)

# What a family is at each size.
_T, _M, _G, _D = TrainingConfig, ModelConfig, EvaluationGrid, CopyingData
_SMOKE = _T(20, 16, warmup=5, log_every=5, validate_every=10, checkpoint_every=10)
_TINY = {"training": _SMOKE, "draws": 3, "grid": _G(maximum=10, samples=2, stride=3)}
_SHORT = {"training": _T(1500, 128, warmup=150, validate_every=500), "draws": 3}
_SHORT["grid"] = _G(samples=10)
_LAB_5_10 = _SHORT | {"training": _T(3000, 256, warmup=200, validate_every=500)}
_D_3_30, _WIDE = {"data": _D(3, 30, 5)}, {"averaged": False}
_WIDE_PAPER = {"data": _D(20, 80, 20), "test_characters": 160, "grid": _G(3, 160, samples=20)}
_WIDE_LAB = {"data": _D(10, 40, 10), "test_characters": 80, "grid": _G(4, 80, 5, 4)}
_WIDE_TINY = {"data": _D(6, 12, 6), "test_characters": 16, "grid": _G(4, 16, 2, 4)}
_NAMES_SIZES = {"paper": {}, "lab": _LAB_5_10, "smoke": _TINY}
_COPYING_SIZES = {
    f"copying-names-{count}": {
        scale: sizes | {"test_characters": count, "grid": _G(5, 10, 500, 5, names=count)}
        for scale, sizes in _NAMES_SIZES.items()
    }
    for count in NAMES_AXIS
}
_COPYING_SIZES |= {
    "copying-5-10": {"paper": {}, "lab": _LAB_5_10, "smoke": _TINY},
    "copying-3-30": {"paper": _D_3_30, "lab": _SHORT | _D_3_30, "smoke": _TINY | _D_3_30},
    "copying-large": {
        "paper": _WIDE | _WIDE_PAPER | {"model": _M(128, 6, 8, 128)},
        "lab": _WIDE | _SHORT | _WIDE_LAB | {"model": _M(64, 2, 4, 128)},
        "smoke": _WIDE | _TINY | _WIDE_TINY,
    },
}
_TREE = _M(tree_positions=True)
_LAB = {"propositions": 3, "test_propositions": 6, "samples": 2000, "renamed": 40}
_LAB["model"] = replace(_TREE, layers=4, d_ff=256, dropout=0.05)
_FEW = {"propositions": 3, "test_propositions": 5, "samples": 8, "renamed": 2, "variants": 6}
_FEW |= {"draws": 2, "training": _SMOKE, "model": _TREE}
_LTL_LAB = _T(9000, 256, warmup=300, validate_every=500, checkpoint_every=100)
_LTL_PAPER = {"training": _T(52_000, 768), "model": replace(_TREE, d_model=128, layers=8)}
_LTL_PAPER["model"] = replace(_LTL_PAPER["model"], heads=8, d_ff=1024)
_PROP_LAB = _T(36_000, 64, warmup=500, log_every=100)
_PROP_PAPER = {"training": _T(50_000, 1024), "model": replace(_TREE, d_model=132, layers=6)}
_PROP_PAPER["model"] = replace(_PROP_PAPER["model"], heads=6, d_ff=512)
_LOGIC_SIZES = {
    "ltl": {"paper": _LTL_PAPER, "lab": _LAB | {"training": _LTL_LAB}, "smoke": _FEW},
    "propositional": {"paper": _PROP_PAPER, "lab": _LAB | {"training": _PROP_LAB}, "smoke": _FEW},
}
_LOGIC_FAMILIES = {  # task, training set, most tokens of an answer
    "ltl": ("ltl", "ltl35", 128),
    "ltl-perturbed": ("ltl", "ltl-perturbed", 128),
    "ltl-limited": ("ltl", "ltl-limited", 128),
    "prop": ("propositional", "prop35", 22),
    "prop-perturbed": ("propositional", "prop-perturbed", 22),
    "prop-limited": ("propositional", "prop-limited", 22),
}
LOGIC_NAMES = tuple(name for name in NAMES if name.split("/")[0] in _LOGIC_FAMILIES)
COPYING_NAMES = tuple(name for name in NAMES if name not in LOGIC_NAMES)


def experiment(
    name: str, scale: str | None = None, seed: int = 0
) -> CopyingExperiment | LogicExperiment:
    """The experiment FAMILY/VARIANT at a scale (None: see `resolve_scale`).

    Raises:
        ValueError: an unknown name or scale.
    """
    if name not in NAMES:
        raise ValueError(f"unknown experiment {name!r}: try {nearest(name, NAMES)}")
    family, variant = name.split("/")
    scale, override = resolve_scale(scale), dict(VARIANTS[family][variant])
    defaults = {"every_name": False, "known_names": False, "randomized": False}
    defaults |= {"times": 1, "smallest": False, "of_model": {}}
    every_name, known_names, randomized, times, smallest, of_model = (
        override.pop(key, default) for key, default in defaults.items()
    )
    settings = {"name": name, "scale": scale, "seed": seed}
    if family in _COPYING_SIZES:
        kind, settings = CopyingExperiment, settings | _COPYING_SIZES[family][scale] | override
    else:
        task, source, limit = _LOGIC_FAMILIES[family]
        order = "appearance" if task == "propositional" else "name"
        settings |= {"task": task, "set": source, "limit": limit, "label_order": order}
        kind, settings = LogicExperiment, settings | _LOGIC_SIZES[task][scale] | override
    made = kind(**settings | {"model": replace(settings.get("model", ModelConfig()), **of_model)})
    training = made.training
    if times != 1:
        training = replace(training, steps=max(_SMOKE.steps, round(times * training.steps)))
    if randomized:
        positions = max(made.data.maximum, made.grid.maximum) * 4 // 3
        training = replace(training, positions=positions)
    embedding = made.embedding
    if smallest:
        names = len(made.test_vocabulary.interchangeable[0])
        embedding = replace(embedding, d_beta=(names - 1).bit_length())
    made = replace(made, training=training, embedding=embedding)
    if every_name and kind is CopyingExperiment:
        made = replace(made, data=replace(made.data, characters=made.test_characters))
    elif every_name:
        made = replace(made, set=f"{made.set}-10ap", propositions=made.test_propositions)
    if known_names:
        made = replace(made, test_propositions=made.propositions)
    return made
