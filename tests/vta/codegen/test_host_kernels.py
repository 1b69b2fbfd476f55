"""Runtime calls, micro-op kernels and origins in compiled host code."""

import struct

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from runtime.native.compiling import compile_object
from runtime.native.target import CodeTarget
from tests.support.runtime.host_call import FakeRuntime, call_host, defined_and_undefined, run_on
from vta.codegen.host import emit_host
from vta.codegen.llvm_types import CodegenError
from vta.tir.buffer import decl_buffer
from vta.tir.dtype import HANDLE, INT32, INT64, DType
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterKind, IterVar, StringImm, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, Evaluate, For, IfThenElse, LetStmt, Stmt, seq

AXIS = IterVar(None, Var("vta"), IterKind.THREAD_INDEX, "vta")
COMMAND = Call(HANDLE, Builtin.THREAD_CONTEXT, (Call(HANDLE, Builtin.COMMAND_HANDLE),))


def extern(name: str, *arguments: Expr | int) -> Stmt:
    """Return a call of the runtime."""
    values = [IntImm(a) if isinstance(a, int) else a for a in arguments]
    return Evaluate(Call(INT32, Builtin.CALL_EXTERN, (StringImm(name), *values)))


def op(builtin: Builtin, *arguments: Expr | int) -> Stmt:
    """Return an accelerator operation."""
    return Evaluate(Call(INT32, builtin, tuple(IntImm(a) if isinstance(a, int) else a for a in arguments)))


def kernel(body: Stmt, symbol: str = "VTAPushGEMMOp") -> Stmt:
    """Return ``body`` as a micro-op kernel."""
    return AttrStmt(AXIS, AttrKey.COPROC_UOP_SCOPE, StringImm(symbol), body)


def push(dst: Expr | int, src: Expr | int = 0) -> Stmt:
    """Return a GEMM micro-op."""
    return op(Builtin.UOP_PUSH, 0, 0, dst, src, 0, 0, 0, 0)


def function_of(body: Stmt, *scalars: Var) -> PrimFunc:
    """Return a function of scalars."""
    return PrimFunc("main", scalars, body, {})


def recorded(body: Stmt, *values: int, scalars: tuple[Var, ...] = ()) -> FakeRuntime:
    """Run ``body`` and return what the runtime saw."""
    runtime = FakeRuntime()
    assert call_host(function_of(body, *scalars), *values, runtime=runtime) is None
    return runtime


def test_each_operation_becomes_its_runtime_call() -> None:
    data = Var("A", HANDLE)
    a = decl_buffer((16,), "int8", "A", data)
    body = seq(
        [
            extern("VTASetDebugMode", COMMAND, 6),
            op(Builtin.COPROC_DEP_PUSH, 2, 1),
            op(Builtin.COPROC_DEP_POP, 2, 1),
            extern("VTALoadBuffer2D", COMMAND, data, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2),
            extern("VTAStoreBuffer2D", COMMAND, 9, 4, data, 1, 2, 3, 4),
            op(Builtin.COPROC_READ_BARRIER, data, 8, 0, 16),
            op(Builtin.COPROC_WRITE_BARRIER, data, 8, 4, 12),
            op(Builtin.COPROC_SYNC),
        ]
    )
    function = PrimFunc("main", (Var("A", HANDLE),), body, {})
    function = PrimFunc("main", (param := Var("A", HANDLE),), body, {param: a})
    runtime = FakeRuntime()
    array = np.zeros(16, np.int8)
    assert call_host(function, array, runtime=runtime) is None
    command, address = FakeRuntime.COMMAND, array.ctypes.data
    assert runtime.calls == [
        ("VTATLSCommandHandle",),
        ("VTASetDebugMode", command, 6),
        ("VTADepPush", command, 2, 1),
        ("VTADepPop", command, 2, 1),
        ("VTALoadBuffer2D", command, address, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2),
        ("VTAStoreBuffer2D", command, 9, 4, address, 1, 2, 3, 4),
        ("VTAReadBarrier", command, address, 8, 0, 16),
        ("VTAWriteBarrier", command, address, 8, 4, 12),
        ("VTASynchronize", command, 1 << 31),
    ]


def test_the_command_handle_is_asked_for_once() -> None:
    body = For(Var("i"), IntImm(0), IntImm(5), op(Builtin.COPROC_DEP_PUSH, 2, 1))
    names = [call[0] for call in recorded(body).calls]
    assert names == ["VTATLSCommandHandle", *["VTADepPush"] * 5]


