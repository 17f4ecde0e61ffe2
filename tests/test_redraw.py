"""Redraw and verify: with oracles in place of decoding, the try that is right is known."""

import pytest
from tiny import tiny_logic_network, tiny_network

from itekit.alpha import Renaming, used_tokens
from itekit.datasets.sets import read_set
from itekit.decoding import Solver
from itekit.redraw import Retries, redraw, redraw_task
from itekit.tasks.ltl import check
from itekit.tasks.ltl import solve as solve_ltl
from itekit.tasks.verdicts import GOOD


@pytest.mark.parametrize("name", ["ltl/proposed", "ltl/plain"])
def test_the_first_try_that_is_right_counts(name, monkeypatch):
    """The second and fourth tries are right about `Xa`, the third about `Xb`."""
    right, tried = {"Xa": (1, 3), "Xb": (2,)}, []

    def answers(self, number, formulas):
        tried.append(list(formulas))
        return [
            [f"1;{f[1]};{{1}}" if number in right[f] else f"!{f[1]};{{!{f[1]}}}"] for f in formulas
        ]

    monkeypatch.setattr(Retries, "answers", answers)
    pairs = [("Xa", "1;a;{1}"), ("Xb", "1;b;{1}")]
    best, any_beam = Retries(tiny_logic_network(name), progress=False).solved_at(pairs, 3)
    assert best.tolist() == any_beam.tolist() == [2, 3]
    assert tried == [["Xa", "Xb"], ["Xa", "Xb"], ["Xb"]], "what is solved is not tried again"


def test_any_beam_may_be_right_before_the_best_one_is(monkeypatch):
    """The empty trace is no answer, and a formula may get no answer at all."""
    beams = [[["&a!a;{1}", "{a}"], []], [["{a}", "{a}"], ["{!b}"]]]
    monkeypatch.setattr(Retries, "answers", lambda self, number, formulas: beams[number])
    retries = Retries(tiny_logic_network("ltl/proposed"), progress=False)
    best, any_beam = retries.solved_at([("a", "{a}"), ("b", "{b}")], 2)
    assert (best.tolist(), any_beam.tolist()) == ([2, 0], [1, 0])


def answering(monkeypatch, answer) -> None:
    """Decode every problem to one beam, by a function of the solver and the problem."""
    decode = lambda self, problems: {p: [answer(self, p)] for p in problems}  # noqa: E731
    monkeypatch.setattr(Solver, "_decode", decode)


@pytest.mark.parametrize("tries", [1, 2])
def test_a_perfect_network_needs_one_try(monkeypatch, tries):
    answering(monkeypatch, lambda _, formula: solve_ltl(formula, "fast"))
    network = tiny_logic_network("ltl/proposed")
    result = redraw_task(network, tries, progress=False)
    grid = network.experiment.task.pairs("generalization")
    assert result["tries"] == tries and result["method"] == "random parts"
    assert result["test"]["samples"]["all"] == network.experiment.task.samples < len(grid)
    assert result["generalization"]["samples"]["all"] == len(grid)
    assert result["test"]["solved"]["all"] == [1.0] * tries
    assert all(0 < seconds < 1 for seconds in result["test"]["cpu_seconds"].values())
    with pytest.raises(ValueError, match=f"tries must be 1 or more, found {-tries}"):
        redraw(network, [], -tries)


@pytest.mark.parametrize("name", ["copying-5-10/proposed", "copying-5-10/plain"])
def test_copies_are_tried_again_like_answers(name, monkeypatch):
    """The first try copies strings of 4 characters, the second all that it can read."""
    solvers = []

    def copy(solver, text):
        solvers.append(solver)
        return text * (len(text) == 4 or solver is not solvers[0])

    answering(monkeypatch, copy)
    network = tiny_network(name)
    result = redraw_task(network, 2, progress=False)["grid"]
    grid = network.experiment.task.grid
    read = sum(u <= 5 for u, _ in grid.cells()) if name.endswith("plain") else len(grid.cells())
    assert result["samples"]["all"] == grid.samples * len(grid.cells())
    first, second = result["solved"]["all"]
    assert second == pytest.approx(read / len(grid.cells())) and first < second


def test_without_a_random_part_tries_are_renamings_that_are_undone(monkeypatch):
    asked = []
    answering(monkeypatch, lambda _, f: asked.append(f) or solve_ltl(f, "fast"))
    retries = Retries(tiny_logic_network("ltl/alpha-renaming"), progress=False)
    formulas = [formula for formula, _ in read_set("ltl35-10ap", "smoke")["test"]]
    for number in range(3):
        asked.clear()
        answers, renamings = retries.answers(number, formulas), retries.renamings(number, formulas)
        assert renamings == retries.renamings(number, formulas)
        assert set(asked) == {r(f) for r, f in zip(renamings, formulas, strict=True)}
        assert (set(renamings) == {Renaming.identity}) == (number == 0)
        for formula, (answer,) in zip(formulas, answers, strict=True):
            assert check(formula, answer) in GOOD
            assert set(used_tokens(answer, retries.names)) <= set(formula)


def test_a_symbol_invariant_network_samples():
    network = tiny_logic_network("ltl/symbol-invariant")
    retries, formulas = Retries(network, progress=False), ["Uab", "&aXb", "X!a"]
    first = [beams[0] for beams in retries.answers(0, formulas)]
    assert first == Solver(network).answers(formulas)
    samples = [retries.answers(number, formulas) for number in (1, 2, 1)]
    assert samples[0] == samples[2] != samples[1] and len(samples[0][0]) == 1
