"""Files in DeepLTL's text format: round trips, and errors that name file and line."""

import gzip
import hashlib
import json
import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itekit.datasets import sets
from itekit.datasets.manifest import MANIFEST, digest
from itekit.datasets.presets import NAMES, preset
from itekit.datasets.recipes import Derivation, Recipe, folder_name
from itekit.datasets.sets import MissingSetError, find_set, read_folder, read_set
from itekit.datasets.store import DataError, read_pairs, read_text, write_pairs
from itekit.logic.assignments import parse_assignment
from itekit.logic.prefix import parse_prefix
from itekit.logic.traces import parse_trace

LTL_PAIRS = [("&aXb", "a;b;{1}"), ("U1!c", "{!c}"), ("F&a!b", "&a!b;{1;a}"), ("1", "{1}")]
PROPOSITIONAL_PAIRS = [("&ab", "a1b1"), ("^a=b1", "a0b1"), ("|a!c", "c0")]
SUFFIXES = (".txt", ".txt.gz", ".txt.xz")

texts = st.text("abcXU!&;{}10 é", min_size=1, max_size=20)


@pytest.fixture
def bad_line_73(tmp_path):
    """Write a file whose line 73 is replaced, in any format."""

    def write(line: str, task: str = "ltl", suffix: str = ".txt", ending: str = "\n"):
        pairs = LTL_PAIRS if task == "ltl" else PROPOSITIONAL_PAIRS
        lines = [text for pair in pairs * 20 for text in pair][:100]
        lines[72] = line
        path = tmp_path / f"mine{suffix}"
        content = "".join(text + ending for text in lines).encode()
        if suffix == ".txt.gz":
            content = gzip.compress(content)
        if suffix == ".txt.xz":
            content = lzma.compress(content)
        path.write_bytes(content)
        return path

    return write


# Round trips


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("task", "pairs"), [("ltl", LTL_PAIRS), ("propositional", PROPOSITIONAL_PAIRS), ("ltl", [])]
)
def test_what_is_written_is_read(tmp_path, suffix, task, pairs):
    path = tmp_path / f"set{suffix}"
    write_pairs(path, pairs)
    assert read_pairs(path, task) == pairs
    assert read_text(path) == "".join(f"{f}\n{label}\n" for f, label in pairs)


@settings(max_examples=40)
@given(st.lists(st.tuples(texts, texts), max_size=8), st.sampled_from(SUFFIXES))
def test_any_lines_come_back_unchecked(tmp_path_factory, pairs, suffix):
    path = tmp_path_factory.mktemp("store") / f"set{suffix}"
    write_pairs(path, pairs)
    assert read_pairs(path, "ltl", check=False) == pairs


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_pairs_give_the_same_bytes_at_any_time(tmp_path, monkeypatch, suffix):
    paths = [tmp_path / "one" / f"set{suffix}", tmp_path / "two" / f"other{suffix}"]
    write_pairs(paths[0], LTL_PAIRS)
    monkeypatch.setattr("time.time", lambda: 4e9)
    write_pairs(paths[1], LTL_PAIRS)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_files_are_what_other_tools_read(tmp_path):
    for suffix in SUFFIXES:
        write_pairs(tmp_path / f"set{suffix}", LTL_PAIRS)
    plain = (tmp_path / "set.txt").read_bytes()
    assert plain.startswith(b"&aXb\na;b;{1}\nU1!c\n{!c}\n")
    assert gzip.decompress((tmp_path / "set.txt.gz").read_bytes()) == plain
    assert lzma.decompress((tmp_path / "set.txt.xz").read_bytes()) == plain


def test_values_are_printed_in_the_format_asked_for(tmp_path):
    values = [(parse_prefix(f), parse_trace(label)) for f, label in LTL_PAIRS]
    write_pairs(tmp_path / "a.txt", values)
    assert read_pairs(tmp_path / "a.txt", "ltl") == LTL_PAIRS
    write_pairs(tmp_path / "b.txt", values, format="spaced")
    spaced = read_pairs(tmp_path / "b.txt", "ltl", format="spaced")
    assert spaced[0] == ("& a X b", "a ; b ; { 1 }")
    long = [(parse_prefix("& a ab", format="spaced"), parse_assignment(["ab", "1", "a", "1"]))]
    write_pairs(tmp_path / "c.txt", long, format="spaced")
    assert read_text(tmp_path / "c.txt") == "& a ab\nab 1 a 1\n"
    with pytest.raises(ValueError, match="'ab' is longer than one character"):
        write_pairs(tmp_path / "d.txt", long)
    assert not (tmp_path / "d.txt").exists()


def test_windows_line_ends_and_a_missing_last_one_are_read(tmp_path, bad_line_73):
    path = bad_line_73("&aXb", ending="\r\n")
    assert len(read_pairs(path, "ltl")) == 50
    path = tmp_path / "open.txt"
    path.write_text("a\n{a}")
    assert read_pairs(path, "ltl") == [("a", "{a}")]


