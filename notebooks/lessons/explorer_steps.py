"""Work done in small steps on one thread, where new work takes the place of what is not done yet.

The handlers of ipywidgets run on the kernel's main thread or, where the front end sends the
messages of widgets to a subshell (JupyterLab with ipykernel 7), on that one's; each has an event
loop of its own, so no loop serves both. A thread of our own serves either: a handler only says what
is to be done and returns at once, and setting the value of a widget from a thread is safe. Nothing
is ever interrupted within a step: a step should take a fraction of a second.
"""

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor


class Steps:
    """One thread that works through one generator at a time, a yield a step."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "itekit-steps")
        self._lock, self._number = threading.Lock(), 0
        self._idle = threading.Event()
        self._idle.set()

    def start(self, work: Generator) -> None:
        """Do this work from now on; what was being done ends after its step, and is closed."""
        with self._lock:
            self._number += 1
            self._executor.submit(self._step, work, self._number)
            self._idle.clear()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether everything is done, after waiting for it; not from within a step."""
        return self._idle.wait(seconds)

    def close(self) -> None:
        """End the work and the thread; nothing can be started any more."""
        with self._lock:
            self._number += 1
        self._executor.shutdown()
        self._idle.set()

    def _step(self, work: Generator, number: int) -> None:
        """One step; the next one is queued anew, so that at the interpreter's end none follows."""
        try:
            if number == self._number:
                next(work)
                self._executor.submit(self._step, work, number)
                return
        except StopIteration:
            pass
        except BaseException:  # of the work, or because nothing can be queued any more
            self._finish(work, number)
            raise
        self._finish(work, number)

    def _finish(self, work: Generator, number: int) -> None:
        work.close()
        with self._lock:
            if number == self._number:
                self._idle.set()
