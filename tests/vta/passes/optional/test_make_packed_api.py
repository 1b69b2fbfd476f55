"""Functions with packed arguments: compiled, and called as C would."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.runtime.host_call import run_on
from vta import te, tir_passes
from vta.build_module import lower, lower_generic
from vta.codegen.host import HostProgram, emit_host
from vta.environment import get_env
from vta.passes.optional.make_packed_api import PackedError, make_packed_api
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.calls import ret
from vta.tir.dtype import HANDLE
from vta.tir.expr import Broadcast, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import AssertStmt, BufferStore, Evaluate, LetStmt
from vta.tir.traverse import walk
from vta.tir.verify import verify

TENSOR = np.dtype([
    ("data", "u8"), ("device", "i4", 2), ("ndim", "i4"), ("code", "u1"), ("bits", "u1"), ("lanes", "u2"),
    ("shape", "u8"), ("strides", "u8"), ("byte_offset", "u8"),
])  # fmt: skip
"""DLPack's ``DLTensor``."""

ARRAY, INT, FLOAT = 7, 0, 2


@dataclass
class Call:
    """What a C program would pass, and keep alive meanwhile."""

    program: HostProgram
    values: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    result: Any = field(default_factory=lambda: np.full(1, -1, np.int64))
    result_code: Any = field(default_factory=lambda: np.full(1, -1, np.int32))

    def array(self, values: np.ndarray, *, strides: bool = False, **others: Any) -> "Call":
        """Add an array; ``others`` are fields that are not as they should be."""
        tensor = np.zeros(1, TENSOR)
        sizes = np.array(values.shape, np.int64)
        steps = np.array(values.strides, np.int64) // values.itemsize
        kind = {"i": 0, "u": 1, "f": 2}[values.dtype.kind]
        tensor[0] = (values.ctypes.data, (1, 0), values.ndim, kind, values.itemsize * 8, 1, sizes.ctypes.data, 0, 0)
        if strides:
            tensor["strides"] = steps.ctypes.data
        for name, value in others.items():
            tensor[name] = value
        self.kept += [values, tensor, sizes, steps]
        return self.number(tensor.ctypes.data, ARRAY)

    def number(self, bits: int, code: int) -> "Call":
        """Add an argument of 64 bits."""
        self.values.append(bits)
        self.codes.append(code)
        return self

    def run(self) -> str | None:
        """Call the function; return its failure, if any."""
        values, codes = np.array(self.values, np.int64), np.array(self.codes, np.int32)
        count = len(self.values)
        arguments = [values, codes, count, self.result, self.result_code, np.zeros(1)]
        return run_on(self.program, "main", arguments, level=0)


def packed(func: PrimFunc) -> HostProgram:
    """Return the compiled function in the packed convention."""
    return emit_host([verify(make_packed_api(func, VTAConfig()))], VTAConfig())


@pytest.fixture(scope="module")
def scaled_rows() -> HostProgram:
    """C[i, j] = A[i, j] * b[j] + k for any number of rows."""
    n, k = te.var("n"), te.var("k")
    a, b = te.placeholder((n, 4), name="A", dtype="int16"), te.placeholder((4,), name="b", dtype="int16")
    c = te.compute((n, 4), lambda i, j: a[i, j] * b[j] + k.astype("int16"), name="C")
    return packed(lower_generic(te.create_schedule(c.op), [a, b, k, c])["main"])


A = np.arange(12, dtype=np.int16).reshape(3, 4)
B = np.array([1, -2, 3, 4], np.int16)


@pytest.mark.parametrize("strides", [False, True])
def test_a_packed_function_computes_what_it_did(scaled_rows: HostProgram, *, strides: bool) -> None:
    out = np.zeros_like(A)
    call = Call(scaled_rows).array(A, strides=strides).array(B).number(7, INT).array(out, strides=strides)
    assert call.run() is None
    assert np.array_equal(out, A * B + 7)


WRONG = {
    "expected 4 arguments": lambda call: call.number(0, INT),
    "argument 'k': expected an integer": lambda call: call.codes.__setitem__(2, FLOAT),
    "argument 'k' does not fit int32": lambda call: call.values.__setitem__(2, 1 << 40),
    "argument 'A': expected an array": lambda call: call.codes.__setitem__(0, INT),
    "argument 'A' is null; expected an array": lambda call: call.values.__setitem__(0, 0),
    "argument 'A': expected 2 dimensions": {"ndim": 1},
    "argument 'A': expected int16": {"bits": 32},
    "argument 'A' is not in host memory": {"device": (2, 0)},
    "argument 'A' begins beside its memory's first byte": {"byte_offset": 2},
    "argument 'A' has no memory": {"data": 0},
    "argument 'A': dimension 1 is not 4": A[:, :3].copy(),
    "argument 'C': dimension 0 does not fit the other arguments": A[:2].copy(),
    "argument 'A' is not row by row in memory": np.asfortranarray(A),
    "argument 'b' lies on another device than 'A'; put them on one": None,
}


