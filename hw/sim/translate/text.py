"""The text of one LLVM function while it is written, and the integer types that hold values.

Tests: ``tests/hw/sim/translate``, ``tests/hw/sim/test_random_designs.py``.
"""

import enum
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

__all__ = ["FUNCTION_SIGNATURE", "MASK", "Form", "Function", "container", "mask", "slot_bytes"]

FUNCTION_SIGNATURE = "ptr noalias %io, ptr noalias %cur, ptr noalias %nxt, ptr noalias %mem, ptr noalias %aux"
"""Inputs and wires; registers before and after the edge; memories; events, counters and bus models."""


MASK = "i@"
"""Stands for the integer type with a bit for each partition, until their number is known."""


_MOSTLY = 0.4
"""A function with a greater share of instructions on flags must stay scalar: LLVM's vectors of flags are slow."""


class Form(enum.Enum):
    """What the bits above a value hold in its container."""

    ZERO = "zero"
    SIGN = "sign"
    ANY = "any"


def container(width: int) -> int:
    """Return the bits of the integer type that holds a value of 1 to 64 bits."""
    return 1 if width <= 1 else max(8, 1 << (width - 1).bit_length())


def slot_bytes(width: int) -> int:
    """Return the bytes that a value takes in memory: 1, 2, 4 or 8, above that a multiple of 8."""
    return container(width) // 8 or 1 if width <= 64 else (width + 63) // 64 * 8


def mask(width: int) -> int:
    """Return ``width`` ones."""
    return (1 << width) - 1


class Function:
    """Text of an LLVM function with the arguments FUNCTION_SIGNATURE; values are cached by key within open blocks.

    It returns a set of partitions, of type MASK: those that must run because of what this one changed.
    """

    def __init__(self, name: str, number: int = 0) -> None:
        self.name = name
        self.number = number
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self._end: list[str] = []
        self._wakes: list[tuple[str, int]] = []
        self._scopes: list[dict[object, str]] = [{}]
        self._count = 0

    def op(self, text: str) -> str:
        """Append an instruction that makes a value; return the value's name."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a value."""
        self.lines.append("  " + text)

    def end_op(self, text: str) -> str:
        """Append an instruction that makes a value to the function's end; return the value's name."""
        name = "%" + self.fresh("x")
        self._end.append(f"  {name} = {text}")
        return name

    def end_do(self, text: str) -> None:
        """Append an instruction without a value to the function's end."""
        self._end.append("  " + text)

    def wake(self, condition: str, partitions: Iterable[int]) -> None:
        """Have the function's result contain ``partitions`` if the i1 ``condition`` holds; it must hold at the end."""
        self._wakes.append((condition, sum(1 << number for number in set(partitions))))

    def fresh(self, prefix: str) -> str:
        """Return a name that is not in use, for a block, an alloca or an export."""
        self._count += 1
        return f"{prefix}{self._count}"

    def alloca(self, size: int) -> str:
        """Return a pointer to ``size`` bytes of the stack frame."""
        name = "%" + self.fresh("frame")
        self.allocas.append(f"  {name} = alloca [{size} x i8], align 16")
        return name

    def at(self, base: str, offset: int) -> str:
        """Return the pointer ``offset`` bytes after ``base``."""
        if offset == 0:
            return base
        return self.cached(("at", base, offset)) or self.keep(
            ("at", base, offset), self.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        )

    def cached(self, key: object) -> str | None:
        """Return the value that was kept under ``key``, if it is in scope."""
        for scope in self._scopes:
            if key in scope:
                return scope[key]
        return None

    def keep(self, key: object, name: str) -> str:
        """Keep ``name`` under ``key`` until the innermost open block ends; return it."""
        self._scopes[-1][key] = name
        return name

    def when(self, condition: str) -> AbstractContextManager[None]:
        """Put what is appended within into a block that runs if the i1 ``condition`` holds."""
        return self._block(condition, "")

    def seldom(self, condition: str) -> AbstractContextManager[None]:
        """Do as ``when`` does, for a condition that hardly ever holds: LLVM keeps the block out of the way."""
        return self._block(condition, ", !prof !0")

    @contextmanager
    def _block(self, condition: str, weights: str) -> Iterator[None]:
        then, after = self.fresh("then"), self.fresh("after")
        self.do(f"br i1 {condition}, label %{then}, label %{after}{weights}")
        self.lines.append(f"{then}:")
        self._scopes.append({})
        yield
        self._scopes.pop()
        self.do(f"br label %{after}")
        self.lines.append(f"{after}:")

    def text(self) -> str:
        """Return the whole definition."""
        total = "0"
        for condition, partitions in self._wakes:
            if partitions:
                chosen = self.end_op(f"select i1 {condition}, {MASK} {partitions}, {MASK} 0")
                total = self.end_op(f"or {MASK} {total}, {chosen}")
        lines = (*self.allocas, *self.lines, *self._end, f"  ret {MASK} {total}")
        flags = sum(" i1 " in line for line in lines)
        kind = " noimplicitfloat" if flags > _MOSTLY * len(lines) else ""
        body = "\n".join(lines)
        return f"define internal {MASK} @{self.name}({FUNCTION_SIGNATURE}) noinline nounwind{kind} {{\n{body}\n}}\n"
