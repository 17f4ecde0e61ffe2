"""Commands about sets of solved problems: generate, sets, solving-time."""

import argparse


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


def add(commands: argparse._SubParsersAction) -> None:
    """Add the commands to the parser."""
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
