"""What an ALU stage computes: its expression as operations on accumulator elements and scalars.

Arithmetic is that of TIR: results of a type narrower than the accumulator wrap, which takes operations of its own.
Tests: tests/vta/passes/alu/test_alu_expression.py and the rest of tests/vta/passes/alu.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from isa.config import VTAConfig
from isa.origin import Origin
from vta.passes.alu.kinds import AluKind, operands
from vta.passes.errors import PassError
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import DType, Kind
from vta.tir.expr import (
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mod,
    Select,
    const,
)
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import BufferStore
from vta.tir.traverse import walk

__all__ = [
    "AluError", "AluTree", "Location", "Operation", "Scalar", "Tile", "Wrapped", "leaves", "map_leaves",
    "parse_store",
]  # fmt: skip

_SUPPORTED = (
    f"{', '.join(kind.symbol for kind in AluKind)}, copies and integer casts of accumulator elements and scalars"
)


class AluError(PassError):
    """An ALU stage that the tensor ALU cannot execute."""


@dataclass(frozen=True, slots=True)
class Location:
    """Accumulator elements ``base + sum(step * loop variable)``, one step for each loop of the stage."""

    base: Expr
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """The accumulator number at ``index`` of the buffer ``name``.

    ``location`` is its element, once the loops of the stage are known; ``is_result`` says that it is the result's.
    """

    name: str
    index: Expr
    location: Location | None = None
    is_result: bool = False

    @property
    def place(self) -> Location:
        """The element, which must be known."""
        assert self.location is not None, "operands are placed before operations are selected"
        return self.location


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that is the same for all lanes: a constant, or a value that the host knows."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Operation:
    """``a kind b``, wrapped at the accumulator's width."""

    kind: AluKind
    a: AluTree
    b: AluTree


@dataclass(frozen=True, slots=True)
class Wrapped:
    """The low ``bits`` bits of ``value``, sign-extended if ``signed``."""

    value: AluTree
    bits: int
    signed: bool


AluTree: TypeAlias = Tile | Scalar | Operation | Wrapped


def leaves(tree: AluTree) -> Iterator[Tile | Scalar]:
    """Yield the operands of ``tree`` from left to right."""
    work = [tree]
    while work:
        part = work.pop()
        match part:
            case Operation():
                work += (part.b, part.a)
            case Wrapped():
                work.append(part.value)
            case _:
                yield part


@deep
def map_leaves(fn: Callable[[Tile | Scalar], AluTree], tree: AluTree) -> AluTree:
    """Return ``tree`` with ``fn`` applied to its operands."""
    match tree:
        case Operation():
            return Operation(tree.kind, map_leaves(fn, tree.a), map_leaves(fn, tree.b))
        case Wrapped():
            return Wrapped(map_leaves(fn, tree.value), tree.bits, tree.signed)
        case _:
            return fn(tree)


_NAMES: dict[type[Expr], str] = {
    FloorDiv: "// (floor division)",
    FloorMod: "% (floor modulo)",
    Div: "truncdiv",
    Mod: "truncmod",
    Select: "select",
}

_HINTS: dict[type[Expr], str] = {
    FloorDiv: "a division by a power of two is x >> k",
    FloorMod: "x - ((x >> k) << k) is x modulo 2**k",
    Select: "min and max select without a condition",
}


def parse_store(store: BufferStore, config: VTAConfig, origin: Origin | None) -> AluTree:
    """Return what ``store`` computes; raises ``AluError`` naming what the ALU does not have."""
    parser = _Parser(config, origin)
    parser.check_access(store.buffer, len(store.indices), "a result")
    return parser.parse(store.value)


@dataclass(frozen=True, slots=True)
class _Parser:
    config: VTAConfig
    origin: Origin | None

    @deep
    def parse(self, expr: Expr) -> AluTree:
        if not any(isinstance(node, BufferLoad) for node in walk(expr)):
            return self._scalar(expr)
        match expr:
            case BufferLoad():
                return self._tile(expr)
            case Cast():
                return self._cast(expr)
            case _:
                return self._operation(expr)

    def _unsupported(self, expr: Expr) -> AluError:
        if isinstance(expr, Call):
            name = str(expr.op).removeprefix("tir.")
        else:
            name = _NAMES.get(type(expr), type(expr).__name__)
        hint = _HINTS.get(type(expr), "compute it in another stage, on the host")
        return self._error(expected=f"an expression of {_SUPPORTED}", got=name, hint=hint)

    def _error(self, *, expected: str, got: str, hint: str = "") -> AluError:
        return AluError("ALU stage", expected=expected, got=got, hint=hint, origin=self.origin)

    def _scalar(self, expr: Expr) -> Scalar:
        self._check_type(expr.dtype)
        for node in walk(expr):
            if isinstance(node, Call) and node.op is Builtin.CALL_EXTERN:
                raise self._unsupported(node)
        if isinstance(expr, IntImm):
            return Scalar(const(expr.value, self.config.acc_dtype))
        return Scalar(expr.astype(self.config.acc_dtype))

    def _tile(self, load: BufferLoad) -> Tile:
        self.check_access(load.buffer, len(load.indices), "an operand")
        return Tile(load.buffer.name, load.indices[0])

    def check_access(self, buffer: Buffer, dimensions: int, role: str) -> None:
        """Raise ``AluError`` unless ``buffer`` is flat accumulator memory."""
        if buffer.scope != ACC_SCOPE:
            raise self._error(
                expected=f"{role} in {ACC_SCOPE!r}",
                got=f"{buffer.name!r} in {buffer.scope!r}",
                hint="the ALU works on the accumulator alone; copy with stages that have env.dma_copy",
            )
        if dimensions != 1:
            raise self._error(
                expected=f"{role} of one dimension",
                got=f"{buffer.name!r} with {dimensions} dimensions",
                hint="run StorageFlatten first",
            )
        if buffer.dtype != self.config.acc_dtype:
            raise self._error(
                expected=f"numbers of {self.config.acc_dtype} in the accumulator",
                got=f"{buffer.name!r} of {buffer.dtype}",
                hint="cast where the data leaves the accumulator (the store keeps the low bits), or where it comes in",
            )

    def _check_type(self, dtype: DType) -> None:
        width = self.config.acc_width
        fits = dtype.lanes == 1 and (
            (dtype.kind is Kind.INT and dtype.bits <= width) or (dtype.kind is Kind.UINT and dtype.bits < width)
        )
        if not fits:
            raise self._error(
                expected=f"integers that fit {self.config.acc_dtype}",
                got=f"arithmetic on {dtype}",
                hint=f"the accumulator has {width} signed bits",
            )

    def _operation(self, expr: Expr) -> AluTree:
        found = operands(expr)
        if found is None:
            raise self._unsupported(expr)
        kind, a, b = found
        self._check_type(expr.dtype)
        tree = Operation(kind, self.parse(a), self.parse(b))
        return self._narrowed(tree, expr.dtype) if kind.grows else tree

    def _narrowed(self, tree: AluTree, dtype: DType) -> AluTree:
        if dtype.bits >= self.config.acc_width:
            return tree
        return Wrapped(tree, dtype.bits, dtype.kind is Kind.INT)

    def _cast(self, expr: Cast) -> AluTree:
        self._check_type(expr.dtype)
        self._check_type(expr.value.dtype)
        value = self.parse(expr.value)
        source, target = expr.value.dtype, expr.dtype
        low, high = target.bounds
        keeps = source.bounds[0] >= low and source.bounds[1] <= high
        return value if keeps else self._narrowed(value, target)
