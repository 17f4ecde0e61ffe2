"""A language model on the same problems: what it is asked, what it says, and its marks."""

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import product

import pytest
from hypothesis import given
from logical import formulas

from itekit.alpha import Renaming
from itekit.datasets.sets import read_set
from itekit.files import RESULTS, MissingError, read_json
from itekit.logic.formulas import LANGUAGES, to_prefix
from itekit.logic.traces import parse_trace
from itekit.logic.truth_tables import truth_table
from itekit.tasks import ltl, propositional
from lessons import llm
from lessons.infix import parse_infix, trace_to_infix
from lessons.llm import LanguageModel, judge
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


class Known(LanguageModel):
    """A model whose reply to a question is known; `asked` counts the questions."""

    def __init__(self, reply):
        super().__init__("Known 1.0", "http://localhost:1/v1", retries=0)
        self.reply, self.asked = reply, 0

    def ask(self, question):
        self.asked += 1
        return llm.Reply(self.reply(question))


def solver(question):
    """Always right: our own solver."""
    if question.task == "ltl":
        return trace_to_infix(parse_trace(ltl.solve(question.formula)))
    label = propositional.solve(question.formula)
    values = zip(label[::2], label[1::2], strict=True)
    return json.dumps({name: value == "1" for name, value in values})


def marks(reply, task, monkeypatch, folder, samples=3):
    monkeypatch.setattr(llm, "KEEP", folder)
    effort = {"samples": samples, "grid": True, "renamed": 1}
    monkeypatch.setitem(llm.EFFORTS, "smoke", effort)
    model = Known(reply)
    found = llm.measure(model, task, "smoke")
    assert json.loads(json.dumps(found)) == found
    assert llm.measure(model, task, "smoke")["result"] == found["result"]
    assert model.asked == len(list((folder / found["name"]).iterdir())), "each question once"
    return found, found["result"]["alpha_covariance_training"]["by_propositions"]


@pytest.mark.parametrize("task", ["ltl", "propositional"])
def test_a_model_that_is_always_right_gets_full_marks(task, monkeypatch, tmp_path):
    found, cells = marks(solver, task, monkeypatch, tmp_path)
    test, grid = found["result"]["test"], found["result"]["generalization"]
    assert test["correct"] == 1 and test["verdicts"]["invalid"] == 0
    assert test["samples"] == 3 == len(found["result"]["replies"])
    assert grid["samples"] == grid["correct"] and grid["mean_correct_cells"] == 1
    assert {cell["mean"] for cell in cells.values()} == {1.0} or task == "ltl"
    assert found["sampling"]["seed"] == 42 and "openai" in found["evaluated"]["versions"]
    assert "-p evaluate True -p base_url http://localhost:1/v1" in found["evaluated"]["command"]


def test_a_model_that_refuses_is_invalid_and_perfectly_covariant(monkeypatch, tmp_path):
    found, cells = marks(lambda _: "I cannot help with that.", "ltl", monkeypatch, tmp_path)
    assert found["result"]["test"]["verdicts"]["invalid"] == 3
    assert {cell["mean"] for cell in cells.values()} == {1.0}


def test_a_model_that_hangs_on_names_has_no_alpha_covariance(monkeypatch, tmp_path):
    """It answers with the first letter of the alphabet that the formula has, whatever it means."""

    def first(question):
        return json.dumps({min(re.findall("[a-z]", question.formula)): True})

    _, cells = marks(first, "propositional", monkeypatch, tmp_path)
    assert cells["2"]["mean"] < 1 and cells["3"]["mean"] < 1


