"""The whole paper as a list: what is generated, trained, evaluated and measured, in what order.

`python -m itekit paper` does what is not done yet, and goes on where it was stopped.
The copying search, times and language models are left out: notebooks 06, 13, 14 and appendix 07.
"""

import math
import signal
import subprocess
import sys
from typing import NamedTuple

from itekit.files import RUNS, write_text

ABLATED = "proposed without-f_bn without-adacos without-adacos-f_fn"
OTHER_DATA = "plain alpha-renaming proposed"
PAPER = {  # family: variants, by the paper's sections
    "copying-5-10": "proposed plain full-vocabulary alpha-renaming",  # larger and longer
    "copying-3-30": "proposed",  # "Generalization to larger vocabularies"
    "copying-large": "proposed plain",  # "Scaling up"
    "ltl": f"plain full-vocabulary alpha-renaming {ABLATED}",  # "Generalization", "Ablation"
    "ltl-perturbed": OTHER_DATA,  # "Dataset Perturbations"
    "ltl-limited": OTHER_DATA,  # "LTL Experiment with Limited Dataset"
    "prop": f"plain full-vocabulary alpha-renaming {ABLATED}",
    "prop-perturbed": OTHER_DATA,
}
ALL = tuple(f"{family}/{one}" for family in PAPER for one in PAPER[family].split())

# Estimates: what a step of ltl/proposed takes at paper size, the least that a step takes, problems
# that such a network answers in a second, labels that a core makes in a second, bytes of a problem.
STEP, LEAST, ANSWERS, LABELS, BYTES = 11.5e-3, 4e-3, 2000, 150, 40
SAID = """
Hours are an ESTIMATE for one H200, since no run has been made on a GPU. A step of ltl/proposed
computes 0.9 TFLOP and moves 20 GB: we take it to last 11.5 ms, other steps by their parameters ×
tokens, at least 4 ms, and an evaluation to answer 2,000 problems a second. Sets take hours of one
core, at 150 labels a second. Disk: 16 bytes a parameter, 40 a problem."""


class Step(NamedTuple):
    """One command: its words, whether it is done, and what it may take."""

    words: tuple[str, ...]
    done: bool
    hours: float
    megabytes: float
    about: str


def steps(names=(), scale: str | None = None, seed: int = 0, **changes) -> list[Step]:
    """The steps of some experiments, or of ALL: sets come before trainings.

    An experiment comes after the one with whose weights it begins. ValueError: an unknown name, or
    a wrong setting in `changes`.
    """
    from itekit.experiments import experiment

    names, wanted = tuple(names) or ALL, {}
    for name in names:
        made = experiment(name, scale, seed, **changes)
        if made.start:
            wanted.setdefault(made.start, experiment(made.start, scale, seed))
        wanted[name] = made
    sets = dict.fromkeys(name for made in wanted.values() for name in _sets(made))
    found = [_set(name, scale) for name in sets]
    for made in wanted.values():
        needed = any(made.name == other.start for other in wanted.values())
        found += _experiment(made, needed, changes if made.name in names else {})
    return found


def _sets(made) -> list[str]:
    """The sets that an experiment needs; of a derived one its source, which is enough."""
    from itekit.datasets.presets import preset

    if made.task == "copying":
        return []
    recipe = preset(made.set, made.scale)
    kinds = ("35", "-generalization", "-alpha-covariance")
    return [getattr(recipe, "source", recipe).name, *map(made.set_name, kinds)]


def _set(name: str, scale: str | None) -> Step:
    from itekit.datasets import sets
    from itekit.datasets.presets import folder_name, preset

    recipe = preset(name, scale)
    folders = (sets.SHIPPED, sets.OWN)
    done = any((folder / folder_name(recipe) / sets.MANIFEST).exists() for folder in folders)
    hours, megabytes = recipe.count / LABELS / 3600, recipe.count * BYTES / 1e6
    words = ("generate", name, "--scale", recipe.scale)
    return Step(words, done, hours, megabytes, f"{recipe.count:,} problems")


def _experiment(made, needed: bool, changes: dict) -> list[Step]:
    """Training and evaluation; `needed`: the weights are, even where there is a result."""
    from itekit import results
    from itekit.experiments import experiment
    from itekit.training import FINISHED

    words = made.name, *(f"{key}={value}" for key, value in changes.items())
    words += "--scale", made.scale, "--seed", str(made.seed)
    weights = (results.RUNS / made.run / FINISHED, results.checkpoint_path(made))
    evaluated = (results.RESULTS / f"{made.slug}.json").exists()
    trained = any(path.exists() for path in weights) or (evaluated and not needed)
    usual, own = (parameters(one) for one in (experiment("ltl/proposed", "paper"), made))
    time = STEP * own * _tokens(made) / (usual * _tokens(experiment("ltl/proposed", "paper")))
    hours, count = max(LEAST, time) * made.training.steps / 3600, f"{made.training.steps:,} steps"
    (problems, renamed), size = answers(made), max(own / usual, 0.1)
    told = f"{problems:,} problems" + f" and {renamed:,} renamed ones" * bool(renamed)
    return [
        Step(("train", *words), trained, hours, 16e-6 * own, f"{count}, {own:,} parameters"),
        Step(
            ("evaluate", *words),
            evaluated,
            (2 * problems + renamed) * size / ANSWERS / 3600,
            1.0,
            told,
        ),
    ]


