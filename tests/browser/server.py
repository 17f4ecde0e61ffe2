"""A JupyterLab of its own for the tests: a server on copies of the notebooks, and a browser."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START = 120  # seconds to wait at most for a server or a page


def find_browser() -> str:
    """The path of Chromium or Chrome.

    Raises:
        RuntimeError: there is none.
    """
    found = os.environ.get("ITEKIT_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if not found:
        raise RuntimeError(
            "no browser found: install Chromium (Debian: apt-get install chromium), "
            "or name one in ITEKIT_BROWSER"
        )
    return found


@contextmanager
def jupyter_lab(folder: Path, log: Path) -> Iterator[str]:
    """A server on copies of the notebooks without outputs; gives the address of /lab/tree/."""
    for path in [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("notebooks/solutions/*.ipynb")]:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(json.dumps(notebook), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, token = free.getsockname()[1], secrets.token_hex(16)
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    options = {
        "ServerApp.port": port,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": token,
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", *given]
    with log.open("w") as output:
        server = subprocess.Popen(command, env=os.environ | own, stdout=output, stderr=output)
        try:
            _wait(lambda: _answers(port), START, f"JupyterLab does not start: see {log}")
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}?reset&token={token}"
        finally:
            server.terminate()
            server.wait(30)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _wait(done: Callable[[], bool], seconds: float, problem: str) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(problem)
        time.sleep(0.1)
