"""Traces of small programs, and whether two traces say the same."""

from pathlib import Path

import numpy as np

from isa.program import Program
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from vta.inspect.trace import Recorded, TraceHeader, read_trace, recording

__all__ = ["record_programs", "same_launch", "some_program"]


def some_program(seed: int, config: str = "default") -> Program:
    """Return a random valid program."""
    return random_program(np.random.default_rng(seed), CONFIGS[config])


def record_programs(path: Path, device: str, *programs: Program) -> tuple[TraceHeader, list[Recorded]]:
    """Run the programs on one device, record them, and read the trace back."""
    session = Session(programs[0].config, device)
    with recording(session, path, program="test"):
        for program in programs:
            session.run_program(program)
    with read_trace(path) as reader:
        launches = list(reader)
        assert reader.whole
        return reader.header, launches


def same_launch(a: Recorded, b: Recorded) -> bool:
    """Whether two launches have equal words, times, states, transfers, origins and micro-ops."""
    x, y = a.timeline, b.timeline
    bursts = ("begin", "end", "address", "nbytes", "client")
    return (
        (x.device, x.config, x.origins, x.duration, x.error) == (y.device, y.config, y.origins, y.duration, y.error)
        and all(np.array_equal(getattr(x, name), getattr(y, name)) for name in ("array", "begun", "ended"))
        and (x.issued is None) == (y.issued is None)
        and (x.issued is None or y.issued is None or np.array_equal(x.issued, y.issued))
        and (x.settled is None) == (y.settled is None)
        and (x.settled is None or y.settled is None or np.array_equal(x.settled, y.settled))
        and list(x.states) == list(y.states)
        and all(
            np.array_equal(s.begins, y.states[m].begins) and s.causes == y.states[m].causes for m, s in x.states.items()
        )
        and all(np.array_equal(getattr(x.bursts, name), getattr(y.bursts, name)) for name in bursts)
        and (x.bursts.clients, x.bursts.writers) == (y.bursts.clients, y.bursts.writers)
        and (x.account is None) == (y.account is None)
        and str(x.account) == str(y.account)
        and list(a.uops) == list(b.uops)
        and all(np.array_equal(words, b.uops[index]) for index, words in a.uops.items())
    )
