"""Tasks: of templates by name, of operators, and what is none."""

import pytest

import vta
from tests.support.configs import CONFIGS
from vta import te
from vta.autotvm import TuningError
from vta.autotvm.task import create, extract_from_operators
from vta.autotvm.template import template
from vta.topi import BatchMatmul, Conv2d, Dense, Matmul
from vta.topi.core.epilogue import Clip, Relu, ShiftRight

CONV = ("TENSOR", (1, 4, 14, 14, 1, 16), "int8"), ("TENSOR", (4, 4, 3, 3, 16, 16), "int8")
REST = (1, 1), (1, 1, 1, 1), (1, 1), "NCHW1n16c", "int32"


def test_a_task_takes_tensors_or_what_records_have_for_them() -> None:
    data, kernel = te.placeholder(CONV[0][1], dtype="int8"), te.placeholder(CONV[1][1], dtype="int8")
    task = create("conv2d_packed.vta", (data, kernel, *REST), vta.get_env().target)
    assert task.workload == ("conv2d_packed.vta", *CONV, *REST)
    assert task.workload == create("conv2d_packed.vta", [list(CONV[0]), CONV[1], *REST]).workload
    layer = Conv2d(1, 64, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8), Clip(0, 127)), fold=(1, 1))
    assert task.operator == layer
    assert task.flop == layer.flops
    assert repr(task).startswith("Task(conv2d_packed.vta, ('TENSOR', (1, 4, 14, 14, 1, 16), 'int8'), ")


def test_equal_operators_are_one_task_and_those_without_a_template_are_none() -> None:
    dense = Dense(4, 32, 32, (Relu(),))
    found = extract_from_operators(
        [dense, Matmul(4, 32, 32, epilogue=(Relu(),)), BatchMatmul(2, 16, 16, 16), dense, Dense(4, 32, 32)]
    )
    assert [task.operator for task in found] == [dense, Dense(4, 32, 32)]
    assert found[0].workload != found[1].workload


def test_the_task_is_for_the_environment_that_it_was_made_in() -> None:
    env = vta.Environment(CONFIGS["b1k8"], hardware={"data_width": 128, "memory_latency": 9})
    with env:
        [task] = extract_from_operators([Dense(4, 32, 32)])
    given = task.input(task.config_space.get(0))
    assert (task.env, given.hardware) == (env, (128, 9))
    assert env.MODEL in given.target


@template("test_task.no_knobs")
def no_knobs(size: int) -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((size,), name="a")
    b = te.compute((size,), lambda i: a(i) + 1, name="b")
    return te.create_schedule(b.op), [a, b]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("test_task.no_knobs", (4,)), "template 'test_task.no_knobs' defines no knob; there is nothing to tune"),
        (
            ("conv2d_packed.vta", CONV),
            "conv2d_packed.vta takes packed data and kernel, strides, four pads, dilation, layout, out_dtype and "
            "steps, not (('TENSOR', (1, 4, 14, 14, 1, 16), 'int8'), ('TENSOR', (4, 4, 3, 3, 16, 16), 'int8'))",
        ),
        (
            ("dense_packed.vta", (3,)),
            "dense_packed.vta takes packed data and weight, None, out_dtype and steps, not (3,)",
        ),
        (
            ("conv2d_packed.vta", (("TENSOR", (1, 4, 9, 9, 1, 8), "int8"), CONV[1], *REST)),
            "conv2d_packed.vta: the tensors have blocks (1, 8, 16, 16) (batch, block_in, block_out, block_in), and "
            "the environment (1, 16, 16, 16); make the task inside `with env:` of the configuration that it is for",
        ),
        (
            ("dense_packed.vta", (), "ext_dev -device=vta -model=sim_2x16"),
            "task 'dense_packed.vta': the target is for sim_2x16, and the environment is "
            f"{vta.get_env().MODEL}; make the task inside `with env:` of the environment that the target came from",
        ),
    ],
)
def test_what_is_no_task_is_refused(arguments: tuple[object, ...], text: str) -> None:
    with pytest.raises(TuningError) as caught:
        create(*arguments)  # type: ignore[arg-type]  # that is the point
    assert str(caught.value) == text


def test_a_template_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(TuningError) as caught:
        create("conv3d.vta", ())
    assert str(caught.value).startswith("there is no template 'conv3d.vta'; there are add.vta, conv2d_packed.vta, ")
