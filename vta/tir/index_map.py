"""Other orders of a buffer's elements, under TVM's name: ``tir.IndexMap.from_func(lambda i: [i // 4, i % 4])``.

Tests: tests/vta/tir/test_index_map.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isa.errors import VTAError
from vta.tir.expr import Binary, Compare, Expr, ExprLike, Var, binary, cast_to, convert
from vta.tir.traverse import map_expr, substitute

__all__ = ["IndexMap", "IndexMapError"]


class IndexMapError(VTAError, ValueError):
    """A map of indices that is none, or that does not go with some."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexMap:
    """The new indices of an element as expressions of the old ones."""

    initial_indices: tuple[Var, ...]
    final_indices: tuple[Expr, ...]

    @classmethod
    def from_func(cls, mapping_function: Callable[..., Sequence[ExprLike]], ndim: int | None = None) -> IndexMap:
        """Return the map that a function of indices describes; ``ndim`` says how many ``*indices`` are."""
        variables: list[Var] = []
        for parameter in inspect.signature(mapping_function).parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                if ndim is None:
                    raise IndexMapError("IndexMap.from_func: *indices may be any number; say ndim=")
                variables += [Var(f"{parameter.name}_{k}") for k in range(ndim - len(variables))]
            else:
                variables.append(Var(parameter.name))
        made = mapping_function(*variables)
        finals = made if isinstance(made, Sequence) and not isinstance(made, str) else [made]
        return cls(tuple(variables), tuple(convert(index) for index in finals))

    def map_indices(self, indices: Sequence[ExprLike]) -> list[Expr]:
        """Return the new place of the element at ``indices``; constants are computed."""
        if len(indices) != len(self.initial_indices):
            raise IndexMapError(f"IndexMap: expected {len(self.initial_indices)} indices, got {len(indices)}")
        pairs = zip(self.initial_indices, indices, strict=True)
        values = {var: cast_to(convert(index), var.dtype) for var, index in pairs}
        return [map_expr(_folded, substitute(index, values)) for index in self.final_indices]

    def is_equivalent_to(self, other: IndexMap) -> bool:
        """Whether the other map has the same expressions, up to the names of indices."""
        from vta.tir.structural import structural_equal  # it knows programs

        if len(self.initial_indices) != len(other.initial_indices):
            return False
        mine = self.map_indices(other.initial_indices)
        return structural_equal(tuple(mine), tuple(other.final_indices))


def _folded(expr: Expr) -> Expr:
    return binary(type(expr), expr.a, expr.b) if isinstance(expr, Binary | Compare) else expr
