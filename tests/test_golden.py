"""Golden answers: what shipped networks said when they were shipped, and must go on saying.

tests/golden.json holds, for six shipped checkpoints, some logits, greedy and beam answers and their
verdicts, and the verdicts over a part of the LTL grid, all in float32 on a CPU.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from itekit.data import Batch
from itekit.datasets.sets import read_set
from itekit.decoding import Solver, beam, greedy
from itekit.random_vectors import seeded
from itekit.results import load_network
from itekit.tasks.copying import copying_batch
from itekit.tasks.task import TEST_SEED

FILE = Path(__file__).parent / "golden.json"
COPYING = {"copying-5-10/proposed": "paper", "copying-5-10/alpha-renaming": "paper"}
LOGIC = ("ltl/proposed", "ltl/alpha-renaming", "prop/proposed", "prop/plain")


def rounded(x: torch.Tensor) -> list:
    """Finite logits to five decimals; minus infinity as None."""
    return [[round(v, 5) if v > -1e9 else None for v in row] for row in x.tolist()]


def tokens_of(logits: torch.Tensor, batch) -> torch.Tensor:
    """The logits of the target's tokens, padding left out: [N, V]."""
    return logits[batch.target != 0]


def copying_answers(network) -> dict:
    task = network.experiment.task
    grid = task.grid
    cells = [(3, 9), (5, 10), (9, 10), (10, 16), (16, 24)]
    found = {"copies": [], "beams": [], "scores": []}
    U = network.matrix(task.test_vocabulary, seeded(TEST_SEED, 1))
    for unique, length in cells:
        strings = grid.strings(unique, length, TEST_SEED)[:4]
        batch = Batch.of(copying_batch(strings, np.full(4, length), task.test_vocabulary))
        found["copies"] += greedy(network.model, U, batch.source, task.longest(length)).tolist()
        tokens, scores = beam(network.model, U, batch.source, 2 * length, 3)
        found["beams"] += tokens[:, :2].tolist()
        found["scores"] += [[round(s, 4) for s in row] for row in scores[:, :2].tolist()]
        if unique == 5:
            found["logits"] = rounded(tokens_of(network.logits(U, batch), batch)[:8])
    return found


def logic_answers(network) -> dict:
    task = network.experiment.task
    pairs = read_set(task.set_name("test"), "lab")["test"][:24]
    if network.experiment.embedding.maker.extends:
        pairs = pairs + read_set(task.set_name("generalization"), "lab")["test"][::180]
    formulas = [formula for formula, _ in pairs]
    solver = Solver(network, 1)
    greedy = Solver(network, 1, beams=1).answers(formulas)
    beams = solver.beam_answers(formulas)
    batch = Batch.of(task.pack(pairs[:2], solver.vocabulary).batch(np.arange(2)))
    return {
        "formulas": formulas,
        "greedy": greedy,
        "beams": beams,
        "verdicts": [task.check(f, b[0], y) for (f, y), b in zip(pairs, beams, strict=True)],
        "loss": round(solver.loss(pairs[:24]), 5),
        "logits": rounded(tokens_of(network.logits(solver.U, batch), batch)[:12]),
    }


@pytest.fixture(scope="module")
def golden() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def close(ours: list, theirs: list, tolerance: float) -> bool:
    flat = [[-1e9 if v is None else v for row in rows for v in row] for rows in (ours, theirs)]
    return len(flat[0]) == len(flat[1]) and np.allclose(*flat, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", COPYING)
def test_copying(name, golden):
    with torch.no_grad():
        found, expected = copying_answers(load_network(name, COPYING[name])), golden[name]
    assert close(found.pop("logits"), expected.pop("logits"), 3e-5)
    assert close(found.pop("scores"), expected.pop("scores"), 3e-4)
    assert found == expected


@pytest.mark.parametrize("name", LOGIC)
def test_logic(name, golden):
    with torch.no_grad():
        found, expected = logic_answers(load_network(name, "lab")), golden[name]
    assert close(found.pop("logits"), expected.pop("logits"), 3e-5)
    assert found.pop("loss") == pytest.approx(expected.pop("loss"), abs=3e-5)
    assert found == expected
