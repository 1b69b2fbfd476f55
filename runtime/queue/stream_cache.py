"""A compiled function's instruction streams, kept from call to call and replayed with their addresses patched.

Tests: ``tests/runtime/test_replay.py``.
"""

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from runtime.memory.device_memory import Allocation
from runtime.program_run import ProgramRun, Recording, alias_pattern
from runtime.queue.command_queue import DebugFlag
from runtime.session import Session

__all__ = ["StreamCache"]


class StreamCache:
    """Streams of one session, the ``limit`` used last; threads may share it, and take turns as on the session.

    It does not keep the session alive.

    A stream is used again for the same function with buffers of the same sizes, shared among arguments in the same way,
    under the same debug flags. A program that looks at data in host code is never kept.
    """

    def __init__(self, session: Session, *, limit: int = 256) -> None:
        self._session = weakref.ref(session)
        self._limit = limit
        self._recordings: OrderedDict[Hashable, Recording] = OrderedDict()

    def __len__(self) -> int:
        return len(self._recordings)

    def call(
        self, function: Hashable, arguments: Sequence[Allocation], host_code: Callable[[ProgramRun], None]
    ) -> bool:
        """Run ``function`` on ``arguments``; return whether a kept stream did it.

        ``function`` names the function and everything but buffers that its calls depend on (scalars, for example).
        ``host_code`` makes the runtime calls; it says ``ProgramRun.depends_on_host`` if it does anything else.
        """
        session = self._session()
        assert session is not None, "whoever calls has the session, or an array on it"
        with session.lock:
            flags = session.queue.debug_mode
            sizes = tuple(buffer.nbytes for buffer in arguments)
            key = (function, sizes, alias_pattern(arguments), flags & DebugFlag.FORCE_SERIAL)
            kept = self._recordings.get(key)
            # A dump of micro-op kernels shows them while they are captured, so they have to be.
            if kept is not None and _can_run(kept, session) and not flags & DebugFlag.DUMP_UOP:
                self._recordings.move_to_end(key)
                session.replay(kept, arguments)
                return True
            with session.program(arguments) as run:
                host_code(run)
            if run.recording is not None:
                self._keep(key, run.recording)
            return False

    def _keep(self, key: Hashable, recording: Recording) -> None:
        self._recordings[key] = recording
        self._recordings.move_to_end(key)
        while len(self._recordings) > self._limit:
            self._recordings.popitem(last=False)


def _can_run(kept: Recording, session: Session) -> bool:
    return kept.is_live and kept.lies_at(session.queue.launcher.addresses)
