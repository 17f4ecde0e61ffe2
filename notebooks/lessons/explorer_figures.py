"""What the explorer draws for a question: the panel's figures, and a notebook's."""

from collections.abc import Sequence

import plotly.graph_objects as go

from itekit.alpha import Renaming
from lessons.explorer_attention import answer_attention
from lessons.explorer_groups import Groups
from lessons.explorer_judging import EMPTY, Judge
from lessons.explorer_question import Question
from itekit.plots import embedding_matrix
from itekit.plots.attention_tree import attention_table, attention_tree
from itekit.plots.lit_rows import light_rows
from itekit.plots.renaming_groups import renaming_groups
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, TIME_OUT

KINDS = {
    EXACT: "right",
    CORRECT: "right",
    EMPTY: "no word",
    INCORRECT: "wrong",
    INVALID: "invalid",
    TIME_OUT: "not checked",
}


def rows_figure(question: Question) -> go.Figure:
    """The whole embedding matrix, the rows of the problem and of the answer lit."""
    subject, embedding = question.subject, question.subject.experiment.embedding
    U = subject.matrix(question.draw).numpy()
    tokens = subject.vocabulary.tokens
    read = subject.as_read(question.asked)
    lit = set(read(question.asked)) | set(read(question.answer)) | {"<start>", "<end>"}
    figure = embedding_matrix(
        U,
        tokens,
        shared_dimensions=U.shape[1] - embedding.d_beta if subject.is_random else None,
        first_interchangeable=subject.vocabulary.learned_count,
        title=f"Rows in use, random draw {question.draw}" if subject.is_random else "Rows in use",
    )
    return light_rows(figure, lit & set(tokens))


def groups_figure(
    question: Question, renamings: Sequence[Renaming], groups: Groups, judge: Judge
) -> go.Figure:
    """The answers so far under many renamings, grouped by what they undo to."""
    subject, rows = question.subject, []
    used = subject.used(question.problem)
    for answer, numbers in groups.sorted():
        kind = KINDS[subject.verdict(judge, question.problem, answer)]
        pairs = [" ".join(f"{name}→{renamings[n]([name])[0]}" for name in used) for n in numbers]
        rows.append((answer, kind, pairs))
    return renaming_groups(rows, title=groups_line(groups))


def groups_line(groups: Groups) -> str:
    """The measure in words."""
    count, different = len(groups.undone), len(groups.sorted())
    line = f"{count} renamings, {different} different answer{'s' * (different > 1)}"
    return f"{line}: alpha-covariance {groups.covariance:.3f}" if count > 1 else line


def attention_figure(
    question: Question,
    layer: int | None = None,
    head: int | None = None,
    *,
    token: int = 0,
    table: bool = False,
) -> go.Figure:
    """Cross-attention of the answer on the problem: over the formula's tree, or as a table.

    Args:
        layer, head: from 0; None: the mean over all.
        token: of the answer, which the tree shows first.
        table: a table in any case; strings have no tree.

    Raises:
        ValueError: the network cannot read the problem.
    """
    subject, read = question.subject, question.subject.as_read(question.asked)
    if missing := subject.unreadable(question.asked):
        raise ValueError(f"the model has no embedding for {', '.join(missing)}: it reads nothing")
    weights = answer_attention(
        subject.network.model,
        subject.matrix(question.draw),
        subject.vocabulary,
        read(question.asked),
        read(question.answer),
    )
    weights = weights.mean(0) if layer is None else weights[layer]
    weights = (weights.mean(0) if head is None else weights[head]).numpy()
    tree, targets = subject.tree(question.asked), [*question.answer, "end"]
    if tree is None or table:
        return attention_table(weights, targets, [*question.asked, "end"])
    return attention_tree(weights, targets, *tree, token=token)