def test_a_kernel_without_free_variables_has_no_signature() -> None:
    loop = seq([extern("VTAUopLoopBegin", 16, 1, 0, 0), push(0), extern("VTAUopLoopEnd")])
    runtime = recorded(kernel(loop))
    assert runtime.calls == [
        ("VTAPushGEMMOp", 0),
        ("VTAUopLoopBegin", 16, 1, 0, 0),
        ("VTAUopPush", 0, 0, 0, 0, 0, 0, 0, 0),
        ("VTAUopLoopEnd",),
    ]


@pytest.mark.parametrize("symbol", ["VTAPushGEMMOp", "VTAPushALUOp"])
def test_a_captured_loop_variable_is_the_signature(symbol: str) -> None:
    v = Var("v")
    runtime = recorded(For(v, IntImm(0), IntImm(3), kernel(push(v * 8), symbol)))
    assert [c for c in runtime.calls if c[0] == symbol] == [(symbol, 4)] * 3
    assert runtime.captured == [struct.pack("<i", value) for value in range(3)]
    assert [c[3] for c in runtime.calls if c[0] == "VTAUopPush"] == [0, 8, 16]


def test_any_number_of_variables_of_any_size_is_captured() -> None:
    names = [Var(f"v{k}") for k in range(9)]
    wide, short = Var("wide", INT64), Var("short", DType("int8"))
    total: Expr = names[0]
    for var in names[1:]:
        total = total * 3 + var
    body = kernel(seq([push(total), push(wide.astype("int32"), short.astype("int32"))]))
    body = LetStmt(wide, const(1 << 20, "int64"), LetStmt(short, const(-3, "int8"), body))
    runtime = FakeRuntime()
    values = [5, -1, 2, 7, 0, 3, 1, 9, 4]
    assert call_host(function_of(body, *names), *values, runtime=runtime) is None
    expected = 0
    for value in values:
        expected = expected * 3 + value
    assert [c[3:5] for c in runtime.calls if c[0] == "VTAUopPush"] == [(expected, 0), (1 << 20, -3)]
    assert runtime.captured == [struct.pack("<9i", *values)]


def test_what_memory_decided_is_captured_by_value() -> None:
    z = decl_buffer((4,), "int32", "z")
    t = Var("t")
    body = LetStmt(t, z.load(2), seq([BufferStore(z, IntImm(-1), (IntImm(2),)), kernel(push(t))]))
    param = Var("z", HANDLE)
    runtime = FakeRuntime()
    array = np.array([0, 0, 77, 0], np.int32)
    assert call_host(PrimFunc("main", (param,), body, {param: z}), array, runtime=runtime) is None
    assert runtime.captured == [struct.pack("<i", 77)]
    assert ("VTAUopPush", 0, 0, 77, 0, 0, 0, 0, 0) in runtime.calls


def test_a_hoisted_subexpression_does_not_change_the_signature() -> None:
    v, cse = Var("v"), Var("cse")
    plain = For(v, IntImm(0), IntImm(2), kernel(push(v * 8, v * 8 + 1)))
    hoisted = For(v, IntImm(0), IntImm(2), LetStmt(cse, v * 8, kernel(push(cse, cse + v))))
    alone = For(v, IntImm(0), IntImm(2), LetStmt(cse, v * 8, kernel(push(cse, cse + 1))))
    signatures = [struct.pack("<i", 0), struct.pack("<i", 1)]
    for body in (plain, hoisted, alone):
        assert recorded(body).captured == signatures


def test_a_variable_made_of_several_is_captured_itself() -> None:
    a, b, t = Var("a"), Var("b"), Var("t")
    runtime = recorded(LetStmt(t, a * 100 + b, kernel(push(t))), 3, 4, scalars=(a, b))
    assert runtime.captured == [struct.pack("<i", 304)]


def test_each_kernel_has_its_own_place() -> None:
    runtime = recorded(seq([kernel(push(0)), kernel(push(0)), For(Var("i"), IntImm(0), IntImm(2), kernel(push(0)))]))
    first, second, third, again = runtime.sites
    assert third == again
    assert len({first, second, third}) == 3


def test_conditions_and_loops_run_inside_a_kernel() -> None:
    n, i = Var("n"), Var("i")
    chosen = IfThenElse((i % 2 == 0).asexpr(), push(i), push(i + 100))
    runtime = recorded(kernel(For(i, IntImm(0), n, chosen)), 3, scalars=(n,))
    assert [c[3] for c in runtime.calls if c[0] == "VTAUopPush"] == [0, 101, 2]


