"""Runs the schedule of a definition on ``sim`` and compares with the definition."""

from collections.abc import Callable, Sequence

import numpy as np

import vta
from isa.config import VTAConfig
from runtime.session import Session
from vta import te
from vta.auto_scheduler.nest import Nest
from vta.auto_scheduler.nest_schedule import schedule_nest
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.auto_scheduler.parts import parts_of
from vta.autotvm.measure.judge import case_of_definition
from vta.nd import EXT_DEV, Device, empty

__all__ = ["run_nest"]


def run_nest(
    define: Callable[[], Sequence[te.Tensor]],
    tiles: NestTiles | Callable[[Nest], NestTiles],
    config: VTAConfig,
    *,
    seed: int = 1,
) -> dict[str, int]:
    """Require the numbers of the definition; return what was counted."""
    env = vta.Environment(config)
    with env:
        *inputs, output = define()
        nest = Nest(parts_of(output, env), env)
        chosen = tiles if isinstance(tiles, NestTiles) else tiles(nest)
        arguments = [*inputs, nest.parts.output]
        module = vta.build(schedule_nest(nest, chosen), arguments, target=env.target)
    session = Session(config, "sim")
    place = Device(EXT_DEV, 0, session)
    case = case_of_definition([*inputs, output], np.random.default_rng(seed))
    result = empty(tuple(int(extent) for extent in output.shape), str(output.dtype), place)
    module(*(vta.nd.array(values, place) for values in case.arrays), result)
    assert case.is_right(result.numpy()), chosen
    return session.device.stats.as_dict()
