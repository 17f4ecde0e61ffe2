"""README.md in step with the kit: commands, links, notebooks, the map, the numbers."""

import re
import shlex
from pathlib import Path

import nbformat
import numpy as np
import pytest

from itekit import readme, setup_check, summary
from itekit.__main__ import make_parser
from itekit.experiments import experiment
from itekit.notebooks import known_parameters
from itekit.results import MissingResultError, load_redraw, save_result

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"^```\n(.*?)^```$", TEXT, re.M | re.S))
WRITTEN = TEXT.partition("<!-- map -->")[0] + TEXT.partition("<!-- /map -->")[2]
COMMANDS = re.findall(r"`(python -m itekit[^`]*|make \w[^`]*)`", WRITTEN) + BLOCKS.splitlines()
COMMANDS = [command.split(" #")[0].strip() for command in COMMANDS if command.strip()]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
TABLE = re.findall(r"^\| \[.*?\]\(notebooks/(.*?)\) \| .* \| (\d+) \|$", TEXT, re.M)


def section(name: str) -> str:
    return TEXT.split(f"<!-- {name} -->\n")[1].split(f"\n<!-- /{name} -->")[0]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make ")])
def test_make_commands_exist(command):
    words = shlex.split(command)[1:]
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert words[0] in rules
    for variable, value in (word.split("=") for word in words[1:]):
        assert re.search(rf"^{variable} \?=", (ROOT / "Makefile").read_text(), re.M)
        assert not value.endswith(".txt") or (ROOT / value).is_file()


@pytest.mark.parametrize("command", [c for c in COMMANDS if " -m itekit" in c])
def test_itekit_commands_are_understood(command):
    arguments = make_parser().parse_args(shlex.split(command.split(" -m itekit ")[1]))
    if arguments.command in ("train", "evaluate", "redraw"):
        experiment(arguments.name, arguments.scale, arguments.seed)
    if arguments.command == "run":
        known = known_parameters(ROOT / arguments.notebook)
        assert {name for name, _ in arguments.parameter} <= set(known)


def test_papermill_commands_name_notebooks_and_parameters():
    commands = [shlex.split(c) for c in COMMANDS if c.startswith("papermill ")]
    assert commands
    for words in commands:
        known = known_parameters(ROOT / words[1])
        assert {words[i + 1] for i, word in enumerate(words) if word == "-p"} <= set(known)


def test_every_command_is_of_a_kind_that_is_tested():
    assert {c.split()[0] for c in COMMANDS} == {"make", "python", "papermill", "torchrun"}
    assert "make run" in COMMANDS and "make test" in COMMANDS


def test_every_notebook_is_in_the_table_once_and_in_order():
    assert [name for name, _ in TABLE] == NOTEBOOKS


@pytest.mark.parametrize(("name", "minutes"), TABLE)
def test_minutes_are_those_that_the_notebook_says(name, minutes):
    first = nbformat.read(ROOT / "notebooks" / name, 4).cells[0].source
    said = re.search(r"\*\*(?:Minutes|Time)\.\*\*\D*(\d+)", first)
    assert said and said[1] == minutes


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    headings = re.findall(r"^#+ (.*)$", TEXT, re.M)
    anchors = {"#" + re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
    assert links
    for link in links:
        if link.startswith("#"):
            assert link in anchors
        elif not link.startswith("https:"):
            assert (ROOT / link).exists(), f"{link} does not exist"


def test_map_lists_every_module_once_as_its_docstring_says():
    listed = re.findall(r"\((itekit/[\w/]+\.py)\) \|", section("map"))
    there = [path.relative_to(ROOT).as_posix() for path in (ROOT / "itekit").rglob("*.py")]
    assert listed == sorted(there)
    assert section("map") == readme.module_map(), "run: python -m itekit readme"


def test_results_are_those_of_the_data_folder():
    assert section("results") == summary.comparison_table(), "run: python -m itekit readme"


def test_redraws_are_those_of_the_data_folder():
    found = load_redraw("ltl/longer", "lab", 0)["result"]
    beams = [found[part]["solved_beams"]["all"] for part in ("test", "generalization")]
    (one, grid_one), (ten, grid_ten) = ([f"{100 * b[i]:.1f}" for b in beams] for i in (0, -1))
    assert [len(b) for b in beams] == [10, 10]
    said = " ".join(TEXT.split())
    assert f"{ten} % of the LTL test problems and {grid_ten} % of the grid" in said
    assert f"({one} and {grid_one} % with one;" in said


def test_requirements_are_those_of_the_set_up_check():
    for build in ("cpu", "cuda"):
        size = setup_check.ENVIRONMENT_BYTES[build] + setup_check.DOWNLOAD_BYTES[build]
        assert f"{size / setup_check.GB:g} GB" in TEXT
    assert "glibc {}.{}".format(*setup_check.GLIBC) in TEXT
    assert all(
        f"3.{minor}" in TEXT for minor in range(setup_check.OLDEST[1], setup_check.NEWEST[1] + 1)
    )


def test_no_private_path_and_no_badge():
    assert not re.search(r"/(work|tmp|home|root)/|shields\.io|badge\.svg|mybinder\.org/badge", TEXT)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "data").rglob("*.json")), ids=lambda path: path.name
)
def test_no_private_path_in_what_results_record(path):
    assert not re.search(r"/(work|tmp|home|root)/", path.read_text(encoding="utf-8"))


