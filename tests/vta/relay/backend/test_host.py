"""Relay's operators as steps of the host: attributes survive being plain values."""

import json
from math import inf

import pytest

from vta.relay.backend.host import OPERATORS_OF_HOST, attributes_of, attrs_of
from vta.relay.ir.attributes import Attrs
from vta.relay.ir.names import Op
from vta.relay.ops.elementwise import ClipAttrs
from vta.relay.ops.padding import PadAttrs, PadMode
from vta.relay.ops.resize import Coordinates, Resize2dAttrs, ResizeMethod
from vta.relay.ops.selection import StridedSliceAttrs

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

    text = json.dumps(attributes_of(attrs), allow_nan=False)
    assert attrs_of(op, {key: tuples(value) for key, value in json.loads(text).items()}) == attrs


def test_every_operator_is_there() -> None:
    assert set(OPERATORS_OF_HOST) == {*map(str, Op), "fold", "pack", "unpack"}
