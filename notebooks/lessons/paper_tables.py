"""The paper's tables and heatmaps with our figures beside the paper's, over all trainings.

A cell has the mean over the trainings, their range, the training that does best on the validation
data, as the paper chooses, and the paper's figure.
"""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from IPython.display import Markdown, display

from itekit.files import RESULTS, RUNS, SCALES, read_json, read_log, stored, stored_files
from itekit.names import NAMES
from itekit.notebooks import read_list
from lessons import lesson_05, lesson_10
from lessons.figures import show_solving_times
from lessons.full_run import figure_of, results_of
from lessons.paper import markdown_table, paper_figures, paper_table
from lessons.search_tables import paper_search, search_table

LIST = Path(__file__).parents[1] / "paper.toml"


@dataclass(frozen=True)
class Trainings:
    """The results of an experiment at one size, by seed; `changes`: other settings than named."""

    name: str
    scale: str
    changes: str
    results: tuple[dict, ...]

    @property
    def label(self) -> str:
        """What the first column says."""
        seeds = ", ".join(str(result["seed"]) for result in self.results)
        changes = f" **{self.changes}**" if self.changes else ""
        return f"{self.name}{changes}<br>{self.scale}, seed{'s' * (len(self.results) > 1)} {seeds}"

    @property
    def chosen(self) -> dict:
        """The result of the training that does best on the validation data."""
        return min(self.results, key=validation)


def validation(result: dict) -> float:
    """What a training is chosen by: less is better. Copying: the edit distance of long strings."""
    run = f"{result['name']}-{result['scale']}-s{result['seed']}".replace("/", "-")
    shipped = stored(RESULTS / f"{run}.log.json")
    records = read_log(RUNS / run) or (read_json(shipped) if shipped.exists() else [])
    last = records[-1] if records else {}
    return last.get("validation_edit_distance", -last.get("validation_accuracy", 0.0))


