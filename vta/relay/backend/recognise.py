"""Which calls of an integer graph the accelerator does, and as which operator of the library.

A layer takes what follows it as its epilogue, as long as nothing else reads what is in between: requantisation, a
residual, limits. What no operator does stays with the host, with the reason. Nothing is chosen by name: a call is
judged by its operator, types and sizes, and whether the library has tiles for it.
Tests: tests/vta/relay/backend/test_build.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from isa.errors import VTAError
from runtime.executor.operators.names import Op
from vta.environment import Environment
from vta.relay.backend.heads import ALONE, FIRST_STEPS, LAYERS, Layer, RefusedError
from vta.relay.backend.joins import join_of
from vta.relay.backend.kernel import HostCall, Item, Join, Kernel
from vta.relay.backend.steps import JOINTS, CallSteps, add_steps, fork_steps, lookup_steps, requantize_steps
from vta.relay.ir.nodes import Call, Constant, Function, tensor_type
from vta.relay.ir.traverse import calls, use_counts, users
from vta.topi.core.epilogue import Epilogue, Residual
from vta.topi.core.epilogue_steps import readers

__all__ = ["PlacementError", "Refusals", "placed"]


@dataclass(slots=True)
class Refusals:
    """What the library turned out to have no tiles for.

    ``reasons`` has calls that begin no kernel, and why; ``longest`` how many calls the kernels of others may have.
    """

    reasons: dict[Call, str] = field(default_factory=dict)
    longest: dict[Call, int] = field(default_factory=dict)

    def note(self, kernel: Kernel, reason: str) -> None:
        """Note that ``kernel`` has no tiles: one with fewer calls may have, if it ends in cells, too."""
        shorter = [
            count for count in range(1, len(kernel.calls)) if tensor_type(kernel.calls[count - 1]).dtype == "int8"
        ]
        if shorter:
            self.longest[kernel.calls[0]] = shorter[-1]
        else:
            self.reasons[kernel.calls[0]] = reason


class PlacementError(VTAError, ValueError):
    """A configuration that networks cannot run on."""


def placed(function: Function, env: Environment, refusals: Refusals | None = None) -> list[Item]:
    """Return what computes ``function`` for ``env``, in an order in which everything is made before it is read."""
    placement = _Placement(function, env, refusals or Refusals())
    order = calls(function)
    for call in order:
        if call.callee in LAYERS:
            placement.try_layer(call)
    for call in order:
        if call.callee in ALONE or call.callee is Op.CONCATENATE:
            placement.try_layer(call)
    return list(placement.items(order))


def require_blocks(env: Environment) -> None:
    """Refuse a configuration whose operands are not int8: networks have no other cells."""
    widths = {"inputs": env.INP_WIDTH, "weights": env.WGT_WIDTH, "outputs": env.OUT_WIDTH}
    narrow = [f"{name} of {width}" for name, width in widths.items() if width != 8]
    if narrow:
        raise PlacementError(
            f"networks need operands of 8 bits, and {env.config.bitstream} has {', '.join(narrow)} bits"
        )


class _Placement:
    """The kernels that were found, and why other calls have none."""

    def __init__(self, function: Function, env: Environment, refusals: Refusals) -> None:
        require_blocks(env)
        self._users = users([function.body])
        self._counts = use_counts(function.body)
        self._kernels: dict[Call, Kernel] = {}
        self._reasons: dict[Call, str] = dict(refusals.reasons)
        self._longest = refusals.longest
        self._joins: dict[Call, Join] = {}
        self._env = env
        self.taken: set[Call] = set()

    def try_layer(self, call: Call) -> None:
        """Make a kernel of a call and what follows it, or note why there is none."""
        if call in self.taken or call in self._reasons:
            return
        try:
            layer = self._layer(call)
            if isinstance(layer, Join):
                self._joins[call] = layer
                return
            kernel = self._kernel(call, layer)
        except VTAError as error:
            self._reasons[call] = str(error)
            return
        self._kernels[kernel.root] = kernel
        self.taken |= set(kernel.calls)

    def items(self, order: Sequence[Call]) -> Iterator[Item]:
        """Yield kernels where their last calls stand, and the other calls."""
        for call in order:
            if call in self._kernels:
                yield self._kernels[call]
            elif call in self._joins:
                yield self._joins[call]
            elif call not in self.taken:
                yield HostCall(call, self._reasons.get(call, f"the accelerator has no operator for {call.callee}"))

    def _layer(self, call: Call) -> Layer | Join:
        assert isinstance(call.callee, Op)
        return join_of(call, self._env) if call.callee is Op.CONCATENATE else {**LAYERS, **ALONE}[call.callee](call)

    def _kernel(self, call: Call, layer: Layer) -> Kernel:
        assert isinstance(call.callee, Op)
        chain, tail = [call], list[CallSteps]()
        if call.callee in FIRST_STEPS:
            tail.append(FIRST_STEPS[call.callee](call))
        most = self._longest.get(call, len(self._users))
        while (step := self._next(chain[-1])) is not None:
            following, steps = step
            if not layer.takes_residuals and any(isinstance(each, Residual) for each in readers(steps.steps)):
                break
            if len(chain) + len(following) > most:
                break
            chain += following
            tail.append(steps)
        if tensor_type(chain[-1]).dtype != "int8":
            raise RefusedError(self._why_sums_end(chain[-1]))
        return self._settled(layer, chain, tail)

    def _why_sums_end(self, call: Call) -> str:
        """Return why nothing that reads the sums of ``call`` makes cells of them in its kernel."""
        who = [each for each in self._users[call] if isinstance(each, Call)]
        if len(who) == 1 and self._counts[call] == 1:
            try:
                self._steps(who[0], call)
            except VTAError as error:
                return str(error)
        names = ", ".join(str(each.callee) for each in who)
        return f"its int32 sums are read by {names or 'the outside'}, and the accelerator stores int8"

    def _settled(self, layer: Layer, chain: list[Call], tail: list[CallSteps]) -> Kernel:
        epilogue: Epilogue = tuple(step for part in tail for step in part.steps)
        operator = layer.make(epilogue)
        reads = [*layer.reads, *(read for part in tail for read in part.reads)]
        activations = {at: read for at, read in enumerate(reads) if not isinstance(read, np.ndarray)}
        constants = {at: read for at, read in enumerate(reads) if isinstance(read, np.ndarray)}
        return Kernel(operator, tuple(chain), activations, constants)

    def _next(self, call: Call) -> tuple[list[Call], CallSteps] | None:
        """Return the calls that alone read ``call``, if they can be part of the same epilogue."""
        readers = [each for each in self._users[call] if isinstance(each, Call) and each not in self.taken]
        if len(readers) != len(self._users[call]) or self._counts[call] != len(readers):
            return None
        try:
            if len(readers) == 2:
                return self._fork(readers, call)
            steps = self._steps(readers[0], call) if len(readers) == 1 else None
        except VTAError:
            return None  # it is judged alone, and the reason is noted then
        return None if steps is None else (readers, steps)

    def _fork(self, readers: list[Call], call: Call) -> tuple[list[Call], CallSteps] | None:
        """Return two calls that read ``call`` and the one that joins what they give, or the one of them that does."""
        sides = [each for each in readers if each.callee is Op.RESCALE and each.args[0] is call and len(each.args) == 4]
        joining = {each for side in sides for each in self._users[side] if isinstance(each, Call)}
        if len(joining) != 1 or any(self._counts[side] != 1 for side in sides):
            return None
        [join] = joining
        operands = sides if len(sides) == 2 else [*sides, call]
        if join in self.taken or join.callee not in JOINTS or len(join.args) != 2 or set(join.args) != set(operands):
            return None
        if (len(sides) == 1 and join not in readers) or (join.callee is Op.MULTIPLY and _dtype(join) != "int32"):
            return None
        return [*sides, join], fork_steps(JOINTS[join.callee], sides)

    def _steps(self, reader: Call, call: Call) -> CallSteps | None:
        """Return the steps of ``reader`` on what ``call`` gives; None if it has none."""
        has_cells = tensor_type(call).dtype == "int8"
        if reader.callee is Op.RESCALE and reader.args[0] is call:
            return requantize_steps(reader)
        if reader.callee is Op.QNN_LOOKUP and has_cells:
            return lookup_steps(reader)
        if reader.callee is Op.QNN_ADD and has_cells:
            side = 0 if reader.args[0] is call else 1
            other = tensor_type(reader.args[1 - side])
            if other == tensor_type(call) and not isinstance(reader.args[1 - side], Constant):
                return add_steps(reader, side)
        return None


def _dtype(call: Call) -> str:
    return str(tensor_type(call).dtype)
