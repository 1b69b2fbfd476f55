"""Structural equality and hashes of programs, up to the names and identities of variables and buffers.

Origins take no part. TVM's names are ``structural_equal``, ``assert_structural_equal``, ``structural_hash``.
Tests: tests/vta/tir/test_structural.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from hashlib import blake2b
from itertools import zip_longest
from math import copysign, isnan
from typing import TypeAlias

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, IterVar, Node, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import Stmt

__all__ = [
    "Program", "StructuralDifferenceError", "assert_structural_equal", "first_difference", "require_equal",
    "structural_equal", "structural_hash",
]  # fmt: skip

Program: TypeAlias = "IRModule | PrimFunc | Stmt | Expr | Buffer | IterVar | Sequence[Program]"


class StructuralDifferenceError(VTAError, AssertionError, ValueError):
    """Two programs that should be equal are not."""


def structural_equal(a: Program, b: Program, map_free_vars: bool = False) -> bool:
    """Whether two programs are the same up to renaming, see ``first_difference``."""
    return first_difference(a, b, map_free_vars=map_free_vars) is None


def require_equal(a: Program, b: Program, *, map_free_vars: bool = False) -> None:
    """Raise ``StructuralDifferenceError``, saying what differs, unless the programs are the same up to renaming."""
    difference = first_difference(a, b, map_free_vars=map_free_vars)
    if difference is not None:
        raise StructuralDifferenceError(difference)


def assert_structural_equal(lhs: Program, rhs: Program, map_free_vars: bool = False) -> None:
    """Raise ``StructuralDifferenceError``, saying what differs first, unless the two are the same up to renaming."""
    require_equal(lhs, rhs, map_free_vars=map_free_vars)


def first_difference(a: Program, b: Program, *, map_free_vars: bool = False) -> str | None:
    """Return where two programs first differ and how, None if they are the same up to renaming.

    Variables and buffers that the programs define correspond one to one. What is free in a statement or expression
    must be the same object in both, or, with ``map_free_vars``, correspond one to one, too; every variable of a
    function is its own.
    """
    a, b = (tuple(x) if isinstance(x, list) else x for x in (a, b))
    return next(_Comparison(map_free_vars=map_free_vars).compare(a, b, type(a).__name__), None)


def structural_hash(node: Program, map_free_vars: bool = False) -> int:
    """Return a number of 64 bits that structurally equal programs share.

    Without ``map_free_vars`` it depends on which variables are free, so it is for this process alone; with it, and for
    functions and modules, it is the same in every process.
    """
    digest = blake2b(digest_size=8)
    for part in _Signature(map_free_vars=map_free_vars).parts(tuple(node) if isinstance(node, list) else node):
        digest.update(part.encode())
        digest.update(b"\0")
    return int.from_bytes(digest.digest(), "little")


@dataclass(slots=True)
class _Signature:
    """Writes what ``_Comparison`` compares: variables and buffers by the order in which they come."""

    map_free_vars: bool = False
    numbers: dict[object, int] = field(default_factory=dict)

    def define(self, item: object) -> None:
        """Give ``item`` the next number."""
        self.numbers[item] = len(self.numbers)

    def parts(self, value: object) -> Iterator[str]:
        """Yield the words of a value."""
        match value:
            case Var():
                if value not in self.numbers and self.map_free_vars:
                    self.define(value)
                yield f"{value.dtype} {self.numbers.get(value, f'free {id(value)}')}"
            case Buffer():
                yield from self._buffer(value)
            case PrimFunc():
                yield from self._function(value)
            case IRModule():
                for name in sorted(value.functions):
                    yield name
                    yield from self.parts(value.functions[name])
            case IterVar():
                yield from self._fields(value, ("kind", "thread_tag", "dom", "var"))
            case tuple():
                yield f"({len(value)}"
                for item in value:
                    yield from self.parts(item)
            case _ if is_dataclass(value) and not isinstance(value, Enum):
                yield type(value).__name__
                for var in _definitions(value):
                    self.define(var)
                yield from self._fields(value, _ordered_fields(value))
            case _:
                yield f"{type(value).__name__} {value!r}"

    def _fields(self, value: object, names: Sequence[str]) -> Iterator[str]:
        for name in names:
            yield from self.parts(getattr(value, name))

    def _buffer(self, buffer: Buffer) -> Iterator[str]:
        if buffer in self.numbers:
            yield f"buffer {self.numbers[buffer]}"
            return
        self.define(buffer)
        yield "buffer"
        yield from self._fields(buffer, _BUFFER_FIELDS)

    def _function(self, func: PrimFunc) -> Iterator[str]:
        signature = self if self.map_free_vars else _Signature()
        yield f"function {len(func.params)}"
        for param in func.params:
            signature.define(param)
            buffer = func.buffer_map.get(param)
            if buffer is not None:
                signature.define(buffer.data)
                for extent in buffer.shape:
                    if isinstance(extent, Var):
                        signature.define(extent)
            yield from signature.parts(param)
            yield from signature.parts(buffer)
            yield from signature.parts(func.declared.get(param))
        yield from signature.parts(tuple(sorted(func.attrs.items())))
        yield from signature.parts(func.body)


_BUFFER_FIELDS = ("data", "dtype", "shape", "strides", "elem_offset", "scope", "data_alignment", "offset_factor")


@dataclass(slots=True)
class _Comparison:
    """Which variable or buffer of one program stands for which of the other."""

    map_free_vars: bool = False
    left: dict[object, object] = field(default_factory=dict)
    right: dict[object, object] = field(default_factory=dict)

    def define(self, a: object, b: object) -> None:
        """Let ``a`` and ``b`` stand for each other from now on."""
        self.left[a], self.right[b] = b, a

    def compare(self, a: object, b: object, path: str) -> Iterator[str]:
        """Yield differences, the first one first."""
        if type(a) is not type(b):
            yield f"{path}: {_shown(a)} is not {_shown(b)}"
            return
        match a, b:
            case Var(), Var():
                yield from self._identity(a, b, path)
            case Buffer(), Buffer():
                yield from self._buffer(a, b, path)
            case PrimFunc(), PrimFunc():
                yield from self._function(a, b, path)
            case IRModule(), IRModule():
                yield from self._module(a, b, path)
            case IterVar(), IterVar():
                yield from self._fields(a, b, path, ("kind", "thread_tag", "dom", "var"))
            case tuple(), tuple():
                yield from self._sequence(a, b, path)
            case _ if is_dataclass(a) and not isinstance(a, Enum):
                self._define_inside(a, b)
                yield from self._fields(a, b, path, _ordered_fields(a))
            case float(), float() if _same_number(a, b):
                return
            case _ if a != b or isinstance(a, float):
                yield f"{path}: {_shown(a)} is not {_shown(b)}"
            case _:
                return

    def _identity(self, a: Var, b: Var, path: str) -> Iterator[str]:
        if a.dtype != b.dtype:
            yield f"{path}: {a.name!r} is {a.dtype}, {b.name!r} is {b.dtype}"
        elif self.map_free_vars and a not in self.left and b not in self.right:
            self.define(a, b)
        elif self.left.get(a, a) is not b or self.right.get(b, b) is not a:
            yield f"{path}: {a.name!r} does not correspond to {b.name!r}"

    def _buffer(self, a: Buffer, b: Buffer, path: str) -> Iterator[str]:
        if self.left.get(a) is b:
            return
        if a in self.left or b in self.right:
            yield f"{path}: buffer {a.name!r} does not correspond to {b.name!r}"
            return
        self.define(a, b)
        if a is b:
            return
        yield from self._fields(a, b, f"{path} (buffers {a.name!r}, {b.name!r})", _BUFFER_FIELDS)

    def _module(self, a: IRModule, b: IRModule, path: str) -> Iterator[str]:
        for name in a.functions.keys() ^ b.functions.keys():
            yield f"{path}: function {name!r} is in one of the modules alone"
            return
        for name, func in a.functions.items():
            yield from self.compare(func, b.functions[name], f"{path}[{name}]")

    def _function(self, a: PrimFunc, b: PrimFunc, path: str) -> Iterator[str]:
        if len(a.params) != len(b.params):
            yield f"{path}: {len(a.params)} parameters are not {len(b.params)}"
            return
        for p, q in zip(a.params, b.params, strict=True):
            self.define(p, q)
            yield from self._identity(p, q, f"{path}.params")
            x, y = a.buffer_map.get(p), b.buffer_map.get(q)
            if x is not None and y is not None:
                self.define(x.data, y.data)
                for e, f in zip(x.shape, y.shape, strict=False):
                    if isinstance(e, Var) and isinstance(f, Var):
                        self.define(e, f)
            yield from self.compare(x, y, f"{path}.buffer_map[{p.name}]")
            yield from self.compare(a.declared.get(p), b.declared.get(q), f"{path}.declared[{p.name}]")
        yield from self.compare(tuple(sorted(a.attrs.items())), tuple(sorted(b.attrs.items())), f"{path}.attrs")
        yield from self.compare(a.body, b.body, f"{path}.body")

    def _sequence(self, a: Sequence[object], b: Sequence[object], path: str) -> Iterator[str]:
        missing = object()
        for i, (x, y) in enumerate(zip_longest(a, b, fillvalue=missing)):
            if x is missing or y is missing:
                extra = _shown(y if x is missing else x)
                yield f"{path}: {len(a)} items are not {len(b)}; the first one more is {extra}"
                return
            yield from self.compare(x, y, f"{path}[{i}]")

    def _fields(self, a: object, b: object, path: str, names: Sequence[str]) -> Iterator[str]:
        for name in names:
            yield from self.compare(getattr(a, name), getattr(b, name), f"{path}.{name}")

    def _define_inside(self, a: object, b: object) -> None:
        """Let the variables that these two nodes define stand for each other."""
        for x, y in zip(_definitions(a), _definitions(b), strict=False):
            self.define(x, y)


def _same_number(a: float, b: float) -> bool:
    """Whether two floats are one number: 0.0 and -0.0 are two, a NaN is the same as itself."""
    return (a == b and copysign(1, a) == copysign(1, b)) or (isnan(a) and isnan(b))


def _definitions(node: object) -> Iterator[Var]:
    """Yield the variables that a node defines for what is inside it, in order."""
    for name in ("loop_var", "var", "buffer_var"):
        value = getattr(node, name, None)
        if isinstance(value, Var):
            yield value
    buffer, bounds = getattr(node, "buffer", None), getattr(node, "bounds", None)
    if isinstance(buffer, Buffer) and bounds is not None:
        yield buffer.data
    about = getattr(node, "node", None)
    match about:
        case IterVar():
            yield about.var
        case (Buffer() as view, Buffer()):
            yield view.data
            yield from (e for e in (view.elem_offset, *view.strides) if isinstance(e, Var))
        case _:
            pass
    for axis in (*getattr(node, "axis", ()), *getattr(node, "iter_vars", ())):
        yield axis.var
    for allocated in getattr(node, "alloc_buffers", ()):
        yield allocated.data
    yield from (*getattr(node, "lhs", ()), *getattr(node, "rhs", ()))


def _ordered_fields(node: object) -> list[str]:
    """Return the fields that take part: what is small first, bodies last, no origin."""
    names = [f.name for f in fields(node) if f.name != "origin"]  # type: ignore[arg-type]  # a dataclass
    return sorted(names, key=lambda name: name in ("init", "body", "then_case", "else_case"))


def _shown(value: object) -> str:
    match value:
        case Node():
            return str(value)
        case Buffer():
            return f"buffer {value.name!r}"
        case PrimFunc():
            return f"function {value.name!r}"
        case Enum():
            return str(value.value)
        case _ if isinstance(value, Stmt):
            return to_text(value).splitlines()[0].strip()
        case _:
            return repr(value) if isinstance(value, str) else str(value)
