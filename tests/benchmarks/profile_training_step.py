"""Where the time of a training step goes, and how much of the machine it uses.

    python tests/benchmarks/profile_training_step.py ltl/proposed --scale paper
    python tests/benchmarks/profile_training_step.py ltl/proposed --scale smoke --device cpu

The step is that of `training.Trainer`, on the experiment's own problems, or on random tokens of
fixed lengths (`--lengths 40 32`) where its set is not at hand. Printed are

    step        mean seconds (on a CPU with one thread: of processor time), formulas and tokens a
                second (padding is no token), hours for all steps of the experiment, and the peak
                of memory
    parts       by torch.profiler: a GPU's kernels, with the share of the time when none ran, or a
                CPU's operations
    work        floating-point operations by torch.utils.flop_counter, and the bytes that the
                operations of an uncompiled step read and write (a compiled step moves fewer); on
                known GPUs as shares of the vendor's figures: dense bfloat16, and memory bandwidth
"""

import argparse
import dataclasses
import tempfile
import time
from collections import Counter

import torch
from _bench import clock, peak
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from itekit.data import Batch
from itekit.experiments import experiment
from itekit.training import Trainer

# name of the card -> bytes and bfloat16 operations a second, by the vendors' data sheets
PEAKS = {"H200": (4.8e12, 989e12), "H100": (3.35e12, 989e12), "A100": (2.0e12, 312e12)}
# part -> what the names of its kernels or operations hold; the first that fits counts
PARTS = {
    "attention": ("fmha", "flash", "attention", "bmm", "softmax"),
    "products": ("gemm", "nvjet", "cutlass", "xmma", "aten::mm", "addmm", "linear"),
    "optimizer": ("Adam", "adam", "multi_tensor", "_foreach", "optimizer"),
    "fused by the compiler": ("triton",),
    "sorting": ("sort", "Sort", "Radix", "median"),
    "copies": ("Memcpy", "Memset", "aten::copy_", "index_select", "index_copy", "aten::cat"),
    "random numbers": ("random", "dropout", "philox"),
    "layer norm": ("layer_norm", "LayerNorm"),
}


class RandomTokens:
    """Batches of random tokens of two lengths, in the place of an experiment's problems."""

    def __init__(self, made, lengths: list[int]):
        generator = torch.Generator().manual_seed(0)
        sides = [
            torch.randint(3, len(made.vocabulary), (made.training.batch_size, length - 1),
                          generator=generator)
            for length in lengths
        ]  # fmt: skip
        self.tokens = Batch(*(torch.nn.functional.pad(side, (0, 1), value=1) for side in sides))

    def to(self, device: torch.device) -> "RandomTokens":
        self.tokens = self.tokens.to(device)
        return self

    def batch(self, step: int) -> Batch:
        return self.tokens


class BytesMoved(TorchDispatchMode):
    """Counts the bytes of all inputs and outputs of operations that are no views."""

    total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not getattr(func, "is_view", False):
            tensors = (x for x in tree_leaves((args, kwargs, out)) if isinstance(x, torch.Tensor))
            self.total += sum(x.numel() * x.element_size() for x in tensors)
        return out


def part_of(name: str) -> str:
    """The part that a kernel or an operation counts for."""
    return next((p for p, marks in PARTS.items() if any(m in name for m in marks)), "the rest")


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(trainer: Trainer, steps: int) -> float:
    """Mean seconds of a step over `steps` in a row."""
    now = time.perf_counter if trainer.device.type == "cuda" else clock()
    synchronize(trainer.device)
    start = now()
    for _ in range(steps):
        trainer._train_step()
    synchronize(trainer.device)
    return (now() - start) / steps


