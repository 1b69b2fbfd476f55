"""How a kernel reads and writes the record: counters, and the failure that ends it.

Tests: ``tests/runtime/sim/test_failures.py``.
"""

from dataclasses import dataclass

from runtime.sim.emit import Emitter, Num
from runtime.sim.record import RECORD_OFFSETS, Failure, Status

__all__ = ["Failing"]


@dataclass(frozen=True, slots=True)
class Failing:
    """The record, for a function with parameters ``arena`` and ``index`` that returns a ``Status``."""

    emit: Emitter

    def get(self, name: str) -> Num:
        """Return a field of the record."""
        return self.emit.read(self._place(name))

    def put(self, name: str, value: Num | int) -> None:
        """Set a field of the record."""
        self.emit.write(self._place(name), value)

    def count(self, name: str, amount: Num | int) -> None:
        """Add to a counter of the record."""
        self.put(name, self.get(name) + amount)

    def fail(self, failure: Failure, *, value: Num | int = 0, limit: Num | int = 0, detail: Num | int = 0) -> None:
        """Record a failure of instruction ``index`` and return from the function; nothing may follow in this block."""
        self.put("failure", failure)
        self.put("index", self.emit.arguments["index"])
        self.put("value", value)
        self.put("limit", limit)
        self.put("detail", detail)
        self.emit.give(Status.FAILED)

    def leave_if_skipping(self) -> None:
        """Return successfully here if the launch is to move and compute nothing."""
        with self.emit.when(self.get("skip_execution").differs(0)):
            self.emit.give(Status.DONE)

    def _place(self, name: str) -> Num:
        return self.emit.arguments["arena"] + RECORD_OFFSETS[name]
