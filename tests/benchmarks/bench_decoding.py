"""Time and memory of decoding: with keys and values kept against recomputing the prefix.

    python tests/benchmarks/bench_decoding.py

    greedy    512 strings of 30 characters, copying-5-10/proposed at the paper's size, the shipped
              network, 31 steps
    beam 3    96 random formulas of 21 tokens, ltl/proposed at the paper's size, untrained, 41 steps

The end token is made impossible on both sides, so that every step works on all rows. Both sides
run the same search from the same U; the outputs are asserted to be equal.
"""

from functools import partial
from itertools import islice
from unittest import mock

import numpy as np
import torch
from _bench import peak_memory, start, take_turns
from torch import Tensor

from itekit import decoding
from itekit.data import copying_batch, encode_texts
from itekit.datasets.candidates import random_formulas
from itekit.experiments import experiment
from itekit.logic.formulas import LTL
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.results import load_network
from itekit.tasks.copying import CopyingData

ROWS = {"greedy": 512, "beam 3": 96}


class Recomputed(decoding._Steps):
    """Nothing is kept but the encoded source: the whole prefix is decoded at each step."""

    def __init__(self, model, U, source, limit):
        super().__init__(model, U, source, limit)
        self.prefix = None

    def step(self, tokens):
        new = tokens[:, None]
        self.prefix = new if self.prefix is None else torch.cat([self.prefix, new], dim=1)
        U, encoded = self.matrices[0], self.encoded[0]
        return self.model.project(U, self.model.decode(U, self.prefix, encoded)[:, -1])

    def select(self, rows, sources=None):
        self.encoded[0], kept = self.encoded[0].select(rows, sources)
        self.prefix = self.prefix[kept]


def case(search: str) -> tuple[Network, Tensor, Tensor]:
    """A network that never ends, U, and the sources."""
    rows = ROWS[search]
    if search == "greedy":
        network = load_network("copying-5-10/proposed", "paper")
        vocabulary, data = network.experiment.test_vocabulary, CopyingData(30, 30, 5)
        source = copying_batch(*data.strings(rows, np.random.default_rng(0)), vocabulary).source
    else:
        network = Network(experiment("ltl/proposed", "paper")).eval()
        vocabulary = network.experiment.vocabulary
        formulas = random_formulas(LTL, 5, (21, 21), 0, fitting=True)
        source = encode_texts(list(islice(formulas, rows)), vocabulary)
    U, project = network.matrix(vocabulary, seeded(0)), network.model.project
    impossible = torch.zeros(len(U))
    impossible[decoding.END] = -torch.inf
    network.model.project = lambda U, features: project(U, features) + impossible
    return network, U, source


def decode(search: str, kept: bool, given: tuple, rows: int | None = None) -> Tensor:
    network, U, source = given
    with mock.patch.object(decoding, "_Steps", decoding._Steps if kept else Recomputed):
        if search == "greedy":
            return decoding.greedy(network.model, U, source[:rows], 31)
        return decoding.beam(network.model, U, source[:rows], 41, 3)[0]


def load_and_decode(search: str, kept: bool, rows: int | None = None) -> None:
    decode(search, kept, case(search), rows)


def main() -> None:
    rounds = start(3)
    print("\npeak memory in a fresh process, MiB (resource.getrusage, ru_maxrss)")
    for search in ROWS:
        for kept in (True, False):
            decoded = partial(load_and_decode, search, kept)
            growth, peak = peak_memory(partial(decoded, 2), decoded)
            label = f"{search}, {'kept' if kept else 'recomputed'}"
            print(f"  {label:20}{growth:8.0f} above decoding 2 rows;{peak:7.0f} in all")
    for search, rows in ROWS.items():
        given = case(search)
        calls = {"kept": partial(decode, search, True, given)}
        calls["recomputed"] = partial(decode, search, False, given)
        assert torch.equal(*(call() for call in calls.values())), "the outputs differ"  # warm up
        times = take_turns(calls, rounds)
        print(f"\n{search}, {rows} sources: median of {rounds} turns, same outputs")
        for name, value in times.items():
            print(f"  {name:12}{value:8.2f} s {rows / value:8.1f} sources/s"
                  f" {value / times['kept']:6.1f} times as long")  # fmt: skip


if __name__ == "__main__":
    main()
