"""Copies with their edits, and the panels: what a reader sees, tested without a browser."""

import html
import re
import subprocess
import sys

import ipywidgets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons import copies as module
from lessons import widgets
from lessons.copies import Copy, CopyTable, copies, marked, rows_in_use
from itekit.copying import edit_distances, length_batch
from itekit.evaluation import GridEvaluation
from itekit.experiments import experiment
from itekit.network import Network
from itekit.vocabulary import UnknownTokenError

STRINGS = st.text("abcdef", max_size=12)


@pytest.fixture(scope="module")
def networks() -> dict[str, Network]:
    """Untrained networks: what they answer is noise, which is what a panel must cope with."""
    names = ("plain", "proposed")
    return {n: Network.build(experiment(f"copying-5-10/{n}", "smoke")).train(False) for n in names}


@pytest.fixture()
def copying(monkeypatch):
    """A perfect copier in the place of decoding."""
    monkeypatch.setattr(module, "copy_strings", lambda network, U, batch: batch.source)


# edits


@given(STRINGS, STRINGS)
def test_edits_rebuild_both_strings_and_count_the_distance(source, answer):
    copy = Copy(source, answer)
    assert "".join(c for _, c, _ in copy.edits if c != module.GAP) == source
    assert "".join(c for _, _, c in copy.edits if c != module.GAP) == answer
    assert sum(sign != " " for sign, _, _ in copy.edits) == copy.distance
    assert all((sign == " ") == (a == b) for sign, a, b in copy.edits)


@pytest.mark.parametrize(
    ("source", "answer", "signs"),
    [("abc", "abc", "   "), ("abc", "axc", " ≠ "), ("abc", "ac", " − "), ("abc", "abcc", "  + ")],
)
def test_signs_tell_the_edits_apart_without_colour(source, answer, signs):
    found = "".join(sign for sign, _, _ in Copy(source, answer).edits)
    assert sorted(found) == sorted(signs)
    text = re.sub(r"<[^>]*>", "", marked(Copy(source, answer)))
    assert text.partition("\n")[2] == found.rstrip()


def test_table_escapes_what_a_reader_typed():
    page = CopyTable({"<b>": [Copy("<i>", "&")], "x": [Copy("<i>", "", "no <row>")]})._repr_html_()
    assert "<i>" not in page and "<row>" not in page and "<b>" not in page
    assert "&lt;i&gt;" in page and "no &lt;row&gt;" in page


def test_table_as_text_says_string_answer_problem_and_distance():
    table = CopyTable({"a": [Copy("xyz", "xz")], "b": [Copy("xyz", "", "no row")]})
    assert repr(table) == "xyz\n  a: xz  distance 1\n  b: (empty: no row)  distance 3"


def test_table_refuses_columns_of_different_strings():
    with pytest.raises(ValueError, match="a, b"):
        CopyTable({"a": [Copy("x", "x")], "b": [Copy("y", "y")]})
    with pytest.raises(ValueError, match="at least one"):
        CopyTable({})


# copies by a network


def test_copies_agree_with_the_evaluation(networks):
    """The same strings, embeddings and answers as a cell of the evaluation, for every draw."""
    network = networks["proposed"]
    evaluation = GridEvaluation(network, progress=False)
    batch = length_batch(network, 6, [3, 6], evaluation.seed)
    texts = [
        "".join(evaluation.vocabulary.decode(t for t in row if t > 1))
        for row in batch.source.tolist()
    ]
    for draw in range(3):
        answers = module.copy_strings(network, evaluation.matrix(draw), batch)
        expected = edit_distances(answers, batch.target).tolist()
        assert [copy.distance for copy in copies(network, texts, draw)] == expected


def test_copies_keep_order_when_some_strings_cannot_be_read(networks, copying):
    texts = ["abc", "xyz", "e", "abcdef", "edcba"]
    found = copies(networks["plain"], texts)
    assert [copy.source for copy in found] == texts
    assert [copy.answer for copy in found] == ["abc", "", "e", "", "edcba"]
    assert [copy.distance for copy in found] == [0, 3, 0, 6, 0]
    assert "'x'" in found[1].problem and "'f'" in found[3].problem
    assert [copy.answer for copy in copies(networks["proposed"], texts)] == texts


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("a" * 61, "61 characters: at most 60"), ("ab!", "'!' at position 2")],
)
def test_a_string_that_no_network_can_read_is_an_error(networks, text, message):
    for network in networks.values():
        with pytest.raises(ValueError, match=message):
            copies(network, ["abc", text])


def test_rows_in_use_share_their_first_part_and_differ_in_the_second(networks):
    rows, tokens = rows_in_use(networks["proposed"], "zaz")
    assert tokens == ["<end>", "<start>", "a", "z"]
    shared = rows.shape[1] - networks["proposed"].experiment.embedding.d_beta
    assert (rows[2, :shared] == rows[3, :shared]).all()
    assert (rows[2, shared:] != rows[3, shared:]).any()
    assert (rows[:2, shared:] == 0).all()
    again, other = (rows_in_use(networks["proposed"], "zaz", draw)[0] for draw in (0, 1))
    assert (again == rows).all() and (other[:, :shared] == rows[:, :shared]).all()
    assert (other != rows).any()
    with pytest.raises(UnknownTokenError):
        rows_in_use(networks["plain"], "zaz")


