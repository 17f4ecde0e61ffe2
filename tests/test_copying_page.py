"""`copy_network.js` in Node, where that is installed: it answers as torch does."""

import json
import shutil
import subprocess

import numpy as np
import pytest
import torch
from tiny import tiny_network

from itekit.decoding import greedy
from itekit.results import load_network
from lessons.copies import copies
from lessons.copying import SCRIPT, CopyExplorer, packed

NAMES = "copying-5-10/plain", "copying-5-10/alpha-renaming", "copying-5-10/proposed"


def questions(tokens, count: int) -> list[tuple[str, int]]:
    """Strings of 1 to 60 characters, short ones and of few characters too, each with a draw."""
    rng, found = np.random.default_rng(0), []
    for _ in range(count):
        some = rng.permutation(tokens[3:])[: rng.integers(1, len(tokens) - 2)]
        found.append(("".join(rng.choice(some, rng.integers(1, 61))), int(rng.integers(10))))
    return found


def node(script: str, folder) -> list:
    """What a script prints as JSON; skips the test where Node is not installed."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    (folder / "all.js").write_text(script)
    done = subprocess.run(["node", folder / "all.js"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_javascript_answers_as_torch_does(tmp_path):
    wrong = 0
    for network in [load_network(name, "paper") for name in NAMES]:
        asked, given = questions(packed(network)["tokens"], 20), json.dumps(packed(network))
        script = f"""{SCRIPT.read_text()}
const network = unpack({given}), all = {json.dumps(asked)}.map(([text, draw]) => {{
  const answer = copy(network, text, draw), found = edits([...text], [...answer]);
  return [answer, found.filter(([sign]) => sign !== " ").length]; }});
console.log(JSON.stringify(all));"""
        for (text, draw), (answer, distance) in zip(asked, node(script, tmp_path), strict=True):
            (ours,) = copies(network, [text], draw)
            assert (text, answer, distance) == (text, ours.answer, ours.distance), draw
            wrong += distance > 0
    assert wrong > 10, "mistakes are the same too"


def test_other_characters_get_vertices_that_are_free_and_are_copied(tmp_path):
    """`extended` alone, then torch: rows are as the embedding makes them, and copies are right."""
    network = load_network("copying-5-10/randomized-positions", "paper")
    texts = ["Maria", "日本語", "😀 A"]
    many = "".join(chr(0x4E00 + number) for number in range(35))  # 34 vertices are free
    script = f"""{SCRIPT.read_text()}
const network = unpack({json.dumps(packed(network))});
const texts = {json.dumps([*texts, many])};
console.log(JSON.stringify(texts.map((text) => extended(network, text, 3))));"""
    *found, full = node(script, tmp_path)
    assert full["strange"] == many[-1] and len(full["U"]) == 3 + 64
    assert len({tuple(np.sign(row[58:])) for row in full["U"][3:]}) == 64
    for text, one in zip(texts, found, strict=True):
        U, ids = torch.tensor(one["U"]), [one["tokens"].index(character) for character in text]
        assert torch.allclose(U.norm(dim=1), torch.ones(len(U)), atol=1e-5)
        assert torch.allclose(U[3:, :58], U[3, :58].expand(len(U) - 3, 58))
        answer = greedy(network.model, U, torch.tensor([[*ids, 1]]), 2 * len(ids))[0].tolist()
        assert [token for token in answer if token > 2] == ids


def test_a_panel_says_what_it_is_where_no_script_runs():
    panel = CopyExplorer({"proposed": tiny_network()}, "ab</script>")
    assert "in JupyterLab" in repr(panel) and repr(panel) in panel._repr_html_()
    assert panel._repr_html_().count("</script>") == 1
