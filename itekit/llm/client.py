"""A language model behind any server that speaks OpenAI's protocol, by OpenAI's own client.

Paper, appendix "LLM Setup": Llama 3.2 3B under Ollama 0.4.7, sampled by its defaults, seed 42. The
paper names top-k 40 and top-p 0.9. Ollama's other defaults, which it leaves out, are temperature
0.8, and tokens of the last 64 places made less likely (repeat penalty 1.1). All are sent, since
servers assume different things: Ollama's OpenAI route takes temperature 1 and top-p 1 if nothing is
said, and llama.cpp no repeat penalty.

A key is read from the environment variable ITEKIT_LLM_KEY and from nowhere else.
"""

import os
import time
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

import openai

from itekit.llm.questions import Question

KEY_VARIABLE = "ITEKIT_LLM_KEY"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ServerError(RuntimeError):
    """A server that is absent, slow, refuses or answers nonsense; the message says what to do."""


class NonsenseError(ValueError):
    """What came back is no chat completion."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn.

    Attributes:
        top_k, min_p, repeat_penalty, repeat_last_n: not in OpenAI's protocol; see `extended`.
        max_tokens: of a reply; what is cut there is no answer.
        extended: send what OpenAI's protocol lacks. Ollama and llama.cpp read it; a server that
            refuses it needs False.
    """

    temperature: float = 0.8
    top_p: float = 0.9
    seed: int = 42
    max_tokens: int = 128
    top_k: int = 40
    min_p: float = 0.0
    repeat_penalty: float = 1.1
    repeat_last_n: int = 64
    extended: bool = True

    def fields(self) -> dict:
        """Arguments of the client's call."""
        names = ("temperature", "top_p", "seed", "max_tokens")
        fields = {name: getattr(self, name) for name in names}
        if self.extended:
            names = ("top_k", "min_p", "repeat_penalty", "repeat_last_n")
            more = {name: getattr(self, name) for name in names}
            # llama.cpp: read the whole prompt each time, so that no reply depends on the one before
            fields["extra_body"] = more | {"cache_prompt": False}
        return fields


@dataclass(frozen=True)
class Reply:
    """What a language model said.

    Attributes:
        finish: why it stopped: "stop", or "length" where max_tokens cut it.
        tokens: of the reply, where the server tells.
        seconds: from the question to the reply, tries that failed included.
    """

    text: str
    finish: str = "stop"
    tokens: int | None = None
    seconds: float = 0.0


class LanguageModel:
    """A model on a server, asked one question at a time; safe to use from several threads.

    Args:
        name: as the server calls it.
        base_url: for instance http://localhost:11434/v1 (Ollama).
        timeout: seconds for one reply.
        retries: how often a failed question is asked again, after growing pauses.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        sampling: Sampling | None = None,
        timeout: float = 120.0,
        retries: int = 4,
    ):
        self.name, self.base_url, self.sampling = name, base_url, sampling or Sampling()
        self.timeout, self.retries = timeout, retries
        address = urlsplit(base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(f"base_url: expected http://HOST:PORT/v1, found {base_url!r}")
        self.place = f"{address.hostname}:{address.port}" if address.port else address.hostname
        direct = address.hostname in LOOPBACK  # no proxy stands between us and ourselves
        self._client = openai.OpenAI(
            api_key=os.environ.get(KEY_VARIABLE) or "none",
            base_url=base_url,
            timeout=timeout,
            max_retries=retries,
            http_client=openai.DefaultHttpxClient(trust_env=False) if direct else None,
        )

    def key(self) -> dict:
        """All that decides a reply besides the question, as JSON."""
        return {"model": self.name, "sampling": asdict(self.sampling)}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, question: Question) -> Reply:
        """The reply to a question.

        Raises:
            ServerError: there is none, after all retries.
        """
        started = time.perf_counter()
        for attempt in range(self.retries + 1):
            try:
                reply = self._once(question)
                return Reply(*reply, round(time.perf_counter() - started, 3))
            except NonsenseError as error:
                if attempt == self.retries:
                    raise ServerError(f"{self.place} answers nonsense: {error}") from error
                time.sleep(min(0.5 * 2**attempt, 8.0))
            except openai.OpenAIError as error:
                raise ServerError(self._explain(error)) from error
        raise AssertionError("unreachable")

    def _once(self, question: Question) -> tuple[str, str, int | None]:
        fields = self.sampling.fields()
        if question.schema is not None:
            named = {"name": "answer", "strict": True, "schema": question.schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        messages = [{"role": "user", "content": question.prompt}]
        try:
            found = self._client.chat.completions.create(
                model=self.name, messages=messages, **fields
            )
            choice = found.choices[0]
            text, finish = choice.message.content, choice.finish_reason
            if not isinstance(text, str):
                raise NonsenseError(f"a reply without text ({type(text).__name__})")
            tokens = found.usage.completion_tokens if found.usage else None
        except openai.OpenAIError:
            raise
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise NonsenseError(f"{type(error).__name__}: {str(error)[:120]}") from error
        return text, finish, tokens

    def _explain(self, error: openai.OpenAIError) -> str:
        """What went wrong, and what helps."""
        times = f"asked {self.retries + 1} times"
        if isinstance(error, openai.APITimeoutError):
            return f"{self.place} gave no reply within {self.timeout:g} seconds ({times})"
        if isinstance(error, openai.APIConnectionError):
            return (
                f"no server answers at {self.place} ({times}): start it, or check base_url; "
                f"the cause: {error.__cause__ or error}"
            )
        status = f"{self.place} says {getattr(error, 'status_code', '?')}: {str(error)[:200]}"
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            return f"{status}; set the environment variable {KEY_VARIABLE} to a key of that server"
        if isinstance(error, openai.NotFoundError):
            return f"{status}; is {self.name!r} one of its models, and base_url its address?"
        if isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError):
            return f"{status}; a server that reads OpenAI's fields only needs extended=False"
        return f"{status} ({times})"

    def about(self) -> dict:
        """What the server tells of the model: its size where it does; {} where it tells nothing."""
        try:
            for model in self._client.models.list():
                meta = (model.model_extra or {}).get("meta") or {}
                if model.id == self.name and isinstance(meta, dict):
                    known = ("n_params", "n_ctx_train", "size")
                    return {key: meta[key] for key in known if key in meta}
        except (openai.OpenAIError, AttributeError, TypeError, ValueError):
            pass
        return {}
