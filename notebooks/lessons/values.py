"""Values of exercises: made plain, compared, and written out for the learner."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping

LONGEST = 600  # characters of a value that is shown
WIDEST = 84
DIFFERENT = "another value"


def plain(value):
    """The value with tensors and arrays as nested lists, and iterators as lists."""
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterator):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(plain(one) for one in value)
    return value


def alike(answer, expected) -> bool:
    """Whether two plain values are equal: numbers up to rounding, lists and tuples alike."""
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(answer, (list, tuple))
            and len(answer) == len(expected)
            and all(map(alike, answer, expected))
        )
    if isinstance(expected, Mapping):
        return (
            isinstance(answer, Mapping)
            and answer.keys() == expected.keys()
            and all(alike(answer[key], expected[key]) for key in expected)
        )
    if isinstance(expected, (int, float)) and isinstance(answer, (int, float)):
        if math.isnan(expected):
            return math.isnan(answer)
        return math.isclose(answer, expected, rel_tol=1e-4, abs_tol=1e-5)
    return answer == expected


def shape(value) -> list[int]:
    """The lengths of nested lists, as far as they are regular."""
    if not isinstance(value, list):
        return []
    inner = [shape(one) for one in value]
    return [len(value), *(inner[0] if inner and all(one == inner[0] for one in inner) else [])]


def difference(answer, expected) -> str:
    """What tells two plain values apart, where a glance at both does not."""
    if isinstance(answer, list) and isinstance(expected, list):
        if shape(answer) != shape(expected):
            return f"shape {shape(answer)}, expected {shape(expected)}"
        return _first_place(answer, expected)
    if type(answer) is not type(expected) and show(answer) == show(expected):
        return f"a value of type {type(answer).__name__}, expected {type(expected).__name__}"
    if isinstance(answer, (set, frozenset)) and isinstance(expected, (set, frozenset)):
        return _members(answer, expected)
    if isinstance(answer, Mapping) and isinstance(expected, Mapping):
        return _members(set(answer), set(expected)) or _first_key(answer, expected)
    if isinstance(expected, (set, frozenset, Mapping)):
        return f"a value of type {type(answer).__name__}, expected {type(expected).__name__}"
    return DIFFERENT


def _members(answer: set, expected: set) -> str:
    parts = {"missing": expected - answer, "too many": answer - expected}
    return "; ".join(f"{word}: {show(one)}" for word, one in parts.items() if one)


def _first_key(answer: Mapping, expected: Mapping) -> str:
    key = next(key for key in expected if not alike(answer[key], expected[key]))
    return f"at [{show(key)}]: {show(answer[key])}, expected {show(expected[key])}"


def _first_place(answer: list, expected: list, place: tuple[int, ...] = ()) -> str:
    for i, (mine, right) in enumerate(zip(answer, expected, strict=True)):
        if not alike(mine, right):
            if isinstance(mine, list) and isinstance(right, list) and shape(mine) == shape(right):
                return _first_place(mine, right, (*place, i))
            where = "".join(f"[{at}]" for at in (*place, i))
            return f"at {where}: {show(mine)}, expected {show(right)}"
    return DIFFERENT


def show(value) -> str:
    """A value as text: numbers short, a row of a matrix to a line, nothing endless."""
    value = plain(value)
    if isinstance(value, list) and value and all(isinstance(row, (list, dict)) for row in value):
        text = "[" + ",\n ".join(map(_flat, value)) + "]"
    else:
        text = _flat(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _flat(value) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    if type(value) is tuple:
        return "(" + ", ".join(map(_flat, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(k)}: {_flat(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(_flat, value))) + "}" if value else "set()"
    if inspect.isfunction(value):
        return value.__name__
    return repr(value)


def call_text(name: str, function: Callable, arguments: tuple) -> str:
    """A call as it would be written: in one line if it fits, else a line for each argument."""
    values = [show(one) for one in arguments]
    line = f"{name}({', '.join(values)})"
    if len(line) <= WIDEST and "\n" not in line:
        return line
    names = _names(function, len(values))
    rows = [
        f"{label} = " + text.replace("\n", "\n" + " " * (len(label) + 3))
        for label, text in zip(names, values, strict=True)
    ]
    body = "\n".join("    " + row.replace("\n", "\n    ") for row in rows)
    return f"{name}(\n{body}\n)"


def _names(function: Callable, count: int) -> list[str]:
    """The names of the function's parameters, as far as it tells."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return [*names, *(f"argument {i + 1}" for i in range(len(names), count))][:count]
