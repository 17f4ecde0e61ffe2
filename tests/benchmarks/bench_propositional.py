"""Propositional labels and checks: the plain py-aiger way against truth tables and clauses.

    python tests/benchmarks/bench_propositional.py

Random formulas by Spot, as the recipe of PropRandom35 draws them; the text goes in, the label or
the verdict comes out, parsing included. The two methods take turns on the same formulas; the median
turn is printed. Half of the checked answers are labels, half are labels with one value flipped.
That the verdicts agree is asserted, nothing about time is.

Labels may differ (`itekit.tasks.propositional`): it is counted how often, and how many of
py-aiger's cores hold a literal that can be left out.
"""

from functools import partial
from itertools import islice

from _bench import medians, seconds, start, take_turns

from itekit.datasets.candidates import random_formulas
from itekit.logic import bits, cnf
from itekit.logic.assignments import Assignment, parse_assignment
from itekit.logic.operators import PROPOSITIONAL
from itekit.tasks.propositional import METHODS, check, classify, solve
from itekit.tasks.verdicts import CORRECT

COMMAND = "python tests/benchmarks/bench_propositional.py"
SETTINGS = [(5, (12, 35), 150), (10, (36, 50), 100), (26, (80, 100), 40)]
FAST_REPEATS = 20  # the fast method's turns are this many passes over the formulas


def labels(formulas: list[str], method: str) -> list[str | None]:
    return [solve(formula, method) for formula in formulas]


def verdicts(pairs: list[tuple[str, str]], method: str) -> list[str]:
    return [check(formula, answer, None, method) for formula, answer in pairs]


def flipped(label: str) -> str:
    """The label with its first value changed."""
    (name, value), *rest = parse_assignment(label).values
    return Assignment(((name, not value), *rest)).text()


def shorter(formula: str, label: str) -> bool:
    """Whether a literal of the label can be left out."""
    values = parse_assignment(label).values
    return any(
        check(formula, Assignment(values[:place] + values[place + 1 :]).text()) == CORRECT
        for place in range(len(values))
    )


def print_ratio(what: str, function, items: list, rounds: int) -> None:
    calls = {method: partial(function, items, method) for method in METHODS}
    times = medians(take_turns(calls, rounds, {"fast": FAST_REPEATS, "aiger": 1}))
    rates = {method: len(items) / time for method, time in times.items()}
    print(
        f"  {what:10} py-aiger {rates['aiger']:8,.0f} a second, fast {rates['fast']:10,.0f}"
        f" a second: {rates['fast'] / rates['aiger']:6,.0f} times"
    )


def print_labels(formulas: list[str]) -> None:
    """How the two methods' labels compare on the formulas that have one."""
    fast, aiger, again = (labels(formulas, method) for method in ("fast", "aiger", "aiger"))
    both = [place for place in range(len(formulas)) if fast[place]]
    same = sum(fast[place] == aiger[place] for place in both)
    repeated = sum(again[place] == aiger[place] for place in both)
    longer = sum(shorter(formulas[place], aiger[place]) for place in both)
    assert not any(shorter(formulas[place], fast[place]) for place in both)
    print(
        f"  of {len(both)} labels, py-aiger gives {same} like fast, {repeated} the same twice, "
        f"{longer} with a literal too many"
    )


def print_setting(propositions: int, sizes: tuple[int, int], count: int, rounds: int) -> None:
    print(f"\n{propositions} propositions, {sizes[0]} to {sizes[1]} tokens, {count} formulas")
    formulas = list(islice(random_formulas(PROPOSITIONAL, propositions, sizes, 0), count))
    print_ratio("generation", labels, formulas, rounds)
    pairs = [(formula, label) for formula in formulas if (label := solve(formula))]
    pairs = [(f, flipped(answer) if i % 2 else answer) for i, (f, answer) in enumerate(pairs)]
    assert verdicts(pairs, "fast") == verdicts(pairs, "aiger")
    print_ratio("checks", verdicts, pairs, rounds)
    print_labels(formulas)


def print_tables() -> None:
    print("\ntruth tables against clauses, microseconds a formula of 80 to 100 tokens")
    for propositions in (4, 8, 12, 16, 18):
        candidates = random_formulas(PROPOSITIONAL, propositions, (80, 100), 0)
        formulas = [(f, names_of(f)) for f in islice(candidates, 60)]
        times = {
            way.__name__: min(seconds(partial(ask_all, way, formulas)) for _ in range(5))
            for way in (bits, cnf)
        }
        row = ", ".join(
            f"{name.rpartition('.')[2]} {1e6 * time / len(formulas):6.0f}"
            for name, time in times.items()
        )
        print(f"  {propositions:2} propositions: {row}")


def names_of(formula: str) -> list[str]:
    return [token for token in dict.fromkeys(formula) if token.isalpha()]


def ask_all(way, formulas: list[tuple[str, list[str]]]) -> None:
    for formula, names in formulas:
        way.prime_implicant(formula, names)


def main() -> None:
    options = start(COMMAND)
    classify("a")
    for propositions, sizes, count in SETTINGS:
        print_setting(propositions, sizes, count, options.rounds or 3)
    print_tables()


if __name__ == "__main__":
    main()
