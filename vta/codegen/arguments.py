"""Checking the arguments of a compiled function before anything runs, and turning them into machine values.

Tests: tests/vta/codegen/test_module.py.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from runtime.memory.array import DeviceArray, HostArray, StoredArray
from runtime.memory.device_memory import Allocation
from runtime.session import Session
from vta.codegen.metadata import FunctionInfo, ParameterInfo
from vta.tir.dtype import DType, Kind

__all__ = ["Argument", "ArgumentError", "BoundArguments", "bind_arguments", "c_signature"]

Argument: TypeAlias = StoredArray | npt.NDArray[np.generic] | int | float | np.generic


class ArgumentError(VTAError, TypeError):
    """Arguments that a compiled function cannot take."""


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """Checked arguments: machine ``values`` (scalars and open dimensions too), and the device buffers among them."""

    values: tuple[int | float, ...]
    scalars: tuple[int | float, ...]
    buffers: tuple[Allocation, ...]
    session: Session | None


_C_TYPES: dict[Kind, dict[int, Any]] = {
    Kind.INT: {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64},
    Kind.UINT: {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64},
    Kind.FLOAT: {32: ctypes.c_float, 64: ctypes.c_double},
}


_NUMPY_NAMES: Mapping[object, str] = {
    np.dtype(name): name
    for name in ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64")
}
"""numpy takes longer to spell a type than all other checks of a call together."""


def _c_type(parameter: ParameterInfo) -> Any:
    if parameter.shape is not None:
        return ctypes.c_void_p
    dtype = DType(parameter.dtype)
    table = _C_TYPES.get(dtype.kind, {})
    if dtype.bits not in table:
        raise ArgumentError(f"parameter {parameter} has a type that cannot be passed from Python")
    return table[dtype.bits]


def c_signature(info: FunctionInfo) -> list[Any]:
    """Return the ctypes of a function's machine arguments."""
    return [*map(_c_type, info.parameters), *[ctypes.c_int32] * len(info.open_dimensions)]


def bind_arguments(info: FunctionInfo, arguments: Sequence[Argument]) -> BoundArguments:
    """Check number, kinds, shapes and types; raises ``ArgumentError`` naming the function and the argument."""
    if len(arguments) != len(info.parameters):
        raise ArgumentError(f"{info.name} takes {len(info.parameters)} arguments, {info}; {len(arguments)} were given")
    values: list[int | float] = []
    scalars: list[int | float] = []
    buffers: list[Allocation] = []
    sessions: dict[Session, str] = {}
    for parameter, argument in zip(info.parameters, arguments, strict=True):
        if parameter.shape is None:
            scalars.append(_scalar(info, parameter, argument))
            values.append(scalars[-1])
            continue
        if not isinstance(argument, DeviceArray | HostArray | np.ndarray):
            raise ArgumentError(f"{info.name}: argument {parameter} got {argument!r}, which is not an array")
        _check_array(info, parameter, argument)
        values.append(_address(info, parameter, argument))
        if isinstance(argument, DeviceArray):
            buffers.append(argument.allocation)
            sessions[argument.session] = parameter.name
    if len(sessions) > 1:
        names = " and ".join(repr(name) for name in sessions.values())
        raise ArgumentError(f"{info.name}: arguments {names} lie on different devices; put them on one")
    open_sizes = [int(arguments[place].shape[dim]) for place, dim in info.open_dimensions]  # type: ignore[union-attr]  # arrays, checked above
    scalars.extend(open_sizes)
    return BoundArguments((*values, *open_sizes), tuple(scalars), tuple(buffers), next(iter(sessions), None))


def _scalar(info: FunctionInfo, parameter: ParameterInfo, value: object) -> int | float:
    dtype = DType(parameter.dtype)
    if dtype.is_float and isinstance(value, int | float | np.integer | np.floating):
        return float(value)
    if not isinstance(value, int | np.integer):
        raise ArgumentError(f"{info.name}: argument {parameter} got {value!r}")
    low, high = dtype.bounds
    if not low <= value <= high:
        raise ArgumentError(f"{info.name}: argument {parameter} got {value}, which does not fit {dtype}")
    return int(value)


def _check_array(
    info: FunctionInfo, parameter: ParameterInfo, array: DeviceArray | HostArray | npt.NDArray[np.generic]
) -> None:
    assert parameter.shape is not None
    shape = tuple(int(extent) for extent in array.shape)
    fits = len(shape) == len(parameter.shape) and all(
        expected in (None, got) for expected, got in zip(parameter.shape, shape, strict=True)
    )
    if not fits or (_NUMPY_NAMES.get(array.dtype) or str(array.dtype)) != parameter.dtype:
        dims = ", ".join(map(str, shape))
        raise ArgumentError(f"{info.name}: argument {parameter} got {array.dtype}[{dims}]")


def _address(
    info: FunctionInfo, parameter: ParameterInfo, array: DeviceArray | HostArray | npt.NDArray[np.generic]
) -> int:
    """Return what the machine function gets for an array; the array must be where the function can use it."""
    match array:
        case DeviceArray() if info.uses_device:
            return array.handle
        case DeviceArray():
            raise ArgumentError(
                f"{info.name}: argument {parameter} is in device memory, and the function runs on the CPU; "
                "copy it with vta.nd.array(a.numpy())"
            )
        case _ if info.uses_device:
            raise ArgumentError(
                f"{info.name}: argument {parameter} is in host memory, and the function runs on the accelerator; "
                "copy it with vta.nd.array(a, remote.ext_dev(0))"
            )
        case HostArray():
            return array.pointer
        case _:
            if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
                raise ArgumentError(
                    f"{info.name}: argument {parameter} is a numpy array that is not contiguous, aligned and "
                    "writeable; pass np.ascontiguousarray(a)"
                )
            return int(array.ctypes.data)
