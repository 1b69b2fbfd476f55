"""Let a function take packed arguments: arrays of values and of their types, from which it unpacks its own.

Before::

    @main = primfn(A: handle, n: int32) -> ()
      buffers = {A_1: Buffer(A_2: Pointer(float32), float32, [n], [])}
      A_1[0] = 1f

After, shortened::

    @main = primfn(args: handle, arg_type_ids: handle, num_args: int32, out_ret_value: handle, out_ret_tcode: handle,
                   resource_handle: handle) -> ()
      assert((num_args == 2), "expected 2 arguments")
      let arg.A: handle = tvm_struct_get(args, 0, 12)
      let arg.A.code: int32 = arg_type_ids[0]
      assert((arg.A.code is an array's), "argument 'A': expected an array")
      let arg.n: int64 = tvm_struct_get(args, 1, 12)
      ...
      let n: int32 = cast(int32, arg.n)
      assert((tvm_struct_get(arg.A, 0, 4) == 1), "argument 'A': expected 1 dimension")
      assert((the type is float32), "argument 'A': expected float32")
      let A: handle = tvm_struct_get(arg.A, 0, 1)
      let arg.A.shape: handle = tvm_struct_get(arg.A, 0, 2)
      ...
      assert((arg.A.shape[0] == cast(int64, n)), "argument 'A': dimension 0 does not fit the other arguments")
      A_1[0] = 1f
      ret(0)

What is asked is what compiled functions ask of their arguments anyway: number, kinds, types, shapes, the device. Sizes
that no argument gives come from shapes. ``tir.ret`` becomes a result in ``out_ret_value``. Lowering itself passes plain
arguments; the pass is for scripts that want the function of TVM's signature.
Tests: tests/vta/passes/optional/test_make_packed_api.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import reduce
from operator import mul

from isa.config import VTAConfig
from vta.passes.errors import PassError
from vta.tir.buffer import Buffer, size_variable
from vta.tir.calls import ret
from vta.tir.dtype import BOOL, HANDLE, INT32, INT64, DType, Kind
from vta.tir.expr import EQ, And, Builtin, Call, Cast, Expr, IntImm, Not, Or, PointerType, StringImm, Var, binary, const
from vta.tir.expr.struct_fields import StructField, is_null, struct_get, struct_set
from vta.tir.func import CALLING_CONVENTION, PACKED, PrimFunc
from vta.tir.ops import if_then_else
from vta.tir.stmt import AssertStmt, AttrStmt, BufferStore, Evaluate, LetStmt, Stmt, seq
from vta.tir.traverse import map_stmt, walk

__all__ = ["PackedError", "make_packed_api"]

_CPU, _EXT_DEV = 1, 12
"""DLPack's numbers of the devices that memory of arguments lies on."""


class TypeCode(IntEnum):
    """What a packed argument, or result, is."""

    INT = 0
    FLOAT = 2
    OPAQUE_HANDLE = 3
    NULL = 4
    ARRAY = 7
    ND_ARRAY = 13


_KINDS = {Kind.INT: 0, Kind.UINT: 1, Kind.BOOL: 1, Kind.FLOAT: 2, Kind.HANDLE: 3}
"""DLPack's codes of kinds of numbers."""

_ARRAYS = (TypeCode.ARRAY, TypeCode.ND_ARRAY, TypeCode.OPAQUE_HANDLE)
_POINTERS = (*_ARRAYS, TypeCode.NULL)
_FLOAT64, _UINT64 = DType("float64"), DType("uint64")


class PackedError(PassError):
    """A function that cannot take packed arguments."""


