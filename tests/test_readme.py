"""The pages in step with the kit: commands, minutes, figures, code; where their links lead."""

import re
import runpy
import shlex
from pathlib import Path
from statistics import mean

import nbformat
import pytest
import torch

from itekit import __version__
from itekit.__main__ import make_parser
from itekit.notebooks import known_parameters
from itekit.results import results
from lessons.paper import our_rate, our_value, paper_value
from lessons.runs import draw_rates

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *ROOT.glob("notebooks/*.md"), *ROOT.glob("data/**/*.md")]
NOTEBOOKS = sorted(ROOT.glob("notebooks/**/*.ipynb"))
LINK = re.compile(r"\]\((?!https?:|../../deployments/)([^)#\s]*)#?([^)\s]*)\)")
COMMAND = (
    r"^(?:(?:python -m itekit|make|papermill) [^`#\n]+)|(?<=`)(?:python -m itekit|make) \w[^`]+"
)


@pytest.mark.parametrize("page", PAGES[:5], ids=lambda path: path.stem)
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


def test_the_figures_of_what_came_out_are_those_of_the_results():
    text, copying = " ".join(README.split()), "copying-5-10/"
    ours = sorted(our_value(run) for run in results(copying + "proposed", "paper"))
    paper = paper_value(copying + "proposed")
    said = f"by {paper} letters a string, our seven by {ours[0]:.2f} to {ours[-1]:.2f}."
    assert said in text and len(ours) == 7
    mended = [our_value(run) for run in results(copying + "randomized-positions", "paper")]
    assert "{:.2f} and {:.2f} letters".format(*mended) in text
    for name in ("proposed", "alpha-renaming", "converted"):
        runs = results(f"ltl/{name}", "lab")
        rates = [100 * our_rate(run, "heatmap-mean-correct") for run in runs]
        assert "{:.1f} and {:.1f} %".format(*rates) in text, name
    ours, theirs = (draw_rates(results(f"ltl/{n}", "lab")[0]) for n in ("proposed", "without-f_bn"))
    worst = 100 * (min(ours) - min(theirs))
    said = f"by {100 * (mean(ours) - mean(theirs)):.1f} points in the mean over ten draws"
    assert f"{said} and by {worst:.0f} in the worst draw" in text


def test_two_trainings_of_one_method_scatter_as_lesson_10_says():
    names = [f"ltl/{name}" for name in ("proposed", "alpha-renaming", "smallest-set", "converted")]
    pairs = [results(name, "lab") for name in (*names, "prop/converted")]
    gaps = [our_rate(one, "beyond") - our_rate(other, "beyond") for one, other in pairs]
    deviation = 100 * mean(gap**2 / 2 for gap in gaps) ** 0.5
    text = (ROOT / "notebooks/10_generalization_and_ablations.ipynb").read_text(encoding="utf-8")
    assert f"standard deviation of {deviation:.1f} points" in text
    assert f"± {1.96 * 2**0.5 * deviation:.0f} points from training alone" in text
    assert f"differences has ± {1.96 * deviation:.1f}." in text


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_code_does_what_the_text_says(code, capsys):
    state = torch.get_rng_state()
    exec(compile(code, "README.md", "exec"), {})
    torch.set_rng_state(state)
    said = capsys.readouterr().out
    assert said.endswith(" correct\n") or int(said.split("%")[0]) >= 95, said


def test_the_version_is_the_same_everywhere():
    assert re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_no_private_path_stands_anywhere():
    for path in [*PAGES, *ROOT.glob("data/**/*.json")]:
        assert not re.search(r"/(work|tmp|home|root)/", path.read_text(encoding="utf-8")), path


def text_of(page: Path) -> str:
    """What a page says, without code."""
    if page.suffix == ".md":
        return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    cells = nbformat.read(page, 4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("page", PAGES + NOTEBOOKS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(text_of(page)):
        target = page.parent / path if path else page
        assert target.exists(), (path, anchor)
        if anchor:
            headings = re.findall(r"^#+ (.*)$", text_of(target), re.M)
            found = {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}
            assert anchor in found, (path, anchor)


def test_the_sidebar_of_the_site_has_every_page(monkeypatch):
    """Needs what `make site` installs; without it the site itself is the test."""
    pytest.importorskip("myst_nb")
    conf = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    listed = [d for documents in conf["CONTENTS"].values() for d in documents]
    for page in PAGES[1:] + NOTEBOOKS:
        name = page.relative_to(ROOT).with_suffix("")
        assert any(name.match(pattern) for pattern in listed), name
