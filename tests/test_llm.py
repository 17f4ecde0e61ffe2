"""A language model on the same problems: what it is asked, and what its replies say."""

import hashlib
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itekit.alpha import Renaming
from itekit.datasets.sets import read_set
from itekit.llm import prompts
from itekit.llm.answers import AnswerError, comparable, read_answer, rename_reply
from itekit.llm.judging import judge
from itekit.llm.questions import Question, trace_pattern
from itekit.logic.operators import PROPOSITIONAL
from itekit.logic.prefix import parse_prefix
from itekit.logic.semantics import truth_table


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (
            prompts.LTL_PROMPT,
            "543eb51ae77bfb3fdb3ff1a4a262b5591ab49a36af4e4b56553c3e9e6c2bdb6c",
        ),
        (
            prompts.PROPOSITIONAL_PROMPT,
            "437b7d1f8cd31e6908311dd9b2966551d4614be6091a69f66fb418802df17d0e",
        ),
    ],
)
def test_prompts_are_the_listings_of_the_paper(text, digest):
    """The digests are of the two listings in the LaTeX source of the paper."""
    assert hashlib.sha256(text.encode()).hexdigest() == digest


def examples(task):
    """(formula, answer) of the examples in a prompt as it is sent."""
    word = {"ltl": "Trace", "propositional": "Assignment"}[task]
    return re.findall(rf"Formula: (.+)\n{word}: (.+)", prompts.prompt(task, "a"))


@pytest.mark.parametrize("task", ["ltl", "propositional"])
def test_examples_of_the_prompt_are_in_our_notation_and_right(task):
    from itekit.logic.infix import parse_infix
    from itekit.tasks.vocabularies import LANGUAGES

    found = examples(task)
    assert len(found) == 4
    for infix, answer in found:
        formula = "".join(parse_infix(infix, LANGUAGES[task]).tokens())
        assert prompts.infix(task, formula) == infix
        assert judge(task, [formula], [answer]) == ["correct"]


def test_only_the_formula_of_a_prompt_changes():
    first, second = (prompts.prompt("ltl", f) for f in ("UaXb", "&b!a"))
    assert first.replace("a U Xb", "b & !a") == second
    assert "{" not in first.replace("cycle{1}", "").replace("cycle{c}", "")


class Bit(int):
    """0 or 1, with Python operators of the prompt's ranks: ~ not, * and, + or, & xor, | equal."""

    def __invert__(self):
        return Bit(1 - self)

    def __mul__(self, other):
        return Bit(int(self) & int(other))

    def __add__(self, other):
        return Bit(int(self) or int(other))

    def __and__(self, other):
        return Bit(int(self) != int(other))

    def __or__(self, other):
        return Bit(int(self) == int(other))


@st.composite
def propositional_formulas(draw, depth=4):
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from("abc"))
    operator = draw(st.sampled_from("!&|=^"))
    return operator + "".join(
        draw(propositional_formulas(depth - 1)) for _ in range(1 if operator == "!" else 2)
    )


@settings(max_examples=60, deadline=None)
@given(propositional_formulas())
def test_infix_text_means_the_formula_under_the_ranks_that_the_prompt_states(formula):
    """The prompt ranks ! & | xor <->; Spot ranks xor above |."""
    text = prompts.infix("propositional", formula)
    for word, operator in (("|", "+"), ("&", "*"), ("xor", "&"), ("<->", "|"), ("!", "~")):
        text = text.replace(word, operator)
    table = 0
    for number, (c, b, a) in enumerate(product((0, 1), repeat=3)):
        table |= eval(text, {"a": Bit(a), "b": Bit(b), "c": Bit(c)}) << number
    assert table == truth_table(parse_prefix(formula, PROPOSITIONAL), "abc")


def test_a_renaming_of_the_formula_renames_the_schema_and_nothing_else():
    renaming = Renaming({"a": "c", "c": "a", "b": "d"})
    schema = Question("propositional", "&c|ab").schema
    renamed = Question("propositional", renaming("&c|ab")).schema
    assert list(schema["properties"]) == ["c", "a", "b"]
    assert list(renamed["properties"]) == renaming(list(schema["properties"]))
    assert Question("ltl", "a").schema is None


