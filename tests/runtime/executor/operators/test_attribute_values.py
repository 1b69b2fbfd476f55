"""Attributes survive being plain values, and values that are none are refused."""

import json
import re
from dataclasses import dataclass
from math import inf

import pytest

from runtime.executor.operators.attribute_values import made, plain_values
from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.elementwise import ClipAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.resize import Coordinates, Resize2dAttrs, ResizeMethod
from runtime.executor.operators.selection import StridedSliceAttrs
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError

EXAMPLES: list[tuple[Op, Attrs]] = [
    (Op.CLIP, ClipAttrs(-inf, 6.0)),
    (Op.PAD, PadAttrs(((0, 0), (1, 2)), 3.0, PadMode.EDGE)),
    (Op.RESIZE2D, Resize2dAttrs((4, 6), ResizeMethod.CUBIC, Coordinates.ALIGN_CORNERS, scales=(1.5, 2.0))),
    (Op.STRIDED_SLICE, StridedSliceAttrs((0, None), (None, 3), (1, -1), (0, 2))),
]


@pytest.mark.parametrize(("op", "attrs"), EXAMPLES, ids=[op for op, _ in EXAMPLES])
def test_attributes_survive_json(op: Op, attrs: Attrs) -> None:
    def tuples(value: object) -> object:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    text = json.dumps(plain_values(attrs), allow_nan=False)
    assert made(operator(op).attrs_type, {key: tuples(value) for key, value in json.loads(text).items()}) == attrs


def test_what_is_no_plain_value_is_refused() -> None:
    @dataclass(frozen=True)
    class Odd(Attrs):
        value: object = frozenset()

    with pytest.raises(RelayError, match=r"^an attribute is a plain value, not frozenset\(\)$"):
        plain_values(Odd())


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"a_min": 0.0, "a_max": "1"}, "attribute 'a_max' is not '1'"),
        ({"a_min": True, "a_max": 1.0}, "attribute 'a_min' is not True"),
        ({"a_min": 0.0, "a_max": 1.0, "axis": 1}, "there is no attribute 'axis'; there are a_min, a_max"),
    ],
)
def test_attributes_of_other_names_and_types_are_refused(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(RelayError, match=f"^{re.escape(sentence)}$"):
        made(ClipAttrs, values)


def test_an_attribute_without_a_default_is_needed() -> None:
    with pytest.raises(RelayError, match=r"^the attribute 'reps' is not given$"):
        made(operator(Op.TILE).attrs_type, {})


def test_numbers_that_json_has_not_are_texts() -> None:
    assert plain_values(ClipAttrs(-inf, inf)) == {"a_min": "-inf", "a_max": "inf"}
