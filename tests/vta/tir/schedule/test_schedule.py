"""A schedule of blocks: the GEMM of the founding documents, finding things, and what is refused."""

import numpy as np
import pytest

import vta
from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from vta import te
from vta.build_module import build_generic
from vta.tir import ir_builder
from vta.tir.func import IRModule, PrimFunc
from vta.tir.schedule import BlockRV, BlockScheduleError, Schedule
from vta.tir.stmt import Block, For, ForKind
from vta.tir.structural import require_equal
from vta.tir.traverse import walk


def test_001_tir_gemm_blocked_packed_and_vectorised_runs_on_the_cpu() -> None:
    """Seed 001, "TIR gemm": interactive steps, each validated, in any order that is legal, unlike te's."""
    n = 64
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, kk = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 16])
    j0, j1 = sch.split(j, [None, 16])
    k0, k1 = sch.split(kk, [None, 4])
    sch.reorder(i0, j0, k0, i1, k1, j1)
    write = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(write, j0)
    read = sch.cache_read(block, 1, "global")
    sch.compute_at(read, k0)
    sch.decompose_reduction(block, k0)
    sch.vectorize(j1)
    sch.unroll(k1)
    sch.parallel(i0)
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    out = vta.nd.array(np.zeros((n, n), np.float32))
    build_generic(sch.mod)(vta.nd.array(x), vta.nd.array(y), out)
    np.testing.assert_array_equal(out.numpy(), x @ y)


def test_blocks_are_found_by_name_and_by_data_flow() -> None:
    func, _, _ = pipeline()
    sch = Schedule(func)
    p, r = sch.get_block("P"), sch.get_block("R")
    assert [b.name for b in sch.get_consumers(p)] == ["Q"]
    assert [b.name for b in sch.get_producers(r)] == ["Q"]
    assert [b.name for b in sch.get_output_blocks("root")] == ["R"]
    assert [b.name for b in sch.get_child_blocks(BlockRV("root"))] == ["P", "Q", "R"]
    assert sch.get_parent(p) == BlockRV("root")
    loops = sch.get_loops("P")
    assert [loop.var.name for loop in loops] == ["i", "j"]
    assert [b.name for b in sch.get_child_blocks(loops[0])] == ["P"]
    assert isinstance(sch.get(p), Block)
    assert isinstance(sch.get(loops[1]), For)


def test_a_copy_goes_its_own_way_and_the_function_that_was_given_stays() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    twin = sch.copy()
    twin.compute_inline("P")
    assert [b.name for b in sch.get_child_blocks(BlockRV("root"))] == ["P", "Q", "R"]
    assert sch.func is func
    check(twin.func, inputs, expected, compiled=False)
    require_equal(sch.mod, IRModule.from_expr(func))


def test_after_a_refusal_the_function_is_what_it_was() -> None:
    func, _, _ = pipeline()
    sch = Schedule(func)
    with pytest.raises(BlockScheduleError):
        sch.compute_inline("R")
    assert sch.func is func
    assert sch.trace.insts == []


def test_a_schedule_prints(capsys: pytest.CaptureFixture[str]) -> None:
    func, _, _ = gemm_relu()
    Schedule(func).show()
    text = capsys.readouterr().out
    assert text == str(func)
    assert 'block "C" {\n            IterVar(v_i: int32, [0:12], "DataPar", "") = i\n' in text
    assert "init {\n              C[v_i, v_j] = 0.0f32\n            }\n" in text


def test_one_function_of_a_module_is_scheduled() -> None:
    func, inputs, expected = pipeline()
    other, _, _ = gemm_relu()
    module = IRModule({"f": other.with_attr("global_symbol", "f"), "g": func.with_attr("global_symbol", "g")})
    sch = Schedule(module, func_name="g")
    sch.compute_inline("Q")
    assert list(sch.mod.functions) == ["f", "g"]
    assert sch.mod["f"] is module["f"]
    check(sch.mod["g"], inputs, expected, compiled=False)


def test_loops_keep_how_they_run_until_they_are_lowered() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    sch.parallel(i)
    sch.unroll(k)
    sch.vectorize(sch.get_loops("D")[1])
    sch.add_unit_loop(j)
    kinds = [node.kind for node in walk(sch.func.body) if isinstance(node, For)]
    assert kinds.count(ForKind.PARALLEL) == kinds.count(ForKind.UNROLLED) == kinds.count(ForKind.VECTORIZED) == 1
    check(sch.func, inputs, expected)


def refused(sentence: str, step: object) -> None:
    with pytest.raises(BlockScheduleError) as error:
        step()  # type: ignore[operator]
    assert str(error.value) == sentence


def test_what_is_no_block_loop_or_function_of_blocks_is_refused() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    i, _, _ = sch.get_loops("C")
    refused("function 'main' has no block 'E'; its blocks are: root, C, D", lambda: sch.get_block("E"))
    refused("expected a block, sch.get_block(...), or its name, not 3", lambda: sch.get_loops(3))  # type: ignore[arg-type]
    refused(
        "expected a loop, for example one of sch.get_loops(block), not 'i'",
        lambda: sch.parallel("i"),  # type: ignore[arg-type]
    )
    refused("get_block: the schedule is of function 'main', not of 'f'", lambda: sch.get_block("C", "f"))
    sch.split(i, [None, 4])
    refused(
        "function 'main' has no loop 'i' any more: it was split, fused, or went with its block",
        lambda: sch.parallel(i),
    )
    refused("Schedule takes a function or a module, not int", lambda: Schedule(3))  # type: ignore[arg-type]
    plain = PrimFunc("main", (), ir_builder.create().get())
    refused(
        "function 'main' has no blocks; make it with te.create_prim_func, or put its body into a tir.Block",
        lambda: Schedule(plain),
    )
