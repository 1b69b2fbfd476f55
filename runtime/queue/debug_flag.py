"""The flags of ``VTASetDebugMode``. Tests: ``tests/runtime/queue/test_command_queue.py``."""

from enum import IntFlag

__all__ = ["DebugFlag"]


class DebugFlag(IntFlag):
    """Flags of ``VTASetDebugMode``, with upstream's numbers."""

    NONE = 0
    DUMP_INSN = 2
    DUMP_UOP = 4
    SKIP_READ_BARRIER = 8
    SKIP_WRITE_BARRIER = 16
    FORCE_SERIAL = 32
