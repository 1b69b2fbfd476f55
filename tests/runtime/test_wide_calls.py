"""Calls that no single instruction holds, on both devices, cut and serialised or not: numpy's numbers every time."""

import random

import pytest

from runtime.queue.command_queue import INSTRUCTION_LIMIT, DebugFlag
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.runtime.wide_calls import WideCalls


def run(seed: int, length: int) -> int:
    rng = random.Random(seed)
    config = CONFIGS[rng.choice(list(CONFIGS))]
    limit, flags = rng.choice([28, 40, INSTRUCTION_LIMIT]), rng.choice([DebugFlag.NONE, DebugFlag.FORCE_SERIAL])
    statistics = []
    for device in ("sim", "reference"):
        session = Session(config, device, instruction_limit=limit)
        session.queue.debug_mode = flags
        program = WideCalls(session, seed, length)
        program.run()
        checked = program.check()
        statistics.append(session.device.stats)
    assert statistics[0] == statistics[1]
    return checked


def test_random_calls_beyond_the_fields_compute_what_numpy_does() -> None:
    assert sum(run(seed, 25) for seed in range(25)) > 200


@pytest.mark.long
def test_many_random_calls_beyond_the_fields_compute_what_numpy_does() -> None:
    assert sum(run(seed, 40) for seed in range(1000, 2500)) > 10000
