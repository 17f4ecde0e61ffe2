"""The command line: `python -m itekit COMMAND`, or `itekit COMMAND` where it is installed.

Bad input ends with one line and exit code 2, a run that failed with exit code 1. Each command
imports what does it when it is called, so that a mistyped word is answered at once.
"""

import argparse
import math
import pkgutil
import sys
from contextlib import ExitStack
from pathlib import Path


def run(arguments) -> int:
    """Execute a notebook headless and, on request, write it as one HTML page."""
    from itekit.notebooks import parse_value, run_notebook, write_page

    output = arguments.output or Path("reports") / Path(arguments.notebook).name
    parameters = {name: parse_value(value) for name, value in arguments.parameter}
    timeout = arguments.cell_timeout
    done = run_notebook(arguments.notebook, output, parameters, cell_timeout=timeout)
    print(f"notebook  {done}")
    if arguments.html:
        print(f"page      {write_page(done, arguments.html)}")
    return 0


def train(arguments) -> int:
    """Train an experiment, or resume it; on request copy the finished run to data/."""
    from itekit.experiments import experiment
    from itekit.results import RUNS, publish
    from itekit.training import Trainer

    device = _device(arguments)
    made = experiment(arguments.name, arguments.scale, arguments.seed)
    directory = Path(arguments.directory or RUNS / made.slug)
    Trainer(made, directory, device, arguments.precision, arguments.compile).run()
    print(f"run       {directory}")
    for path in publish(made, directory) if arguments.publish else []:
        print(f"published {path}")
    return 0


def evaluate(arguments) -> int:
    """Evaluate a trained experiment as its task asks, and write the result."""
    from itekit.results import RESULTS, RUNS, evaluate, headline, save_result

    network = _network(arguments)
    if arguments.rope_base is not None:
        network = network.with_rope_base(arguments.rope_base)
    if arguments.search:
        network = network.with_search(arguments.search)
    result = evaluate(network, keep=RUNS / network.experiment.slug)
    print(headline(result))
    print(f"result    {save_result(result, arguments.directory or RESULTS)}")
    return 0


def redraw(arguments) -> int:
    """Solve problems with several random embeddings, verify, and write the result."""
    from itekit.redraw import redraw
    from itekit.results import RESULTS, evaluated, save_result

    result = evaluated(_network(arguments), lambda network: redraw(network, arguments.tries))
    for part in ("test", "generalization"):
        rates = result["result"][part]["solved"]["all"]
        print(f"{part:<16}solved by 1 try {rates[0]:.1%}, by {len(rates)} {rates[-1]:.1%}")
    print(f"result    {save_result(result, arguments.directory or RESULTS, '-redraw')}")
    return 0


def generate(arguments) -> int:
    """Generate a set of solved problems, or go on with one that was interrupted."""
    from itekit.datasets.generate import generate, preset, regenerate
    from itekit.datasets.sets import summary
    from itekit.workers import cluster

    if (arguments.name is None) == (arguments.from_manifest is None):
        raise ValueError("give the name of a set, or --from-manifest FILE")
    with ExitStack() as stack:
        options = {"workers": arguments.workers, "progress": "text"}
        if arguments.dask:
            options["client"] = stack.enter_context(cluster(arguments.dask))
        if arguments.from_manifest:
            folder = regenerate(arguments.from_manifest, arguments.output, **options)
        else:
            recipe = preset(arguments.name, arguments.scale, arguments.seed)
            folder = generate(recipe, arguments.output, **options)
    print(summary(folder))
    return 0


def sets(arguments) -> int:
    """List the sets of solved problems."""
    from itekit.datasets.sets import table

    print(table())
    return 0


def efficiency(arguments) -> int:
    """Measure what the embeddings cost, and write the result."""
    from itekit.efficiency import measure, result_path
    from itekit.files import write_json

    arguments.threads = arguments.threads or 1  # whose processor time can be told
    result = measure(arguments.scale, _device(arguments), progress=True)
    path = result_path(result["scale"], arguments.directory)
    write_json(path, result)
    print(f"result    {path}")
    return 0


def search(arguments) -> int:
    """Train and evaluate the missing settings of the copying search; 1 if one of them failed."""
    from itekit.search import search_command

    _device(arguments)
    return search_command(arguments)


def _device(arguments) -> str:
    """The device that was asked for, or cuda where there is one; sets the number of threads."""
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    name = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind not in ("cpu", "cuda") or not (number or "0").isdigit():
        raise ValueError(f"--device: expected cpu, cuda or cuda:NUMBER, found {name!r}")
    if kind == "cuda" and int(number or 0) >= count:
        raise ValueError(f"--device {name}: torch {torch.__version__} finds {count} CUDA devices")
    return name


def _network(arguments):
    """The network that a command is about: a given checkpoint, the own run, or the shipped one."""
    from itekit.experiments import experiment
    from itekit.results import RUNS, load_network
    from itekit.training import FINISHED, Network

    device = _device(arguments)
    made = experiment(arguments.name, arguments.scale, arguments.seed)
    own = RUNS / made.slug / FINISHED
    if arguments.checkpoint or own.exists():
        return Network.load(arguments.checkpoint or own, made).to(device)
    return load_network(arguments.name, arguments.scale, arguments.seed).to(device)


def at_least(least: int, kind: type = int):
    """A type for argparse: a finite number that is not below `least`."""

    def number(text: str):
        try:
            if least <= kind(text) < math.inf:
                return kind(text)
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"expected a number from {least} on, found {text!r}")

    return number


