"""The command line: `python -m itekit COMMAND`, or `itekit COMMAND` where it is installed.

Bad input ends with one message and exit code 2, a run that failed with exit code 1.
"""

import argparse
import os
import sys
from pathlib import Path


def run_command(arguments: argparse.Namespace) -> int:
    """Execute a notebook with papermill and, on request, write it as one HTML file."""
    from itekit.notebooks import parse_value, run_notebook
    from itekit.report import report_html

    name = os.path.basename(arguments.notebook)
    output = arguments.output or os.path.join("reports", name)
    parameters = {key: parse_value(value) for key, value in arguments.parameter}
    print(f"notebook  {run_notebook(arguments.notebook, output, parameters)}")
    if arguments.html:
        print(f"page      {report_html(output, arguments.html).absolute()}")
    return 0


def refresh_command(arguments: argparse.Namespace) -> int:
    """Execute notebooks in place at lab size."""
    from itekit.refresh import refresh

    refresh(arguments.notebooks)
    return 0


def readme_command(arguments: argparse.Namespace) -> int:
    """Rewrite what README.md takes from the results, and its picture."""
    from itekit.readme import refresh

    print("\n".join(refresh()))
    return 0


def doctor_command(arguments: argparse.Namespace) -> int:
    """Print what works here."""
    from itekit.doctor import main as doctor

    return doctor()


def train_command(arguments: argparse.Namespace) -> int:
    """Train one experiment, or resume it; on request copy it to data/."""
    import torch

    from itekit.experiments import experiment
    from itekit.results import RUNS, publish
    from itekit.training import Trainer

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    made = experiment(arguments.name, arguments.scale, arguments.seed)
    directory = Path(arguments.directory or RUNS / made.slug)
    Trainer(made, directory, _device(arguments)).run()
    print(f"run       {directory}")
    for path in publish(made, directory) if arguments.publish else []:
        print(f"published {path}")
    return 0


def evaluate_command(arguments: argparse.Namespace) -> int:
    """Evaluate a trained experiment on its grid and write the result."""
    from itekit.experiments import experiment
    from itekit.network import Network
    from itekit.results import RESULTS, RUNS, evaluate, headline, load_network, save_result
    from itekit.training import FINISHED

    made = experiment(arguments.name, arguments.scale, arguments.seed)
    own = RUNS / made.slug / FINISHED
    if arguments.checkpoint or own.exists():
        network = Network.load(arguments.checkpoint or own, made)
    else:
        network = load_network(arguments.name, arguments.scale, arguments.seed)
    if arguments.rope_base:
        network = network.with_rope_base(arguments.rope_base)
    result = evaluate(network.to(_device(arguments)), keep=RUNS / network.experiment.slug)
    print(headline(result))
    print(f"result    {save_result(result, arguments.directory or RESULTS)}")
    return 0


def generate_command(arguments: argparse.Namespace) -> int:
    """Generate a set of solved problems, or go on with one that was interrupted."""
    from contextlib import ExitStack

    from itekit.datasets.generate import generate, regenerate
    from itekit.datasets.presets import preset
    from itekit.datasets.sets import summary

    if (arguments.name is None) == (arguments.from_manifest is None):
        raise ValueError("give the name of a set, or --from-manifest FILE")
    options = {"workers": arguments.workers, "progress": "text"}
    with ExitStack() as stack:
        if arguments.dask:
            from itekit.datasets.dask_executor import DaskExecutor

            options["executor"] = stack.enter_context(DaskExecutor(arguments.dask))
        if arguments.from_manifest:
            folder = regenerate(arguments.from_manifest, arguments.output, **options)
        else:
            recipe = preset(arguments.name, arguments.scale, arguments.seed)
            folder = generate(recipe, arguments.output, **options)
    print(summary(folder))
    return 0


def sets_command(arguments: argparse.Namespace) -> int:
    """List the sets of solved problems."""
    from itekit.datasets.sets import table

    print(table())
    return 0


