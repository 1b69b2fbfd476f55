"""What a task is run on, and what must come out: operators in numpy, other templates by their definition on the CPU.

Tests: tests/vta/autotvm/measure/test_judge.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vta import te
from vta.autotvm.task import Task
from vta.build_module import build_generic
from vta.nd import array, cpu, empty
from vta.topi.core.operator import Operator

__all__ = ["Case", "case_of", "case_of_definition"]

Array = npt.NDArray[np.generic]

_CLOSE = 1e-4
"""Relative to itself and to the largest one, a float of another schedule is as close as this."""

_WIDE = 1 << 14
"""Numbers of more than 8 bits are drawn below this, so that sums of them seldom wrap."""


@dataclass(frozen=True, slots=True)
class Case:
    """Arrays for a task's function, the result's left out, and whether a result is right."""

    arrays: tuple[Array, ...]
    is_right: Callable[[Array], bool]


def case_of(task: Task, args: Sequence[te.Tensor], *, seed: int = 0) -> Case:
    """Return random arrays for the function whose arguments are ``args``, and the judge of its result.

    An operator of the library is judged by its meaning in numpy; any other template by its tensors' definition, built
    for the CPU with the schedule that nobody has touched.
    """
    rng = np.random.default_rng(seed)
    operator = task.operator
    return case_of_definition(args, rng) if operator is None else _of_operator(task, operator, rng)


def _of_operator(task: Task, operator: Operator, rng: np.random.Generator) -> Case:
    env = task.env
    plain = [_drawn(rng, operand.shape, operand.dtype) for operand in operator.inputs(env)]
    expected = operator.reference_on(env, *plain)
    return Case(operator.pack(env, *plain), lambda result: np.array_equal(operator.unpack(env, result), expected))


def case_of_definition(args: Sequence[te.Tensor], rng: np.random.Generator) -> Case:
    """Return random arrays for tensors whose last one is the result, and its judge: the definition, on the CPU."""
    *inputs, result = args
    arrays = tuple(_drawn(rng, _shape(tensor), str(tensor.dtype)) for tensor in inputs)
    function = build_generic(te.create_schedule(result.op), list(args), "llvm")
    out = empty(_shape(result), str(result.dtype), cpu(0))
    function(*(array(values, cpu(0)) for values in arrays), out)
    expected = out.numpy()
    if expected.dtype.kind == "f":  # another order of a sum rounds otherwise
        close = _CLOSE * float(np.abs(expected).max(initial=0))
        return Case(arrays, lambda found: np.allclose(found, expected, rtol=_CLOSE, atol=close))
    return Case(arrays, lambda found: np.array_equal(found, expected))


def _shape(tensor: te.Tensor) -> tuple[int, ...]:
    return tuple(int(extent) for extent in tensor.shape)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if not dtype.startswith("int"):
        return rng.random(shape).astype(dtype)
    bits = int(dtype.removeprefix("int"))
    bound = min(1 << (bits - 1), _WIDE)
    return rng.integers(-bound, bound, shape).astype("int8" if bits < 8 else dtype)
