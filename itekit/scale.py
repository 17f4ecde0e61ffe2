"""The three named sizes of every experiment, and the one switch that chooses among them.

`smoke` takes seconds (tests run it), `lab` takes minutes on two CPU cores (a reader runs it),
`paper` is the paper's own size (for a GPU or a patient machine).
"""

import os

SCALES = ("smoke", "lab", "paper")
VARIABLE = "ITEKIT_SCALE"
DEFAULT = "lab"


def resolve_scale(scale: str | None = None) -> str:
    """Return the size to use: `scale` itself, else the variable ITEKIT_SCALE, else "lab".

    Raises ValueError, naming where the value came from, for anything that is not one of SCALES.
    """
    source = "scale"
    if scale is None:
        source = f"the environment variable {VARIABLE}"
        scale = os.environ.get(VARIABLE) or DEFAULT
    if not isinstance(scale, str) or scale not in SCALES:
        names = ", ".join(f'"{name}"' for name in SCALES)
        raise ValueError(f"{source} is {scale!r}; expected one of {names}")
    return scale
