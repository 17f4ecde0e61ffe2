"""From a recipe to files: formulas drawn here, labels made by workers on all cores.

The recipe alone decides the formulas, their order and the split. Each label is a line of a file as
soon as it is there: after a run was killed, the same command goes on after the last whole line.
Only time-outs depend on the machine; a manifest lists them, and `regenerate` takes these.
"""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, tee
from pathlib import Path
from typing import BinaryIO

from tqdm import tqdm

import itekit
from itekit.alpha import renamed_among
from itekit.datasets import sets
from itekit.datasets.candidates import NO_LABEL, Drawing
from itekit.datasets.presets import Derivation, Pair, Recipe, folder_name, from_json, preset
from itekit.datasets.sets import MANIFEST, digest, read_folder, read_manifest, write_pairs
from itekit.files import locked, provenance, versions, write_json
from itekit.logic.formulas import ARITY, split
from itekit.tasks import ltl, propositional
from itekit.tasks.propositional import UNSATISFIABLE, classify
from itekit.tasks.verdicts import TIME_OUT
from itekit.workers import Pool

SOLVE = {"ltl": ltl.solve, "propositional": propositional.solve}  # a label of a formula
ANSWERS = "answers.partial"  # in the output folder, until the set is whole
PAUSE = 5.0  # seconds between looks whether another process has made a set
PATIENCE = 100  # times the recipe's limit, where the time-outs are known
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
    are to run out of time; all others get what time they need (RuntimeError past PATIENCE).
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
    with (
        Pool(workers, client) as pool,
        locked(output),
        _answers(output / ANSWERS, key) as answers,
        tqdm(total=recipe.count, desc=recipe.name, disable=None if progress else True) as bar,
    ):
        drawing = Drawing(recipe, time_outs or ())
        while True:
            drawn, labels = drawing.next_round(), []
            for answer in _labels(recipe, drawn, sum(drawing.missing()), answers, pool, limit):
                labels.append(answer)
                bar.update(answer not in NO_LABEL)
            if not drawing.record(labels):
                break
        pairs = _divide(recipe, [pair for part in drawing.kept for pair in part])
        spent = {"workers": pool.workers, "seconds": round(time.monotonic() - start, 1)}
        _publish(recipe, output, pairs, drawing.facts() | spent)
        (output / ANSWERS).unlink()
    return output


def make_missing(names: Iterable[str], scale: str | None = None, progress: bool = False) -> None:
    """Make the sets that are not here; where another process makes one, wait for it."""
    for name in names:
        while not sets.is_here(name, scale):
            recipe = preset(name, scale)
            try:
                generate(getattr(recipe, "source", recipe), progress=progress)
            except BlockingIOError:
                time.sleep(PAUSE)


def regenerate(manifest: Path, output: Path | None = None, **options) -> Path:
    """Make a set again from its manifest (`generate`); RuntimeError names a file that differs."""
    wanted = read_manifest(manifest)
    try:
        recipe = from_json(wanted["derivation"] if "derivation" in wanted else wanted["recipe"])
        if isinstance(recipe, Recipe):
            options["time_outs"] = list(wanted["time_outs"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{manifest}: not the manifest of a generated set ({error})") from error
    output = Path(output or sets.OWN / folder_name(recipe))
    if output.resolve() in (Path(manifest).resolve(), Path(manifest).resolve().parent):
        raise ValueError(f"{output} is what is compared with: choose another output")
    found = read_manifest(generate(recipe, output, **options))
    for name, entry in wanted["files"].items():
        if found["files"].get(name, {}).get("sha256") != entry["sha256"]:
            made = f"made by {wanted.get('versions')}; here: {found['versions']}"
            raise RuntimeError(f"{output / entry['file']} is not the one of {manifest}, {made}")
    return output


def sample(name: str, scale: str | None, count: int) -> dict[str, list[Pair]]:
    """Split -> pairs of about `count` of ltl35 or prop35 (see `preset`), kept in runs/sets."""
    recipe = preset(f"{name}-sample{count}", scale)
    folder = sets.OWN / folder_name(recipe)
    return read_folder(folder if (folder / MANIFEST).exists() else generate(recipe, folder))


@contextmanager
def _answers(path: Path, key: str) -> Iterator[tuple[BinaryIO, Iterator[str]]]:
    """A file of answers, one a line, open for more, and those that it holds already.

    Its first line says what decides the answers. A last line that is not whole is taken off.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    with open(descriptor, "r+b", buffering=0) as file:
        first, *kept = file.read().split(b"\n")[:-1] or [b""]
        if first != key.encode():
            kept = []
            file.truncate(0)
            file.seek(0)
            file.write(key.encode() + b"\n")
        file.truncate(sum(len(line) + 1 for line in (key.encode(), *kept)))
        file.seek(0, os.SEEK_END)
        yield file, iter([line.decode() for line in kept])


def _labels(
    recipe: Recipe,
    formulas: Iterator[str],
    about: int,
    answers: tuple[BinaryIO, Iterator[str]],
    pool: Pool,
    limit: float,
) -> Iterator[str]:
    """The label of each formula, or one of NO_LABEL; each is written as soon as it is there.

    The first ones are those that `_answers` kept. Others are made while the formulas after them,
    `about` so many, are still being drawn.
    """
    file, kept = answers
    for formula in formulas:
        if (answer := next(kept, None)) is None:
            formulas = chain([formula], formulas)
            break
        yield answer
    formulas, sent = tee(formulas)
    items = ((text, recipe.method) for text in sent)
    new = pool.run(SOLVE[recipe.task], items, unpack=True, limit=limit, count=about)
    for formula, answer in zip(formulas, new, strict=True):
        if answer is None:
            answer = UNSATISFIABLE if recipe.task == "ltl" else classify(formula)
        if answer == TIME_OUT and limit != recipe.cpu_seconds:
            raise RuntimeError(f"{formula} ran out of {limit} s, unlike in the manifest")
        file.write(answer.encode() + b"\n")
        yield answer


def _divide(recipe: Recipe, pairs: list[Pair]) -> dict[str, list[Pair]]:
    """The splits, shuffled by a checksum of seed and formula: the same on every Python."""
    if len(recipe.splits) > 1:
        pairs.sort(key=lambda pair: hashlib.sha256(f"{recipe.seed} {pair[0]}".encode()).digest())
    rest, sizes = iter(pairs), recipe.split_sizes(len(pairs))
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
    files, histograms = {}, {key: Counter() for key in ("size", "propositions", "label_length")}
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
