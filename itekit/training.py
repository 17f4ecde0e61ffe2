"""Training: logged, validated, checkpointed, and resumed exactly.

Everything random in step t comes from generators seeded by (seed, purpose, t); purpose 0 are the
weights, and `data` has its own for the batch. So a resumed run gives the same losses as one that
was never interrupted, and a checkpoint needs no generator state. Optimiser: AdamW (Loshchilov and
Hutter 2019), betas 0.9 and 0.95, weight decay 0.1 except on biases and layer norms.

On a CPU the step runs in float32, or in bfloat16 where asked (`torch.autocast`), and a large batch
in parts that fit the cache. On a GPU it runs in bfloat16, compiled (`torch.compile`) where that
works, in batches padded to few lengths, and never waits for the GPU between two records of the log.
"""

import json
import math
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from itekit.data import Batch
from itekit.decoding import Solver
from itekit.embeddings import send
from itekit.experiments import Experiment
from itekit.files import LOG, locked, naming_full_disk, provenance, read_log, write_text
from itekit.network import Network, parameters
from itekit.random_vectors import seeded
from itekit.tasks.streams import Stream
from itekit.tasks.task import VALIDATION_SEED
from itekit.vocabulary import Vocabulary

CHECKPOINT, FINISHED = "checkpoint.safetensors", "model.safetensors"
PRECISIONS = ("float32", "bfloat16")
IN_CACHE = 2**21  # numbers of a feed-forward layer that are worked on at a time on a CPU
LENGTHS = 8  # lengths are rounded up to a multiple where the model is compiled
CHECKPOINT_SECONDS = 600  # the longest that a run goes on without a checkpoint
NO_STEPS = {"loss": 0.0, "tokens": 0, "seconds": 0.0}  # totals since the last log record
RANDOM_PARTS, DROPOUT, VALIDATION, POSITIONS = range(1, 5)  # purposes of random numbers


class TrainingDivergedError(RuntimeError):
    """The loss or a weight is not finite; the message says where, and the last good checkpoint."""


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Learning rate of step 0 .. steps - 1: linear to `peak` over `warmup`, then cosine to 0."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / (steps - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * progress))


def adamw(module: nn.Module) -> torch.optim.AdamW:
    """AdamW over the parameters of `module`; no decay for tensors of one dimension."""
    trained = list(module.parameters())
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), eps=1e-8, fused=True)


