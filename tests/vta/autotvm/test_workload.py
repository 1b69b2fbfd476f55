"""Names of tasks: arguments as tuples that survive JSON, and back."""

import json
from typing import get_args

import pytest

from vta import te
from vta.autotvm.errors import TuningError
from vta.autotvm.workload import placeholders, serialised, steps_of, written_steps
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    Fork,
    HalfEvenShift,
    Joint,
    Multiply,
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
)

STEPS: Epilogue = (
    Bias(), Scale(), ChannelShift(), ChannelMinimum(), ChannelMaximum(), Residual("int32", 3), ShiftRight(2),
    ShiftLeft(1), RoundingShift(3), HalfEvenShift(2), Requantise(5, 7), Add(-3), Multiply(9), Relu(), Clip(-8, 7),
    Fork(Joint.ADD, (Add(1), Fork(Joint.MAXIMUM, (Relu(),))), (ShiftRight(1),)),
)  # fmt: skip


def test_every_step_of_an_epilogue_survives_json() -> None:
    assert {type(step) for step in STEPS} == set(get_args(Step))
    again = serialised(json.loads(json.dumps(written_steps(STEPS))))
    assert again == written_steps(STEPS)
    assert steps_of(again) == STEPS


def test_tensors_become_their_shape_and_type_and_placeholders_again() -> None:
    written = serialised([te.placeholder((2, 3), name="a", dtype="int8"), (1, "x", None, 2.5)])
    assert written == (("TENSOR", (2, 3), "int8"), (1, "x", None, 2.5))
    assert serialised(json.loads(json.dumps(written))) == written
    back = placeholders(written, iter(["b"]))
    assert isinstance(back, tuple)
    tensor, rest = back
    assert (tensor.name, serialised(tensor), rest) == ("b", written[0], (1, "x", None, 2.5))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: serialised({1}),
            "a task's arguments are tensors, numbers, texts, None and tuples of them, not set",
        ),
        (lambda: steps_of(3), "an epilogue of a task is a tuple of steps, not 3"),
    ],
)
def test_what_no_record_holds_is_refused(call: object, text: str) -> None:
    with pytest.raises(TuningError) as caught:
        call()  # type: ignore[operator]  # a function of no arguments
    assert str(caught.value) == text


def test_sizes_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(TuningError) as caught:
        serialised(te.placeholder((te.var("n"),), name="a"))
    assert str(caught.value).startswith("tensor 'a': the sizes of a task are numbers, not (")


@pytest.mark.parametrize("step", [("Clip", 1), ("Fork", "sum", (), ()), ("Sigmoid",), 3])
def test_steps_that_are_none_are_refused(step: object) -> None:
    with pytest.raises(TuningError) as caught:
        steps_of(serialised([step]))
    assert str(caught.value).startswith(f"an epilogue of a task has no step {step!r}; steps are Bias, Scale, ")