@pytest.mark.parametrize("path", sorted(RESULTS.glob("llm-*.json")), ids=lambda path: path.stem)
def test_shipped_verdicts_are_what_the_checkers_say_of_the_shipped_replies(path):
    shipped = read_json(path)
    model, task, held = shipped["model"]["name"], shipped["task"], shipped["held_to_form"]
    assert llm.load_result(model, task, shipped["scale"], held) == shipped
    said, test = shipped["result"]["replies"], shipped["result"]["test"]
    problems = read_set(test["set"], shipped["scale"])["test"][: test["samples"]]
    assert [(one["formula"], one["label"]) for one in said] == problems
    formulas, labels = zip(*problems, strict=True)
    verdicts = judge(task, formulas, [one["reply"] for one in said], labels)
    assert verdicts == [one["verdict"] for one in said]
    assert test["verdicts"] == {v: verdicts.count(v) for v in test["verdicts"]}


# Over HTTP


@pytest.fixture
def server():
    """A server that gives each request the next of its `answers`; and keeps the requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            self.server.requests.append(json.loads(self.rfile.read(length)))
            status, value = self.server.answers.pop(0)
            body = value if isinstance(value, str) else json.dumps(value)
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if body == value else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as one:
        one.requests, one.answers = [], []
        one.url = f"http://127.0.0.1:{one.server_port}/v1"
        threading.Thread(target=one.serve_forever, args=(0.02,), daemon=True).start()
        yield one
        one.shutdown()


SAID = {"message": {"role": "assistant", "content": "cycle{a}"}, "finish_reason": "length"}
GOOD = 200, {"id": "1", "object": "chat.completion", "choices": [SAID | {"index": 0}]}


def test_what_is_sent_and_that_trouble_which_passes_costs_a_retry(server):
    server.answers += [(503, {}), GOOD, GOOD]
    model = LanguageModel("known", server.url)
    assert model.ask(Question("propositional", "|ab")) == llm.Reply("cycle{a}", "length")
    plain = LanguageModel("known", server.url, llm.Sampling(extended=False))
    plain.ask(Question("ltl", "a"))
    again, first, second = server.requests
    assert again == first
    assert first["messages"] == [{"role": "user", "content": prompt("propositional", "|ab")}]
    names = ("seed", "top_k", "top_p", "temperature", "repeat_penalty", "max_tokens")
    assert [first[name] for name in names] == [42, 40, 0.9, 0.8, 1.1, 128]
    assert first["response_format"]["json_schema"]["schema"]["properties"].keys() == {"a", "b"}
    assert first["cache_prompt"] is False and "response_format" not in second
    assert not {"top_k", "min_p", "repeat_penalty", "cache_prompt"} & second.keys()


def test_trouble_that_stays_is_told_and_what_was_answered_is_kept(server, tmp_path):
    questions = [Question("propositional", f) for f in ("a", "|ab", "a")]
    model = LanguageModel("known", server.url, retries=0)
    missing = {"error": {"message": "model 'known' not found"}}
    server.answers += [GOOD, (404, missing), (200, "<h1>It works!</h1>"), GOOD]
    for said in ("model 'known' not found.*the model one of its", "is the server there"):
        with pytest.raises(llm.ServerError, match=said):
            llm.ask_all(model, questions, tmp_path)
    assert len(llm.ask_all(model, questions, tmp_path)) == 3 and len(server.requests) == 4
    with pytest.raises(llm.ServerError, match="Connection error.*is the server there"):
        LanguageModel("known", "http://127.0.0.1:9/v1", retries=0).ask(questions[0])


def test_the_offline_model_answers_the_same_whatever_was_asked_between():
    try:
        server = llm.LocalServer(llm.offline_model())
    except MissingError as error:
        pytest.skip(str(error))
    model = LanguageModel(server.name, server.base_url, llm.Sampling(max_tokens=60))
    assert model.about()["n_params"] == 134_515_008
    question = Question("propositional", "&a=b!c")
    first, other, again = map(model.ask, (question, Question("ltl", "Xa", True), question))
    assert first.text == again.text
    assert set(read_answer("propositional", first.text)) <= set("abc01")
    assert read_answer("ltl", other.text).endswith("}")  # held to the form of a trace
