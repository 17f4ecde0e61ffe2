"""`copy_network.js` in Node, where that is installed: it answers as torch does."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from tiny import tiny_network

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


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_javascript_answers_as_torch_does(tmp_path):
    wrong = 0
    for network in [load_network(name, "paper") for name in NAMES]:
        asked, given = questions(packed(network)["tokens"], 20), json.dumps(packed(network))
        script = f"""{SCRIPT.read_text()}
const network = unpack({given}), all = {json.dumps(asked)}.map(([text, draw]) => {{
  const answer = copy(network, text, draw), found = edits([...text], [...answer]);
  return [answer, found.filter(([sign]) => sign !== " ").length]; }});
console.log(JSON.stringify(all));"""
        (tmp_path / "all.js").write_text(script)
        done = subprocess.run(["node", tmp_path / "all.js"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for (text, draw), (answer, distance) in zip(asked, json.loads(done.stdout), strict=True):
            (ours,) = copies(network, [text], draw)
            assert (text, answer, distance) == (text, ours.answer, ours.distance), draw
            wrong += distance > 0
    assert wrong > 10, "mistakes are the same too"


def test_a_panel_says_what_it_is_where_no_script_runs():
    panel = CopyExplorer({"proposed": tiny_network()}, "ab</script>")
    assert "in JupyterLab" in repr(panel) and repr(panel) in panel._repr_html_()
    assert panel._repr_html_().count("</script>") == 1
