"""Traces as JSON: the same steps again, decisions apart, and sentences about what is no trace."""

import ast
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.support.compiler.random_block_schedules import random_block_schedule
from tests.support.compiler.te_programs import random_program
from tests.vta.tir.schedule.test_trace import scheduled
from vta import te
from vta.tir.func import PrimFunc
from vta.tir.json_text import JsonError
from vta.tir.schedule import BlockScheduleError, Schedule, schedule
from vta.tir.schedule.trace import Instruction, Trace
from vta.tir.schedule.trace_json import STEPS
from vta.tir.structural import require_equal
from vta.tir.tensor_intrin import TensorIntrin


def again(sch: Schedule, func: PrimFunc) -> Schedule:
    """Return a schedule of ``func`` after the steps of ``sch``, by way of text."""
    other = Schedule(func)
    Trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), other)
    return other


def test_a_trace_is_lists_and_texts() -> None:
    assert scheduled().trace.as_json() == [
        [
            ["get_block", ["C"], {}, ["b0"]],
            ["get_loops", [{"rv": "b0"}], {}, ["l0", "l1", "l2"]],
            ["split", [{"rv": "l0"}, [None, 4]], {}, ["l3", "l4"]],
            ["reorder", [{"rv": "l3"}, {"rv": "l2"}, {"rv": "l4"}, {"rv": "l1"}], {}, []],
            ["fuse", [{"rv": "l4"}, {"rv": "l1"}], {}, ["l5"]],
            ["cache_read", [{"rv": "b0"}, 0, "local"], {}, ["b1"]],
            ["get_loops", ["D"], {}, ["l6", "l7"]],
            ["parallel", [{"rv": "l6"}], {}, []],
        ],
        [],
    ]


def test_a_trace_from_json_does_the_same() -> None:
    sch = scheduled()
    func, inputs, expected = gemm_relu()
    other = again(sch, func)
    require_equal(other.mod, sch.mod)
    assert other.trace.as_json() == sch.trace.as_json()
    check(other.func, inputs, expected, compiled=False)


@pytest.mark.parametrize("seed", range(12))
def test_random_schedules_come_back_from_json(seed: int) -> None:
    rng = Random(f"trace {seed}")
    program = random_program(rng)
    func = te.create_prim_func([*(tensor for tensor, _ in program.inputs), program.output])
    sch, _ = random_block_schedule(rng, func)
    require_equal(again(sch, func).mod, sch.mod)


def test_decisions_are_apart_and_are_kept() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func, seed=3)
    i, *_ = sch.get_loops("C")
    place = sch.sample_categorical([1, 2, 4], [0.2, 0.3, 0.5])
    factors = sch.sample_perfect_tile(i, 2)
    sch.split(i, factors)
    sch.enter_postproc()
    sch.parallel(sch.get_loops("C")[0])
    steps, decisions = sch.trace.as_json()
    assert decisions == [[1, [1, 2, 4].index(place)], [2, factors]]
    assert steps[2] == ["sample_perfect_tile", [{"rv": "l0"}, 2, 16], {}, ["v1", "v2"]]
    other = again(sch, func)
    require_equal(other.mod, sch.mod)
    shorter, _ = sch.trace.as_json(remove_postproc=True)
    assert [step[0] for step in shorter] == ["get_loops", "sample_categorical", "sample_perfect_tile", "split"]


