"""A language model in a server process of our own: started, asked over HTTP, and stopped.

The server is llama.cpp's, in a child process that listens on the loopback address only, on a port
that the system chooses. It ends when it is told to, when the block ends, or when this process does,
however that ends.
"""

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from itekit.llm.client import ServerError

STOP_SECONDS = 10.0


class LocalServer:
    """llama.cpp's server with one model: a context manager, or `start` and `stop`.

    Args:
        model: a GGUF file.
        threads: of the CPU. On a busy machine fewer are faster: llama.cpp's wait for each other.
        context: the most tokens of a prompt and its reply together.
        start_seconds: how long it may take to load the model.
    """

    def __init__(
        self, model: Path, threads: int = 1, context: int = 2048, start_seconds: float = 180.0
    ):
        self.model, self.start_seconds = Path(model), start_seconds
        self.name = self.model.stem
        self._settings = {
            "model": str(self.model),
            "name": self.name,
            "threads": threads,
            "context": context,
        }
        self._process: subprocess.Popen | None = None
        self.base_url = ""

    def __enter__(self) -> "LocalServer":
        return self.start()

    def __exit__(self, *_) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> "LocalServer":
        """Start the process, and wait until it answers.

        Raises:
            ServerError: it ends, or does not answer in time; the message has its last lines.
        """
        self.stop()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "itekit.llm.child", json.dumps(self._settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C is for us, and we stop it
            cwd=Path(__file__).resolve().parents[2],
        )
        watch = threading.Timer(self.start_seconds, self._process.kill)
        watch.start()
        address = ""
        try:
            address = self._process.stdout.readline().decode().strip()
            if not address:
                self._process.wait()
                raise ServerError(
                    f"the server of {self.model.name} did not start (it has "
                    f"{self.start_seconds:g} seconds); it said: {self._last_lines()}"
                )
        finally:
            watch.cancel()
            if not address:
                self.stop()
        self.base_url = f"{address}/v1"
        return self

    def stop(self) -> None:
        """End the process; nothing if it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        process.stdin.close()  # it ends by itself then, unless it hangs
        for end in (process.terminate, process.kill):
            try:
                process.wait(STOP_SECONDS)
                break
            except subprocess.TimeoutExpired:
                end()
        process.wait()
        process.stdout.close()
        self._log.close()

    def _last_lines(self, count: int = 3) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return " | ".join(lines[-count:]) or "nothing"
