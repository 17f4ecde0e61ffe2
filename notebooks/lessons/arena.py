"""The arena: five ways to treat names, on four tasks, each way trained by the task's one recipe.

A comparison of ways counts only where each has learned the task. By the recipes of terms and paths
no way has been shown to, so lab.toml leaves them out.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from IPython.display import Markdown

from itekit.experiments import Experiment, TrainingConfig
from itekit.files import RESULTS, RUNS, read_json, stored_files, write_json
from itekit.model import ModelConfig
from itekit.names import run_name
from itekit.network import Network
from itekit.results import evaluate
from itekit.tasks.own import OwnTask, five_ways
from itekit.training import Trainer
from lessons.paper import markdown_table
from lessons.plots import show
from lessons.plots.lines import METHODS
from lessons.plots.show import BELOW, DARK, GREY, look, style, subplots
from lessons.registers import Registers
from lessons.terms import Terms

LEARNED = 0.95  # right answers with the names of training, from which on a way has learned a task
NOTEBOOK = "notebooks/appendix/15_arena.ipynb"
NAMES = ("names of training", "new names", "more names")  # of a test's problems


@dataclass(frozen=True)
class Copies(OwnTask):
    """A string of at most 12 letters; the answer is the string."""

    limit: int = 13
    names = tuple("abcdefgh")

    def draw(self, rng, names):
        """A string of exactly these letters."""
        string = names + rng.choices(names, k=rng.randint(0, 12 - len(names)))
        rng.shuffle(string)
        return "".join(string)

    def label(self, problem):
        """The same string."""
        return problem


@dataclass(frozen=True)
class ShortestPaths(OwnTask):
    """`ab,bc,cd,?ad` -> `abcd`: edges of an undirected graph, two nodes, the path between them."""

    limit: int = 9
    problems: int = 30_000
    edges: int = 6
    fixed = (",", "?")
    names = tuple("abcdefghij")
    tests = (5, 6, 7, 8)  # fewer names leave too few graphs

    def draw(self, rng, names):
        """A graph of these nodes, and two of them with one shortest path."""
        pairs = [a + b for a in names for b in names if a < b]
        most = min(self.edges, len(pairs))
        edges = rng.sample(pairs, rng.randint(min(4, most), most))
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
    "paths": Recipe(ShortestPaths(), 3000, streams="encoder"),
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
    settings = {"task": task, "way": way, "seed": seed, "scale": scale, "train": True}
    words = " ".join(f"-p {key} {value}" for key, value in settings.items())
    for record in (result["trained"], result["evaluated"]):  # not the kernel's command
        record["command"] = f"python -m itekit run {NOTEBOOK} {words}"
    result |= {"task": task, "way": way}
    write_json(result_path(task, way, seed, scale), result)
    return row(result)


def result_path(task: str, way: str, seed: int, scale: str = "lab") -> Path:
    """Where the result of a run is."""
    return RESULTS / f"arena-{task}-{way}-{scale}-s{seed}.json"


def row(result: dict) -> dict:
    """The rates of a result: with the names of training, with new names, with more names."""
    known = RECIPES[result["task"]].task.known
    counts = result["result"]["test"]["by_propositions"].items()
    rates = (
        _rate([rates for count, rates in counts if int(count) <= known]),
        result["result"]["new"]["correct"],
        _rate([rates for count, rates in counts if int(count) > known]),
    )
    about = {key: result[key] for key in ("task", "way", "seed")}
    return about | dict(zip(NAMES, rates, strict=True)) | {"learned": rates[0] >= LEARNED}


def _rate(group: list[dict]) -> float:
    right = sum(rates["samples"] * rates["correct"] for rates in group)
    return right / sum(rates["samples"] for rates in group)


def rows(scale: str = "lab") -> list[dict]:
    """All results that are there, a row each."""
    paths = stored_files(RESULTS, f"arena-*-{scale}-s*.json")
    return [row(read_json(path, dict)) for path in paths]


def _groups() -> dict[tuple[str, str], list[dict]]:
    """(task, way) -> the rows of its seeds, in the order of RECIPES and of `five_ways`."""
    ways = [name.rpartition("/")[2] for name in experiments("copying", 0)]
    groups = {(task, way): [] for task in RECIPES for way in ways}
    for one in rows():
        groups[one["task"], one["way"]].append(one)
    return {pair: group for pair, group in groups.items() if group}


def table() -> Markdown:
    """For each task and way the rates: the mean over seeds, and the ends where they differ."""
    lines = []
    for (task, way), group in _groups().items():
        cells = []
        for names in NAMES:
            rates = sorted(100 * one[names] for one in group)
            mean = sum(rates) / len(rates)
            ends = f" ({rates[0]:.1f} to {rates[-1]:.1f})" if rates[0] < rates[-1] else ""
            cells.append(f"{mean:.1f}{ends}")
        learned = sum(one["learned"] for one in group)
        lines.append([task, way, *cells, f"{learned} of {len(group)}"])
    head = ("task", "way", *(f"{names}, %" for names in NAMES), "trainings that learned it")
    return Markdown(markdown_table(head, lines))


def picture() -> None:
    """A panel for each kind of names: a row for each task and way, a dot for each seed."""
    groups = _groups()
    marker = {"size": 10, "line_width": 2}
    figure, places = subplots([*NAMES], 3, shared_yaxes=True, horizontal_spacing=0.02)
    labels = [f"{task}, {way}" for task, way in groups]
    for names, place in zip(NAMES, places, strict=True):
        for label, ((_, way), group) in zip(labels, groups.items(), strict=True):
            colour = look(METHODS.index(way))[0]
            filled = ["circle" if one["learned"] else "circle-open" for one in group]
            figure.add_scatter(
                x=[100 * one[names] for one in group],
                y=[label] * len(group),
                mode="markers",
                marker=marker | {"symbol": filled, "color": colour, "line_color": colour},
                showlegend=False,
                hovertemplate=f"{label}, {names}: %{{x:.1f}} %<extra></extra>",
                **place,
            )
        figure.add_vline(x=100 * LEARNED, line={"color": GREY, "dash": "dot"}, **place)
    for symbol, name in (("circle", "learned the task"), ("circle-open", "did not learn it")):
        in_legend = marker | {"symbol": symbol, "color": DARK}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=in_legend, name=name)
    figure.update_xaxes(range=[-7, 107], tickvals=[0, 25, 50, 75, 100], title="right, %")
    figure.update_yaxes(range=[len(labels) - 0.4, -0.6], categoryarray=labels, tickfont_size=12)
    title = "Right answers, a dot for each training"
    style(figure, title=title, width=840, height=170 + 24 * len(labels), legend=BELOW)
    alt = f"{title}, of {len(groups)} pairs of a task and a way; the table has the numbers."
    show(figure.update_layout(margin_b=90), alt=alt)
