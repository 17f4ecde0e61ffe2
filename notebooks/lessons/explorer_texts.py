"""What the explorer says about a question, as HTML: the answer with its verdict, and the tries."""

import html
from collections.abc import Sequence

from lessons.copies import Copy, marked
from lessons.explorer_judging import CHECKERS, EMPTY, GOOD, Judge
from lessons.explorer_question import Question
from lessons.explorer_redrawing import Attempt
from lessons.explorer_subjects import Subject
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, TIME_OUT

WORDS = {
    EXACT: "✓ right, and the reference answer",
    CORRECT: "✓ right",
    EMPTY: "✗ right by the definition, but it stands for no word at all",
    INCORRECT: "✗ wrong",
    INVALID: "✗ invalid",
    TIME_OUT: "? not known: the check took too long",
}
_CELL = '<{0} style="text-align:left;vertical-align:top;padding:0.1em 1.5em 0.1em 0">{1}</{0}>'


def answer_html(question: Question, judge: Judge | None) -> str:
    """A table: problem, answer and verdict; where something is renamed, the answer undone too.

    Args:
        judge: None leaves the verdict out, for a first look.
    """
    subject, renamed = question.subject, question.asked != question.problem
    rows = [(subject.noun, _written(subject, question.problem))]
    if question.remark:
        rows.append(("", f"<small>{html.escape(question.remark)}</small>"))
    if renamed:
        rows.append(("renamed", _written(subject, question.asked)))
    if missing := subject.unreadable(question.asked):
        names = html.escape(", ".join(missing))
        rows.append(("answer", f"<em>(empty: the model has no embedding for {names})</em>"))
        return _table(rows)
    verdict = judge and subject.verdict(judge, question.asked, question.answer)
    said = _said(subject, question.asked, question.answer)
    rows.append(("answer", f"{said} {_badge(subject, verdict)}"))
    if renamed:
        rows.append(("renaming undone", _undone(question)))
    if verdict not in (EXACT, None) and subject.task != "copying":
        rows.append(("one right answer", _label(subject, judge, question.asked)))
    return _table(rows)


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = (_CELL.format("th", name) + _CELL.format("td", text) for name, text in rows)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _written(subject: Subject, problem: str) -> str:
    text = f"<code>{html.escape(subject.shown(problem))}</code>"
    prefix = f" · prefix <code>{html.escape(problem)}</code>"
    return text if subject.task == "copying" else text + prefix


def _said(subject: Subject, problem: str, answer: str) -> str:
    if subject.task == "copying":
        return marked(Copy(problem, answer))
    return f"<code>{html.escape(answer) or '(empty)'}</code>{html.escape(subject.spelled(answer))}"


def _badge(subject: Subject, verdict: str | None) -> str:
    if verdict is None:
        return "<em>… being checked</em>"
    by = f", says {CHECKERS[subject.task]}" if subject.task in CHECKERS else ""
    return f"<b>{_words(subject, verdict)}</b>{by}"


def _words(subject: Subject, verdict: str) -> str:
    if subject.task == "copying":
        return "✓ a perfect copy" if verdict == EXACT else "✗ no perfect copy"
    return WORDS[verdict]


def _undone(question: Question) -> str:
    subject, undone = question.subject, question.renaming.inverse()(question.answer)
    same = subject.compared(undone) == subject.compared(question.plain_answer)
    said = _said(subject, question.problem, undone)
    if same:
        return f"{said} ✓ the same answer as without the renaming"
    plain = _said(subject, question.problem, question.plain_answer)
    return f"{said} ✗ not the answer without the renaming: {plain}"


def _label(subject: Subject, judge: Judge, problem: str) -> str:
    label = subject.label(judge, problem)
    if label == TIME_OUT:
        return "not known: solving took too long"
    if label is None:
        return f"none: {subject.without_label}"
    return f"<code>{html.escape(label)}</code>{html.escape(subject.spelled(label))}"


def attempts_html(question: Question, tried: Sequence[Attempt], most: int) -> str:
    """A table of the tries so far, and how it ended."""
    subject, lines = question.subject, []
    used = subject.used(question.asked)
    for one in tried:
        what = f"random part {one.number}"
        if not subject.is_random:
            pairs = [f"{name} → {one.renaming([name])[0]}" for name in used]
            what = html.escape(", ".join(pairs)) if one.number else "as it is"
        said = _said(subject, question.asked, one.answer)
        lines.append([f"try {one.number + 1}", what, said, _words(subject, one.verdict)])
    cells = ("".join(_CELL.format("td", text) for text in line) for line in lines)
    rows = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<p>{_ending(tried, most)}</p><table>{rows}</table>"


def _ending(tried: Sequence[Attempt], most: int) -> str:
    if tried and tried[-1].verdict in GOOD:
        return f"Verified at try {len(tried)}."
    if len(tried) == most:
        return f"None of {most} tries was verified."
    return "Trying…"
