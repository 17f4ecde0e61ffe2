"""A small HTTP server that answers as a language model's would, or fails as one might."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from itekit.llm import LanguageModel, Question, Sampling

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


class FakeServer:
    """Answers each request by the next behaviour, the last one for ever; a context manager.

    Attributes:
        requests, headers: the JSON and the headers of every chat request so far.
    """

    def __init__(self, *behaviours: Behaviour | tuple[int, str, str]):
        self.behaviours, self.requests, self.headers = list(behaviours), [], []
        self._ended, self._lock = threading.Event(), threading.Lock()

    def __enter__(self) -> "FakeServer":
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                fake._post(self)

            def log_message(self, *_) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def prompts(self) -> list[str]:
        """The user message of every request so far."""
        return [request["messages"][0]["content"] for request in self.requests]

    def _post(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.requests.append(request)
            self.headers.append({k.lower(): v for k, v in handler.headers.items()})
            one = self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]
        status, kind, body = one(request) if callable(one) else one
        if status < 0:
            self._ended.wait(30)
        if status <= 0:
            handler.close_connection = True
            return
        content = body.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        handler.send_header("retry-after-ms", "1")
        handler.end_headers()
        handler.wfile.write(content)


GOOD = completion('{"a": true}')
QUESTIONS = [Question("propositional", f) for f in ("a", "|ab", "&ab", "!c")]


def model_on(
    server: FakeServer, retries: int = 2, timeout: float = 20.0, **sampling
) -> LanguageModel:
    """A language model that asks a fake server."""
    return LanguageModel("fake", server.base_url, Sampling(**sampling), timeout, retries)
