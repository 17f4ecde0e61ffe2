"""A language model on the same problems: what it is asked, what it says, and its marks."""

import hashlib
import json
import re
from itertools import product

import pytest
from hypothesis import given
from llm_server import FakeServer, completion, model_on
from logical import formulas

from itekit.alpha import Renaming
from itekit.datasets.sets import read_set
from itekit.files import RESULTS, MissingError, read_json
from itekit.logic.formulas import LANGUAGES, to_prefix
from itekit.logic.traces import parse_trace
from itekit.logic.truth_tables import truth_table
from itekit.tasks import ltl, propositional
from lessons.infix import parse_infix, trace_to_infix
from lessons.llm import LanguageModel, judge, load_result, measure
from lessons.prompts import (
    LTL_PROMPT,
    PROPOSITIONAL_PROMPT,
    AnswerError,
    Question,
    comparable,
    prompt,
    read_answer,
    rename_reply,
)


def asked(task, formula):
    """The formula as the prompt has it."""
    return prompt(task, formula).splitlines()[-2].removeprefix("Formula: ")


def test_prompts_are_the_listings_of_the_paper():
    """The digests are of the two listings in the LaTeX source of the paper."""
    digests = [hashlib.sha256(p.encode()).hexdigest() for p in (LTL_PROMPT, PROPOSITIONAL_PROMPT)]
    assert digests == [
        "543eb51ae77bfb3fdb3ff1a4a262b5591ab49a36af4e4b56553c3e9e6c2bdb6c",
        "437b7d1f8cd31e6908311dd9b2966551d4614be6091a69f66fb418802df17d0e",
    ]
    first, second = (prompt("ltl", f) for f in ("UaXb", "&b!a"))
    assert first.replace("a U Xb", "b & !a") == second
    assert "{" not in first.replace("cycle{1}", "").replace("cycle{c}", "")
    for task, word in (("ltl", "Trace"), ("propositional", "Assignment")):
        found = re.findall(rf"Formula: (.+)\n{word}: (.+)", prompt(task, "a"))
        assert len(found) == 4  # examples in our notation, and right
        for infix, answer in found:
            formula = to_prefix(parse_infix(infix, LANGUAGES[task]))
            assert asked(task, formula) == infix
            assert judge(task, [formula], [answer]) == ["correct"]


BITS = {"!": "~", "&": "*", "|": "+", "xor": "&", "<->": "|"}


class Bit(int):
    """0 or 1, with Python operators of the prompt's ranks: ~ not, * and, + or, & xor, | equal."""

    __invert__ = lambda self: Bit(1 - self)  # noqa: E731
    __mul__ = lambda self, other: Bit(int(self) & int(other))  # noqa: E731
    __add__ = lambda self, other: Bit(int(self) or int(other))  # noqa: E731
    __and__ = lambda self, other: Bit(int(self) != int(other))  # noqa: E731
    __or__ = lambda self, other: Bit(int(self) == int(other))  # noqa: E731


@given(formulas(LANGUAGES["propositional"]))
def test_infix_text_means_the_formula_under_the_ranks_that_the_prompt_states(formula):
    """The prompt ranks ! & | xor <->; Spot ranks xor above |."""
    text = re.sub("xor|<->|[!&|]", lambda m: BITS[m[0]], asked("propositional", to_prefix(formula)))
    text = re.sub("[01]", r"Bit(\g<0>)", text)
    table = 0
    for number, (c, b, a) in enumerate(product((0, 1), repeat=3)):
        table |= eval(text, {"a": Bit(a), "b": Bit(b), "c": Bit(c), "Bit": Bit}) << number
    assert table == truth_table(formula, "abc")


def test_a_renaming_of_the_formula_renames_the_schema_and_nothing_else():
    renaming = Renaming({"a": "c", "c": "a", "b": "d"})
    schema = Question("propositional", "&c|ab").schema
    renamed = Question("propositional", renaming("&c|ab")).schema
    assert list(schema["properties"]) == ["c", "a", "b"]
    assert list(renamed["properties"]) == renaming(list(schema["properties"]))
    assert Question("ltl", "a").schema is None


