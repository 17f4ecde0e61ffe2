"""The table of names: what an experiment FAMILY/VARIANT is, at each of the three sizes.

`experiment("ltl/proposed", "lab", seed=0)`: here the paper's embedding on its LTL problems; a scale
is smoke (seconds), lab (two CPU cores) or paper (the paper's sizes). Further settings change what
the name says: `experiment("ltl/proposed", "lab", d_beta=8)`, as `ltl/proposed d_beta=8` on the
command line. A setting is called by its path, "training.steps", or by its last word where no other
ends in it.

FAMILIES has the settings of each size by path; what they leave out is as the defaults of the
dataclasses say. VARIANTS has functions that change a family's experiment. "Ours" is what the paper
does not have. An experiment stays here if a sentence of a lesson needs it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256

import itekit.invariant  # noqa: F401 (its class enters EMBEDDINGS)
from itekit.experiments import Experiment, from_json
from itekit.files import nearest, resolve_scale
from itekit.tasks.copying import Copying
from itekit.tasks.ltl import Ltl
from itekit.tasks.propositional import Propositional
from itekit.tasks.task import TASKS, Task

TASKS |= {task.kind: task for task in (Copying, Ltl, Propositional)}
LONGEST_NAME = 120  # of a file, before its changes are replaced by a checksum


def change(base: Experiment, part: str, **settings) -> Experiment:
    """The experiment with other settings of one part, such as "model"."""
    return replace(base, **{part: replace(getattr(base, part), **settings)})


def inside(part: str, **settings) -> dict[str, object]:
    """The settings of one part by path: inside("model", layers=4) is {"model.layers": 4}."""
    return {f"{part}.{name}": value for name, value in settings.items()}


# How an embedding is made (paper, sections "Embedding matrix" and "Experiments")


def dual_part(d_beta: int | None) -> Callable[[Experiment], Experiment]:
    """The proposed embedding; None: with a random part as small as the names of the test allow."""
    return lambda base: change(base, "embedding", d_beta=d_beta)


def plain(base: Experiment) -> Experiment:
    """Ordinary embeddings."""
    return change(base, "embedding", kind="learned")


def alpha_renaming(base: Experiment) -> Experiment:
    """A learned row for each name of the test, dealt anew at each step."""
    return change(base, "embedding", kind="alpha_renaming")


def streams(base: Experiment) -> Experiment:
    """Ours (Işık and Li 2026): a stream for each symbol."""
    return change(base, "embedding", kind="invariant")


def symbol_invariant(base: Experiment) -> Experiment:
    """The same with a third of the steps, which take three times as long."""
    return fewer_steps(streams(base), 3)


def fewer_steps(base: Experiment, times: float) -> Experiment:
    """The steps divided by `times`; never fewer than a smoke run has."""
    steps = max(SMOKE["training.steps"], round(base.training.steps / times))
    return change(base, "training", steps=steps)


# Sizes: smoke runs for seconds, lab for minutes on two cores, paper is the paper's own.

SMOKE = inside("training", steps=20, batch_size=16, warmup=5, log_every=5)
SMOKE |= inside("training", validate_every=10, checkpoint_every=10)

# Copying (paper, appendix "Copying Task Experiments")

LAB = inside("training", steps=1500, batch_size=128, warmup=150, validate_every=500)
LAB |= {"task.draws": 3, "task.grid.samples": 10}
TINY = SMOKE | {"task.draws": 3} | inside("task.grid", maximum=10, samples=2, stride=3)
COPYING = {
    "paper": {},
    "lab": LAB | inside("training", steps=3000, batch_size=256, warmup=200),
    "smoke": TINY,
}
TO_30 = inside("task.data", minimum=3, maximum=30)
LARGE = {  # more characters need a larger sampling set
    "paper": {"task.test_characters": 160}
    | inside("task.data", minimum=20, maximum=80, characters=20)
    | inside("task.grid", maximum=160, samples=20)
    | inside("model", d_model=128, layers=6, heads=8, d_ff=128),
    "lab": LAB
    | {"task.test_characters": 80}
    | inside("task.data", minimum=10, maximum=40, characters=10)
    | inside("task.grid", minimum=4, maximum=80, samples=5, stride=4)
    | inside("model", d_ff=128),
    "smoke": TINY
    | {"task.test_characters": 16}
    | inside("task.data", minimum=6, maximum=12, characters=6)
    | inside("task.grid", minimum=4, maximum=16, samples=2, stride=4),
}
NAMES_AXIS = (30, 100, 300, 1000, 3000)
FAMILIES = {
    # "Generalization to larger vocabularies and lengths"
    "copying-5-10": COPYING,
    # "Scaling up"
    "copying-3-30": {"paper": TO_30, "lab": LAB | TO_30, "smoke": TINY | TO_30},
    "copying-large": {size: LARGE[size] | {"task.averaged": False} for size in LARGE},
}
FAMILIES |= {  # ours: characters drawn from N at evaluation
    f"copying-names-{count}": {
        size: settings
        | {"task.test_characters": count}
        | inside("task.grid", minimum=5, maximum=10, samples=500, stride=5, names=count)
        for size, settings in COPYING.items()
    }
    for count in NAMES_AXIS
}


def full_vocabulary(base: Experiment) -> Experiment:
    """Ordinary embeddings, trained with all characters of the test."""
    data = replace(base.task.data, characters=base.task.test_characters)
    return plain(change(base, "task", data=data))


def at_random_positions(variant: Callable) -> Callable[[Experiment], Experiment]:
    """Ours (Ruoss et al. 2023): train at random positions, a third more than the longest string."""

    def changed(base: Experiment) -> Experiment:
        longest = max(base.task.data.maximum, base.task.grid.maximum)
        return variant(change(base, "training", positions=longest * 4 // 3))

    return changed


def neighboring_points(base: Experiment) -> Experiment:
    """Another sampling set."""
    return change(base, "embedding", method="neighboring_points", d_beta=16)


def without_f_bn(d_beta: int) -> Callable[[Experiment], Experiment]:
    """The proposed embedding without block normalisation."""
    return lambda base: change(base, "embedding", d_beta=d_beta, f_bn=False)


METHODS = {
    "proposed": dual_part(6),
    "plain": plain,
    "full-vocabulary": full_vocabulary,
    "alpha-renaming": alpha_renaming,
}
RANDOM_POSITIONS = {name: at_random_positions(method) for name, method in METHODS.items()}
VARIANTS = {
    "copying-5-10": METHODS
    | {
        "without-f_bn": without_f_bn(6),
        "neighboring-points-16": neighboring_points,
        "randomized-positions": RANDOM_POSITIONS["proposed"],
    }
    | {f"randomized-positions-{name}": RANDOM_POSITIONS[name] for name in list(METHODS)[1:]},
    "copying-3-30": {"proposed": dual_part(6), "plain": plain},
    "copying-large": {"proposed": dual_part(16), "plain": plain},
}
VARIANTS |= {
    f"copying-names-{count}": {
        "proposed": at_random_positions(dual_part(None)),
        "alpha-renaming": RANDOM_POSITIONS["alpha-renaming"],
        "full-vocabulary": RANDOM_POSITIONS["full-vocabulary"],
    }
    for count in NAMES_AXIS
}
VARIANTS["copying-names-300"]["larger-set"] = at_random_positions(dual_part(16))
VARIANTS["copying-names-3000"]["symbol-invariant"] = at_random_positions(streams)

# Logic (paper, sections "LTL Solving", "Dataset Perturbations" and "Propositional Logic", appendix
# "LTL Experiment with Limited Dataset")

SMALL = inside("task", propositions=3, test_propositions=6, samples=2000, renamed=40)
SMALL |= inside("model", layers=4, d_ff=256, dropout=0.05)
FEW = SMOKE | inside("task", propositions=3, test_propositions=5, samples=8, renamed=2, variants=6)
FEW |= {"task.draws": 2}
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


def logic(sizes: Mapping[str, dict], task: type[Task], problems: str, times: int = 1) -> dict:
    """A logic on a set of problems, at each size; a set of fewer problems has fewer steps."""
    family = {}
    for size, settings in sizes.items():
        settings = settings | {"task.kind": task.kind, "task.set": problems}
        steps = settings["training.steps"]
        steps = max(SMOKE["training.steps"], steps // times)
        family[size] = settings | {"model.tree_positions": True, "training.steps": steps}
    return family


FAMILIES |= {
    "ltl": logic(LTL, Ltl, "ltl35"),
    "ltl-perturbed": logic(LTL, Ltl, "ltl-perturbed"),
    "ltl-limited": logic(LTL, Ltl, "ltl-limited", 10),
    "prop": logic(PROP, Propositional, "prop35"),
    "prop-perturbed": logic(PROP, Propositional, "prop-perturbed"),
    "prop-limited": logic(PROP, Propositional, "prop-limited", 10),
}


def all_names(base: Experiment) -> Experiment:
    """Ordinary embeddings, trained on formulas with all names of the test."""
    names = base.task.test_propositions
    task = {"set": f"{base.task.prefix}35-10ap", "propositions": names}
    return plain(change(base, "task", **task))


def known_names(base: Experiment) -> Experiment:
    """Alpha-renaming with a row for each name of training alone."""
    return alpha_renaming(change(base, "task", test_propositions=base.task.propositions))


def without_adacos(base: Experiment) -> Experiment:
    """Cross-entropy of cosines that nothing scales."""
    return replace(change(base, "embedding", d_beta=5), loss="cross_entropy")


def without_adacos_f_fn(base: Experiment) -> Experiment:
    """Cross-entropy, and neither rows nor features normalised."""
    return change(without_adacos(base), "embedding", f_fn=False)


def smallest_set(base: Experiment) -> Experiment:
    """Ours: the smallest sampling set, and a random part for each problem."""
    return change(base, "embedding", per_sample=True)


def canonical(base: Experiment) -> Experiment:
    """Ours: every problem renamed by first appearance."""
    return change(change(base, "embedding", d_beta=5), "task", canonical=True)


def converted(family: str) -> Callable[[Experiment], Experiment]:
    """Ours: symbol-invariant, begun with the weights of plain; a ninth of its steps."""
    return lambda base: replace(fewer_steps(streams(base), 9), start=f"{family}/plain")


def streams_in_both(variant: Callable) -> Callable[[Experiment], Experiment]:
    """Streams that look at one another in the decoder too."""
    return lambda base: change(variant(base), "model", aggregation="both")


def labels_by_name(base: Experiment) -> Experiment:
    """Ours: the literals of labels sorted by name."""
    return change(change(base, "embedding", d_beta=5), "task", label_order="name")


def with_names(variant: Callable, count: int) -> Callable[[Experiment], Experiment]:
    """Ours: so many propositions in the vocabulary of the test."""
    return lambda base: variant(change(base, "task", test_propositions=count))


def for_each_problem(base: Experiment) -> Experiment:
    """Ours: alpha-renaming whose rows are dealt for each problem, instead of each step."""
    return change(alpha_renaming(base), "embedding", per_sample=True)


LOGIC = {
    "proposed": dual_part(5),
    "plain": plain,
    "full-vocabulary": all_names,
    "alpha-renaming": alpha_renaming,
    "without-f_bn": without_f_bn(5),
    "without-adacos": without_adacos,
    "without-adacos-f_fn": without_adacos_f_fn,
}
OTHER_DATA = {"proposed": dual_part(5), "plain": plain, "alpha-renaming": known_names}
VARIANTS |= {
    "ltl": LOGIC
    | {
        "smallest-set": smallest_set,
        "canonical-proposed": canonical,
        "symbol-invariant": symbol_invariant,
        "converted": converted("ltl"),
    }
    | {f"names-{n}": with_names(smallest_set, n) for n in (20, 60, 200)}
    | {f"names-{n}-alpha-renaming": with_names(alpha_renaming, n) for n in (20, 60, 200)}
    | {"names-200-alpha-renaming-per-problem": with_names(for_each_problem, 200)},
    "ltl-perturbed": OTHER_DATA,
    "ltl-limited": OTHER_DATA
    | {
        "alpha-renaming-10": alpha_renaming,  # ours: a row for each name of the test
        "converted": converted("ltl-limited"),
    },
    "prop": LOGIC
    | {
        "symbol-invariant": streams_in_both(symbol_invariant),
        "converted": streams_in_both(converted("prop")),
        "by-name": labels_by_name,
    },
    "prop-perturbed": OTHER_DATA,
    "prop-limited": OTHER_DATA,
}
NAMES = tuple(f"{family}/{name}" for family, variants in VARIANTS.items() for name in variants)


def experiment(name: str, scale: str | None = None, seed: int = 0, **changes) -> Experiment:
    """The experiment FAMILY/VARIANT at a scale (None: ITEKIT_SCALE, else lab), with other settings.

    ValueError: one that is unknown (the nearest names are listed) or out of range.
    """
    family, _, variant = _nearest(name, NAMES, "experiment").partition("/")
    settings = dict(FAMILIES[family][scale := resolve_scale(scale)])
    task = TASKS[settings.pop("task.kind", Copying.kind)](scale)
    base = with_settings(Experiment(name, task, seed=seed), settings)
    known = base.settings()
    changes = {_path(key, known): value for key, value in changes.items()}
    early = {k: v for k, v in changes.items() if k.startswith(("task.", "training."))}
    return with_settings(VARIANTS[family][variant](with_settings(base, early)), changes)


def with_settings(base: Experiment, settings: Mapping[str, object]) -> Experiment:
    """The experiment with other settings, by path; ValueError for a wrong one."""
    tree = base.to_json()
    for path, value in settings.items():
        *parts, last = path.split(".")
        part = tree
        for name in parts:
            part = part[name]
        part[last] = value
    return from_json(tree, type(base.task))


def changes(experiment: Experiment) -> dict[str, str]:
    """The settings that are not as the name says, by path, as one writes them: "model.layers=3".

    For a task of your own: not as the defaults of its classes say.
    """
    name, scale, seed = experiment.name, experiment.scale, experiment.seed
    if name in NAMES:
        usual = globals()["experiment"](name, scale, seed)
    else:
        usual = Experiment(name, type(experiment.task)(scale), seed=seed)
    return {
        path: f"{path.removeprefix('task.')}={_written(value)}"
        for path, value in experiment.differences(usual).items()
    }


def result_name(experiment: Experiment) -> str:
    """The file name of a result: family-variant-scale-seed, then `changes`."""
    return _file_name(experiment, changes(experiment).values())


def run_name(experiment: Experiment) -> str:
    """The file name of the training: the same without the settings of the evaluation."""
    written = changes(experiment)
    return _file_name(experiment, [written[k] for k in written if experiment.of_training(k)])


def _file_name(experiment: Experiment, written) -> str:
    start = f"{experiment.name}-{experiment.scale}-s{experiment.seed}"
    name = "-".join([start, *written]).replace("/", "-")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{start.replace('/', '-')}-{sha256(name.encode()).hexdigest()[:12]}"


def _written(value) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _path(key: str, settings: Mapping[str, object]) -> str:
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
