"""One run of a program, and what it takes to run it again without its host code.

What a compiled function asks of the runtime depends on shapes alone, unless its host code looks at data. So the
launches of one run can be kept (``Recording``) and given other buffers, which changes nothing but addresses in loads
and stores.

Tests: ``tests/runtime/test_replay.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from isa.errors import VTAError
from runtime.memory.device_memory import Allocation, DeviceMemory
from runtime.queue.command_queue import DebugFlag
from runtime.queue.launch import Launch, LaunchAddresses

__all__ = ["ProgramRun", "Recording", "ReplayError", "alias_pattern"]


class ReplayError(VTAError, ValueError):
    """Buffers that a recorded program cannot run on."""


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The launches of one finished run with ``arguments``; ``debug_mode`` is the flag that shaped them."""

    memory: DeviceMemory
    launches: tuple[Launch, ...]
    arguments: tuple[Allocation, ...]
    debug_mode: DebugFlag

    @property
    def is_live(self) -> bool:
        """Whether the buffers that it uses besides its arguments still exist."""
        own = set(self.arguments)
        return all(b in own or self.memory.is_live(b) for launch in self.launches for b in launch.buffers)

    def lies_at(self, addresses: LaunchAddresses) -> bool:
        """Whether its launches were made for memory areas at ``addresses``: they are elsewhere after a shutdown."""
        return all(launch.addresses == addresses for launch in self.launches)

    def bind(self, arguments: Sequence[Allocation]) -> tuple[Launch, ...]:
        """Return the launches with ``arguments`` in place of the recorded ones.

        Raises ``ReplayError`` where the same two arguments are not the same buffer as when it was recorded, or a buffer
        was freed; ``RelocationError`` where a buffer is too short.
        """
        if alias_pattern(arguments) != alias_pattern(self.arguments):
            raise ReplayError(
                f"recorded program: its arguments shared buffers as {alias_pattern(self.arguments)} says, and these as "
                f"{alias_pattern(arguments)}; run it again to record it for them"
            )
        dead = [buffer for buffer in arguments if not self.memory.is_live(buffer)]
        if dead:
            raise ReplayError(f"recorded program: the buffer at {dead[0].address:#x} is not allocated (any more)")
        if not self.is_live:
            raise ReplayError("recorded program: a buffer that it uses besides its arguments was freed; run it again")
        buffers = dict(zip(self.arguments, arguments, strict=True))
        return tuple(launch.moved(buffers) for launch in self.launches)


@dataclass(slots=True, eq=False)
class ProgramRun:
    """A program while it runs, and afterwards."""

    memory: DeviceMemory
    arguments: tuple[Allocation, ...]
    debug_mode: DebugFlag
    launches: list[Launch] = field(default_factory=list)
    complete: bool = False
    error: BaseException | None = None
    obstacle: str = ""
    """Why it must not be replayed; empty if it may."""
    _buffers: list[Allocation] = field(default_factory=list)

    def keep_error(self, error: BaseException) -> None:
        """Remember what went wrong where no exception can pass; the first one counts."""
        if self.error is None:
            self.error = error

    def raise_error(self) -> None:
        """Raise the error that was kept, if any."""
        if self.error is not None:
            raise self.error

    def depends_on_host(self, what: str) -> None:
        """Say that the program's effects are more than its launches: it must run again, not be replayed."""
        if not self.obstacle:
            self.obstacle = what

    def alloc(self, nbytes: int) -> Allocation:
        """Allocate a buffer for the program's own use."""
        self.depends_on_host("it allocates a buffer")
        buffer = self.memory.alloc(nbytes)
        self._buffers.append(buffer)
        return buffer

    def free(self, buffer: Allocation) -> None:
        """Free a buffer."""
        self.depends_on_host("it frees a buffer")
        self.memory.free(buffer)
        if buffer in self._buffers:
            self._buffers.remove(buffer)

    def free_buffers(self) -> None:
        """Free what ``alloc`` returned and ``free`` was not called for."""
        for buffer in self._buffers:
            self.memory.free(buffer)
        self._buffers.clear()

    @property
    def recording(self) -> Recording | None:
        """What to replay, or None if the program did not finish or ``obstacle`` says why it must run again."""
        if not self.complete or self.obstacle:
            return None
        return Recording(self.memory, tuple(self.launches), self.arguments, self.debug_mode)


def alias_pattern(arguments: Sequence[Allocation]) -> tuple[int, ...]:
    """Return, for each argument, the position of the first one that is the same buffer."""
    first: dict[Allocation, int] = {}
    return tuple(first.setdefault(buffer, position) for position, buffer in enumerate(arguments))
