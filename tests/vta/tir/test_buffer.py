"""Buffers: offsets, views, access pointers."""

from collections.abc import Callable

import pytest

from vta.tir.buffer import Access, decl_buffer, is_global
from vta.tir.expr import Call, ExprError, Var, const

i, j, n = Var("i"), Var("j"), Var("n")
A = decl_buffer((4, n, 8), "int8", "A")


def test_a_buffer_is_row_major_unless_it_has_strides() -> None:
    assert [str(s) for s in A.element_strides] == ["(8*n)", "8", "1"]
    assert str(A.offset_of((i, j, 3))) == "(((i*(8*n)) + (j*8)) + 3)"
    strided = decl_buffer((4, 8), "int8", "B", strides=[n, 1], elem_offset=16)
    assert str(strided.offset_of((i, j))) == "((16 + (i*n)) + j)"


def test_what_is_not_said_has_tvms_defaults() -> None:
    assert A.scope == "global"
    assert A.data_alignment == 64
    assert A.offset_factor == 1
    assert A.elem_offset == 0
    assert A.data.pointer is not None
    assert (A.data.pointer.element, A.data.pointer.scope) == ("int8", "global")
    view = decl_buffer((1, 16), "int32", "view", scope="local.acc_buffer", data_alignment=16, offset_factor=16)
    assert str(view.elem_offset) == "view_elem_offset"
    assert (view.data_alignment, view.offset_factor) == (16, 16)
    assert view.data.pointer is not None
    assert view.data.pointer.scope == "local.acc_buffer"


def test_two_buffers_may_share_their_memory() -> None:
    other = decl_buffer((4,), "int8", "B", data=A.data)
    assert other.data is A.data
    assert other != A
    assert A == A  # equality of a buffer with itself is the claim
    assert len({A, other}) == 2


def test_global_memory_has_two_names() -> None:
    assert is_global("")
    assert is_global("global")
    assert not is_global("local.acc_buffer")


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        (
            decl_buffer((1, 16), "int32", "acc", scope="local.acc_buffer", offset_factor=16).access_ptr("rw", "int32"),
            "@tir.tvm_access_ptr(@tir.type_annotation(, dtype=int32), acc, acc_elem_offset, 16, 3, dtype=int32)",
        ),
        (
            A.access_ptr("r", offset=8),
            "@tir.tvm_access_ptr(@tir.type_annotation(, dtype=int8), A, 8, (((4*n)*8) - 8), 1, dtype=handle)",
        ),
        (
            A.access_ptr(Access.WRITE, "int32", content_lanes=8, offset=16),
            "@tir.tvm_access_ptr(@tir.type_annotation(, dtype=int8x8), A, 2, floordiv((((4*n)*8) - 16), 8), 2, "
            "dtype=int32)",
        ),
    ],
)
def test_an_access_pointer_tells_type_start_extent_and_use(pointer: object, expected: str) -> None:
    assert str(pointer) == expected


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: A.load(i), "buffer 'A' has 3 dimensions, not 1"),
        (lambda: A.offset_of((i, j)), "buffer 'A' has 3 dimensions, not 2"),
        (lambda: A.access_ptr("x"), "access_mask is 'r', 'w' or 'rw', not 'x'"),
        (lambda: A.access_ptr(""), "access_mask is 'r', 'w' or 'rw', not ''"),
    ],
)
def test_wrong_accesses_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ExprError) as caught:
        build()
    assert str(caught.value) == message


def test_a_load_has_converted_indices() -> None:
    assert str(A.load(i, 3, j + 1)) == "A[i, 3, (j + 1)]"
    assert A.load(i, 3, j).indices[1] == const(3)


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "extent"),
    [
        ((4, 5), None, 0, 20), ((4, 5), None, 7, 13), ((4, 5), [6, 1], 0, 24), ((4, 5), [6, 1], 6, 18),
        ((4, 5), [1, 4], 0, 20), ((4, 5), [0, 1], 0, 5), ((), None, 0, 1), ((3,), [2], 4, 2),
    ],
)  # fmt: skip
def test_an_access_pointer_reaches_to_the_end_of_the_buffer(
    shape: tuple[int, ...], strides: list[int] | None, offset: int, extent: int
) -> None:
    pointer = decl_buffer(shape, "int32", strides=strides).access_ptr("r", offset=offset)
    assert isinstance(pointer, Call)
    assert (int(pointer.args[2]), int(pointer.args[3])) == (offset, extent)