def test_a_failure_inside_a_kernel_ends_the_function() -> None:
    n, m = Var("n"), Var("m")
    function = function_of(seq([kernel(push(n // m)), push(1)]), n, m)
    runtime = FakeRuntime()
    assert call_host(function, 6, 0, runtime=runtime) == "function 'main': the micro-op kernel could not be recorded"
    assert [c[0] for c in runtime.calls] == ["VTAPushGEMMOp"]


def test_an_argument_beyond_32_bits_is_an_error_and_not_cut() -> None:
    offset = Var("offset", INT64)
    z = decl_buffer((4,), "int64", "z")
    body = LetStmt(offset, z.load(0), op(Builtin.COPROC_DEP_PUSH, offset, 1))
    param = Var("z", HANDLE)
    function = PrimFunc("main", (param,), body, {param: z})
    for value, answer in ((5, None), (2**32 - 1, None), (-1, None), (2**32, "x"), (-(2**31) - 1, "x")):
        text = answer and "function 'main': argument 1 of VTADepPush does not fit 32 bits"
        assert call_host(function, np.array([value], np.int64), runtime=FakeRuntime()) == text


def test_the_origin_of_a_statement_is_told_before_each_runtime_call() -> None:
    load, gemm = Origin("A_buf", "gemm.py:3"), Origin("C_buf", "gemm.py:9")
    body = seq(
        [
            op(Builtin.COPROC_DEP_PUSH, 2, 1),
            For(Var("i"), IntImm(0), IntImm(2), op(Builtin.COPROC_DEP_POP, 2, 1), origin=load),
            AttrStmt(AXIS, AttrKey.COPROC_UOP_SCOPE, StringImm("VTAPushGEMMOp"), push(0), gemm),
            op(Builtin.COPROC_SYNC),
        ]
    )
    program = emit_host([function_of(body)], VTAConfig())
    runtime = FakeRuntime()
    assert run_on(program, "main", [], runtime) is None
    table = program.metadata.origins
    seen = [None if index < 0 else table[index] for index in runtime.origins[1:]]  # the first asked for the handle
    assert seen == [None, load, load, gemm, gemm, None]


def test_a_saved_object_needs_exactly_the_runtime_functions_that_it_calls() -> None:
    data = Var("A", HANDLE)
    a = decl_buffer((16,), "int8", "A", data)
    loop = seq([extern("VTAUopLoopBegin", 16, 1, 0, 0), push(0), extern("VTAUopLoopEnd")])
    body = seq(
        [
            kernel(loop),
            op(Builtin.COPROC_DEP_PUSH, 2, 1),
            op(Builtin.COPROC_DEP_POP, 2, 1),
            extern("VTALoadBuffer2D", COMMAND, data, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2),
            extern("VTAStoreBuffer2D", COMMAND, 9, 4, data, 1, 2, 3, 4),
            op(Builtin.COPROC_SYNC),
        ]
    )
    program = emit_host([PrimFunc("my_gemm", (param := Var("A", HANDLE),), body, {param: a})], VTAConfig())
    for level in (0, 2):
        defined, undefined = defined_and_undefined(compile_object(program.source, CodeTarget(level=level)))
        assert defined == {"my_gemm", "__vta_origin", "__vta_metadata"}
        assert undefined == {
            "VTADepPop", "VTADepPush", "VTALoadBuffer2D", "VTAPushGEMMOp", "VTAStoreBuffer2D", "VTASynchronize",
            "VTATLSCommandHandle", "VTAUopLoopBegin", "VTAUopLoopEnd", "VTAUopPush",
        }  # fmt: skip


def test_the_same_function_gives_the_same_bytes() -> None:
    def data() -> bytes:
        v = Var("v")
        body = For(v, IntImm(0), IntImm(2), kernel(push(v)), origin=Origin("C", "c.py:1"))
        return compile_object(emit_host([function_of(body)], VTAConfig()).source, CodeTarget())

    assert data() == data()


def refused(body: Stmt) -> str:
    """Return the text with which code generation refuses ``body``."""
    with pytest.raises(CodegenError) as error:
        emit_host([function_of(body)], VTAConfig())
    return str(error.value)


def test_calls_that_do_not_fit_the_c_api_are_refused() -> None:
    assert refused(kernel(push(0), "VTAPushAnyOp")) == (
        "function 'main': micro-ops are pushed through VTAPushGEMMOp or VTAPushALUOp, not 'VTAPushAnyOp'"
    )
    assert refused(extern("VTAUopLoopBegin", 1, 2)) == "function 'main': VTAUopLoopBegin takes 4 arguments, not 2"
    assert refused(extern("VTASetDebugMode", 1, 2)) == (
        "function 'main': argument 0 of VTASetDebugMode is int32, not ptr"
    )
    twice = seq([extern("abs", 1), extern("abs", const(1, "int64"))])
    assert refused(twice) == "'abs' is called with different argument types: i32 (i32)"
