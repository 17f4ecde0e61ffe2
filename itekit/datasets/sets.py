"""Sets of solved problems: how they are found, read and written.

A set is a folder NAME-SCALE with a file for each split and a manifest.json; sets are shipped in
data/sets or generated in runs/sets. A file is in the text format of DeepLTL, plain or compressed: a
formula in prefix notation on one line, its label (a trace or an assignment) on the next, and so on.
"""

import hashlib
import lzma
import typing
from collections.abc import Collection
from pathlib import Path

from itekit.datasets.presets import PLAIN, Derivation, Pair, folder_name, preset
from itekit.files import DATA, RUNS, MissingError, atomic_path, read_json, rebuild
from itekit.logic.formulas import LANGUAGES, join, read_tokens

SHIPPED, OWN = DATA / "sets", RUNS / "sets"
MANIFEST = "manifest.json"


def find_set(name: str, scale: str | None = None, seed: int = 0) -> Path:
    """The folder of a set: the shipped one, else one generated here, else MissingError."""
    recipe = preset(name, scale, seed)
    for folder in (SHIPPED, OWN):
        if (folder / folder_name(recipe) / MANIFEST).exists():
            return folder / folder_name(recipe)
    make = f"python -m itekit generate {name} --scale {recipe.scale}"
    make += f" --seed {seed}" if seed else ""
    raise MissingError(f"no set {folder_name(recipe)} in {SHIPPED} or {OWN}; make it: {make}")


def is_here(name: str, scale: str | None = None, seed: int = 0) -> bool:
    """Whether a set can be read: it is here, or the one that it is derived from."""
    recipe = preset(name, scale, seed)
    try:
        find_set(getattr(recipe, "source", recipe).name, scale, seed)
    except MissingError:
        return False
    return True


def read_set(name: str, scale: str | None = None, *, seed: int = 0) -> dict[str, list[Pair]]:
    """Split -> (formula, label) pairs of a set; MissingError if it is not there.

    A limited or perturbed set that is not there is derived from its source on the spot.
    """
    recipe = preset(name, scale, seed)
    try:
        return read_folder(find_set(name, scale, seed))
    except MissingError:
        if not isinstance(recipe, Derivation):
            raise
        return recipe.derive(read_set(recipe.source.name, recipe.scale, seed=seed))


class File(typing.TypedDict):
    """What a manifest says of a file."""

    file: str
    sha256: str
    pairs: int


class Manifest(typing.TypedDict):
    """What is read of a manifest; there is more for people to read."""

    name: str
    task: str
    files: dict[str, File]
    counts: typing.NotRequired[dict[str, int]]
    renamings: typing.NotRequired[dict[str, int]]
    short: typing.NotRequired[list]


def read_folder(folder: Path) -> dict[str, list[Pair]]:
    """Split -> pairs of the set in a folder; ValueError if a file is not the manifest's."""
    pairs = {}
    for name, entry in read_manifest(folder)["files"].items():
        path = Path(folder) / entry["file"]
        if not path.is_file() or digest(text := read_text(path)) != entry["sha256"]:
            raise ValueError(f"{path}: not the file that {MANIFEST} describes (SHA-256)")
        lines = text.splitlines()
        if len(lines) % 2:
            raise ValueError(f"{path}, line {len(lines)}: the file ends here, expected a label")
        pairs[name] = list(zip(lines[::2], lines[1::2], strict=True))
    return pairs


def read_manifest(path: Path) -> Manifest:
    """A manifest, from its file or from the folder that it is in; ValueError if it is none."""
    path = Path(path) / MANIFEST if Path(path).is_dir() else Path(path)
    try:
        manifest = rebuild(Manifest, read_json(path, dict))
        for entry in manifest["files"].values():
            if not PLAIN.fullmatch(entry["file"]):
                raise ValueError(f"expected a file of its own folder, found {entry['file']!r}")
    except ValueError as error:
        raise ValueError(f"{path}: not the manifest of a set: {error}") from None
    return manifest


def read_pairs(path: Path, task: str, *, propositions: Collection[str] | None = None) -> list[Pair]:
    """The (formula, label) pairs of a file of a task, such as one of DeepLTL's, every line checked.

    DeepLTL's spellings `<->` and `xor` become `=` and `^`. `propositions` are the names that may
    stand in the file. ValueError names file and line.
    """
    from itekit.logic.traces import read_trace
    from itekit.logic.truth_tables import parse_assignment

    if task not in LANGUAGES:
        raise ValueError(f"unknown task {task!r}: expected one of {', '.join(LANGUAGES)}")
    read_label = {"ltl": read_trace, "propositional": parse_assignment}[task]
    lines = read_text(path).replace("\r\n", "\n").removesuffix("\n").split("\n")
    for place, line in enumerate(lines):
        try:
            if not line:
                raise ValueError(f"nothing there, expected a {'label' if place % 2 else 'formula'}")
            if place % 2:
                read_label(line, propositions=propositions)
                continue
            lines[place] = join(read_tokens(line, LANGUAGES[task], propositions))
        except ValueError as error:
            raise ValueError(f"{path}, line {place + 1}: {error}") from error
    if len(lines) % 2:
        raise ValueError(f"{path}, line {len(lines)}: the file ends here, expected a label")
    return list(zip(lines[::2], lines[1::2], strict=True))


def read_text(path: Path) -> str:
    """The text of a file, decompressed if it ends in .xz; ValueError if it is damaged."""
    content = Path(path).read_bytes()
    try:
        content = lzma.decompress(content) if Path(path).suffix == ".xz" else content
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: expected text in UTF-8 ({error})") from error
    except lzma.LZMAError as error:
        raise ValueError(f"{path}: a damaged or truncated archive ({error})") from error


def write_pairs(path: Path, pairs: list[Pair]) -> str:
    """Write (formula, label) pairs, atomically, compressed if it ends in .xz; returns the text.

    ValueError for what is not one line of text.
    """
    for line in (line for pair in pairs for line in pair):
        if line.splitlines() != [line]:
            raise ValueError(f"{path}: expected one line of text, found {line!r}")
    text = "".join(f"{formula}\n{label}\n" for formula, label in pairs)
    content = text.encode()
    with atomic_path(path) as temporary:
        if Path(path).suffix == ".xz":
            content = lzma.compress(content, lzma.FORMAT_XZ, lzma.CHECK_CRC32, preset=9)
        temporary.write_bytes(content)
    return text


def digest(text: str) -> str:
    """SHA-256 of text in UTF-8, as hexadecimal digits: of a file before it is compressed."""
    return hashlib.sha256(text.encode()).hexdigest()


def summary(folder: Path) -> str:
    """A set in a few lines: its files, and what became of the candidates."""
    manifest = read_manifest(folder)
    lines = [f"set         {folder}"]
    lines += [f"{n:<12}{file['pairs']:,} pairs" for n, file in manifest["files"].items()]
    lines += _renamings(manifest)
    lines += [f"{what:<20}{count:>12,}" for what, count in manifest.get("counts", {}).items()]
    if short := manifest.get("short"):
        lines.append(f"{len(short)} of the recipe's strata could not be filled: see {MANIFEST}")
    return "\n".join(lines)


def _renamings(manifest: Manifest) -> list[str]:
    """What of the test split is in training under other names; an older set does not say."""
    count = manifest.get("renamings", {}).get("test")
    pairs = manifest["files"].get("test", {}).get("pairs")
    if count is None or not pairs:
        return []
    return [f"of its test problems, {count / pairs:.1%} are renamings of training problems"]
