"""The pages of Markdown in step with the kit: commands, minutes, figures."""

import re
import shlex
from pathlib import Path

import nbformat
import pytest

from itekit.__main__ import make_parser
from itekit.notebooks import known_parameters
from itekit.results import load_redraw, our_value, paper_value, results

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "notebooks" / "README.md", *ROOT.glob("data/**/README.md")]
COMMAND = (
    r"^(?:(?:python -m itekit|make|papermill) [^`#\n]+)|(?<=`)(?:python -m itekit|make) \w[^`]+"
)


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda path: path.parent.name)
def test_commands_are_understood(page):
    text, makefile = page.read_text(encoding="utf-8"), (ROOT / "Makefile").read_text()
    for command in re.findall(COMMAND, text, re.M):
        words = shlex.split(command)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), command
            assert all(re.search(rf"^{w.split('=')[0]} \?=", makefile, re.M) for w in words[2:])
        elif words[0] == "papermill":
            given = {words[i + 1] for i, word in enumerate(words) if word == "-p"}
            assert given <= set(known_parameters(ROOT / words[1])), command
        else:
            make_parser().parse_args(words[3:])


def test_the_table_has_every_notebook_and_the_minutes_that_it_says():
    table = re.findall(r"^\| \[.*?\]\(notebooks/(.*?)\) \| .* \| (\d+) \|$", README, re.M)
    assert [name for name, _ in table] == sorted(p.name for p in ROOT.glob("notebooks/*.ipynb"))
    for name, minutes in table:
        first = nbformat.read(ROOT / "notebooks" / name, 4).cells[0].source
        assert re.search(r"\*\*(?:Minutes|Time)\.\*\*\D*(\d+)", first)[1] == minutes, name


def test_headline_figures_are_those_of_the_results():
    rows = re.findall(r"^\| ((copying|ltl|prop)[\w-]*/\S+?)[ ,](.*) \| (.*) \|$", README, re.M)
    assert len(rows) >= 8
    for name, family, rest, size in rows:
        label, paper, ours = rest.rsplit(" | ", 2)
        part, rate, key = "test", "correct", f"{name}/correct"
        if "grid" in label:
            part, rate, key = "generalization", "mean_correct_cells", f"{name}/heatmap-mean-correct"
        runs, digits = results(name, size), 1
        found = [100 * run["result"][part][rate] for run in runs if family != "copying"]
        if "people wrote" in label:
            written = load_redraw(name, size, suffix="patterns")["result"]["patterns"]
            found = [100 * written["solved"]["all"][0]]
        if family == "copying":
            found, digits, key = [our_value(run) for run in runs], 2, name
        lowest, highest = (f"{value:.{digits}f}" for value in (min(found), max(found)))
        shown = ", ".join(f"{value:.{digits}f}" for value in found)
        assert ours in (shown, f"{lowest} to {highest}"), name
        assert paper == "–" or float(paper) == round(paper_value(key), digits), name


def test_no_private_path_stands_anywhere():
    for path in [*PAGES, *ROOT.glob("data/**/*.json")]:
        assert not re.search(r"/(work|tmp|home|root)/", path.read_text(encoding="utf-8")), path