def test_the_form_of_traces_holds_what_can_be_read_and_most_labels():
    schema = Question("ltl", "&a&bc", held_to_form=True).schema
    pattern = re.compile(schema["properties"]["trace"]["pattern"])
    labels = [label for _, label in read_set("ltl35", "smoke")["test"]]
    texts = [trace_to_infix(parse_trace(label)) for label in labels]
    assert sum(bool(pattern.match(text)) for text in texts) >= 0.9 * len(texts)
    for bad in ("a", "cycle{}", "cycle{d}", "a cycle{1}", "cycle{Xa}", "cycle{1} a"):
        assert not pattern.match(bad)


def test_replies_that_are_answers():
    traces = {
        "a; a & !b; cycle{1}": "a;&a!b;{1}",
        "```\ncycle{b}\n```": "{b}",
        "```text\nTrace: cycle{ b ; 1 }\n```": "{b;1}",
        '{"trace": "a; cycle{b | c}"}': "a;{|bc}",
    }
    assert [read_answer("ltl", reply) for reply in traces] == list(traces.values())
    assignments = {'{ "a": true, "c": false }': "a1c0", "{}": ""}
    assignments['Assignment:\n```json\n{"b":true}\n```'] = "b1"
    found = [read_answer("propositional", reply) for reply in assignments]
    assert found == list(assignments.values())


NO_TRACES = ["", "I am sorry, but I cannot do that.", "a; b", "a; cycle{b} and so on", "cycle{{b}}"]
NO_TRACES += ["cycle{Xa}", "cycle{2}", "cycle{ab}", "cycle{A}", '{"trace": 3}', '{"a": true}']
NO_TRACES += ["cycle{" + "(" * 5000]
NO_ASSIGNMENTS = ["", "a1b0", '{"a": true', '{"a": 1}', '{"a": "true"}', '{"a": true, "a": true}']
NO_ASSIGNMENTS += ['{"A": true}', '{"ab": true}', '{"a b": true}', '["a"]', '[["a", true]]', "null"]
NO_ASSIGNMENTS += ["[]", "[" * 100_000, '{"a":' * 100_000]


def test_replies_that_are_no_answers_are_invalid():
    for task, replies in (("ltl", NO_TRACES), ("propositional", NO_ASSIGNMENTS)):
        assert set(judge(task, ["a"] * len(replies), replies)) == {"invalid"}
        with pytest.raises(AnswerError, match="."):
            read_answer(task, replies[-1])


def test_verdicts_are_those_of_the_checkers():
    replies = ["a; cycle{1}", "b; cycle{1}", "a; a; cycle{1}", "nonsense"]
    found = judge("ltl", ["a"] * 4, replies, ["a;{1}"] * 4)
    assert found == ["exact", "incorrect", "correct", "invalid"]
    replies = ['{"a": true}', '{"b": true, "a": false}', "{}", '{"c": true}']
    found = judge("propositional", ["|ab"] * 4, replies, ["a1"] * 4)
    assert found == ["exact", "correct", "incorrect", "invalid"]


def test_renaming_a_reply_renames_its_answer_and_prose_alike():
    r = Renaming({"a": "c", "b": "a", "c": "b"})
    replies = {"ltl": "a; b & !c; cycle{a; 1}", "propositional": '{ "a": true, "b": false }'}
    for task, reply in replies.items():
        assert read_answer(task, rename_reply(r, reply)) == r(read_answer(task, reply))
        assert rename_reply(r.inverse(), rename_reply(r, reply)) == reply
    assert rename_reply(r, "Let a be true, said cat X_a.") == "Let c be true, said cat X_a."
    # Replies are compared by what they say.
    same = ['{"a": true, "b": false}', '{ "b":false,\n"a":true }']
    assert comparable("propositional", same[0]) == comparable("propositional", same[1])
    assert comparable("ltl", "a&b; cycle{1}") == comparable("ltl", "Trace: a & b; cycle{ 1 }")
    assert comparable("ltl", "no") == comparable("ltl", " no\n") != comparable("ltl", "never")


# Evaluation: known models get known marks, shipped verdicts are right


