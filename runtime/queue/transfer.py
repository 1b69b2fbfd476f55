"""Two-dimensional copies between a DRAM buffer and a scratchpad, cut into LOAD and STORE instructions that hold them.

A copy whose sizes, stride and pads fit the instruction's fields is one instruction, as upstream forms it. Others are
cut:

- more rows than 16 bits: several instructions; a stride beyond 16 bits: one per row; longer rows: one per piece;
- pads beyond 4 bits: the zeros that the data's own pads do not reach are loaded from an element of zeros in DRAM, with
  pads around it, so that two loads clear any region; where zeros lie between rows, the tile is cleared first and the
  rows are loaded over it (one module's instructions take effect in order);
- no data at all, only padding: cleared the same way. (An instruction of size zero would not even write its pads.)

Tests: ``tests/runtime/queue/test_transfer.py``. Rules: ``docs/isa.md``, LOAD and STORE.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.extents import dram_reach, moved_elements, tile_elements
from isa.instructions import MemoryId, numbered
from isa.layout import instruction_layouts

__all__ = ["Piece", "TileCopy", "TransferError", "TransferLimits", "known_memory", "split_load", "split_store"]


class TransferError(VTAError, ValueError):
    """A copy that reaches outside of its buffer or scratchpad, or that no instruction does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCopy:
    """What one call asks for; ``offset`` (within the buffer), sizes and stride count elements of ``memory``."""

    memory: MemoryId
    sram_base: int
    offset: int
    x_size: int
    y_size: int
    x_stride: int
    x_pad_0: int = 0
    y_pad_0: int = 0
    x_pad_1: int = 0
    y_pad_1: int = 0

    @property
    def width(self) -> int:
        """Scratchpad elements of a row, pads included."""
        return self.x_pad_0 + self.x_size + self.x_pad_1

    @property
    def rows(self) -> int:
        """Rows in the scratchpad, pads included."""
        return self.y_pad_0 + self.y_size + self.y_pad_1

    @property
    def reach(self) -> int:
        """Elements of the buffer from ``offset`` to the end of the last row."""
        return dram_reach(self) if moved_elements(self) else 0


@dataclass(frozen=True, slots=True)
class Piece:
    """One instruction's worth of copying; from the element of zeros instead of the buffer if ``zeros``."""

    copy: TileCopy
    zeros: bool = False


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """What bounds copies in one configuration.

    ``size`` (of rows, columns and stride) and ``pad`` are the largest that an instruction holds; ``depth`` is how many
    elements each scratchpad has, ``unit`` how many bytes in DRAM an element takes.
    """

    size: int
    pad: int
    depth: Mapping[MemoryId, int]
    unit: Mapping[MemoryId, int]
    inp_width: int

    @classmethod
    def of(cls, config: VTAConfig) -> "TransferLimits":
        """Return the limits of ``config``."""
        layout = instruction_layouts(config)["LOAD"]
        return cls(
            size=layout.field("x_size").high,
            pad=layout.field("x_pad_0").high,
            depth={memory: config.depth(memory) for memory in MemoryId},
            unit={memory: config.elem_bytes(memory) for memory in MemoryId},
            inp_width=config.inp_width,
        )

    def hold(self, copy: TileCopy) -> bool:
        """Whether ``copy`` is one instruction."""
        return (
            max(copy.x_size, copy.y_size, copy.x_stride) <= self.size
            and max(copy.x_pad_0, copy.x_pad_1, copy.y_pad_0, copy.y_pad_1) <= self.pad
        )


def split_load(copy: TileCopy, buffer_bytes: int, limits: TransferLimits) -> tuple[Piece, ...]:
    """Return the loads that fill ``copy``'s tile from a buffer of ``buffer_bytes``, in order; none for an empty tile.

    Raises ``TransferError`` where the tile leaves the buffer or the scratchpad, and for memories that no call loads.
    """
    if copy.memory in (MemoryId.UOP, MemoryId.OUT):
        reason = "the queue loads micro-ops itself" if copy.memory is MemoryId.UOP else "it can only be stored"
        raise TransferError(f"load of {copy.memory.name}: {reason}; use INP, WGT, ACC or ACC_8BIT")
    if copy.memory is MemoryId.ACC_8BIT and limits.inp_width != 8:
        raise TransferError(
            f"load of ACC_8BIT: it needs inputs of 8 bits, and the configuration has {limits.inp_width}"
        )
    _check("load", copy, buffer_bytes, limits)
    if not copy.x_size or not copy.y_size:
        return tuple(_clear(copy, copy.sram_base, tile_elements(copy), limits))
    if limits.hold(copy):
        return (Piece(copy),)
    if max(copy.x_pad_0, copy.x_pad_1) > limits.pad or copy.x_size > limits.size:
        return tuple(_load_row_by_row(copy, limits))
    return tuple(_load_in_strips(copy, limits))


