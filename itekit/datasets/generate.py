"""From a recipe to files: formulas drawn here, labels made by workers on all cores.

The formulas, their order and the split depend on the recipe alone; labels come back in the order
of the formulas.  So the files are the same for any number of workers, on one machine or on a
cluster, and also after a run was killed: finished chunks are kept in a work folder beside the
output, and the same command goes on from there.  Only time-outs depend on the machine; a manifest
lists them, and `regenerate` takes exactly these, so that a set can be made again elsewhere.
"""

import hashlib
import time
from contextlib import ExitStack
from pathlib import Path

from tqdm import tqdm

from itekit.datasets.derive import derive
from itekit.datasets.drawing import Drawing
from itekit.datasets.jobs import LABEL, NO_LABEL
from itekit.datasets.journal import Journal
from itekit.datasets.manifest import (
    MANIFEST,
    make_manifest,
    read_manifest,
    tool_versions,
)
from itekit.datasets.parallel import Executor, LocalExecutor, cut, progress_bar
from itekit.datasets.recipes import Derivation, Recipe, folder_name, split_sizes
from itekit.datasets.sets import OWN, read_set
from itekit.datasets.store import DataError, Pair, write_lines
from itekit.files import write_json
from itekit.tasks.verdicts import TIME_OUT

CHUNK = 500  # formulas that are labelled together at most
PATIENCE = 100  # times the recipe's limit, where the time-outs are known


def generate(
    recipe: Recipe | Derivation,
    output: Path | None = None,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: str | None = None,
    time_outs: list[str] | None = None,
) -> Path:
    """Make a set; returns its folder, which holds a file for each split and manifest.json.

    Args:
        output: the folder; default: runs/sets/NAME-SCALE. What it holds is replaced.
        workers: processes that make labels; default: the number of cores.
        executor: what runs them instead (`DaskExecutor` for a cluster).
        progress: "text" for a progress bar.
        time_outs: the formulas that are to run out of time; all others get what time they need.

    Raises:
        TaskError: a label could not be made; the message names the formula.
        RuntimeError: another process is making this set, or a formula ran out of time that is not
            in `time_outs`.
        MissingSetError: the set that this one derives from is not there.
    """
    output = Path(output or OWN / folder_name(recipe))
    if isinstance(recipe, Derivation):
        source = recipe.source
        pairs = derive(recipe, read_set(source.name, source.scale, seed=source.seed))
        return _publish(recipe, output, pairs, {})
    with ExitStack() as stack:
        if executor is None:
            executor = stack.enter_context(LocalExecutor(workers))
        bar = stack.enter_context(progress_bar(recipe.count, progress, recipe.name, " formulas"))
        return _generate(recipe, output, executor, bar, time_outs)


def regenerate(manifest: Path, output: Path | None = None, **options) -> Path:
    """Make a set again from its manifest, with the time-outs listed there; compare the files.

    Args:
        manifest: the file, or the folder that it is in.
        output, options: as for `generate`.

    Raises:
        RuntimeError: a file came out different; the message names it and the tools' versions.
        ValueError: `output` is the folder of the manifest.
        DataError: not a manifest.
    """
    wanted = read_manifest(manifest)
    try:
        if "derivation" in wanted:
            recipe: Recipe | Derivation = Derivation.from_json(wanted["derivation"])
        else:
            recipe = Recipe.from_json(wanted["recipe"])
            options["time_outs"] = wanted["time_outs"]
        digests = {name: entry["sha256"] for name, entry in wanted["files"].items()}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(manifest, None, f"not the manifest of a generated set ({error})") from error
    output = Path(output or OWN / folder_name(recipe))
    if output.resolve() in (Path(manifest).resolve(), Path(manifest).resolve().parent):
        raise ValueError(f"{output} is what is compared with: choose another output")
    folder = generate(recipe, output, **options)
    found = read_manifest(folder)
    for name, digest in digests.items():
        if found["files"][name]["sha256"] != digest:
            raise RuntimeError(
                f"{folder / found['files'][name]['file']} is not the one of {manifest}, "
                f"made by {wanted.get('versions')}; here: {found['versions']}"
            )
    return folder