@pytest.mark.parametrize("message", WRONG)
def test_what_the_function_cannot_take_is_refused(scaled_rows: HostProgram, message: str) -> None:
    wrong = WRONG[message]
    first = wrong if isinstance(wrong, np.ndarray) else A
    fields = wrong if isinstance(wrong, dict) else {}
    call = Call(scaled_rows).array(first, strides=True, **fields)
    call.array(B, **({"device": (1, 1)} if wrong is None else {})).number(7, INT).array(np.zeros_like(A))
    if callable(wrong):
        wrong(call)
    assert call.run() == f"function 'main': {message}"


def test_results_go_where_the_caller_wants_them() -> None:
    x = Var("x", "float32")
    given = packed(PrimFunc([x], Evaluate(ret(x * 2))))
    for bits, code in ((np.float64(1.25).view(np.int64), FLOAT), (3, INT)):
        call = Call(given).number(int(bits), code)
        assert call.run() is None
        assert (call.result.view(np.float64)[0], call.result_code[0]) == (2.5 if code == FLOAT else 6, FLOAT)
    call = Call(packed(PrimFunc([], Evaluate(ret(-3)))))
    assert call.run() is None
    assert (call.result[0], call.result_code[0]) == (-3, INT)


def test_strides_and_offsets_of_an_argument_are_bound() -> None:
    step, begin = Var("step"), Var("begin")
    column = decl_buffer((3,), "int32", name="column", strides=[step], elem_offset=begin)
    out = decl_buffer((2,), "int32", name="out")
    body = BufferStore(out, column.load(2) + step * 1000, (te.const(0),))
    program = packed(PrimFunc([column, out], body))
    values, result = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros(2, np.int32)
    assert Call(program).array(values[:, 0], strides=True, byte_offset=8).array(result).run() is None
    assert result[0] == values[2, 2] + 4000
    assert Call(program).array(values.ravel()[:3]).array(result).run() is None
    assert result[0] == values[0, 2] + 1000, "strides that are null are those of rows"
    wrong = Call(program).array(values[:, 0], strides=True, byte_offset=3).array(result).run()
    assert wrong == "function 'main': argument 'column' begins within an element"


def test_the_ir_has_what_upstreams_tests_look_for() -> None:
    buffer, pointer = decl_buffer((1,), name="input_buffer"), Var("context", HANDLE)
    module = IRModule({"main": PrimFunc([buffer, pointer], BufferStore(buffer, te.const(1.0), (te.const(0),)))})
    func = tir_passes.MakePackedAPI()(module)["main"]
    assert [p.name for p in func.params] == [
        "args", "arg_type_ids", "num_args", "out_ret_value", "out_ret_tcode", "resource_handle"
    ]  # fmt: skip
    assert isinstance(func.body, AssertStmt)
    assert str(func.body.condition) == "(num_args == 2)"
    values = {node.var.name: str(node.value) for node in walk(func.body) if isinstance(node, LetStmt)}
    assert values["arg.input_buffer"] == "@tir.tvm_struct_get(args, 0, 12, dtype=handle)"
    assert values["arg.context"] == "@tir.tvm_struct_get(args, 1, 12, dtype=handle)"
    assert values["input_buffer"] == "@tir.tvm_struct_get(arg.input_buffer, 0, 1, dtype=handle)"
    assert values["context"] == "arg.context"
    assert func.attrs["calling_conv"] == 1
    assert tir_passes.MakePackedAPI()(IRModule({"main": func}))["main"] is func


def test_arrays_of_the_accelerator_lie_in_its_memory() -> None:
    env = get_env()
    shape = (4, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
    buf = te.compute(shape, lambda *i: a(*i), "A_buf")
    b = te.compute(shape, lambda *i: buf(*i).astype(env.inp_dtype), "B")
    s = te.create_schedule(b.op)
    s[buf].set_scope(env.acc_scope)
    s[buf].pragma(s[buf].op.axis[0], env.dma_copy)
    s[b].pragma(s[b].op.axis[0], env.dma_copy)
    program = packed(lower(s, [a, b])["main"])
    zeros = [np.zeros(shape, np.int32), np.zeros(shape, np.int8)]
    for device, failure in ((1, "function 'main': argument 'A' is not in device memory"), (12, None)):
        call = Call(program)
        for values in zeros:
            call.array(values, device=(device, 0))
        assert call.run() == failure


def test_what_has_no_place_among_packed_arguments_is_refused() -> None:
    lanes = Var("x", "int32x4")
    nibbles = decl_buffer((4,), "int4", name="nibbles", elem_offset=Var("begin"))
    some = decl_buffer((1,), "int32", name="A")
    for params, value, text in (
        ([lanes], te.const(1), "argument 'x': expected a number, a pointer or an array, got int32x4"),
        ([nibbles], te.const(1), "argument 'nibbles' has an offset: expected elements of whole bytes, got int4"),
        ([some], Broadcast(te.const(1), 4), "what the function gives: expected one number or pointer, got int32x4"),
    ):
        taken: list[Var | Buffer] = params  # type: ignore[assignment]  # either
        func = PrimFunc(taken, Evaluate(ret(value)))  # type: ignore[arg-type]  # in TVM's order
        with pytest.raises(PackedError) as error:
            make_packed_api(func, VTAConfig())
        assert str(error.value) == f"the function: {text}"
