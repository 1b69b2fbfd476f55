"""From lowered functions to one LLVM module: the host program that drives the accelerator.

Every ``PrimFunc`` becomes ``int32 name(args..., open dimensions...)``: a tensor argument is a pointer (the opaque
handle of a device array, or the address of host data), a scalar its value, and each dimension of a tensor that is not
constant comes after them as an int32; of a function that gives something (``tir.ret``), the address where that goes
comes last. The result is 0, or the code of a failure whose text the metadata has.
Tests: tests/vta/codegen/test_host_*.py.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from isa.config import VTAConfig
from runtime.native.target import host_triple
from vta.codegen.expressions import emit_expr
from vta.codegen.imported_code import imported_code, with_imported_code
from vta.codegen.llvm_types import I8, I32, POINTER, CodegenError, LlvmType, Value, register_type
from vta.codegen.metadata import FunctionInfo, Metadata, ParameterInfo
from vta.codegen.results import result_type
from vta.codegen.runtime_calls import C_LIBRARY, RUNTIME_CALLS
from vta.codegen.scope import FunctionScope, Unit
from vta.codegen.sealed_object import description
from vta.codegen.statements import emit_stmt, moved_by_dma
from vta.tir.buffer import Buffer, size_variable
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm, StringImm, Var
from vta.tir.func import PrimFunc
from vta.tir.traverse import walk

__all__ = ["LEAST_PARALLEL_WORK", "METADATA_SYMBOL", "HostProgram", "emit_host"]

METADATA_SYMBOL = "__vta_metadata"
"""Exported constant that holds the packed metadata."""

LEAST_PARALLEL_WORK = 1 << 14
"""Nodes of TIR, each as often as it is computed, from which a parallel loop goes to the pool: some microseconds."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.$]*")


@dataclass(frozen=True, slots=True)
class HostProgram:
    """A module before it is compiled: LLVM assembly, and what the module knows about itself."""

    source: str
    metadata: Metadata


def emit_host(
    functions: Sequence[PrimFunc],
    config: VTAConfig,
    *,
    triple: str = "",
    on_device: bool = False,
    least_parallel_work: int = LEAST_PARALLEL_WORK,
    contracts: bool = False,
) -> HostProgram:
    """Write ``functions`` as one LLVM module for the machine ``triple`` (empty: this computer's).

    ``on_device``: they work on arrays in device memory even if they ask nothing of the accelerator. A parallel loop of
    less than ``least_parallel_work`` runs in order. ``contracts``: products of floats to which something is added are
    not rounded by themselves. What the pragma ``import_llvm`` brings along is part of the module. Raises
    ``CodegenError`` naming function, stage and line.
    """
    triple = triple or host_triple()
    unit = Unit("vta_host", least_parallel_work=least_parallel_work, contracts=contracts)
    unit.module.triple = triple
    infos: list[FunctionInfo] = []
    for function in functions:
        _check_name(function.name, [info.name for info in infos])
        infos.append(_emit_function(unit, function, on_device=on_device))
    metadata = Metadata(
        config=config,
        functions=tuple(infos),
        origins=tuple(unit.origins),
        messages=tuple(unit.messages),
        triple=triple,
    )
    data = bytearray(description(metadata))
    kind = ir.ArrayType(I8, len(data))
    variable = ir.GlobalVariable(unit.module, kind, METADATA_SYMBOL)
    variable.global_constant = True
    variable.initializer = ir.Constant(kind, data)
    return HostProgram(with_imported_code(str(unit.module), imported_code(functions)), metadata)


def _check_name(name: str, taken: Sequence[str]) -> None:
    if not _NAME.fullmatch(name):
        raise CodegenError(f"{name!r} cannot name a function; use letters, digits and underscores")
    if name in taken:
        raise CodegenError(f"two functions are called {name!r}; give each its own name")
    if name in RUNTIME_CALLS or name in C_LIBRARY or name.startswith("__vta"):
        raise CodegenError(f"{name!r} is a function that host code calls itself; give the kernel another name")


