"""A small HTTP server that answers as a language model's would, or fails as one might."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lessons.llm import LanguageModel, Sampling
from lessons.prompts import Question

Behaviour = Callable[[dict], tuple[int, str, str]]
"""From a request's JSON: status, content type and body; status 0 hangs up, -1 waits for the end."""


def completion(text: str | None, finish: str = "stop") -> tuple[int, str, str]:
    """A chat completion that says `text`."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake"}
    body |= {"choices": [choice], "usage": {"completion_tokens": 2, "total_tokens": 3}}
    return 200, "application/json", json.dumps(body)


def failure(status: int, message: str = "out of order") -> tuple[int, str, str]:
    """An error as OpenAI's protocol has it."""
    return status, "application/json", json.dumps({"error": {"message": message}})


class FakeServer(ThreadingHTTPServer):
    """Answers each request by the next behaviour, the last one for ever; a context manager.

    It keeps the JSON (`requests`) and the `headers` of every request.
    """

    daemon_threads = True

    def __init__(self, *behaviours: Behaviour | tuple[int, str, str]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours, self.requests, self.headers = list(behaviours), [], []
        self.ended, self.lock = threading.Event(), threading.Lock()
        self.base_url = f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> "FakeServer":
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()

    @property
    def prompts(self) -> list[str]:
        """The user message of every request so far."""
        return [request["messages"][0]["content"] for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    """One request of a FakeServer."""

    def do_POST(self) -> None:
        fake, length = self.server, int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))
        with fake.lock:
            fake.requests.append(request)
            fake.headers.append({k.lower(): v for k, v in self.headers.items()})
            one = fake.behaviours[min(len(fake.requests), len(fake.behaviours)) - 1]
        status, kind, body = one(request) if callable(one) else one
        if status < 0:
            fake.ended.wait(30)
        if status <= 0:
            self.close_connection = True
            return
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": len(body.encode()), "retry-after-ms": 1}
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        """It says nothing of its models."""
        self.send_error(404)

    def log_message(self, *_) -> None:
        """Nothing is printed."""


GOOD = completion('{"a": true}')
QUESTIONS = [Question("propositional", f) for f in ("a", "|ab", "&ab", "!c")]


def model_on(
    server: FakeServer, retries: int = 2, timeout: float = 20.0, **sampling
) -> LanguageModel:
    """A language model that asks a fake server."""
    return LanguageModel("fake", server.base_url, Sampling(**sampling), timeout, retries)
