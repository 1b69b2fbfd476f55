"""What the accelerator does of a graph, and what the host does: the items of a placement.

Tests: tests/vta/relay/backend/test_build.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array
from vta.relay.ir.nodes import Call, Expr
from vta.relay.ir.origin import Origin, merged
from vta.topi.core.operator import Operator

__all__ = ["HostCall", "Item", "Join", "Kernel", "Stacked"]


@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """Tensors one behind the other along channels, each of which begins with a block of its own."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Calls that one operator of the library computes, the last of which is ``root``.

    ``operator`` takes its inputs in order: those numbered in ``activations`` are values of the graph, the others are
    ``constants``.
    """

    operator: Operator
    calls: tuple[Call, ...]
    activations: Mapping[int, Expr | Stacked]
    constants: Mapping[int, Array]

    @property
    def root(self) -> Call:
        """The call whose result the operator gives."""
        return self.calls[-1]

    @property
    def macs(self) -> int:
        """Multiplications with an addition that the network needs: none where ones only move channels."""
        return 0 if self.calls[0].callee is Op.CONCATENATE else self.operator.macs

    @property
    def rule(self) -> str:
        """Why the accelerator does it, and how."""
        what = type(self.operator).__name__
        if self.calls[0].callee is Op.CONCATENATE:
            what += " of ones, which moves channels together,"
        epilogue = ", ".join(str(call.callee) for call in self.calls[1:])
        return f"{what} with {epilogue} in its epilogue" if epilogue else what

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The nodes of the model that it does the work of."""
        return merged([call.origins for call in self.calls])

    @property
    def name(self) -> str:
        """What it is called in reports and traces: the first node of the model, which is the layer."""
        return self.origins[0].name if self.origins else type(self.operator).__name__


@dataclass(frozen=True, slots=True, eq=False)
class HostCall:
    """A call that stays with the host, and the reason."""

    root: Call
    reason: str

    @property
    def name(self) -> str:
        """What it is called in reports and traces."""
        return self.root.origins[0].name if self.root.origins else str(self.root.callee)


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """A concatenation whose parts are made in their places on the device."""

    root: Call

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return self.root.origins[0].name if self.root.origins else str(self.root.callee)


Item: TypeAlias = Kernel | Join | HostCall
