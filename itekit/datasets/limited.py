"""A worker process whose every item has a limit of CPU seconds that really ends it.

A call into C++ (Spot, a SAT solver) cannot be interrupted by a Python signal handler, so the child
process arms a timer of its own CPU time before each item and leaves the signal's default action in
place: the kernel ends it wherever it is.  The parent then knows which item was running, records
`TIME_OUT` for it, starts another child and goes on.  CPU time, because a busy machine must not
change which items run out of time; a long wall-clock limit ends a child that hangs without using
any.  Items and answers are JSON, many items a message (see `child`).
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice

from itekit.datasets.child import FAILURE, FINISHED, READY
from itekit.tasks.verdicts import TIME_OUT

BATCH = 500  # items a message
START_SECONDS = 300  # for a child to start and import its function


class TaskError(RuntimeError):
    """An item that could not be worked on: the message names it and says why."""


class LimitedWorker:
    """One child process that applies a function to items, each within `cpu_seconds`.

    Args:
        task: "module:function"; the function takes one JSON value and returns one.
        cpu_seconds: limit for each item; the kernel looks some hundred times a second.
        wall_seconds: limit for a child that waits without using CPU; default 60, or 30 times
            `cpu_seconds` where that is more.

    Attributes:
        spent: CPU seconds that children have used on items.

    Raises:
        ValueError: a limit that is not above 0.

    Use it in a `with` block, or call `close`.  One worker serves one thread.
    """

    def __init__(self, task: str, cpu_seconds: float, wall_seconds: float | None = None):
        wall_seconds = max(60.0, 30 * cpu_seconds) if wall_seconds is None else wall_seconds
        for name, seconds in (("cpu_seconds", cpu_seconds), ("wall_seconds", wall_seconds)):
            if not 0 < seconds < 1e9:
                raise ValueError(f"{name} must be above 0 and below 1e9, found {seconds}")
        self.task, self.cpu_seconds, self.wall_seconds = task, float(cpu_seconds), wall_seconds
        self.spent = 0.0
        self._child: subprocess.Popen | None = None
        self._stopped = self._hung = False
        self._files = contextlib.ExitStack()

    def __enter__(self) -> "LimitedWorker":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def map(self, items: Iterable) -> Iterator:
        """The answers in order, `TIME_OUT` for an item that used up its seconds.

        Raises:
            TaskError: the function raised an error, or the child died twice on the same item
                without having used up its seconds (a crash; too little memory).
        """
        items = iter(items)
        while batch := list(islice(items, BATCH)):
            yield from self._batch(batch)

    def stop(self) -> None:
        """From another thread: kill the child and start no other; `map` raises TaskError."""
        self._stopped = True
        if child := self._child:
            child.kill()

    def close(self) -> None:
        """End the child."""
        self._stopped = True
        self._end_child()

    def _batch(self, items: list) -> Iterator:
        """The answers of one batch."""
        at, deaths, finished = 0, 0, False
        try:
            while at < len(items):
                for answer in self._answers(items[at:]):
                    yield answer
                    at, deaths = at + 1, 0
                if at == len(items):
                    break
                if self._out_of_time():
                    yield TIME_OUT
                    at, deaths = at + 1, 0
                    continue
                deaths += 1
                if deaths == 2:
                    raise TaskError(f"{_name(items[at])}: {self._epitaph()}")
            finished = True
        finally:
            if not finished:  # answers that nobody will read must not meet the next batch
                self._end_child()

    def _answers(self, items: list) -> Iterator:
        """Send items; yield their answers until the last one or the child's death."""
        child = self._running_child()
        self._hung = False
        try:
            child.stdin.write(json.dumps(items).encode() + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            return
        for at, line in enumerate(self._lines(self.wall_seconds)):
            mark, content = line[:1], json.loads(line[1:])
            if mark == FINISHED:
                self.spent += content
                return
            if mark == FAILURE:
                raise TaskError(f"{_name(items[at])}: {content}")
            yield content

    def _lines(self, wall_seconds: float) -> Iterator[bytes]:
        """Whole lines as they come; ends with the child, which a wait past the limit kills."""
        child, rest = self._child, b""
        poll = select.poll()
        poll.register(child.stdout, select.POLLIN)
        while True:
            if not poll.poll(1000 * wall_seconds):
                self._hung = True
                child.kill()
            if not (received := os.read(child.stdout.fileno(), 1 << 16)):
                return
            *lines, rest = (rest + received).split(b"\n")
            yield from lines

    def _running_child(self) -> subprocess.Popen:
        """The child, started if there is none."""
        if not self._stopped and (self._child is None or self._child.poll() is not None):
            self._end_child()
            self._start_child()
        if self._stopped:
            self._end_child()
            raise TaskError(f"the worker of {self.task} was stopped")
        return self._child

    def _start_child(self) -> None:
        with contextlib.ExitStack() as files:
            self._errors = files.enter_context(tempfile.TemporaryFile())
            self._files = files.pop_all()
        paths = [os.path.abspath(path) for path in sys.path]
        self._child = subprocess.Popen(
            [sys.executable, "-m", "itekit.datasets.child", self.task, repr(self.cpu_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # modules are found as here; a set of strings has the same order every time
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"},
        )
        if next(self._lines(START_SECONDS), None) != READY and not self._stopped:
            raise TaskError(f"{self.task} did not start: {self._epitaph()}")

    def _out_of_time(self) -> bool:
        """Whether the dead child used up an item's seconds, or its wall-clock limit."""
        used_up = self._child.wait() == -signal.SIGPROF
        self.spent += self.cpu_seconds if used_up else 0
        return used_up or self._hung

    def _epitaph(self) -> str:
        """How the child ended, with the last line it printed."""
        code = self._child.wait()
        how = f"the process ended by {signal.Signals(-code).name}" if code < 0 else ""
        how += " (too little memory?)" if code == -signal.SIGKILL else ""
        self._errors.seek(0)
        printed = self._errors.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(printed) if line.strip()), "")
        return f"{how or f'the process ended with exit code {code}'}; {last[-500:]}".rstrip("; ")

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
            self._child.stdout.close()
            self._files.close()
            self._child = None


def _name(item) -> str:
    text = json.dumps(item)
    return f"item {text if len(text) <= 200 else text[:197] + '...'}"