def test_the_original_spellings_become_ours(tmp_path):
    path = tmp_path / "original.txt"
    path.write_text("<->axorbc\na1b1c0\n&&xor\nx1o1r1\n")
    pairs = [("=a^bc", "a1b1c0"), ("&&xor", "x1o1r1")]
    assert read_pairs(path, "propositional") == pairs


# Errors


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("&a", "position 2: found the end, expected a formula"),
        ("&aXb;", "position 4: found ';'"),
        ("&aAb", "position 2: found 'A'"),
        ("", "an empty line, expected a formula"),
    ],
)
def test_a_bad_line_is_named(bad_line_73, suffix, line, problem):
    path = bad_line_73(line, suffix=suffix)
    with pytest.raises(DataError) as caught:
        read_pairs(path, "ltl")
    assert str(caught.value).startswith(f"{path}, line 73: ")
    assert problem in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, 73)


@pytest.mark.parametrize(
    ("task", "content", "line", "problem"),
    [
        ("ltl", "a\n{a}\nb\n{b\n", 4, "found the end, expected"),
        ("ltl", "a\n{a}\nb\n\n", 4, "an empty line, expected a trace"),
        ("propositional", "a\n\na\na1\n", 2, "an empty line, expected an assignment"),
        ("propositional", "a\na1\nXa\na1\n", 3, "found 'X'"),
        ("propositional", "a\na1\na\na1b\n", 4, "found the end, expected 0 or 1"),
        ("propositional", "a\na1\na\na1a1\n", 4, "'a' again"),
        ("ltl", "a\n{a}\nb\n", 3, "the file ends here, expected a trace"),
        ("ltl", "a\n{a}\nX\u00e9\n{1}\n", 3, "position 1: found 'é'"),
        ("ltl", "\n", 1, "an empty line, expected a formula"),
    ],
)
def test_other_damage_is_named(tmp_path, task, content, line, problem):
    path = tmp_path / "mine.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_pairs(path, task)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert problem in str(caught.value)


def test_structure_is_checked_even_without_parsing(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("a\n{a}\nb\n")
    with pytest.raises(DataError, match="line 3"):
        read_pairs(path, "ltl", check=False)


def test_another_encoding_is_named(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"a\n{a}\nb\xe9\n{b}\n")
    with pytest.raises(DataError, match="line 3: found byte 0xe9, expected text in UTF-8"):
        read_pairs(path, "ltl")


@pytest.mark.parametrize("suffix", [".txt.gz", ".txt.xz"])
@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_a_truncated_archive_is_named(tmp_path, suffix, kept):
    path = tmp_path / f"set{suffix}"
    write_pairs(path, LTL_PAIRS)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match="a damaged or truncated archive") as caught:
        read_pairs(path, "ltl")
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("suffix", [".txt.gz", ".txt.xz"])
def test_flipped_bits_in_an_archive_never_pass(tmp_path, suffix):
    path = tmp_path / f"set{suffix}"
    write_pairs(path, LTL_PAIRS)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert read_pairs(path, "ltl") == LTL_PAIRS  # a bit of the header that means nothing
        except DataError as error:
            assert str(path) in str(error)


def test_a_name_that_is_not_expected_is_named(tmp_path):
    path = tmp_path / "mine.txt"
    write_pairs(path, LTL_PAIRS)
    assert read_pairs(path, "ltl", propositions=("a", "b", "c")) == LTL_PAIRS
    with pytest.raises(DataError, match="line 3: .*found 'c'"):
        read_pairs(path, "ltl", propositions=("a", "b"))


@pytest.mark.parametrize("pair", [("", "{1}"), ("a", "{1}\n"), ("a\r", "{1}")])
def test_what_would_break_the_format_is_not_written(tmp_path, pair):
    with pytest.raises(ValueError, match="expected one line of text"):
        write_pairs(tmp_path / "set.txt", [pair])
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_task_is_named(tmp_path):
    with pytest.raises(ValueError, match="unknown task 'LTL'"):
        read_pairs(tmp_path / "set.txt", "LTL")


