"""Running a function on numpy arrays: the truth that lowering and passes are tested against.

A function is turned into Python source and executed. It may be at any stage before the VTA intrinsics: realised or
allocated buffers, multi-dimensional or flat; pragmas and scopes are transparent, virtual threads run one after the
other. Memory that was never written is poison: computing with it is an error, and so is every index out of range.

Tests: tests/vta/tir/test_interpreter.py.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isa.errors import VTAError
from vta.tir.buffer import Buffer, size_variable
from vta.tir.expr import IntImm, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.expressions import InterpreterError
from vta.tir.interpreter.llvm_intrinsics import fused, fused32
from vta.tir.interpreter.statements import Source, write_function
from vta.tir.printer import to_text
from vta.tir.stmt import Stmt

__all__ = ["InterpreterError", "compile_func", "run_func"]

Array: TypeAlias = NDArray[np.generic]
Argument: TypeAlias = "Array | int"
Result: TypeAlias = "int | float | bool | None"
Arguments: TypeAlias = Sequence[Argument] | Mapping[str, Argument]


class _FaultError(VTAError):
    """What went wrong while the program ran; ``InterpreterError`` adds where."""


# What the generated source calls.


def _outside(index: int, buffer: str, dimension: int, low: int, end: int) -> int:
    raise _FaultError(f"index {index} of dimension {dimension} of buffer {buffer!r} is outside {low} to {end - 1}")


def _zero() -> _FaultError:
    return _FaultError("division by zero")


def _floordiv(a: int, b: int) -> int:
    if b == 0:
        raise _zero()
    return a // b


def _floormod(a: int, b: int) -> int:
    if b == 0:
        raise _zero()
    return a % b


def _truncdiv(a: int, b: int) -> int:
    if b == 0:
        raise _zero()
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncmod(a: int, b: int) -> int:
    return a - _truncdiv(a, b) * b


def _shift_count(count: int, bits: int) -> int:
    if not 0 <= count < bits:
        raise _FaultError(f"shift count {count} is outside 0 to {bits - 1}")
    return count


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _to_int(value: float) -> int:
    if not math.isfinite(value):
        raise _FaultError(f"{value} has no integer value")
    return int(value)


def _f32(value: float) -> float:
    return ctypes.c_float(value).value


def _f16(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float16(value))


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf if value == 0 else math.nan


def _sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + _exp(-value))


def _pow(value: float, power: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(value) ** np.float64(power))


def _integral(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: float(function(value)) if math.isfinite(value) else value


def _of_numpy(function: Callable[..., np.floating], dtype: type[np.floating] = np.float64) -> Callable[..., float]:
    def compute(*values: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(dtype, values)))

    return compute


def _reinterpreted(value: float, source: str, target: str) -> float:
    [result] = struct.unpack(target, struct.pack(source, value))
    return result  # type: ignore[no-any-return]  # of a format for one number


def _assertion(message: str) -> None:
    raise _FaultError(f"assertion failed: {message}")


_NAMESPACE: Mapping[str, object] = {
    "_outside": _outside, "_floordiv": _floordiv, "_floormod": _floormod, "_truncdiv": _truncdiv,
    "_truncmod": _truncmod, "_shift_count": _shift_count, "_divide": _divide, "_to_int": _to_int, "_f32": _f32,
    "_f16": _f16, "_exp": _exp, "_log": _log, "_sqrt": _sqrt, "_tanh": math.tanh, "_sigmoid": _sigmoid, "_pow": _pow,
    "_floor": _integral(math.floor), "_ceil": _integral(math.ceil), "_round": _integral(round),
    "_trunc": _integral(math.trunc), "_assertion": _assertion, "_erf": math.erf, "_isnan": math.isnan,
    "_sin": _of_numpy(np.sin), "_cos": _of_numpy(np.cos), "_tan": _of_numpy(np.tan), "_asin": _of_numpy(np.arcsin),
    "_acos": _of_numpy(np.arccos), "_atan": _of_numpy(np.arctan), "_sinh": _of_numpy(np.sinh),
    "_cosh": _of_numpy(np.cosh), "_asinh": _of_numpy(np.arcsinh), "_acosh": _of_numpy(np.arccosh),
    "_atanh": _of_numpy(np.arctanh), "_exp2": _of_numpy(np.exp2), "_log2": _of_numpy(np.log2),
    "_log10": _of_numpy(np.log10), "_log1p": _of_numpy(np.log1p), "_atan2": _of_numpy(np.arctan2),
    "_hypot": _of_numpy(np.hypot), "_copysign": math.copysign, "_fmod": _of_numpy(np.fmod),
    "_nextafter": math.nextafter, "_nextafter32": _of_numpy(np.nextafter, np.float32),
    "_nextafter16": _of_numpy(np.nextafter, np.float16), "_reinterpreted": _reinterpreted,
    "_fused32": fused32, "_fused64": fused,
}  # fmt: skip

_FILE = "<tir>"


@dataclass(frozen=True, slots=True)
class CompiledFunc:
    """A function that can be called with arrays (read and written in place) and integers."""

    func: PrimFunc
    source: Source
    entry: Callable[..., Result]

    def __call__(self, *args: Argument) -> Result:
        """Run on the arguments, in the order of the parameters; return what ``tir.ret`` gives, if it is met."""
        values = _by_parameter(self.func, args)
        arrays = {p: _array(self.func, p, values[p]) for p in self.func.params if p in self.func.buffer_map}
        sizes = self._sizes(values, arrays)
        lists = [array.reshape(-1).tolist() for array in arrays.values()]
        try:
            result = self.entry(*lists, *(sizes[var] for var in self.source.scalars))
        except (_FaultError, TypeError, IndexError) as error:
            raise self._explained(error) from None
        for (param, array), elements in zip(arrays.items(), lists, strict=True):
            if self.func.buffer_map[param].data in self.source.stored:
                self._write_back(param, array, elements)
        return result

    def _sizes(self, values: Mapping[Var, Argument], arrays: Mapping[Var, Array]) -> dict[Var, int]:
        """Return the values of integer parameters and of the variables in shapes."""
        sizes: dict[Var, int] = {}
        for param in self.func.params:
            value = values[param]
            if param not in arrays:
                if not isinstance(value, int | np.integer):
                    raise InterpreterError(
                        f"{self.func.name}: parameter {param.name!r} is {param.dtype}, not a {type(value).__name__}"
                    )
                sizes[param] = int(value)
        for param, array in arrays.items():
            _match_shape(self.func, param, array, sizes)
        return sizes

    def _write_back(self, param: Var, array: Array, elements: list[object]) -> None:
        if any(element is None for element in elements):
            raise InterpreterError(
                f"{self.func.name}: element {elements.index(None)} of {param.name!r} was copied from memory that was "
                "never written"
            )
        array[...] = np.array(elements, dtype=array.dtype).reshape(array.shape)

    def _explained(self, error: _FaultError | TypeError | IndexError) -> InterpreterError:
        """Say which statement failed, with which values of the variables."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != _FILE:
            trace = trace.tb_next
        if trace is None:
            return InterpreterError(f"{self.func.name}: {error}")
        match error:
            case _FaultError():
                reason = str(error)
            case IndexError():
                reason = "an access reaches beyond the memory of its buffer"
            case _:
                reason = "an element is used that was never written"
        names = self.source.variables
        state = [f"{names[k]} = {v}" for k, v in trace.tb_frame.f_locals.items() if k in names and _is_number(v)]
        stmt = self.source.stmts.get(trace.tb_lineno)
        where = "" if stmt is None else f", in: {_headline(stmt)}"
        origin = "" if stmt is None or stmt.origin is None else f" [{stmt.origin}]"
        return InterpreterError(f"{self.func.name}: {reason}{where}{origin} with {', '.join(state) or 'no variables'}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _headline(stmt: Stmt) -> str:
    return to_text(stmt).splitlines()[0].strip()


def _by_parameter(func: PrimFunc, args: Sequence[Argument]) -> dict[Var, Argument]:
    if len(args) != len(func.params):
        names = ", ".join(param.name for param in func.params)
        raise InterpreterError(f"{func.name} takes {len(func.params)} arguments ({names}), not {len(args)}")
    return dict(zip(func.params, args, strict=True))


def _array(func: PrimFunc, param: Var, value: Argument) -> Array:
    buffer = func.buffer_map[param]
    if not isinstance(value, np.ndarray):
        raise InterpreterError(f"{func.name}: parameter {param.name!r} is a tensor, not a {type(value).__name__}")
    if value.dtype.name != buffer.dtype:
        raise InterpreterError(f"{func.name}: parameter {param.name!r} is {buffer.dtype}, not {value.dtype.name}")
    return value


def _match_shape(func: PrimFunc, param: Var, array: Array, sizes: dict[Var, int]) -> None:
    """Check an array's shape against the declared or the flattened buffer; give shape variables their values."""
    candidates = [b for b in (func.declared.get(param), func.buffer_map[param]) if b is not None]
    for buffer in candidates:
        found = _sizes_of(buffer, array, sizes)
        if found is not None:
            sizes.update(found)
            return
    expected = " or ".join(f"({', '.join(map(str, buffer.shape))})" for buffer in candidates)
    raise InterpreterError(f"{func.name}: parameter {param.name!r} has shape {expected}, not {array.shape}")


def _sizes_of(buffer: Buffer, array: Array, sizes: Mapping[Var, int]) -> dict[Var, int] | None:
    """Return the sizes that make the buffer's shape the array's; None if none do."""
    if len(buffer.shape) != array.ndim:
        return None
    found: dict[Var, int] = {}
    for extent, size in zip(buffer.shape, array.shape, strict=True):
        named = size_variable(extent)
        match extent if named is None else named:
            case IntImm() as known if known.value != size:
                return None
            case Var() as extent if sizes.get(extent, found.setdefault(extent, size)) != size or found[extent] != size:
                return None
            case _:
                continue
    return found


def compile_func(func: PrimFunc) -> CompiledFunc:
    """Return ``func`` as something to call; raises ``InterpreterError`` for what the interpreter cannot run."""
    source = write_function(func)
    namespace = dict(_NAMESPACE)
    try:
        code = compile("\n".join(source.lines), _FILE, "exec")
    except SyntaxError as error:  # Python's own limit of nested blocks
        raise InterpreterError(f"{func.name}: Python refuses the program: {error.msg}; nest fewer loops") from None
    exec(code, namespace)
    return CompiledFunc(func, source, namespace["program"])  # type: ignore[arg-type]  # the function just defined


def run_func(func: PrimFunc, args: Arguments) -> Result:
    """Run ``func`` on arrays (read and written in place) and integers; return what ``tir.ret`` gives, if it is met.

    ``args`` has one value for each parameter, or a value for each name: a parameter's, or its buffer's.
    Raises ``InterpreterError`` for arguments that do not fit and for what is undefined in the program.
    """
    compiled = compile_func(func)
    if not isinstance(args, Mapping):
        return compiled(*args)
    ordered: list[Argument] = []
    for param in func.params:
        names = [param.name] + ([func.buffer_map[param].name] if param in func.buffer_map else [])
        given = [name for name in names if name in args]
        if not given:
            raise InterpreterError(f"{func.name}: no argument for parameter {param.name!r}; given: {', '.join(args)}")
        ordered.append(args[given[0]])
    return compiled(*ordered)
