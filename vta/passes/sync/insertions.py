"""Statements to be inserted before and after statements of a program, collected first and inserted all at once.

A place is a statement object, so one object must not stand at two places: see ``distinct``.
Tests: tests/vta/passes/sync/test_insertions.py and the rest of tests/vta/passes/sync.
"""

from dataclasses import dataclass, field, replace

from vta.tir.deep import deep
from vta.tir.stmt import IfThenElse, Stmt, seq
from vta.tir.traverse import map_stmt_children

__all__ = ["Insertions", "distinct"]


def distinct(stmt: Stmt) -> Stmt:
    """Return ``stmt`` with no statement object at two places (copies where there was one)."""
    seen: dict[int, Stmt] = {}

    @deep
    def visit(node: Stmt) -> Stmt:
        node = map_stmt_children(node, visit, lambda expr: expr)
        if id(node) in seen:
            node = replace(node)
        seen[id(node)] = node
        return node

    return visit(stmt)


@dataclass(slots=True)
class Insertions:
    """What goes before and after which statement (by identity), in the order in which it was added."""

    _before: dict[int, list[Stmt]] = field(default_factory=dict)
    _after: dict[int, list[Stmt]] = field(default_factory=dict)
    _otherwise: dict[int, list[Stmt]] = field(default_factory=dict)
    _places: dict[int, Stmt] = field(default_factory=dict)

    def before(self, place: Stmt, *stmts: Stmt) -> None:
        """Add ``stmts`` to what goes directly before ``place``."""
        self._places[id(place)] = place
        self._before.setdefault(id(place), []).extend(stmts)

    def after(self, place: Stmt, *stmts: Stmt) -> None:
        """Add ``stmts`` to what goes directly after ``place``."""
        self._places[id(place)] = place
        self._after.setdefault(id(place), []).extend(stmts)

    def otherwise(self, place: IfThenElse, *stmts: Stmt) -> None:
        """Add ``stmts`` to what is done if the condition of ``place`` does not hold."""
        if place.else_case is not None:
            self.after(place.else_case, *stmts)
            return
        self._places[id(place)] = place
        self._otherwise.setdefault(id(place), []).extend(stmts)

    @deep
    def apply(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with everything inserted."""
        inner = map_stmt_children(stmt, self.apply, lambda expr: expr)
        if id(stmt) not in self._places:
            return inner
        if id(stmt) in self._otherwise:
            assert isinstance(inner, IfThenElse)
            inner = replace(inner, else_case=seq(self._otherwise[id(stmt)]))
        before, after = self._before.get(id(stmt), []), self._after.get(id(stmt), [])
        return seq([*before, inner, *after])