# Sets in folders


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Empty folders in place of the shipped and the own sets."""
    monkeypatch.setattr(sets, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(sets, "OWN", tmp_path / "own")
    return tmp_path


def put(folder, pairs, task="ltl") -> None:
    """A set with one split, written by hand."""
    write_pairs(folder / "train.txt", pairs)
    text = (folder / "train.txt").read_text()
    entry = {"file": "train.txt", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    manifest = {"name": folder.name, "task": task, "files": {"train": entry}}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_shipped_sets_come_before_ones_own(folders):
    with pytest.raises(MissingSetError, match="python -m itekit generate ltl35 --scale smoke"):
        find_set("ltl35", "smoke")
    put(folders / "own" / "ltl35-smoke", LTL_PAIRS)
    assert read_set("ltl35", "smoke") == {"train": LTL_PAIRS}
    put(folders / "shipped" / "ltl35-smoke", LTL_PAIRS[:2])
    assert read_set("ltl35", "smoke") == {"train": LTL_PAIRS[:2]}
    with pytest.raises(MissingSetError, match="--scale smoke --seed 3"):
        read_set("ltl35", "smoke", seed=3)


def test_a_changed_file_is_noticed(folders):
    folder = folders / "own" / "ltl35-smoke"
    put(folder, LTL_PAIRS)
    write_pairs(folder / "train.txt", LTL_PAIRS[1:])
    with pytest.raises(DataError, match=r"train\.txt: not the file that manifest\.json describes"):
        read_set("ltl35", "smoke")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"name": "x"}', '{"name": 1, "files": {}}'])
def test_a_damaged_manifest_is_named(folders, content):
    (folders / "own").mkdir()
    (folders / "own" / MANIFEST).write_text(content)
    with pytest.raises(DataError, match=r"manifest\.json: "):
        read_folder(folders / "own")


def test_derived_sets_need_only_their_source(folders):
    pairs = [("&bXa", "b;a;{1}"), ("Uca", "&!ba;{c}")] * 10
    put(folders / "own" / "ltl35-smoke", pairs)
    assert read_set("ltl-limited", "smoke") == {"train": pairs[:2]}
    perturbed = read_set("ltl-perturbed", "smoke")["train"]
    assert perturbed == [("&aXb", "a;b;{1}"), ("Ucb", "&!ab;{c}")] * 10
    with pytest.raises(MissingSetError, match="generate prop35"):
        read_set("prop-limited", "smoke")


# Presets


@pytest.mark.parametrize("scale", ["smoke", "lab", "paper"])
@pytest.mark.parametrize("name", NAMES)
def test_presets_are_values_that_survive_json(name, scale):
    recipe = preset(name, scale, 5)
    kind = Derivation if isinstance(recipe, Derivation) else Recipe
    assert kind.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    assert folder_name(recipe) == f"{name}-{scale}-s5"
    assert (recipe.name, recipe.scale, recipe.seed) == (name, scale, 5)
    assert recipe.task == ("ltl" if name.startswith("ltl") else "propositional")


def test_the_papers_sets_have_the_papers_numbers():
    ltl, propositional = preset("ltl35", "paper"), preset("prop35", "paper")
    for recipe, alpha, low in ((ltl, 0.112, 10), (propositional, 0.095, 12)):
        (stratum,) = recipe.strata
        assert (stratum.propositions, stratum.low, stratum.high) == (5, 1, 35)
        assert stratum.cap == int(1_000_000 * (1 - alpha) / len(range(low, 36)))
        assert recipe.count == 1_000_000
    assert (ltl.method, preset("ltl35-10ap", "paper").method) == ("default", "fast")
    assert preset("ltl-limited", "paper").count == 80_000 + 200_000
    grid = preset("ltl-generalization", "paper")
    cells = {(s.propositions, s.low): s.count for s in grid.strata}
    assert all(s.low == s.high and s.all_propositions for s in grid.strata)
    possible = {(n, size) for n in range(1, 11) for size in range(1, 51) if size > 2 * n - 2}
    assert cells.keys() == possible and set(cells.values()) == {100}
    covariance = preset("prop-alpha-covariance", "paper")
    assert [(s.propositions, s.count) for s in covariance.strata] == [
        (n, 1000) for n in range(3, 11)
    ]


def test_unknown_names_and_scales_are_named():
    with pytest.raises(ValueError, match="unknown set 'ltl36': expected one of ltl35, "):
        preset("ltl36", "lab")
    with pytest.raises(ValueError, match="'large'"):
        preset("ltl35", "large")
    with pytest.raises(ValueError, match="unknown setting|not a recipe"):
        Recipe.from_json(preset("ltl35", "lab").to_json() | {"colour": "red"})


def test_the_table_says_what_is_there(folders):
    put(folders / "own" / "ltl35-smoke", LTL_PAIRS)
    put(folders / "shipped" / "prop35-lab", PROPOSITIONAL_PAIRS, "propositional")
    lines = {line.split(" ")[0]: line for line in sets.table().splitlines()}
    assert "200     here" in lines["ltl35"] and "shipped" not in lines["ltl35"]
    assert "100,000  shipped" in lines["prop35"] and "here" not in lines["prop35"]
    assert all(name in lines for name in NAMES)


def test_digest_is_of_the_text_in_utf8():
    assert digest("é\n") == hashlib.sha256("é\n".encode()).hexdigest()
