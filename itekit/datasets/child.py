"""The child process of `limited.LimitedWorker`: one function, each item within its CPU seconds.

`python -m itekit.datasets.child MODULE:FUNCTION CPU_SECONDS` reads batches from standard input,
each one line of JSON holding a list of items, and writes a line for each answer as soon as it is
there.  A line is a mark and JSON: `=` an answer, `!` what the function raised, `.` the CPU seconds
of the batch, which ends it.  The first line is `ready`.
"""

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable

READY, ANSWER, FAILURE, FINISHED = b"ready", b"=", b"!", b"."


def load(task: str) -> Callable:
    """The function that "module:function" names.

    Raises:
        ValueError: not of this form, or the module has no such function.
        ImportError: the module cannot be imported.
    """
    module, _, name = task.partition(":")
    if not (module and name):
        raise ValueError(f"expected a task module:function, found {task!r}")
    function = getattr(importlib.import_module(module), name, None)
    if not callable(function):
        raise ValueError(f"{module} has no function {name!r}")
    return function


def serve(task: str, cpu_seconds: float) -> None:
    """Answer batches until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the function prints goes where errors go
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    function = load(task)
    answers.write(READY + b"\n")
    answers.flush()
    for line in sys.stdin.buffer:
        start = time.process_time()
        for item in json.loads(line):
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
            try:
                answer = ANSWER + json.dumps(function(item)).encode()
            except Exception as error:  # whatever it is, the parent names the item
                answer = FAILURE + json.dumps(f"{type(error).__name__}: {error}").encode()
            signal.setitimer(signal.ITIMER_PROF, 0)  # a time-out always belongs to this item
            answers.write(answer + b"\n")
            answers.flush()
        answers.write(b"%b%f\n" % (FINISHED, time.process_time() - start))
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1], float(sys.argv[2]))