def test_maps_of_indices_go_along() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    sch.transform_layout("P", buffer_index=0, buffer_index_type="write", index_map=lambda i, j: [j // 7, i, j % 7])
    sch.reindex("R", buffer_index=0, buffer_index_type="write")
    assert str(sch.trace).splitlines()[0] == (
        "sch.transform_layout('P', ('write', 0), lambda i, j: [(j // 7), i, (j % 7)])"
    )
    for other in (again(sch, func), Schedule(func)):
        if not other.trace.insts:
            exec("\n".join(sch.trace.as_python()), {"sch": other})
        require_equal(other.mod, sch.mod)
        check(other.func, inputs, expected, compiled=False)


def test_every_step_of_a_schedule_is_in_the_table() -> None:
    calls = (node for node in ast.walk(ast.parse(Path(schedule.__file__).read_text())) if isinstance(node, ast.Call))
    noted = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "_note" and isinstance(call.args[0], ast.Constant)
    }
    assert noted == STEPS


REFUSED: list[tuple[Any, str]] = [
    ({}, "trace: expected [steps, decisions], as Trace.as_json gives them"),
    ([[], [3]], "trace: expected the number of a step and a decision, got 3"),
    ([[], [[0, 1]]], "trace: expected the number of a step and a decision, got [0, 1]"),
    ([[["show", [], {}, []]], []], "trace, step 0: there is no step 'show'"),
    ([[["split"]], []], "trace, step 0: expected [name, arguments, options, outputs], got ['split']"),
    ([[["get_loops", [{"rv": "b0"}], {}, []]], []], "trace, step 0: no step before gives 'b0'"),
    ([[["get_loops", [{"x": 1}], {}, []]], []], "trace, step 0: {'x': 1} is no argument of a step"),
    ([[["get_block", ["C"], {}, []]], []], "trace, step 0 (get_block): gives 1 blocks, loops and numbers, not 0"),
    (
        [[["get_block", [], {}, ["b0"]]], []],
        "trace, step 0 (get_block): Schedule.get_block() missing 1 required positional argument: 'name'",
    ),
]


@pytest.mark.parametrize(("document", "sentence"), REFUSED)
def test_what_is_no_trace_is_refused(document: object, sentence: str) -> None:
    with pytest.raises(BlockScheduleError) as error:
        Trace.apply_json_to_schedule(document, Schedule(gemm_relu()[0]))
    assert str(error.value) == sentence


def test_what_is_no_map_of_indices_is_refused() -> None:
    step = ["transform_layout", ["C", {"tuple": ["write", 0]}, {"index_map": 3}], {}, []]
    with pytest.raises(JsonError, match="not a program as JSON"):
        Trace.apply_json_to_schedule([[step], []], Schedule(gemm_relu()[0]))
    sch = Schedule(pipeline()[0])
    sch.transform_layout("P", ("write", 0), lambda i, j: [j, i])
    document = sch.trace.as_json()
    table = document[0][0][1][2]["index_map"]
    table["root"] = table["root"][0]
    with pytest.raises(BlockScheduleError) as error:
        Trace.apply_json_to_schedule(document, Schedule(pipeline()[0]))
    assert str(error.value) == "trace, step 0: expected variables and expressions of a map of indices"


def test_what_has_no_json_is_refused() -> None:
    sch = Schedule(gemm_relu()[0])
    loop = sch.get_loops("D")[0]
    func = te_copy()
    unnamed = TensorIntrin(func, func, "unnamed")
    cases: list[tuple[str, object, str]] = [
        ("parallel", loop, "loop 'i' comes from no step of the trace"),
        ("annotate", object, "<class 'object'> has no JSON"),
        (
            "tensorize",
            unnamed,
            "intrinsic 'unnamed' has no name that JSON can hold; register it (tir.TensorIntrin.register), and "
            "tensorize by its name",
        ),
    ]
    for kind, argument, sentence in cases:
        with pytest.raises(BlockScheduleError) as error:
            Trace([Instruction(kind, (argument,), {}, ())]).as_json()
        assert str(error.value) == f"trace, step 0 ({kind}): {sentence}"


def te_copy() -> PrimFunc:
    """Return a function of one block that copies."""
    a = te.placeholder((4,), name="A")
    return te.create_prim_func([a, te.compute((4,), lambda i: a[i], name="B")])


def test_a_registered_intrinsic_goes_by_its_name() -> None:
    func = te_copy()
    copy = TensorIntrin.register("test_trace_json.copy", func, func, override=True)
    steps, _ = Trace([Instruction("tensorize", ("B", copy), {}, ())]).as_json()
    assert steps == [["tensorize", ["B", "test_trace_json.copy"], {}, []]]
