"""Redraw and verify: with oracles in place of decoding, the try that is right is known."""

import pytest
from tiny import tiny_logic_network, tiny_network

import itekit.redraw as module
from itekit.alpha import Renaming, used_tokens
from itekit.datasets.sets import read_set
from itekit.decoding import Retries, Solver, redraw, redraw_sets
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


@pytest.mark.parametrize("tries", [1, 2])
def test_a_perfect_network_needs_one_try(monkeypatch, tries):
    monkeypatch.setattr(Solver, "_decode", lambda _, many: [[solve_ltl(f, "fast")] for f in many])
    network = tiny_logic_network("ltl/proposed")
    found = redraw_sets(network, tries, progress=False)
    grid = read_set("ltl-generalization", "smoke")["test"]
    assert found["tries"] == tries and found["method"] == "random parts"
    assert found["test"]["samples"]["all"] == network.experiment.task.samples < len(grid)
    assert found["generalization"]["samples"]["all"] == len(grid)
    assert found["test"]["solved"]["all"] == [1.0] * tries
    assert all(0 < seconds < 1 for seconds in found["test"]["cpu_seconds"].values())
    with pytest.raises(ValueError, match=f"tries must be 1 or more, found {-tries}"):
        redraw(network, [], -tries)


@pytest.mark.parametrize("name", ["copying-5-10/proposed", "copying-5-10/plain"])
def test_copies_are_tried_again_like_answers(name, monkeypatch):
    """The first try copies strings of 4 characters, the second all that it can read."""
    network, tried = tiny_network(name), []

    def copy(network, U, batch):
        tried.append(len(batch.source))
        keep = batch.source.shape[1] == 4 + 1 or len(tried) > 3
        return batch.source[:, :-1] * keep

    monkeypatch.setattr(module, "copy_strings", copy)
    found = redraw_sets(network, 2, progress=False)["grid"]
    grid = network.experiment.task.grid
    read = sum(u <= 5 for u, _ in grid.cells()) if name.endswith("plain") else len(grid.cells())
    assert found["samples"]["all"] == grid.samples * len(grid.cells())
    first, second = found["solved"]["all"]
    assert second == pytest.approx(read / len(grid.cells())) and first < second
    assert Solver(network).answers(["ab", "aé"]) == ["ab", ""]
    assert Solver(network).answers([("a", "b")]) == [("a", "b")], "tuples in, tuples out"


def test_without_a_random_part_tries_are_renamings_that_are_undone(monkeypatch):
    asked = []

    def oracle(self, formulas):
        asked.extend(formulas)
        return [[solve_ltl(formula, "fast")] for formula in formulas]

    monkeypatch.setattr(Solver, "_decode", oracle)
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
