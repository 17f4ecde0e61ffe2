"""Solver, evaluation and redraw: with oracles in place of decoding, the figures are known."""

import json

import pytest
import torch
from tiny import tiny_logic_network

from itekit.alpha import canonical
from itekit.covariance import covariance
from itekit.datasets.sets import read_set
from itekit.logic_evaluation import LogicEvaluation
from itekit.redraw import Retries, redraw
from itekit.results import evaluate
from itekit.solving import Solver, choose_solver
from itekit.stepping import Averaged, Cached
from itekit.tasks.ltl import solve as solve_ltl
from itekit.tasks.propositional import solve as solve_propositional

ORACLES = {"ltl": lambda f: solve_ltl(f, "fast"), "prop": solve_propositional}


def by_label(task: str):
    """Decodes every formula to its label: the answers of a perfect network."""
    return lambda self, formulas: [[ORACLES[task](formula)] for formula in formulas]


@pytest.mark.parametrize("task", ["ltl", "prop"])
def test_a_perfect_network_gets_perfect_figures(task, monkeypatch):
    monkeypatch.setattr(Solver, "_decode", by_label(task))
    result = LogicEvaluation(tiny_logic_network(f"{task}/proposed"), progress=False).run()
    assert result["test"]["correct"] == result["test"]["solved"] == 1 and result["mistakes"] == []
    grid = result["generalization"]
    assert grid["mean_correct_cells"] == grid["mean_correct_samples"] == 1
    assert grid["correct"] == grid["solved"] == grid["correct_greedy"] == grid["samples"]
    assert set(grid["by_propositions"].values()) == {1.0}
    assert result["alpha_covariance"]["vocabulary"] == 5
    assert result["alpha_covariance_training"]["vocabulary"] == 3


def test_a_network_that_answers_nothing_gets_nothing(monkeypatch):
    monkeypatch.setattr(Solver, "_decode", lambda self, formulas: [[""] for _ in formulas])
    result = LogicEvaluation(tiny_logic_network("ltl/proposed"), progress=False).run()
    assert result["test"]["correct"] == result["generalization"]["mean_correct_samples"] == 0
    assert result["test"]["verdicts"]["invalid"] == result["test"]["samples"]
    assert {v["mean"] for v in result["alpha_covariance"]["by_propositions"].values()} == {1.0}


def test_ordinary_embeddings_cannot_read_more_propositions(monkeypatch):
    monkeypatch.setattr(Solver, "_decode", by_label("ltl"))
    result = LogicEvaluation(tiny_logic_network("ltl/plain"), progress=False).run()
    rates = result["generalization"]["by_propositions"]
    assert rates == {"1": 1.0, "2": 1.0, "3": 1.0}
    assert result["alpha_covariance"] is None
    solver = Solver(tiny_logic_network("ltl/plain"))
    assert solver.answers(["Uad", "a"])[0] == "" and not solver.can_read("Uad")


def test_alpha_covariance_of_known_answers(monkeypatch):
    """An answer that names the first proposition of the formula is covariant, "a" is not."""
    solver, pairs = Solver(tiny_logic_network("ltl/proposed")), [("&a&bc", ""), ("&c&ba", "")]
    monkeypatch.setattr(Solver, "_decode", lambda self, many: [[f"{{{f[1]}}}"] for f in many])
    assert covariance(solver, pairs, "abc", 120)["mean"] == 1.0
    monkeypatch.setattr(Solver, "_decode", lambda self, many: [["{a}"] for _ in many])
    # Undone, "a" is each of the three propositions: 1 - (3 - 1) / (6 - 1).
    assert covariance(solver, pairs, "abc", 120)["mean"] == pytest.approx(0.6)


def test_propositional_answers_are_compared_as_assignments(monkeypatch):
    solver = Solver(tiny_logic_network("prop/proposed"))
    answer = lambda f: "".join(f"{p}1" for p in sorted(set(f) & set("abc")))  # noqa: E731
    monkeypatch.setattr(Solver, "_decode", lambda self, many: [[answer(f)] for f in many])
    found = covariance(solver, [("&a&bc", "")], "abc", 120)
    assert found["mean"] == 1.0 and found["mean_text"] == pytest.approx(0.0)


def test_each_distinct_input_is_decoded_once(monkeypatch):
    asked = []
    monkeypatch.setattr(
        Solver, "_decode", lambda self, many: asked.extend(many) or [["{1}"] for _ in many]
    )
    pairs = [("&ab", ""), ("&ba", ""), ("&ab", "")]
    covariance(Solver(tiny_logic_network("ltl/proposed")), pairs, "abc", 120)
    assert len(asked) == len(set(asked)) == 6
    asked.clear()
    covariance(Solver(tiny_logic_network("ltl/canonical-proposed")), pairs, "abc", 120)
    assert asked == ["&ab"], "renamed by first appearance, all variants are one input"


