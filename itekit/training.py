"""The training loop: logged, validated, checkpointed, and resumed exactly.

Everything random in step t (the batch, the random part of U, dropout) comes from generators seeded
by (seed, t). A resumed run therefore gives the same losses as an uninterrupted one, and a
checkpoint needs no generator state.
"""

import json
import os
import time
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from itekit.checkpoints import CheckpointError, load_modules, read_checkpoint
from itekit.data import CopyingStream
from itekit.dropout import Dropout
from itekit.experiments import CopyingExperiment
from itekit.files import write_text
from itekit.network import Network, seeded
from itekit.provenance import provenance
from itekit.schedule import adamw, learning_rate

CHECKPOINT, LOG, FINISHED = "checkpoint.safetensors", "log.jsonl", "model.safetensors"
VALIDATION_BATCHES = 4


class TrainingDivergedError(RuntimeError):
    """The loss is not a number; the message says the step, and which checkpoint is the last."""


class Trainer:
    """Trains one experiment in one directory.

    The directory holds checkpoint.safetensors (with the optimiser, while training), log.jsonl and,
    at the end, model.safetensors. Starting again in the same directory resumes.

    Args:
        experiment: what to train.
        directory: made if it does not exist.
        device: "cpu" or "cuda".

    Raises:
        CheckpointError: the directory holds a run of another experiment, or a damaged checkpoint.
    """

    def __init__(self, experiment: CopyingExperiment, directory: Path, device: str = "cpu"):
        self.experiment, self.directory = experiment, Path(directory)
        self.device = torch.device(device)
        self.network = Network.build(experiment).to(self.device)
        self.optimizer = adamw(list(self.network.modules.values()), 0.0)
        self.stream = CopyingStream(
            experiment.data, experiment.vocabulary, experiment.training.batch_size, experiment.seed
        )
        self.step, self.seconds = 0, 0.0
        self.directory.mkdir(parents=True, exist_ok=True)
        if (self.directory / CHECKPOINT).exists():
            self._resume()
        self._truncate_log()

    def run(self, until: int | None = None, progress: bool = True) -> Network:
        """Train to the end (or to step `until`), from wherever the directory stands.

        Returns:
            the network, in evaluation mode.

        Raises:
            TrainingDivergedError: the loss became NaN or infinite.
            OSError: a checkpoint cannot be written; the one before it is still whole.
        """
        config = self.experiment.training
        last = min(until or config.steps, config.steps)
        bar = tqdm(total=last, initial=self.step, disable=not progress, unit="step",
                   desc=self.experiment.name)  # fmt: skip
        total, tokens, started = torch.zeros((), device=self.device), 0, time.perf_counter()
        self.network.train()
        with bar, open(self.directory / LOG, "a", encoding="utf-8") as log:
            while self.step < last:
                loss, worked = self._train_step()
                total += loss
                tokens += worked
                bar.update()
                if self.step % config.log_every and self.step != last:
                    continue
                elapsed = time.perf_counter() - started
                record = self._record(total, tokens, elapsed)
                log.write(json.dumps(record) + "\n")
                log.flush()
                self.seconds += elapsed
                bar.set_postfix(loss=f"{record['loss']:.4f}")
                if self.step % config.checkpoint_every == 0 or self.step == last:
                    self._save()
                total, tokens, started = total.zero_(), 0, time.perf_counter()
        if self.step == config.steps:
            self._finish()
        return self.network.train(False)

    def _train_step(self) -> tuple[torch.Tensor, int]:
        config, step = self.experiment.training, self.step
        rate = learning_rate(step, config.steps, config.learning_rate, config.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = self.stream.batch(step).to(self.device)
        seed = self.experiment.seed
        dropout = Dropout(
            self.experiment.model.dropout, seeded(seed, 2, step, device=self.device)
        )
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

    def _record(self, total: torch.Tensor, tokens: int, seconds: float) -> dict:
        config = self.experiment.training
        steps = self.step % config.log_every or config.log_every
        loss = total.item() / steps
        if not torch.isfinite(total):
            raise TrainingDivergedError(
                f"{self.experiment.name}: the loss is {loss} in steps {self.step - steps + 1} to "
                f"{self.step}; the last good checkpoint is {self.directory / CHECKPOINT}"
            )
        record = {
            "step": self.step,
            "loss": loss,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "tokens_per_second": round(tokens / seconds),
        }
        if self.network.loss.scale is not None:
            record["scale"] = self.network.loss.scale.item()
        if self.step % config.validate_every == 0 or self.step == config.steps:
            record |= self.validate()
        return record

    @torch.no_grad()
    def validate(self) -> dict:
        """Loss (with the last scale) and token accuracy on strings that training never draws."""
        network, seed = self.network.train(False), self.experiment.seed
        held_out = CopyingStream(
            self.experiment.data, self.experiment.vocabulary, 256, seed + 2**32
        )
        U = network.matrix(self.experiment.vocabulary, seeded(seed, 3))
        loss = correct = count = 0
        for i in range(VALIDATION_BATCHES):
            batch = held_out.batch(i).to(self.device)
            logits, targets = network.logits(U, batch)
            loss += network.loss(logits, targets).item() / VALIDATION_BATCHES
            real = targets != 0
            correct += (logits.argmax(-1) == targets)[real].sum().item()
            count += real.sum().item()
        network.train()
        return {"validation_loss": loss, "validation_accuracy": correct / count}

    def _save(self) -> None:
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
        if metadata["experiment"] != json.loads(json.dumps(self.experiment.to_json())):
            raise CheckpointError(
                f"{path}: a run of {metadata['experiment']['name']} with other settings is here; "
                "choose another directory, or remove it"
            )
        load_modules(path, self.network.modules, tensors)
        for i, p in enumerate(self.optimizer_parameters):
            names = [k for k in tensors if k.startswith(f"optimizer.{i}.")]
            self.optimizer.state[p] = {
                k.rsplit(".", 1)[1]: tensors[k].to("cpu" if k.endswith("step") else p.device)
                for k in names
            }
        self.step, self.seconds = metadata["step"], metadata["seconds"]

    def _truncate_log(self) -> None:
        path = self.directory / LOG
        if path.exists():
            write_text(path, "".join(line for line in read_lines(path, self.step)))

    def _finish(self) -> None:
        threads = torch.get_num_threads()
        self.network.trained = {
            "steps": self.step, "seconds": round(self.seconds, 1), "threads": threads,
            **provenance(self.device),
        }  # fmt: skip
        self.network.save(self.directory / FINISHED)


def read_lines(path: Path, last_step: int):
    """The lines of a log up to a step; a half-written last line is left out."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                return
            if record["step"] <= last_step:
                yield line


def read_log(directory: Path) -> list[dict]:
    """The records of a run's log.jsonl."""
    path = Path(directory) / LOG
    return [json.loads(line) for line in read_lines(path, 2**62)] if os.path.exists(path) else []
