"""Structural equality and hashes of programs, up to the names and identities of variables and buffers.

Origins take no part. TVM's names are ``structural_equal``, ``assert_structural_equal``, ``structural_hash``.
Tests: tests/vta/tir/test_structural.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from hashlib import blake2b
from math import copysign, isnan
from typing import TypeAlias

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import Expr, IterVar, Node, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import Block, Stmt

__all__ = [
    "Program", "StructuralDifferenceError", "assert_structural_equal", "first_difference", "require_equal",
    "structural_equal", "structural_hash",
]  # fmt: skip

Program: TypeAlias = "IRModule | PrimFunc | Stmt | Expr | Buffer | IterVar | Sequence[Program]"

_Path: TypeAlias = "tuple[_Path | None, str]"
"""Where a comparison is: the way to the parent, and the step from there. It is written out for a difference alone."""


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
    return _Comparison(map_free_vars=map_free_vars).compare(a, b, (None, type(a).__name__))


def structural_hash(node: Program, map_free_vars: bool = False) -> int:
    """Return a number of 64 bits that structurally equal programs share.

    Without ``map_free_vars`` it depends on which variables are free, so it is for this process alone; with it, and for
    functions and modules, it is the same in every process.
    """
    digest = _Signature(map_free_vars=map_free_vars).of(tuple(node) if isinstance(node, list) else node)
    return int.from_bytes(digest, "little")


@dataclass(slots=True)
class _Signature:
    """Digests what ``_Comparison`` compares: variables and buffers by the order in which they come."""

    map_free_vars: bool = False
    numbers: dict[object, int] = field(default_factory=dict)
    done: dict[int, bytes] = field(default_factory=dict)
    """The digests of expressions that define nothing, by identity: a definition counts anew in each place."""

    definitions: int = 0

    def define(self, item: object) -> None:
        """Give ``item`` the next number."""
        if item in self.numbers:
            self.done.clear()
        self.numbers[item] = len(self.numbers)
        self.definitions += 1

    @deep
    def of(self, value: object) -> bytes:
        """Return the digest of a value."""
        if id(value) in self.done:
            return self.done[id(value)]
        before = self.definitions
        digest = blake2b(digest_size=8)
        for part in self._parts(value):
            digest.update(len(part).to_bytes(8, "little") + part)
        result = digest.digest()
        if isinstance(value, Node) and self.definitions == before:
            self.done[id(value)] = result
        return result

    def _parts(self, value: object) -> list[bytes]:
        match value:
            case Var():
                if value not in self.numbers and self.map_free_vars:
                    self.numbers[value] = len(self.numbers)
                return [f"{value.dtype} {self.numbers.get(value, f'free {id(value)}')}".encode()]
            case Buffer():
                return self._buffer(value)
            case PrimFunc():
                return self._function(value)
            case IRModule():
                return [
                    part for name in sorted(value.functions) for part in (name.encode(), self.of(value.functions[name]))
                ]
            case IterVar():
                return self._fields(value, ("kind", "thread_tag", "dom", "var"))
            case tuple():
                return [b"tuple", *map(self.of, value)]
            case Mapping():
                return [b"mapping", *map(self.of, sorted(value.items()))]
            case _ if is_dataclass(value) and not isinstance(value, Enum):
                for var in _definitions(value):
                    self.define(var)
                return [type(value).__name__.encode(), *self._fields(value, _ordered_fields(value))]
            case _:
                return [f"{type(value).__name__} {value!r}".encode()]

    def _fields(self, value: object, names: Sequence[str]) -> list[bytes]:
        return [self.of(getattr(value, name)) for name in names]

    def _buffer(self, buffer: Buffer) -> list[bytes]:
        if buffer in self.numbers:
            return [f"buffer {self.numbers[buffer]}".encode()]
        self.define(buffer)
        return [b"buffer", *self._fields(buffer, _BUFFER_FIELDS)]

    def _function(self, func: PrimFunc) -> list[bytes]:
        signature = self if self.map_free_vars else _Signature()
        parts = [f"function {len(func.params)}".encode()]
        for param in func.params:
            signature.define(param)
            buffer = func.buffer_map.get(param)
            if buffer is not None:
                signature.define(buffer.data)
                for extent in (*_sizes(buffer), *_sizes(func.declared.get(param, buffer))):
                    if isinstance(extent, Var) and extent not in signature.numbers:
                        signature.define(extent)
            parts += map(signature.of, (param, buffer, func.declared.get(param)))
        return [*parts, signature.of(tuple(sorted(func.attrs.items()))), signature.of(func.body)]


def _sizes(buffer: Buffer) -> tuple[Expr, ...]:
    """Return where the variables that a parameter's buffer defines may stand."""
    return (*buffer.shape, *buffer.strides, buffer.elem_offset)


_BUFFER_FIELDS = ("data", "dtype", "shape", "strides", "elem_offset", "scope", "data_alignment", "offset_factor")


