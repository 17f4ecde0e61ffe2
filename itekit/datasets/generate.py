"""From a recipe to files: formulas are drawn here, workers on all cores make their labels.

The recipe alone decides the formulas, their order and the split. Each label is written to a file at
once: after an interruption, the same command resumes after the last whole line. Only time-outs
depend on the machine; a manifest lists them, and `regenerate` uses its list.
"""

import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

import itekit
from itekit.alpha import renamed_among
from itekit.datasets import sets
from itekit.datasets.candidates import NO_LABEL, Drawing
from itekit.datasets.presets import Derivation, Pair, Recipe, folder_name, from_json, preset
from itekit.datasets.sets import MANIFEST, digest, read_folder, read_manifest, write_pairs
from itekit.files import locked, provenance, versions, write_json, write_text
from itekit.logic.formulas import ARITY, split
from itekit.tasks import ltl, propositional
from itekit.tasks.propositional import UNSATISFIABLE, classify
from itekit.tasks.verdicts import TIME_OUT
from itekit.workers import Pool

SOLVE = {"ltl": ltl.solve, "propositional": propositional.solve}
LABELS = "labels.partial"  # in the output folder, until the set is complete
RETRY_SECONDS = 5.0  # until the next look whether another process has made a set
PATIENCE = 100  # times the recipe's limit, if the time-outs are known
TOOLS = ("spottl", "py-aiger", "py-aiger-sat", "python-sat")  # which decide formulas and labels


def generate(
    recipe: Recipe | Derivation,
    output: Path | None = None,
    *,
    workers: int | None = None,
    client=None,
    progress: bool = False,
    time_outs: list[str] | None = None,
) -> Path:
    """Make a set; returns its folder (default: runs/sets/NAME-SCALE), whose content is replaced.

    `workers`, `client`: where labels are made, see `workers.Pool`. `time_outs`: the formulas that
    count as time-outs; all others get the time they need (RuntimeError past PATIENCE).
    """
    output = Path(output or sets.OWN / folder_name(recipe))
    if isinstance(recipe, Derivation):
        source = recipe.source
        pairs = recipe.derive(sets.read_set(source.name, source.scale, seed=source.seed))
        with locked(output):
            _publish(recipe, output, pairs, {})
        return output
    start = time.monotonic()
    limit = recipe.cpu_seconds * (1 if time_outs is None else PATIENCE)
    key = json.dumps([asdict(recipe), time_outs, itekit.__version__, versions(TOOLS)])
    bar = tqdm(total=recipe.count, desc=recipe.name, disable=None if progress else True)
    drawing = Drawing(recipe, time_outs or ())
    label = partial(_label, recipe.task, recipe.method)
    with Pool(workers, client) as pool, locked(output), bar:
        known = _known_labels(output / LABELS, key)
        with open(output / LABELS, "a", buffering=1, encoding="utf-8") as file:
            while True:
                make = partial(pool.run, label, limit=limit, count=sum(drawing.missing()))
                labels = []
                for answer in _labels(drawing.next_round(), known, file, make):
                    if answer == TIME_OUT and time_outs is not None:
                        raise RuntimeError(f"a label took over {limit} s, unlike in the manifest")
                    labels.append(answer)
                    bar.update(answer not in NO_LABEL)
                if not drawing.record(labels):
                    break
        pairs = _divide(recipe, [pair for part in drawing.kept for pair in part])
        spent = {"workers": pool.workers, "seconds": round(time.monotonic() - start, 1)}
        _publish(recipe, output, pairs, drawing.facts() | spent)
        (output / LABELS).unlink()
    return output


def make_missing(names: Iterable[str], scale: str | None = None, progress: bool = False) -> None:
    """Make the sets that are not here; where another process makes one, wait for it."""
    for name in names:
        while not sets.is_here(name, scale):
            recipe = preset(name, scale)
            try:
                generate(getattr(recipe, "source", recipe), progress=progress)
            except BlockingIOError:
                time.sleep(RETRY_SECONDS)


