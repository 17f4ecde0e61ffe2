"""Golden answers: what shipped networks said when they were shipped, and must go on saying.

tests/golden.json holds, for shipped checkpoints, some logits, greedy and beam answers and their
verdicts, the answers of two networks of streams, the attempts that solved some problems, and an
alpha-covariance, all in float32 on a CPU.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from itekit.data import Batch
from itekit.decoding import Solver, beam, greedy
from itekit.evaluation import covariance
from itekit.random_vectors import seeded
from itekit.redraw import redraw
from itekit.results import load_network
from itekit.tasks.copying import copying_batch
from itekit.tasks.task import TEST_SEED

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
COPYING = {"copying-5-10/proposed": "paper", "copying-5-10/alpha-renaming": "paper"}
LOGIC = ("ltl/proposed", "ltl/alpha-renaming", "prop/proposed", "prop/plain")
STREAMS = ("ltl/symbol-invariant", "ltl/converted")


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
    answers = {"copies": [], "beams": [], "scores": []}
    U = network.matrix(task.test_vocabulary, seeded(TEST_SEED, 1))
    for unique, length in cells:
        strings = grid.strings(unique, length, TEST_SEED)[:4]
        batch = Batch.of(copying_batch(strings, np.full(4, length), task.test_vocabulary))
        answers["copies"] += greedy(network.model, U, batch.source, task.longest(length)).tolist()
        tokens, scores = beam(network.model, U, batch.source, 2 * length, 3)
        answers["beams"] += tokens[:, :2].tolist()
        answers["scores"] += [[round(s, 4) for s in row] for row in scores[:, :2].tolist()]
        if unique == 5:
            answers["logits"] = rounded(tokens_of(network.logits(U, batch), batch)[:8])
    return answers


def logic_answers(network) -> dict:
    task = network.experiment.task
    pairs = task.pairs()[:24]
    if network.experiment.embedding.maker.extends:
        pairs = pairs + task.pairs("generalization")[::180]
    formulas = [formula for formula, _ in pairs]
    solver = Solver(network, 1)
    beams = solver.beam_answers(formulas)
    batch = Batch.of(task.pack(pairs[:2], solver.vocabulary).batch(np.arange(2)))
    return {
        "formulas": formulas,
        "greedy": Solver(network, 1, beams=1).answers(formulas),
        "beams": beams,
        "verdicts": [task.check(f, b[0], y) for (f, y), b in zip(pairs, beams, strict=True)],
        "loss": round(solver.loss(pairs[:24]), 5),
        "logits": rounded(tokens_of(network.logits(solver.U, batch), batch)[:12]),
    }


def close(ours: list, theirs: list, tolerance: float) -> bool:
    flat = [[-1e9 if v is None else v for row in rows for v in row] for rows in (ours, theirs)]
    return len(flat[0]) == len(flat[1]) and np.allclose(*flat, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", COPYING)
def test_copying(name):
    with torch.no_grad():
        answers, golden = copying_answers(load_network(name, COPYING[name])), dict(GOLDEN[name])
    assert close(answers.pop("logits"), golden.pop("logits"), 3e-5)
    assert close(answers.pop("scores"), golden.pop("scores"), 3e-4)
    assert answers == golden


@pytest.mark.parametrize("name", LOGIC)
def test_logic(name):
    with torch.no_grad():
        answers, golden = logic_answers(load_network(name, "lab")), dict(GOLDEN[name])
    assert close(answers.pop("logits"), golden.pop("logits"), 3e-5)
    assert answers.pop("loss") == pytest.approx(golden.pop("loss"), abs=3e-5)
    assert answers == golden


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name):
    network = load_network(name, "lab")
    formulas = [formula for formula, _ in network.experiment.task.pairs()[:24]]
    assert Solver(network).beam_answers(formulas) == GOLDEN[name]


@pytest.mark.parametrize("name", GOLDEN["redraw"])
def test_redraw(name):
    """Random parts, renamings and samples: the attempt that solved each of 12 problems."""
    network = load_network(name, "lab")
    result = redraw(network, network.experiment.task.pairs()[:12], 3, progress=False)
    assert [attempts for _, *attempts in result["formulas"]] == GOLDEN["redraw"][name]


@pytest.mark.parametrize("name", GOLDEN["covariance"])
def test_covariance(name):
    network = load_network(name, "lab")
    task = network.experiment.task
    names = task.test_vocabulary.interchangeable[0]
    assert covariance(Solver(network), task.pairs()[:5], names, 12) == GOLDEN["covariance"][name]