OPTIONS = {  # that several commands have
    "name": {"help": "an experiment, such as copying-5-10/proposed"},
    "--scale": {"help": "smoke, lab or paper; default: ITEKIT_SCALE, else lab"},
    "--seed": {"type": at_least(0), "default": 0},
    "--device": {"help": "cpu or cuda; default: cuda where there is one"},
    "--threads": {"type": at_least(1), "help": "CPU threads"},
    "--directory": {"metavar": "DIR", "help": "where to write"},
    "--checkpoint": {"metavar": "FILE", "help": "default: the own or the shipped run"},
    "--dask": {"metavar": "ADDRESS", "help": "the scheduler of a Dask cluster"},
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def make_parser() -> Parser:
    """The parser; each command sets `function`, which takes the arguments, or where it is."""
    parser = Parser(prog="itekit", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    count, positive = at_least(1), at_least(1, float)
    compute = "--scale --device --threads"
    network = f"name --seed --directory {compute}"

    def command(name: str, function, text: str, shared: str = ""):
        """Add a command: a function or "module:function", its help, and shared options."""
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(function=function)
        for option in shared.split():
            added.add_argument(option, **OPTIONS[option])
        return added.add_argument

    add = command("run", run, "execute a notebook headless, with parameters")
    add("notebook")
    add("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    add("--output", metavar="FILE", help="default: reports/ and the notebook's name")
    add("--html", metavar="FILE", help="also write one page that opens in any browser")
    add("--cell-timeout", type=positive, metavar="SECONDS", help="default: no limit")

    text = "run a list of notebooks, a process for each"
    add = command("batch", "itekit.batch:batch_command", text, "--dask --threads")
    add("list", help="a TOML file (its form: itekit/batch.py)")
    add("--workers", type=count, default=1, help="runs at a time; default: 1")
    add("--cell-timeout", type=positive, metavar="SECONDS", help="default: no limit")
    add("--output", metavar="DIR", help="default: runs/batch/ and the list's name")
    add("--dry-run", action="store_true", help="check the list; say what would run")

    add = command("train", train, "train an experiment, or resume it", network)
    add("--publish", action="store_true", help="copy the finished run to data/")
    add("--precision", choices=("float32", "bfloat16"), help="default: bfloat16 on cuda only")
    add("--compile", action=argparse.BooleanOptionalAction, help="default: on cuda only")

    network += " --checkpoint"
    add = command("evaluate", evaluate, "evaluate a trained experiment", network)
    add("--rope-base", type=positive, metavar="BASE", help="of the rotary positions")
    add("--search", help="of copies: greedy (the default) or published, as the paper's code does")

    add = command("redraw", redraw, "solve with several random embeddings, and verify", network)
    add("--tries", type=count, default=10, help="default: 10")

    add = command("search", search, "go on with the copying search", f"{compute} --dask")
    add("--workers", type=count, default=1, help="settings at a time; default: 1")
    add("--only", type=at_least(0), metavar="N", help="at most N settings")
    add("--directory", metavar="DIR", help="of the result; default: data/results")
    add("--folder", metavar="DIR", help="of checkpoints; default: runs/search")

    add = command(
        "generate", generate, "generate a set of solved problems", "--scale --seed --dask"
    )
    add("name", nargs="?", help="a set, such as ltl35 (the command sets lists them)")
    add("--workers", type=count, help="processes; default: one for each core")
    add("--output", metavar="DIR", help="default: runs/sets/NAME-SCALE")
    add("--from-manifest", metavar="FILE", help="make this set again, and compare")

    command("sets", sets, "list the sets of solved problems")
    text, function = "measure how long Spot takes to solve", "itekit.datasets.solving_time"
    command("solving-time", f"{function}:measure_command", text, "--scale --seed --directory")
    text = "measure what the embeddings cost"
    command("efficiency", efficiency, text, f"{compute} --directory")

    text = "evaluate a language model on the same problems"
    add = command("llm", "itekit.llm:llm_command", text, "--scale --directory")
    add("task", choices=("ltl", "prop"))
    add("--base-url", metavar="URL", help="a server; default: the offline model")
    add("--model", metavar="NAME", help="as that server calls it")
    add("--samples", type=count, help="problems of the test split")
    add("--cell", type=at_least(0), help="problems a cell of the grid; 0: no grid")
    add("--renamed", type=at_least(0), help="problems renamed for each number of APs")
    add("--held-to-form", action="store_true", help="hold traces to a JSON schema too (ours)")
    add("--plain-fields", action="store_true", help="send OpenAI's fields only, without top-k")
    add("--max-tokens", type=count, default=128, help="of a reply; default: 128")
    add("--timeout", type=positive, default=120, metavar="S", help="default: 120")
    add("--parallel", type=count, default=1, help="questions at a time; default: 1")
    add("--threads", type=count, default=1, help="of the offline model; default: 1")
    command("doctor", "itekit.doctor:main", "say what works here, and how to mend the rest")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    arguments = make_parser().parse_args(argv)
    try:
        function = arguments.function
        function = pkgutil.resolve_name(function) if isinstance(function, str) else function
        return function(arguments)
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        code = 1 if isinstance(error, RuntimeError) else 2
        print(f"itekit {arguments.command}: {' '.join(str(error).split())}", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        print(f"itekit {arguments.command}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
