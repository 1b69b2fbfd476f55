"""A thin layer over llvmlite's IR builder, so that kernels read as loops and arithmetic.

``Num`` is a 64-bit number with operators, ``Flag`` a condition, ``Emitter`` the body of one function with ``loop`` and
``when`` as context managers. All index arithmetic is on numbers far below 2^63, so comparisons, shifts and divisions
are unsigned. Nothing here knows about VTA. Tests: ``tests/runtime/sim/test_emit.py``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

__all__ = ["I8", "I16", "I32", "I64", "POINTER", "Emitter", "Flag", "Num", "Variable", "vector"]

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I16 = ir.IntType(16)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()

Value = Any
"""An llvmlite value; the library has no types of its own."""


def vector(lanes: int, element: Any) -> Any:
    """Return the type of a vector of ``lanes`` numbers of type ``element``."""
    return ir.VectorType(element, lanes)


@dataclass(frozen=True, slots=True, eq=False)
class Flag:
    """A condition (one bit)."""

    builder: Any
    value: Value

    def __and__(self, other: "Flag") -> "Flag":
        return Flag(self.builder, self.builder.and_(self.value, other.value))

    def __or__(self, other: "Flag") -> "Flag":
        return Flag(self.builder, self.builder.or_(self.value, other.value))

    def __invert__(self) -> "Flag":
        return Flag(self.builder, self.builder.not_(self.value))

    def select(self, yes: "Num | int", no: "Num | int") -> "Num":
        """Return ``yes`` where the condition holds, else ``no``."""
        picked = self.builder.select(self.value, _operand(yes), _operand(no))
        return Num(self.builder, picked)

    def as_num(self) -> "Num":
        """Return 1 where the condition holds, else 0."""
        return Num(self.builder, self.builder.zext(self.value, I64))


@dataclass(frozen=True, slots=True, eq=False)
class Num:
    """A 64-bit number; operators wrap, comparisons are unsigned."""

    builder: Any
    value: Value

    def __add__(self, other: "Num | int") -> "Num":
        return self._new(self.builder.add(self.value, _operand(other)))

    def __sub__(self, other: "Num | int") -> "Num":
        return self._new(self.builder.sub(self.value, _operand(other)))

    def __mul__(self, other: "Num | int") -> "Num":
        return self._new(self.builder.mul(self.value, _operand(other)))

    def __and__(self, other: "Num | int") -> "Num":
        return self._new(self.builder.and_(self.value, _operand(other)))

    def __or__(self, other: "Num | int") -> "Num":
        return self._new(self.builder.or_(self.value, _operand(other)))

    def __lshift__(self, other: "Num | int") -> "Num":
        return self._new(self.builder.shl(self.value, _operand(other)))

    def __rshift__(self, other: "Num | int") -> "Num":
        return self._new(self.builder.lshr(self.value, _operand(other)))

    def __lt__(self, other: "Num | int") -> Flag:
        return self._compare("<", other)

    def __le__(self, other: "Num | int") -> Flag:
        return self._compare("<=", other)

    def __gt__(self, other: "Num | int") -> Flag:
        return self._compare(">", other)

    def __ge__(self, other: "Num | int") -> Flag:
        return self._compare(">=", other)

    def equals(self, other: "Num | int") -> Flag:
        """Return whether both are the same number."""
        return self._compare("==", other)

    def differs(self, other: "Num | int") -> Flag:
        """Return whether they are different numbers."""
        return self._compare("!=", other)

    def negative(self) -> Flag:
        """Return whether the top bit is set."""
        return Flag(self.builder, self.builder.icmp_signed("<", self.value, ir.Constant(I64, 0)))

    def maximum(self, other: "Num | int") -> "Num":
        """Return the larger of both."""
        return (self > other).select(self, other)

    def minimum(self, other: "Num | int") -> "Num":
        """Return the smaller of both."""
        return (self < other).select(self, other)

    def sign_extended(self, width: int) -> "Num":
        """Return the low ``width`` bits as two's complement."""
        count = ir.Constant(I64, 64 - width)
        shifted = self.builder.shl(self.value, count)
        return self._new(self.builder.ashr(shifted, count))

    def truncated(self, element: Any) -> Value:
        """Return the low bits as a raw value of integer type ``element``."""
        return self.builder.trunc(self.value, element)

    def _new(self, value: Value) -> "Num":
        return Num(self.builder, value)

    def _compare(self, operator: str, other: "Num | int") -> Flag:
        return Flag(self.builder, self.builder.icmp_unsigned(operator, self.value, _operand(other)))


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A stack slot that LLVM turns into registers; ``kind`` is the type of what it holds."""

    builder: Any
    slot: Value
    kind: Any

    def get(self) -> Value:
        """Return the raw value."""
        return self.builder.load(self.slot, typ=self.kind)

    def set(self, value: Value) -> None:
        """Store a raw value."""
        self.builder.store(value, self.slot)

    @property
    def num(self) -> Num:
        """The value as a number (the slot holds 64 bits)."""
        return Num(self.builder, self.get())

    def assign(self, number: Num | int) -> None:
        """Store a number."""
        self.set(_operand(number))


class Emitter:
    """The body of one native function, written from top to bottom.

    Parameters of the function are numbers (pointers too: they are 64-bit addresses). A function that ``returns``
    gives back one number, and ends with ``give``.
    """

    def __init__(
        self, module: Any, name: str, parameters: Sequence[str], *, returns: bool = False, exported: bool = False
    ) -> None:
        kind = ir.FunctionType(I64 if returns else ir.VoidType(), [I64] * len(parameters))
        self.module = module
        self.function = ir.Function(module, kind, name)
        if not exported:
            self.function.linkage = "internal"
        self.function.attributes.add("nounwind")
        self._entry = self.function.append_basic_block("slots")
        self._body = self.function.append_basic_block("body")
        self.builder = ir.IRBuilder(self._body)
        self.arguments: dict[str, Num] = {}
        for name_, argument in zip(parameters, self.function.args, strict=True):
            argument.name = name_
            self.arguments[name_] = Num(self.builder, argument)

    # --- numbers ---

    def num(self, value: int) -> Num:
        """Return a constant."""
        return Num(self.builder, ir.Constant(I64, value))

    def false(self) -> Flag:
        """Return a condition that never holds."""
        return Flag(self.builder, ir.Constant(I1, 0))

    def variable(self, initial: Num | int = 0) -> Variable:
        """Return a new number variable, set to ``initial`` here."""
        variable = self.vector_variable(I64)
        variable.assign(initial)
        return variable

    def vector_variable(self, kind: Any) -> Variable:
        """Return a new variable of type ``kind`` without a value."""
        with self.builder.goto_block(self._entry):
            return Variable(self.builder, self.builder.alloca(kind), kind)

    def scratch(self, nbytes: int) -> Num:
        """Return the address of ``nbytes`` bytes on the stack."""
        with self.builder.goto_block(self._entry):
            slot = self.builder.alloca(ir.ArrayType(I8, nbytes))
            slot.align = 64
        return Num(self.builder, self.builder.ptrtoint(slot, I64))

    # --- vectors ---

    def splat(self, value: Value, kind: Any) -> Value:
        """Return a vector of type ``kind`` with ``value`` in each lane."""
        undefined = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(I32, 0))
        return self.shuffle(first, [0] * kind.count)

    def shuffle(self, values: Value, lanes: Sequence[int]) -> Value:
        """Return the vector of the given ``lanes`` of ``values``."""
        mask = ir.Constant(vector(len(lanes), I32), list(lanes))
        return self.builder.shuffle_vector(values, ir.Constant(values.type, ir.Undefined), mask)

    def joined(self, parts: Sequence[Value]) -> Value:
        """Return one vector of the lanes of ``parts``, which are a power of two in number and equally long."""
        while len(parts) > 1:
            lanes = vector(2 * parts[0].type.count, I32)
            mask = ir.Constant(lanes, list(range(lanes.count)))
            parts = [
                self.builder.shuffle_vector(left, right, mask)
                for left, right in zip(parts[::2], parts[1::2], strict=True)
            ]
        return parts[0]

    # --- memory ---

    def load(self, address: Num, kind: Any, align: int = 1) -> Value:
        """Return the raw value of type ``kind`` at ``address``."""
        return self.builder.load(self._pointer(address), typ=kind, align=align)

    def store(self, address: Num, value: Value, align: int = 1) -> None:
        """Write a raw value to ``address``."""
        self.builder.store(value, self._pointer(address), align=align)

    def read(self, address: Num, kind: Any = I64) -> Num:
        """Return the unsigned number of type ``kind`` at ``address``."""
        value = self.load(address, kind)
        return Num(self.builder, value if kind == I64 else self.builder.zext(value, I64))

    def write(self, address: Num, number: Num | int, kind: Any = I64) -> None:
        """Write the low bits of a number to ``address``, as type ``kind``."""
        value = _operand(number)
        self.store(address, value if kind == I64 else self.builder.trunc(value, kind))

    def copy(self, target: Num, source: Num, nbytes: Num) -> None:
        """Copy bytes (``memmove``: the ranges may overlap)."""
        move = self.module.declare_intrinsic("llvm.memmove", [POINTER, POINTER, I64])
        arguments = [self._pointer(target), self._pointer(source), nbytes.value, ir.Constant(I1, 0)]
        self.builder.call(move, arguments)

    def fill(self, target: Num, byte: int, nbytes: Num) -> None:
        """Set bytes (``memset``)."""
        fill = self.module.declare_intrinsic("llvm.memset", [POINTER, I64])
        arguments = [self._pointer(target), ir.Constant(I8, byte), nbytes.value, ir.Constant(I1, 0)]
        self.builder.call(fill, arguments)

    def _pointer(self, address: Num) -> Value:
        return self.builder.inttoptr(address.value, POINTER)

    # --- control flow ---

    @contextmanager
    def when(self, condition: Flag) -> Iterator[None]:
        """Run the block where ``condition`` holds."""
        with self.builder.if_then(condition.value):
            yield

    @contextmanager
    def choose(self, condition: Flag) -> Iterator[tuple[Any, Any]]:
        """Yield two context managers: where ``condition`` holds, and where it does not."""
        with self.builder.if_else(condition.value) as branches:
            yield branches

    @contextmanager
    def repeat(self) -> Iterator["OpenLoop"]:
        """Run the block again and again; ``stop_unless`` and ``stop_if`` of the yielded loop leave it."""
        head = self.function.append_basic_block("head")
        done = self.function.append_basic_block("done")
        self.builder.branch(head)
        self.builder.position_at_end(head)
        yield OpenLoop(self, done)
        self.builder.branch(head)
        self.builder.position_at_end(done)

    @contextmanager
    def loop(self, count: Num | int, *, begin: Num | int = 0, step: int = 1) -> Iterator[Num]:
        """Run the block with a number from ``begin`` to ``count`` (exclusive) in steps."""
        position = self.variable(begin)
        with self.repeat() as loop:
            index = position.num
            loop.stop_unless(index < count)
            yield index
            position.assign(index + step)

    def give(self, value: Num | int) -> None:
        """Return ``value`` from the function; nothing may follow in this block."""
        self.builder.ret(_operand(value))

    def finish(self, value: Num | int | None = None) -> Any:
        """End the function (with ``value`` if it returns one) and give it back."""
        if not self.builder.block.is_terminated:
            if value is None:
                self.builder.ret_void()
            else:
                self.give(value)
        with self.builder.goto_block(self._entry):
            self.builder.branch(self._body)
        return self.function

    def declare(self, name: str, kind: Any) -> Any:
        """Return the function ``name`` of the module, declared with type ``kind`` at first use."""
        found = self.module.globals.get(name)
        return ir.Function(self.module, kind, name) if found is None else found

    def call(self, function: Any, *arguments: Num | int) -> Num:
        """Call another function of the module; the result has no meaning for one that returns nothing."""
        return Num(self.builder, self.builder.call(function, [_operand(a) for a in arguments]))


@dataclass(frozen=True, slots=True, eq=False)
class OpenLoop:
    """A loop that is being written."""

    emitter: Emitter
    done: Any

    def stop_unless(self, condition: Flag) -> None:
        """Leave the loop unless ``condition`` holds."""
        builder = self.emitter.builder
        inside = self.emitter.function.append_basic_block("inside")
        builder.cbranch(condition.value, inside, self.done)
        builder.position_at_end(inside)

    def stop_if(self, condition: Flag) -> None:
        """Leave the loop if ``condition`` holds."""
        self.stop_unless(~condition)


def _operand(number: Num | int) -> Value:
    return ir.Constant(I64, number) if isinstance(number, int) else number.value
