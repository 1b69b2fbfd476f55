"""One instance of an operator in the user's terms, and how it gets onto the accelerator.

An ``Operator`` says which plain tensors it takes and gives, what they mean in numpy (``reference``), how they lie in
the accelerator's memory (``pack``, ``unpack``), and how it is computed there (``schedule``). ``compile`` builds it; the
result is called with plain arrays.

Tests: tests/vta/topi/core/test_operator.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from vta import te
from vta.build_module import build
from vta.codegen import Module
from vta.environment import Environment
from vta.nd import Device, NDArray, array, empty, ext_dev
from vta.topi.core.operand import Argument, Operand
from vta.topi.tiling import Price

__all__ = ["Bound", "Compiled", "Operand", "Operator", "OperatorError", "Scheduled", "compile"]

Array = npt.NDArray[np.generic]


class OperatorError(VTAError, ValueError):
    """An instance that cannot be, or arrays that do not go with it."""


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """A schedule, the tensors that are its function's arguments (the result last), and the tiles that it has.

    ``tiles`` is the operator's own frozen dataclass of choices: what ``schedule(env, tiles)`` takes.
    """

    schedule: te.Schedule
    args: tuple[te.Tensor, ...]
    tiles: object


class Operator(ABC):
    """One instance of an operator; a frozen dataclass for each kind."""

    __slots__ = ()

    @abstractmethod
    def inputs(self, env: Environment) -> tuple[Operand, ...]:
        """Return the plain tensors that it takes, those of the epilogue included."""

    @abstractmethod
    def output(self, env: Environment) -> Operand:
        """Return the plain tensor that it gives."""

    @abstractmethod
    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy, for plain arrays in the order of ``inputs``, as outputs of 8 bits hold it."""

    def reference_on(self, env: Environment, *arrays: Array) -> Array:
        """Return what every engine of ``env`` must give: ``reference``, cut to the low bits that its outputs have."""
        whole = self.reference(*arrays).astype(np.int8)
        spare = np.int8(8 - env.OUT_WIDTH)
        return (whole << spare) >> spare

    @abstractmethod
    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return how the schedule's arguments are made of ``inputs``, all but the result."""

    def pack(self, env: Environment, *arrays: Array) -> tuple[Array, ...]:
        """Return the arrays in the layout of the schedule's arguments, all but the result."""
        named = dict(zip([operand.name for operand in self.inputs(env)], arrays, strict=True))
        return tuple(each.pack(*(named[name] for name in each.sources)) for each in self.arguments(env))

    @abstractmethod
    def unpack(self, env: Environment, packed: Array) -> Array:
        """Return the plain result for the schedule's result."""

    @abstractmethod
    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return a schedule with ``tiles``, or with the best ones that a search finds."""

    def price(self, env: Environment, tiles: object = None) -> Price:  # noqa: ARG002  # for operators with a model
        """Return what the model says of a launch with ``tiles``, or with the best ones; on the hardware of ``env``."""
        raise OperatorError(f"{type(self).__name__} has no model of its cycles; give the class a method price")

    @property
    @abstractmethod
    def macs(self) -> int:
        """Multiplications with an addition that the result needs, padding of channels not counted."""

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.macs

    def require_arrays(self, env: Environment, arrays: Sequence[Array]) -> None:
        """Raise ``OperatorError`` unless ``arrays`` have the shapes and types of ``inputs``.

        Types narrower than 8 bits come in int8.
        """
        self.require_operands(self.inputs(env), arrays)

    def require_operands(self, wanted: Sequence[Operand], arrays: Sequence[Array]) -> None:
        """Raise ``OperatorError`` unless ``arrays`` are what some of the inputs, ``wanted``, take."""
        if len(arrays) != len(wanted):
            names = ", ".join(operand.name for operand in wanted)
            raise OperatorError(f"{type(self).__name__} takes {len(wanted)} arrays ({names}), not {len(arrays)}")
        for given, operand in zip(arrays, wanted, strict=True):
            self.require_array(operand, given)

    def require_array(self, operand: Operand, given: Array) -> None:
        """Raise ``OperatorError`` unless ``given`` is what one of the inputs takes."""
        dtype = "int8" if operand.dtype in ("int1", "int2", "int4") else operand.dtype
        if (given.shape, str(given.dtype)) != (operand.shape, dtype):
            hint = "" if str(given.dtype) == dtype else f"; .astype({dtype!r}) converts numbers that fit"
            raise OperatorError(
                f"{type(self).__name__}: {operand.name} is {dtype} of shape {operand.shape}, "
                f"not {given.dtype} of shape {given.shape}{hint}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """An operator that is built: call it with plain arrays, in the order of its ``inputs``."""

    operator: Operator
    env: Environment
    scheduled: Scheduled
    module: Module

    def __call__(self, *arrays: npt.ArrayLike | NDArray) -> Array:
        """Return the result for plain arrays; runs on the environment's device."""
        packed = self.operator.pack(self.env, *self._plain(arrays))
        return self.operator.unpack(self.env, self.packed(*packed))

    def reference(self, *arrays: npt.ArrayLike | NDArray) -> Array:
        """Return in numpy what the call must give, bit for bit."""
        return self.operator.reference_on(self.env, *self._plain(arrays))

    def _plain(self, arrays: Sequence[npt.ArrayLike | NDArray]) -> list[Array]:
        plain = [_plain(values) for values in arrays]
        self.operator.require_arrays(self.env, plain)
        return plain

    def packed(self, *arrays: Array) -> Array:
        """Return the packed result for packed arrays."""
        placed = self.place(*arrays)
        self.module(*placed)
        return placed[-1].numpy()

    def place(self, *arrays: Array) -> list[NDArray]:
        """Return the function's arguments on the device: packed arrays, and an empty one for the result."""
        placed = [self._placed(values, t) for values, t in zip(arrays, self.scheduled.args[:-1], strict=True)]
        return [*placed, self.empty()]

    def empty(self) -> NDArray:
        """Return a new array on the device for the packed result."""
        result = self.scheduled.args[-1]
        return empty(result.shape, str(result.dtype), self._device)

    def _placed(self, values: Array, tensor: te.Tensor) -> NDArray:
        return array(values, self._device, dtype=str(tensor.dtype))

    @property
    def _device(self) -> Device:
        with self.env:
            return ext_dev(0)

    def bind(self, **constants: npt.ArrayLike | NDArray) -> "Bound":
        """Return the operator with ``constants``, plain inputs by their names, packed once and kept on the device.

        Those that share a packed array, as the values for each channel do, are given together. Raises
        ``OperatorError``.
        """
        wanted = {operand.name: operand for operand in self.operator.inputs(self.env)}
        kind = type(self.operator).__name__
        if unknown := [name for name in constants if name not in wanted]:
            raise OperatorError(f"{kind} has no input {unknown[0]!r}; it has {', '.join(wanted)}")
        plain = {name: _plain(values) for name, values in constants.items()}
        for name, values in plain.items():
            self.operator.require_array(wanted[name], values)
        kept: list[NDArray | None] = []
        left: list[tuple[Argument, te.Tensor]] = []
        for argument, tensor in zip(self.operator.arguments(self.env), self.scheduled.args, strict=False):
            missing = [name for name in argument.sources if name not in plain]
            if not missing:
                kept.append(self._placed(argument.pack(*(plain[name] for name in argument.sources)), tensor))
            elif len(missing) == len(argument.sources):
                kept.append(None)
                left.append((argument, tensor))
            else:
                given = next(name for name in argument.sources if name in plain)
                raise OperatorError(f"{kind}: {given} is packed together with {missing[0]}; give both")
        inputs = tuple(operand for name, operand in wanted.items() if name not in plain)
        return Bound(self, tuple(kept), tuple(left), inputs)


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A compiled operator some of whose arguments lie on the device: ``kept`` has those, and None for each other one.

    ``inputs`` are the plain arrays that move from call to call, and ``left`` what is packed of them.
    """

    compiled: Compiled
    kept: tuple[NDArray | None, ...]
    left: tuple[tuple[Argument, te.Tensor], ...]
    inputs: tuple[Operand, ...]

    def __call__(self, *arrays: npt.ArrayLike | NDArray) -> Array:
        """Return the plain result for plain arrays, in the order of ``inputs``."""
        return self.unpack(self.run(*self.pack(*arrays)))

    def pack(self, *arrays: npt.ArrayLike | NDArray) -> tuple[NDArray, ...]:
        """Return ``inputs`` packed, on the device: what ``run`` takes."""
        plain = [_plain(values) for values in arrays]
        self.compiled.operator.require_operands(self.inputs, plain)
        named = {operand.name: values for operand, values in zip(self.inputs, plain, strict=True)}
        return tuple(
            self.compiled._placed(argument.pack(*(named[name] for name in argument.sources)), tensor)
            for argument, tensor in self.left
        )

    def run(self, *packed: NDArray, out: NDArray | None = None) -> NDArray:
        """Run on packed arrays of the device; return the packed result, which stays there.

        What one operator leaves, another one takes: a result has the layout of a convolution's data (unless that is
        folded), of residuals and of the ALU's operands where input and output blocks are of one size. ``out`` is an
        array to write, a new one if left out.
        """
        if len(packed) != len(self.left):
            names = ", ".join(argument.name for argument, _ in self.left)
            raise OperatorError(
                f"{type(self.compiled.operator).__name__} takes {len(self.left)} packed arrays ({names}), "
                f"not {len(packed)}"
            )
        result, given = self.compiled.empty() if out is None else out, iter(packed)
        self.compiled.module(*(next(given) if kept is None else kept for kept in self.kept), result)
        return result

    def unpack(self, packed: NDArray) -> Array:
        """Return the plain result that is in ``packed``."""
        return self.compiled.operator.unpack(self.compiled.env, packed.numpy())


def _plain(values: npt.ArrayLike | NDArray) -> Array:
    return values.numpy() if isinstance(values, NDArray) else np.asarray(values)


def compile(  # noqa: A001  # what it does
    operator: Operator, env: Environment, tiles: object = None, *, name: str = "main"
) -> Compiled:
    """Return ``operator`` built for ``env``, with ``tiles`` or with the ones that its search picks."""
    if not isinstance(operator, Operator) or not isinstance(env, Environment):
        raise OperatorError(
            f"compile takes an operator and an environment, such as vta.get_env(), not {operator!r} and {env!r}"
        )
    scheduled = operator.schedule(env, tiles)
    with env:
        module = build(scheduled.schedule, list(scheduled.args), target=env.target, name=name)
    return Compiled(operator, env, scheduled, module)
