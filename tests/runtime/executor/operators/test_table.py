from dataclasses import fields, is_dataclass

import pytest

from runtime.executor.operators.attributes import Attrs, NoAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern
from runtime.executor.operators.table import OPERATORS, operator
from runtime.executor.operators.types import RelayError, TensorType


def test_every_operator_has_one_row() -> None:
    assert sorted(OPERATORS) == sorted(Op)


@pytest.mark.parametrize("op", Op)
def test_the_attributes_of_every_operator_are_a_frozen_documented_dataclass(op: Op) -> None:
    kind = operator(op).attrs_type
    assert is_dataclass(kind)
    assert issubclass(kind, Attrs)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert not (kind.__doc__ or "").startswith(f"{kind.__name__}(")
    assert fields(kind) or kind is NoAttrs


def test_patterns_are_those_of_the_seed() -> None:
    expected = {
        Op.LOG: Pattern.ELEMWISE,
        Op.ADD: Pattern.BROADCAST,
        Op.BROADCAST_TO: Pattern.BROADCAST,
        Op.RESIZE2D: Pattern.INJECTIVE,
        Op.PAD: Pattern.INJECTIVE,
        Op.UPSAMPLING: Pattern.INJECTIVE,
        Op.TILE: Pattern.INJECTIVE,
        Op.STRIDED_SLICE: Pattern.INJECTIVE,
        Op.EXPAND_DIMS: Pattern.INJECTIVE,
        Op.SQUEEZE: Pattern.INJECTIVE,
        Op.ARGMAX: Pattern.COMM_REDUCE,
        Op.MEAN: Pattern.COMM_REDUCE,
        Op.CONV2D: Pattern.OUT_ELEMWISE_FUSABLE,
        Op.ONE_HOT: Pattern.OUT_ELEMWISE_FUSABLE,
        Op.STOP_FUSION: Pattern.OPAQUE,
    }
    assert {op: operator(op).pattern for op in expected} == expected


@pytest.mark.parametrize(
    ("op", "count", "sentence"),
    [
        (Op.LOG, 2, "expected data, got 2 inputs"),
        (Op.WHERE, 1, "expected condition, x, y, got 1 inputs"),
        (Op.CONCATENATE, 0, "expected at least one input, got none"),
    ],
)
def test_another_number_of_inputs_is_refused(op: Op, count: int, sentence: str) -> None:
    row = operator(op)
    with pytest.raises(RelayError) as error:
        row.infer([TensorType((2,), "float32")] * count, row.attrs_type())
    assert str(error.value) == sentence