@dataclass(slots=True)
class _Comparison:
    """Which variable or buffer of one program stands for which of the other."""

    map_free_vars: bool = False
    left: dict[object, object] = field(default_factory=dict)
    right: dict[object, object] = field(default_factory=dict)
    equal: set[tuple[int, int]] = field(default_factory=set)

    def define(self, a: object, b: object) -> None:
        """Let ``a`` and ``b`` stand for each other from now on."""
        self.left[a], self.right[b] = b, a

    @deep
    def compare(self, a: object, b: object, path: _Path) -> str | None:
        """Return the first difference."""
        if type(a) is not type(b) and not (isinstance(a, Var) and isinstance(b, Var)):
            return f"{_text(path)}: {_shown(a)} is not {_shown(b)}"
        match a, b:
            case Var(), Var():
                return self._identity(a, b, path)
            case Buffer(), Buffer():
                return self._buffer(a, b, path)
            case PrimFunc(), PrimFunc():
                return self._function(a, b, path)
            case IRModule(), IRModule():
                return self._module(a, b, path)
            case IterVar(), IterVar():
                return self._fields(a, b, path, ("kind", "thread_tag", "dom", "var"))
            case tuple(), tuple():
                return self._sequence(a, b, path)
            case dict(), dict():
                return self._sequence(sorted(a.items()), sorted(b.items()), path)
            case _ if is_dataclass(a) and not isinstance(a, Enum):
                return self._node(a, b, path)
            case float(), float():
                return None if _same_number(a, b) else f"{_text(path)}: {_shown(a)} is not {_shown(b)}"
            case _:
                return f"{_text(path)}: {_shown(a)} is not {_shown(b)}" if a != b else None

    def _node(self, a: object, b: object, path: _Path) -> str | None:
        """Compare two nodes of one kind; two expressions that were found equal are not looked at again."""
        pair = (id(a), id(b))
        if pair in self.equal:
            return None
        self._define_inside(a, b)
        difference = self._fields(a, b, path, _ordered_fields(a))
        if difference is None and isinstance(a, Node):
            self.equal.add(pair)
        return difference

    def _identity(self, a: Var, b: Var, path: _Path) -> str | None:
        if a.dtype != b.dtype:
            return f"{_text(path)}: {a.name!r} is {a.dtype}, {b.name!r} is {b.dtype}"
        if self.map_free_vars and a not in self.left and b not in self.right:
            self.define(a, b)
        elif self.left.get(a, a) is not b or self.right.get(b, b) is not a:
            return f"{_text(path)}: {a.name!r} does not correspond to {b.name!r}"
        return None

    def _buffer(self, a: Buffer, b: Buffer, path: _Path) -> str | None:
        if self.left.get(a) is b:
            return None
        if a in self.left or b in self.right:
            return f"{_text(path)}: buffer {a.name!r} does not correspond to {b.name!r}"
        self.define(a, b)
        if a is b:
            return None
        return self._fields(a, b, (path, f" (buffers {a.name!r}, {b.name!r})"), _BUFFER_FIELDS)

    def _module(self, a: IRModule, b: IRModule, path: _Path) -> str | None:
        for name in a.functions.keys() ^ b.functions.keys():
            return f"{_text(path)}: function {name!r} is in one of the modules alone"
        for name, func in a.functions.items():
            difference = self.compare(func, b.functions[name], (path, f"[{name}]"))
            if difference is not None:
                return difference
        return None

    def _function(self, a: PrimFunc, b: PrimFunc, path: _Path) -> str | None:
        if len(a.params) != len(b.params):
            return f"{_text(path)}: {len(a.params)} parameters are not {len(b.params)}"
        for p, q in zip(a.params, b.params, strict=True):
            self.define(p, q)
            x, y = a.buffer_map.get(p), b.buffer_map.get(q)
            if x is not None and y is not None:
                self.define(x.data, y.data)
                for one, other in ((x, y), (a.declared.get(p, x), b.declared.get(q, y))):
                    for e, f in zip(_sizes(one), _sizes(other), strict=False):
                        if isinstance(e, Var) and isinstance(f, Var):
                            self.define(e, f)
            difference = (
                self._identity(p, q, (path, ".params"))
                or self.compare(x, y, (path, f".buffer_map[{p.name}]"))
                or self.compare(a.declared.get(p), b.declared.get(q), (path, f".declared[{p.name}]"))
            )
            if difference is not None:
                return difference
        attrs = self.compare(tuple(sorted(a.attrs.items())), tuple(sorted(b.attrs.items())), (path, ".attrs"))
        return attrs or self.compare(a.body, b.body, (path, ".body"))

    def _sequence(self, a: Sequence[object], b: Sequence[object], path: _Path) -> str | None:
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            difference = self.compare(x, y, (path, f"[{i}]"))
            if difference is not None:
                return difference
        if len(a) == len(b):
            return None
        extra = _shown((a if len(a) > len(b) else b)[min(len(a), len(b))])
        return f"{_text(path)}: {len(a)} items are not {len(b)}; the first one more is {extra}"

    def _fields(self, a: object, b: object, path: _Path, names: Sequence[str]) -> str | None:
        for name in names:
            difference = self.compare(getattr(a, name), getattr(b, name), (path, f".{name}"))
            if difference is not None:
                return difference
        return None

    def _define_inside(self, a: object, b: object) -> None:
        """Let the variables that these two nodes define stand for each other."""
        for x, y in zip(_definitions(a), _definitions(b), strict=False):
            self.define(x, y)


def _same_number(a: float, b: float) -> bool:
    """Whether two floats are one number: 0.0 and -0.0 are two, a NaN is the same as itself."""
    return (a == b and copysign(1, a) == copysign(1, b)) or (isnan(a) and isnan(b))


def _text(path: _Path | None) -> str:
    steps = []
    while path is not None:
        path, step = path
        steps.append(step)
    return "".join(reversed(steps))


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
    """Return the fields that take part: what is small first, bodies last, no origin, and no name of a block."""
    left_out = ("origin", "name") if isinstance(node, Block) else ("origin",)
    names = [f.name for f in fields(node) if f.init and f.name not in left_out]  # type: ignore[arg-type]  # a dataclass
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
