"""`python -m itekit batch LIST`: run what is not done yet, and say in a table how it went.

Exit code 0: all ran or were done; 1: a run failed; 2: bad input, and nothing was started.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from itekit.batch.jobs import Job, cells_digest, done_seconds, make_jobs
from itekit.batch.lists import read_list
from itekit.batch.local import LocalRunner, locked
from itekit.batch.process import FAILED, RAN, SKIPPED, Outcome
from itekit.datasets.parallel import default_workers

FOLDER = Path("runs") / "batch"
THREADS = "OMP_NUM_THREADS"
TO_RUN = "to run"


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int = 1,
    threads: int | None = None,
    dask: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Run the jobs that are not done, and return how all of them ended, in their order.

    Args:
        jobs: of `make_jobs`, at least one.
        workers: how many runs at a time on this machine.
        threads: OMP_NUM_THREADS of each run; default here: as it is set, else the cores divided
            by `workers`; on a cluster: as its workers have it.
        dask: address of a Dask scheduler, to run there instead of here.
        say: takes a line when a run starts or ends.

    Raises:
        ValueError: less than one worker or thread.
        OSError: the folder cannot be written, another batch is at work in it, or no cluster
            answers.
        ImportError: `dask` is given and dask.distributed is not installed.
    """
    if dask is None and threads is None and not os.environ.get(THREADS) and workers > 0:
        threads = max(1, default_workers() // workers)
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(locked(Path(jobs[0].folder)))
        if dask is None:
            runner = LocalRunner(workers, threads, (held,))
        else:
            from itekit.batch.cluster import ClusterRunner

            runner = stack.enter_context(ClusterRunner(dask, threads))
        outcomes = skipped(jobs)
        rest = [job for job in jobs if job.name not in outcomes]

        def started(job: Job) -> None:
            say(f"start    {job.name}")

        ended = stack.enter_context(contextlib.closing(runner.run(rest, started)))
        for count, outcome in enumerate(ended, 1):
            outcomes[outcome.name] = outcome
            text = f"{outcome.status:<8} {outcome.name}  {count}/{len(rest)}  {_time(outcome)} min"
            say(f"{text}  {outcome.message}".rstrip())
    return [outcomes[job.name] for job in jobs]


def skipped(jobs: Sequence[Job]) -> dict[str, Outcome]:
    """By name, the jobs that are done."""
    cells = {notebook: cells_digest(notebook) for notebook in {job.notebook for job in jobs}}
    seconds = {job.name: done_seconds(job, cells[job.notebook]) for job in jobs}
    return {
        name: Outcome(name, SKIPPED, value) for name, value in seconds.items() if value is not None
    }


def table(outcomes: Sequence[Outcome]) -> str:
    """Name, status and minutes of each run, where it failed, and how many there are of each."""
    width = max(len(outcome.name) for outcome in outcomes)
    lines = [f"{'run':<{width}}  {'status':<8}  {'minutes':>7}  where it failed"]
    for o in outcomes:
        lines.append(f"{o.name:<{width}}  {o.status:<8}  {_time(o):>7}  {o.message}".rstrip())
    counts = {
        status: sum(outcome.status == status for outcome in outcomes)
        for status in (TO_RUN, RAN, FAILED, SKIPPED)
    }
    said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return "\n".join([*lines, "", f"{len(outcomes)} runs: {said}"])


def _time(outcome: Outcome) -> str:
    return "-" if outcome.status == TO_RUN else f"{outcome.seconds / 60:.1f}"


def batch_command(arguments: argparse.Namespace) -> int:
    """Run a list of notebooks; 1 if any of them failed, else 0."""
    path = Path(arguments.list)
    folder = arguments.output or FOLDER / path.stem
    jobs = make_jobs(read_list(path), folder, arguments.cell_timeout)
    if arguments.dry_run:
        done = skipped(jobs)
        print(table([done.get(job.name, Outcome(job.name, TO_RUN, 0.0)) for job in jobs]))
        return 0
    try:
        outcomes = run_jobs(
            jobs,
            workers=arguments.workers,
            threads=arguments.threads,
            dask=arguments.dask,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except KeyboardInterrupt:
        print("the same command goes on; finished runs are kept", file=sys.stderr)
        raise
    print(table(outcomes))
    print(f"output    {jobs[0].folder}")
    return int(any(outcome.status == FAILED for outcome in outcomes))


def add_parser(commands) -> None:
    """Add the command `batch` to the subparsers of `python -m itekit`."""
    batch = commands.add_parser("batch", help="run a list of notebooks, a process for each run")
    batch.add_argument("list", help="a TOML file (form: itekit/batch/lists.py)")
    batch.add_argument("--workers", type=int, default=1, help="runs at a time; default: 1")
    batch.add_argument("--threads", type=int, help="of each run; default: cores / workers")
    batch.add_argument(
        "--cell-timeout", type=float, metavar="SECONDS", help="of each cell; default: no limit"
    )
    batch.add_argument("--output", metavar="DIR", help="default: runs/batch/ and the list's name")
    batch.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a Dask cluster")
    batch.add_argument("--dry-run", action="store_true", help="check the list; say what would run")
    batch.set_defaults(function=batch_command)