def _emit_function(unit: Unit, function: PrimFunc, *, on_device: bool) -> FunctionInfo:
    shapes = {var: function.declared.get(var, buffer) for var, buffer in function.buffer_map.items()}
    kinds = tuple(_parameter_type(param, function) for param in function.params)
    open_dims = [(var, dim) for var in function.params if var in shapes for dim in _open_dimensions(shapes[var])]
    result = result_type(function)
    places = () if result is None else (POINTER,)
    scope = FunctionScope(unit, function.name, (*kinds, *[I32] * len(open_dims), *places), internal=False)
    arguments = scope.arguments
    scope.result = arguments[-1] if places else None
    scope.packed = function.is_packed
    for param, argument in zip(function.params, arguments, strict=False):
        argument.name = param.name
        if param in function.buffer_map and function.attrs.get("tir.noalias"):
            argument.add_attribute("noalias")
            scope.distinct.add(function.buffer_map[param].data)
        scope.values[function.buffer_map[param].data if param in function.buffer_map else param] = argument
    sizes = zip(open_dims, arguments[len(kinds) : len(kinds) + len(open_dims)], strict=True)
    _bind_dimensions(scope, shapes, [(var, dim, size) for (var, dim), size in sizes])
    scope.moved_by_dma = frozenset(moved_by_dma(function.body))
    emit_stmt(scope, function.body)
    scope.finish()
    parameters = tuple(_describe(param, shapes.get(param)) for param in function.params)
    uses_device = on_device or _uses_device(function)
    if uses_device and result is not None:
        raise CodegenError(
            f"function {function.name!r}: {Builtin.RET} in a function of the accelerator, which is replayed without "
            "its host code; store the result in an array"
        )
    return FunctionInfo(function.name, parameters, uses_device, "" if result is None else str(result))


def _parameter_type(param: Var, function: PrimFunc) -> LlvmType:
    return POINTER if param in function.buffer_map else register_type(param.dtype)


def _open_dimensions(buffer: Buffer) -> list[int]:
    return [place for place, extent in enumerate(buffer.shape) if not isinstance(extent, IntImm)]


def _bind_dimensions(scope: FunctionScope, shapes: dict[Var, Buffer], sizes: list[tuple[Var, int, Value]]) -> None:
    """Give size variables their values from the shapes of the arguments, then check every other open dimension."""
    checks: list[tuple[Buffer, int, Expr, Value]] = []
    for var, dim, size in sizes:
        extent = shapes[var].shape[dim]
        named = size_variable(extent)
        if named is not None and named not in scope.values:
            scope.values[named] = _as_int(scope, size, named)
        else:
            checks.append((shapes[var], dim, extent, size))
    for buffer, dim, extent, size in checks:
        expected = emit_expr(scope, extent)
        same = scope.builder.icmp_signed("==", expected, _as_int(scope, size, extent))
        scope.fail_unless(same, f"argument {buffer.name!r}: dimension {dim} does not fit the other arguments")


def _as_int(scope: FunctionScope, size: Value, extent: Expr) -> Value:
    kind = register_type(extent.dtype)
    return size if extent.dtype == INT32 else scope.builder.sext(size, kind)


def _describe(param: Var, buffer: Buffer | None) -> ParameterInfo:
    if buffer is None:
        return ParameterInfo(param.name, str(param.dtype))
    shape = tuple(extent.value if isinstance(extent, IntImm) else None for extent in buffer.shape)
    return ParameterInfo(buffer.name, str(buffer.dtype), shape)


def _uses_device(function: PrimFunc) -> bool:
    for node in walk(function.body):
        match node:
            case Call(op=op) if op.is_ordered or op is Builtin.COMMAND_HANDLE:
                return True
            case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=name), *_)) if name in RUNTIME_CALLS:
                return True
            case _:
                continue
    return False