def print_step(trainer: Trainer, steps: int) -> float:
    first, training = trainer.step, trainer.experiment.training
    mean = seconds(trainer, steps)
    batches = [trainer.stream.batch(first + i) for i in range(steps)]
    tokens = sum(int((x != 0).sum()) for b in batches for x in (b.source, b.target)) / steps
    shapes = {trainer.execution.batch(b).source.shape[1] for b in batches}
    on_gpu = trainer.device.type == "cuda"
    memory = torch.cuda.max_memory_allocated(trainer.device) / 2**20 if on_gpu else peak()
    print(f"\nstep      {mean * 1e3:.2f} ms, mean of {steps}; source lengths {sorted(shapes)}")
    print(f"          {training.batch_size / mean:,.0f} formulas/s, {tokens / mean:,.0f} tokens/s")
    print(f"          {training.steps * mean / 3600:.2f} hours for {training.steps:,} steps")
    print(f"          {memory:,.0f} MiB at most")
    return mean


def print_parts(trainer: Trainer, steps: int, step_seconds: float) -> None:
    on_gpu = trainer.device.type == "cuda"
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu
    with profile(activities=activities) as found:
        seconds(trainer, steps)
    shares: Counter = Counter()
    for event in found.key_averages():
        if on_gpu and event.device_type == DeviceType.CUDA:
            shares[part_of(event.key)] += event.self_device_time_total
        elif not on_gpu:
            shares[part_of(event.key)] += event.self_cpu_time_total
    busy = shares.total() * 1e-6 / steps
    print(f"\nparts     {busy * 1e3:.2f} ms a step", end="")
    print(f", the GPU busy for {busy / step_seconds:.0%} of the time" if on_gpu else "")
    for part, microseconds in shares.most_common():
        print(f"          {part:24}{microseconds / shares.total():6.1%}")


def print_work(trainer: Trainer, step_seconds: float, options: argparse.Namespace) -> None:
    with FlopCounterMode(display=False) as flops:
        trainer._train_step()
    with BytesMoved() as moved:
        trainer._train_step()
    work, moved = flops.get_total_flops(), moved.total
    print(f"\nwork      {work / 1e9:,.1f} GFLOP and {moved / 1e9:,.2f} GB a step, uncompiled")
    rates = work / step_seconds, moved / step_seconds
    print(f"          {rates[0] / 1e12:.3f} TFLOP/s, {rates[1] / 1e9:,.1f} GB/s")
    card = torch.cuda.get_device_name() if trainer.device.type == "cuda" else ""
    known = next((peaks for name, peaks in PEAKS.items() if name in card), (None, None))
    bandwidth, compute = options.bandwidth or known[0], options.compute or known[1]
    if bandwidth and compute:
        print(f"          {rates[0] / compute:.1%} of {compute / 1e12:,.0f} TFLOP/s, "
              f"{rates[1] / bandwidth:.1%} of {bandwidth / 1e12:.2f} TB/s")  # fmt: skip


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="an experiment, such as ltl/proposed")
    parser.add_argument("--scale", default="smoke")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", choices=("float32", "bfloat16"))
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction)
    parser.add_argument("--lengths", type=int, nargs=2, help="random tokens: source and target")
    parser.add_argument("--batch", type=int, help="problems in a batch; default: as trained")
    parser.add_argument("--steps", type=int, default=20, help="steps to time; default: 20")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before; default: 5")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--bandwidth", type=float, help="of the memory, bytes a second")
    parser.add_argument("--compute", type=float, help="operations a second")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    torch.set_num_threads(options.threads)
    made = experiment(options.name, options.scale)
    if options.batch:
        training = dataclasses.replace(made.training, batch_size=options.batch)
        made = dataclasses.replace(made, training=training)
    if options.lengths:
        tokens = RandomTokens(made, options.lengths)
        object.__setattr__(made, "stream", lambda: tokens)
    with tempfile.TemporaryDirectory() as folder:
        how = options.precision, options.compile
        trainer = Trainer(made, folder, options.device, *how)
        execution = trainer.execution
        print(f"{made.slug}, batches of {made.training.batch_size}; torch {torch.__version__}, "
              f"{execution.device.type}, {execution.precision}, "
              f"{'compiled' if execution.compiled else 'not compiled'}")  # fmt: skip
        print(f"warm-up   {seconds(trainer, options.warm_up) * options.warm_up:.1f} s")
        mean = print_step(trainer, options.steps)
        print_parts(trainer, options.steps, mean)
        plain = Trainer(made, folder, options.device, execution.precision, False)
        print_work(plain, mean, options)


if __name__ == "__main__":
    main()
