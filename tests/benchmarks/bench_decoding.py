"""Time and memory of decoding: with the key/value cache against recomputing the prefix.

    python tests/benchmarks/bench_decoding.py

512 strings of 30 characters, copying-5-10/proposed at the paper's size, 31 steps (one is for the
end token). The end token is made impossible on both sides, so that no sequence finishes early and
every step works on all strings: decoding gains nothing here from dropping finished sequences. The
network is the shipped one, or an untrained one if none is shipped. Both sides run the same search,
`decoding.greedy` or `decoding.beam`, on the same encoded source; the outputs are asserted to be
equal. The methods take turns; medians are printed. Nothing is asserted about time.
"""

from functools import partial

import numpy as np
import torch
from _bench import medians, peak_memory, start, take_turns
from torch import Tensor

from itekit.data import copying_batch
from itekit.decoding import END, beam, greedy
from itekit.experiments import experiment
from itekit.network import Network, seeded
from itekit.results import MissingResultError, load_network
from itekit.tasks.copying import CopyingData

COMMAND = "python tests/benchmarks/bench_decoding.py"
NAME, SCALE = "copying-5-10/proposed", "paper"
STRINGS, LENGTH, BEAMS = 512, 30, 3
SEARCHES = {"greedy": greedy, "beam": partial(beam, size=BEAMS)}


def load() -> tuple[Network, str]:
    """The shipped network or an untrained one, without an end token; and which it is."""
    try:
        network, which = load_network(NAME, SCALE), "shipped network"
    except MissingResultError:
        network, which = Network(experiment(NAME, SCALE)).train(False), "untrained network"
    project = network.model.project
    without_end = torch.zeros(len(network.experiment.test_vocabulary)).index_fill_(
        0, torch.tensor([END]), -torch.inf
    )
    network.model.project = lambda U, features: project(U, features) + without_end
    return network, which


def decode(search: str, cached: bool, network: Network, strings: int = STRINGS) -> Tensor:
    vocabulary = network.experiment.test_vocabulary
    rng = np.random.default_rng(0)
    data = CopyingData(LENGTH, LENGTH, network.experiment.data.characters)
    source = copying_batch(*data.strings(strings, rng), vocabulary).source
    U = network.matrix(vocabulary, seeded(0))
    found = SEARCHES[search](network.model, U, source, LENGTH + 1, cached=cached)
    return found if search == "greedy" else found[0]


def load_and_decode(search: str, cached: bool, strings: int) -> None:
    decode(search, cached, load()[0], strings)


def print_memory() -> None:
    print("\npeak memory in a fresh process, MiB (resource.getrusage, ru_maxrss)")
    for search in SEARCHES:
        for cached in (True, False):
            small = partial(load_and_decode, search, cached, 2)
            growth, peak = peak_memory(small, partial(load_and_decode, search, cached, STRINGS))
            label = f"{search}, {'cache' if cached else 'no cache'}"
            print(f"  {label:20}{growth:8.0f} above decoding 2 strings;{peak:7.0f} in all")


def print_times(search: str, network: Network, rounds: int) -> None:
    calls = {
        "cache": partial(decode, search, True, network),
        "no cache": partial(decode, search, False, network),
    }
    outputs = [call() for call in calls.values()]  # warm up
    assert torch.equal(*outputs), "the outputs with and without a cache differ"
    times = medians(take_turns(calls, rounds))
    title = "greedy" if search == "greedy" else f"beam of size {BEAMS}"
    print(f"\n{title}, {STRINGS} strings of {LENGTH}: median of {rounds} turns, same outputs")
    for name, value in times.items():
        print(f"  {name:10}{value:9.2f} s   {value / times['cache']:6.1f} times the cache's")


def main() -> None:
    options = start(COMMAND)
    print_memory()
    network, which = load()
    print(f"\n{NAME} at {SCALE} size, {which}")
    for search in SEARCHES:
        print_times(search, network, options.rounds or 3)


if __name__ == "__main__":
    main()
