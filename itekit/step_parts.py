"""Where a training step goes on a CPU: seconds by kind of operation, forward and backward.

torch.profiler records every operation with the time that it took itself. Each counts for the kind
of the nearest operation around it that the table below names, itself included.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

from itekit.dropout import Dropout

_DROPOUT = "dropout and residual sums"
_LINEAR = "linear layers and projection"
_PRODUCTS = "attention: products and softmax"
_HEADS = "attention: heads, RoPE, unpacking"
_NORM = "layer norm"
_RELU = "ReLU"
_OPTIMIZER = "AdamW and clipping"
REST = "the rest"

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "dropout": _DROPOUT,
        "aten::addcmul": _DROPOUT,
        "AddcmulBackward0": _DROPOUT,
        "aten::linear": _LINEAR,
        "AddmmBackward0": _LINEAR,
        "aten::matmul": _PRODUCTS,
        "aten::softmax": _PRODUCTS,
        "BmmBackward0": _PRODUCTS,
        "SoftmaxBackward0": _PRODUCTS,
        "_SplitHeads": _HEADS,
        "_SplitHeadsBackward": _HEADS,
        "aten::index_select": _HEADS,
        "IndexSelectBackward0": _HEADS,
        "aten::layer_norm": _NORM,
        "NativeLayerNormBackward0": _NORM,
        "aten::relu_": _RELU,
        "ReluBackward0": _RELU,
        "aten::flatten": _HEADS,
        "optimizer": _OPTIMIZER,
    }
)


def kind_of(event) -> str:
    """The kind of a profiler's event."""
    while event is not None:
        name = event.name.removeprefix("autograd::engine::evaluate_function: ")
        name = "optimizer" if name.startswith("Optimizer.") or "_foreach_" in name else name
        if name in KINDS:
            return KINDS[name]
        event = event.cpu_parent
    return REST


def step_parts(run: Callable[[], object], steps: int = 1) -> dict[str, float]:
    """Seconds of `steps` calls of `run` by kind of operation, largest first.

    The profiler itself costs some time, most of it for many short operations: read the shares, and
    take the length of a step from a clock.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # no messages of the profiler's own
    keep = Dropout.keep
    Dropout.keep = torch.profiler.record_function("dropout")(keep)
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            for _ in range(steps):
                run()
    finally:
        Dropout.keep = keep
    parts: Counter = Counter()
    for event in profile.events():
        parts[kind_of(event)] += event.self_cpu_time_total / 1e6
    return dict(parts.most_common())