def parameters(made) -> int:
    """How many numbers an experiment trains; nothing is allocated."""
    import torch

    from itekit.network import Network

    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Network(made).parameters())


def _tokens(made) -> int:
    """Positions of a training step at most, of sources and targets."""
    from itekit.datasets.presets import preset

    if made.task == "copying":
        return made.training.batch_size * 2 * made.data.maximum
    recipe = preset(made.set, made.scale)
    longest = max(stratum.high for stratum in getattr(recipe, "source", recipe).strata)
    return made.training.batch_size * (longest + min(longest, made.limit))


def answers(made) -> tuple[int, int]:
    """How many problems an evaluation answers as they are, and renamed for alpha-covariance."""
    from itekit.datasets.presets import preset

    if made.task == "copying":
        axis, draws = made.grid.axis, made.draws if made.averaged else 1
        cells = sum(unique <= length for unique in axis for length in axis)
        return cells * made.grid.samples * draws, 0
    test, grid, other = (
        preset(made.set_name(kind), made.scale)
        for kind in ("35", "-generalization", "-alpha-covariance")
    )
    problems = min(made.samples, test.split_sizes(test.count)["test"]) + grid.count
    names, more = made.propositions, len(made.readable_vocabulary.interchangeable[0])
    asked = [(count, made.renamed, names) for count in range(2, names + 1)]
    if more > names:
        asked += [(s.propositions, min(s.count, made.renamed), more) for s in other.strata]
    return problems, sum(n * min(made.variants, math.perm(of, count)) for count, n, of in asked)


def paper_rows(names, scale: str | None = None, seed: int = 0) -> str:
    """A Markdown table: each figure that the paper has of some experiments, ours beside it."""
    from itekit.files import resolve_scale
    from itekit.results import markdown_table, our_rate, our_value, paper_figures, shipped

    rows = []
    for name in names:
        result = shipped(name, resolve_scale(scale), seed)
        for key, figure in paper_figures().items() if result else ():
            column = key.removeprefix(f"{name}/")
            if key == name:
                ours = f"{our_value(result):.2f}"
            elif column == "training-minutes" and column != key:
                ours = f"{result['trained'].get('seconds', 0) / 60:.0f}"
            elif column == key or (rate := our_rate(result, column)) is None:
                continue
            else:
                ours = f"{100 * rate:.2f}"
            rows.append([name, column if column != key else figure["unit"], ours, figure["value"]])
    return markdown_table(
        ("experiment", "figure", "ours", "the paper's"), [map(str, r) for r in rows]
    )


def call(words) -> None:
    """Run a command in a process of its own; RuntimeError if it failed."""
    with subprocess.Popen([sys.executable, "-m", "itekit", *words]) as process:
        before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            code = process.wait()
        finally:
            signal.signal(signal.SIGTERM, before)
    if code:
        command = f"python -m itekit {' '.join(words)}"
        raise RuntimeError(f"stopped at {command} (exit code {code}); once mended, go on likewise")


def paper_command(arguments) -> int:
    """`python -m itekit paper`: print the list, do what is not done, and fill the tables."""
    from itekit.__main__ import change

    changes = dict(change(word) for word in arguments.names if "=" in word)
    names = [word for word in arguments.names if "=" not in word]
    given = names, arguments.scale, arguments.seed
    listed = steps(*given, **changes)
    for step in listed:
        state, command = "done" if step.done else "to do", " ".join(step.words)
        print(f"{state:<6}{step.hours:8.2f} h{step.megabytes:8.1f} MB  {command}  ({step.about})")
    rest = [step for step in listed if not step.done]
    missing = [step for step in rest if step.words[0] == "generate"]
    cores, every = (sum(step.hours for step in some) for some in (missing, rest))
    megabytes = sum(step.megabytes for step in rest)
    print(
        f"\n{len(rest)} of {len(listed)} steps to do: {every - cores:.1f} hours of a GPU, ", end=""
    )
    print(f"{cores:.1f} hours of a core for sets, {megabytes:.0f} MB")
    print(f"missing sets: {', '.join(step.words[1] for step in missing) or 'none'}")
    print(SAID, flush=True)
    if arguments.dry_run:
        return 0
    for step in rest:
        options = ("device", "threads") if step.words[0] != "generate" else ()
        told = {option: getattr(arguments, option) for option in options}
        more = [f"--{option}={value}" for option, value in told.items() if value]
        print(f"\n== {' '.join(step.words)}", flush=True)
        call([*step.words, *more])
    scale = listed[0].words[listed[0].words.index("--scale") + 1]
    path = RUNS / f"paper-{scale}-s{arguments.seed}.md"
    write_text(path, paper_rows(names or ALL, *given[1:]) + "\n")
    print(f"\n{path.read_text()}\ntables    {path}")
    return 0
