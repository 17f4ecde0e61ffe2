"""Asking a language model: servers that fail, and a real server of our own."""

import socket
import threading
import time
from contextlib import suppress

import pytest
from llm_server import GOOD, QUESTIONS, FakeServer, completion, failure, model_on

from itekit.files import MissingError
from lessons.llm import (
    KEY_VARIABLE,
    LanguageModel,
    LocalServer,
    Sampling,
    ServerError,
    ask_all,
    offline_model,
)
from lessons.prompts import Question, prompt, read_answer


def test_what_is_sent():
    with FakeServer(GOOD) as server:
        model_on(server).ask(Question("propositional", "|ab"))
        model_on(server, extended=False).ask(Question("ltl", "a"))
    first, second = server.requests
    assert first["messages"] == [{"role": "user", "content": prompt("propositional", "|ab")}]
    names = ("seed", "top_k", "top_p", "temperature", "repeat_penalty", "max_tokens")
    assert [first[name] for name in names] == [42, 40, 0.9, 0.8, 1.1, 128]
    assert first["response_format"]["json_schema"]["schema"]["properties"].keys() == {"a", "b"}
    assert first["cache_prompt"] is False
    assert "response_format" not in second
    assert not {"top_k", "min_p", "repeat_penalty", "cache_prompt"} & second.keys()


def test_nothing_of_the_environment_is_sent_but_our_own_key_and_no_redirect_gets_it(monkeypatch):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "secret of another server")
    names = ("Authorization", "Host", "User-Agent", "X-Own", "Content-Own")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "\n".join(f"{name}: secret" for name in names))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with FakeServer(failure(500), GOOD) as server:
        model_on(server).ask(QUESTIONS[0])
        monkeypatch.setenv(KEY_VARIABLE, "ours")
        model_on(server).ask(QUESTIONS[0])
    for headers, key in zip(server.headers, ("none", "none", "ours"), strict=True):
        assert set(headers) == {"host", "content-type", "content-length", "authorization"}
        assert headers["authorization"] == f"Bearer {key}" and "secret" not in str(headers)
    with FakeServer(GOOD) as other, FakeServer((307, "text/html", "")) as server:
        with pytest.raises(ServerError, match="307"):
            model_on(server, retries=0).ask(QUESTIONS[0])
        assert not other.requests


@pytest.mark.parametrize("trouble", [failure(503), failure(429), (0, "", "")])
def test_trouble_that_passes_costs_a_retry(trouble):
    with FakeServer(trouble, GOOD) as server:
        reply = model_on(server).ask(QUESTIONS[0])
    assert (reply.text, reply.finish) == ('{"a": true}', "stop")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("trouble", "said", "requests"),
    [
        (failure(500), r"500.*out of order", 2),
        (failure(404, "model 'fake' not found"), "model 'fake' not found.*the model one of its", 1),
        (failure(400, "top_k is unknown"), "top_k is unknown.*extended=False", 1),
        ((200, "text/html", "<h1>It works!</h1>"), "AttributeError", 1),
        ((200, "application/json", "[" * 10**5), "RecursionError", 1),
        (completion(None), "without text", 1),
    ],
)
def test_trouble_that_stays_ends_with_a_message_that_helps(trouble, said, requests):
    with FakeServer(trouble) as server, pytest.raises(ServerError, match=said):
        model_on(server, retries=1).ask(QUESTIONS[0])
    assert len(server.requests) == requests


def test_a_slow_or_absent_server_is_named():
    server = FakeServer((-1, "", ""))
    with server, pytest.raises(ServerError, match=r"APITimeoutError.*timeout"):
        model_on(server, retries=1, timeout=0.2).ask(QUESTIONS[0])
    model = LanguageModel("fake", server.base_url, retries=0)
    with pytest.raises(ServerError, match=r"127.0.0.1:\d+: .*refused.*is the server there"):
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
        damaged = min(tmp_path.glob("*.json"))
        damaged.write_text(damaged.read_text()[:-20])
        assert [r.text for r in ask_all(model_on(server), asked, tmp_path)][:1] == [asked[0].prompt]
        assert len(server.requests) == 5
        ask_all(model_on(server, seed=43), asked, tmp_path)
        assert len(server.requests) == 9


def test_a_server_that_goes_away_costs_nothing_that_was_answered(tmp_path):
    with FakeServer(GOOD, GOOD, failure(500), failure(500), GOOD) as server:
        with pytest.raises(ServerError, match="out of order"):
            ask_all(model_on(server, retries=0), QUESTIONS, tmp_path)
        assert len(ask_all(model_on(server), QUESTIONS, tmp_path)) == 4
        assert server.prompts[4:] == [question.prompt for question in QUESTIONS[2:]]
    with FakeServer(GOOD) as other:  # the same model elsewhere may say something else
        ask_all(model_on(other), QUESTIONS, tmp_path)
    assert len(other.requests) == 4


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("head", "part", "pause", "said"),
    [
        (HEAD + b"\r\n", b" ", 0.1, "APITimeoutError"),
        (HEAD + b"X-Own: ", b"a", 0.1, "APITimeoutError"),
        (HEAD + b"\r\n", b" " * 65536, 0, "more than"),
        (HEAD + b"Content-Encoding: gzip\r\n\r\n", b"", 0, "packed"),
    ],
)
def test_a_reply_that_does_not_end_is_given_up(head, part, pause, said):
    """One that drips, one whose headers do, one that pours, and one that would unfold."""

    def serve():
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(2**16)
                connection.sendall(head)
                while part:
                    connection.sendall(part)
                    time.sleep(pause)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        start, model = time.monotonic(), LanguageModel("fake", address, timeout=0.5, retries=0)
        with pytest.raises(ServerError, match=said):
            model.ask(QUESTIONS[0])
    assert time.monotonic() - start < 3


@pytest.fixture(scope="module")
def offline():
    try:
        return offline_model()
    except MissingError as error:
        pytest.skip(str(error))


def test_the_offline_model_answers_over_http_and_its_server_ends(offline, tmp_path):
    with LocalServer(offline) as server:
        model = LanguageModel(server.name, server.base_url, Sampling(max_tokens=60), retries=0)
        assert model.about()["n_params"] == 134_515_008
        question = Question("propositional", "&a=b!c")
        first, other, again = map(model.ask, (question, Question("ltl", "Xa", True), question))
        assert first.text == again.text  # one seed, one reply, whatever was asked between
        assert set(read_answer("propositional", first.text)) <= set("abc01")
        assert read_answer("ltl", other.text).endswith("}")  # held to the form of a trace
    with pytest.raises(ServerError, match="is the server there"):
        model.ask(question)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"nothing")
    with pytest.raises(ServerError, match="broken.gguf did not start"):
        LocalServer(broken).start()
