"""The command llm: evaluate a language model on LTL or propositional problems."""

import argparse
from contextlib import ExitStack
from dataclasses import replace


def llm_command(arguments: argparse.Namespace) -> int:
    """Ask, judge, and write the result; replies are kept, so that it can be called again."""
    from itekit.files import write_json
    from itekit.llm.client import LanguageModel, Sampling
    from itekit.llm.evaluation import EFFORTS, LanguageModelEvaluation
    from itekit.llm.local_server import LocalServer
    from itekit.llm.offline import offline_model
    from itekit.llm.results import measure, result_path
    from itekit.scale import resolve_scale
    from itekit.tasks.vocabularies import PREFIXES

    scale = resolve_scale(arguments.scale)
    given = {n: getattr(arguments, n) for n in ("samples", "cell", "renamed")}
    effort = replace(EFFORTS[scale], **{n: v for n, v in given.items() if v is not None})
    task = next(task for task, prefix in PREFIXES.items() if prefix == arguments.task)
    with ExitStack() as stack:
        name, base_url, server = arguments.model, arguments.base_url, "given by base_url"
        if base_url is None:
            local = LocalServer(offline_model().path, arguments.threads)
            stack.enter_context(local)
            name, base_url = local.name, local.base_url
            server = f"llama.cpp on this machine, {arguments.threads} threads of the CPU"
        elif name is None:
            raise ValueError("--base-url needs --model, the model's name on that server")
        sampling = Sampling(extended=not arguments.plain_fields, max_tokens=arguments.max_tokens)
        model = LanguageModel(name, base_url, sampling, arguments.timeout)
        stack.callback(model.close)
        evaluation = LanguageModelEvaluation(
            model, task, scale, effort, arguments.held_to_form, parallel=arguments.parallel
        )
        result = measure(evaluation, server)
    test = result["result"]["test"]
    empty = f", {test['empty']} of these traces stand for no word" if test.get("empty") else ""
    print(f"{name}: {test['correct']:.1%} of {test['samples']} problems correct{empty}")
    print("verdicts ", ", ".join(f"{count} {word}" for word, count in test["verdicts"].items()))
    path = result_path(result["name"], scale, arguments.directory)
    write_json(path, result)
    print(f"result    {path}")
    return 0


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("llm", help="evaluate a language model on the same problems")
    command.add_argument("task", choices=("ltl", "prop"))
    command.add_argument("--scale", help="smoke, lab or paper; default: ITEKIT_SCALE, else lab")
    command.add_argument("--base-url", metavar="URL", help="a server; default: the offline model")
    command.add_argument("--model", metavar="NAME", help="as that server calls it")
    command.add_argument("--samples", type=int, help="problems of the test split")
    command.add_argument("--cell", type=int, help="problems a cell of the grid; 0: no grid")
    command.add_argument("--renamed", type=int, help="problems renamed for each number of APs")
    command.add_argument(
        "--held-to-form", action="store_true", help="hold traces to a JSON schema too (ours)"
    )
    command.add_argument(
        "--plain-fields", action="store_true", help="send OpenAI's fields only, without top-k"
    )
    command.add_argument("--max-tokens", type=int, default=128, help="of a reply; default: 128")
    command.add_argument("--timeout", type=float, default=120, metavar="S", help="default: 120")
    command.add_argument("--parallel", type=int, default=1, help="questions at a time; default: 1")
    command.add_argument("--threads", type=int, default=1, help="of the offline model; default: 1")
    command.add_argument("--directory", metavar="DIR", help="where to write")
    command.set_defaults(function=llm_command)
