"""Kernels and calls of the host as a network: steps in order, tensors with a place, constants packed once.

A value lies with the host, on the device in the accelerator's layout, or both; packing and unpacking steps stand where
one is needed and only the other is there. Tests: tests/vta/relay/backend/test_build.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
import numpy.typing as npt

from runtime.executor.network import DeviceStep, Home, HostStep, Network, Step, Tensor
from runtime.executor.operators.attribute_values import Plain, plain_values
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array, TensorType
from vta.environment import Environment
from vta.relay.backend.arena import ALIGNMENT, Arena
from vta.relay.backend.joins import VIEWS
from vta.relay.backend.kernel import HostCall, Item, Join, Kernel, Stacked
from vta.relay.backend.lower import Lowered
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, TupleGetItem, tensor_type
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.layout import blocks

__all__ = ["Assembled", "assembled"]


@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """A network, and which tensors of it hold the result of which call: those of the device in its layout."""

    network: Network
    results: Mapping[str, Call]


def assembled(
    function: Function,
    items: Sequence[Item],
    made: Mapping[Kernel, Lowered],
    env: Environment,
    *,
    origin: Mapping[str, str],
    outputs: Sequence[str] = (),
) -> Assembled:
    """Return the network of ``items``, whose kernels are ``made``; ``outputs`` names what it gives."""
    maker = _Assembler(function, env)
    for item in items:
        match item:
            case Kernel():
                maker.kernel(item, made[item])
            case Join():
                maker.join(item)
            case HostCall():
                maker.host_call(item)
    return Assembled(maker.network(origin, outputs), maker.results)


@dataclass(slots=True, eq=False)
class _Assembler:
    function: Function
    env: Environment
    steps: list[Step] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    host_constants: dict[str, Array] = field(default_factory=dict)
    constants: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    constant_bytes: int = 0
    results: dict[str, Call] = field(default_factory=dict)
    arena: Arena = field(default_factory=Arena)
    _host: dict[tuple[Expr, int], str] = field(default_factory=dict)
    """Name of a value (of a tuple: of its part) with the host."""
    _device: dict[Expr, str] = field(default_factory=dict)
    """Name of a value on the device in the usual layout."""

    def __post_init__(self) -> None:
        for param in self.function.params:
            self._host[param, 0] = self._tensor(param.name, tensor_type(param))

    # --- values -------------------------------------------------------------------------------------------------------

    def _tensor(self, name: str, kind: TensorType, home: Home = Home.HOST) -> str:
        return self._add(name, kind.shape, str(kind.dtype), home)

    def _add(self, name: str, shape: tuple[int, ...], dtype: str, home: Home, offset: int = 0) -> str:
        unique, number = name, 1
        while unique in self.tensors:
            number += 1
            unique = f"{name}.{number}"
        self.tensors[unique] = Tensor(unique, shape, dtype, home, offset)
        return unique

    def on_host(self, expr: Expr) -> str:
        """Return the name of a value with the host; it is unpacked if it is on the device alone."""
        key = (expr.value, expr.index) if isinstance(expr, TupleGetItem) else (expr, 0)
        if key in self._host:
            return self._host[key]
        if isinstance(expr, Constant):
            name = self._tensor(expr.name or "constant", expr.type, Home.HOST_CONSTANT)
            self.host_constants[name] = expr.value
        else:
            source = self.tensors[self._device[expr]]
            kind = tensor_type(expr)
            name = self._tensor(f"{source.name}.plain", kind)
            images, channels = kind.shape[:2]
            shape = self._unpacked(source.name, name, images, channels, kind)
            assert shape == kind.shape
        self._host[key] = name
        return name

    def _unpacked(self, source: str, name: str, images: int, channels: int, kind: TensorType) -> tuple[int, ...]:
        """Append the step that unpacks; what lies flat on the device is reshaped by the tensor's own shape."""
        packed = self.tensors[source].shape
        rest = packed[2:-2]
        plain = (images, channels, *rest)
        attributes: dict[str, Plain] = {"images": images, "channels": channels}
        if plain == kind.shape:
            self.steps.append(HostStep(name, "unpack", (source,), (name,), attributes))
            return plain
        between = self._add(f"{name}.image", plain, str(kind.dtype), Home.HOST)
        self.steps.append(HostStep(name, "unpack", (source,), (between,), attributes))
        reshape: dict[str, Plain] = {"newshape": kind.shape}
        self.steps.append(HostStep(name, str(Op.RESHAPE), (between,), (name,), reshape))
        return kind.shape

    def on_device(self, read: int, shape: tuple[int, ...], dtype: str, kernel: Kernel) -> str:
        """Return the name of activation ``read`` of ``kernel`` on the device, as an argument of ``shape``.

        An image that a convolution folds may be its residual as well, as it is.
        """
        operator, expr = kernel.operator, kernel.activations[read]
        if isinstance(expr, Stacked):
            return self._stacked(f"{kernel.name}.parts", expr.parts)
        if isinstance(operator, Conv2d) and read == 0:
            folded = operator.folded(self.env)
            if folded.factors != (1, 1):
                source = self.on_host(expr)
                name = self._add(f"{source}.folded", shape, dtype, Home.ARENA)
                attributes: dict[str, Plain] = {
                    "extents": folded.extents, "factors": folded.factors, "gaps": folded.gaps,
                    "dilation": folded.window.dilation, "pads": folded.window.padding[:2],
                    "batch": self.env.BATCH, "block": self.env.BLOCK_IN, "fill": operator.zero_point,
                }  # fmt: skip
                self.steps.append(HostStep(name, "fold", (source,), (name,), attributes))
                return name
        found = self._device.get(expr)
        if found is not None and _same_bytes(self.tensors[found].shape, shape):
            return found
        name = self._packed(self.on_host(expr), shape, dtype)
        self._device[expr] = name
        return name

    def _packed(self, source: str, shape: tuple[int, ...], dtype: str) -> str:
        """Append the step that packs a tensor of the host; return the name of what it makes."""
        shape = _merged(shape, self.tensors[source].shape)
        name = self._add(f"{source}.packed", shape, dtype, Home.ARENA)
        self.steps.append(
            HostStep(name, "pack", (source,), (name,), {"batch": self.env.BATCH, "block": int(shape[-1])})
        )
        return name

    # --- items --------------------------------------------------------------------------------------------------------

    def kernel(self, item: Kernel, made: Lowered) -> None:
        """Append a kernel: its activations on the device, its constants packed."""
        number = {operand.name: at for at, operand in enumerate(item.operator.inputs(self.env))}
        names = []
        arguments = item.operator.arguments(self.env)
        for at, (argument, (shape, dtype)) in enumerate(zip(arguments, made.arguments[:-1], strict=True)):
            reads = [number[name] for name in argument.sources]
            if len(reads) == 1 and reads[0] in item.activations:
                names.append(self.on_device(reads[0], shape, dtype, item))
            else:
                packed = argument.pack(*(item.constants[read] for read in reads))
                names.append(self._constant(f"{item.name}.{at}", packed))
        shape, dtype = made.arguments[-1]
        result = self._add(item.name, _merged(shape, tensor_type(item.root).shape), dtype, Home.ARENA)
        self._device[item.root] = result
        self.results[result] = item.root
        self.steps.append(DeviceStep(item.name, made.launches, (*names, result), item.macs))

    def _constant(self, name: str, array: Array) -> str:
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        added = self._add(name, array.shape, str(array.dtype), Home.CONSTANT, self.constant_bytes)
        padding = -len(raw) % ALIGNMENT
        self.constants += [raw, np.zeros(padding, np.uint8)]
        self.constant_bytes += len(raw) + padding
        return added

    def join(self, item: Join) -> None:
        """Put the parts of a concatenation in their places."""
        name = self._stacked(item.name, item.root.args)
        self._device[item.root] = name
        self.results[name] = item.root

    def _stacked(self, name: str, parts: Sequence[Expr]) -> str:
        """Return the name of a tensor on the device in which the parts lie one behind the other."""
        env, rest = self.env, tensor_type(parts[0]).shape[2:]
        counts = [blocks(tensor_type(part).shape[1], env.BLOCK_OUT) for part in parts]
        whole = self._add(name, (1, sum(counts), *rest, env.BATCH, env.BLOCK_OUT), "int8", Home.ARENA)
        at = 0
        for part, count in zip(parts, counts, strict=True):
            shape = (1, count, *rest, env.BATCH, env.BLOCK_OUT)
            found = self._device.get(part)
            if found is None or found in self.arena.within or not _same_bytes(self.tensors[found].shape, shape):
                source = self.on_host(part)
                made = self._packed(source, shape, "int8")
                if found is None:
                    self._device[part] = made
                found = made
            self.arena.put(found, whole, at)
            at += self.tensors[found].nbytes
        return whole

    def host_call(self, item: HostCall) -> None:
        """Append a call of the host, unless its result lies on the device as its operand does."""
        call = item.root
        if self._is_view(call):
            self._device[call] = self._device[call.args[0]]
            return
        assert isinstance(call.callee, Op)
        inputs = tuple(self.on_host(argument) for argument in call.args)
        kinds = (call.type,) if isinstance(call.type, TensorType) else call.type.fields
        outputs = []
        for part, kind in enumerate(kinds):
            assert isinstance(kind, TensorType)
            name = self._tensor(item.name if len(kinds) == 1 else f"{item.name}.{part}", kind)
            self._host[call, part] = name
            outputs.append(name)
            if len(kinds) == 1:
                self.results[name] = call
        self.steps.append(HostStep(item.name, str(call.callee), inputs, tuple(outputs), plain_values(call.attrs)))

    def _is_view(self, call: Call) -> bool:
        """Return whether a call gives other names to axes of size 1, and its operand is on the device."""
        if call.callee not in VIEWS or not isinstance(call.type, TensorType) or call.args[0] not in self._device:
            return False
        old, new = tensor_type(call.args[0]).shape, call.type.shape
        return len(old) > 1 and len(new) > 1 and old[:2] == new[:2] and prod(old[2:]) == prod(new[2:]) == 1

    # --- the whole ----------------------------------------------------------------------------------------------------

    def network(self, origin: Mapping[str, str], names: Sequence[str]) -> Network:
        """Return the network, with the arena planned."""
        body = self.function.body
        outputs = tuple(self.on_host(expr) for expr in (body.fields if isinstance(body, Tuple) else (body,)))
        outputs = self._named_outputs(outputs, names)
        arena_bytes = self.arena.plan(self.steps, self.tensors)
        return Network(
            config=self.env.config,
            tensors=self.tensors,
            steps=tuple(self.steps),
            inputs=self._inputs,
            outputs=outputs,
            arena_bytes=arena_bytes,
            constants=np.concatenate([np.zeros(0, np.uint8), *self.constants]),
            host_constants=self.host_constants,
            origin=origin,
        )

    def _named_outputs(self, outputs: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the outputs; a tensor that is one already is copied, since a tensor has one name."""
        first: dict[str, str] = {}
        found = []
        for at, name in enumerate(outputs):
            own = self._copied(first[name]) if name in first else name
            found.append(self._named(own, names[at] if at < len(names) else own))
            first.setdefault(name, found[-1])
        return tuple(found)

    def _copied(self, name: str) -> str:
        """Return a copy of a tensor of the host, for another name."""
        tensor = self.tensors[name]
        copy = self._add(f"{name}.copy", tensor.shape, tensor.dtype, Home.HOST)
        self.steps.append(HostStep(copy, str(Op.COPY), (name,), (copy,), {}))
        return copy

    def _named(self, name: str, wanted: str) -> str:
        """Return the name of an output, which its tensor gets unless it is an input or a constant."""
        tensor = self.tensors[name]
        if wanted == name or wanted in self._inputs or tensor.home is not Home.HOST or name in self._inputs:
            return name
        if wanted in self.tensors:  # a node is called as the output, and is another tensor
            self._renamed(wanted, self._add(f"{wanted}.node", (), "int8", Home.HOST))
        self._renamed(name, wanted)
        return wanted

    def _renamed(self, old: str, new: str) -> None:
        """Give a tensor another name, everywhere."""
        self.tensors[new] = replace(self.tensors.pop(old), name=new)
        if old in self.results:
            self.results[new] = self.results.pop(old)
        self.arena.rename(old, new)
        if old in self.host_constants:
            self.host_constants[new] = self.host_constants.pop(old)

        def names(given: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(new if name == old else name for name in given)

        for number, step in enumerate(self.steps):
            match step:
                case HostStep():
                    self.steps[number] = replace(step, inputs=names(step.inputs), outputs=names(step.outputs))
                case DeviceStep():
                    self.steps[number] = replace(step, tensors=names(step.tensors))
        self._host = {key: new if name == old else name for key, name in self._host.items()}
        self._device = {key: new if name == old else name for key, name in self._device.items()}

    @property
    def _inputs(self) -> tuple[str, ...]:
        return tuple(param.name for param in self.function.params)


def _merged(packed: tuple[int, ...], plain: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a packed result, whose rows and columns may be cut into several dimensions each."""
    whole = (*packed[:2], *plain[2:], *packed[-2:])
    return whole if prod(whole) == prod(packed) else packed


def _same_bytes(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether two packed shapes lie alike: they differ in axes of size 1 alone."""
    squeezed = [(shape[:2], tuple(e for e in shape[2:-2] if e != 1), shape[-2:]) for shape in (found, wanted)]
    return squeezed[0] == squeezed[1]
