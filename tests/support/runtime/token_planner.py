"""Orders instructions of different modules by tokens, only where it is asked to: what random programs are built on.

Each module has a clock: the highest index of every other module's instructions that is certainly complete when the
module's next instruction starts. A push carries the clock of its sender, a pop merges it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from isa.instructions import Deps, Instruction, Module

__all__ = ["TokenPlanner"]

_PUSH_FLAG = {
    (Module.LOAD, Module.COMPUTE): "push_next",
    (Module.COMPUTE, Module.STORE): "push_next",
    (Module.COMPUTE, Module.LOAD): "push_prev",
    (Module.STORE, Module.COMPUTE): "push_prev",
}
_POP_FLAG = {
    (Module.LOAD, Module.COMPUTE): "pop_prev",
    (Module.COMPUTE, Module.STORE): "pop_prev",
    (Module.COMPUTE, Module.LOAD): "pop_next",
    (Module.STORE, Module.COMPUTE): "pop_next",
}
Queue = tuple[Module, Module]
Clock = dict[Module, int]

QUEUES: tuple[Queue, ...] = tuple(_PUSH_FLAG)


class TokenPlanner:
    """A stream under construction. ``nop`` makes a no-op for a module (without flags)."""

    def __init__(self, nop: Callable[[Module], Instruction]) -> None:
        self.instructions: list[Instruction] = []
        self._nop = nop
        self._last: dict[Module, int] = {}
        self._clock: dict[Module, Clock] = {module: dict.fromkeys(Module, -1) for module in Module}
        self._tokens: dict[Queue, deque[Clock]] = {queue: deque() for queue in QUEUES}
        self._pending: dict[Module, set[Queue]] = {module: set() for module in Module}

    def emit(self, instruction: Instruction) -> int:
        """Append an instruction (without flags); it takes the pops that its module owes. Return its index."""
        module = instruction.module
        flags = {_POP_FLAG[queue]: True for queue in self._pending[module]}
        self._pending[module].clear()
        self.instructions.append(replace(instruction, deps=Deps(**flags)))
        self._last[module] = len(self.instructions) - 1
        return self._last[module]

    def outstanding(self, queue: Queue) -> int:
        """Return how many tokens of ``queue`` were pushed and not popped."""
        return len(self._tokens[queue])

    def push(self, queue: Queue) -> None:
        """Send a token from the sender's last instruction, or from a no-op where that one cannot."""
        sender, _ = queue
        flag = _PUSH_FLAG[queue]
        last = self._last.get(sender)
        if last is None or self._pending[sender] or getattr(self.instructions[last].deps, flag):
            last = self.emit(self._nop(sender))
        old = self.instructions[last]
        self.instructions[last] = replace(old, deps=replace(old.deps, **{flag: True}))
        self._tokens[queue].append({**self._clock[sender], sender: last})

    def pop(self, queue: Queue) -> None:
        """Let the receiver's next instruction take the oldest token of ``queue`` (there must be one)."""
        _, receiver = queue
        if queue in self._pending[receiver]:
            self.emit(self._nop(receiver))
        clock = self._tokens[queue].popleft()
        self._pending[receiver].add(queue)
        mine = self._clock[receiver]
        for module, index in clock.items():
            mine[module] = max(mine[module], index)

    def require(self, module: Module, other: Module, index: int) -> None:
        """Make instruction ``index`` of ``other`` complete before the next instruction of ``module`` starts."""
        if self._clock[module][other] >= index:
            return
        queue = (other, module)
        if queue not in self._tokens:  # load and store are not neighbours
            self.require(Module.COMPUTE, other, index)
            queue = (Module.COMPUTE, module)
        if not any(clock[other] >= index for clock in self._tokens[queue]):
            self.push(queue)
        while self._clock[module][other] < index:
            self.pop(queue)
