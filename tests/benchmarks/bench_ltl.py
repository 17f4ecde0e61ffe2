"""LTL labels and checks: Spot's default way against the fast one, and the time for a large set.

    python tests/benchmarks/bench_ltl.py

Random formulas by Spot with the weights of LTLRandom35. The text goes in, the label or the verdict
comes out, parsing included; processor time of one core. Each formula is worked on in a process that
is ended after 5 seconds, which then count as its time. "Default" is what the published tools do:
`translate()` for labels, and for checks whether the formula's automaton contains the word's. That
the verdicts agree is asserted, nothing about time is.

Half of the checked traces are the formula's label, half are another formula's. The last part is a
sample, scaled to 10,000 formulas.
"""

import statistics
import time
from itertools import islice

import spot
from _bench import start

from itekit.datasets.candidates import random_formulas
from itekit.datasets.limited import LimitedWorker
from itekit.logic.operators import LTL
from itekit.logic.spot_bridge import prefix_to_spot, to_spot
from itekit.logic.traces import parse_trace
from itekit.tasks.ltl import satisfies, solve
from itekit.tasks.verdicts import TIME_OUT

COMMAND = "python tests/benchmarks/bench_ltl.py"
CPU_SECONDS = 5.0
CHECKED, SOLVED, LARGE = 300, 400, 400  # formulas in each part
# Paper, section "Generalization to More APs": seconds of a thread for a formula
PAPER = 141 * 60 * 56 / 100_000


def timed(call, *args):
    """The answer and the processor time; under a limit the process's own clock is a coarse one."""
    begin = time.thread_time()
    answer = call(*args)
    return [answer, time.thread_time() - begin]


def label_fast(formula: str):
    return timed(solve, formula, "fast")


def label_default(formula: str):
    return timed(solve, formula, "default")


def translate_fast(formula: str):
    """Spot's translation alone."""
    parsed, options = prefix_to_spot(formula), ("Low", "Any")
    return [None, timed(parsed.translate, *options)[1]]


def check_fast(pair: list[str]):
    return timed(satisfies, *pair)


def check_default(pair: list[str]):
    return timed(contained, *pair)


def contained(formula: str, trace: str) -> bool:
    symbolic = parse_trace(trace)
    texts = [str(to_spot(step)) for step in symbolic.steps]
    prefix = "".join(text + "; " for text in texts[: len(symbolic.prefix)])
    word = spot.parse_word(prefix + "cycle{" + "; ".join(texts[len(symbolic.prefix) :]) + "}")
    return bool(spot.contains(prefix_to_spot(formula).translate(), word.as_automaton()))


def run(task: str, items: list) -> tuple[list, list[float]]:
    """Answers and seconds; the seconds of an item that was ended are the limit."""
    with LimitedWorker(f"bench_ltl:{task}", CPU_SECONDS) as worker:
        found = [
            [TIME_OUT, CPU_SECONDS] if answer == TIME_OUT else answer
            for answer in worker.map(items)
        ]
    return [answer for answer, _ in found], [seconds for _, seconds in found]


def formulas(propositions: int, sizes: tuple[int, int], count: int) -> list[str]:
    exact = sizes[0] == sizes[1]
    return list(islice(random_formulas(LTL, propositions, sizes, 0, fitting=exact), count))


def print_row(name: str, seconds: list[float], answers: list) -> None:
    mean, median = statistics.mean(seconds), statistics.median(seconds)
    print(
        f"  {name:22} {1 / mean:8,.0f} a second; mean {1e3 * mean:8.3f} ms, median "
        f"{1e3 * median:7.3f} ms, longest {1e3 * max(seconds):8.1f} ms, "
        f"{answers.count(TIME_OUT)} time-outs"
    )


def print_ratio(fast: list[float], default: list[float]) -> None:
    mean = statistics.mean(default) / statistics.mean(fast)
    median = statistics.median(default) / statistics.median(fast)
    print(f"  fast against default: {mean:.1f} times by the mean, {median:.1f} by the median")


def print_checks(sizes: tuple[int, int]) -> None:
    texts = formulas(5, sizes, CHECKED)
    labels, _ = run("label_fast", texts)
    pairs = [[text, label] for text, label in zip(texts, labels, strict=True) if label]
    others = [label for _, label in pairs]
    pairs += [[text, others[place - 1]] for place, (text, _) in enumerate(pairs)]
    print(f"\nchecks, 5 APs, {sizes[0]} to {sizes[1]} tokens, {len(pairs)} pairs")
    (slow, slow_seconds), (quick, quick_seconds) = (
        run(task, pairs) for task in ("check_default", "check_fast")
    )
    known = [place for place, answer in enumerate(slow) if answer != TIME_OUT]
    assert [slow[place] for place in known] == [quick[place] for place in known]
    print_row("default containment", slow_seconds, slow)
    print_row("itekit", quick_seconds, quick)
    print_ratio(quick_seconds, slow_seconds)
    print(f"  the {len(known)} verdicts of both agree, {sum(slow[p] for p in known)} satisfied")


def print_labels(sizes: tuple[int, int]) -> None:
    texts = formulas(5, sizes, SOLVED)
    print(f"\nlabels, 5 APs, {sizes[0]} to {sizes[1]} tokens, {len(texts)} formulas")
    slow, slow_seconds = run("label_default", texts)
    quick, quick_seconds = run("label_fast", texts)
    _, only = run("translate_fast", texts)
    known = [place for place, answer in enumerate(slow) if answer != TIME_OUT]
    assert [slow[p] is None for p in known] == [quick[p] is None for p in known]
    print_row("default translation", slow_seconds, slow)
    print_row("fast", quick_seconds, quick)
    print_row("fast, Spot's part", only, [])
    print_ratio(quick_seconds, slow_seconds)
    both = [p for p in known if slow[p]]
    lengths = [statistics.mean(len(found[p]) for p in both) for found in (slow, quick)]
    same = sum(slow[p] == quick[p] for p in both) / len(both)
    print(
        f"  labels are {lengths[0]:.1f} characters long by default, {lengths[1]:.1f} by fast; "
        f"{same:.0%} are the same"
    )


def print_large() -> None:
    begin = time.process_time()
    texts = formulas(10, (50, 50), LARGE)
    drawing = (time.process_time() - begin) / LARGE
    print(f"\nlabels, 10 APs, exactly 50 tokens, fast, {LARGE} formulas")
    answers, seconds = run("label_fast", texts)
    print_row("fast", seconds, answers)
    each = (sum(seconds) / LARGE + drawing) / (1 - answers.count(None) / LARGE)
    print(
        f"  drawing takes {1e3 * drawing:.2f} ms a formula; {answers.count(None)} of {LARGE} have "
        f"no label\n  scaled to 10,000 labelled formulas: {10_000 * each:.0f} s on one core, "
        f"{5_000 * each:.0f} s on two\n  a labelled formula takes {1e3 * each:.1f} ms of one core; "
        f"the paper's 141 minutes on\n  56 threads for 100,000 (50 tokens, at most 10 APs) are "
        f"{PAPER:.1f} s of a thread each: {PAPER / each:.0f} times as much"
    )


def main() -> None:
    start(COMMAND)
    for sizes in [(1, 35), (35, 35)]:
        print_checks(sizes)
    for sizes in [(1, 35), (35, 35)]:
        print_labels(sizes)
    print_large()


if __name__ == "__main__":
    main()
