"""The table of names: what an experiment FAMILY/VARIANT is, at each of the three sizes.

FAMILIES has the settings of a family at each size, VARIANTS what a variant changes in them; what
neither mentions is as the defaults of `itekit.experiments` say. A setting is called by its path,
as on the command line: "training.steps". In place of a value there may be a function, which gets
all other settings. `settings_of` puts family, variant and changes together.

"Ours" is what the paper does not have. An experiment stays here if a sentence of a lesson needs it.
"""

from itekit.files import nearest


def inside(part: str, **settings) -> dict:
    """The settings of one part: inside("model", layers=4) is {"model.layers": 4}."""
    return {f"{part}.{name}": value for name, value in settings.items()}


def fewer(times: float):
    """The family's steps divided by `times`; never fewer than a smoke run has."""
    return lambda made: max(SMOKE["training.steps"], round(made["training.steps"] / times))


def same_as(name: str):
    """What another setting is."""
    return lambda made: made[name]


def bits(count: int) -> int:
    """The least number of dimensions whose hypercube has `count` corners."""
    return (count - 1).bit_length()


# How an embedding is made (paper, sections "Embedding matrix" and "Experiments").

LEARNED = {"embedding.kind": "learned"}
ALPHA_RENAMING = {"embedding.kind": "alpha_renaming"}
WITHOUT_F_BN = {"embedding.f_bn": False}
STREAMS = {"embedding.kind": "invariant", "model.aggregation": "encoder"}  # ours: Işık and Li 2026

# Sizes: smoke runs for seconds, lab for minutes on two cores, paper is the paper's own.

SMOKE = inside("training", steps=20, batch_size=16, warmup=5, log_every=5)
SMOKE |= inside("training", validate_every=10, checkpoint_every=10)

# Copying (paper, appendix "Copying Task Experiments")

LAB = inside("training", steps=1500, batch_size=128, warmup=150, validate_every=500)
LAB |= inside("grid", samples=10) | {"draws": 3}
TINY = SMOKE | inside("grid", maximum=10, samples=2, stride=3) | {"draws": 3}
COPYING = {
    "paper": {},
    "lab": LAB | inside("training", steps=3000, batch_size=256, warmup=200),
    "smoke": TINY,
}
TO_30 = inside("data", minimum=3, maximum=30)
LARGE = {"embedding.d_beta": 16, "averaged": False}  # more characters need a larger sampling set
FAMILIES = {
    # "Generalization to larger vocabularies and lengths"
    "copying-5-10": COPYING,
    # "Scaling up"
    "copying-3-30": {"paper": TO_30, "lab": LAB | TO_30, "smoke": TINY | TO_30},
    "copying-large": {
        "paper": LARGE
        | {"test_characters": 160}
        | inside("data", minimum=20, maximum=80, characters=20)
        | inside("grid", maximum=160, samples=20)
        | inside("model", d_model=128, layers=6, heads=8, d_ff=128),
        "lab": LAB
        | LARGE
        | {"test_characters": 80}
        | inside("data", minimum=10, maximum=40, characters=10)
        | inside("grid", minimum=4, maximum=80, samples=5, stride=4)
        | inside("model", d_ff=128),
        "smoke": TINY
        | LARGE
        | {"test_characters": 16}
        | inside("data", minimum=6, maximum=12, characters=6)
        | inside("grid", minimum=4, maximum=16, samples=2, stride=4),
    },
}


def beyond_training(made: dict) -> int:
    """Ours (Ruoss et al. 2023): train at random positions, a third more than the longest string."""
    return max(made["data.maximum"], made["grid.maximum"]) * 4 // 3


RANDOM_POSITIONS = {"training.positions": beyond_training}
FULL_VOCABULARY = LEARNED | {"data.characters": same_as("test_characters")}
METHODS = {
    "proposed": {},
    "plain": LEARNED,
    "full-vocabulary": FULL_VOCABULARY,
    "alpha-renaming": ALPHA_RENAMING,
}
VARIANTS = {
    "copying-5-10": METHODS
    | {
        "without-f_bn": WITHOUT_F_BN,
        "neighboring-points-16": inside("embedding", method="neighboring_points", d_beta=16),
        "randomized-positions": RANDOM_POSITIONS,
    }
    | {f"randomized-positions-{m}": METHODS[m] | RANDOM_POSITIONS for m in list(METHODS)[1:]},
    "copying-3-30": {"proposed": {}, "plain": LEARNED},
    "copying-large": {"proposed": {}, "plain": LEARNED},
}

