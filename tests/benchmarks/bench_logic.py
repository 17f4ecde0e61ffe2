"""Labels and checks of both logics: the published tools' way against the fast one.

    python tests/benchmarks/bench_logic.py

Random formulas by Spot, as the recipes of LTLRandom35 and PropRandom35 draw them. The text goes in,
the label or the verdict comes out, parsing included; processor time of one core. Half of the
checked answers are the formula's label, half are other ones. That the verdicts agree is asserted,
nothing about time is.

LTL: "default" is what the published tools do: `translate()` for labels, and for checks whether the
formula's automaton contains the word's. Each formula is worked on in a process that is ended after
5 seconds, which then count as its time. Propositional logic: "aiger" is py-aiger as the authors use
it, and the two methods take turns.
"""

import statistics
import time
from functools import partial
from itertools import islice

import spot
from _bench import start, take_turns

from itekit.datasets.candidates import random_formulas
from itekit.logic.formulas import LTL, PROPOSITIONAL
from itekit.logic.spot_bridge import prefix_to_spot, trace_automaton
from itekit.logic.traces import parse_trace
from itekit.logic.truth_tables import Assignment, parse_assignment
from itekit.tasks import ltl, propositional
from itekit.tasks.verdicts import TIME_OUT
from itekit.workers import run

CPU_SECONDS = 5.0
PAPER = 141 * 60 * 56 / 100_000  # seconds of a thread for a formula (section "Generalization ...")


def contained(formula: str, trace: str) -> bool:
    """Default containment, as in the published checkers."""
    automaton = prefix_to_spot(formula).translate()
    return bool(spot.contains(automaton, trace_automaton(parse_trace(trace))))


WAYS = {
    "label default": ltl.solve,
    "label fast": partial(ltl.solve, translation="fast"),
    "check default": contained,
    "check fast": ltl.satisfies,
}


def timed(item: tuple) -> tuple:
    """The answer and the processor time; under a limit the process's own clock is a coarse one."""
    way, *values = item
    begin = time.thread_time()
    return WAYS[way](*values), time.thread_time() - begin


def ask(way: str, items: list[tuple]) -> list:
    """Prints how long the items take; the answers, TIME_OUT for those that were ended."""
    found = list(run(timed, [(way, *item) for item in items], workers=1, limit=CPU_SECONDS))
    pairs = [(one, CPU_SECONDS) if one == TIME_OUT else one for one in found]
    seconds = [taken for _, taken in pairs]
    mean, median = statistics.mean(seconds), statistics.median(seconds)
    print(
        f"  {way:14} {1 / mean:8,.0f} a second; mean {1e3 * mean:8.3f} ms, median "
        f"{1e3 * median:7.3f}, longest {1e3 * max(seconds):8.1f}; {found.count(TIME_OUT)} time-outs"
    )
    return [answer for answer, _ in pairs]


def print_ltl(sizes: tuple[int, int], count: int = 300) -> None:
    fitting = sizes[0] == sizes[1]
    texts = list(islice(random_formulas(LTL, 5, sizes, 0, fitting=fitting), count))
    print(f"\nLTL, 5 APs, {sizes[0]} to {sizes[1]} tokens, {count} formulas")
    labels = {way: ask(f"label {way}", [(text,) for text in texts]) for way in ("default", "fast")}
    both = list(zip(*labels.values(), strict=True))
    assert all((slow is None) == (fast is None) for slow, fast in both if slow != TIME_OUT)
    pairs = [(f, a) for f, a in zip(texts, labels["fast"], strict=True) if a]
    pairs += [(f, pairs[place - 1][1]) for place, (f, _) in enumerate(pairs)]
    slow, fast = ask("check default", pairs), ask("check fast", pairs)
    known = [(a, b) for a, b in zip(slow, fast, strict=True) if a != TIME_OUT]
    assert all(a == b for a, b in known)
    print(f"  the {len(known)} verdicts of both agree, {sum(a for a, _ in known)} satisfied")


def print_large(count: int = 400) -> None:
    texts = list(islice(random_formulas(LTL, 10, (50, 50), 0, fitting=True), count))
    print(f"\nLTL, 10 APs, exactly 50 tokens, {count} formulas (the paper: {PAPER:.1f} s each)")
    ask("label fast", [(text,) for text in texts])


def flipped(label: str) -> str:
    """The label with its first value changed."""
    (name, value), *rest = parse_assignment(label).values
    return Assignment(((name, not value), *rest)).text()


def print_propositional(propositions: int, sizes: tuple[int, int], count: int, rounds: int) -> None:
    texts = list(islice(random_formulas(PROPOSITIONAL, propositions, sizes, 0), count))
    print(f"\npropositional, {propositions} APs, {sizes[0]} to {sizes[1]} tokens, {count} formulas")
    pairs = [(text, label) for text in texts if (label := propositional.solve(text))]
    answers = [(f, flipped(a) if place % 2 else a) for place, (f, a) in enumerate(pairs)]

    def labels(method: str) -> list:
        return [propositional.solve(text, method) for text in texts]

    def verdicts(method: str) -> list:
        return [propositional.check(*pair, None, method) for pair in answers]

    assert verdicts("fast") == verdicts("aiger")
    repeats = {"fast": 20, "aiger": 1}  # passes over the formulas in a turn
    for what, function, items in (("labels", labels, texts), ("checks", verdicts, answers)):
        calls = {method: partial(function, method) for method in repeats}
        rates = {m: len(items) / t for m, t in take_turns(calls, rounds, repeats).items()}
        print(
            f"  {what} py-aiger {rates['aiger']:8,.0f} a second, fast {rates['fast']:10,.0f}: "
            f"{rates['fast'] / rates['aiger']:6,.0f} times"
        )


def main() -> None:
    rounds = start(3)
    for sizes in [(1, 35), (35, 35)]:
        print_ltl(sizes)
    print_large()
    for setting in [(5, (12, 35), 150), (10, (36, 50), 100), (18, (80, 100), 20)]:
        print_propositional(*setting, rounds)


if __name__ == "__main__":
    main()
