"""Results that one notebook measures and shows: 13, 14, and the appendix to 07.

Each is data/results/NAME-SCALE.json, written by its notebook when a parameter asks for it.
"""

from itekit.files import RESULTS, provenance, read_json, require, write_json

PACKAGES = ("itekit", "torch", "numpy")


def command(notebook: str, scale: str, parameter: str = "measure") -> str:
    """The words behind `python -m itekit` that measure at a scale."""
    return f"run notebooks/{notebook}.ipynb -p scale {scale} -p {parameter} True"


def origin(words: str, seconds: float, device="cpu", packages=PACKAGES) -> dict:
    """Provenance of a result that a notebook has measured: its command is not the kernel's."""
    where = provenance(device, packages) | {"command": f"python -m itekit {words}"}
    return where | {"seconds": round(seconds, 1)}


def load_measured(name: str, scale: str, words: str) -> dict:
    """A kept result; MissingError says the command that makes it."""
    return read_json(require(RESULTS / f"{name}-{scale}.json", words), dict)


def save_measured(name: str, result: dict) -> None:
    """Write a result that says its scale, and print where."""
    path = RESULTS / f"{name}-{result['scale']}.json"
    write_json(path, result)
    print(f"result    {path}")
