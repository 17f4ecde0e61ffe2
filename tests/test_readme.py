"""README.md in step with the kit: commands, links, notebooks, figures; the tables of results."""

import re
import shlex
from pathlib import Path

import nbformat
import pytest

from itekit import doctor
from itekit.__main__ import make_parser
from itekit.experiments import experiment
from itekit.notebooks import known_parameters
from itekit.results import (
    comparison_table,
    load_redraw,
    logic_table,
    our_value,
    paper_value,
    results,
)

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "data" / "results" / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`(python -m itekit[^`]*|make \w[^`]*)`", TEXT)
COMMANDS += "\n".join(re.findall(r"^```\n(.*?)^```$", TEXT, re.M | re.S)).splitlines()
COMMANDS = [command.split(" #")[0].strip() for command in COMMANDS if command.strip()]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
TABLE = re.findall(r"^\| \[.*?\]\(notebooks/(.*?)\) \| .* \| (\d+) \|$", TEXT, re.M)
METHOD = "vocabulary random_vectors embeddings model losses data training decoding evaluation"
METHOD = [*METHOD.split(), "alpha", "experiments"]
PAGES = [ROOT / "README.md", *ROOT.glob("data/**/README.md"), ROOT / "notebooks" / "README.md"]


def rows(text: str) -> list[list[str]]:
    """The cells of all rows of tables whose first cell is the name of an experiment."""
    found = re.findall(r"^\| ((?:copying|ltl|prop)[\w-]*/.*?) \|$", text, re.M)
    return [row.split(" | ") for row in found]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command):
    words = shlex.split(command)
    if words[0] == "make":
        makefile = (ROOT / "Makefile").read_text()
        assert words[1] in re.findall(r"^([\w-]+):", makefile, re.M)
        for variable, value in (word.split("=") for word in words[2:]):
            assert re.search(rf"^{variable} \?=", makefile, re.M)
            assert not value.endswith(".txt") or (ROOT / value).is_file()
    elif words[0] == "papermill":
        given = {words[i + 1] for i, word in enumerate(words) if word == "-p"}
        assert given and given <= set(known_parameters(ROOT / words[1]))
    else:
        assert words[:3] == ["python", "-m", "itekit"]
        arguments = make_parser().parse_args(words[3:])
        if arguments.command in ("train", "evaluate", "redraw"):
            experiment(arguments.name, arguments.scale, arguments.seed)
        if arguments.command == "run":
            known = known_parameters(ROOT / arguments.notebook)
            assert {name for name, _ in arguments.parameter} <= set(known)


def test_every_notebook_is_in_the_table_once_and_in_order():
    assert [name for name, _ in TABLE] == NOTEBOOKS


@pytest.mark.parametrize(("name", "minutes"), TABLE)
def test_minutes_are_those_that_the_notebook_says(name, minutes):
    first = nbformat.read(ROOT / "notebooks" / name, 4).cells[0].source
    said = re.search(r"\*\*(?:Minutes|Time)\.\*\*\D*(\d+)", first)
    assert said and said[1] == minutes


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.parent.name)
def test_links_lead_somewhere_and_paths_are_public(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    anchors = {"#" + re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
    for link in re.findall(r"\]\(([^)]+)\)", text):
        path, _, _ = link.partition("#")
        if link.startswith("#"):
            assert link in anchors, link
        elif not link.startswith("https:"):
            assert (page.parent / path).exists(), f"{link} does not exist"
    for name in re.findall(r"`(itekit\.[\w.]+)", text):  # a module, or a name in one
        module = ROOT / name.replace(".", "/")
        module = module if module.with_suffix(".py").exists() else module.parent
        assert module.with_suffix(".py").exists() or (module / "__init__.py").exists(), name
    assert not re.search(r"/(work|tmp|home|root)/|shields\.io|mybinder\.org/badge", text)


def test_the_method_is_listed_in_reading_order():
    assert re.findall(r"\[\w+\]\(itekit/(\w+)\.py\)", TEXT)[-len(METHOD):] == METHOD  # fmt: skip


def test_the_set_up_needs_what_the_check_asks_for():
    for environment, downloads in doctor.SPACE.values():
        assert f"{(environment + downloads) / doctor.GB:g} GB" in TEXT
    assert "glibc {}.{}".format(*doctor.GLIBC) in TEXT
    assert all(f"3.{i}" in TEXT for i in range(doctor.OLDEST[1], doctor.NEWEST[1] + 1))


def test_no_private_path_in_what_results_record():
    for path in (ROOT / "data").rglob("*.json"):
        assert not re.search(r"/(work|tmp|home|root)/", path.read_text(encoding="utf-8")), path


# figures


def test_headline_figures_are_those_of_the_results():
    for label, paper, ours, size in rows(TEXT):
        name, copying = re.match(r"[^ ,]+", label)[0], label.startswith("copying")
        runs = results(name, "paper" if copying else "lab")
        assert size == runs[0]["scale"]
        if copying:
            found, key = [f"{our_value(run):.2f}" for run in runs], name
        else:
            part, rate = ("test", "correct")
            key = f"{name}/correct"
            if "grid" in label:
                part, rate = "generalization", "mean_correct_cells"
                key = f"{name}/heatmap-mean-correct"
            found = [f"{100 * run['result'][part][rate]:.1f}" for run in runs]
        spread = f"{min(found, key=float)} to {max(found, key=float)}"
        assert ours == (spread if len(found) > 2 else ", ".join(found)), label
        assert paper == "–" or float(paper) == round(paper_value(key), 2 if copying else 1), label
    assert 8 <= len(rows(TEXT)) <= 10
    probes = [our_value(run) for run in results("copying-5-10/proposed", "paper", rope_base=1e6)]
    assert f"| – | {min(probes):.2f} to {max(probes):.2f} | paper |" in TEXT


def test_the_tables_of_results_are_those_of_the_files():
    for table in (comparison_table(), logic_table()):
        assert table in RESULTS, f"data/results/README.md has to have:\n{table}"


def test_redraws_are_those_of_the_data_folder():
    found = load_redraw("ltl/longer", "lab", 0)["result"]
    beams = [found[part]["solved_beams"]["all"] for part in ("test", "generalization")]
    (one, grid_one), (ten, grid_ten) = ([f"{100 * b[i]:.1f}" for b in beams] for i in (0, -1))
    said = " ".join(RESULTS.split())
    assert f"{ten} % of the LTL test problems and {grid_ten} % of the grid" in said
    assert f"({one} and {grid_one} % with one;" in said
