"""A compiled function's instruction streams, kept from call to call and replayed with their addresses patched.

Tests: ``tests/runtime/test_replay.py``.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from runtime.memory.device_memory import Allocation
from runtime.program_run import ProgramRun, Recording, alias_pattern
from runtime.queue.command_queue import DebugFlag
from runtime.session import Session

__all__ = ["StreamCache"]


class StreamCache:
    """Streams of one session, the ``limit`` used last.

    A stream is used again for the same function with buffers of the same sizes, shared among arguments in the same way,
    under the same debug flags. A program that looks at data in host code is never kept.
    """

    def __init__(self, session: Session, *, limit: int = 256) -> None:
        self._session = session
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
        flags = self._session.queue.debug_mode
        sizes = tuple(buffer.nbytes for buffer in arguments)
        key = (function, sizes, alias_pattern(arguments), flags & DebugFlag.FORCE_SERIAL)
        kept = self._recordings.get(key)
        # A dump of micro-op kernels shows them while they are captured, so they have to be.
        if kept is not None and self._can_run(kept) and not flags & DebugFlag.DUMP_UOP:
            self._recordings.move_to_end(key)
            self._session.replay(kept, arguments)
            return True
        with self._session.program(arguments) as run:
            host_code(run)
        recording = run.recording
        if recording is not None:
            self._recordings[key] = recording
            self._recordings.move_to_end(key)
            while len(self._recordings) > self._limit:
                self._recordings.popitem(last=False)
        return False

    def _can_run(self, kept: Recording) -> bool:
        return kept.is_live and kept.lies_at(self._session.queue.launcher.addresses)