def test_canonical_answers_are_undone(monkeypatch):
    monkeypatch.setattr(Solver, "_decode", by_label("ltl"))
    solver = Solver(tiny_logic_network("ltl/canonical-proposed"))
    formulas = [formula for formula, _ in read_set("ltl35", "smoke")["test"]]
    for formula, answer in zip(formulas, solver.answers(formulas), strict=True):
        undone = ORACLES["ltl"](canonical(formula, "abcde", "abcde"))
        assert len(answer) == len(undone) and set(answer) <= set(formula) | set("10!&|;{}")


def test_the_solver_equals_decoding_one_by_one():
    network = tiny_logic_network("ltl/proposed")
    formulas = [formula for formula, _ in read_set("ltl35-10ap", "smoke")["test"]]
    solver = Solver(network)
    assert solver.answers(formulas) == [solver.answers([formula])[0] for formula in formulas]
    assert Solver(network, beams=1).answers(formulas[:3]) is not None


def test_the_chosen_draw_has_the_median_loss():
    pairs = read_set("ltl35", "smoke")["test"]
    solver, losses = choose_solver(tiny_logic_network("ltl/proposed"), pairs)
    assert len(losses) == 2 and losses[solver.draw] == max(losses), "the upper of two"
    plain, losses = choose_solver(tiny_logic_network("ltl/plain"), pairs)
    assert len(losses) == 1 and plain.draw == 0


def test_averaging_over_draws():
    """One draw three times over is that draw; the logits are the mean, for greedy and for beams."""
    network = tiny_logic_network("ltl/proposed")
    formulas = [formula for formula, _ in read_set("ltl35-10ap", "smoke")["test"]]
    for beams in (1, 3):
        alone = Solver(network, 1, beams=beams).beam_answers(formulas)
        assert Solver(network, [1, 1, 1], beams=beams).beam_answers(formulas) == alone
    both = Solver(network, [0, 1])
    source, tokens = both._sources(["Uab", "Xa"]), torch.tensor([2, 2])
    with torch.no_grad():
        mean = Averaged(network.model, both.U, source, 4).step(tokens, 0)
        each = [Cached(network.model, U, source, 4).step(tokens, 0) for U in both.U]
    assert torch.allclose(mean, (each[0] + each[1]) / 2, atol=1e-6)
    assert not torch.allclose(*each)


@pytest.mark.parametrize("name", ["ltl/proposed", "ltl/plain"])
def test_redraw_counts_the_first_try_that_is_right(name, monkeypatch):
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


def test_a_trace_without_words_solves_nothing(monkeypatch):
    """It is correct by the definition; a network that always gives one would solve everything."""
    monkeypatch.setattr(Solver, "_decode", lambda self, many: [["&a!a;{1}"] for _ in many])
    network = tiny_logic_network("ltl/proposed")
    tested = LogicEvaluation(network, progress=False).test()["test"]
    assert tested["correct"] == tested["greedy"]["correct"] == 1
    assert tested["solved"] == tested["greedy"]["solved"] == 0
    found = redraw(network, 2, progress=False)["test"]
    assert found["solved"]["all"] == [0.0, 0.0] and found["averaged"]["3"]["all"] == 0


def test_redraw_of_a_perfect_network_needs_one_try_and_renamed_tries_are_undone(monkeypatch):
    monkeypatch.setattr(Solver, "_decode", by_label("ltl"))
    network = tiny_logic_network("ltl/proposed")
    found = redraw(network, 2, progress=False)
    grid = read_set("ltl-generalization", "smoke")["test"]
    assert found["test"]["samples"]["all"] == network.experiment.samples < len(grid)
    assert found["generalization"]["samples"]["all"] == len(grid)
    assert found["test"]["solved"]["all"] == [1.0, 1.0]
    assert found["generalization"]["averaged"]["10"]["all"] == 1.0
    retries = Retries(tiny_logic_network("ltl/alpha-renaming"), progress=False)
    pairs = read_set("ltl35-10ap", "smoke")["test"]
    for number in range(3):
        answers = retries.answers(number, [f for f, _ in pairs])
        good = retries._good(number, [f for f, _ in pairs])
        assert len(answers) == len(pairs) and all(all(row) for row in good)


def test_an_interrupted_evaluation_goes_on(tmp_path, monkeypatch):
    network = tiny_logic_network("prop/proposed")
    whole = evaluate(network, progress=False, keep=tmp_path)["result"]
    path = tmp_path / "evaluation-alpha-covariance.json"
    path.unlink()
    monkeypatch.setattr(LogicEvaluation, "test", lambda self: 1 / 0)
    again = evaluate(network, progress=False, keep=tmp_path)["result"]
    assert again == json.loads(json.dumps(whole))
    with pytest.raises(ZeroDivisionError):  # another network: its parts are its own
        evaluate(tiny_logic_network("prop/proposed", seed=1), progress=False, keep=tmp_path)
