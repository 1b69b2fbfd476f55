"""Random schedules, compiled and launched: the launches as programs that stand alone, with memory as it is before."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import vta
from isa.program import Program
from runtime.queue.launch import Launch
from runtime.session import Session
from tests.support.compiler.random_schedules import random_alu, random_gemm
from tests.support.configs import CONFIGS
from vta.nd import EXT_DEV, Device, array

__all__ = ["compiled_programs"]


def _keep(programs: list[Program], session: Session, launch: Launch) -> None:
    programs.append(launch.program(session.memory))


def compiled_programs(seed: int) -> Iterator[tuple[str, Program]]:
    """Yield a GEMM and an ALU schedule's launch of every configuration, with its name."""
    for name, config in CONFIGS.items():
        for kind, make in (("gemm", random_gemm), ("alu", random_alu)):
            env = vta.Environment(config)
            session = Session(config, "sim")
            place = Device(EXT_DEV, 0, session)
            with env:
                case = make(env, seed)
                module = vta.build(case.schedule, case.args)
            programs: list[Program] = []
            session.queue.launcher.listeners.append(partial(_keep, programs, session))
            arrays = [array(data, place) for data in (*case.inputs, np.zeros_like(case.expected))]
            module(*arrays)
            for program in programs:
                yield f"{name}/{kind} {seed}", program