def _generate(
    recipe: Recipe, output: Path, executor: Executor, bar: tqdm, time_outs: list[str] | None
) -> Path:
    start = time.process_time()
    limit = recipe.cpu_seconds * (1 if time_outs is None else PATIENCE)
    key = [LABEL[recipe.task], limit, tool_versions()]
    with Journal(output.parent / f".{output.name}.work", key) as journal:
        labelling = _Labelling(recipe, limit, executor, journal, bar, time_outs)
        drawing = labelling.run()
        facts = drawing.facts() | {
            "workers": executor.workers,
            "cpu_seconds": round(labelling.spent + time.process_time() - start, 1),
        }
        kept = [pair for part in drawing.kept for pair in part]
        _publish(recipe, output, _divide(recipe, kept), facts)
        journal.remove()
    return output


class _Labelling:
    """The rounds of one run; `spent` counts the CPU seconds of the workers."""

    def __init__(self, recipe, limit, executor, journal, bar, time_outs):
        self.recipe, self.limit, self.executor, self.journal = recipe, limit, executor, journal
        self.bar, self.time_outs = bar, None if time_outs is None else frozenset(time_outs)
        self.spent = 0.0

    def run(self) -> Drawing:
        """Draw and label until nothing is missing, or can be found."""
        drawing = Drawing(self.recipe)
        while drawn := drawing.next_round():
            todo = [f for _, f in drawn if self.time_outs is None or f not in self.time_outs]
            answers = dict(zip(todo, self._answers(todo), strict=True))
            for number, formula in drawn:
                drawing.record(number, formula, answers.get(formula, TIME_OUT))
        return drawing

    def _answers(self, formulas: list[str]) -> list[str]:
        """What comes for each formula, from the journal or the workers."""
        items = [[formula, self.recipe.method, self.recipe.format] for formula in formulas]
        chunks = cut(items, max(10, min(CHUNK, -(-len(items) // 32))))
        answers = [self.journal.read(chunk) for chunk in chunks]
        for found in filter(None, answers):
            self._count(*found)
        missing = [number for number, found in enumerate(answers) if found is None]
        tasks = [chunks[number] for number in missing]
        for done in self.executor.run(LABEL[self.recipe.task], tasks, self.limit):
            if self.time_outs is not None and TIME_OUT in done.answers:
                formula = tasks[done.number][done.answers.index(TIME_OUT)][0]
                raise RuntimeError(f"{formula} ran out of {self.limit} s, unlike in the manifest")
            answers[missing[done.number]] = done.answers, done.spent
            self.journal.write(tasks[done.number], done.answers, done.spent)
            self._count(done.answers, done.spent)
        return [answer for found in answers for answer in found[0]]

    def _count(self, answers: list[str], spent: float) -> None:
        self.spent += spent
        self.bar.update(sum(answer not in NO_LABEL for answer in answers))


def _divide(recipe: Recipe, pairs: list[Pair]) -> dict[str, list[Pair]]:
    """The splits, shuffled by a checksum of seed and formula: the same on every Python."""
    if len(recipe.splits) > 1:
        key = str(recipe.seed).encode()
        pairs = sorted(pairs, key=lambda p: hashlib.sha256(key + b" " + p[0].encode()).digest())
    divided, start = {}, 0
    for name, size in split_sizes(len(pairs), recipe.splits).items():
        divided[name] = pairs[start : start + size]
        start += size
    return divided


def _publish(
    recipe: Recipe | Derivation, output: Path, pairs: dict[str, list[Pair]], facts: dict
) -> Path:
    """Write the files, and last the manifest, without which a folder is no set."""
    texts = {name: "".join(f"{f}\n{label}\n" for f, label in part) for name, part in pairs.items()}
    manifest = make_manifest(recipe, texts, pairs) | facts
    (output / MANIFEST).unlink(missing_ok=True)
    for name, text in texts.items():
        write_lines(output / manifest["files"][name]["file"], text)
    write_json(output / MANIFEST, manifest)
    return output
