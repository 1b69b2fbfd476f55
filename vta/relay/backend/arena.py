"""Where the tensors of a network lie in the arena: some of them in others, as the parts of a concatenation do.

Tests: tests/vta/relay/backend/test_arena.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from runtime.executor.network import DeviceStep, Home, Step, Tensor
from vta.relay.transform.placement import Lifetime, planned

__all__ = ["ALIGNMENT", "Arena"]

ALIGNMENT = 4096
"""Tensors begin at multiples of this many bytes: elements of every memory do, and a page is one of the device's."""


@dataclass(slots=True, eq=False)
class Arena:
    """Tensors by their names; ``within`` says which lie in which others, and how many bytes behind the beginning."""

    within: dict[str, tuple[str, int]] = field(default_factory=dict)

    def put(self, part: str, whole: str, offset: int) -> None:
        """Let ``part`` lie in ``whole``, from byte ``offset`` on."""
        assert part not in self.within, f"{part} lies somewhere already"
        self.within[part] = (whole, offset)

    def rename(self, old: str, new: str) -> None:
        """Give a tensor another name."""
        self.within = {
            new if part == old else part: (new if whole == old else whole, offset)
            for part, (whole, offset) in self.within.items()
        }

    def plan(self, steps: Sequence[Step], tensors: dict[str, Tensor]) -> int:
        """Give every tensor of the arena its offset, and return how many bytes there are, in whole pages.

        A tensor takes memory from the first step that touches it, or what lies in it, to the last one.
        """
        spans: dict[str, tuple[int, int]] = {}
        for number, step in enumerate(steps):
            touched = step.tensors if isinstance(step, DeviceStep) else (*step.inputs, *step.outputs)
            for name in touched:
                if tensors[name].home is Home.ARENA:
                    whole, _ = self._place(name)
                    spans[whole] = (spans.get(whole, (number, number))[0], number)
        lives = [Lifetime(tensors[name].nbytes, *span) for name, span in spans.items()]
        offsets, total = planned(lives, ALIGNMENT)
        begins = dict(zip(spans, offsets, strict=True))
        for name, tensor in tensors.items():
            whole, offset = self._place(name)
            if tensor.home is Home.ARENA and whole in begins:
                tensors[name] = replace(tensor, offset=begins[whole] + offset)
        return -(-total // ALIGNMENT) * ALIGNMENT

    def _place(self, name: str) -> tuple[str, int]:
        """Return in which tensor of its own memory one lies, and where."""
        offset = 0
        while name in self.within:
            name, more = self.within[name]
            offset += more
        return name, offset
