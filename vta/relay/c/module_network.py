"""A function that ``vta.build`` made as a network of one step: what it asks of the accelerator, asked once.

Tests: tests/vta/relay/c/test_module_network.py.
"""

import numpy as np

from isa.bulk import decode_fields
from runtime.executor.network import DeviceStep, Home, Network, Tensor
from runtime.executor.recorded import idle_session, recorded_launches
from runtime.executor.stored_launch import StoredLaunch
from runtime.memory.array import DeviceArray
from vta.codegen import Module
from vta.codegen.metadata import FunctionInfo, ParameterInfo
from vta.relay.c.host_steps import CExportError

__all__ = ["module_network"]

_ALIGNMENT = 4096


def module_network(module: Module, function: str | None = None) -> Network:
    """Return ``function`` (the first one by default) as a network whose inputs and outputs are its arrays, as they lie.

    Outputs are the arrays that it stores to; inputs the others, and those that it reads before. Raises ``CExportError``
    for a function with scalars or sizes that are not known, or that computes on the host as well.
    """
    name = function if function is not None else module.entry_name
    info = module[name].info
    shapes = [_shape(info, parameter) for parameter in info.parameters]
    refusal = CExportError(f"function {name!r} computes on the host as well; what the accelerator does becomes C")
    if not info.uses_device:
        raise refusal
    session = idle_session(module.config)
    arrays = [DeviceArray(session, shape, p.dtype) for shape, p in zip(shapes, info.parameters, strict=True)]
    launches = recorded_launches(module[name], session, arrays)
    if not len(module.streams(session, name)):  # it looks at data, and is not replayed
        raise refusal
    tensors, end = [], 0
    for shape, parameter in zip(shapes, info.parameters, strict=True):
        tensors.append(Tensor(parameter.name, shape, parameter.dtype, Home.ARENA, end))
        end += -(-tensors[-1].nbytes // _ALIGNMENT) * _ALIGNMENT
    read, written = _touched(launches, module)
    names = [tensor.name for tensor in tensors]
    return Network(
        config=module.config, tensors={tensor.name: tensor for tensor in tensors},
        steps=(DeviceStep(name, launches, tuple(names)),),
        inputs=tuple(each for number, each in enumerate(names) if number in read or number not in written),
        outputs=tuple(each for number, each in enumerate(names) if number in written),
        arena_bytes=end, constants=np.zeros(0, np.uint8), host_constants={},
    )  # fmt: skip


def _shape(info: FunctionInfo, parameter: ParameterInfo) -> tuple[int, ...]:
    if parameter.shape is None or any(extent is None for extent in parameter.shape):
        raise CExportError(f"function {info.name!r}: argument {parameter} is not an array of constant size")
    return tuple(extent for extent in parameter.shape if extent is not None)


def _touched(launches: tuple[StoredLaunch, ...], module: Module) -> tuple[set[int], set[int]]:
    """Return which tensors are loaded from, and which are stored to, by number."""
    read: set[int] = set()
    written: set[int] = set()
    for launch in launches:
        stores = decode_fields(launch.array, module.config).get("STORE")
        is_store = np.isin(launch.addresses.index, [] if stores is None else stores.index)
        read |= set(launch.addresses.tensor[~is_store].tolist())
        written |= set(launch.addresses.tensor[is_store].tolist())
    return read, written
