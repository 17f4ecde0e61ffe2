"""Evaluation: with rules and oracles in place of decoding, every figure is known."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from tiny import tiny_experiment, tiny_logic_network, tiny_network

from itekit import evaluation
from itekit.decoding import Solver
from itekit.evaluation import Evaluation, covariance, evaluate_task, judge, median_draw
from itekit.tasks import logic
from itekit.tasks.copying import EvaluationGrid
from itekit.tasks.ltl import check as check_ltl
from itekit.tasks.ltl import solve as solve_ltl
from itekit.tasks.propositional import solve as solve_propositional
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, VACUOUS, paired_interval


def answering(monkeypatch, answer) -> None:
    """Decode every problem to one beam, by a function of the problem."""
    decode = lambda self, problems: {problem: [answer(problem)] for problem in problems}  # noqa: E731
    monkeypatch.setattr(Solver, "_decode", decode)


# Copying

GRID = EvaluationGrid(3, 8, samples=3)
LENGTH = np.tile(np.arange(3.0, 9), (6, 1))
UNIQUE = LENGTH.T


def network(variant: str = "proposed", grid: EvaluationGrid = GRID, **task):
    return tiny_network(f"copying-5-10/{variant}", grid=grid, **task)


@pytest.mark.parametrize(
    ("rule", "variant", "expected"),
    [
        (lambda text: text, "proposed", 0 * LENGTH),
        (lambda text: text * (len(set(text)) == 4), "proposed", np.where(UNIQUE == 4, 0, LENGTH)),
        (lambda text: text, "plain", np.where(UNIQUE > 5, LENGTH, 0)),  # beyond it, it is empty
    ],
)
def test_each_cell_is_the_mean_over_its_own_strings(monkeypatch, rule, variant, expected):
    answering(monkeypatch, rule)
    copies = network(variant)
    distances = copies.experiment.task.distances(Solver(copies)).mean(axis=2)
    assert np.array_equal(distances, np.where(UNIQUE > LENGTH, np.nan, expected), equal_nan=True)


@pytest.fixture(scope="module")
def averaged():
    """The result of an evaluation of three draws."""
    return evaluate_task(network(), progress=False)


def test_the_result_averages_draws_and_chooses_the_median_one(averaged):
    json.dumps(averaged, allow_nan=False)
    copies = network()
    task, solvers = copies.experiment.task, [Solver(copies, draw) for draw in range(3)]
    grids = [task.distances(solver).mean(axis=2) for solver in solvers]
    grid = np.array(averaged["grid"], dtype=float)
    assert grid == pytest.approx(np.mean(grids, axis=0), abs=1e-4, nan_ok=True)
    means = [np.nanmean(grid) for grid in grids]
    assert [d["mean_edit_distance"] for d in averaged["draws"]] == pytest.approx(means)
    assert averaged["mean_edit_distance"] == pytest.approx(np.mean(means))
    losses = [d["cross_entropy"] for d in averaged["draws"]]
    assert losses == [solver.loss(task.pairs()) for solver in solvers]
    assert losses[averaged["median_draw"]] == sorted(losses)[1]
    within = np.nanmean(np.mean(grids, axis=0)[: 5 - 3 + 1])
    assert averaged["mean_within_training_characters"] == pytest.approx(within)


def test_only_the_draw_of_median_loss_is_decoded_when_draws_are_not_averaged(averaged):
    chosen, draws = averaged["median_draw"], averaged["draws"]
    result = evaluate_task(network(averaged=False), progress=False)
    means = [draw["mean_edit_distance"] for draw in result["draws"]]
    assert [i for i, mean in enumerate(means) if mean is not None] == [chosen]
    expected = draws[chosen]["mean_edit_distance"]
    assert result["mean_edit_distance"] == pytest.approx(expected)
    assert list(map(median_draw, ([3, 1, 2], [4, 1, 3, 2], [0.5]))) == [2, 2, 0]


@pytest.mark.parametrize("variant", ["plain", "full-vocabulary", "alpha-renaming"])
def test_embeddings_that_are_not_random_are_drawn_once(variant):
    result = evaluate_task(network(variant, EvaluationGrid(6, 8, 1)), progress=False)
    assert len(result["draws"]) == 1 and result["median_draw"] == 0
    if variant == "plain":  # it can read no string of this grid
        assert result["mean_edit_distance"] == pytest.approx((6 + 2 * 7 + 3 * 8) / 6)
        assert result["mean_within_training_characters"] is None


@pytest.mark.parametrize(
    ("variant", "shrinks"), [("proposed", True), ("alpha-renaming", True), ("plain", False)]
)
def test_the_published_search_sees_the_characters_of_a_row_alone(monkeypatch, variant, shrinks):
    names = {}  # unique characters of the sources -> how many the search may write

    def search(model, U, source, limit):
        assert limit == 2 * 8 + 1
        for row in source:
            names.setdefault(len(set(row[row > 2].tolist())), set()).add(len(U) - 3)
        return source[:, :-1]

    monkeypatch.setattr("itekit.decoding.published_search", search)
    copies = network(variant, search="published")
    distances = copies.experiment.task.distances(Solver(copies)).mean(axis=2)
    expected = np.where(UNIQUE > 5, LENGTH, 0) if variant == "plain" else 0 * LENGTH
    assert np.array_equal(distances, np.where(UNIQUE > LENGTH, np.nan, expected), equal_nan=True)
    assert names == ({u: {u} for u in range(3, 9)} if shrinks else {u: {5} for u in (3, 4, 5)})


# Logic, with oracles in place of decoding


def test_verdicts_rates_and_tables_by_hand():
    pairs = [("&ab", "{&ab}"), ("a", "{a}"), ("Xa", "1;a;{1}"), ("a", None), ("!b", "{!b}")]
    answers = ["{&ba}", "{&a!a}", "1;b;{1}", None, "{!b}"]
    judged = judge(check_ltl, pairs, answers)
    assert judged.verdicts == [EXACT, VACUOUS, INCORRECT, INVALID, EXACT]
    assert judged.rates() == {"correct": 0.6, "solved": 0.4, "exact": 0.4}  # &a!a is no word
    table = judged.table("ab")
    counts = {EXACT: 2, CORRECT: 0, VACUOUS: 1, INCORRECT: 1, INVALID: 1, "time-out": 0}
    assert table["verdicts"] == counts
    assert table["by_propositions"]["1"] == {"samples": 4, "correct": 0.5}
    grid = judged.grid("ab")
    assert (grid["propositions"], grid["lengths"]) == ([1, 2], [1, 2, 3])
    assert grid["samples"] == [[2, 2, 0], [0, 0, 1]]
    assert grid["correct"] == [[1, 1, 0], [0, 0, 1]] and grid["solved"] == [[0, 1, 0], [0, 0, 1]]
    assert grid["mean_correct_cells"] == pytest.approx(2 / 3)
    assert grid["mean_correct_samples"] == pytest.approx(0.6)
    assert grid["by_propositions"] == {"1": 0.5, "2": 1.0}


def yes(problem, answer, label):
    return True


def nothing(problem, answer, label):
    return None


@pytest.mark.parametrize("check", [yes, nothing])
def test_a_checker_that_gives_no_verdict_is_an_error_that_names_the_problem(check):
    word = check(*"abc")
    with pytest.raises(ValueError, match=f"says {word} of 'Xa': expected one of exact, correct, "):
        judge(check, [("Xa", "a")], ["b"])


ORACLES = {"ltl": lambda f: solve_ltl(f, "fast"), "prop": solve_propositional}


@pytest.mark.parametrize("task", ["ltl", "prop"])
def test_a_perfect_network_gets_perfect_figures(task, monkeypatch):
    answering(monkeypatch, ORACLES[task])
    result = evaluate_task(tiny_logic_network(f"{task}/proposed"), progress=False)
    test, grid = result["test"], result["generalization"]
    assert test["correct"] == test["solved"] == 1 and result["mistakes"] == []
    assert all(draw["correct_greedy"] == 1 for draw in result["draws"] + grid["draws"])
    assert int(test["good"], 16).bit_count() == test["samples"]
    assert grid["mean_correct_cells"] == grid["mean_correct_samples"] == 1
    assert grid["correct"] == grid["solved"] == grid["correct_greedy"] == grid["samples"]
    assert set(grid["by_propositions"].values()) == {1.0}
    sizes = result["alpha_covariance"], result["alpha_covariance_training"]
    assert [one["vocabulary"] for one in sizes] == [5, 3]
    unseen = test["unseen"]
    assert unseen["solved"] == 1 and 0 < unseen["samples"] <= test["samples"]
    json.dumps(result, allow_nan=False)


def test_problems_that_a_network_cannot_read_count_with_all_their_propositions(monkeypatch):
    answering(monkeypatch, ORACLES["ltl"])
    pairs = [("a", "{a}"), ("&a&b&cd", "&a&b&cd;{1}")]
    monkeypatch.setattr(logic, "read_set", lambda *_: {"train": [], "test": pairs})
    for name in ("ltl/plain", "ltl-perturbed/alpha-renaming"):  # 5 names in the grid, and 3
        result = evaluate_task(tiny_logic_network(name), progress=False)
        assert result["generalization"]["by_propositions"] == {"1": 1.0, "4": 0.0}
        assert result["alpha_covariance"] is None
        assert result["alpha_covariance_training"]["by_propositions"] == {}, "nothing is readable"


def test_the_chosen_draw_has_the_median_loss():
    for name, draws in (("ltl/proposed", 2), ("ltl/plain", 1)):
        measures = Evaluation(tiny_logic_network(name), progress=False)
        median, losses = measures.median(measures.solvers(), measures.task.pairs())
        assert len(losses) == draws and losses[median] == max(losses), "the upper of two"


def test_an_interrupted_evaluation_goes_on(tmp_path, monkeypatch):
    network = tiny_logic_network("prop/proposed")
    whole = evaluate_task(network, tmp_path, progress=False)
    (tmp_path / "evaluation-alpha_covariances.json").unlink()
    (tmp_path / "evaluation-alpha_covariance-4.json").unlink()
    measured, measure = [], evaluation.covariance
    monkeypatch.setattr(evaluation, "judge", lambda *_: 1 / 0)
    monkeypatch.setattr(
        evaluation, "covariance", lambda *how: measured.append(how) or measure(*how)
    )
    again = evaluate_task(network, tmp_path, progress=False)
    assert again == json.loads(json.dumps(whole))
    assert len(measured) == 1, "the other numbers of propositions were saved"
    with pytest.raises(ZeroDivisionError):  # another network: its parts are its own
        evaluate_task(tiny_logic_network("prop/proposed", seed=1), tmp_path, progress=False)


# Alpha-covariance


def rule(answer, task: str = "ltl") -> SimpleNamespace:
    """Anything that has answers and a task: a rule in place of a network."""
    answers = lambda formulas: [answer(f) for f in formulas]  # noqa: E731
    return SimpleNamespace(task=tiny_experiment(f"{task}/plain").task, answers=answers)


def test_alpha_covariance_of_known_answers():
    """An answer that names the first proposition of the formula is covariant, "a" is not."""
    pairs = [("&a&bc", ""), ("&c&ba", "")]
    result = covariance(rule(lambda f: f"{{{f[1]}}}"), pairs, "abc", 120)
    assert result["mean"] == 1.0 and result["samples"] == 2
    assert result["formulas"][1] == {"formula": "&c&ba", "value": 1.0, "undone": ["{c}"] * 6}
    # Undone, "a" is each of the three propositions: 1 - (3 - 1) / (6 - 1).
    assert covariance(rule(lambda f: "{a}"), pairs, "abc", 120)["mean"] == pytest.approx(0.6)
    # Propositional answers are compared as assignments.
    true = rule(lambda f: "".join(f"{p}1" for p in sorted(set(f) & set("abc"))), "prop")
    result = covariance(true, [("&a&bc", "")], "abc", 120)
    assert result["mean"] == 1.0 and result["mean_text"] == pytest.approx(0.0)


def test_each_distinct_input_is_decoded_once_and_renamings_are_not_repeated(monkeypatch):
    decoded, pairs = [], [("&ab", ""), ("&ba", ""), ("&ab", "")]
    answering(monkeypatch, lambda f: decoded.append(f) or "{1}")
    covariance(Solver(tiny_logic_network("ltl/proposed")), pairs, "abc", 120)
    assert len(decoded) == len(set(decoded)) == 6
    decoded.clear()
    covariance(Solver(tiny_logic_network("ltl/canonical-proposed")), pairs, "abc", 120)
    assert decoded == ["&ab"], "renamed by first appearance, all variants are one input"
    decoded.clear()
    covariance(rule(lambda f: decoded.append(f) or "{1}"), pairs[:2], "abcdefgh", 10)
    assert len(decoded) == 20 and len(set(decoded[:10])) == 10 == len(set(decoded[10:]))


def test_canonical_answers_are_undone(monkeypatch):
    answering(monkeypatch, ORACLES["ltl"])
    solver = Solver(tiny_logic_network("ltl/canonical-proposed"))
    formulas = [formula for formula, _ in solver.task.pairs()]
    for formula, answer in zip(formulas, solver.answers(formulas), strict=True):
        assert check_ltl(formula, answer) in (EXACT, CORRECT)
        assert set(answer) <= set(formula) | set("10!&|;{}")


# Two methods on the same problems


def marks(both: int, first: int, second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    counts = [both, first, second, neither]
    return np.repeat([True, True, False, False], counts), np.repeat([1, 0, 1, 0], counts) > 0


def test_a_paired_interval_holds_the_difference_in_95_of_100_cases():
    """Over all outcomes of 30 problems, of which the first alone solves 25 %, the second 10 %."""
    n, p, q, held = 30, 0.25, 0.10, 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            _, low, high = paired_interval(*marks(0, wins, losses, n - wins - losses))
            ways = math.comb(n, wins) * math.comb(n - wins, losses)
            chance = ways * p**wins * q**losses * (1 - p - q) ** (n - wins - losses)
            held += chance * (low <= p - q <= high)
    assert 0.94 < held < 0.97
    low, high = paired_interval(*marks(5, 0, 0, 5))[1:]
    assert low < 0 < high, "all agree, and still not certain"
