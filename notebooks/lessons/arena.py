"""The arena: five ways to treat names, on four tasks, each way trained by the task's one recipe.

A recipe was found on validation problems of the first seed: shorter problems first, then layers,
then steps. A comparison of ways counts only where each has learned the task.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from itekit.experiments import Experiment, TrainingConfig
from itekit.files import RESULTS, RUNS, read_json, write_json
from itekit.model import ModelConfig
from itekit.names import run_name
from itekit.network import Network
from itekit.results import evaluate
from itekit.tasks.own import OwnTask, five_ways
from itekit.training import Trainer
from lessons.registers import Registers
from lessons.terms import Terms

LEARNED = 0.95  # right answers with the names of training, from which on a way has learned a task


@dataclass(frozen=True)
class Copies(OwnTask):
    """A string of at most 10 letters; the answer is the string."""

    limit: int = 11
    names = tuple("abcdefgh")

    def draw(self, rng, names):
        """A string of exactly these letters."""
        string = names + rng.choices(names, k=rng.randint(0, 10 - len(names)))
        rng.shuffle(string)
        return "".join(string)

    def label(self, problem):
        """The same string."""
        return problem


@dataclass(frozen=True)
class ShortestPaths(OwnTask):
    """`ab,bc,cd,?ad` -> `abcd`: edges of an undirected graph, two nodes, the path between them."""

    limit: int = 9
    edges: int = 6
    fixed = (",", "?")
    names = tuple("abcdefgh")

    def draw(self, rng, names):
        """A graph of these nodes, and two of them with one shortest path."""
        pairs = [a + b for a in names for b in names if a < b]
        least = min(4, len(pairs))
        edges = rng.sample(pairs, rng.randint(least, max(least, min(self.edges, len(pairs)))))
        edges = [edge[:: rng.choice((1, -1))] for edge in edges]
        problem = "".join(f"{edge}," for edge in edges) + "?" + "".join(rng.sample(names, 2))
        whole = set("".join(edges)) == set(names)
        return problem if whole and len(self.paths(problem)) == 1 else None

    def label(self, problem):
        """The shortest path."""
        return self.paths(problem)[0]

    def paths(self, problem):
        """All shortest paths."""
        text, _, (first, last) = problem.partition("?")
        edges = text.split(",")[:-1]
        queue, paths = deque([first]), []
        while queue:
            path = queue.popleft()
            if paths and len(path) > len(paths[0]):
                break
            if path[-1] == last:
                paths.append(path)
            around = {b for edge in edges for a, b in (edge, edge[::-1]) if a == path[-1]}
            queue.extend(path + node for node in sorted(around - set(path)))
        return paths


@dataclass(frozen=True)
class Recipe:
    """How a task is trained, whatever the way: first on easier problems, for as many steps."""

    task: OwnTask
    steps: int
    layers: int = 3
    easier: dict = field(default_factory=dict)  # settings of the task
    tree_positions: bool = False
    positions: int = 0
    streams: str = "both"


RECIPES = {
    "copying": Recipe(Copies(), 1000, layers=2, positions=16),
    "registers": Recipe(Registers(), 2500, easier={"lines": 3}),
    "terms": Recipe(Terms(), 2500, easier={"leaves": 4}, tree_positions=True, streams="encoder"),
    "paths": Recipe(ShortestPaths(), 2500),
}
SMOKE = TrainingConfig(20, 16, warmup=5, log_every=5, validate_every=10, checkpoint_every=10)


def experiments(task: str, seed: int, scale: str = "lab") -> dict[str, Experiment]:
    """Way -> the experiment of a task."""
    recipe, settings = RECIPES[task], {"scale": scale}
    training = TrainingConfig(recipe.steps, 64, warmup=250, positions=recipe.positions)
    if scale == "smoke":
        settings |= {"problems": 200, "tested": 5}
        training = replace(SMOKE, positions=recipe.positions)
    trees = recipe.tree_positions
    model = ModelConfig(64, recipe.layers, 4, 128, dropout=0.0, tree_positions=trees)
    owned = replace(recipe.task, **settings)
    base = Experiment(f"arena-{task}", owned, model=model, training=training, seed=seed)
    return five_ways(base, recipe.streams)


def train(task: str, way: str, seed: int, scale: str = "lab") -> Network:
    """The network of a way, trained in runs/ or loaded from there; its log has validations."""
    experiment, easier = experiments(task, seed, scale)[way], RECIPES[task].easier
    start = None
    if experiment.start:
        start = train(task, "plain", seed, scale)
    elif easier:
        first = replace(experiment, task=replace(experiment.task, **easier))
        start = _run(replace(first, name=f"{experiment.name}-first"))
    return _run(experiment, start)


def _run(experiment: Experiment, start: Network | None = None) -> Network:
    return Trainer(experiment, RUNS / run_name(experiment), start=start).run(progress=False)


def run(task: str, way: str, seed: int, scale: str = "lab") -> dict:
    """Train and evaluate a way, and write its result; the row of `rows`."""
    result = evaluate(train(task, way, seed, scale), progress=False)
    result |= {"task": task, "way": way}
    write_json(result_path(task, way, seed, scale), result)
    return row(result)


def result_path(task: str, way: str, seed: int, scale: str = "lab") -> Path:
    """Where the result of a run is."""
    return RESULTS / f"arena-{task}-{way}-{scale}-s{seed}.json"


def row(result: dict) -> dict:
    """The rates of a result: with the names of training, with new names, with more names."""
    counts = result["result"]["test"]["by_propositions"]
    known = RECIPES[result["task"]].task.known
    groups = {"names of training": [], "more names": []}
    for count, rates in counts.items():
        groups["names of training" if int(count) <= known else "more names"].append(rates)
    rates = {name: _rate(group) for name, group in groups.items()}
    new = result["result"]["new"]["correct"]
    about = {key: result[key] for key in ("task", "way", "seed")}
    return about | rates | {"new names": new, "learned": rates["names of training"] >= LEARNED}


def _rate(group: list[dict]) -> float:
    right = sum(rates["samples"] * rates["correct"] for rates in group)
    return right / sum(rates["samples"] for rates in group)


def rows(scale: str = "lab") -> list[dict]:
    """All results that are there, a row each."""
    return [row(read_json(path, dict)) for path in sorted(RESULTS.glob(f"arena-*-{scale}-s*.json"))]
