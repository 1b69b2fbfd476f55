"""Measuring choices on the devices of a farm: ``RPCRunner`` asks a tracker for them.

Tests: tests/vta/autotvm/measure/test_remote.py.
"""

import json
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from isa.errors import VTAError
from vta.autotvm.errors import TuningError
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureResult
from vta.autotvm.measure.judge import Case, case_of
from vta.autotvm.measure.local import Built, failed
from vta.autotvm.task import Task
from vta.environment import Environment
from vta.nd import array, empty
from vta.rpc.errors import LostError
from vta.rpc.remote import RemoteSession
from vta.rpc.tracker_client import connect_tracker

__all__ = ["RPCRunner"]

_RECONNECT_SECONDS = 10.0
"""How long a server that is gone is looked for."""

_KEPT_SECONDS = 60.0
"""How long a session is used for one choice after the other, before others who wait for a device get theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A session that was prepared for an environment, and when others are to have its device."""

    env: Environment
    session: RemoteSession
    until: float


class RPCRunner:
    """Runs choices on devices that a tracker gives, with TVM's names; they must count cycles, as ``tsim`` does.

    A choice's module is sent, its function called there, its numbers compared here, and the cost are the cycles that
    the device counted, in seconds at ``clock_mhz``. ``run`` may be called by many threads, of which ``n_parallel`` have
    a device at once (None: as many as the tracker gives).

    Parameters
    ----------
    key, host, port, priority
        What is asked of the tracker there: see ``TrackerSession.request``.
    timeout : float
        Seconds that one call of the device may take; a choice that takes longer ends with an error.
    number, repeat : int
        ``repeat`` costs of a choice, each the average of ``number`` calls. Cycles are the same every time.
    cooldown_interval : float
        Seconds between two choices.
    seed : int
        Draws the inputs.
    key_file, certificate, tracker_certificate
        As in ``connect_tracker``.
    """

    def __init__(
        self,
        key: str,
        host: str,
        port: int,
        priority: int = 1,
        timeout: float = 120.0,
        n_parallel: int | None = None,
        number: int = 1,
        repeat: int = 1,
        cooldown_interval: float = 0.0,
        *,
        clock_mhz: float = 100.0,
        seed: int = 0,
        key_file: str | Path | None = None,
        certificate: str | Path | None = None,
        tracker_certificate: str | Path | None = None,
    ) -> None:
        for name, value in (("timeout", timeout), ("clock_mhz", clock_mhz)):
            if not value > 0:
                raise TuningError(f"RPCRunner: {name} is above 0, not {value}")
        for name, count in (("number", number), ("repeat", repeat), ("n_parallel", n_parallel)):
            if count is not None and count < 1:
                raise TuningError(f"RPCRunner: {name} is 1 or more, not {count}")
        self.key, self.priority, self.timeout, self.seed = key, priority, timeout, seed
        self.n_parallel, self.number, self.repeat = n_parallel, number, repeat
        self.cooldown_interval, self.clock_mhz = cooldown_interval, clock_mhz
        self._tracker = connect_tracker(
            host, port, key_file=key_file, certificate=certificate, tracker_certificate=tracker_certificate
        )
        self._lock = threading.Lock()
        self._turns = nullcontext() if n_parallel is None else threading.BoundedSemaphore(n_parallel)
        self._kept: list[_Place] = []
        self._case: tuple[Task, Case] | None = None

    def run(self, built: Built) -> MeasureResult:
        """Return the cost of a choice, or the error that there was.

        What is in the way of asking for a device is raised: ``LostError`` without a tracker, ``RpcError`` for what it
        does not have, ``TuningError`` for a device without a clock. A choice whose server is gone is tried once more.
        """
        with self._turns:
            time.sleep(self.cooldown_interval)
            return self._tried(built, self._case_of(built), again=True)

    def close(self) -> None:
        """Give back the devices that are kept for the next choices."""
        with self._lock:
            places, self._kept = self._kept, []
        for place in places:
            place.session.close()

    def _tried(self, built: Built, case: Case, *, again: bool) -> MeasureResult:
        place = self._place(built.task.env)
        try:
            result = self._measured(built, case, place.session)
        except VTAError as error:
            place.session.close()  # what it is in the middle of is nobody's business
            if again and isinstance(error, LostError) and not error.final:
                return self._tried(built, case, again=False)
            return failed(MeasureErrorNo.RUNTIME_DEVICE, error)
        self._keep(place)
        return result

    def _measured(self, built: Built, case: Case, session: RemoteSession) -> MeasureResult:
        begin, there, result = time.monotonic(), session.ext_dev(0), built.args[-1]
        placed = [
            array(values, there, dtype=str(tensor.dtype))
            for values, tensor in zip(case.arrays, built.args, strict=False)
        ]
        out = empty(result.shape, str(result.dtype), there)
        costs: list[float] = []
        for _ in range(self.repeat):
            session.get_function("vta.tsim.profiler_clear")()
            for _ in range(self.number):
                built.module(*placed, out)
            cycles = _cycles_of(session)
            if not case.is_right(out.numpy()):
                wrong = f"on {session.target} at {session.caller.address}, the result is not what the operator means"
                return MeasureResult((), MeasureErrorNo.WRONG_ANSWER, wrong)
            costs.append(cycles / self.number / (self.clock_mhz * 1e6))
        return MeasureResult(tuple(costs), all_cost=time.monotonic() - begin, timestamp=time.time())

    def _case_of(self, built: Built) -> Case:
        with self._lock:
            if self._case is None or self._case[0] is not built.task:
                self._case = (built.task, case_of(built.task, built.args, seed=self.seed))
            return self._case[1]

    def _place(self, env: Environment) -> _Place:
        """Return a session for ``env``: one that is kept, or a new one, for which this waits."""
        with self._lock:
            kept, self._kept = self._kept, []
            fitting = [place for place in kept if place.env == env and place.until > time.monotonic()]
            self._kept = fitting[1:]
        for place in kept:
            if place not in fitting:
                place.session.close()
        return fitting[0] if fitting else self._prepared(env)

    def _keep(self, place: _Place) -> None:
        if place.until <= time.monotonic():
            place.session.close()
            return
        with self._lock:
            self._kept.append(place)

    def _prepared(self, env: Environment) -> _Place:
        seconds = _KEPT_SECONDS + 2 * self.timeout
        session = self._tracker.request(
            self.key, self.priority, session_timeout=seconds, reconnect_seconds=_RECONNECT_SECONDS
        )
        try:
            session.reconfigure(env.config, env.hardware)
            session.limit_calls(self.timeout)
            _cycles_of(session)
        except BaseException:
            session.close()
            raise
        half = session.caller.opened.real("seconds") / 2
        return _Place(env, session, time.monotonic() + min(_KEPT_SECONDS, half))


def _cycles_of(session: RemoteSession) -> int:
    """Return the cycles of a session's launches since they were cleared; raises ``TuningError`` if it has no clock."""
    status = json.loads(str(session.get_function("vta.tsim.profiler_status")()))
    if "cycle_count" not in status:
        raise TuningError(
            f"device {session.target!r} at {session.caller.address} counts no cycles; ask the tracker for 'tsim', or "
            "'tsim/DIGEST'"
        )
    return int(status["cycle_count"])
