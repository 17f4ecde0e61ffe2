"""The paper's figures are recorded whole, are consistent, and are found by the right names."""

import dataclasses
import math

import pytest

from itekit.experiments import FAMILIES, NAMES
from itekit.paper import FILE, citation, paper_value, paper_values


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("copying-5-10/proposed", 0.38),
        ("copying-5-10/plain", 0.51),
        ("copying-5-10/full-vocabulary", 4.93),
        ("copying-5-10/alpha-renaming", 1.85),
        ("copying-3-30/models", 27),
        ("copying-3-30/models-without-error", 20),
        ("copying-3-30/worst", 1.0),
        ("copying-large/proposed", 0.0),
        ("copying-5-10/median-choice/difference", 1.4),
        ("copying-5-10/median-choice/absolute-difference", 9.1),
    ],
)
def test_figures_are_those_of_the_appendix(key, value):
    assert paper_value(key) == value == paper_values()[key].value


def test_spread_over_draws_is_ordered_and_its_mean_is_the_result():
    low, mean, high = (paper_value(f"copying-5-10/draws/{name}") for name in ("min", "mean", "max"))
    assert (low, mean, high, paper_value("copying-5-10/draws/std")) == (0.25, 0.38, 0.55, 0.09)
    assert mean == paper_value("copying-5-10/proposed")
    assert paper_value("copying-5-10/proposed-table") == round(mean, 1)  # the table's best cell


def test_keys_are_named_after_experiments_or_their_families():
    keys = paper_values()
    assert {key.split("/")[0] for key in keys} == set(FAMILIES)
    assert {name for name in NAMES if name.startswith("copying-5-10/")} <= set(keys)


def test_every_figure_says_what_it_is():
    for key, entry in paper_values().items():
        assert math.isfinite(entry.value) and entry.value >= 0, key
        for field in dataclasses.fields(entry):
            assert getattr(entry, field.name) not in ("", None), (key, field.name)


@pytest.mark.parametrize("key", ["copying-5-10/propsed", "", "ltl/proposed-on-the-moon"])
def test_an_unknown_figure_is_an_error_that_helps(key):
    with pytest.raises(ValueError, match="paper.json") as caught:
        paper_value(key)
    assert repr(key) in str(caught.value)
    assert any(known in str(caught.value) for known in paper_values())


def test_citation_names_all_authors_title_and_year():
    text = citation()
    for part in ("Işık", "Cinbis", "Aydin Gol", "Interchangeable Token Embeddings", "2025"):
        assert part in text


def test_the_data_card_speaks_of_everything_in_data():
    card = (FILE.parent / "README.md").read_text(encoding="utf-8")
    entries = [path.name for path in FILE.parent.iterdir() if not path.name.startswith(".")]
    assert [name for name in entries if name not in card and name != "README.md"] == []
