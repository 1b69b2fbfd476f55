"""Builds a schedule for a configuration and runs it on the functional simulator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import vta
from isa.config import VTAConfig
from runtime.session import Session
from vta import te
from vta.nd import EXT_DEV, Device, empty

__all__ = ["Outcome", "run_schedule"]


@dataclass(frozen=True)
class Outcome:
    """What a call left in the last argument, and how often it launched the accelerator."""

    output: np.ndarray
    launches: int


def run_schedule(
    schedule: te.Schedule, args: Sequence[te.Tensor], inputs: Sequence[np.ndarray], config: VTAConfig
) -> Outcome:
    """Call the function that ``schedule`` becomes, twice; both calls must give the same."""
    session = Session(config, "sim", record=True)
    device = Device(EXT_DEV, 0, session)
    with vta.Environment(config) as env:
        module = vta.build(schedule, list(args), target=env.target, name="main")
    arrays = []
    for tensor, values in zip(args, [*inputs, None], strict=True):
        shape = tuple(int(extent) for extent in tensor.shape)
        array = empty(shape, str(tensor.dtype), device)
        if values is not None:
            array.copyfrom(values)
        arrays.append(array)
    module(*arrays)
    output = arrays[-1].numpy()
    launches = len(session.queue.launcher.launches)
    module(*arrays)
    np.testing.assert_array_equal(arrays[-1].numpy(), output)
    return Outcome(output, launches)
