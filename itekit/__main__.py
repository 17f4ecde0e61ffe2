"""The command line: `python -m itekit COMMAND`, or `itekit COMMAND` where it is installed.

Bad input ends with exit code 2, a run that failed with 1, and the last line says why. Each command
imports what does it when it is called, so that a mistyped word is answered at once.
"""

import argparse
import math
import os
import pkgutil
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

from itekit.doctor import how_to_install

# What is wrong with a file, a folder or an address that was given; other OSErrors are failures.
GIVEN = FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError
GIVEN += FileExistsError, BlockingIOError, ConnectionError, TimeoutError


def run(arguments) -> int:
    """Execute a notebook headless, with parameters."""
    from itekit.notebooks import parse_value, prepare_kernels, run_notebook

    prepare_kernels(arguments.threads)
    output = arguments.output or Path("reports") / Path(arguments.notebook).name
    parameters = {name: parse_value(value) for name, value in arguments.parameter}
    limit = arguments.cell_timeout
    print(f"notebook  {run_notebook(arguments.notebook, output, parameters, limit, sys.stdout)}")
    return 0


def train(arguments) -> int:
    """Train an experiment, or resume it; on request copy the finished run to data/."""
    from itekit.names import experiment, run_name
    from itekit.results import RUNS, publish, trainer

    device = _device(arguments)
    named = arguments.name, arguments.scale, arguments.seed
    settings = experiment(*named, **dict(arguments.changes))
    directory = Path(arguments.directory or RUNS / run_name(settings))
    trainer(settings, directory, device, arguments.precision, arguments.compile).run()
    print(f"run       {directory}")
    for path in publish(settings, directory) if arguments.publish else []:
        print(f"published {path}")
    return 0


def evaluate(arguments) -> int:
    """Evaluate a trained experiment as its task asks, and write the result.

    At the paper's size a network on logic answers 141,000 problems by 3 beams and greedily, and 1.3
    million renamed ones. An evaluation that was interrupted goes on after the last part that was
    done; alpha-covariance is a part for each number of propositions.
    """
    from itekit.names import result_name
    from itekit.results import RESULTS, RUNS, evaluate, save_result

    network = _network(arguments)
    if arguments.rope_base is not None:
        network = network.with_rope_base(arguments.rope_base)
    result = evaluate(network, folder=RUNS / result_name(network.experiment))
    path = save_result(result, arguments.directory or RESULTS)
    figures = result["result"].get("test", result["result"])
    rates = [f"{key} {value:.4f}" for key, value in figures.items() if isinstance(value, float)]
    print(", ".join(rates))
    print(f"result    {path}")
    return 0


def generate(arguments) -> int:
    """Generate a set of solved problems, or go on with one that was interrupted."""
    from itekit.datasets.generate import generate, preset, regenerate
    from itekit.datasets.sets import summary
    from itekit.workers import cluster

    make = regenerate
    what = arguments.from_manifest
    if not what:
        make = generate
        what = preset(arguments.name, arguments.scale, arguments.seed)
    options = {"workers": arguments.workers, "progress": True}
    with cluster(arguments.dask) if arguments.dask else nullcontext() as client:
        print(summary(make(what, arguments.output, client=client, **options)))
    return 0


def _device(arguments) -> str:
    """The device that was asked for, or cuda where there is one; sets the number of threads."""
    import torch

    if arguments.threads or not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(arguments.threads or 1)
    name = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        if name.partition(":")[0] not in ("cpu", "cuda"):
            raise RuntimeError("expected cpu or cuda")
        torch.ones(1, device=name).item()
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {name}: {str(error).splitlines()[0]}") from error
    return name


def _network(arguments):
    """The network that a command is about: a given checkpoint, the own run, or the shipped one."""
    from itekit.doctor import need
    from itekit.names import experiment, run_name
    from itekit.results import RUNS, load_network
    from itekit.training import FINISHED, Network

    device = _device(arguments)
    named = arguments.name, arguments.scale, arguments.seed
    changes = dict(arguments.changes)
    settings = experiment(*named, **changes)
    need(*settings.task.needs)  # before hours of answers, not after them
    own = RUNS / run_name(settings) / FINISHED
    if arguments.checkpoint or own.exists():
        return Network.load(arguments.checkpoint or own, settings).to(device)
    return load_network(*named, **changes).to(device)


def at_least(least: int, kind: type = int):
    """A type for argparse: a finite number that is not below `least`."""

    def number(text: str):
        if not least <= kind(text) < math.inf:
            raise ValueError
        return kind(text)

    number.__name__ = f"{kind.__name__} >= {least}"  # argparse says: invalid NAME value: TEXT
    return number


def part_of(text: str) -> tuple[int, int]:
    """A type for argparse: one part of several, such as 3/16."""
    number, count = map(int, text.split("/"))
    if not 1 <= number <= count:
        raise ValueError
    return number, count


