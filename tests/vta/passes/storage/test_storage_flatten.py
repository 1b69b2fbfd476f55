"""Buffers become one-dimensional: where their elements lie, and what views of them may claim."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.compiler.te_programs import random_program, random_schedule
from tests.support.compiler.tir_build import alloc, buffer, function, host_load, loop, realize, store, thread
from vta import te
from vta.passes.storage.flat_buffer import FlattenError
from vta.passes.storage.storage_flatten import storage_flatten
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE, INT32
from vta.tir.expr import Builtin, Call, Expr, ExprLike, Var, convert
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, BufferStore, Evaluate, Stmt
from vta.tir.traverse import walk
from vta.tir.verify import verify

CONFIG = VTAConfig()


def flat(body: Stmt, *params: Buffer) -> Stmt:
    return storage_flatten(function(body, *params), CONFIG).body


def stores(stmt: Stmt) -> list[str]:
    """Target, index and value of every store, as text."""
    return [
        f"{node.buffer.name}[{to_text(node.indices[0])}] = {to_text(node.value)}"
        for node in walk(stmt)
        if isinstance(node, BufferStore)
    ]


def allocations(stmt: Stmt) -> dict[str, list[str]]:
    return {n.buffer_var.name: [to_text(e) for e in n.extents] for n in walk(stmt) if isinstance(n, Allocate)}


def test_more_elements_than_an_index_counts_are_refused() -> None:
    """A 2.5 GB tensor: the index of its last element would wrap to a negative one."""
    huge, out = buffer("X", [50000, 50000], "int8"), buffer("out", [1], "int8")
    with pytest.raises(FlattenError) as error:
        flat(store(out, host_load(huge, 49999, 49999), 0), huge, out)
    assert str(error.value) == (
        "the function: buffer 'X': expected at most 2147483647 elements, because indices are int32, got 2500000000 "
        "elements (50000 x 50000); split the tensor into several"
    )
    with pytest.raises(FlattenError) as error:
        flat(replace(realize(huge, [(0, 50000), (0, 50000)], store(huge, 1, 0, 0)), origin=Origin("X", "a.py:3")))
    assert str(error.value).startswith("stage 'X' (a.py:3): buffer 'X': expected at most 2147483647 elements")
    largest = buffer("Y", [(1 << 31) - 1], "int8")
    assert stores(flat(store(largest, 1, (1 << 31) - 2), largest)) == ["Y[2147483646] = 1i8"]


def tuple_of(*region: ExprLike) -> Expr:
    return Call(HANDLE, Builtin.TUPLE, tuple(convert(r) for r in region))


def bound(view: Buffer, target: Buffer, region: tuple[ExprLike, ...], body: Stmt) -> AttrStmt:
    return AttrStmt((view, target), AttrKey.BUFFER_BIND_SCOPE, tuple_of(*region), body)


def tile(rows: int = 1, columns: int = 16, **more: object) -> Buffer:
    """The view that the GEMM intrinsic has of its input."""
    options = {"scope": INP_SCOPE, "offset_factor": rows * columns, "data_alignment": rows * columns, **more}
    return decl_buffer((rows, columns), "int8", "view", **options)  # options of any kind


def use(view: Buffer) -> Stmt:
    return Evaluate(Call(INT32, Builtin.UOP_PUSH, (view.access_ptr("r", "int32"),)))


def pointers(stmt: Stmt) -> list[str]:
    """Data, offset, extent and mask of every access pointer, as text."""
    return [
        " ".join(to_text(arg).split(":")[0] for arg in node.args[1:])
        for node in walk(stmt)
        if isinstance(node, Call) and node.op is Builtin.ACCESS_PTR
    ]


def test_a_realised_region_is_an_allocation_of_its_size() -> None:
    a = buffer("A", (1, 64, 1, 16), "int8")
    local = buffer("A_buf", (1, 64, 1, 16), "int8", INP_SCOPE)
    o, i, c = (Var(name, INT32) for name in ("o", "i", "c"))
    copy = loop(i, 16, loop(c, 16, store(local, host_load(a, 0, i + o * 16, 0, c), 0, i + o * 16, 0, c)))
    body = flat(loop(o, 4, realize(local, [(0, 1), (o * 16, 16), (0, 1), (0, 16)], copy)), a)
    assert allocations(body) == {"A_buf": ["256"]}
    assert stores(body) == ["A_buf[((i*16) + c)] = A[(((o*256) + (i*16)) + c)]"]


def test_scratchpad_buffers_are_aligned_to_elements() -> None:
    local = buffer("A_buf", (4, 16), "int8", INP_SCOPE)
    body = flat(realize(local, [(0, 4), (0, 16)], store(local, 0, 0, 0)))
    (node,) = (n for n in walk(body) if isinstance(n, BufferStore))
    assert node.buffer.data_alignment == 16
    assert node.buffer.data is local.data


def test_parameters_are_one_dimensional_and_keep_their_declared_shape() -> None:
    a = buffer("A", (2, 3, 4))
    func = storage_flatten(function(store(a, 5, 1, 2, 3), a), CONFIG)
    (handle,) = func.params
    assert [to_text(e) for e in func.buffer_map[handle].shape] == ["24"]
    assert func.declared[handle] is a
    assert stores(func.body) == ["A[23] = 5"]


def test_an_allocation_that_a_person_wrote_gets_one_dimension() -> None:
    memory, n = buffer("M", [4, 6], "int32", "local"), Var("n")
    line = buffer("L", [n * 1 + 0], "int32", "local")
    body = alloc(line, alloc(memory, store(memory, 1, 2, 3), store(line, 2, 5)))
    assert allocations(flat(body)) == {"M": ["24"], "L": [to_text(line.shape[0])]}
    assert stores(flat(body)) == ["M[15] = 1", "L[5] = 2"]


def test_a_parameter_keeps_its_strides_and_offset() -> None:
    a = decl_buffer((4, 4), "int32", "A", strides=(10, 2), elem_offset=3)
    i, j = Var("i", INT32), Var("j", INT32)
    func = storage_flatten(function(loop(i, 4, loop(j, 4, store(a, 0, i, j))), a), CONFIG)
    assert stores(func.body) == ["A[(((i*10) + (j*2)) + 3)] = 0"]
    assert [to_text(b.shape[0]) for b in func.buffer_map.values()] == ["40"]


def test_a_parameter_that_begins_later_reaches_further() -> None:
    a = decl_buffer((4, 4), "int32", "A", elem_offset=3)
    i, j = Var("i", INT32), Var("j", INT32)
    func = storage_flatten(function(loop(i, 4, loop(j, 4, store(a, 0, i, j))), a), CONFIG)
    assert stores(func.body) == ["A[(((i*4) + j) + 3)] = 0"]
    assert [to_text(b.shape[0]) for b in func.buffer_map.values()] == ["19"]


def test_a_realised_parameter_is_no_allocation() -> None:
    a = buffer("A", (2, 3))
    assert allocations(flat(realize(a, [(0, 2), (0, 3)], store(a, 0, 1, 1)), a)) == {}


def test_strides_are_aligned_as_asked() -> None:
    local = buffer("L", (4, 10))
    i, j = Var("i", INT32), Var("j", INT32)
    nest = loop(i, 4, loop(j, 10, store(local, 0, i, j)))
    body = AttrStmt(local, AttrKey.STORAGE_ALIGN, tuple_of(0, 16, 3), realize(local, [(0, 4), (0, 10)], nest))
    result = flat(body)
    assert stores(result) == ["L[((i*19) + j)] = 0"]
    assert allocations(result) == {"L": ["76"]}


def test_a_view_is_the_region_that_it_is_bound_to() -> None:
    local, view = buffer("A_buf", (4, 64, 1, 16), "int8", INP_SCOPE), tile()
    o, k = Var("o", INT32), Var("k", INT32)
    inner = loop(k, 16, bound(view, local, (0, 1, o * 16 + k, 1, 0, 1, 0, 16), use(view)))
    body = flat(loop(o, 4, realize(local, [(0, 1), (o * 16, 16), (0, 1), (0, 16)], inner)))
    assert pointers(body) == ["A_buf (k*16) 16 1"]
    assert not any(isinstance(n, AttrStmt) for n in walk(body))


def test_loads_and_stores_through_a_view_are_those_of_the_region() -> None:
    local, view = buffer("L", (8, 4), "int32"), decl_buffer((4,), "int32", "view", offset_factor=4)
    k, c = Var("k", INT32), Var("c", INT32)
    body = loop(k, 8, bound(view, local, (k, 1, 0, 4), loop(c, 4, store(view, view.load(c) + 1, c))))
    assert stores(flat(realize(local, [(0, 8), (0, 4)], body))) == ["L[((k*4) + c)] = (L[((k*4) + c)] + 1)"]


def test_shape_and_stride_variables_of_a_view_are_bound() -> None:
    n, s = Var("n", INT32), Var("s", INT32)
    local = buffer("L", (8, 4), "int32")
    view = decl_buffer((2, n), "int32", "view", strides=(s, 1), offset_factor=1)
    body = bound(view, local, (3, 2, 0, 4), store(view, n + s, 1, 2))
    assert stores(flat(realize(local, [(0, 8), (0, 4)], body))) == ["L[18] = (4 + 4)"]


def test_virtual_threads_bound_their_variable() -> None:
    local, view = buffer("A_buf", (2, 16), "int8", INP_SCOPE), tile()
    t = Var("t", INT32)
    body = thread(t, 2, bound(view, local, (t, 1, 0, 16), use(view)))
    assert pointers(flat(realize(local, [(0, 2), (0, 16)], body))) == ["A_buf (t*16) 16 1"]


def refusal(body: Stmt) -> str:
    with pytest.raises(FlattenError) as caught:
        flat(body)
    return str(caught.value)


def bind_to(shape: tuple[int, ...], region: tuple[ExprLike, ...], view: Buffer, scope: str = INP_SCOPE) -> str:
    local = buffer("A_buf", shape, "int8", scope)
    attr = bound(view, local, region, use(view))
    origin = Origin("C_buf", "gemm.py:12")
    stamped = AttrStmt(attr.node, attr.key, attr.value, attr.body, origin)
    return refusal(realize(local, [(0, extent) for extent in shape], stamped))


def test_a_region_with_more_than_the_view_is_refused() -> None:
    assert bind_to((2, 4, 1, 16), (0, 1, 0, 2, 0, 1, 0, 16), tile()) == (
        "stage 'C_buf' (gemm.py:12): region of 'A_buf' bound to the view 'view': expected extents that end with "
        "(1, 16), 1 before that, got (1, 2, 1, 16); tensorize an axis below which the stage computes exactly what the "
        "intrinsic does"
    )


def test_a_region_of_fewer_dimensions_than_the_view_is_refused() -> None:
    assert (
        "region of 'A_buf' bound to the view 'view': expected extents that end with (1, 16), 1 before that, got (16)"
        in (bind_to((16,), (0, 16), tile()))
    )


def test_a_region_of_another_size_is_refused() -> None:
    assert bind_to((4, 8), (0, 1, 0, 8), tile()) == (
        "stage 'C_buf' (gemm.py:12): dimension 1 of 'A_buf' bound to the view 'view': expected 16, got 8"
    )


def test_a_region_in_another_memory_is_refused() -> None:
    assert bind_to((4, 16), (0, 1, 0, 16), tile(), scope=ACC_SCOPE) == (
        "stage 'C_buf' (gemm.py:12): memory of 'A_buf' bound to the view 'view': expected local.inp_buffer int8, "
        "got local.acc_buffer int8; set_scope('local.inp_buffer') and a dtype of int8 on that stage would fit"
    )


def test_a_region_that_is_not_contiguous_is_refused() -> None:
    assert bind_to((4, 32), (0, 2, 0, 16), tile(rows=2)) == (
        "stage 'C_buf' (gemm.py:12): stride of dimension 0 of 'A_buf' bound to the view 'view': expected 16, got 32; "
        "the region is not contiguous; order or split the producer's axes so that it is, or declare the intrinsic's "
        "buffer with strides, as in strides=[te.var('ld'), 1]"
    )


def test_an_offset_between_elements_is_refused() -> None:
    assert bind_to((4, 24), (0, 1, 4, 16), tile()) == (
        "stage 'C_buf' (gemm.py:12): offset of 'A_buf' bound to the view 'view': expected a multiple of 16, got 4; "
        "the tile must begin at a whole element of the scratchpad"
    )


def test_an_offset_must_be_that_of_the_declaration() -> None:
    view = decl_buffer((1, 16), "int8", "view", scope=INP_SCOPE)
    assert bind_to((4, 16), (2, 1, 0, 16), view) == (
        "stage 'C_buf' (gemm.py:12): offset of 'A_buf' bound to the view 'view': expected 0, got 32"
    )


def test_a_buffer_must_exist_where_it_is_used() -> None:
    assert refusal(store(buffer("ghost", (4,)), 0, 0)) == (
        "the function: buffer 'ghost' is used where it does not exist: expected a parameter of the function, or a "
        "realised buffer around the statement, got none"
    )


def test_the_number_of_indices_must_be_right() -> None:
    local = buffer("L", (4, 4))
    body = replace(store(local, 0, 1), origin=Origin("L"))
    assert refusal(realize(local, [(0, 4), (0, 4)], body)) == (
        "stage 'L': buffer 'L' is accessed with a wrong number of indices: expected 2, got 1"
    )


def test_storage_is_aligned_by_constants() -> None:
    local = buffer("L", (4, 4))
    body = AttrStmt(local, AttrKey.STORAGE_ALIGN, tuple_of(0, Var("n", INT32), 0), store(local, 0, 0, 0))
    assert refusal(body) == "the function: storage_align with a variable: expected constants, got n"


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program_computes_the_same_on_flat_buffers(seed: int) -> None:
    rng = Random(seed)
    program = random_program(rng)
    schedule = random_schedule(rng, program)
    func = te.schedule_to_func(schedule, [*(t for t, _ in program.inputs), program.output], "program")
    lowered = storage_flatten(func, CONFIG)
    verify(lowered)
    assert all(len(n.extents) == 1 for n in walk(lowered.body) if isinstance(n, Allocate))
    result = np.full(program.expected.size, 12345, np.int32)
    run_func(lowered, [*(v.reshape(-1) for _, v in program.inputs), result])
    np.testing.assert_array_equal(result, program.expected.reshape(-1))


def test_a_small_offset_factor_is_required_as_well() -> None:
    view = tile(offset_factor=2, data_alignment=1)
    assert bind_to((4, 24), (0, 1, 3, 16), view) == (
        "stage 'C_buf' (gemm.py:12): offset of 'A_buf' bound to the view 'view': expected a multiple of 2, got 3; "
        "the tile must begin at a whole element of the scratchpad"
    )