# the functions behind the panels


def test_rows_figure_marks_the_two_parts_of_the_proposed_embedding_only(networks):
    figure = widgets.rows_figure(networks["proposed"], "abz", 4)
    assert list(figure.data[0].y) == ["<end>", "<start>", "a", "b", "z"]
    words = [a.text for a in figure.layout.annotations]
    assert "shared (learned)" in words and "random" in words
    plain = widgets.rows_figure(networks["plain"], "ab")
    assert "random" not in [a.text for a in plain.layout.annotations]
    assert np.shape(plain.data[0].z) == (4, 64)


@given(st.text("abcdxyz", min_size=1, max_size=10), st.integers(0, 100))
def test_random_renaming_can_be_undone_and_stays_in_the_alphabet(text, seed):
    vocabulary = experiment("copying-5-10/proposed", "smoke").test_vocabulary
    renaming = widgets.random_renaming(text, vocabulary, seed)
    renamed = renaming(text)
    assert renaming.inverse()(renamed) == text
    assert len(set(renamed)) == len(set(text))
    vocabulary.encode(renamed)
    assert renaming == widgets.random_renaming(text, vocabulary, seed)


def test_chosen_characters_become_ones_that_training_lacks():
    made = experiment("copying-5-10/proposed", "smoke")
    renaming = widgets.renaming_to_new("db", made.vocabulary, made.test_vocabulary)
    assert renaming("abcd") == "agcf"
    with pytest.raises(ValueError, match="only 2 are new"):
        widgets.renaming_to_new("abc", made.vocabulary, made.vocabulary.extend("fg"))


def test_renaming_html_undoes_the_renaming_before_it_compares(networks, copying):
    page = html.unescape(widgets.renaming_html(networks, "abcab", "ac"))
    assert "a → f, c → g" in page and "fbgfb" in page
    assert "plain, renaming undone: ✗" in page and "proposed, renaming undone: ✓" in page
    none = html.unescape(widgets.renaming_html(networks, "abcab", ""))
    assert "nothing is renamed" in none and "plain, renaming undone: ✓" in none


# the panels


def picture(panel: widgets.CopyExplorer) -> dict:
    (output,) = panel.picture.outputs
    return output["data"]["application/vnd.plotly.v1+json"]


def test_explorer_answers_every_control(networks, copying):
    panel = widgets.CopyExplorer(networks, "abxy")
    assert "abxy" in panel.answer.value and "no embedding for" in panel.answer.value
    first = picture(panel)
    panel.random_draw.value = 3
    assert picture(panel)["layout"]["title"]["text"].endswith("draw 3")
    assert picture(panel)["data"] != first["data"]
    panel.text.value = "cde"
    assert "cde" in panel.answer.value and "no embedding" not in panel.answer.value
    panel.rename.click()
    renamed = panel.text.value
    assert renamed != "cde" and renamed in panel.answer.value
    assert f"c → {renamed[0]}" in panel.note.value
    panel.text.value = "ab"
    assert panel.note.value == "", "the note is of the renamed string"
    panel.reset.click()
    assert panel.text.value == "abxy"


@pytest.mark.parametrize("wrong", ["", "a!b", "<b>bold</b>", "a" * 61, "é"])
def test_explorer_shows_errors_inside_and_goes_on(networks, copying, wrong):
    panel = widgets.CopyExplorer(networks, "abxy")
    panel.text.value = wrong
    assert 'role="alert"' in panel.answer.value and "<b>bold" not in panel.answer.value
    assert panel.picture.outputs == (), "no picture of another string stays"
    panel.rename.click()
    assert 'role="alert"' in panel.answer.value
    panel.text.value = "ab"
    assert 'role="alert"' not in panel.answer.value and panel.picture.outputs


def test_an_unexpected_error_is_one_line_in_the_panel(networks, monkeypatch):
    panel = widgets.CopyExplorer(networks, "abxy")

    def broken(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(module, "copy_strings", broken)
    panel.random_draw.value = 1
    assert "RuntimeError: out of luck" in panel.answer.value
    assert "Traceback" not in panel.answer.value


def test_controls_answer_once_when_let_go(networks):
    panel = widgets.CopyExplorer(networks)
    assert not panel.text.continuous_update and not panel.random_draw.continuous_update


def test_chooser_renames_what_is_chosen(networks, copying):
    panel = widgets.RenamingChooser(networks, "caba")
    assert [box.description for box in panel.boxes] == ["rename a", "rename b", "rename c"]
    assert "nothing is renamed" in panel.answer.value
    panel.boxes[1].value = True
    panel.boxes[0].value = True
    assert "cfgf" in panel.answer.value
    panel.boxes[0].value = panel.boxes[1].value = False
    assert "nothing is renamed" in panel.answer.value


def test_import_makes_no_widget_and_loads_no_weights():
    code = (
        "import ipywidgets.widgets.widget as w, lessons.widgets as m, sys; "
        "sys.exit(len(w._instances))"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code]).returncode == 0
    assert issubclass(widgets.CopyExplorer, ipywidgets.VBox)