def make_packed_api(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` in the packed calling convention; one that is in it already comes back as it is.

    Raises ``PackedError`` for parameters and results that are no numbers, pointers or arrays of bytes.
    """
    return func if func.is_packed else _Packing(func).done()


def _pointer_to(name: str, dtype: DType, size: int) -> Buffer:
    return Buffer(name, Var(name, HANDLE, PointerType(dtype)), dtype, (const(max(size, 1)),))


def _equal(a: Expr, b: Expr | int) -> Expr:
    return binary(EQ, a, const(b, a.dtype) if isinstance(b, int) else b)


def _all(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: binary(And, a, b), conditions)


def _any(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: binary(Or, a, b), conditions)


def _wide(expr: Expr) -> Expr:
    return const(expr.value, INT64) if isinstance(expr, IntImm) else expr if expr.dtype == INT64 else Cast(INT64, expr)


@dataclass(slots=True)
class _Packing:
    """The new function: ``around`` has what stands around the body, the outermost first; ``last`` what comes last."""

    func: PrimFunc
    args: Var = field(default_factory=lambda: Var("args", HANDLE))
    num_args: Var = field(default_factory=lambda: Var("num_args", INT32))
    out_ret_value: Var = field(default_factory=lambda: Var("out_ret_value", HANDLE))
    out_ret_tcode: Buffer = field(default_factory=lambda: _pointer_to("out_ret_tcode", INT32, 1))
    around: list[Callable[[Stmt], Stmt]] = field(default_factory=list)
    last: list[Callable[[Stmt], Stmt]] = field(default_factory=list)
    defined: set[Var] = field(default_factory=set)
    device: tuple[Var, Var, str] | None = None

    def done(self) -> PrimFunc:
        """Return the function."""
        func, count = self.func, len(self.func.params)
        codes = _pointer_to("arg_type_ids", INT32, count)
        self.require(_equal(self.num_args, count), f"expected {count} argument{'s' * (count != 1)}")
        raw = [self._argument(place, param, codes) for place, param in enumerate(func.params)]
        for param, value in zip(func.params, raw, strict=True):
            if param not in func.buffer_map:
                self._scalar(param, value)
        for param, value in zip(func.params, raw, strict=True):
            if param in func.buffer_map:
                _Array(self, func.declared.get(param, func.buffer_map[param]), param, value).unpack()
        body = map_stmt(func.body, self._given)
        body = seq([AttrStmt(None, "compute_scope", StringImm(f"{func.name}_compute_"), body), Evaluate(ret(0))])
        for wrap in reversed([*self.around, *self.last]):
            body = wrap(body)
        outputs = (self.out_ret_value, self.out_ret_tcode.data, Var("resource_handle", HANDLE))
        attrs = {**func.attrs, CALLING_CONVENTION: PACKED}
        return PrimFunc(func.name, (self.args, codes.data, self.num_args, *outputs), body, {}, attrs)

    def require(self, condition: Expr, message: str, *, late: bool = False) -> None:
        """Ask for ``condition``: here, or after all variables have their values."""
        text = StringImm(message)
        (self.last if late else self.around).append(lambda body: AssertStmt(condition, text, body))

    def define(self, var: Var, value: Expr) -> Var:
        """Give ``var`` its value from here on."""
        self.around.append(lambda body: LetStmt(var, value, body))
        self.defined.add(var)
        return var

    def bind(self, expr: Expr, value: Expr, what: str, misfit: str) -> None:
        """Let ``expr`` be ``value`` (int64): defined by it if it is a variable without a value, else compared."""
        named = size_variable(expr)
        if named is None or named in self.defined:
            self.require(_equal(value, _wide(expr)), f"{what} {misfit}", late=True)
            return
        self._fitting(named, value, what)

    def _fitting(self, var: Var, value: Expr, what: str) -> None:
        """Define an integer variable by ``value`` (int64), which must fit its type."""
        if var.dtype == INT64:
            self.define(var, value)
            return
        self.define(var, Cast(var.dtype, value))
        self.require(_equal(Cast(INT64, var), value), f"{what} does not fit {var.dtype}")

    def _argument(self, place: int, param: Var, codes: Buffer) -> Expr:
        """Take argument ``place`` out of the arrays; return it with 64 bits."""
        code = Var(f"arg.{param.name}.code", INT32)
        what = f"argument {param.name!r}"
        if param.dtype == HANDLE:
            pointer = struct_get(HANDLE, self.args, place, StructField.VALUE)
            value = self.define(Var(f"arg.{param.name}", HANDLE), pointer)
            self.define(code, codes.load(place))
            is_array = param in self.func.buffer_map
            allowed, kind = (_ARRAYS, "an array") if is_array else (_POINTERS, "a pointer")
            self.require(_any([_equal(code, int(known)) for known in allowed]), f"{what}: expected {kind}")
            return value
        if param.dtype.lanes != 1:
            raise PackedError(what, expected="a number, a pointer or an array", got=str(param.dtype))
        self.define(code, codes.load(place))
        number = struct_get(INT64, self.args, place, StructField.VALUE)
        is_int = _equal(code, int(TypeCode.INT))
        if not param.dtype.is_float:
            self.require(is_int, f"{what}: expected an integer")
            return self.define(Var(f"arg.{param.name}", INT64), number)
        self.require(_any([_equal(code, int(TypeCode.FLOAT)), is_int]), f"{what}: expected a number")
        real = struct_get(_FLOAT64, self.args, place, StructField.VALUE)
        return self.define(Var(f"arg.{param.name}", _FLOAT64), if_then_else(is_int, Cast(_FLOAT64, number), real))

    def _scalar(self, param: Var, value: Expr) -> None:
        if param.dtype in (HANDLE, _FLOAT64):
            self.define(param, value)
        elif param.dtype.is_float:
            self.define(param, Cast(param.dtype, value))
        else:
            self._fitting(param, value, f"argument {param.name!r}")

    def _given(self, stmt: Stmt) -> Stmt:
        """Return the end of the function with its result where the caller wants it."""
        match stmt:
            case Evaluate(value=Call(op=Builtin.RET, args=(value,))):
                return seq(self._result(value))
            case _:
                return stmt

    def _result(self, value: Expr) -> list[Stmt]:
        if value.dtype.lanes != 1:
            raise PackedError("what the function gives", expected="one number or pointer", got=str(value.dtype))
        if value.dtype == HANDLE:
            code, wide = TypeCode.OPAQUE_HANDLE, value
        elif value.dtype.is_float:
            code, wide = TypeCode.FLOAT, value if value.dtype == _FLOAT64 else Cast(_FLOAT64, value)
        else:
            code, wide = TypeCode.INT, _wide(value)
        return [
            Evaluate(struct_set(self.out_ret_value, 0, StructField.VALUE, wide)),
            BufferStore(self.out_ret_tcode, const(int(code)), (const(0),)),
            Evaluate(ret(0)),
        ]


@dataclass(slots=True)
class _Array:
    """An argument that is an array: the ``DLTensor`` at ``handle`` must be as ``buffer`` says."""

    packing: _Packing
    buffer: Buffer
    param: Var
    handle: Expr

    @property
    def what(self) -> str:
        return f"argument {self.param.name!r}"

    def field(self, dtype: DType, which: StructField) -> Expr:
        """Return a field of the struct."""
        return struct_get(dtype, self.handle, 0, which)

    def unpack(self) -> None:
        """Ask for what the struct must have, and give the buffer's memory and sizes their values."""
        buffer, packing, rank = self.buffer, self.packing, len(self.buffer.shape)
        packing.require(Not(is_null(self.handle)), f"{self.what} is null; expected an array")
        ndim = self.field(INT32, StructField.ARRAY_NDIM)
        packing.require(_equal(ndim, rank), f"{self.what}: expected {rank} dimension{'s' * (rank != 1)}")
        packing.require(self._has_type(), f"{self.what}: expected {buffer.dtype}")
        packing.define(buffer.data, self.field(HANDLE, StructField.ARRAY_DATA))
        name = f"arg.{self.param.name}"
        shape, strides = (_pointer_to(f"{name}.{part}", INT64, rank) for part in ("shape", "strides"))
        packing.define(shape.data, self.field(HANDLE, StructField.ARRAY_SHAPE))
        sizes = [shape.load(dim) for dim in range(rank)]
        for dim, extent in enumerate(buffer.shape):
            misfit = f"is not {extent}" if isinstance(extent, IntImm) else "does not fit the other arguments"
            packing.bind(extent, sizes[dim], f"{self.what}: dimension {dim}", misfit)
        packing.define(strides.data, self.field(HANDLE, StructField.ARRAY_STRIDES))
        self._steps(sizes, strides)
        self._offset()
        self._device()
        empty = _any([_equal(size, 0) for size in sizes] or [const(False, "bool")])
        packing.require(_any([empty, Not(is_null(buffer.data))]), f"{self.what} has no memory")

    def _has_type(self) -> Expr:
        dtype = self.buffer.dtype
        parts = (
            (DType("uint8"), StructField.ARRAY_TYPE_CODE, _KINDS[dtype.kind]),
            (DType("uint8"), StructField.ARRAY_TYPE_BITS, 1 if dtype == BOOL else dtype.bits),
            (DType("uint16"), StructField.ARRAY_TYPE_LANES, dtype.lanes),
        )
        return _all([_equal(self.field(kind, which), value) for kind, which, value in parts])

    def _steps(self, sizes: Sequence[Expr], strides: Buffer) -> None:
        """Compare or bind strides; without any, an array is row-major, and its strides may be null."""
        rank, plain = len(sizes), is_null(strides.data)
        compact = [reduce(mul, sizes[dim + 1 :], const(1, INT64)) for dim in range(rank)]
        if self.buffer.strides:
            for dim, stride in enumerate(self.buffer.strides):
                value = if_then_else(plain, compact[dim], strides.load(dim))
                self.packing.bind(stride, value, f"{self.what}: stride {dim}", "is not the one that is expected")
            return
        fits = [_any([_equal(sizes[dim], 1), _equal(strides.load(dim), compact[dim])]) for dim in range(rank)]
        if fits:
            self.packing.require(_any([plain, _all(fits)]), f"{self.what} is not row by row in memory")

    def _offset(self) -> None:
        offset, dtype = self.buffer.elem_offset, self.buffer.dtype
        found = Cast(INT64, self.field(_UINT64, StructField.ARRAY_BYTE_OFFSET))
        step, rest = divmod(dtype.bits * dtype.lanes, 8)
        if isinstance(offset, IntImm) and offset.value == 0:
            self.packing.require(_equal(found, 0), f"{self.what} begins beside its memory's first byte")
            return
        if rest:
            raise PackedError(f"{self.what} has an offset", expected="elements of whole bytes", got=str(dtype))
        bytes_ = const(step, INT64)
        self.packing.require(_equal(found % bytes_, 0), f"{self.what} begins within an element")
        self.packing.bind(offset, found // bytes_, f"{self.what}: the offset", "is not the one that is expected")

    def _device(self) -> None:
        kind, number = (
            self.field(INT32, which) for which in (StructField.ARRAY_DEVICE_TYPE, StructField.ARRAY_DEVICE_ID)
        )
        if self.packing.device is not None:
            first_kind, first_number, other = self.packing.device
            on_one = _all([_equal(kind, first_kind), _equal(number, first_number)])
            self.packing.require(on_one, f"{self.what} lies on another device than {other!r}; put them on one")
            return
        names = Var("dev_type", INT32), Var("dev_id", INT32)
        self.packing.define(names[0], kind)
        self.packing.define(names[1], number)
        self.packing.device = (*names, self.param.name)
        device, text = (_EXT_DEV, "device") if _uses_accelerator(self.packing.func) else (_CPU, "host")
        self.packing.require(_equal(names[0], device), f"{self.what} is not in {text} memory")


def _uses_accelerator(func: PrimFunc) -> bool:
    """Whether the function asks anything of the accelerator."""
    calls = (node.op for node in walk(func.body) if isinstance(node, Call))
    return any(op.is_ordered or op is Builtin.COMMAND_HANDLE for op in calls)
