"""The JIT runtime: calls become instruction streams (``queue``), which devices run (``devices``, ``sim``).

The session and the C API are here; the rooms are ``memory``, ``queue``, ``observe``, ``devices``, ``sim`` and
``native``. The compiler does not belong here: compiled code calls the runtime, not the other way round. Tests:
tests/runtime.
"""