def test_the_form_of_traces_holds_what_can_be_read_and_most_labels():
    from itekit.logic.infix_traces import trace_to_infix
    from itekit.logic.traces import parse_trace

    pattern = re.compile(trace_pattern(list("abc")))
    labels = [label for _, label in read_set("ltl35", "smoke")["test"]]
    texts = [trace_to_infix(parse_trace(label)) for label in labels]
    assert sum(bool(pattern.match(text)) for text in texts) >= 0.9 * len(texts)
    for bad in ("a", "cycle{}", "cycle{d}", "a cycle{1}", "cycle{Xa}", "cycle{1} a"):
        assert not pattern.match(bad)
    rng = np.random.default_rng(0)
    for _ in range(20):
        steps = ["!a & b", "1", "c | 0", "!c"]
        cycle = "; ".join(rng.choice(steps, rng.integers(1, 4)))
        text = "; ".join([*rng.choice(steps, rng.integers(0, 4)), f"cycle{{{cycle}}}"])
        assert pattern.match(text) and read_answer("ltl", text)


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="unknown task 'sat'"):
        Question("sat", "a")


@pytest.mark.parametrize(
    ("task", "reply", "answer"),
    [
        ("ltl", "a; a & !b; cycle{1}", "a;&a!b;{1}"),
        ("ltl", " \n cycle{ b ; 1 }\n", "{b;1}"),
        ("ltl", "```\ncycle{b}\n```", "{b}"),
        ("ltl", "```text\nTrace: cycle{b}\n```", "{b}"),
        ("ltl", "`cycle{b}`", "{b}"),
        ("ltl", "Trace: a; cycle{b}", "a;{b}"),
        ("ltl", '{"trace": "a; cycle{b | c}"}', "a;{|bc}"),
        ("propositional", '{ "a": true, "c": false }', "a1c0"),
        ("propositional", "{}", ""),
        ("propositional", 'Assignment:\n```json\n{"b":true}\n```', "b1"),
    ],
)
def test_replies_that_are_answers(task, reply, answer):
    assert read_answer(task, reply) == answer


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        ("ltl", ""),
        ("ltl", "I am sorry, but I cannot do that."),
        ("ltl", "a; b"),
        ("ltl", "a; cycle{b} and so on"),
        ("ltl", "cycle{{b}}"),
        ("ltl", "cycle{Xa}"),
        ("ltl", "cycle{2}"),
        ("ltl", "cycle{ab}"),
        ("ltl", "cycle{A}"),
        ("ltl", '{"trace": 3}'),
        ("ltl", '{"a": true}'),
        ("ltl", "cycle{" + "(" * 5000),
        ("propositional", ""),
        ("propositional", "a1b0"),
        ("propositional", '{"a": true'),
        ("propositional", '{"a": 1}'),
        ("propositional", '{"a": "true"}'),
        ("propositional", '{"a": true, "a": true}'),
        ("propositional", '{"A": true}'),
        ("propositional", '{"ab": true}'),
        ("propositional", '{"a b": true}'),
        ("propositional", '["a"]'),
        ("propositional", "null"),
        ("propositional", "[" * 100_000),
    ],
)
def test_replies_that_are_no_answers_say_why(task, reply):
    with pytest.raises(AnswerError, match="."):
        read_answer(task, reply)
    assert judge(task, ["a"], [reply]) == ["invalid"]


def test_verdicts_are_those_of_the_checkers():
    replies = ["a; cycle{1}", "b; cycle{1}", "a; a; cycle{1}", "nonsense"]
    assert judge("ltl", ["a"] * 4, replies, ["a;{1}"] * 4) == [
        "exact",
        "incorrect",
        "correct",
        "invalid",
    ]
    replies = ['{"a": true}', '{"b": true, "a": false}', "{}", '{"c": true}']
    assert judge("propositional", ["|ab"] * 4, replies, ["a1"] * 4) == [
        "exact",
        "correct",
        "incorrect",
        "invalid",
    ]
    assert judge("ltl", [], []) == []


def test_renaming_a_reply_renames_its_answer_and_prose_alike():
    r = Renaming({"a": "c", "b": "a", "c": "b"})
    for task, reply in [
        ("ltl", "a; b & !c; cycle{a; 1}"),
        ("propositional", '{ "a": true, "b": false }'),
    ]:
        assert read_answer(task, rename_reply(reply, r)) == r(read_answer(task, reply))
        assert rename_reply(rename_reply(reply, r), r.inverse()) == reply
    assert rename_reply("Let a be true, said cat X_a.", r) == "Let c be true, said cat X_a."


def test_replies_are_compared_by_what_they_say():
    same = ['{"a": true, "b": false}', '{ "b":false,\n"a":true }']
    assert comparable("propositional", same[0]) == comparable("propositional", same[1])
    assert comparable("ltl", "a&b; cycle{1}") == comparable("ltl", "Trace: a & b; cycle{ 1 }")
    assert comparable("ltl", "no") != comparable("ltl", "never")
    assert comparable("ltl", "no") == comparable("ltl", " no\n")
