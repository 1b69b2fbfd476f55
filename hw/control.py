"""What the host tells the core and what it learns from it, as signals; registers are only one way to drive them.

Tests: ``tests/hw/test_registers.py``, ``tests/hw/test_ports.py``.
"""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from isa.machine.counters import COUNT_WIDTH, COUNTER_WIDTH, CYCLE_WIDTH
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig

__all__ = ["BASES", "CoreControl"]

BASES = ("uop_base", "inp_base", "wgt_base", "acc_base", "out_base")
"""The members that DRAM addresses count from."""


class CoreControl(wiring.Signature):
    """Control of the core, seen from the host.

    Parameters
    ----------
    hardware : HardwareConfig
        Width of addresses.

    Members
    -------
    launch : Out(1)
        Begin a launch, with the addresses and the count of this cycle. While one is in progress: give it up, let memory
        end what was begun, and begin again.
    abort : Out(1)
        Give up the launch in progress (or about to begin), let memory end what was begun, and report ABORTED. Without
        one: nothing.
    reset : Out(1)
        The same, but nothing is reported.
    insn_address, insn_count : Out
        Byte address (a multiple of 16) and number of the instructions; looked at in cycles with ``launch`` only.
    uop_base, inp_base, wgt_base, acc_base, out_base : Out(addr_width)
        Byte addresses that the DRAM addresses of each memory count from, multiples of a beat; looked at in cycles with
        ``launch`` only.
    busy : In(1)
        A launch is in progress, or memory is still finishing what a failed one began.
    done : In(1)
        The last launch has ended well; until the next one.
    error : In(ErrorCode)
        Why the last launch stopped; until the next one.
    error_place : In(COUNT_WIDTH)
        The index of the instruction, or, for responses of memory, who asked: 0 fetch, 1 micro-op loads, 2 accumulator
        loads, 3 the load module, 4 the store module; for MISALIGNED, the address: 0 of the instructions, then the bases
        in their order.
    cycles : In
        Cycles of the launch so far, up to the completion of FINISH.
    read_beats, write_beats : In
        Beats moved by the launch, instructions included.
    fetched, load_started, compute_started, store_started : In
        Instructions dispatched, and started by each module. With the program they tell the head of every queue.
    """

    def __init__(self, hardware: HardwareConfig) -> None:
        self.hardware = hardware
        counts = ("fetched", "load_started", "compute_started", "store_started")
        super().__init__(
            {
                "launch": Out(1),
                "abort": Out(1),
                "reset": Out(1),
                "insn_address": Out(hardware.addr_width),
                "insn_count": Out(COUNT_WIDTH),
                **{name: Out(hardware.addr_width) for name in BASES},
                "busy": In(1),
                "done": In(1),
                "error": In(ErrorCode),
                "error_place": In(COUNT_WIDTH),
                "cycles": In(CYCLE_WIDTH),
                "read_beats": In(COUNTER_WIDTH),
                "write_beats": In(COUNTER_WIDTH),
                **{name: In(COUNT_WIDTH) for name in counts},
            }
        )