def regenerate(manifest: Path, output: Path | None = None, **options) -> Path:
    """Make a set again from its manifest (`generate`); RuntimeError names a file that differs."""
    expected = read_manifest(manifest)
    try:
        recipe = from_json(expected.get("derivation") or expected["recipe"])
        if isinstance(recipe, Recipe):
            options["time_outs"] = list(expected["time_outs"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{manifest}: not the manifest of a generated set ({error})") from error
    output = Path(output or sets.OWN / folder_name(recipe))
    if output.resolve() in (Path(manifest).resolve(), Path(manifest).resolve().parent):
        raise ValueError(f"{output} is what is compared with: choose another output")
    result = read_manifest(generate(recipe, output, **options))
    for name, entry in expected["files"].items():
        if result["files"].get(name, {}).get("sha256") != entry["sha256"]:
            tools = f"made by {expected.get('versions')}; here: {result['versions']}"
            raise RuntimeError(f"{output / entry['file']} is not the one of {manifest}, {tools}")
    return output


def sample(name: str, scale: str | None, count: int) -> dict[str, list[Pair]]:
    """Split -> pairs of about `count` of ltl35 or prop35 (see `preset`), kept in runs/sets."""
    recipe = preset(f"{name}-sample{count}", scale)
    folder = sets.OWN / folder_name(recipe)
    return read_folder(folder if (folder / MANIFEST).exists() else generate(recipe, folder))


def _known_labels(path: Path, key: str) -> deque[str]:
    """The whole lines of a file of labels, whose first line is the key; else the file is reset."""
    text = path.read_text("utf-8") if path.exists() else ""
    first, *lines = text.split("\n")[:-1] or [""]
    lines = lines if first == key else []
    write_text(path, "\n".join([key, *lines, ""]))
    return deque(lines)


def _labels(formulas: Iterator[str], known: deque, file: TextIO, make: Callable) -> Iterator[str]:
    """The label of each formula, or one of NO_LABEL: known ones, then new ones, written at once.

    `make` yields new labels while the formulas after them are still being drawn.
    """
    while known and next(formulas, None) is not None:
        yield known.popleft()
    if not known:
        for label in make(formulas):
            file.write(f"{label}\n")
            yield label


def _label(task: str, method: str, formula: str) -> str:
    """In a worker: the label of a formula, or one of NO_LABEL."""
    label = SOLVE[task](formula, method)
    if label is None:
        return UNSATISFIABLE if task == "ltl" else classify(formula)
    return label


def _divide(recipe: Recipe, pairs: list[Pair]) -> dict[str, list[Pair]]:
    """The splits, shuffled by a checksum of seed and formula: the same on every Python."""
    if len(recipe.splits) > 1:
        pairs.sort(key=lambda pair: hashlib.sha256(f"{recipe.seed} {pair[0]}".encode()).digest())
    rest = iter(pairs)
    sizes = recipe.split_sizes(len(pairs))
    return {name: [next(rest) for _ in range(size)] for name, size in sizes.items()}


def renamings(pairs: dict[str, list[Pair]]) -> dict[str, int]:
    """How many problems of each other split are renamings of a training problem."""
    formulas = {name: [split(formula) for formula, _ in part] for name, part in pairs.items()}
    names = set().union(*chain(*formulas.values())) - ARITY.keys()
    known = formulas.pop("train")
    return {name: sum(renamed_among(part, known, names)) for name, part in formulas.items()}


def _publish(
    recipe: Recipe | Derivation, output: Path, pairs: dict[str, list[Pair]], facts: dict
) -> None:
    """Write the files, and last the manifest, without which a folder is no set."""
    (output / MANIFEST).unlink(missing_ok=True)
    files = {}
    histograms = {key: Counter() for key in ("size", "propositions", "label_length")}
    for name, part in pairs.items():
        file = name + recipe.suffix
        text = write_pairs(output / file, part)
        files[name] = {"file": file, "pairs": len(part), "sha256": digest(text)}
        for formula, label in part:
            tokens = split(formula)
            histograms["size"][len(tokens)] += 1
            histograms["propositions"][len(set(tokens) - ARITY.keys())] += 1
            histograms["label_length"][len(split(label))] += 1
    manifest = {key: getattr(recipe, key) for key in ("name", "scale", "seed", "task")}
    if recipe.task == "propositional":
        manifest["label_order"] = "first appearance in the formula"
    manifest |= {
        "derivation" if isinstance(recipe, Derivation) else "recipe": asdict(recipe),
        "files": files,
        "histograms": {key: dict(sorted(counts.items())) for key, counts in histograms.items()},
    }
    if "train" in pairs:
        manifest["renamings"] = renamings(pairs)
    write_json(output / MANIFEST, manifest | provenance(packages=("itekit", *TOOLS)) | facts)
