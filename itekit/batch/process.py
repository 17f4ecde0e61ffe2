"""Start a run in a Python process of its own, wait for it, and say how it ended."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from itekit.batch.jobs import Job
from itekit.notebooks import unfinished_cell

PACKAGES = Path(__file__).resolve().parents[2]  # so that kernels find this package as we did
FAILED_END = ".failed.ipynb"  # as `run_notebook` names what is left of a failed run
RAN, FAILED, SKIPPED = "ran", "failed", "skipped"


class Outcome(NamedTuple):
    """How a run ended.

    Attributes:
        name: of the run.
        status: "ran", "failed" or "skipped", which means that it was done before.
        seconds: how long it took, then or now.
        message: for a failed run, which cell and which error, or how the process died.
    """

    name: str
    status: str
    seconds: float
    message: str = ""


class RunProcess:
    """The process of one job.

    Args:
        job: what to run; an older log and temporary files of it are removed.
        threads: for the variable OMP_NUM_THREADS; None leaves it as it is here.
        held: open files that the process keeps open, such as a lock.

    Raises:
        OSError: the log cannot be written, or no process started.
    """

    def __init__(self, job: Job, threads: int | None = None, held: tuple[int, ...] = ()):
        self.job, self._start = job, time.monotonic()
        for partial in job.log.parent.glob(f".{job.name}.*.partial.ipynb"):
            partial.unlink(missing_ok=True)  # of a process that was killed
        path = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
        if threads is not None:
            environment["OMP_NUM_THREADS"] = str(threads)
        with open(job.log, "w", encoding="utf-8") as log:
            log.write(f"# {command(job)}\n")
            log.flush()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "itekit.batch.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for us: we end the process
                pass_fds=held,
            )
        with contextlib.suppress(BrokenPipeError):  # it died: `wait` says how
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()

    def wait(self, seconds: float | None = None) -> Outcome | None:
        """How the run ended; None if it goes on after `seconds`."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self.stop()
        with self._process.stdout as answers:
            text = answers.read()
        try:
            answer = json.loads(text)
        except ValueError:  # it died before it could say how it went
            return self._dead(code)
        status = FAILED if "error" in answer else RAN
        return Outcome(self.job.name, status, answer["seconds"], answer.get("error", ""))

    def _dead(self, code: int) -> Outcome:
        """The outcome of a process that died: its cell, if it can be told, its signal, its log."""
        job, where = self.job, ""
        partial = job.log.with_name(f".{job.name}.{self._process.pid}.partial.ipynb")
        with contextlib.suppress(Exception):  # it may have been writing this file
            where = f"{unfinished_cell(partial)}: "
            os.replace(partial, job.log.with_name(f"{job.name}{FAILED_END}"))
        message = f"{Path(job.notebook).name}: {where}{_death(code)}; log: {job.log}"
        with contextlib.suppress(OSError), open(job.log, "a", encoding="utf-8") as log:
            log.write(f"\nfailed: {message}\n")
        return Outcome(job.name, FAILED, time.monotonic() - self._start, message)

    def stop(self) -> None:
        """Tell the process to end, with its kernel; it takes some seconds at most."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()


def command(job: Job) -> str:
    """The job as a command that does the same by hand (its values as text)."""
    words = ["python", "-m", "itekit", "run", job.notebook]
    for key, value in job.parameters.items():
        words += ["-p", key, str(value)]
    return shlex.join([*words, "--output", str(job.output)])


def _death(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    memory = " (out of memory?)" if code == -signal.SIGKILL else ""
    return f"its process was ended by {signal.Signals(-code).name}{memory}"