def change(text: str) -> tuple[str, object]:
    """A type for argparse: one setting of an experiment, such as training.steps=500."""
    from itekit.notebooks import parse_value

    key, equals, value = text.partition("=")
    if not equals or key in ("name", "scale", "seed"):  # these have options
        raise ValueError(f"argument KEY=VALUE: invalid KEY=VALUE value: {text!r}")
    return key, parse_value(value)


change.__name__, part_of.__name__ = "KEY=VALUE", "I/N"
count, positive = at_least(1), at_least(1, float)
SHARED = {  # options that several commands have
    "name": {"help": "an experiment, such as copying-5-10/proposed"},
    "changes": {
        "type": change,
        "nargs": "*",
        "metavar": "KEY=VALUE",
        "help": "other settings than the name says",
    },
    "--scale": {"help": "smoke, lab or paper; default: ITEKIT_SCALE, else lab"},
    "--seed": {"type": at_least(0), "default": 0},
    "--device": {"help": "cpu or cuda; default: cuda where there is one"},
    "--threads": {
        "type": count,
        "help": "CPU threads; default: OMP_NUM_THREADS, else 1, the fastest for small models",
    },
    "--directory": {"metavar": "DIR", "help": "where to write"},
    "--cell-timeout": {"type": positive, "metavar": "SECONDS", "help": "default: no limit"},
    "--checkpoint": {"metavar": "FILE", "help": "default: the own or the shipped run"},
    "--dask": {"metavar": "ADDRESS", "help": "the scheduler of a Dask cluster"},
}
COMPUTE = "--scale --device --threads"
NETWORK = f"name changes --seed --directory {COMPUTE}"


def make_parser() -> argparse.ArgumentParser:
    """The parser; each command sets `function`, which takes the arguments, or where it is."""
    parser = argparse.ArgumentParser(prog="itekit", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function, shared: str = "", name: str = "", text: str = ""):
        """Add a command: a function here, or "module:function" with a name and a help text."""
        text = text or function.__doc__
        about = {"help": text.partition("\n")[0], "description": text}
        added = commands.add_parser(name or function.__name__, **about)
        added.set_defaults(function=function)
        for option in shared.split():
            added.add_argument(option, **SHARED[option])
        return added

    add = command(run, "--cell-timeout --threads").add_argument
    add("notebook")
    add("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    add("--output", metavar="FILE", help="default: reports/ and the notebook's name")

    text, shared = "Run a list of notebooks, a process for each.", "--cell-timeout --dask --threads"
    add = command("itekit.notebooks:batch_command", shared, "batch", text).add_argument
    add("list", help="a TOML file (its form: itekit/notebooks.py)")
    add("--workers", type=count, default=1, help="runs at a time; default: 1")
    add("--output", metavar="DIR", help="default: runs/batch/ and the list's name")
    add("--scale", help="where the list says none; default: ITEKIT_SCALE, else lab")
    add("--only", default="*", metavar="GLOB", help="runs with such names, as 'ltl*'")
    add("--part", type=part_of, default=(1, 1), metavar="I/N", help="every N-th run, from the I-th")
    add("--dry-run", action="store_true", help="say what is done, goes on or is missing")

    add = command(train, NETWORK).add_argument
    add("--publish", action="store_true", help="copy the finished run to data/")
    add("--precision", choices=("float32", "bfloat16"), help="default: bfloat16 on cuda only")
    add("--compile", action=argparse.BooleanOptionalAction, help="default: on cuda only")

    add = command(evaluate, f"{NETWORK} --checkpoint").add_argument
    add("--rope-base", type=positive, metavar="BASE", help="of the rotary positions")

    sets = command(generate, "--scale --seed --dask")
    add = sets.add_mutually_exclusive_group(required=True).add_argument
    add("name", nargs="?", help="a set, such as ltl35 (the table in data/README.md has all)")
    add("--from-manifest", metavar="FILE", help="make this set again, and compare")
    sets.add_argument("--workers", type=count, help="processes; default: one for each core")
    sets.add_argument("--output", metavar="DIR", help="default: runs/sets/NAME-SCALE")

    command("itekit.doctor:main", "", "doctor", "Say what works here, and how to fix the rest.")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    parser = make_parser()
    arguments, rest = parser.parse_known_args(argv)  # KEY=VALUE may stand behind options too
    if rest and ("changes" not in arguments or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    function = arguments.function
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cluster's end is as Ctrl-C
    try:
        if rest:
            arguments.changes += map(change, rest)
        function = pkgutil.resolve_name(function) if isinstance(function, str) else function
        return function(arguments)
    except (ValueError, ImportError, *GIVEN) as error:
        code = 2
        message = f"{error}{how_to_install(getattr(error, 'name', None))}"
    except (RuntimeError, OSError) as error:
        code = 1
        message = str(error)
    except KeyboardInterrupt:
        code, message = 130, "interrupted; the same command goes on where it can"
    print(f"itekit {arguments.command}: {' '.join(message.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