def split_store(copy: TileCopy, buffer_bytes: int, limits: TransferLimits) -> tuple[Piece, ...]:
    """Return the stores that copy the tile to a buffer, in order; errors as in ``split_load``."""
    if copy.memory is not MemoryId.OUT:
        raise TransferError(f"store from {copy.memory.name}: only OUT can be stored")
    _check("store", copy, buffer_bytes, limits)
    if not copy.x_size or not copy.y_size:
        return ()
    if limits.hold(copy):
        return (Piece(copy),)
    if copy.x_size > limits.size:
        return tuple(_rows_in_pieces(copy, limits))
    return tuple(_load_in_strips(copy, limits))


_numbers = attrgetter(*(field.name for field in fields(TileCopy)))


def _check(verb: str, copy: TileCopy, buffer_bytes: int, limits: TransferLimits) -> None:
    name = copy.memory.name
    if min(_numbers(copy)) < 0:
        field = next(field.name for field in fields(copy) if getattr(copy, field.name) < 0)
        raise TransferError(f"{verb} of {name}: {field} is {getattr(copy, field)}, and nothing here is negative")
    end, depth = copy.sram_base + tile_elements(copy), limits.depth[copy.memory]
    if end > depth:
        raise TransferError(
            f"{verb} of {name}: {copy.rows} rows of {copy.width} elements (pads included) from element "
            f"{copy.sram_base} end at {end}, and the buffer has {depth}"
        )
    unit = limits.unit[copy.memory]
    if copy.reach and (copy.offset + copy.reach) * unit > buffer_bytes:
        raise TransferError(
            f"{verb} of {name}: {copy.y_size} rows of {copy.x_size} elements with stride {copy.x_stride} from element "
            f"{copy.offset} end at byte {(copy.offset + copy.reach) * unit} of a DRAM buffer of {buffer_bytes} bytes "
            f"(an element has {unit})"
        )


def _clear(copy: TileCopy, start: int, count: int, limits: TransferLimits) -> Iterator[Piece]:
    """Yield loads that write ``count`` zeros from scratchpad element ``start`` on: at most two."""
    widest = 2 * limits.pad + 1
    rows, rest = divmod(count, widest)
    zero = TileCopy(memory=copy.memory, sram_base=start, offset=0, x_size=1, y_size=1, x_stride=0)
    if rows:
        top = min(limits.pad, (rows - 1) // 2)
        bottom = min(limits.pad, rows - 1 - top)
        yield Piece(
            replace(
                zero,
                y_size=rows - top - bottom,
                x_pad_0=limits.pad,
                x_pad_1=limits.pad,
                y_pad_0=top,
                y_pad_1=bottom,
            ),
            zeros=True,
        )
    if rest:
        before = (rest - 1) // 2
        last = replace(zero, sram_base=start + rows * widest, x_pad_0=before, x_pad_1=rest - 1 - before)
        yield Piece(last, zeros=True)


def _load_row_by_row(copy: TileCopy, limits: TransferLimits) -> Iterator[Piece]:
    """Clear the tile if it has padding, then load each row without pads."""
    if tile_elements(copy) > copy.y_size * copy.x_size:
        yield from _clear(copy, copy.sram_base, tile_elements(copy), limits)
    yield from _rows_in_pieces(copy, limits)


def _rows_in_pieces(copy: TileCopy, limits: TransferLimits) -> Iterator[Piece]:
    start = copy.sram_base + copy.y_pad_0 * copy.width + copy.x_pad_0
    for y in range(copy.y_size):
        for x in range(0, copy.x_size, limits.size):
            size = min(limits.size, copy.x_size - x)
            yield Piece(
                TileCopy(
                    memory=copy.memory,
                    sram_base=start + y * copy.width + x,
                    offset=copy.offset + y * copy.x_stride + x,
                    x_size=size,
                    y_size=1,
                    x_stride=size,
                )
            )


def _load_in_strips(copy: TileCopy, limits: TransferLimits) -> Iterator[Piece]:
    """Copy strips of as many rows as an instruction holds; pads above and below that exceed its fields are cleared."""
    top, bottom = min(copy.y_pad_0, limits.pad), min(copy.y_pad_1, limits.pad)
    above = (copy.y_pad_0 - top) * copy.width
    yield from _clear(copy, copy.sram_base, above, limits)
    step = limits.size if copy.x_stride <= limits.size else 1
    position = copy.sram_base + above
    for y in range(0, copy.y_size, step):
        rows = min(step, copy.y_size - y)
        strip = replace(
            copy,
            sram_base=position,
            offset=copy.offset + y * copy.x_stride,
            y_size=rows,
            x_stride=copy.x_size if rows == 1 else copy.x_stride,
            y_pad_0=top if y == 0 else 0,
            y_pad_1=bottom if y + rows == copy.y_size else 0,
        )
        yield Piece(strip)
        position += tile_elements(strip)
    yield from _clear(copy, position, (copy.y_pad_1 - bottom) * copy.width, limits)


def known_memory(number: MemoryId | int) -> MemoryId:
    """Return the memory with a number (it may be one already); ``TransferError`` if there is none."""
    if number not in MemoryId.__members__.values():
        raise TransferError(f"memory {number} is unknown; the memories are {numbered(MemoryId)}")
    return MemoryId(number)