def solving_time_command(arguments: argparse.Namespace) -> int:
    """Measure how long Spot takes to solve formulas, and write the result."""
    import time

    from itekit.datasets.manifest import tool_versions
    from itekit.datasets.solving_time import measure, result_path
    from itekit.files import write_json
    from itekit.provenance import provenance

    start = time.perf_counter()
    result = measure(arguments.scale, arguments.seed, progress="text")
    where = provenance()
    where["versions"] |= tool_versions()
    where["seconds"] = round(time.perf_counter() - start, 1)
    path = result_path(result["scale"], arguments.seed, arguments.directory)
    write_json(path, result | {"measured": where})
    print(f"result    {path}")
    return 0


def _device(arguments: argparse.Namespace) -> str:
    import torch

    return arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")


def _add_experiment(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", help="an experiment, such as copying-5-10/proposed")
    command.add_argument("--scale", help="smoke, lab or paper; default: ITEKIT_SCALE, else lab")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--device", help="cpu or cuda; default: cuda where there is one")
    command.add_argument("--directory", metavar="DIR", help="where to write")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; each command sets `function`, which takes the arguments."""
    parser = argparse.ArgumentParser(prog="itekit", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="execute a notebook headless, with parameters")
    run.add_argument("notebook")
    run.add_argument(
        "-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    run.add_argument("--output", metavar="FILE", help="default: reports/ and the notebook's name")
    run.add_argument("--html", metavar="FILE", help="also write one self-contained page")
    run.set_defaults(function=run_command)

    refresh = commands.add_parser("refresh", help="execute notebooks in place at lab size")
    refresh.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="default: all")
    refresh.set_defaults(function=refresh_command)

    train = commands.add_parser("train", help="train an experiment, or resume it")
    _add_experiment(train)
    train.add_argument("--threads", type=int, help="CPU threads")
    train.add_argument("--publish", action="store_true", help="copy the finished run to data/")
    train.set_defaults(function=train_command)

    evaluate = commands.add_parser("evaluate", help="evaluate a trained experiment on its grid")
    _add_experiment(evaluate)
    evaluate.add_argument("--checkpoint", metavar="FILE", help="default: the own or shipped run")
    evaluate.add_argument(
        "--rope-base", type=float, metavar="BASE", help="of the rotary positions; default: trained"
    )
    evaluate.set_defaults(function=evaluate_command)

    generate = commands.add_parser("generate", help="generate a set of solved problems")
    generate.add_argument("name", nargs="?", help="a set, such as ltl35 (the command sets lists)")
    generate.add_argument("--scale", help="smoke, lab or paper; default: ITEKIT_SCALE, else lab")
    generate.add_argument("--seed", type=int, default=0)
    generate.add_argument("--workers", type=int, help="processes; default: one for each core")
    generate.add_argument("--output", metavar="DIR", help="default: runs/sets/NAME-SCALE")
    generate.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a Dask cluster")
    generate.add_argument("--from-manifest", metavar="FILE", help="make this set again; compare")
    generate.set_defaults(function=generate_command)

    sets = commands.add_parser("sets", help="list the sets of solved problems")
    sets.set_defaults(function=sets_command)

    timing = commands.add_parser("solving-time", help="measure how long Spot takes to solve")
    timing.add_argument("--scale", help="smoke, lab or paper; default: ITEKIT_SCALE, else lab")
    timing.add_argument("--seed", type=int, default=0)
    timing.add_argument("--directory", metavar="DIR", help="where to write")
    timing.set_defaults(function=solving_time_command)

    readme = commands.add_parser("readme", help="rewrite README.md's tables from the results")
    readme.set_defaults(function=readme_command)

    doctor = commands.add_parser("doctor", help="say what works here and how to mend the rest")
    doctor.set_defaults(function=doctor_command)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    arguments = make_parser().parse_args(argv)
    try:
        return arguments.function(arguments)
    except (ValueError, OSError, ImportError) as error:
        print(f"itekit {arguments.command}: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"itekit {arguments.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"itekit {arguments.command}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
