"""Asking a language model: servers that fail, killed runs, and a real server of our own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from llm_server import GOOD, QUESTIONS, FakeServer, completion, failure, model_on

from itekit.llm import prompts
from itekit.llm.answers import read_answer
from itekit.llm.asking import ask_all
from itekit.llm.client import KEY_VARIABLE, LanguageModel, Sampling, ServerError
from itekit.llm.local_server import LocalServer
from itekit.llm.offline import MissingModelError, offline_model
from itekit.llm.questions import Question

ROOT = Path(__file__).parents[1]


def test_what_is_sent():
    with FakeServer(GOOD) as server:
        model_on(server).ask(Question("propositional", "|ab"))
        model_on(server, extended=False).ask(Question("ltl", "a"))
    first, second = server.requests
    assert first["messages"] == [
        {"role": "user", "content": prompts.prompt("propositional", "|ab")}
    ]
    assert (first["seed"], first["top_k"], first["top_p"], first["temperature"]) == (
        42,
        40,
        0.9,
        0.8,
    )
    assert first["response_format"]["json_schema"]["schema"]["properties"].keys() == {"a", "b"}
    assert first["cache_prompt"] is False
    assert "response_format" not in second
    assert not {"top_k", "min_p", "repeat_penalty", "cache_prompt"} & second.keys()


def test_the_key_comes_from_one_variable_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "of another server")
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with FakeServer(GOOD) as server:
        model_on(server).ask(QUESTIONS[0])
        monkeypatch.setenv(KEY_VARIABLE, "ours")
        model = model_on(server)
        model.ask(QUESTIONS[0])
    assert [headers["authorization"] for headers in server.headers] == [
        "Bearer none",
        "Bearer ours",
    ]
    assert "ours" not in json.dumps(model.key())


@pytest.mark.parametrize(
    "trouble",
    [
        failure(500),
        failure(503),
        failure(429, "slow down"),
        (200, "text/html", "<h1>It works!</h1>"),
        (200, "application/json", "{not JSON"),
        (200, "application/json", "[]"),
        (200, "application/json", '{"choices": []}'),
        completion(None),
        (0, "", ""),
    ],
    ids=["500", "503", "429", "html", "no-json", "list", "no-choice", "no-text", "hangs-up"],
)
def test_trouble_that_passes_costs_a_retry(trouble):
    with FakeServer(trouble, GOOD) as server:
        reply = model_on(server).ask(QUESTIONS[0])
    assert (reply.text, reply.finish, reply.tokens) == ('{"a": true}', "stop", 2)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("trouble", "said", "requests"),
    [
        (failure(500), r"says 500: .*out of order.*asked 2 times", 2),
        (failure(404, "model 'fake' not found"), "is 'fake' one of its models", 1),
        (failure(401, "who are you"), KEY_VARIABLE, 1),
        (failure(400, "top_k is unknown"), "top_k is unknown.*extended=False", 1),
        ((200, "text/html", "<h1>It works!</h1>"), "answers nonsense", 2),
        (completion(None), "answers nonsense: .*without text", 2),
    ],
)
def test_trouble_that_stays_ends_with_a_message_that_helps(trouble, said, requests):
    with FakeServer(trouble) as server, pytest.raises(ServerError, match=said):
        model_on(server, retries=1).ask(QUESTIONS[0])
    assert len(server.requests) == requests


def test_a_slow_server_is_given_up():
    with FakeServer((-1, "", "")) as server:
        started = time.perf_counter()
        with pytest.raises(ServerError, match=r"no reply within 0.2 seconds \(asked 2 times\)"):
            model_on(server, retries=1, timeout=0.2).ask(QUESTIONS[0])
        assert time.perf_counter() - started < 10


def test_an_absent_server_is_named():
    with FakeServer(GOOD) as server:
        place = server.base_url
    model = LanguageModel("fake", place, retries=0)
    with pytest.raises(ServerError, match=r"no server answers at 127.0.0.1:\d+ .*base_url"):
        model.ask(QUESTIONS[0])
    assert model.about() == {}
    with pytest.raises(ValueError, match="base_url: expected http"):
        LanguageModel("fake", "localhost:11434")


def test_each_question_is_asked_once_and_replies_come_in_order(tmp_path):
    def echo(request):
        return completion(request["messages"][0]["content"])

    asked = [*QUESTIONS, QUESTIONS[0], *QUESTIONS]
    with FakeServer(echo) as server:
        replies = ask_all(model_on(server), asked, tmp_path, parallel=3)
        assert [reply.text for reply in replies] == [q.prompt for q in asked]
        assert ask_all(model_on(server), asked, tmp_path) == replies
    assert sorted(server.prompts) == sorted(q.prompt for q in QUESTIONS)
    with pytest.raises(ValueError, match="parallel"):
        ask_all(model_on(server), asked, tmp_path, parallel=0)


def test_a_server_that_goes_away_costs_nothing_that_was_answered(tmp_path):
    with (
        FakeServer(GOOD, GOOD, failure(500)) as server,
        pytest.raises(ServerError, match="2 of 4 replies are kept in .*goes on from there"),
    ):
        ask_all(model_on(server, retries=0), QUESTIONS, tmp_path)
    with FakeServer(GOOD) as server:
        assert len(ask_all(model_on(server), QUESTIONS, tmp_path)) == 4
    assert server.prompts == [question.prompt for question in QUESTIONS[2:]]


def test_another_sampling_or_a_damaged_file_is_asked_again(tmp_path):
    with FakeServer(GOOD) as server:
        ask_all(model_on(server), QUESTIONS, tmp_path)
        damaged = min(tmp_path.glob("*.json"))
        damaged.write_text(damaged.read_text()[:-20])
        ask_all(model_on(server), QUESTIONS, tmp_path)
        assert len(server.requests) == 5
        ask_all(model_on(server, seed=43), QUESTIONS, tmp_path)
        assert len(server.requests) == 9


KILLED = """
import sys
from itekit.llm.asking import ask_all
from itekit.llm.client import LanguageModel
from itekit.llm.questions import Question
questions = [Question("propositional", formula) for formula in ("a", "|ab", "&ab", "!c")]
ask_all(LanguageModel("fake", sys.argv[1]), questions, sys.argv[2])
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    # The first two questions are answered, the third never: the run is killed while it waits.
    with FakeServer(GOOD, GOOD, (-1, "", "")) as server:
        run = subprocess.Popen(
            [sys.executable, "-c", KILLED, server.base_url, str(tmp_path)], cwd=ROOT
        )
        for _ in range(1200):
            if len(server.requests) == 3:
                break
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
    model = LanguageModel("fake", server.base_url)
    with FakeServer(GOOD) as server:
        model = model_on(server, max_tokens=model.sampling.max_tokens)
        ask_all(model, QUESTIONS, tmp_path)
    assert server.prompts == [question.prompt for question in QUESTIONS[2:]]