# Ours: characters drawn from N at evaluation, all methods at random positions.

NAMES_AXIS = (30, 100, 300, 1000, 3000)
FAMILIES |= {
    f"copying-names-{count}": {
        scale: size
        | {"test_characters": count}
        | inside("grid", minimum=5, maximum=10, samples=500, stride=5, names=count)
        for scale, size in COPYING.items()
    }
    for count in NAMES_AXIS
}
VARIANTS |= {
    f"copying-names-{count}": {
        "proposed": {"embedding.d_beta": bits(count)} | RANDOM_POSITIONS,
        "alpha-renaming": ALPHA_RENAMING | RANDOM_POSITIONS,
        "full-vocabulary": FULL_VOCABULARY | RANDOM_POSITIONS,
    }
    for count in NAMES_AXIS
}
VARIANTS["copying-names-300"]["larger-set"] = {"embedding.d_beta": 16} | RANDOM_POSITIONS
VARIANTS["copying-names-3000"]["symbol-invariant"] = STREAMS | RANDOM_POSITIONS

# Logic (paper, sections "LTL Solving", "Dataset Perturbations" and "Propositional Logic", appendix
# "LTL Experiment with Limited Dataset")

SMALL = {"propositions": 3, "test_propositions": 6, "samples": 2000, "renamed": 40}
SMALL |= inside("model", layers=4, d_ff=256, dropout=0.05)
FEW = {"propositions": 3, "test_propositions": 5, "samples": 8, "renamed": 2, "variants": 6}
FEW |= SMOKE | {"draws": 2}
LTL = {
    "paper": inside("training", steps=52_000, batch_size=768)
    | inside("model", d_model=128, layers=8, heads=8, d_ff=1024),
    "lab": SMALL
    | inside("training", steps=9000, batch_size=256, warmup=300)
    | inside("training", validate_every=500, checkpoint_every=100),
    "smoke": FEW,
}
PROP = {
    "paper": inside("training", steps=50_000, batch_size=1024)
    | inside("model", d_model=132, layers=6, heads=6, d_ff=512),
    "lab": SMALL | inside("training", steps=36_000, batch_size=64, warmup=500, log_every=100),
    "smoke": FEW,
}


def ltl(problems: str) -> dict[str, dict]:
    """LTL on a set of problems, at each size."""
    task = {"task": "ltl", "set": problems, "limit": 128, "label_order": "name"}
    return {scale: size | task | {"model.tree_positions": True} for scale, size in LTL.items()}


def propositional(problems: str) -> dict[str, dict]:
    """Propositional logic on a set of problems, at each size."""
    task = {"task": "propositional", "set": problems, "limit": 22, "label_order": "appearance"}
    return {scale: size | task | {"model.tree_positions": True} for scale, size in PROP.items()}


def limited(sizes: dict[str, dict]) -> dict[str, dict]:
    """The same with a tenth of the steps; its set has a tenth of the problems."""
    return {scale: size | {"training.steps": fewer(10)(size)} for scale, size in sizes.items()}


FAMILIES |= {
    "ltl": ltl("ltl35"),
    "ltl-perturbed": ltl("ltl-perturbed"),
    "ltl-limited": limited(ltl("ltl-limited")),
    "prop": propositional("prop35"),
    "prop-perturbed": propositional("prop-perturbed"),
    "prop-limited": limited(propositional("prop-limited")),
}


def smallest_set(made: dict) -> int:
    """Ours: the fewest dimensions whose hypercube has a corner for each name of the evaluation."""
    return bits(made["test_propositions"])


DUAL_PART = {"embedding.d_beta": 5}
SMALLEST_SET = {"embedding.d_beta": smallest_set, "per_sample": True}
WITHOUT_ADACOS = DUAL_PART | {"loss": "cross_entropy"}
WITHOUT_F_FN = {"embedding.f_fn": False, "model.normalize_features": False}
KNOWN_NAMES = {"test_propositions": same_as("propositions")}  # a row for each name of training


