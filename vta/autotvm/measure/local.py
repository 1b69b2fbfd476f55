"""Building and running choices on this computer: ``sim`` judges their numbers, ``tsim`` counts their cycles.

Cycles are exact and the same every time, so a choice runs once. Choices for the CPU are timed (``on_cpu``).
Tests: tests/vta/autotvm/measure/test_local.py.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from runtime.session import Session
from vta import te
from vta.autotvm.errors import TuningError
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureResult
from vta.autotvm.measure.judge import Case, case_of
from vta.autotvm.measure.on_cpu import Clock
from vta.autotvm.space import ConfigEntity
from vta.autotvm.task import Task
from vta.build_module import build
from vta.codegen import Module
from vta.nd import EXT_DEV, Device, array, empty

__all__ = ["Built", "LocalBuilder", "LocalRunner", "Runner", "failed"]


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A choice that is built: the module, and the tensors that its function takes."""

    task: Task
    config: ConfigEntity
    module: Module
    args: Sequence[te.Tensor]


class Runner(Protocol):
    """Runs choices: ``LocalRunner`` here, ``RPCRunner`` on the devices of others."""

    def run(self, built: Built) -> MeasureResult:
        """Return the cost of a choice, or the error that there was."""


class LocalBuilder:
    """Builds choices on this computer.

    While a tuner works, ``n_parallel`` processes build and run them side by side (None: as many as there are
    processors; 0: none, all is done in this process, and nothing is too slow). One that takes longer than ``timeout``
    seconds to build a choice is ended.
    """

    def __init__(self, timeout: float = 60.0, n_parallel: int | None = None) -> None:
        if not timeout > 0:
            raise TuningError(f"LocalBuilder: timeout is above 0, not {timeout}")
        if n_parallel is not None and n_parallel < 0:
            raise TuningError(f"LocalBuilder: n_parallel is 0 or more, not {n_parallel}")
        self.timeout, self.n_parallel = timeout, n_parallel

    def build(self, task: Task, config: ConfigEntity) -> Built | MeasureResult:
        """Return the module of a choice, or the error that there was."""
        try:
            schedule, args = task.instantiate(config)
        except VTAError as error:
            return failed(MeasureErrorNo.INSTANTIATION_ERROR, error)
        try:
            with task.env:
                module = build(schedule, list(args), target=task.target, name="main")
                _ = module.linked  # made when a function is first called
        except VTAError as error:
            return failed(MeasureErrorNo.COMPILE_HOST, error)
        return Built(task, config, module, args)


class LocalRunner:
    """Runs choices on simulators: first on ``sim``, whose numbers are compared, then on ``tsim``, which counts cycles.

    ``tsim`` has the hardware of the task's environment. Costs are seconds at ``clock_mhz``; ``seed`` draws the inputs.
    A process of its own that takes longer than ``timeout`` seconds for both is ended. A choice for the CPU runs on
    this one, timed as ``clock`` says.
    """

    def __init__(
        self, timeout: float = 120.0, *, clock_mhz: float = 100.0, seed: int = 0, clock: Clock | None = None
    ) -> None:
        for name, value in (("timeout", timeout), ("clock_mhz", clock_mhz)):
            if not value > 0:
                raise TuningError(f"LocalRunner: {name} is above 0, not {value}")
        self.timeout, self.clock_mhz, self.seed = timeout, clock_mhz, seed
        self.clock = clock or Clock()
        self._sessions: dict[tuple[object, str], Session] = {}
        self._case: tuple[Task, Case] | None = None

    def run(self, built: Built) -> MeasureResult:
        """Return the cost of a choice, or the error that there was."""
        begin = time.monotonic()
        case = self._case_of(built)
        if built.task.on_cpu:
            return self.clock.run(built, case)
        cycles: int | None = None
        for name in ("sim", "tsim"):
            session = self._session(built.task, name)
            try:
                result = _run(built, case, session)
            except VTAError as error:
                del self._sessions[built.task.env, name]  # what it is in the middle of is nobody's business
                return failed(MeasureErrorNo.RUNTIME_DEVICE, error)
            if not case.is_right(result):
                wrong = f"on {name}, the result is not what the operator means"
                return MeasureResult((), MeasureErrorNo.WRONG_ANSWER, wrong)
            cycles = session.device.stats.cycles
        assert cycles is not None
        cost = cycles / (self.clock_mhz * 1e6)
        return MeasureResult((cost,), all_cost=time.monotonic() - begin, timestamp=time.time())

    def _case_of(self, built: Built) -> Case:
        if self._case is None or self._case[0] is not built.task:
            self._case = (built.task, case_of(built.task, built.args, seed=self.seed))
        return self._case[1]

    def _session(self, task: Task, name: str) -> Session:
        key = (task.env, name)
        if key not in self._sessions:
            setup = task.env.hardware if name == "tsim" else None
            self._sessions[key] = Session(task.env.config, name, setup=setup)
        return self._sessions[key]


def _run(built: Built, case: Case, session: Session) -> npt.NDArray[np.generic]:
    place, result = Device(EXT_DEV, 0, session), built.args[-1]
    placed = [
        array(values, place, dtype=str(tensor.dtype)) for values, tensor in zip(case.arrays, built.args, strict=False)
    ]
    out = empty(result.shape, str(result.dtype), place)
    session.device.clear_stats()
    built.module(*placed, out)
    return out.numpy()


def failed(kind: MeasureErrorNo, error: VTAError) -> MeasureResult:
    """Return the result of a choice that ended in an error."""
    return MeasureResult((), kind, str(error), timestamp=time.time())
