"""The copying networks by hand, in a page: they run in the browser, without Python and a network.

`copy_network.js` is the whole network once more. A page needs besides it numbers: the weights, and
the embedding matrices U of some draws of the random parts.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import numpy as np

from itekit.decoding import Solver
from itekit.network import Network
from itekit.notebooks import NO_PANEL
from itekit.results import load_network

SCRIPT = Path(__file__).with_name("copy_network.js")
DRAWS = 10
NETWORKS = "plain", "randomized-positions"
PAGE = """<div class="copies" id="{name}">{no_panel}</div>
<p><small>These are the whole networks, {count:,} numbers, at work in your browser:
<code>notebooks/lessons/copy_network.js</code>, in Python <code>itekit/model.py</code>.</small></p>
<script>(() => {{
{script}
panel(document.getElementById("{name}"), {networks}, {text});
}})();</script>"""


def packed(network: Network) -> dict:
    """A copying network for `copy_network.js`: a JSON value."""
    experiment, embedding = network.experiment, network.embedding
    arrays = {name: x.numpy() for name, x in network.model.state_dict().items()}
    draws = range(DRAWS if embedding.random else 1)
    arrays["matrices"] = np.stack([Solver(network, draw).U.numpy() for draw in draws])
    numbers = np.concatenate([x.ravel() for x in arrays.values()]).astype("<f4")
    return {
        "tokens": experiment.readable_vocabulary.tokens,
        "layers": experiment.model.layers,
        "heads": experiment.model.heads,
        "base": experiment.model.rope_base,
        "shared": experiment.model.d_model - embedding.d_beta if embedding.random else None,
        "sizes": [(name, x.size) for name, x in arrays.items()],
        "numbers": base64.b64encode(numbers.tobytes()).decode(),
    }


class CopyExplorer:
    """Type a string, move the random draw, rename at random; see the copies and the rows in use.

    Args:
        networks: {name: copying network}, by default NETWORKS; the last one's rows are drawn.
        text: the first string.
    """

    def __init__(self, networks: Mapping[str, Network] | None = None, text: str = "Maria"):
        if networks is None:
            networks = {name: load_network(f"copying-5-10/{name}", "paper") for name in NETWORKS}
        self.networks, self.text = networks, text

    def _repr_html_(self) -> str:
        networks = {name: packed(network) for name, network in self.networks.items()}
        return PAGE.format(
            name=f"copies-{uuid4().hex}",
            no_panel=NO_PANEL,
            count=sum(p.numel() for n in self.networks.values() for p in n.parameters()),
            script=SCRIPT.read_text(encoding="utf-8"),
            networks=json.dumps(networks),
            text=json.dumps(self.text).replace("<", r"\u003c"),
        )

    def __repr__(self) -> str:
        return NO_PANEL
