"""What the window keeps: of each place, of the next instruction to be bound, of what was issued and bound last.

Tests: ``tests/hw/compute/test_window.py``; costs: ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.lib import data

from hw.compute.jobs import TAG_WIDTH, WINDOW, Unit
from hw.layouts import INSTRUCTION_WIDTH, bits_up_to, instruction_struct
from hw.registered_fifo import RegisteredFIFO
from isa.config import VTAConfig

__all__ = ["Bound", "Entry", "Issued", "Slot"]


class Entry:
    """The registers of one place in the window, a ring in program order. An entry passes through these states:

    ::

        free --issue-----> waiting --bind--> bound ----> complete --retire--> free
        valid=0, live=0    valid=1           bound=1     live=0
                           live=1               |
                              |                 |
                              `--early--> begun-'     its unit works on it before its range is known

    An instruction that went to its unit early is not sent there again when it is bound (``Slot.begun``). It may even
    be complete before it is bound; it still retires only after its binding, which would otherwise find the place taken
    by a younger instruction.

    Besides, ``settled`` is set when the module goes past it (its token to the load module is sent), in order: after
    completion, or before it for an entry that is ``posted``, as resets are. ``low`` to ``high`` are its accumulators
    from the cycle after its binding on, ``uop_bgn`` up to ``uop_end`` its micro-ops from issue on. ``waits_for`` has a
    bit for each older place that must complete before its unit may begin it; places that complete take their bit away.
    Up to the cycle after its binding, one for GEMM or ALU has the loads of its micro-ops there. ``waits`` says that a
    bit is left. Both are set in the cycle after issue.

    All but ``valid`` and ``live`` are without reset: issue sets them before anybody looks.
    """

    def __init__(self, config: VTAConfig, index: int) -> None:
        def register(width: Any, name: str, *, reset_less: bool = True) -> Any:
            return Signal(width, name=f"entry_{index}_{name}", reset_less=reset_less)

        self.valid = register(1, "valid", reset_less=False)
        self.live = register(1, "live", reset_less=False)
        self.bound = register(1, "bound")
        self.posted = register(1, "posted")
        self.settled = register(1, "settled")
        self.unit = register(Unit, "unit")
        self.push_prev = register(1, "push_prev")
        self.push_next = register(1, "push_next")
        self.finish = register(1, "finish")
        self.uop_bgn = register(config.log_uop_depth, "uop_bgn")
        self.uop_end = register(config.log_uop_depth + 1, "uop_end")
        self.low = register(config.log_acc_depth, "low")
        self.high = register(config.log_acc_depth, "high")
        self.waits_for = register(WINDOW, "waits_for")
        self.waits = register(1, "waits")

    def wait_for(self, places: Value) -> list[Any]:
        """Return the statements that make it wait for ``places``."""
        return [self.waits_for.eq(places), self.waits.eq(places.any())]


class Slot:
    """The next instruction to be bound: what issue said of it, first of a queue, and what happened since."""

    def __init__(self, config: VTAConfig) -> None:
        self.layout = data.StructLayout({"unit": Unit, "word": INSTRUCTION_WIDTH})
        gemm = instruction_struct(config, "GEMM")
        # Unit, flags and micro-ops lead to all that the binder decides; what loops add goes into sums, and may be late.
        early = bits_up_to(self.layout, "unit") + bits_up_to(gemm, "uop_end")
        # An entry for each place: there is room.
        self.queue = RegisteredFIFO(width=self.layout.size, depth=WINDOW, early=early)
        self.insn = data.View(self.layout, self.queue.r_data)
        self.gemm = data.View(gemm, self.insn.word)
        self.at = Signal(TAG_WIDTH, name="bind_at")
        self.begun = Signal(name="bind_begun")
        self.complete = Signal(name="bind_is_complete")


class Issued:
    """What was issued in the cycle before, in registers: only there its micro-ops are compared with the entries."""

    def __init__(self, config: VTAConfig) -> None:
        self.valid = Signal(name="issued_valid")
        self.is_load = Signal(name="issued_is_load", reset_less=True)
        self.at = Signal(TAG_WIDTH, name="issued_at", reset_less=True)
        self.uop_bgn = Signal(config.log_uop_depth, name="issued_uop_bgn", reset_less=True)
        self.uop_end = Signal(config.log_uop_depth + 1, name="issued_uop_end", reset_less=True)


class Bound:
    """What was bound in the cycle before, in registers: only there it is compared with the entries.

    ``valid`` says that it touches accumulators, ``late`` that it goes to its unit in this cycle; ``older`` are the
    places that were bound before.
    """

    def __init__(self, config: VTAConfig) -> None:
        self.valid = Signal(name="bound_valid")
        self.late = Signal(name="bound_late")
        self.older = Signal(WINDOW, name="bound_older", reset_less=True)
        self.at = Signal(TAG_WIDTH, name="bound_at", reset_less=True)
        self.unit = Signal(Unit, name="bound_unit", reset_less=True)
        self.low = Signal(config.log_acc_depth, name="bound_low", reset_less=True)
        self.high = Signal(config.log_acc_depth, name="bound_high", reset_less=True)
