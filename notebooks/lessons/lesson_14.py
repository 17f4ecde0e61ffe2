"""Lesson 14: blind answers, our networks' verdicts beside a language model's; and its exercises."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from itekit import evaluation
from itekit.decoding import Solver
from itekit.results import load_network, load_result
from itekit.tasks.streams import Pair
from itekit.tasks.verdicts import GOOD, VACUOUS
from lessons.exercises import Exercise, many
from lessons.llm import judge
from lessons.panels import Panel, small_panel, typed
from lessons.plots import COLOURS, style
from lessons.prompts import read_answer


def blind_panel(problems: Sequence[Pair], trace: str) -> Panel:
    """Type one trace; how many of the problems it solves, whatever their formulas say."""
    formulas, labels = zip(*problems, strict=True)

    def work(trace: str) -> str:
        read_answer("ltl", trace)  # AnswerError: it is no trace
        verdicts = judge("ltl", formulas, [trace] * len(formulas), labels)
        good = sum(verdict in GOOD for verdict in verdicts)
        words = ", but vacuous" if VACUOUS in verdicts else ""
        return f"<p><b>right: {good} of {len(verdicts)}</b>{words}</p>"

    return small_panel(work, typed(trace, "trace"))


def verdicts_of_ours(task: str, name: str, problems: Sequence[Pair]) -> Counter:
    """The verdicts on a shipped lab network's answers."""
    network, draw = load_network(name, "lab", 0), load_result(name, "lab", 0)
    solver = Solver(network, draw["result"]["median_draw"], network.experiment.task.vocabulary)
    answers = solver.answers([formula for formula, _ in problems])
    return Counter(evaluation.judge(network.experiment.task.check, problems, answers).verdicts)


def verdicts_figure(counts: Mapping[str, Mapping[str, int]]) -> go.Figure:
    """Stacked bars of the verdicts on each model's replies."""
    figure = go.Figure()
    verdicts = ("exact", "correct", VACUOUS, "incorrect", "invalid")
    for colour, verdict in zip((2, 5, 3, 4, 1), verdicts, strict=True):
        n = [c.get(verdict, 0) for c in counts.values()]
        name = {VACUOUS: "correct, but vacuous", "invalid": "no answer"}.get(verdict, verdict)
        bar = {"name": name, "marker_color": COLOURS[colour], "orientation": "h"}
        figure.add_bar(y=list(counts), x=n, text=[k or "" for k in n], **bar)
    middle = {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
    figure.update_traces(**middle, constraintext="none")
    figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
    figure.update_xaxes(title_text="replies").update_yaxes(autorange="reversed")
    told = "; ".join(f"{name}: {dict(found)}" for name, found in counts.items())
    alt = {"alt": f"Stacked bars of verdicts, one bar a model and task. {told}"}
    return style(figure, title="Verdicts on the same problems", width=860, height=360, meta=alt)


def _kept(percent, enough, strict=False, before=False):
    kept, total = set(), 0
    for share, token in sorted(((share, i) for i, share in enumerate(percent)), reverse=True):
        if total > enough or (total == enough and not strict) or before and total + share > enough:
            break
        kept.add(token)
        total += share
    return kept


def _percentages(rng):
    cuts = sorted(rng.sample(range(1, 100), rng.randint(2, 5)))
    percent = [b - a for a, b in zip([0, *cuts], [*cuts, 100], strict=True)]
    if len(set(percent)) < len(percent):
        return None  # ties
    return percent, rng.choice((50, 80, 90, max(percent)))


check_kept = Exercise("kept", _kept, many(30, _percentages, ([20, 50, 30], 70), ([20, 50, 30], 80)))
check_kept.mistakes = {
    lambda p, enough: _kept(p, enough, before=True): "one token too few: the one with which the "
    "sum reaches the threshold is kept.",
    lambda p, enough: _kept(p, enough, strict=True): "no more once the sum is the threshold.",
    lambda p, enough: {i for i in range(len(p)) if sum(p[:i]) < enough}: "the fewest tokens: so "
    "the most probable ones first, wherever they stand.",
}


def _read(reply, names, boolean=lambda value: isinstance(value, bool)):
    try:
        pairs = json.loads(reply).items()
    except (ValueError, AttributeError):  # no JSON, or no object
        return None
    if not all(name in names and boolean(value) for name, value in pairs):
        return None
    return "".join(f"{name}{int(value)}" for name, value in pairs)


REPLIES = ('{"a": true}', "{}", '[["a", true]]', '{"a": 1}', '{"a": "true"}', '{"a": true', "a1")
REPLIES += 'Here it is: {"a": true}', '{"d": true}', '\n{"c": false,\n "a": true}\n'


def _reply(rng):
    names = "abcdef"[: rng.randint(2, 5)]
    said = rng.sample("abcdef", rng.randint(1, len(names)))
    reply = json.dumps({name: rng.random() < 0.5 for name in said})
    return rng.choice(("", "", "Answer: ")) + reply, names


check_read = Exercise("read", _read, many(20, _reply, *((reply, "abc") for reply in REPLIES)))
check_read.mistakes = {
    lambda reply, names: _read(reply[reply.find("{") : reply.rfind("}") + 1], names): "only the "
    "assignment was asked for: a reply that says more is none, however right what stands in it. "
    "(Another rule can be defended, but not after looking at the results.)",
    lambda reply, names: _read(reply, "abcdef"): "a value for a proposition that the formula does "
    "not have makes the whole reply invalid.",
    lambda reply, names: _read(reply, names, boolean=lambda value: value in (True, False)): "1 == "
    "True in Python, and yet the number 1 is no Boolean of JSON.",
}


def _held(texts):
    chances = {}
    for text in texts:
        chances[text] = 1.0
        for place in range(len(text)):
            possible = {other[place] for other in texts if other.startswith(text[:place])}
            chances[text] /= len(possible)
    return chances


def _texts(rng):
    words = {"".join(rng.choices("abc", k=rng.randint(1, 4))) for _ in range(rng.randint(2, 6))}
    return (sorted({word + "." for word in words} | {"a.", "ba.", "bb."}),)


check_held_chances = Exercise("held_chances", _held, many(30, _texts, (["a.", "ba.", "bb."],)))
check_held_chances.mistakes = {
    lambda texts: dict.fromkeys(texts, 1 / len(texts)): "that would be drawing a text. Letters are "
    "drawn: all texts that begin alike share one chance.",
    lambda texts: {t: 10 ** -len(t) / sum(10 ** -len(u) for u in texts) for t in texts}: "that is "
    "what a free model says *if* its text happens to fit. A held model says no other text, and "
    "their chance goes to whatever is possible next.",
}
