"""What do three registers hold after some `mov` and `swp`? A task of one's own in one file.

It needs the kit alone: copy it to a folder of your own and change its first part. `mov ax bx`
copies into ax what bx holds, `swp ax bx` lets both change places, `?` asks about three. Values are
called by the registers that held them first: mov ax bx swp bx cx ? ax bx cx -> bx cx bx. So names
are interchangeable. `python registers.py smoke` takes seconds, `python registers.py lab 0
learned_scale` (a seed, a loss) minutes; with OMP_NUM_THREADS=1, which is best for small networks.
"""

import random
import sys
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from itekit.alpha import canonical, used_tokens
from itekit.decoding import Solver
from itekit.embeddings import EmbeddingConfig
from itekit.evaluation import covariance
from itekit.experiments import Experiment, TrainingConfig
from itekit.files import write_json
from itekit.model import ModelConfig
from itekit.redraw import redraw
from itekit.results import evaluate
from itekit.tasks.own import audit, split
from itekit.tasks.verdicts import EXACT, INCORRECT
from itekit.training import Trainer
from itekit.vocabulary import Vocabulary

NAMES = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")  # training has the first five


def label(problem):
    """What the three registers hold in the end."""
    held = dict(zip(NAMES, NAMES, strict=True))
    for start in range(0, len(problem) - 4, 3):
        word, x, y = problem[start : start + 3]
        held |= {x: held[y]} if word == "mov" else {x: held[y], y: held[x]}
    return tuple(held[x] for x in problem[-3:])


def check(problem, answer, label):
    return EXACT if answer == label else INCORRECT


def programs(seed, names, counts):
    """Problems and labels, without end: 2 to 4 lines about some names, and something changes."""
    rng = random.Random(seed)
    while True:
        some = rng.sample(names, rng.choice(counts))
        words = rng.choices(("mov", "swp"), k=rng.randint(2, 4))
        lines = ((word, *rng.sample(some, 2)) for word in words)
        problem = (*chain(*lines), "?", *rng.sample(some, 3))
        if len(used_tokens(problem, names)) == len(some) and label(problem) != problem[-3:]:
            yield problem, label(problem)


def draw(seed, names, counts, problems):
    """So many problems for training and others for the test, none a renaming of another."""
    pairs = islice(programs(seed, names, counts), 100 * problems)
    return split(pairs, lambda some: canonical(some, NAMES, NAMES), problems, most=problems)


@dataclass(frozen=True)
class Registers(Experiment):
    vocabulary: Vocabulary = Vocabulary(("mov", "swp", "?"), (NAMES[:5],))
    test_vocabulary: Vocabulary = Vocabulary(("mov", "swp", "?"), (NAMES,))
    model: ModelConfig = ModelConfig(d_model=64, layers=2, heads=4, d_ff=128, dropout=0.0)
    problems: int = 20_000
    task, limit, check = "registers", 4, staticmethod(check)

    def sides(self):
        return draw(self.seed, NAMES[:5], (3, 4, 5), self.problems)


STREAMS = {"embedding": EmbeddingConfig("invariant")}
STREAMS["model"] = replace(Registers.model, aggregation="both")
WAYS = {  # the settings of each, and what its steps are divided by: those of streams take longer
    "plain": ({"embedding": EmbeddingConfig("learned")}, 1),
    "proposed": ({"embedding": EmbeddingConfig(d_beta=3), "per_sample": True}, 1),
    "alpha-renaming": ({"embedding": EmbeddingConfig("alpha_renaming")}, 1),
    "symbol-invariant": (STREAMS, 3),
    "converted": (STREAMS | {"start": "registers/plain"}, 10),
}
SIZES = {  # problems of training and of each test
    "smoke": (300, 10, TrainingConfig(40, 16, warmup=5)),
    "lab": (20_000, 200, TrainingConfig(6000, 32, 1.5e-3, warmup=300)),
}


def main(scale="smoke", seed="0", loss="learned_scale", *ways):
    """Train in each way and judge: right answers by number of names, redraws, alpha-covariance."""
    problems, tested, training = SIZES[scale]
    pairs, networks, rows = [], {}, {}
    for n in range(3, 9):
        pairs += draw(int(seed) + 1, NAMES[: 5 if n <= 5 else 8], (n,), 11 * tested)[1][:tested]
    for way in ways or WAYS:
        settings, times = WAYS[way]
        steps = replace(training, steps=training.steps // times)
        settings = settings | {"training": steps, "loss": loss, "problems": problems}
        made = Registers(f"registers/{way}", scale, seed=int(seed), **settings)
        assert all(audit(made, made.sides(), check, label).values())
        start, folder = networks.get(made.start), f"runs/{made.run}-{loss}"
        network = networks[made.name] = Trainer(made, folder, start=start).run(progress=False)
        test, solver = evaluate(network, False, pairs=pairs)["result"]["test"], Solver(network)
        known = [pair for pair in pairs if solver.can_read(pair[0])][::20]
        names = solver.vocabulary.interchangeable[0]
        rows[way] = {
            "right": {n: row["correct"] for n, row in test["by_propositions"].items()},
            "redraw": redraw(network, pairs, 3, progress=False)["solved"]["all"],
            "covariance": covariance(solver, known, names, 20)["mean"],
            "trained": network.trained,
        }
        print(f"{way:17}", *(f"{n}: {rate:.0%} " for n, rate in rows[way]["right"].items()))
    write_json(Path(f"registers-{scale}-s{seed}-{loss}.json"), rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
