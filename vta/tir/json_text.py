"""Programs as JSON and back: ``tvm.ir.save_json`` and ``load_json``.

The text is a table of nodes, children first, each named by its place: what is shared stays shared, and variables and
buffers keep their identity within one text. A reader of hostile text gets a sentence: classes are those of the table
here, and every field is checked. Tests: tests/vta/tir/test_json_text.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, TypeAlias

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.origin import Origin
from vta.tir import stmt
from vta.tir.buffer import Buffer
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, CommReducer, IterKind, IterVar, Node, PointerType, Range, Var, arithmetic, nodes
from vta.tir.func import IRModule, PrimFunc
from vta.tir.regions import BufferRegion
from vta.tir.stmt import Allocate, AttrKey, Block, For, ForKind, Stmt
from vta.tir.structural import Program

__all__ = ["JsonError", "load_json", "save_json"]

_FORMAT = "vta-tir"
_VERSION = 1


class JsonError(VTAError, ValueError):
    """A program that cannot be written as JSON, or JSON that is no program."""


_CLASSES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *(getattr(nodes, name) for name in nodes.__all__ if name not in ("DataProducer", "Expr", "ProducerLoad")),
        *(getattr(arithmetic, name) for name in arithmetic.__all__ if name not in ("Binary", "Compare", "Pair")),
        *(getattr(stmt, name) for name in stmt.__all__ if not name.startswith("Producer")),
        Buffer, BufferRegion, CommReducer, IRModule, IterVar, Origin, PrimFunc, Range,
    )
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")
}  # fmt: skip
_LATER: Mapping[type, frozenset[str]] = {
    Allocate: frozenset({"annotations"}),
    For: frozenset({"thread", "annotations"}),
    Block: frozenset({"reads", "writes", "annotations"}),
    IRModule: frozenset({"attrs"}),
}
"""Fields that texts of before do not have."""

_ENUMS: Mapping[str, type[Enum]] = {kind.__name__: kind for kind in (AttrKey, Builtin, ForKind, IterKind)}

_Json: TypeAlias = "bool | int | float | str | list[_Json] | dict[str, _Json] | None"


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind) if field.init]  # others follow from these


def save_json(node: Program | Mapping[str | Var, Program] | str) -> str:
    """Return a program as text, also lists and dictionaries of programs, texts and numbers.

    Raises ``JsonError`` for what only ``te`` knows (reads of tensors).
    """
    writer = _Writer()
    root = writer.value(tuple(node) if isinstance(node, list) else node)
    return json.dumps({"format": _FORMAT, "version": _VERSION, "root": root, "nodes": writer.table}, indent=1)


class _Writer:
    def __init__(self) -> None:
        self.table: list[_Json] = []
        self._places: dict[int, int] = {}
        self._alive: list[object] = []

    def value(self, root: object) -> _Json:
        """Return the text of a value after that of all nodes in it, children first."""
        stack: list[tuple[object, bool]] = [(root, False)]
        while stack:
            item, ready = stack.pop()
            if id(item) in self._places:
                continue
            if ready:
                self._places[id(item)] = len(self.table)
                self._alive.append(item)
                entry: dict[str, _Json] = {"class": type(item).__name__}
                entry.update({name: self._text(getattr(item, name)) for name in _names(type(item))})
                self.table.append(entry)
                continue
            if _is_node(item):
                stack.append((item, True))
            stack.extend((part, False) for part in reversed(list(_parts(item))))
        return self._text(root)

    def _text(self, value: object) -> _Json:
        match value:
            case DType():
                return {"dtype": str(value)}
            case Enum():
                return {"enum": type(value).__name__, "value": str(value.value)}
            case None | bool() | int():
                return value
            case str():
                return {"text": value}
            case float():
                return {"float": value.hex()}
            case tuple():
                return [self._text(item) for item in value]
            case VTAConfig():
                return {"config": dict(value.to_dict())}
            case Mapping():
                return {"map": [[self._text(k), self._text(v)] for k, v in value.items()]}
            case _:
                return {"node": self._places[id(value)]}


def _is_node(value: object) -> bool:
    return not isinstance(value, VTAConfig) and hasattr(type(value), "__dataclass_fields__")


def _parts(value: object) -> Iterator[object]:
    match value:
        case VTAConfig():
            return
        case tuple():
            yield from value
        case Mapping():
            for pair in value.items():
                yield from pair
        case _ if _is_node(value):
            if type(value).__name__ not in _CLASSES:
                raise JsonError(
                    f"{type(value).__name__} has no JSON; lower the schedule first, and save what comes out"
                )
            yield from (getattr(value, name) for name in _names(type(value)))
        case None | bool() | int() | float() | str():
            return
        case _:
            raise JsonError(f"{value!r} ({type(value).__name__}) is not part of a program")


def load_json(json_str: str) -> Any:
    """Return the program that ``save_json`` wrote; raises ``JsonError`` for any other text."""
    try:
        document = json.loads(json_str)
    except (ValueError, RecursionError) as error:
        raise JsonError(f"not a program as JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise JsonError(f'not a program as JSON: expected an object with "format": "{_FORMAT}"')
    if document.get("version") != _VERSION:
        raise JsonError(f"a program as JSON, version {document.get('version')!r}; this toolchain reads {_VERSION}")
    table = document.get("nodes")
    if not isinstance(table, list):
        raise JsonError('a program as JSON: expected a list of "nodes"')
    reader = _Reader()
    for entry in table:
        reader.add(entry)
    root = reader.value(document.get("root"), "root")
    _check(root, "Program", "root")
    return root


class _Reader:
    def __init__(self) -> None:
        self.nodes: list[object] = []

    def add(self, entry: _Json) -> None:
        """Make the next node."""
        place = f"node {len(self.nodes)}"
        if not isinstance(entry, dict) or not isinstance(entry.get("class"), str):
            raise JsonError(f'{place}: expected an object with a "class"')
        name = str(entry["class"])
        kind = _CLASSES.get(name)
        if kind is None:
            raise JsonError(f"{place}: there is no class {name!r}")
        names = _names(kind)
        given = entry.keys() - {"class"}
        if given - set(names) or set(names) - given - _LATER.get(kind, frozenset()):
            raise JsonError(f"{place}: {name} has the fields {', '.join(names)}")
        values = {}
        for field in fields(kind):
            if field.name not in given:
                continue
            where = f"{place} ({name}.{field.name})"
            values[field.name] = self.value(entry[field.name], where)
            _check(values[field.name], field.type if isinstance(field.type, str) else field.type.__name__, where)
        try:
            self.nodes.append(kind(**values))
        except (VTAError, TypeError, AttributeError) as error:
            raise JsonError(f"{place}: {error}") from error

    def value(self, text: _Json, where: str) -> object:
        """Return the value of a text."""
        match text:
            case None | bool() | int():
                return text
            case list():
                return tuple(self.value(item, where) for item in text)
            case {"node": int() as place} if 0 <= place < len(self.nodes):
                return self.nodes[place]
            case {"text": str() as value}:
                return value
            case {"map": list() as pairs}:
                return dict(self._pair(pair, where) for pair in pairs)
            case _:
                return _scalar(text, where)

    def _pair(self, pair: _Json, where: str) -> tuple[object, object]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise JsonError(f"{where}: a map has pairs of keys and values")
        key = self.value(pair[0], where)
        if not isinstance(key, str | Var):
            raise JsonError(f"{where}: keys of a map are texts and variables")
        return key, self.value(pair[1], where)


def _scalar(text: _Json, where: str) -> object:
    try:
        match text:
            case {"dtype": str() as name}:
                return DType(name)
            case {"float": str() as digits}:
                return float.fromhex(digits)
            case {"enum": str() as name, "value": value} if name in _ENUMS:
                return _ENUMS[name](value)
            case {"config": dict() as keys}:
                return VTAConfig.from_dict(keys, where=where)
            case _:
                raise JsonError(f"{where}: {text!r} is no value of a program, or names a node that comes later")
    except (ValueError, OverflowError) as error:
        if isinstance(error, JsonError):
            raise
        raise JsonError(f"{where}: {error}") from error


def _is(*kinds: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kinds) and not (bool not in kinds and isinstance(value, bool))


def _optional(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


def _tuple(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, tuple) and all(map(check, value))


def _mapping(key: type, check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(isinstance(k, key) and check(v) for k, v in value.items())


def _is_statement(value: object) -> bool:
    return isinstance(value, Stmt)


def _is_about(value: object) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, Buffer) for part in value)
    return value is None or pair or isinstance(value, IterVar | Buffer | Var)


def _is_annotation(value: object) -> bool:
    return isinstance(value, int | float | str) or (isinstance(value, tuple) and all(map(_is_annotation, value)))


def _is_item(value: object) -> bool:
    return isinstance(value, int | float) or _is_program(value)


def _is_program(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_item, value))
    if isinstance(value, dict):
        return all(isinstance(key, str | Var) and _is_item(item) for key, item in value.items())
    if isinstance(value, str):
        return True
    return isinstance(value, Node | IRModule | PrimFunc | Buffer | IterVar) or _is_statement(value)


_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "Buffer": _is(Buffer),
    "Builtin": _is(Builtin),
    "tuple[Buffer, ...]": _tuple(_is(Buffer)),
    "CommReducer": _is(CommReducer),
    "DType": _is(DType),
    "Expr": _is(Node),
    "ForKind": _is(ForKind),
    "IterKind": _is(IterKind),
    "IterVar | Buffer | tuple[Buffer, Buffer] | Var | None": _is_about,
    "Mapping[Var, Buffer]": _mapping(Var, _is(Buffer)),
    "Mapping[str, Annotation]": _mapping(str, _is_annotation),
    "Mapping[str, PrimFunc]": _mapping(str, _is(PrimFunc)),
    "Mapping[str, str | int | bool]": _mapping(str, _is(str, int, bool)),
    "Origin | None": _optional(_is(Origin)),
    "PointerType | None": _optional(_is(PointerType)),
    "Program": _is_program,
    "Range | None": _optional(_is(Range)),
    "Stmt": _is_statement,
    "Stmt | None": _optional(_is_statement),
    "VTAConfig": _is(VTAConfig),
    "Var": _is(Var),
    "float": _is(float, int),
    "int": _is(int),
    "str": _is(str),
    "tuple[BufferRegion, ...] | None": _optional(_tuple(_is(BufferRegion))),
    "tuple[Expr, ...]": _tuple(_is(Node)),
    "tuple[int, ...]": _tuple(_is(int)),
    "tuple[IterVar, ...]": _tuple(_is(IterVar)),
    "tuple[Range, ...]": _tuple(_is(Range)),
    "tuple[Stmt, ...]": _tuple(_is_statement),
    "tuple[Var, ...]": _tuple(_is(Var)),
}
"""Whether a value may stand in a field, by the field's type as its class writes it."""


def _check(value: object, wanted: str, where: str) -> None:
    if not _CHECKS[wanted](value):
        raise JsonError(f"{where}: expected {wanted}, got {type(value).__name__}")