@pytest.fixture(scope="module")
def offline():
    try:
        return offline_model()
    except MissingModelError as error:
        pytest.skip(str(error))


def test_the_offline_model_answers_over_http_and_its_server_ends(offline, tmp_path):
    with LocalServer(offline.path) as server:
        model = LanguageModel(server.name, server.base_url, Sampling(max_tokens=60))
        assert model.about()["n_params"] == 134_515_008
        question = Question("propositional", "&a=b!c")
        first, other, again = map(model.ask, (question, Question("ltl", "Xa", True), question))
        assert first.text == again.text  # one seed, one reply, whatever was asked between
        assert set(read_answer("propositional", first.text)) <= set("abc01")
        assert read_answer("ltl", other.text).endswith("}")  # held to the form of a trace
        process = server._process
        model.close()
    assert process.poll() == 0 and not server.running
    server.stop()  # once more is harmless


def test_a_server_ends_with_the_process_that_started_it(offline):
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from itekit.llm.local_server import LocalServer\n"
        "server = LocalServer(Path(sys.argv[1])).start()\n"
        "print(server._process.pid, flush=True)\ntime.sleep(600)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code, str(offline.path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    child = int(run.stdout.readline())
    run.kill()
    run.wait()
    run.stdout.close()
    for _ in range(600):
        if not Path(f"/proc/{child}").exists():
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the server outlived the process that started it")


def test_a_file_that_is_no_model_is_named(offline, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"nothing")
    with pytest.raises(ServerError, match="broken.gguf did not start"):
        LocalServer(broken).start()
