"""Where micro-ops lie during one launch: on chip, under upstream's replacement rules, and in DRAM.

On chip a block goes after the one loaded last, or to the beginning where the rest is too small, and what it overwrites
is forgotten (``docs/runtime.md``). In DRAM the image only grows: a block is appended when it is first loaded, and a
reload after eviction reads it from the same place. (Upstream rebuilds the image from what is on chip at the end, so
that after a wrap earlier loads read the wrong micro-ops.)

Tests: ``tests/runtime/queue/test_uop_cache.py``.
"""

from dataclasses import dataclass

from runtime.queue.kernel_lowering import UopBlock

__all__ = ["Placement", "UopCache"]


@dataclass(frozen=True, slots=True)
class Placement:
    """A block on chip: its first element and the one after its last."""

    block: UopBlock
    begin: int
    end: int


class UopCache:
    """The micro-op buffer of ``depth`` elements, and the image in DRAM, of one launch after the other."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.clear()

    def clear(self) -> None:
        """Forget everything, as a launch that begins does."""
        self._resident: list[Placement] = []
        self._by_block: dict[UopBlock, Placement] = {}
        self._insert_at = 0
        self._end = 0
        self._image: list[int] = []
        self._offsets: dict[UopBlock, int] = {}

    @property
    def image(self) -> tuple[int, ...]:
        """The micro-op words of this launch, as they go to DRAM."""
        return tuple(self._image)

    @property
    def image_size(self) -> int:
        """Words of the image."""
        return len(self._image)

    @property
    def resident(self) -> tuple[Placement, ...]:
        """The blocks on chip now, by position."""
        return tuple(self._resident)

    def growth(self, block: UopBlock) -> int:
        """Return by how many words ``block`` would lengthen the image if it were needed now."""
        return 0 if block in self._offsets else len(block.words)

    def offset(self, block: UopBlock) -> int:
        """Return the place of a block's first word in the image."""
        return self._offsets[block]

    def find(self, block: UopBlock) -> Placement | None:
        """Return where ``block`` lies on chip, or None."""
        return self._by_block.get(block)

    def place(self, block: UopBlock) -> Placement:
        """Return the place on chip that ``block``, which is not there, is loaded to; it is in the image from now on."""
        size = len(block.words)
        begin = self._end
        if begin + size > self._depth:
            self._insert_at = 0
            begin = 0
        self._end = begin + size
        stop = self._insert_at
        while stop < len(self._resident) and self._resident[stop].begin < self._end:
            stop += 1
        for evicted in self._resident[self._insert_at : stop]:
            del self._by_block[evicted.block]
        placement = Placement(block, begin, self._end)
        self._by_block[block] = placement
        self._resident[self._insert_at : stop] = [placement]
        self._insert_at += 1
        if block not in self._offsets:
            self._offsets[block] = len(self._image)
            self._image.extend(block.words)
        return placement
