"""Files with a wrong value in them: what reads one says which file, which place, and what it is."""

import json
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

import pytest

from itekit.datasets import sets
from itekit.files import LOG, read_log, rebuild


@dataclass(frozen=True)
class Part:
    layers: int = 1
    rate: float = 0.5

    def __post_init__(self):
        if self.layers < 1:
            raise ValueError(f"layers must be 1 or more, found {self.layers}")


@dataclass(frozen=True)
class Whole:
    name: str
    part: Part = field(default_factory=Part)
    sizes: tuple[tuple[str, int], ...] = ()
    further: dict = field(default_factory=dict)


class Entry(TypedDict):
    step: int
    loss: NotRequired[float]


def test_dataclasses_are_rebuilt_and_other_json_is_kept():
    value = {"name": "x", "part": {"layers": 2, "rate": 1}, "sizes": [["a", 3]]}
    assert rebuild(Whole, value) == Whole("x", Part(2, 1.0), (("a", 3),))
    assert rebuild(dict[str, Part], {}) == {}
    records = [{"step": 1, "loss": 2}, {"step": 2, "more": "is kept"}]
    assert rebuild(list[Entry], records) == records


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Whole, {"name": "x", "part": {"layers": True}}, "`int`, got `bool` - at `$.part.layers`"),
        (Whole, {"name": "x", "part": {"layers": 0}}, "1 or more, found 0 - at `$.part`"),
        (Whole, {"name": "x", "part": {"layer": 2}}, "unknown field `layer` - at `$.part`"),
        (Whole, {"name": "x", "part": {"layers": 10**30}}, f"got {10**30} - at `$.part.layers`"),
        (Whole, {"name": "x", "part": {"rate": float("nan")}}, "got nan - at `$.part.rate`"),
        (Whole, {"name": "x", "further": {"a": [1, 1e300]}}, "got 1e+300 - at `$.further.a[1]`"),
        (Whole, {"name": "x", "sizes": [["a"]]}, "length 2, got 1 - at `$.sizes[0]`"),
        (Whole, {}, "missing required field `name`"),
        (Whole, None, "Expected `object`, got `null`"),
        (list[Entry], [{"step": 1}, {"step": 1.5}], "`int`, got `float` - at `$[1].step`"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(kind, value, message):
    with pytest.raises(ValueError) as caught:
        rebuild(kind, value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"files": 3}, "$.files"),
        ({"counts": {"kept": "x"}}, "$.counts"),
        ({"task": None}, "$.task"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path, change, place):
    manifest = json.loads((sets.SHIPPED / "ltl35-smoke" / sets.MANIFEST).read_text())
    (tmp_path / sets.MANIFEST).write_text(json.dumps(manifest | change))
    for read in (sets.summary, sets.read_folder):
        with pytest.raises(ValueError) as caught:
            read(tmp_path)
        assert str(tmp_path / sets.MANIFEST) in str(caught.value) and place in str(caught.value)


def test_a_damaged_record_of_a_log_is_named(tmp_path):
    (tmp_path / LOG).write_text('{"step": 5}\n{"step": 10, "loss": "high"}\n{"ste')
    with pytest.raises(ValueError, match=f"{LOG}, line 2: .*got `str` - at `\\$.loss`"):
        read_log(tmp_path)
