"""Running operators of ``vta.topi.cpu`` on numpy arrays, compiled."""

from collections.abc import Callable, Sequence

import numpy as np

import vta
from vta import te
from vta.build_module import build_generic
from vta.topi.cpu.schedules import schedule_reduce

__all__ = ["computed", "tensors"]


def tensors(*arrays: np.ndarray) -> list[te.Tensor]:
    """Return an input for each array."""
    return [te.placeholder(a.shape, str(a.dtype), f"A{k}") for k, a in enumerate(arrays)]


def computed(
    function: Callable[..., object],
    *arrays: np.ndarray,
    schedule: Callable[[Sequence[te.Tensor]], te.Schedule] = schedule_reduce,
) -> list[np.ndarray]:
    """Return what ``function`` of tensors makes of arrays, by a schedule for the CPU."""
    inputs = tensors(*arrays)
    made = function(*inputs)
    outputs: Sequence[te.Tensor] = list(made) if isinstance(made, list | tuple) else [made]  # type: ignore[list-item]
    places = [vta.nd.array(np.zeros([int(e) for e in out.shape], str(out.dtype))) for out in outputs]
    with vta.PassContext(opt_level=1):
        module = build_generic(schedule(outputs), [*inputs, *outputs])
    module(*map(vta.nd.array, arrays), *places)
    return [place.numpy() for place in places]
