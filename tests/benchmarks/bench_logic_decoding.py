"""LTL answers a second: with the key/value cache against recomputing, and over many renamings.

    python tests/benchmarks/bench_logic_decoding.py

96 formulas of the test split, beam search with 3 beams, two networks of ltl/proposed:

    paper size    untrained (D 128, 8 + 8 layers), formulas of the paper's recipe (5 APs, size up to
                  35; a sample drawn once and kept in runs/sets); the end token is made impossible
                  on both sides, so that every step works on all formulas: 41 steps
    lab size      the shipped network (D 64, 4 + 4 layers) on ltl35 at lab size, to the end of the
                  last answer: formulas that are settled leave the batch on both sides

Both sides run the same search, `decoding.beam`, from the same U; the outputs are asserted to be
equal. Then alpha-covariance by the shipped network: 100 problems of 5 APs, of whose renamings with
6 APs 120 are asked, against asking about each form by itself. The methods take turns; medians are
printed. Nothing is asserted about time.
"""

from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import torch
from _bench import start, take_turns
from torch import Tensor

from itekit.alpha import used_tokens
from itekit.covariance import covariance
from itekit.datasets.sample import sample
from itekit.datasets.sets import read_set
from itekit.decoding import END, beam
from itekit.experiments import experiment
from itekit.network import Network, seeded
from itekit.pairs import Problems
from itekit.results import MissingResultError, load_network
from itekit.solving import Solver

COMMAND = "python tests/benchmarks/bench_logic_decoding.py"
NAME = "ltl/proposed"
FORMULAS, BEAMS, STEPS = 96, 3, 41
PROBLEMS, APS, ONE_BY_ONE = 100, 5, 60


@dataclass
class Case:
    """What one comparison decodes."""

    title: str
    network: Network
    source: Tensor
    limit: int

    def decode(self, cached: bool) -> tuple[Tensor, Tensor]:
        U = self.network.matrix(self.network.experiment.vocabulary, seeded(0))
        return beam(self.network.model, U, self.source, self.limit, BEAMS, cached=cached)


def sources(network: Network, pairs: list) -> Tensor:
    return Problems.of(pairs[:FORMULAS], network.experiment.vocabulary).sources.long()


def paper_case() -> Case:
    network = Network(experiment(NAME, "paper")).train(False)
    project = network.model.project
    without_end = torch.zeros(len(network.experiment.vocabulary))
    without_end[END] = -torch.inf
    network.model.project = lambda U, features: project(U, features) + without_end
    pairs = sample("ltl35", "paper", 12_500)["test"]
    title = f"paper size, untrained, no end token: {STEPS} steps"
    return Case(title, network, sources(network, pairs), STEPS)


def lab_case() -> Case:
    network = load_network(NAME, "lab")
    source = sources(network, read_set("ltl35", "lab")["test"])
    case = Case("lab size, shipped network", network, source, network.experiment.limit)
    longest = int((case.decode(True)[0] != 0).any(0).any(0).sum())
    return replace(case, title=f"{case.title}, longest kept answer {longest} tokens")


def compare(case: Case, rounds: int) -> None:
    calls = {"cache": partial(case.decode, True), "no cache": partial(case.decode, False)}
    (tokens, scores), (again, same_scores) = (call() for call in calls.values())  # warm up
    assert torch.equal(tokens, again), "the answers with and without a cache differ"
    torch.testing.assert_close(scores, same_scores, rtol=1e-4, atol=1e-5)
    times = take_turns(calls, rounds)
    print(
        f"\n{case.title}\n  beam of size {BEAMS}, {FORMULAS} formulas, {rounds} turns, same answers"
    )
    for name, values in times.items():
        print(f"  {name:10}{median(values):8.2f} s {FORMULAS / median(values):8.1f} formulas/s")
    print_ratio("no cache / cache", times["no cache"], times["cache"])


def print_ratio(name: str, slow: list[float], fast: list[float]) -> None:
    ratios = [a / b for a, b in zip(slow, fast, strict=True)]
    print(f"  {name}: {median(ratios):.1f} times ({min(ratios):.1f} to {max(ratios):.1f})")


def compare_covariance(rounds: int) -> None:
    network = load_network(NAME, "lab")
    solver, names = Solver(network), network.experiment.names
    pairs = read_set("ltl-alpha-covariance", "lab")["test"]
    problems = [p for p in pairs if len(used_tokens(p[0], names)) == APS][:PROBLEMS]
    variants = network.experiment.variants
    some = [formula for formula, _ in problems[:ONE_BY_ONE]]
    found = covariance(solver, problems, names, variants)  # warm up
    calls = {
        "together": partial(covariance, solver, problems, names, variants),
        "one by one": lambda: [solver.answers([formula]) for formula in some],
    }
    times, asked = take_turns(calls, rounds), len(problems) * variants
    print(f"\nalpha-covariance, lab size, shipped network: {len(problems)} problems of {APS} APs, "
          f"{variants} variants each, mean {found['mean']:.3f}")  # fmt: skip
    for name, count in {"together": asked, "one by one": len(some)}.items():
        rates = [count / value for value in times[name]]
        print(f"  {name:12}{median(rates):8.0f} formulas/s ({min(rates):.0f} to {max(rates):.0f}), "
              f"{count:,} asked")  # fmt: skip
    slow = [value / len(some) * asked for value in times["one by one"]]
    print_ratio("one by one / together", slow, times["together"])


def main() -> None:
    options = start(COMMAND)
    rounds = options.rounds or 3
    compare(paper_case(), rounds)
    try:
        compare(lab_case(), rounds)
        compare_covariance(rounds)
    except MissingResultError as error:
        print(f"\nleft out: {error}")


if __name__ == "__main__":
    main()
