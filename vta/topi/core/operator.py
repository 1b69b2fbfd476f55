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
from vta.nd import NDArray, array, empty, ext_dev
from vta.topi.core.operand import Operand

__all__ = ["Compiled", "Operand", "Operator", "OperatorError", "Scheduled", "compile"]

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
    def pack(self, env: Environment, *arrays: Array) -> tuple[Array, ...]:
        """Return the arrays in the layout of the schedule's arguments, all but the result."""

    @abstractmethod
    def unpack(self, env: Environment, packed: Array) -> Array:
        """Return the plain result for the schedule's result."""

    @abstractmethod
    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return a schedule with ``tiles``, or with the best ones that a search finds."""

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
        wanted = self.inputs(env)
        kind = type(self).__name__
        if len(arrays) != len(wanted):
            names = ", ".join(operand.name for operand in wanted)
            raise OperatorError(f"{kind} takes {len(wanted)} arrays ({names}), not {len(arrays)}")
        for given, operand in zip(arrays, wanted, strict=True):
            dtype = "int8" if operand.dtype in ("int1", "int2", "int4") else operand.dtype
            if (given.shape, str(given.dtype)) != (operand.shape, dtype):
                hint = "" if str(given.dtype) == dtype else f"; .astype({dtype!r}) converts numbers that fit"
                raise OperatorError(
                    f"{kind}: {operand.name} is {dtype} of shape {operand.shape}, "
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
        plain = [values.numpy() if isinstance(values, NDArray) else np.asarray(values) for values in arrays]
        self.operator.require_arrays(self.env, plain)
        return plain

    def packed(self, *arrays: Array) -> Array:
        """Return the packed result for packed arrays."""
        placed = self.place(*arrays)
        self.module(*placed)
        return placed[-1].numpy()

    def place(self, *arrays: Array) -> list[NDArray]:
        """Return the function's arguments on the device: packed arrays, and an empty one for the result."""
        *inputs, result = self.scheduled.args
        with self.env:
            device = ext_dev(0)
        placed = [array(values, device, dtype=str(t.dtype)) for values, t in zip(arrays, inputs, strict=True)]
        return [*placed, empty(result.shape, str(result.dtype), device)]


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