def batch_loss(network: Network, batch: Batch, generator: torch.Generator) -> Tensor:
    """Loss of a batch, a scalar, with U drawn from `generator` over the training vocabulary.

    A large batch goes through the model in parts, all of which stay until the loss of the whole is
    known: on a CPU what a layer computes of one part then fits its cache.
    """
    experiment = network.experiment
    on_cpu = network.device.type == "cpu"
    per_part = max(1, IN_CACHE // experiment.model.d_ff) if on_cpu else batch.tokens
    parts = batch.parts(per_part)
    vocabulary = experiment.task.vocabulary
    if experiment.embedding.per_sample:
        U = network.embedding.matrix(vocabulary, generator, count=len(batch.source))  # [B, V, D]
        matrices = U.split([len(part.source) for part in parts])
    else:
        U = network.embedding.matrix(vocabulary, generator)  # [V, D]
        matrices = [U] * len(parts)
    logits = [network.logits(*pair).flatten(0, 1) for pair in zip(matrices, parts, strict=True)]
    targets = torch.cat([part.target.flatten() for part in parts])
    return network.loss(torch.cat(logits), send(targets, U.device))


class Trainer:
    """Trains one experiment in one directory.

    The directory holds checkpoint.safetensors (with the optimiser), log.jsonl (see `read_log`)
    and, at the end, model.safetensors. Starting again in the same directory resumes.

    Args:
        experiment: what to train.
        directory: made if it does not exist.
        device: "cpu" or "cuda".
        precision: one of PRECISIONS; compiled: whether to compile the model. None takes the
            default of the device; a resumed run may have other values.
        start: the network with whose weights the training begins (`Network.load_weights_from`).
        optimizer: makes it from the network; its learning rate is set at each step.

    Raises:
        network.CheckpointError: a run of another experiment is there, or a damaged checkpoint.
        ValueError: an unknown precision; the experiment begins with other weights, not given.

    Attributes:
        step, seconds: of the run so far; interval: since the last record of its log.
        executed: device, precision and whether compiled, from which step on.
    """

    def __init__(
        self,
        experiment: Experiment,
        directory: Path,
        device: str | torch.device = "cpu",
        precision: str | None = None,
        compiled: bool | None = None,
        start: Network | None = None,
        optimizer: Callable[[nn.Module], torch.optim.Optimizer] | None = None,
    ):
        self.experiment, self.directory = experiment, Path(directory)
        self.device = torch.device(device)
        on_gpu = self.device.type == "cuda"
        self.precision = precision or ("bfloat16" if on_gpu else "float32")
        if self.precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise ValueError(f"unknown precision {precision!r}: expected one of {known}")
        self.network = Network(experiment).to(self.device)
        self.optimizer = (optimizer or adamw)(self.network)
        checkpoint = self.directory / CHECKPOINT
        if start:
            self.network.load_weights_from(start)
        elif experiment.start and not checkpoint.exists():
            name = f"{experiment.name} begins with the weights of {experiment.start}"
            raise ValueError(f"{name}: give its network as `start`, or use results.trainer")
        self.stream = experiment.task.stream(experiment.training.batch_size, experiment.seed)
        self.step, self.seconds = 0, 0.0
        self.executed, self.interval = [], dict(NO_STEPS)
        if checkpoint.exists():
            saved = self.network.resume(checkpoint, self.optimizer)
            self.step, self.seconds = saved["step"], saved["seconds"]
            self.executed = saved.get("executed", [])
            self.interval = saved.get("interval", self.interval)
        self.compiled = on_gpu if compiled is None else compiled
        if self.compiled:
            self.network.model.forward = torch.compile(self.network.model.forward)
        self._note_execution()

    def _note_execution(self) -> None:
        """Remember how the steps from here on are computed."""
        how = {"device": self.device.type, "precision": self.precision, "compiled": self.compiled}
        if not self.executed or not how.items() <= self.executed[-1].items():
            self.executed = [*self.executed, {"from_step": self.step, **how}]

    def train_step(self) -> tuple[Tensor, int]:
        """One step: a batch, its loss, the gradients, the update; waits for nothing on a GPU.

        (Sources longer than the tree-position limit force a synchronisation.) Where the model
        cannot be compiled, the training goes on without and says so.

        Returns the loss, a scalar on the device, and the number of positions worked on.
        """
        config = self.experiment.training
        step = self.step
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(step, config.steps, config.learning_rate, config.warmup)
        batch = Batch.of(self.stream.batch(step))
        if config.positions:
            positions = seeded(self.experiment.seed, POSITIONS, step)
            batch = batch.at_random_positions(config.positions, positions)
        if self.compiled:
            batch = batch.padded(LENGTHS)
        try:
            loss = self._backward(batch)
        except RuntimeError as error:
            if not self.compiled:
                raise
            print(f"the model cannot be compiled and trains slower: {str(error).splitlines()[0]}")
            del self.network.model.forward
            self.compiled = False
            self._note_execution()
            loss = self._backward(batch)
        clip_grad_norm_(parameters(self.optimizer), config.gradient_norm)
        self.optimizer.step()
        self.step += 1
        return loss, batch.tokens

    def _backward(self, batch: Batch) -> Tensor:
        """The loss of a batch, a scalar, and its gradients in the parameters."""
        seed = self.experiment.seed
        step = self.step
        torch.manual_seed(seeded(seed, DROPOUT, step).initial_seed())
        half = self.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            loss = batch_loss(self.network, batch, seeded(seed, RANDOM_PARTS, step))
        self.optimizer.zero_grad()
        loss.backward()
        return loss.detach()

    def run(
        self,
        until: int | None = None,
        progress: bool = True,
        on_record: Callable[[dict], None] | None = None,
    ) -> Network:
        """Train to the end (or to step `until`), resuming from the checkpoint in the directory.

        Every `log_every` steps the log gets a record, which `on_record` is given too. A checkpoint
        is written every `checkpoint_every` steps, ten minutes after the last one, and when the
        process is told to terminate (SIGTERM), which then ends as Ctrl-C does. `progress` shows a
        bar, or a line for each validation where there is no terminal. Returns the network in
        evaluation mode.

        Raises:
            ValueError: `until` is not between this step and the end.
            BlockingIOError: another process trains in this directory.
            TrainingDivergedError: the loss or a weight became NaN or infinite.
            OSError: a checkpoint cannot be written; the one before it is still whole.
            KeyboardInterrupt: the process was told to terminate.
        """
        config, name = self.experiment.training, self.experiment.name
        log = self.directory / LOG
        last = config.steps if until is None else until
        if not self.step <= last <= config.steps:
            raise ValueError(f"until must be {self.step} to {config.steps}, found {until}")
        hidden = None if progress else True  # None: where there is no terminal or notebook
        bar = tqdm(total=last, initial=self.step, disable=hidden, unit="step", desc=name)
        lines = progress and bar.disable
        terminated = threading.Event()
        with locked(self.directory), bar, ExitStack() as stack:
            if threading.current_thread() is threading.main_thread():  # others get no signals
                before = signal.signal(signal.SIGTERM, lambda *_: terminated.set())
                stack.callback(signal.signal, signal.SIGTERM, before)
            records = [r for r in read_log(self.directory) if r["step"] <= self.step]
            write_text(log, "".join(json.dumps(record) + "\n" for record in records))
            self.network.train()
            self.clock = time.monotonic()
            saved = self.clock
            while self.step < last:
                loss, tokens = self.train_step()
                self.interval["loss"] += loss
                self.interval["tokens"] += tokens
                bar.update()
                if self.step % config.log_every == 0 or self.step == config.steps:
                    record = self._record()
                    with naming_full_disk(log), open(log, "a") as file:
                        file.write(json.dumps(record) + "\n")
                    bar.set_postfix(loss=f"{record['loss']:.4f}")
                    if lines and "validation_loss" in record:
                        about = f"validation loss {record['validation_loss']:.4f}"
                        minutes = f"{self.seconds / 60:.0f} minutes"
                        print(f"{name}: step {self.step} of {last}, {about}, {minutes}", flush=True)
                    if on_record:
                        on_record(record)
                due = self.step % config.checkpoint_every == 0 or self.step == last
                stop = terminated.is_set()
                if due or stop or time.monotonic() - saved > CHECKPOINT_SECONDS:
                    self._save()
                    saved = time.monotonic()
                if stop:
                    raise KeyboardInterrupt
            if self.step == config.steps:
                self.network.trained = {
                    "steps": self.step,
                    "seconds": round(self.seconds, 1),
                    "threads": torch.get_num_threads(),
                    "executed": self.executed,
                    **provenance(self.device),
                }
                self.network.save(self.directory / FINISHED)
        return self.network.train(False)

    def _record(self) -> dict:
        """The record of the log for the steps since the one before, which begins anew."""
        config = self.experiment.training
        interval = self.interval
        first = (self.step - 1) // config.log_every * config.log_every
        mean = float(interval["loss"]) / (self.step - first)  # waits for a GPU
        self._clock()
        if not math.isfinite(mean):
            self._diverged(f"the loss is {mean} in steps {first + 1} to {self.step}")
        record = {
            "step": self.step,
            "loss": mean,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "tokens_per_second": round(interval["tokens"] / interval["seconds"]),
        }
        self.interval = dict(NO_STEPS)
        scale = getattr(self.network.loss, "scale", None)
        if scale is not None:
            record["scale"] = float(scale)
        if self.step % config.validate_every == 0 or self.step == config.steps:
            record |= validate(self.network, self.stream)
        return record

    def _clock(self) -> None:
        """Add the time since the last call to the run's and to the interval's."""
        seconds = time.monotonic() - self.clock
        self.clock += seconds
        self.seconds += seconds
        self.interval["seconds"] += seconds

    def _diverged(self, what: str) -> None:
        path = self.directory / CHECKPOINT
        last = f"the last good checkpoint is {path}" if path.exists() else "there is no checkpoint"
        raise TrainingDivergedError(f"{self.experiment.name}: {what}; {last}")

    def _save(self) -> None:
        if not all(weight.isfinite().all() for weight in parameters(self.optimizer)):
            self._diverged(f"a weight is infinite or not a number after step {self.step}")
        self._clock()
        extra = {"step": self.step, "seconds": self.seconds, "executed": self.executed}
        extra["interval"] = self.interval | {"loss": float(self.interval["loss"])}
        self.network.save(self.directory / CHECKPOINT, extra, self.optimizer)


@torch.no_grad()
def validate(network: Network, stream: Stream) -> dict:
    """Loss (with the last scale) and token accuracy on problems that are not for training.

    Further entries are the task's. Computed as an evaluation computes, in float32. Leaves the
    network in training mode.
    """
    network.eval()
    experiment = network.experiment
    U = network.matrix(experiment.task.vocabulary, seeded(experiment.seed, VALIDATION))
    losses, correct, count = [], 0, 0
    for batch in map(Batch.of, stream.held_out(4, 256)):
        targets = batch.target.to(U.device)
        logits = network.logits(U, batch)
        losses.append(network.loss(logits, targets).item())
        real = targets != Vocabulary.pad_id
        correct += (logits.argmax(-1) == targets)[real].sum().item()
        count += real.sum().item()
    record = {"validation_loss": sum(losses) / len(losses), "validation_accuracy": correct / count}
    record |= experiment.task.validate(Solver(network, seed=VALIDATION_SEED))
    network.train()
    return record
