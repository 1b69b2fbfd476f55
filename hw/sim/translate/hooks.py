"""What else runs in native code once a cycle, between the settling of the design and the clock's edge.

A hook sees the values of its signals of this cycle and may set inputs for the next; one that reads an input stands
before the one that sets it. Tests: ``tests/hw/sim/logs/test_samples.py``, ``tests/hw/sim/axi/test_memory.py``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function

if TYPE_CHECKING:
    from hw.sim.run.design import CompiledDesign

__all__ = ["Hook"]


class Hook(Protocol):
    """Native work of every cycle."""

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals that it reads."""

    @property
    def noted(self) -> tuple[str, ...]:
        """Names of the signals that it reads while notes are taken (``hw.sim.logs.note_buffer``).

        A hook that neither reads others nor drives inputs runs only then.
        """

    @property
    def drives(self) -> tuple[str, ...]:
        """Names of the inputs that it sets for the next cycle."""

    @property
    def size(self) -> int:
        """Bytes of its state in the ``aux`` region."""

    @property
    def key(self) -> str:
        """What tells it from other hooks in the cache's key."""

    def write(self, fn: Function, place: int, slots: Mapping[str, Slot]) -> None:
        """Write its function; its state is at ``aux`` + ``place``; ``slots`` has its signals and all inputs."""

    def start(self, design: "CompiledDesign", place: int) -> None:
        """Begin at power-on; its state is at byte ``place`` of ``design.buffer``, all zero."""

    def check(self, design: "CompiledDesign", place: int) -> None:
        """Raise an error for what its function has noted; called after a cycle that stopped the run."""
