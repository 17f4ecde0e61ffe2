"""Exercises: right answers pass, wrong ones are named; the notebooks and solutions fit them."""

import contextlib
import importlib
import io
import random
import re
import signal
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
import torch
from rapidfuzz.distance import OSA

from lessons import exercises
from lessons.exercises import Exercise, NotSolvedError, alike, difference, many, plain, show

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
LESSONS = range(1, 17)
EXERCISES = {
    f"{n:02} {value.name}": value
    for n in LESSONS
    for name, value in vars(importlib.import_module(f"lessons.lesson_{n:02}")).items()
    if name.startswith("check_")
}


def words(text):
    return " ".join(text.split())


def printed(code, *arguments, **options):
    """What a call prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code(*arguments, **options)
    return out.getvalue()


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_an_exercise_knows_right_from_unwritten_from_an_error_of_the_learners(exercise):
    def raises(*arguments):
        raise NotImplementedError

    def faulty(*arguments):
        return {}["no such key"]

    for seed in range(3):
        assert exercise.examine(exercise.reference, seed).solved
    for unwritten in (lambda *arguments: None, lambda *arguments: ..., raises):
        report = exercise.examine(unwritten, 0)
        assert report.status == "not solved yet" and "\n" not in report.text
    report = exercise.examine(faulty, 0)
    assert report.status == "error" and f"    {exercise.name}(" in report.text
    assert "KeyError: 'no such key'" in report.text and "in the line: return {}[" in report.text


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_two_known_mistakes_or_more_are_rejected_and_recognised(exercise):
    assert len(exercise.mistakes) + len(exercise.signs) > 1
    for wrong, hint in exercise.mistakes.items():
        for seed in range(2):
            report = exercise.examine(wrong, seed)
            assert report.status == "wrong" and words(hint) in words(report.text)
            assert "yours" in report.text
            assert "expected" in report.text or "possible" in report.text


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_answers_that_do_not_look_at_the_problem_are_rejected(exercise):
    first = next(iter(exercise.cases(random.Random(0))))
    answer = exercise.run(exercise.reference, *deepcopy(first))
    for wrong in (lambda *given: deepcopy(answer), lambda *given: given[0]):
        assert not exercise.examine(wrong, 0).solved


def swaps_too_freely(a, b):
    return OSA.distance(a, b) - (min(len(a), len(b)) > 1)


SETTLED = EXERCISES["03 settled_scale"].reference
# Other wrong answers, and what signs and judges have to say. Each goes wrong on all seeds.
WRONG = [
    ("01 complete", lambda m, a: dict(m), "expected a dict with a new name for each"),
    ("01 equal_up_to_names", lambda s, t: True, "these are free variables"),
    ("02 draw", lambda n, d, rng: [[1] * d] * n, "are the same: two tokens look alike"),
    ("03 settled_scale", lambda c, t, C: 0.1 if t > 0.8 else SETTLED(c, t, C), "min(theta, π/4)"),
    ("04 rope_halves", lambda x, base: 2 * x, "keeps the length of a row"),
    ("04 branches", lambda text, i: "L" * 20, "deeper than the token stands"),
    ("05 distance_with_swaps", swaps_too_freely, "only where it makes both letters right"),
    ("05 extend", lambda U, n, d, betas: U, "shape ["),
    ("07 globally", lambda f, after: [*f], "of type list, expected set"),
    ("12 undo", lambda answer, r: print(answer), "does every way through the function end"),
    ("07 release", lambda f, g, after: set(), "missing: {"),
    ("08 teacher_forcing", lambda t, s, e: ([s, *t, e], t), "both lists have the same length"),
    ("09 is_right", lambda formula, given: False, "go through the completions"),
]


def test_other_wrong_answers_are_rejected_in_words():
    for name, wrong, expected in WRONG:
        for seed in range(2):
            text = EXERCISES[name].examine(wrong, seed).text
            assert text.startswith("✗") and expected in words(text), (name, expected)


# the framework


def doubled(x):
    return 2 * x


SHORT = Exercise("double", doubled, many(20, lambda rng: (rng.randint(1, 9),), (0,), (50,)))
SHORT.mistakes = {lambda x: 2 + x: "that adds 2.", lambda x: x * x: "that squares."}
SHORT.signs = {lambda answer, expected, x: answer == x: "the number comes back as it was."}


def test_the_smallest_failing_case_is_shown_with_both_values():
    text = SHORT.examine(lambda x: 2 * x if x < 7 else 7, 0).text
    shown = re.search(r"double\((\d)\)\s+yours\s+7\s+expected\s+(\d+)", text)
    assert int(shown[2]) == 2 * int(shown[1])
    assert "The same cases again: check_double(double, seed=0)" in text


def test_hints_need_all_answers_to_agree_and_signs_only_the_case_that_is_shown():
    almost = SHORT.examine(lambda x: x * x if x != 50 else 0, 0).text
    assert "squares" not in almost and "✗" in almost
    assert "comes back" in SHORT.examine(lambda x: x if x < 9 else 0, 0).text


def test_cases_are_fresh_unless_a_seed_is_given():
    seen = []
    for seed in (None, None, 5, 5):
        seen.append([])
        SHORT.examine(lambda x: seen[-1].append(x) or 2 * x, seed)
    assert seen[2] == seen[3] and len({tuple(one) for one in seen}) == 3


def test_must_raises_with_the_same_text():
    with pytest.raises(NotSolvedError, match="wrong on .* of 22 cases"):
        SHORT(lambda x: 3 * x, must=True)


def test_what_no_value_can_be_compared_with_is_said():
    text = SHORT.examine(lambda x: 2 * x if x else None, 0).text
    assert "double(0)" in text and "does every way through the function end in a return" in text
    assert "found 3; expected a function" in SHORT.examine(3).text
    assert "TypeError" in SHORT.examine(lambda: 3, 0).text


def test_prints_of_the_learners_are_shown_for_the_case_that_failed_only():
    text = SHORT.examine(lambda x: print("I was given", x) or (2 * x if x else 1), 0).text
    assert text.count("I was given") == 1 and "I was given 0" in text
    assert printed(SHORT, lambda x: print("noise") or 2 * x) == "✓ double: right on all 22 cases.\n"


def test_arguments_that_the_learner_changes_do_no_harm():
    exercise = Exercise("total", sum, lambda rng: [([1, 2],), ([3],)])

    def greedy(numbers):
        result = 0
        while numbers:
            result += numbers.pop()
        return result + 1

    text = exercise.examine(greedy, 0).text
    assert "total([3])" in text and "expected  3" in text

    def emptied(mapping, alphabet):
        return dict.fromkeys(alphabet, "a") | dict([mapping.popitem() for _ in [*mapping]])

    assert "merge" in EXERCISES["01 complete"].examine(emptied, 0).text


def test_an_endless_loop_is_stopped_and_the_readers_own_interrupt_is_not(monkeypatch):
    monkeypatch.setattr(exercises, "SECONDS", 0.3)

    def endless(*_):
        while True:
            pass

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in a shell's background
    try:
        report = EXERCISES["01 complete"].examine(endless)
    finally:
        signal.signal(signal.SIGINT, before)
    assert report.status == "error" and "does every loop end?" in report.text
    with pytest.raises(KeyboardInterrupt), exercises.time_limit(10):
        raise KeyboardInterrupt


def test_what_was_solved_is_kept_and_shown_from_then_on(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    exercise = EXERCISES["02 integer_of"]
    assert "□" not in printed(exercise, len)
    assert "lesson_02: ■ integer_of □ draw □ dimensions" in printed(exercise, exercise.reference)
    assert "■" not in printed(exercise, len), "what is wrong now is not solved"


def test_values_are_compared_by_what_they_mean_and_differences_name_the_first_place():
    assert alike(plain({"a": (x for x in (0.1 + 0.2, float("nan")))}), {"a": [0.3, float("nan")]})
    assert not alike(1.0, float("nan")) and not alike("ab", ["a", "b"])
    assert difference([[1, 2]], [[1], [2]]) == "shape [1, 2], expected [2, 1]"
    assert difference([[1, 2], [3, 4]], [[1, 2], [3, 5]]) == "at [1][1]: 4, expected 5"
    assert difference({"a"}, {"b"}) == "missing: {'b'}; too many: {'a'}"
    assert show(torch.tensor([[1.0, 0.33333], [2.0, 3.0]])) == "[[1, 0.3333],\n [2, 3]]"
    assert len(show("x" * 5000)) < 1000


# the notebooks


def lesson(n):
    (path,) = NOTEBOOKS.glob(f"{n:02}_*.ipynb")
    return path


def exercise_cells(n):
    cells = nbformat.read(lesson(n), 4).cells
    return [
        (before.source, cell.source)
        for before, cell in zip(cells, cells[1:], strict=False)
        if "exercise" in cell.metadata.get("tags", [])
    ]


def checked(sources):
    return re.findall(r"^check_(\w+)\(", "\n".join(sources), re.MULTILINE)


@pytest.mark.parametrize("n", LESSONS)
def test_a_lesson_has_three_exercises_with_difficulty_and_minutes_and_stubs_that_run(n):
    cells = exercise_cells(n)
    assert len(cells) >= 3
    for number, (text, _) in enumerate(cells, 1):
        assert re.match(rf"### Exercise {number} · .+\n\n[●○]{{3}} · \d+ minutes\n\n", text), text
    own = [name.split()[1] for name in EXERCISES if name.startswith(f"{n:02}")]
    assert checked(source for _, source in cells) == own, "the bar has the order of the lesson"
    for _, source in cells:
        assert "not solved yet" in printed(exec, compile(source, lesson(n).name, "exec"), {})


@pytest.mark.parametrize("n", LESSONS)
def test_the_solutions_solve_every_exercise_of_the_lesson(n):
    cells = nbformat.read(NOTEBOOKS / "solutions" / lesson(n).name, 4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert checked(code) == checked(source for _, source in exercise_cells(n))
    assert sum(source.count("must=True") for source in code) == len(checked(code))
    space = {}
    for source in code:
        said = printed(exec, compile(source, f"solutions to lesson {n}", "exec"), space)
        assert "✓" in said or "check_" not in source
