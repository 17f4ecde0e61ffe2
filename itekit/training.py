"""The training loop: logged, validated, checkpointed, and resumed exactly.

Everything random in step t (the batch, the random part of U, dropout) comes from generators seeded
by (seed, t). A resumed run therefore gives the same losses as an uninterrupted one, and a
checkpoint needs no generator state.
"""

import math
import time
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from itekit.checkpoints import CheckpointError, load_modules, read_checkpoint
from itekit.dropout import Dropout
from itekit.experiments import Experiment
from itekit.network import Network, check_settings, read_settings, seeded
from itekit.provenance import provenance
from itekit.runlog import append_record, truncate_log
from itekit.schedule import adamw, learning_rate

CHECKPOINT, FINISHED = "checkpoint.safetensors", "model.safetensors"
VALIDATION_BATCHES, VALIDATION_SIZE = 4, 256


class TrainingDivergedError(RuntimeError):
    """The loss or a weight is not finite; the message says where, and the last good checkpoint."""


class Trainer:
    """Trains one experiment in one directory.

    The directory holds checkpoint.safetensors (with the optimiser), log.jsonl (see `runlog`) and,
    at the end, model.safetensors. Starting again in the same directory resumes.

    Args:
        experiment: what to train.
        directory: made if it does not exist.
        device: "cpu" or "cuda".

    Raises:
        CheckpointError: the directory holds a run of another experiment, or a damaged checkpoint.
    """

    def __init__(self, experiment: Experiment, directory: Path, device: str = "cpu"):
        self.experiment, self.directory = experiment, Path(directory)
        self.device = torch.device(device)
        self.network = Network.build(experiment).to(self.device)
        self.optimizer = adamw(list(self.network.modules.values()), 0.0)
        self.stream = experiment.stream().to(self.device)
        self.step, self.seconds = 0, 0.0
        self.directory.mkdir(parents=True, exist_ok=True)
        if (self.directory / CHECKPOINT).exists():
            self._resume()
        truncate_log(self.directory, self.step)

    def run(self, until: int | None = None, progress: bool = True) -> Network:
        """Train to the end (or to step `until`), from wherever the directory stands.

        Returns:
            the network, in evaluation mode.

        Raises:
            ValueError: `until` is neither the end nor a multiple of `log_every`.
            TrainingDivergedError: the loss or a weight became NaN or infinite.
            OSError: a checkpoint cannot be written; the one before it is still whole.
        """
        config = self.experiment.training
        last = config.steps if until is None else min(until, config.steps)
        if last % config.log_every and last != config.steps:
            raise ValueError(f"until must be a multiple of {config.log_every}, found {until}")
        bar = tqdm(
            total=last,
            initial=self.step,
            disable=not progress,
            unit="step",
            desc=self.experiment.name,
        )
        self.network.train()
        with bar:
            while self.step < last:
                record = self._interval(last, bar)
                append_record(self.directory, record)
                bar.set_postfix(loss=f"{record['loss']:.4f}")
                if self.step % config.checkpoint_every == 0 or self.step == last:
                    self._save()
        if self.step == config.steps:
            self._finish()
        return self.network.train(False)

    def _interval(self, last: int, bar: tqdm) -> dict:
        """Train to the next record of the log, and make the record."""
        config, first = self.experiment.training, self.step
        stop = min(last, (first // config.log_every + 1) * config.log_every)
        total, tokens, started = torch.zeros((), device=self.device), 0, time.perf_counter()
        while self.step < stop:
            loss, worked = self._train_step()
            total += loss
            tokens += worked
            bar.update()
        mean = total.item() / (stop - first)  # waits for the device
        seconds = time.perf_counter() - started
        self.seconds += seconds
        if not math.isfinite(mean):
            self._diverged(f"the loss is {mean} in steps {first + 1} to {stop}")
        record = {
            "step": self.step,
            "loss": mean,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "tokens_per_second": round(tokens / seconds),
        }
        if self.network.loss.scale is not None:
            record["scale"] = self.network.loss.scale.item()
        if self.step % config.validate_every == 0 or self.step == config.steps:
            record |= self.validate()
        return record

    def _train_step(self) -> tuple[torch.Tensor, int]:
        config, step = self.experiment.training, self.step
        rate = learning_rate(step, config.steps, config.learning_rate, config.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = self.stream.batch(step).to(self.device)
        seed = self.experiment.seed
        dropout = Dropout(self.experiment.model.dropout, seeded(seed, 2, step, device=self.device))
        loss = self.network.batch_loss(batch, seeded(seed, 1, step), dropout)
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.optimizer_parameters, config.gradient_norm)
        self.optimizer.step()
        self.step += 1
        return loss.detach(), batch.tokens

    @property
    def optimizer_parameters(self) -> list[torch.nn.Parameter]:
        """All trained parameters, in the order of the optimiser."""
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _diverged(self, what: str) -> None:
        path = self.directory / CHECKPOINT
        last = f"the last good checkpoint is {path}" if path.exists() else "there is no checkpoint"
        raise TrainingDivergedError(f"{self.experiment.name}: {what}; {last}")

    @torch.no_grad()
    def validate(self) -> dict:
        """Loss (with the last scale) and token accuracy on problems that training never sees."""
        network, seed = self.network.train(False), self.experiment.seed
        U = network.matrix(self.experiment.vocabulary, seeded(seed, 3))
        loss = correct = count = 0
        for batch in self.stream.held_out(VALIDATION_BATCHES, VALIDATION_SIZE):
            batch = batch.to(self.device)
            logits, targets = network.logits(U, batch)
            loss += network.loss(logits, targets).item() / VALIDATION_BATCHES
            real = targets != 0
            correct += (logits.argmax(-1) == targets)[real].sum().item()
            count += real.sum().item()
        network.train()
        return {"validation_loss": loss, "validation_accuracy": correct / count}

    def _save(self) -> None:
        if not all(p.isfinite().all() for p in self.optimizer_parameters):
            self._diverged(f"a weight is infinite or not a number after step {self.step}")
        tensors = {
            f"optimizer.{i}.{key}": value
            for i, p in enumerate(self.optimizer_parameters)
            for key, value in self.optimizer.state[p].items()
        }
        extra = {"step": self.step, "seconds": self.seconds}
        self.network.save(self.directory / CHECKPOINT, extra, tensors)

    def _resume(self) -> None:
        path = self.directory / CHECKPOINT
        tensors, metadata = read_checkpoint(path)
        check_settings(path, read_settings(path, metadata), self.experiment)
        if "step" not in metadata:
            raise CheckpointError(f"{path}: a network without the state of its training")
        load_modules(path, self.network.modules, tensors)
        for i, p in enumerate(self.optimizer_parameters):
            names = [k for k in tensors if k.startswith(f"optimizer.{i}.")]
            self.optimizer.state[p] = {k.rsplit(".", 1)[1]: tensors[k].to(p.device) for k in names}
        self.step, self.seconds = metadata["step"], metadata["seconds"]

    def _finish(self) -> None:
        threads = torch.get_num_threads()
        self.network.trained = {
            "steps": self.step,
            "seconds": round(self.seconds, 1),
            "threads": threads,
            **provenance(self.device),
        }
        self.network.save(self.directory / FINISHED)