def logic(task: str, aggregation: str) -> dict[str, dict]:
    """The variants of one logic; `aggregation` is where the streams of symbols meet."""
    # A step of the streams takes three times as long, so they get a third of the steps.
    streams = STREAMS | {"model.aggregation": aggregation}
    every_name = {"set": f"{task}35-10ap", "propositions": same_as("test_propositions")}
    return {
        "proposed": DUAL_PART,
        "plain": LEARNED,
        "full-vocabulary": LEARNED | every_name,
        "alpha-renaming": ALPHA_RENAMING,
        "without-f_bn": DUAL_PART | WITHOUT_F_BN,
        "without-adacos": WITHOUT_ADACOS,
        "without-adacos-f_fn": WITHOUT_ADACOS | WITHOUT_F_FN,
        # ours:
        "smallest-set": SMALLEST_SET,
        "canonical-proposed": DUAL_PART | {"canonical": True},  # renamed by first appearance
        "symbol-invariant": streams | {"training.steps": fewer(3)},
        # the same, begun with the weights of plain, which were trained for all steps
        "converted": streams | {"training.steps": fewer(9), "start": f"{task}/plain"},
    }


def ready_for(count: int) -> dict[str, dict]:
    """Ours: LTL with `count` propositions in the vocabulary of the evaluation."""
    names = {"test_propositions": count}
    return {
        f"names-{count}": SMALLEST_SET | names,
        f"names-{count}-alpha-renaming": ALPHA_RENAMING | names,
    }


OTHER_DATA = {
    "proposed": DUAL_PART,
    "plain": LEARNED,
    "alpha-renaming": ALPHA_RENAMING | KNOWN_NAMES,
}
VARIANTS |= {
    "ltl": logic("ltl", "encoder") | ready_for(20) | ready_for(60) | ready_for(200),
    "ltl-perturbed": OTHER_DATA,
    "ltl-limited": OTHER_DATA
    | {
        "alpha-renaming-10": ALPHA_RENAMING,  # ours: a row for each name of the evaluation
        "smallest-set": SMALLEST_SET,
        "converted": logic("ltl", "encoder")["converted"] | {"start": "ltl-limited/plain"},
    },
    "prop": logic("prop", "both")
    | {"by-name": DUAL_PART | {"label_order": "name"}},  # ours: labels sorted by name
    "prop-perturbed": OTHER_DATA,
    "prop-limited": OTHER_DATA,
}
NAMES = tuple(f"{family}/{variant}" for family, some in VARIANTS.items() for variant in some)
LOGIC_NAMES = tuple(name for name in NAMES if not name.startswith("copying-"))


def settings_of(name: str, defaults: dict, changes: dict) -> dict:
    """The settings of FAMILY/VARIANT, from the `defaults` of its task and size, and with changes.

    ValueError: an unknown name or setting; the nearest ones are listed.
    """
    family, _, variant = _nearest(name, NAMES, "experiment").partition("/")
    settings = flat(defaults) | FAMILIES[family][defaults["scale"]]
    changes = {_path(key, settings): value for key, value in changes.items()}
    table = VARIANTS[family][variant].items()
    settings |= {key: value for key, value in table if not callable(value)} | changes
    computed = {key: value(settings) for key, value in table if callable(value)}
    nested = {}
    for path, value in (settings | computed | changes).items():
        part, _, last = path.rpartition(".")
        (nested.setdefault(part, {}) if part else nested)[last] = value
    return nested


def flat(settings: dict, prefix: str = "") -> dict:
    """Settings by their paths, such as "training.steps"."""
    paths = {}
    for key, v in settings.items():
        paths |= flat(v, f"{prefix}{key}.") if isinstance(v, dict) else {prefix + key: v}
    return paths


def _path(key: str, settings: dict) -> str:
    """The path of a setting that is called by its path, or by its last word alone."""
    paths = [path for path in settings if path.endswith(f".{key}")]
    if key in settings or not paths:
        return _nearest(key, [*settings, *(path.split(".")[-1] for path in settings)], "setting")
    if len(paths) > 1:
        raise ValueError(f"setting {key!r} may be {' or '.join(paths)}: give the whole path")
    return paths[0]


def _nearest(word: str, known, what: str) -> str:
    """The word itself if it is known; else ValueError names the nearest."""
    if word in known:
        return word
    raise ValueError(f"unknown {what} {word!r}: try {nearest(word, known)}")
