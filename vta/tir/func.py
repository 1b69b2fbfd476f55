"""Functions and modules of TIR.

Tests: tests/vta/tir/test_func.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from isa.config import VTAConfig
from vta.tir.buffer import Buffer
from vta.tir.expr import Var
from vta.tir.stmt import Stmt

__all__ = ["IRModule", "Pass", "PrimFunc"]


@dataclass(frozen=True, slots=True)
class PrimFunc:
    """A function: ``params`` (handles for tensors, integers for sizes), a body, and the buffers behind the handles.

    ``buffer_map`` gives each handle parameter's buffer; ``attrs`` are facts about the function.
    ``declared`` keeps the buffers as the user shaped them after storage flattening made them one-dimensional.
    """

    name: str
    params: tuple[Var, ...]
    body: Stmt
    buffer_map: Mapping[Var, Buffer]
    attrs: Mapping[str, str | int | bool] = field(default_factory=dict)
    declared: Mapping[Var, Buffer] = field(default_factory=dict)

    def __str__(self) -> str:
        from vta.tir.printer import to_text  # the printer imports the nodes

        return to_text(self)


Pass: TypeAlias = Callable[[PrimFunc, VTAConfig], PrimFunc]
"""A transformation of one function for one configuration."""


@dataclass(frozen=True, slots=True)
class IRModule:
    """Functions by name, with the configuration that they were lowered for."""

    functions: Mapping[str, PrimFunc]
    config: VTAConfig

    def __getitem__(self, name: str) -> PrimFunc:
        return self.functions[name]

    def __str__(self) -> str:
        from vta.tir.printer import to_text  # the printer imports the nodes

        return to_text(self)
