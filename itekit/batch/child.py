"""The process of one run: `python -m itekit.batch.child`, with a job as JSON on standard input.

It ends with its parent, however that ended: standard input stays open while the parent wants the
run, and its end interrupts the notebook's cell, as Ctrl-C would, and after `GRACE` seconds ends the
process and its kernel.  What it prints is the log; its answer, on what was its standard output, is
one JSON object: {"seconds": ...}, or {"error": ...} as well.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback

from itekit.batch.jobs import Job, cells_digest, write_record
from itekit.notebooks import run_notebook

GRACE = 5.0  # seconds for a cell to clean up
LONGEST = 2000  # characters of a message


def answer(job: Job) -> dict:
    """Execute the notebook and write the record, or say why not."""
    start, error = time.monotonic(), None
    try:
        job.record.unlink(missing_ok=True)  # whatever comes, it is no longer that output
        cells = cells_digest(job.notebook)
        run_notebook(job.notebook, job.output, job.parameters, cell_timeout=job.cell_timeout)
        write_record(job, cells, time.monotonic() - start)
    except Exception as failure:  # the parent goes on with its other runs
        traceback.print_exc()
        plain = isinstance(failure, (ValueError, OSError, RuntimeError))
        error = f"{failure}" if plain else f"{type(failure).__name__}: {failure}"
        print(f"failed: {error}", file=sys.stderr)
    seconds = {"seconds": time.monotonic() - start}
    return seconds if error is None else seconds | {"error": " ".join(error.split())[:LONGEST]}


def end_with_parent() -> None:
    """A thread: wait for the end of standard input, then end this process and its kernel."""
    import psutil

    while os.read(0, 4096):
        pass
    print("interrupted: the batch ended", file=sys.stderr, flush=True)
    kernels = psutil.Process().children(recursive=True)
    _signal(kernels, signal.SIGINT)
    time.sleep(GRACE)  # most end here: the cell fails, and the process with it
    _signal(kernels + psutil.Process().children(recursive=True), signal.SIGKILL)
    os._exit(1)


def _signal(processes: list, number: int) -> None:
    """Send a signal to those of the processes that are still there."""
    import psutil

    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def main() -> None:
    """Do the job that standard input names."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is printed goes to the log
    job = Job(*json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=end_with_parent, daemon=True).start()
    text = json.dumps(answer(job))
    try:
        answers.write(text)
        answers.close()
    except BrokenPipeError:  # the parent was killed
        os._exit(1)


if __name__ == "__main__":
    main()
