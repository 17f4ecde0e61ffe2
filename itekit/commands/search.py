"""The command search: train and evaluate the settings of the copying search that are missing."""

import argparse


def search_command(arguments: argparse.Namespace) -> int:
    """Run what is missing, and print each setting as it is done; 1 if a setting failed."""
    from contextlib import ExitStack

    from itekit.results import RESULTS
    from itekit.scale import resolve_scale
    from itekit.search.records import missing, result_path
    from itekit.search.running import FOLDER, here, search
    from itekit.search.settings import search_settings

    if arguments.only is not None and arguments.only < 0:
        raise ValueError(f"--only must be 0 or more, found {arguments.only}")
    scale, directory = resolve_scale(arguments.scale), arguments.directory or RESULTS
    count, failed = len(search_settings(scale)), 0
    done = count - len(missing(scale, directory))
    print(f"{count} settings at {scale} size, {done} done before", flush=True)
    with ExitStack() as stack:
        run = here
        if arguments.dask:
            from itekit.search.cluster import ClusterRun

            run = stack.enter_context(ClusterRun(arguments.dask))
        places = {"directory": directory, "folder": arguments.folder or FOLDER}
        options = {"device": arguments.device, "threads": arguments.threads}
        for setting, outcome in search(scale, arguments.only, run=run, **places, **options):
            failed += not isinstance(outcome, dict)
            left = len(missing(scale, directory))
            print(f"{count - left:3}/{count}  {_line(setting, outcome)}", flush=True)
    print(f"result    {result_path(scale, directory)}")
    return 1 if failed else 0


def _line(setting, outcome) -> str:
    name = f"{setting.column:22} {setting.on:18} seed {setting.seed}"
    if not isinstance(outcome, dict):
        return f"{name}  failed: {type(outcome).__name__}: {outcome}"
    seconds = outcome["trained"]["seconds"] + outcome["evaluated"]["seconds"]
    return f"{name}  {outcome['edit_distance']:6.2f}  {seconds:6.0f} s"


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    search = commands.add_parser("search", help="the copying search: run what is missing")
    search.add_argument("--scale", help="smoke, lab or paper; default: ITEKIT_SCALE, else lab")
    search.add_argument("--only", type=int, metavar="N", help="at most N settings")
    search.add_argument("--threads", type=int, help="CPU threads of each training")
    search.add_argument("--device", help="cpu or cuda; default: cuda where there is one")
    search.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a Dask cluster")
    search.add_argument("--directory", metavar="DIR", help="of the result; default: data/results")
    search.add_argument("--folder", metavar="DIR", help="of checkpoints; default: runs/search")
    search.set_defaults(function=search_command)
