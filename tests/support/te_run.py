"""Lowering a schedule, checking that the function is well formed, and running it on arrays."""

from collections.abc import Sequence

import numpy as np

from vta import te
from vta.tir.func import PrimFunc
from vta.tir.interpreter import run_func
from vta.tir.stmt import For, Stmt
from vta.tir.traverse import walk
from vta.tir.verify import verify

__all__ = ["loops", "lowered", "outputs", "run", "statements"]


def lowered(s: te.Schedule, args: Sequence[te.Tensor]) -> PrimFunc:
    """Return the verified function."""
    func = te.schedule_to_func(s, args, "program")
    verify(func)
    return func


def run(s: te.Schedule, args: Sequence[te.Tensor], *inputs: np.ndarray) -> np.ndarray:
    """Return the last of ``args`` for the given inputs. Its array is guarded by the interpreter's index checks."""
    return outputs(s, args, *inputs)[-1]


def outputs(s: te.Schedule, args: Sequence[te.Tensor], *inputs: np.ndarray) -> list[np.ndarray]:
    """Return the arrays of those arguments that ``inputs`` do not cover, after a run."""
    func = lowered(s, args)
    new = [np.full([int(n) for n in t.shape], 99, t.dtype) for t in args[len(inputs) :]]
    run_func(func, [*inputs, *new])
    return new


def statements(func: PrimFunc, kind: type[Stmt]) -> list[Stmt]:
    """Return the statements of one kind, outermost first."""
    return [node for node in walk(func.body) if isinstance(node, kind)]


def loops(func: PrimFunc) -> list[str]:
    """Return the loops' variables and extents, in the order of the text: ``["i:4", "j.init:2"]``."""
    return [f"{loop.loop_var.name}:{loop.extent}" for loop in statements(func, For)]