class PaperTables:
    """All results that there are: of each experiment at `scale`, else at the largest size."""

    def __init__(self, scale: str | None = None):
        self.scale, found = scale, {}
        for path in stored_files(RESULTS, "*.json"):
            value = read_json(path)
            if path.name.endswith(".log.json") or "experiment" not in value:
                continue
            name, size = value["name"], value["scale"]
            run = f"{name}-{size}-s{value['seed']}".replace("/", "-")
            changes = path.stem.removeprefix(run).strip("-")
            if not changes.startswith(("redraw", "patterns")):
                seeds = found.setdefault((name, changes), {}).setdefault(size, {})
                seeds.setdefault(value["seed"], value)
        self.trainings = {}
        for (name, changes), sizes in found.items():
            size = scale or max(sizes, key=SCALES.index)
            if size in sizes:
                results = tuple(sizes[size][seed] for seed in sorted(sizes[size]))
                of_name = self.trainings.setdefault(name, [])
                of_name.append(Trainings(name, size, changes, results))

    def rows(self, names: Iterable[str], columns: Mapping[str, str]) -> Markdown:
        """A row for each experiment and each change of its settings; `columns`: with headings."""
        rows = []
        for name in names:
            figures = {column: paper_figures().get(f"{name}/{column}") for column in columns}
            figures |= {"mean edit distance": paper_figures().get(name)}
            papers = [f"paper {f['value']:g}" if (f := figures[c]) else "" for c in columns]
            for trainings in sorted(self.trainings.get(name, ()), key=lambda one: one.changes):
                cells = [self.cell(trainings, column) for column in columns]
                both = map("<br>".join, zip(cells, papers, strict=True))
                rows.append([trainings.label, *both])
            if name not in self.trainings:
                rows.append([f"{name}<br>missing", *(f"–<br>{paper}" for paper in papers)])
        return Markdown(markdown_table(("experiment", *columns.values()), rows))

    @staticmethod
    def cell(trainings: Trainings, column: str) -> str:
        """The mean over the trainings, their range, and the one that was chosen."""
        values = [figure_of(result, column) for result in trainings.results]
        values = [value for value in values if value is not None]
        if not values:
            return "–"
        if len(values) == 1:
            return f"{values[0]:.2f}"
        chosen, span = trainings.chosen, f"{min(values):.2f} to {max(values):.2f}"
        best = f"chosen {figure_of(chosen, column):.2f} (seed {chosen['seed']})"
        return f"{statistics.mean(values):.2f} ({span})<br>{best}"

    def table(self, name: str) -> Markdown:
        """A table of the paper by its name in data/paper.json: its rows that are experiments."""
        table = paper_table(name)
        columns = {c: c.replace("alpha-covariance-", "α-cov. ") for c in table.columns}
        return self.rows([row for row in table.rows if row in NAMES], columns)

    def means(self, column: str, heading: str) -> Markdown:
        """All experiments for which the paper's text has a figure of this kind."""
        keys = (key.removesuffix(f"/{column}") for key in paper_figures() if key.endswith(column))
        return self.rows([name for name in keys if name in NAMES], {column: heading})

    def heatmaps(self, *names: str, title: str = "") -> None:
        """The paper's figure of several experiments, of the trainings that were chosen."""
        chosen = {}
        for name in names:
            for trainings in self.trainings.get(name, ()):
                if not trainings.changes:
                    chosen[name] = trainings.chosen
        largest = max((r["scale"] for r in chosen.values()), key=SCALES.index, default="")
        chosen = {name: r for name, r in chosen.items() if r["scale"] == largest}
        missing = ", ".join(name for name in names if name not in chosen)
        if missing:
            print(f"missing{' at ' * bool(largest)}{largest}: {missing}")
        if chosen and title:
            lesson_10.heatmaps(chosen, f"{title}, {largest} size")
        elif chosen:
            lesson_05.heatmaps(chosen)

    def search(self) -> None:
        """The paper's search over settings of copying: the best training of each."""
        if path := self._measured("copying-search"):
            records = read_json(path)
            titles = (f"{path.stem}: {len(records)} trainings", "the paper's")
            for title, one in zip(titles, (records, paper_search()), strict=True):
                head, rows = search_table(one)
                settings = [(row[0].replace("+", " + "), *row[1:]) for row in (head, *rows)]
                head, *rows = zip(*settings, strict=True)  # a row for each method, to fit a page
                display(Markdown(f"{title}\n\n{markdown_table(head, rows)}"))

    def language_models(self) -> Markdown:
        """What language models answer, and the paper's Llama 3.2."""
        rows = []
        for task in ("ltl", "prop"):
            for path in stored_files(RESULTS, f"llm-*-{task}*-{self.scale or '*'}.json"):
                test = read_json(path)["result"]["test"]
                rows.append([path.stem, f"{100 * test['correct']:.2f} of {test['samples']}"])
            paper = paper_figures()[f"{task}/llama/correct"]["value"]
            rows.append([f"{task}, the paper's Llama 3.2 3B", f"{paper:g} of 99,989"])
        return Markdown(markdown_table(("model and task", "correct, per cent of problems"), rows))

    def times(self) -> None:
        """What the embeddings cost, and how long Spot takes."""
        if path := self._measured("efficiency"):
            measured = read_json(path)["result"]
            rows = []
            for quantity in ("training_step", "forward", "generation", "embedding"):
                cells = (f"{measured[quantity][m]['seconds']:.4f}" for m in measured["methods"])
                rows.append([quantity.replace("_", " "), *cells])
            paper = ("forward", "generation", "embedding")
            values = [paper_figures()[f"ltl/proposed/{one}-seconds"]["value"] for one in paper]
            for row, value in zip(rows, ["–", *values], strict=True):
                row.append(str(value))
            head = ("seconds", *measured["methods"], "the paper's proposed, on an A4000")
            display(Markdown(f"{path.stem}\n\n{markdown_table(head, rows)}"))
        if path := self._measured("solving-time"):
            show_solving_times(read_json(path))

    def _measured(self, name: str) -> Path | None:
        """The file of what a notebook measured, of the largest size; says so if there is none."""
        for scale in [self.scale] if self.scale else SCALES[::-1]:
            for path in stored_files(RESULTS, f"{name}-{scale}.json"):
                return path
        print(f"missing: {name}")
        return None

    def missing(self) -> Markdown:
        """The runs of the paper's list without a result here, with the command for each family."""
        scale, families = self.scale or "paper", {}
        for run in read_list(LIST, RUNS, scale):
            if not all(stored_files(RESULTS, f"{name}.json") for name in results_of(run)):
                family = run.experiment.name.partition("/")[0] if run.experiment else run.name[:2]
                families.setdefault(family, []).append(run)
        command = f"itekit batch paper.toml --scale {scale} --only"
        rows = [[f, str(len(runs)), f"`{command} '{f}*'`"] for f, runs in families.items()]
        return Markdown(markdown_table(("family", "runs without a result", "command"), rows))
