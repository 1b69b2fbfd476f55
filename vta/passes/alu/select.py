"""From an ALU expression to ALU operations: each reads and writes accumulator elements, in order.

The ALU computes ``acc[dst] = op(acc[dst], acc[src])`` or ``op(acc[dst], imm)``, so the first operand must lie in the
destination already. Rules that follow from it:

- a copy is ``dst * 0``, then ``dst + src``;
- ``a - b`` is ``-(-a + b)``, or ``-b + a``, whichever needs no temporary;
- ``a << b`` is ``a >> -b``; a count of 32 or more shifts everything out;
- an operand that cannot be computed in the destination goes to a temporary, in elements after the function's own;
- an immediate has 16 bits: larger summands are split, larger factors that are powers of two become shifts, and anything
  else comes from a temporary element that is filled with it, as ``(0 + high) << 16 + low``;
- a value of n bits is sign-extended by ``<< 32-n``, ``>> 32-n``;
- with fused steps, ``min(max(x, a), b) >> n`` and ``(x * a + b) >> n`` are one operation where b follows a.

Sums and products wrap modulo 2^32, so all of it is exact.

Tests: tests/vta/passes/alu/test_alu_select.py and the rest of tests/vta/passes/alu.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from isa.alu_semantics import ACC_BITS
from isa.instructions import AluOpcode
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.alu.expression import (
    AluError,
    AluTree,
    Location,
    Operation,
    Scalar,
    Tile,
    Wrapped,
)
from vta.passes.alu.fused import fused_pair
from vta.passes.alu.immediate import IMMEDIATES, filling_steps, immediate_steps
from vta.passes.alu.kinds import AluKind
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, Min, binary, const

__all__ = ["AluOp", "Selector", "Temporaries"]


@dataclass(frozen=True, slots=True)
class AluOp:
    """``dst = opcode(dst, src)``, or with ``imm`` where there is no ``src``; for all iterations before the next one.

    A ``single`` operation is done once, not for every iteration. A ``fused`` one goes on with the element after ``src``
    and shifts by ``imm``.
    """

    opcode: AluOpcode
    dst: Location
    src: Location | None
    imm: Expr
    single: bool = False
    fused: bool = False


@dataclass(slots=True)
class Temporaries:
    """Accumulator elements from ``base`` on, given out like a stack; ``peak`` is how many were in use at once."""

    base: int
    used: int = 0
    peak: int = 0

    @contextmanager
    def elements(self, count: int) -> Iterator[Expr]:
        """Lend ``count`` elements inside the ``with`` block; gives the first one."""
        start = self.base + self.used
        self.used += count
        self.peak = max(self.peak, self.used)
        yield const(start)
        self.used -= count


class Selector:
    """Selects the operations of one stage; ``sizes`` are the extents of its loops, ``ops`` the result.

    ``values`` (an analyser that knows the loops around the stage) bounds scalars of the host. With ``fused``, the ALU
    has fused steps.
    """

    def __init__(
        self,
        *,
        result: Location,
        sizes: tuple[int, ...],
        temporaries: Temporaries,
        values: Analyzer,
        origin: Origin | None,
        fused: bool = False,
    ) -> None:
        self.ops: list[AluOp] = []
        self._fused = fused
        self._result = result
        self._sizes = sizes
        self._temporaries = temporaries
        self._values = values
        self._origin = origin

    # --- whole stages ------------------------------------------------------------------------------------------------

    def store(self, tree: AluTree) -> None:
        """Compute ``tree`` into the result, each element of which is stored once.

        A stage that changes nothing is still an instruction, as upstream has it: a shift by 0.
        """
        self._into(tree, self._result)
        if not self.ops:
            self._emit(AluOpcode.SHR, self._result, imm=0)

    def accumulate(self, tree: Operation) -> None:
        """Compute ``result = result kind b`` over and over; ``b`` must not read the result."""
        kind, b = tree.kind, tree.b
        if isinstance(b, Scalar):
            self._apply_scalar(kind, self._result, b)
        elif isinstance(b, Tile) and kind.opcode is not None:
            self._emit(kind.opcode, self._result, src=b.place)
        else:
            with self._temporary() as other:
                self._into(b, other)
                self._apply_temporary(kind, self._result, other)

    # --- operations --------------------------------------------------------------------------------------------------

    def _emit(self, opcode: AluOpcode, dst: Location, *, src: Location | None = None, imm: Expr | int = 0) -> None:
        value = const(imm) if isinstance(imm, int) else imm
        self.ops.append(AluOp(opcode, dst, src, value))

    @contextmanager
    def _temporary(self) -> Iterator[Location]:
        """Lend an element for every iteration of the stage."""
        steps: list[int] = []
        count = 1
        for size in reversed(self._sizes):
            steps.append(count)
            count *= size
        with self._temporaries.elements(count) as start:
            yield Location(start, tuple(reversed(steps)))

    def _is_at(self, tree: AluTree, target: Location) -> bool:
        """Whether ``tree`` is an operand that lies in ``target`` already."""
        return isinstance(tree, Tile) and tree.is_result and target is self._result

    def _is_elsewhere(self, tree: AluTree, target: Location) -> bool:
        """Whether ``tree`` is an operand that lies anywhere but in ``target``."""
        return isinstance(tree, Tile) and not self._is_at(tree, target)

    @deep
    def _into(self, tree: AluTree, target: Location) -> None:
        """Compute ``tree`` into ``target``, which holds its old value until all operands that lie there are read."""
        pair = fused_pair(tree, self._values) if self._fused and isinstance(tree, Operation) else None
        if pair is not None:
            self._into(pair.value, target)
            self.ops.append(AluOp(pair.opcode, target, pair.first.place, const(pair.shift), fused=True))
            return
        match tree:
            case Tile():
                if not self._is_at(tree, target):
                    self._emit(AluOpcode.MUL, target, imm=0)
                    self._emit(AluOpcode.ADD, target, src=tree.place)
            case Scalar():
                self._emit(AluOpcode.MUL, target, imm=0)
                self._apply_scalar(AluKind.ADD, target, tree)
            case Wrapped():
                self._into(tree.value, target)
                self._wrap(tree, target)
            case Operation(kind=kind, a=a, b=Scalar() as b):
                self._into(a, target)
                self._apply_scalar(kind, target, b)
            case Operation(a=Scalar()) if tree.kind.commutes:
                self._into(Operation(tree.kind, tree.b, tree.a), target)
            case Operation(kind=AluKind.SUB):
                self._difference(tree, target)
            case Operation():
                self._operation(tree, target)

    def _operation(self, tree: Operation, target: Location) -> None:
        """Compute an operation that is no subtraction, of two operands that may both be anything."""
        kind, a, b = tree.kind, tree.a, tree.b
        if kind.commutes and self._is_elsewhere(a, target) and not self._is_elsewhere(b, target):
            a, b = b, a
        in_place = self._is_at(a, target) and self._is_at(b, target)
        if isinstance(b, Tile) and kind.opcode is not None and (in_place or self._is_elsewhere(b, target)):
            self._into(a, target)
            self._emit(kind.opcode, target, src=b.place)
            return
        if kind.commutes and self._is_at(b, target):
            a, b = b, a
        with self._temporary() as other:
            self._into(b, other)
            self._into(a, target)
            self._apply_temporary(kind, target, other)

    def _difference(self, tree: Operation, target: Location) -> None:
        a, b = tree.a, tree.b
        if isinstance(a, Scalar):
            self._into(b, target)
            self._emit(AluOpcode.MUL, target, imm=-1)
            self._apply_scalar(AluKind.ADD, target, a)
        elif isinstance(a, Tile) and not self._is_at(a, target):
            self._into(b, target)
            self._emit(AluOpcode.MUL, target, imm=-1)
            self._emit(AluOpcode.ADD, target, src=a.place)
        elif isinstance(b, Tile) and not self._is_at(b, target):
            self._into(a, target)
            self._emit(AluOpcode.MUL, target, imm=-1)
            self._emit(AluOpcode.ADD, target, src=b.place)
            self._emit(AluOpcode.MUL, target, imm=-1)
        else:
            with self._temporary() as other:
                self._into(b, other)
                self._into(a, target)
                self._apply_temporary(AluKind.SUB, target, other)

    def _apply_temporary(self, kind: AluKind, target: Location, other: Location) -> None:
        """Compute ``target = target kind other``; the temporary ``other`` may be negated for it."""
        if kind is AluKind.SHL:
            # The smallest number has no negative; every count so far to the other side does the same.
            self._emit(AluOpcode.MAX, other, imm=-ACC_BITS)
        opcode = kind.opcode
        if opcode is None:
            self._emit(AluOpcode.MUL, other, imm=-1)
            opcode = AluOpcode.ADD if kind is AluKind.SUB else AluOpcode.SHR
        self._emit(opcode, target, src=other)

    def _wrap(self, tree: Wrapped, target: Location) -> None:
        """Keep the low bits of ``target``."""
        spare = ACC_BITS - tree.bits
        if tree.signed:
            self._emit(AluOpcode.SHR, target, imm=-spare)
            self._emit(AluOpcode.SHR, target, imm=spare)
            return
        with self._temporary() as high:
            self._emit(AluOpcode.MUL, high, imm=0)
            self._emit(AluOpcode.ADD, high, src=target)
            self._emit(AluOpcode.SHR, high, imm=tree.bits)
            self._emit(AluOpcode.SHR, high, imm=-tree.bits)
            self._apply_temporary(AluKind.SUB, target, high)

    # --- scalars -----------------------------------------------------------------------------------------------------

    def _apply_scalar(self, kind: AluKind, target: Location, scalar: Scalar) -> None:
        """Compute ``target = target kind scalar``."""
        if kind in (AluKind.SHR, AluKind.SHL):
            self._shift(kind, target, scalar.value)
        elif kind is AluKind.SUB:
            self._apply_number(AluOpcode.ADD, target, 0 - scalar.value)
        else:
            assert kind.opcode is not None, "SUB and SHL alone have no opcode"
            self._apply_number(kind.opcode, target, scalar.value)

    def _apply_number(self, opcode: AluOpcode, target: Location, value: Expr) -> None:
        """Compute ``target = opcode(target, value)``."""
        if isinstance(value, IntImm):
            steps = immediate_steps(opcode, value.value)
        else:
            steps = ((opcode, value),) if self._values.const_bounds(value).within(IMMEDIATES) else None
        if steps is None:
            self._apply_filled(opcode, target, value)
            return
        for step, imm in steps:
            self._emit(step, target, imm=imm)

    def _apply_filled(self, opcode: AluOpcode, target: Location, value: Expr) -> None:
        """Compute ``target = opcode(target, value)`` with an element that holds ``value`` in every lane."""
        with self._temporaries.elements(1) as start:
            element = Location(start, (0,) * len(self._sizes))
            for step, imm in filling_steps(value):
                self.ops.append(AluOp(step, element, None, self._values.simplify(imm), single=True))
            self._emit(opcode, target, src=element)

    def _shift(self, kind: AluKind, target: Location, count: Expr) -> None:
        sign = 1 if kind is AluKind.SHR else -1
        bounds = self._values.const_bounds(count)
        if bounds.lo is None or bounds.lo < 0:
            raise AluError(
                f"ALU stage: x {kind.symbol} count",
                expected="a count that is never negative",
                got=str(count.value) if isinstance(count, IntImm) else "one that may be",
                hint="shift the other way",
                origin=self._origin,
            )
        if isinstance(count, IntImm):
            if count.value:
                self._emit(AluOpcode.SHR, target, imm=sign * min(count.value, ACC_BITS))
            return
        if not bounds.within(IMMEDIATES):
            count = binary(Min, count, ACC_BITS)
        self._emit(AluOpcode.SHR, target, imm=count * sign)
