"""Many questions to a language model; each reply is kept at once, so that no question is put twice.

A run that was killed, or whose server went away, goes on where it stopped: only what is missing is
asked again.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from itekit.datasets.journal import Journal
from itekit.llm.client import LanguageModel, Reply, ServerError
from itekit.llm.questions import Question


def ask_all(
    model: LanguageModel,
    questions: Sequence[Question],
    folder: Path,
    *,
    parallel: int = 1,
    progress: str | None = None,
) -> list[Reply]:
    """The reply to each question, in order.

    Args:
        folder: where replies are kept, for this model and others.
        parallel: questions that are asked at a time.
        progress: words beside a progress bar; None: no bar.

    Raises:
        ServerError: a question got no reply; those that did are kept, and the message counts them.
        RuntimeError: another process is at work in the folder.
        ValueError: `parallel` is below 1.
    """
    if parallel < 1:
        raise ValueError(f"parallel must be 1 or more, found {parallel}")
    with Journal(folder, model.key()) as journal:
        known = kept(journal, questions)
        missing = [q for q in dict.fromkeys(questions) if q not in known]
        with ThreadPoolExecutor(parallel) as pool:
            waiting = {pool.submit(_ask_and_keep, model, q, journal): q for q in missing}
            bar = tqdm(total=len(missing), desc=progress, disable=progress is None)
            try:
                for done in as_completed(waiting):
                    known[waiting[done]] = done.result()
                    bar.update()
            except ServerError as error:
                count = len(kept(journal, questions))
                raise ServerError(
                    f"{error}. {count} of {len(set(questions))} replies are kept in {folder}: "
                    "the same call goes on from there"
                ) from error
            finally:
                bar.close()
                pool.shutdown(wait=True, cancel_futures=True)
        return [known[question] for question in questions]


def kept(journal: Journal, questions: Sequence[Question]) -> dict[Question, Reply]:
    """The questions that were answered before, with their replies."""
    found = {}
    for question in dict.fromkeys(questions):
        entry = journal.read([question.to_json()])
        if entry is not None:
            found[question] = Reply(**entry[0][0])
    return found


def _ask_and_keep(model: LanguageModel, question: Question, journal: Journal) -> Reply:
    reply = model.ask(question)
    journal.write([question.to_json()], [asdict(reply)], reply.seconds)
    return reply
