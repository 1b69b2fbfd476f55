"""Lowering a schedule, checking that the function is well formed, and running it on arrays."""

from collections.abc import Sequence

import numpy as np

from tests.support.runtime.host_call import call_host
from vta import te
from vta.build_module import lower_generic
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import For, Stmt
from vta.tir.traverse import walk
from vta.tir.verify import verify

__all__ = ["compiled_outputs", "loops", "lowered", "outputs", "run", "run_both", "statements"]

_GUARD = 16


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


def compiled_outputs(s: te.Schedule, args: Sequence[te.Tensor], *inputs: np.ndarray) -> list[np.ndarray]:
    """Return what the compiled program leaves in those arguments, each with guards around it that nothing may touch."""
    func = lower_generic(s, list(args), name="program").functions["program"]
    memories = [np.full(_size(t) + 2 * _GUARD, 99, t.dtype) for t in args[len(inputs) :]]
    new = [
        memory[_GUARD : _GUARD + _size(t)].reshape([int(n) for n in t.shape])
        for memory, t in zip(memories, args[len(inputs) :], strict=True)
    ]
    assert call_host(func, *map(np.ascontiguousarray, inputs), *new) is None
    for memory in memories:
        assert (memory[:_GUARD] == 99).all()
        assert (memory[-_GUARD:] == 99).all()
    return new


def run_both(s: te.Schedule, args: Sequence[te.Tensor], *inputs: np.ndarray) -> np.ndarray:
    """Return the last of ``args``: the interpreter's, to which the compiled program's must be equal."""
    result, compiled = run(s, args, *inputs), compiled_outputs(s, args, *inputs)[-1]
    np.testing.assert_array_equal(compiled, result)
    return result


def _size(tensor: te.Tensor) -> int:
    return int(np.prod([int(n) for n in tensor.shape], dtype=np.int64))


def statements(func: PrimFunc, kind: type[Stmt]) -> list[Stmt]:
    """Return the statements of one kind, outermost first."""
    return [node for node in walk(func.body) if isinstance(node, kind)]


def loops(func: PrimFunc) -> list[str]:
    """Return the loops' variables and extents, in the order of the text: ``["i:4", "j.init:2"]``."""
    return [f"{loop.loop_var.name}:{loop.extent}" for loop in statements(func, For)]