@pytest.fixture(autouse=True, scope="module")
def replies(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("replies")
        patch.setattr("lessons.llm.KEEP", folder)
        yield folder


def formula_of(request):
    text = request["messages"][0]["content"]
    return "ltl" if "LTL" in text else "propositional", text.splitlines()[-2][len("Formula: ") :]


def solver(request):
    """A language model that is our own solver: always right."""
    task, infix = formula_of(request)
    formula = to_prefix(parse_infix(infix, LANGUAGES[task]))
    if task == "ltl":
        return completion(trace_to_infix(parse_trace(ltl.solve(formula))))
    label = propositional.solve(formula)
    values = zip(label[::2], label[1::2], strict=True)
    return completion(json.dumps({name: value == "1" for name, value in values}))


def marks(behaviour, task, samples, grid=False):
    with FakeServer(behaviour) as server:
        effort = {"samples": samples, "grid": grid}
        made = measure(model_on(server), task, "smoke", effort=effort)
    assert json.loads(json.dumps(made)) == made
    return made["result"], made["result"]["alpha_covariance_training"]["by_propositions"]


def full_marks(found, samples):
    assert found["test"]["correct"] == 1 and found["test"]["verdicts"]["invalid"] == 0
    assert found["test"]["samples"] == samples == len(found["replies"])
    grid = found["generalization"]
    assert grid["samples"] == grid["correct"] and grid["mean_correct_cells"] == 1


def test_a_model_that_is_always_right_gets_full_marks():
    full_marks(marks(solver, "ltl", 6, grid=True)[0], 6)


def test_a_model_that_refuses_is_invalid_and_perfectly_covariant():
    found, cells = marks(completion("I cannot help with that."), "ltl", 3)
    assert found["test"]["verdicts"]["invalid"] == 3
    assert {cell["mean"] for cell in cells.values()} == {1.0}
    assert "generalization" not in found


def test_a_model_that_hangs_on_names_has_no_alpha_covariance():
    """It answers with the first letter of the alphabet that the formula has, whatever it means."""

    def first(request):
        names = sorted(set(re.findall("[a-z]", formula_of(request)[1].replace("xor", ""))))
        return completion(f'{{"{names[0]}": true}}')

    _, cells = marks(first, "propositional", 1)
    assert cells["2"]["mean"] < 1 and cells["3"]["mean"] < 1


@pytest.mark.parametrize("path", sorted(RESULTS.glob("llm-*.json")), ids=lambda path: path.stem)
def test_shipped_verdicts_are_what_the_checkers_say_of_the_shipped_replies(path):
    shipped = read_json(path)
    model, task, held = shipped["model"]["name"], shipped["task"], shipped["held_to_form"]
    assert load_result(model, task, shipped["scale"], held) == shipped
    said, test = shipped["result"]["replies"], shipped["result"]["test"]
    problems = read_set(test["set"], shipped["scale"])["test"][: test["samples"]]
    assert [(one["formula"], one["label"]) for one in said] == problems
    formulas, labels = zip(*problems, strict=True)
    verdicts = judge(task, formulas, [one["reply"] for one in said], labels)
    assert verdicts == [one["verdict"] for one in said]
    assert test["verdicts"] == {v: verdicts.count(v) for v in test["verdicts"]}


def test_models_without_latin_letters_have_results_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("lessons.measured.RESULTS", tmp_path)
    files = set()
    for model in ("模型", "型模", "模型-7", "model-7"):
        with pytest.raises(MissingError) as missing:
            load_result(model, "ltl", "lab")
        files.add(re.search(r"llm-\S+\.json", str(missing.value))[0])
    assert len(files) == 4


def test_a_result_says_where_it_comes_from_and_what_is_kept_is_not_asked_again(replies):
    with FakeServer(solver) as server:
        for asked in (True, False):
            model = LanguageModel("Fake 1.0", server.base_url)
            found = measure(model, "propositional", "smoke", effort={"samples": 3, "grid": True})
            assert bool(model.answered) == asked
    full_marks(found["result"], 3)
    covariance = found["result"]["alpha_covariance_training"]["by_propositions"]
    assert {cell["mean"] for cell in covariance.values()} == {1.0}, "labels are fixed by formulas"
    assert (replies / "llm-fake-1-0-prop").is_dir()
    assert found["sampling"]["seed"] == 42 and "openai" in found["evaluated"]["versions"]
    assert found["model"] == {"name": "Fake 1.0", "server": server.base_url}
    with pytest.raises(MissingError, match="14_language_model.ipynb -p scale lab -p evaluate true"):
        load_result("no such model", "propositional", "lab")
