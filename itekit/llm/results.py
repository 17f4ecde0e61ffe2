"""Results of language models: data/results/llm-MODEL-TASK-SCALE.json, with where they come from."""

import json
import time
from dataclasses import asdict
from pathlib import Path

from itekit import machine
from itekit.llm.evaluation import LanguageModelEvaluation, evaluation_name
from itekit.llm.offline import PACKAGES
from itekit.provenance import provenance
from itekit.results import RESULTS, MissingResultError
from itekit.scale import resolve_scale
from itekit.tasks.vocabularies import PREFIXES


def measure(evaluation: LanguageModelEvaluation, server: str) -> dict:
    """The result of an evaluation as JSON, with its provenance.

    Args:
        server: what answered, in words.
    """
    started, model = time.perf_counter(), evaluation.model
    result = evaluation.run()
    found = provenance()
    found["versions"] |= machine.versions(PACKAGES)
    return {
        "name": evaluation.name,
        "scale": evaluation.made.scale,
        "task": evaluation.task,
        "model": {"name": model.name, "server": server} | model.about(),
        "sampling": asdict(model.sampling),
        "held_to_form": evaluation.held_to_form,
        "effort": asdict(evaluation.effort),
        "result": result,
        "evaluated": found | {"seconds": round(time.perf_counter() - started, 1)},
    }


def result_path(name: str, scale: str, directory: Path | None = None) -> Path:
    """Where a result is kept."""
    return Path(directory or RESULTS) / f"{name}-{scale}.json"


def load_result(
    model: str, task: str, scale: str | None = None, held_to_form: bool = False
) -> dict:
    """A kept result.

    Raises:
        MissingResultError: there is none; the message says the command.
        ValueError: the file is damaged.
    """
    scale = resolve_scale(scale)
    path = result_path(evaluation_name(model, task, held_to_form), scale)
    if not path.exists():
        option = " --held-to-form" * held_to_form
        raise MissingResultError(
            f"no result {path.name} in {path.parent}; make it: "
            f"python -m itekit llm {PREFIXES[task]} --scale {scale}{option}"
        )
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: damaged JSON ({error})") from error
