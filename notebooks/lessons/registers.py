"""What do three registers hold after some `mov` and `swp`? A task of one's own in one file.

It needs the kit alone: copy it to a folder of your own and change its first part. `mov ax bx`
copies into ax what bx holds, `swp ax bx` lets both change places, `?` asks about three. Values are
called by the registers that held them first: mov ax bx swp bx cx ? ax bx cx -> bx cx bx. So names
are interchangeable. `python registers.py smoke` takes seconds, `python registers.py lab 0` (a seed)
minutes; with OMP_NUM_THREADS=1, which is best for small networks.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from itekit.alpha import used_tokens
from itekit.decoding import Solver
from itekit.evaluation import covariance
from itekit.experiments import Experiment, TrainingConfig
from itekit.files import write_json
from itekit.model import ModelConfig
from itekit.redraw import redraw
from itekit.results import evaluate
from itekit.tasks.own import OwnTask, audit, five_ways
from itekit.training import Trainer


@dataclass(frozen=True)
class Registers(OwnTask):
    """Programs of 2 to `lines` lines."""

    limit: int = 4
    lines: int = 4
    fixed = ("mov", "swp", "?")
    names = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")

    def draw(self, rng, names):
        """A program that names all of these registers and changes what it asks about."""
        problem = ()
        for word in rng.choices(("mov", "swp"), k=rng.randint(2, self.lines)):
            problem += (word, *rng.sample(names, 2))
        problem += ("?", *rng.sample(names, 3))
        complete = len(used_tokens(problem, names)) == len(names)
        return problem if complete and self.label(problem) != problem[-3:] else None

    def label(self, problem):
        """What the three registers hold in the end."""
        values = dict(zip(self.names, self.names, strict=True))
        for start in range(0, len(problem) - 4, 3):
            word, x, y = problem[start : start + 3]
            values |= {x: values[y]} if word == "mov" else {x: values[y], y: values[x]}
        return tuple(values[x] for x in problem[-3:])


MODEL = ModelConfig(d_model=64, layers=3, heads=4, d_ff=128, dropout=0.0)
SIZES = {  # problems of training and of each test
    "smoke": (300, 10, TrainingConfig(20, 16, warmup=5)),
    "lab": (20_000, 200, TrainingConfig(2500, 64, warmup=250)),
}


def main(scale="smoke", seed="0", *ways):
    """Train in each way and judge: right answers by number of names, redraws, alpha-covariance."""
    problems, tested, training = SIZES[scale]
    task = Registers(scale, problems=problems, tested=tested)
    base = Experiment("registers", task, model=MODEL, training=training, seed=int(seed))
    networks, rows = {}, {}
    for way, experiment in five_ways(base, streams="both").items():
        if ways and way not in ways:
            continue
        assert all(audit(experiment).values())
        start = networks.get(experiment.start) or first_lines(experiment)
        folder = f"runs/registers-{way}-{scale}-s{seed}"
        network = Trainer(experiment, folder, start=start).run(progress=False)
        networks[experiment.name] = network
        result, pairs = evaluate(network, progress=False)["result"], task.pairs()
        solver = Solver(network)
        readable = [pair for pair in pairs if solver.can_read(pair[0])][::20]
        names = solver.vocabulary.interchangeable[0]
        right = {n: row["correct"] for n, row in result["test"]["by_propositions"].items()}
        rows[way] = {
            "right": right | {"new": result["new"]["correct"]},
            "redraw": redraw(network, pairs, 3, progress=False)["solved"]["all"],
            "covariance": covariance(solver, readable, names, 20)["mean"],
            "trained": network.trained,
        }
        print(f"{way:17}", *(f"{n}: {rate:.0%} " for n, rate in rows[way]["right"].items()))
    write_json(Path(f"registers-{scale}-s{seed}.json"), rows)


def first_lines(experiment):
    """The network after a training on shorter programs: without it, long ones hinder it."""
    task = replace(experiment.task, lines=3)
    short = replace(experiment, name=f"{experiment.name}-short", task=task)
    folder = f"runs/{short.name.replace('/', '-')}-{short.scale}-s{short.seed}"
    return Trainer(short, folder).run(progress=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
