"""Every pass of this toolchain under TVM's name."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.anonymous_ir import anonymous
from vta import te, tir_passes
from vta.build_module import lower, lower_generic, schedule_to_module
from vta.environment import get_env
from vta.pass_objects import FunctionPass, ModulePass, Sequential
from vta.passes import pipelines
from vta.tir import ir_builder
from vta.tir.buffer import decl_buffer
from vta.tir.func import IRModule, PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import For, ForKind
from vta.tir.traverse import walk
from vta.tir_passes import PassArgumentError
from vta.transform import PassContext


def objects(*, accelerator: bool) -> list[ModulePass]:
    """Return the objects of the passes of the pipeline, in its order."""
    lifted = iter(["coproc_uop_scope", "coproc_scope"])
    return [
        tir_passes.LiftAttrScope(next(lifted)) if entry.name == "LiftAttrScope" else getattr(tir_passes, entry.name)()
        for entry in pipelines.PIPELINE
        if accelerator or entry.scope is pipelines.PassScope.ANY
    ]


def vector_add() -> tuple[te.Schedule, list[te.Tensor]]:
    env = get_env()
    shape = (4, 1, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
    buf = te.compute(shape, lambda *i: a(*i), "A_buf")
    plus = te.compute(shape, lambda *i: buf(*i) + 3, "plus")
    b = te.compute(shape, lambda *i: plus(*i).astype(env.inp_dtype), "B")
    s = te.create_schedule(b.op)
    for stage in (buf, plus):
        s[stage].set_scope(env.acc_scope)
    s[buf].pragma(s[buf].op.axis[0], env.dma_copy)
    s[plus].pragma(s[plus].op.axis[0], env.alu)
    s[b].pragma(s[b].op.axis[0], env.dma_copy)
    return s, [a, b]


def test_the_objects_in_order_are_the_pipeline() -> None:
    s, args = vector_add()
    module = Sequential(objects(accelerator=True))(schedule_to_module(s, args))
    assert anonymous(str(module)) == anonymous(str(lower(s, args)))


def test_the_objects_of_any_program_are_the_generic_pipeline() -> None:
    a = te.placeholder((10, 12), name="A")
    b = te.compute((12, 10), lambda i, j: a[j, i] * 2 + 1, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], 5)
    module = Sequential(objects(accelerator=False))(schedule_to_module(s, [a, b]))
    assert anonymous(str(module)) == anonymous(str(lower_generic(s, [a, b])))


def asserting() -> PrimFunc:
    ib = ir_builder.create()
    x = ib.buffer_ptr(decl_buffer((4,), "int32", "A"))
    ib.assert_stmt(x[0] > 5, "it is large")
    with ib.for_range(0, 4, kind="parallel") as i:
        x[i] = i
    return PrimFunc([x.buffer], ib.get())  # type: ignore[arg-type]


def test_assertions_go_by_a_pass_or_by_the_option() -> None:
    func = asserting()
    assert "assert" not in str(tir_passes.SkipAssert()(IRModule({"main": func})))
    assert "assert" in str(lower_generic(func))
    with PassContext(config={"tir.disable_assert": True}):
        lowered = lower_generic(func)["main"]
    out = np.zeros(4, np.int32)
    run_func(lowered, [out])
    assert out.tolist() == [0, 1, 2, 3]


def test_parallel_loops_become_serial() -> None:
    module = tir_passes.ConvertForLoopsToSerial()(IRModule({"main": asserting()}))
    kinds = [node.kind for node in walk(module["main"].body) if isinstance(node, For)]
    assert kinds == [ForKind.SERIAL]


def test_functions_are_filtered_marked_and_changed() -> None:
    module = IRModule({"a": asserting(), "b": asserting().with_attr("keep", True)})
    kept = tir_passes.Filter(lambda func: "keep" in func.attrs)(module)
    assert list(kept.functions) == ["b"]
    assert tir_passes.AnnotateEntryFunc()(kept)["b"].attrs["tir.is_entry_func"] is True
    assert tir_passes.Apply(lambda func: func.with_attr("x", 1))(kept)["b"].attrs["x"] == 1
    with pytest.raises(PassArgumentError) as error:
        tir_passes.AnnotateEntryFunc()(module)
    assert str(error.value) == "AnnotateEntryFunc: expected a module of one function, not of 2"


def test_passes_that_are_switched_off_change_nothing() -> None:
    module = IRModule({"main": asserting()})
    for off in (
        tir_passes.VectorizeLoop(enable_vectorize=False),
        tir_passes.CommonSubexprElimTIR(enable_cse_tir=False),
    ):
        assert off(module)["main"] is module["main"]


def test_arguments_that_mean_nothing_are_refused() -> None:
    cases: list[tuple[Callable[[], FunctionPass], str]] = [
        (lambda: tir_passes.NarrowDataType(12), "NarrowDataType: indices become 8, 16 or 32 bits wide, not 12"),
        (
            lambda: tir_passes.HoistIfThenElse("advanced"),
            "HoistIfThenElse: there is the variant 'basic', not 'advanced'",
        ),
        (
            lambda: tir_passes.LiftAttrScope("scope"),
            "LiftAttrScope: expected 'coproc_uop_scope' or 'coproc_scope', not 'scope'",
        ),
        (
            lambda: tir_passes.StorageFlatten(64, create_bound_attribute=True),
            "StorageFlatten: cache_line_size is at least 1 and create_bound_attribute False, not 64 and True",
        ),
    ]
    for make, text in cases:
        with pytest.raises(PassArgumentError) as error:
            make()
        assert str(error.value) == text