# what writes the tables


def test_replaced_touches_only_what_stands_between_the_comments():
    text = "a\n<!-- x -->\nold\nlines\n<!-- /x -->\nb <!-- y -->\n"
    once = readme.replaced(text, "x", "new")
    assert once == "a\n<!-- x -->\nnew\n<!-- /x -->\nb <!-- y -->\n"
    assert readme.replaced(once, "x", "new") == once


@pytest.mark.parametrize(
    "text",
    ["", "<!-- x -->\n", "\n<!-- /x -->\n<!-- x -->\n", 2 * "<!-- x -->\n\n<!-- /x -->\n"],
)
def test_replaced_names_the_comments_it_misses(text):
    with pytest.raises(ValueError, match="<!-- x -->"):
        readme.replaced(text, "x", "new")


def test_first_sentence_ends_at_its_full_stop_only():
    assert readme.first_sentence("One file\nfor 1.5 GB. Two.\n\nThree.") == "One file for 1.5 GB"
    assert readme.first_sentence("No stop") == "No stop"


def test_module_map_asks_for_a_docstring(tmp_path):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "silent.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match="kit/silent.py"):
        readme.module_map(tmp_path / "kit")


def result(name: str, seed: int, **more) -> dict:
    return {
        "name": name,
        "scale": "paper",
        "seed": seed,
        "experiment": {"data": {"characters": 5}},
        "result": {"mean_edit_distance": 9.5, "mean_within_training_characters": 0.25},
        "trained": {"steps": 20000, "seconds": 1800 + 60 * seed, "hardware": "one | CPU"} | more,
    }


def test_plain_is_compared_over_the_characters_it_was_trained_on():
    assert summary.our_value(result("copying-5-10/plain", 0)) == 0.25
    assert summary.our_value(result("copying-5-10/proposed", 0)) == 9.5
    line = summary.run_line(result("copying-5-10/plain", 0))
    assert "0.25 (up to 5 unique characters); paper 0.51" in line


def test_row_shows_every_seed_and_the_span_of_minutes():
    runs = tuple(result("copying-5-10/proposed", seed) for seed in (0, 2))
    cells = summary.Row("copying-5-10/proposed", "paper", runs).cells()
    expected = "copying-5-10/proposed paper 0.38|9.50, 9.50|0, 2|20,000|30 to 32"
    assert cells[:7] == [*expected.split("|")[0].split(), *expected.split("|")[1:]]
    assert "one \\| CPU" in summary.markdown_table(summary.HEAD, [cells])


def test_another_rope_base_is_a_row_of_ours_without_a_figure_of_the_paper():
    runs = (result("copying-5-10/proposed", 0),)
    cells = summary.Row("copying-5-10/proposed", "paper", runs, {"rope_base": 1_000_000}).cells()
    assert "RoPE base 1,000,000" in cells[0] and cells[2] == ""


def test_a_run_without_times_is_told_as_unfinished():
    partial = result("copying-5-10/proposed", 0)
    partial["trained"] = {"steps": 7500, "partial": True}
    assert "7,500 steps (unfinished); mean" in summary.run_line(partial)
    assert summary.Row("copying-5-10/proposed", "paper", (partial,)).cells()[6:] == ["", ""]


def test_picture_shows_the_shipped_grids_with_the_training_region(tmp_path, monkeypatch):
    monkeypatch.setattr("itekit.results.RESULTS", tmp_path)
    with pytest.raises(MissingResultError, match="plain"):
        readme.picture()
    axis = list(range(3, 31))
    for variant, scale in (("proposed", 0.5), ("plain", 1.0), ("randomized-positions", 0.0)):
        made = experiment(f"copying-5-10/{variant}", "paper")
        grid = [[scale * s if u <= s else None for s in axis] for u in axis]
        value = {"experiment": made.to_json(), "result": {"axis": axis, "grid": grid}}
        save_result(value | {"name": made.name, "scale": "paper", "seed": 0}, tmp_path)
    figure = readme.picture()
    heatmaps = [trace for trace in figure.data if trace.type == "heatmap"]
    assert [np.nanmax(trace.z) for trace in heatmaps] == [30, 15, 0]
    boxes = [trace for trace in figure.data if trace.name == "training data"]
    assert [(min(b.x), max(b.x), min(b.y), max(b.y)) for b in boxes] == 3 * [(4.5, 10.5, 2.5, 5.5)]


def test_refresh_writes_the_readme_and_keeps_the_picture_without_results(tmp_path, monkeypatch):
    monkeypatch.setattr("itekit.results.RESULTS", tmp_path / "none")
    picture = tmp_path / readme.PICTURE
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"old")
    (tmp_path / "README.md").write_text(TEXT, encoding="utf-8")
    said = readme.refresh(tmp_path)
    assert [line.split()[0] for line in said] == ["written", "kept"]
    assert picture.read_bytes() == b"old"
    written = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| copying-5-10/proposed |  | 0.38 | not run |" in written
